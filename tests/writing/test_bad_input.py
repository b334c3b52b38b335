"""What people, tools and accidents hand in: kb says what is wrong and where, and never shows a traceback."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import command_line
from tests.support.command_line import Ran
from tests.support.sealed import git

KB = (sys.executable, "-c", "from kb.cli import main; main()")
GOOD = {"kind": "decision", "title": "Use PostgreSQL for orders", "decision": "Orders live in PostgreSQL",
        "why": "It has transactions and we run it already", "impact_areas": ["architecture"]}  # fmt: skip


def run(root: Path, *arguments: str, stdin: bytes = b"", **environment: str) -> Ran:
    """Run kb in *root*; whatever it was given, it prints JSON where that was asked for."""
    ran = command_line.run(root, *arguments, stdin=stdin, **environment)
    if "--json" in arguments and ran.code in (0, 3, 4):
        json.loads(ran.out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    return ran


def write(root: Path, value: object, *options: str) -> Ran:
    """Hand *value* to `kb write -`."""
    return run(root, "write", "-", "--json", *options, stdin=json.dumps(value).encode())


def files(root: Path) -> dict[str, bytes]:
    """Return every file of the knowledge base."""
    return {str(path.relative_to(root)): path.read_bytes() for path in (root / "content").rglob("*") if path.is_file()}


# -- stdin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "the input is empty"),
        (b" \n\t\n", "the input is empty"),
        (b"\xff\xfe\x00\x01", "not valid UTF-8"),
        (b'{"kind": "decision",\n "title": "\xe4\xbd"}', ":2: the input is not valid UTF-8"),
        (bytes(range(256)), "not valid UTF-8"),
        (b"\x00" * 100, "not valid JSON"),
        (b"[" * 100_000, "nested too deep"),
        (b'{"kind": ', "not valid JSON"),
        (b"NaN", "a candidate is a JSON object, not NaN"),
        (b'"text"', "a candidate is a JSON object, not string"),
        (b"[[]]", "a candidate is a JSON object, not array"),
        (b'[{"kind": "decision", "title": "A fine title"}, 7]', "stdin[1]"),
        (b'{"kind": "novel", "title": "A fine title"}', "there is no kind novel"),
        (b'{"kind": ["decision"], "title": "A fine title"}', "the field kind"),
        (b'{"kind": "decision", "title": null}', "the field title"),
        (b'{"kind": "decision", "title": "A fine title", "impact": "src/"}', "the field impact must be"),
        (b'{"kind": "decision", "title": "A fine title", "claims": {"a": 1}}', "claims.a"),
        (b'{"kind": "decision", "title": "A fine title", "confidence": NaN}', "not NaN"),
        (b'{"kind": "decision", "title": "A fine title", "confidence": 1e999}', "not Infinity"),
        (b'{"kind": "decision", "title": "A fine title", "confidence": ' + b"9" * 5000 + b"}", "too many digits"),
        (b'{"kind": "decision", "title": "A fine title", "surprise": 1}', "there is no field surprise"),
        (b'{"kind": "decision", "kind": "pitfall", "title": "A fine title"}', "twice"),
        (b'{"kind": "decision", "title": "half \\ud800 a character"}', "lone surrogate"),
        (b'{"kind": "decision", "title": "A fine title", "scope": "project/../../etc"}', "the field scope"),
        (b'{"kind": "decision", "title": "A fine title", "project": "a/../../b"}', "the field scope"),
        (b'{"kind": "decision", "title": "A fine title", "scope": "robots/x"}', "the field scope"),
    ],
)  # fmt: skip
def test_stdin_that_is_no_candidate_is_named_and_nothing_is_written(root: Path, data: bytes, said: str) -> None:
    ran = run(root, "write", "-", stdin=data)
    assert ran.code == 1
    assert said in ran.error
    assert "stdin" in ran.error
    assert ran.out == ""
    assert git(root, "rev-list", "--count", "--all").strip() == "1"


def test_stdin_of_more_than_16_megabytes_is_refused_before_it_is_parsed(root: Path) -> None:
    ran = run(root, "write", "-", stdin=b'{"kind": "decision", "title": "' + b"x" * 16_000_001)
    assert (ran.code, ran.out) == (1, "")
    assert "more than 16000000 bytes" in ran.error


@pytest.mark.parametrize("place", [".", "missing.json", "missing/folder.json"])
def test_a_source_that_cannot_be_read_is_named(root: Path, place: str) -> None:
    ran = run(root, "write", place)
    assert ran.code == 1
    assert ran.error.startswith(f"kb: {place}: ")


# -- titles and ids -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "title",
    [
        "Use PostgreSQL\nfor all the orders",
        "Use PostgreSQL | MySQL | none for orders",
        "Use \x1b[31mPostgreSQL\x07 for\x00 orders",
        "Use PostgreSQL 🐘 for orders 👩‍👩‍👧",
        "استخدم PostgreSQL للطلبات الجديدة كلها",
        "\u202eUse PostgreSQL for orders\u202c",
        "../../../etc/passwd is where orders live",
        "---\nid: D999\n---\n# [D999] Another record",
        "<!-- MACHINE_BLOCK_END --> for the orders",
        "<script>alert(1)</script> in the order page",
        "con", "使用 PostgreSQL 存储订单：“引号”、反引号 ` 与 # 号",
        "Use PostgreSQL for orders " + "and for invoices " * 600,
        "!!! ??? ... ---", "——，。！？", "🐘🐘🐘🐘", " ", "\u200b\u200b\u200b\u200b",
    ],
)  # fmt: skip
def test_a_strange_title_is_refused_or_becomes_one_harmless_file(root: Path, title: str) -> None:
    ran = write(root, {**GOOD, "title": title})
    (verdict,) = json.loads(ran.out)
    assert verdict["verdict"] in ("created", "held", "refused"), verdict
    assert ran.code == (0 if verdict["verdict"] == "created" else 3)
    new = [path for path in files(root) if path.endswith(".md")]
    assert len(new) == (1 if verdict["verdict"] == "created" else 0)
    for path in new:
        assert Path(path).parent == Path("content/anchors/global")
        assert len(Path(path).name.encode()) < 200
        shown = json.loads(run(root, "show", verdict["id"], "--json").out)
        assert shown["title"].isprintable() or "\u200d" in shown["title"]
        assert shown["id"] == verdict["id"] == "D001"
        assert len(run(root, "list").out.splitlines()) == 1
        assert run(root, "check").code in (0, 1)
        assert "markers" not in run(root, "check").out


@pytest.mark.parametrize("title", ["!!! ??? ... ---", "——，。！？", " ", "x" * 10_000])
def test_a_title_that_says_nothing_or_too_much_is_refused(root: Path, title: str) -> None:
    ran = write(root, {**GOOD, "title": title})
    assert ran.code == 3
    assert json.loads(ran.out)[0]["next"]


@pytest.mark.parametrize(
    "name", ["../D001", "../../etc/passwd", "D001/../../x", "", " ", "[", ":", "a:b:c", "D" * 5000, "D001\n"]
)
@pytest.mark.parametrize("command", ["show", "log", "refs", "history", "confirm", "rm"])
def test_an_id_that_is_none_finds_nothing(root: Path, command: str, name: str) -> None:
    before = files(root)
    ran = run(root, command, name)
    assert ran.code == 1
    assert "→" in ran.error
    assert files(root) == before


@pytest.mark.parametrize("field", ["supersedes", "amends"])
def test_links_to_ids_that_are_none_do_no_harm(root: Path, field: str) -> None:
    ran = write(root, {**GOOD, field: ["../../x", "D404", "", "[D001]", "D1\nstatus: accepted"]})
    assert ran.code in (0, 3)
    assert run(root, "list").code == 0
    assert run(root, "check").code in (0, 1)


# -- places ---------------------------------------------------------------------------------------


def test_a_folder_with_kb_toml_that_is_no_git_repository_is_named(tmp_path: Path) -> None:
    (tmp_path / "kb.toml").write_text("")
    ran = write(tmp_path, GOOD)
    assert ran.code == 1
    assert "is not in a git repository" in ran.error
    assert "kb init" in ran.error
    for command in (["list"], ["search", "x"], ["check"], ["review"], ["inbox"], ["hint", "t1"]):
        assert run(tmp_path, *command).code in (0, 1)


def test_a_repository_without_a_commit_takes_the_first_record(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", ".")
    (tmp_path / "kb.toml").write_text("")
    for command in (["list"], ["search", "x"], ["check"], ["review"], ["inbox"], ["session", "list"]):
        assert run(tmp_path, *command).code == 0
    assert write(tmp_path, GOOD).code == 0
    assert git(tmp_path, "rev-list", "--count", "HEAD").strip() == "1"
    assert "D001" in run(tmp_path, "list").out


@pytest.mark.parametrize("home", ["/nowhere", "kb.toml", "", "\n"])
def test_kb_home_that_points_nowhere_is_said(tmp_path: Path, home: str) -> None:
    ran = run(tmp_path, "list", KB_HOME=home, HOME=str(tmp_path))
    assert ran.code == 1
    assert "kb init" in ran.error
    assert home.strip() in ran.error


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"language = ", "not valid TOML"),
        (b"\xff", "not valid TOML"),
        (b'language = "fr"', "language"),
        (b"repeat = -1", "repeat"),
        (b"nonsense = 1", "nonsense"),
        (b"a" * 100_000, "not valid TOML"),
    ],
)
def test_settings_that_cannot_be_are_named(root: Path, text: bytes, said: str) -> None:
    (root / "kb.toml").write_bytes(text)
    for command in (["list"], ["config"], ["check"]):
        ran = run(root, *command)
        assert ran.code == 1
        assert "kb.toml" in ran.error
        assert said in ran.error


# -- damaged files --------------------------------------------------------------------------------

_HEAD = b"---\nid: P001\nkind: pitfall\ntitle: A damaged record\nstatus: proposed\n"
_BODY = b"---\n<!-- MACHINE_BLOCK_START -->\n# [P001] A damaged record\n<!-- MACHINE_BLOCK_END -->\n"
_USER = b"\n<!-- USER_BLOCK_START -->\n\n<!-- USER_BLOCK_END -->\n"
_BOMB = b"a: &a [x, x]\n" + b"".join(
    b"%c: &%c [*%c, *%c, *%c, *%c, *%c, *%c]\n" % (n, n, *([n - 1] * 6)) for n in range(ord("b"), ord("p"))
)

DAMAGED = {
    "empty": b"",
    "half": _HEAD[:-9],
    "half-body": _HEAD + _BODY[:40],
    "bomb": _HEAD + _BOMB + _BODY + _USER,
    "tabs": _HEAD + b"tags:\n\t- one\n" + _BODY + _USER,
    "doubled": _HEAD + b"status: accepted\n" + _BODY + _USER,
    "conflict": _HEAD + b"<<<<<<< HEAD\ndate: 2026-01-01\n=======\ndate: 2026-01-02\n>>>>>>> theirs\n" + _BODY + _USER,
    "conflict-body": _HEAD + _BODY + b"<<<<<<< HEAD\none\n=======\nother\n>>>>>>> theirs\n" + _USER,
    "binary": _HEAD + b"\0\1\2" + _BODY + _USER,
    "latin-1": _HEAD + b"tags: [caf\xe9]\n" + _BODY + _USER,
    "no-front": b"# [P001] Only markdown\n",
    "list": b"---\n- one\n- two\n" + _BODY + _USER,
    "scalar": b"---\njust words\n" + _BODY + _USER,
    "wrong-types": _HEAD + b"tags: {a: {b: [c]}}\nsupersedes: 7.5\nclaims: words\n" + _BODY + _USER,
    "object": _HEAD + b"extra: !!python/object/apply:os.system [touch pwned]\n" + _BODY + _USER,
    "no-title": b"---\nid: P001\nkind: pitfall\ntitle: \n" + _BODY + _USER,
    "two-blocks": _HEAD + _BODY + _BODY[4:] + _USER,
    "large": _HEAD + _BODY + b"x" * 4_200_000 + _USER,
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_record_is_named_left_alone_and_the_others_go_on(root: Path, damage: str) -> None:
    assert write(root, GOOD).code == 0
    path = root / "content" / "anchors" / "global" / f"P001-{damage}.md"
    path.write_bytes(DAMAGED[damage])
    name = f"content/anchors/global/P001-{damage}.md"
    listed = run(root, "list")
    assert listed.code == 0
    assert "D001" in listed.out
    assert name in listed.error
    found = run(root, "search", "orders", "--json")
    assert [record["id"] for record in json.loads(found.out)] == ["D001"]
    assert name in found.error
    shown = run(root, "show", "P001")
    assert shown.code == 1
    assert name in shown.error
    assert "→" in shown.error
    checked = run(root, "check")
    assert checked.code == 1
    assert f"{name}:" in checked.out
    run(root, "check", "--fix")
    other = {**GOOD, "kind": "pitfall", "title": "Connection pools run dry under load", "impact_areas": ["performance"]}
    written = write(root, other)
    assert written.code == 0
    assert name in written.error
    assert path.read_bytes() == DAMAGED[damage]
    assert not (root / "pwned").exists()
    assert len(run(root, "list").out.splitlines()) == 2


def test_the_number_of_a_damaged_file_is_not_given_out_again(root: Path) -> None:
    (root / "content" / "anchors" / "global" / "D001-half.md").write_bytes(b"---\nid: D001\n")
    (verdict,) = json.loads(write(root, GOOD).out)
    assert verdict["id"] == "D002"


def test_a_record_that_cannot_be_opened_does_not_stop_the_others(root: Path) -> None:
    assert write(root, GOOD).code == 0
    folder = root / "content" / "anchors" / "global"
    (folder / "P001-a-folder.md").mkdir()
    os.symlink("/nowhere", folder / "P002-dangling.md")
    os.mkfifo(folder / "P003-pipe.md")
    for command in (["list"], ["search", "orders"], ["check"], ["hint", "t2"]):
        ran = run(root, *command)
        assert ran.code in (0, 1)
    assert "D001" in run(root, "list").out


def test_values_that_json_does_not_know_are_printed_as_text(root: Path) -> None:
    front = b"day: 2026-01-02\nnumber: .nan\nbig: [.inf, -.inf]\nmoment: 2026-01-02 03:04:05\n1: one\nhex: 0x1F\n"
    path = root / "content" / "anchors" / "global" / "P001-odd.md"
    path.write_bytes(_HEAD + front + _BODY + _USER)
    for command in (["list"], ["show", "P001"], ["search", "damaged"], ["alaya", "seeds"]):
        ran = run(root, *command, "--json")
        assert ran.code == 0
        assert "P001" in ran.out


def test_an_id_with_more_digits_than_a_number_has_is_no_trap(root: Path) -> None:
    path = root / "content" / "anchors" / "global" / "P001-large-number.md"
    path.write_bytes((_HEAD + _BODY + _USER).replace(b"P001", b"P" + b"9" * 40))
    assert run(root, "list").code == 0
    assert write(root, GOOD).code == 0


# -- streams --------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", [["list"], ["list", "--json"], ["write", "--schema"], ["config"], ["--help"]])
def test_a_reader_that_goes_away_is_no_error_to_talk_about(root: Path, arguments: list[str]) -> None:
    for number in range(3):
        write(root, {**GOOD, "title": f"Use PostgreSQL for the orders of shop {number}", "scope": f"project/s{number}"})
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run([*KB, *arguments], cwd=root, stdout=writer, stderr=subprocess.PIPE, check=False)
    os.close(writer)
    assert done.stderr == b""


@pytest.mark.parametrize("closed", ["0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"])
@pytest.mark.parametrize("arguments", ["list", "write -", "show D404"])
def test_closed_streams_do_not_upset_it(root: Path, closed: str, arguments: str) -> None:
    command = f"'{sys.executable}' -c 'from kb.cli import main; main()' {arguments} {closed}"
    done = subprocess.run(["sh", "-c", command], cwd=root, capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert done.returncode in (0, 1)
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "gbk"])
def test_a_terminal_that_cannot_show_chinese_gets_what_it_can_show(root: Path, encoding: str) -> None:
    write(root, {**GOOD, "title": "订单使用 PostgreSQL 存储 🐘", "decision": "订单统一存放在 PostgreSQL 里"})
    done = subprocess.run(
        [*KB, "list"], cwd=root, capture_output=True, env={**os.environ, "PYTHONIOENCODING": encoding}, check=False
    )
    assert done.returncode == 0
    assert b"PostgreSQL" in done.stdout
    assert done.stderr == b""


@pytest.mark.parametrize("damage", [None, b"", b"\xff\xfe [D404]", b"{"])
@pytest.mark.parametrize("file", ["compact.md", "hui-output.json", "shi-result.json"])
def test_an_archive_that_is_damaged_does_not_stop_the_rest(
    root: Path, tmp_path: Path, file: str, damage: bytes | None
) -> None:
    spoken = {
        "role": "assistant",
        "content": [
            {"type": "text", "text": "Decision: Orders live in PostgreSQL, because it has transactions (architecture)."}
        ],
    }
    (tmp_path / "s.jsonl").write_text(json.dumps({"type": "assistant", "sessionId": "abc", "message": spoken}))
    assert run(root, "session", "save", "--transcript", str(tmp_path / "s.jsonl")).code == 0
    (path,) = (root / "content" / "sessions").glob(f"*/{file}")
    path.unlink() if damage is None else path.write_bytes(damage)
    for command in (
        ["session", "list"],
        ["check"],
        ["list"],
        ["history", "D001"],
        ["session", "load", path.parent.name],
    ):
        assert run(root, *command).code in (0, 1)
    if file == "compact.md" and not damage:
        assert run(root, "wiki", "build", "-o", str(tmp_path / "site")).code == 0


def test_a_wiki_of_damaged_records_has_the_others(root: Path, tmp_path: Path) -> None:
    write(root, GOOD)
    for damage in ("half", "conflict", "bomb"):
        (root / "content" / "anchors" / "global" / f"P001-{damage}.md").write_bytes(DAMAGED[damage])
    out = tmp_path / "site"
    ran = run(root, "wiki", "build", "-o", str(out))
    assert ran.code == 0, ran.error
    assert ran.out.strip() == str(out / "index.html")
    assert "P001-half.md" in ran.error
    assert (out / "anchors" / "global" / "D001.html").is_file()
    shutil.rmtree(out)
