"""The command line as such: help, exit codes, streams, global options, aliases, both languages."""

import ast
import json
import re
from pathlib import Path

import click
import pytest

import kb.cli
from kb.cli.group import ALIASES, COMMANDS, GROUPS, OLD_NAMES
from kb.cli.group import command as top
from tests.support.command_line import run, run_at_terminal
from tests.support.sealed import git

DECISION = (
    "write", "--kind", "decision", "--title", "Use PostgreSQL for orders", "--decision", "Orders live in PostgreSQL",
    "--why", "It has transactions and we run it already", "--area", "architecture",
)  # fmt: skip
OTHER = (
    "write", "--kind", "decision", "--title", "Use MongoDB for orders", "--decision", "Orders live in MongoDB",
    "--why", "The schema changes every single week", "--area", "architecture",
)  # fmt: skip
HELD = (
    "write", "--kind", "decision", "--title", "Paint the settings button blue", "--decision", "The button is blue",
    "--why", "The designer likes it that way",
)  # fmt: skip
HAN = re.compile("[\u4e00-\u9fff]")


def commands() -> list[list[str]]:
    """Return the words that name every command, groups before what is in them."""
    found: list[list[str]] = [[]]
    with click.Context(top) as context:
        for name in COMMANDS:
            command = top.get_command(context, name)
            found.append([name])
            if isinstance(command, click.Group):
                found += [[name, inner] for inner in command.list_commands(context)]
    return found


# -- help -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_every_command_has_help_that_says_what_it_does(tmp_path: Path, words: list[str]) -> None:
    for option in ("--help", "-h"):
        ran = run(tmp_path, *words, option)
        assert ran.code == 0
        assert ran.error == ""
        usage, _, rest = ran.out.partition("\n\n")
        assert usage.startswith("Usage: kb")
        assert len(rest.strip().split("\n")[0]) > 15


def test_the_table_of_commands_says_what_the_commands_say(tmp_path: Path) -> None:
    with click.Context(top) as context:
        for name, (_, line) in COMMANDS.items():
            command = top.get_command(context, name)
            assert command and command.short_help == line, name
            assert f"{name} " in run(tmp_path, "--help").out


def test_every_command_stands_in_one_group_of_the_help() -> None:
    listed = [name for _, names in GROUPS for name in names.split()]
    assert sorted(listed) == sorted(COMMANDS)
    assert len(GROUPS[0][1].split()) == 10 and not {*ALIASES} & {*COMMANDS}


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["lsit"], "kb list"),
        (["serch", "x"], "kb search"),
        (["comit"], ""),
        (["D001"], "kb show D001"),
        (["shop:C012"], "kb show shop:C012"),
        (["list", "--knd", "C"], "--kind"),
        (["复习"], ""),
    ],
)
def test_a_slip_is_answered_with_what_was_meant(tmp_path: Path, words: list[str], meant: str) -> None:
    ran = run(tmp_path, *words)
    assert ran.code == 2 and ran.error.count("\n") == 2
    assert ran.error.rstrip().endswith(meant or "kb --help")


def test_help_explains_commands_and_topics(tmp_path: Path) -> None:
    assert run(tmp_path, "help").out == run(tmp_path, "--help").out
    assert run(tmp_path, "help", "review", "accept").out == run(tmp_path, "review", "accept", "--help").out
    assert run(tmp_path, "help", "ls").out == run(tmp_path, "list", "--help").out
    codes = run(tmp_path, "help", "exit-codes").out.split("\n")
    assert [line[0] for line in codes if line] == list("012345")
    assert "pitfall" in run(tmp_path, "help", "kinds").out and "superseded" in run(tmp_path, "help", "statuses").out
    assert "project/NAME" in run(tmp_path, "help", "scopes").out
    ran = run(tmp_path, "help", "nonsense")
    assert ran.code == 2 and "nonsense" in ran.error


def test_the_ways_back_name_the_parent_of_an_accepted_review(root: Path) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    said = run(root, "help", "undo").out
    assert "git revert -m 1 COMMIT" in said and "评审" in said and "review: it" not in said


def test_version_and_completion(tmp_path: Path) -> None:
    assert run(tmp_path, "--version").out == run(tmp_path, "-V").out
    assert run(tmp_path, "--version").out.startswith("kb, version ")
    completed = run(tmp_path, _KB_COMPLETE="bash_complete", COMP_WORDS="kb se", COMP_CWORD="1")
    assert "search" in completed.out
    assert "session" in completed.out


# -- exit codes -----------------------------------------------------------------------------------


def test_exit_codes_tell_what_happened(root: Path) -> None:
    assert run(root, *DECISION).code == 0
    assert run(root, *HELD).code == 3
    assert run(root, *DECISION).code == 0
    assert run(root, *DECISION[:4], "Fix it", *DECISION[5:]).code == 3
    assert run(root, *OTHER).code == 4
    assert run(root, *OTHER, "--dry-run").code == 4
    assert run(root, "show", "D404").code == 1
    assert run(root, "lst").code == 2
    assert run(root, "list", "--colour").code == 2
    assert run(root, "show").code == 2
    assert run(root).code == 2


def test_a_merge_that_git_cannot_make_needs_a_person(root: Path) -> None:
    run(root, *DECISION)
    run(root, *OTHER)
    path = root / "content" / "anchors" / "global" / "D001-use-postgresql-for-orders.md"
    path.write_bytes(path.read_bytes().replace(b"status: proposed", b"status: rejected"))
    git(root, "commit", "-qam", "Reject by hand")
    ran = run(root, "review", "accept", "D002", "--yes")
    assert ran.code == 5
    assert "git merge" in ran.error


# -- scopes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("scope", ["nonsense", "Global", "project/", "project/a b", "project/../x", "team/x"])
@pytest.mark.parametrize(
    "words",
    [["list"], ["search", "orders"], ["show", "D001"], ["log", "D001"], ["confirm", "D001"], ["export", "wukong"]],
    ids=lambda words: words[0],
)
def test_what_is_no_scope_is_a_wrong_use(filled: Path, words: list[str], scope: str) -> None:
    ran = run(filled, *words, "--scope", scope)
    assert (ran.code, ran.out) == (2, "")
    assert f"there is no scope {scope}: it is global or project/<name>" in ran.error
    assert "--help" in ran.error


def test_a_project_must_have_the_form_of_one(filled: Path, tmp_path: Path) -> None:
    ran = run(filled, "import", "wukong", str(tmp_path / "anchors.md"), "--project", "a b")
    assert ran.code == 2 and "no scope project/a b" in ran.error


@pytest.mark.parametrize("words", [["list"], ["search", "orders"]], ids=lambda words: words[0])
def test_a_project_that_nobody_knows_is_told(filled: Path, tmp_path: Path, words: list[str]) -> None:
    for more in ([], ["--json"]):
        ran = run(filled, *words, *more, "--scope", "project/无人知")
        assert (ran.code, ran.out.strip()) == (0, "[]" if more else "")
        assert "no record is in project/无人知" in ran.error and "kb list" in ran.error
    assert "no record is in" not in run(filled, *words, "--scope", "global", "--tag", "none").error
    known = run(filled, *words, "--scope", "project/here", KB_PROJECT="here")
    assert (known.code, known.out) == (0, "") and "is in" not in known.error, "where one works is known"


def test_a_project_with_records_that_do_not_answer_is_known(root: Path) -> None:
    run(root, *DECISION, "--scope", "project/shop")
    for words in (["search", "nothing"], ["list", "--tag", "none"], ["list", "--category", "pattern"]):
        ran = run(root, *words, "--scope", "project/shop")
        said = ("no record\n", "nothing found\n    → try it without the filters, or with fewer or other words\n")
        assert (ran.code, ran.out) == (0, "") and ran.error in said, words


@pytest.mark.parametrize(
    ("language", "said"), [("en", "kb keywords"), ("zh", "请减少或更换词语再试；登记同义词：kb keywords")]
)
def test_a_search_that_finds_nothing_says_what_to_try(root: Path, language: str, said: str) -> None:
    (root / "kb.toml").write_text(f'language = "{language}"\n')
    run(root, *DECISION)
    missed = run(root, "search", "how do we avoid rounding errors")
    assert missed.out == "" and said in missed.error and "kb vectors" in missed.error
    assert "kb keywords" not in run(root, "search", "PostgreSQL").error
    packed = json.loads(run(root, "pack", "how do we avoid rounding errors", "--json").out)
    look = packed["open_questions"][0]["look"]
    assert "kb keywords" in look and not any(row.startswith("kb search") for row in look), "that search found nothing"


def test_what_no_longer_holds_is_named_by_its_status(root: Path) -> None:
    run(root, *DECISION, "--impact", "src/pay.py")
    run(root, "rm", "D001", "--why", "gone", "--yes")
    left = run(root, "list", "src/pay.py")
    assert left.out == "" and "--status deprecated" in left.error and "superseded" not in left.error
    assert "D001" in run(root, "list", "src/pay.py", "--status", "deprecated").out


def test_a_file_given_to_hint_is_for_list(root: Path) -> None:
    mistaken = run(root, "hint", "src/pay.py")
    assert mistaken.code == 2 and "MOMENT must be one of: t1, t2, avatar" in mistaken.error
    assert "kb list src/pay.py" in mistaken.error
    helped = run(root, "hint", "--help").out
    assert "MOMENT" in helped.splitlines()[0], "the usage has the name that the error has"
    assert "what governs it" in run(root, "--help").out
    assert "STATUS" not in run(root, "status", "D001", "good").error


def test_kb_alone_shows_first_steps_then_the_everyday_commands(root: Path, tmp_path: Path) -> None:
    shown = run(root).error
    assert "First steps:" in shown and "kb new" in shown and "kb init --here" not in shown
    assert len(shown.splitlines()) < 12 and "kb help words" in shown
    run(root, *DECISION)
    shown = run(root).error
    assert "Every day:" in shown and "kb review" in shown and "merge-driver" not in shown
    assert len(shown.splitlines()) < 16
    assert "merge-driver" in run(root, "help").out, "all of them are in kb help"
    assert "gate" in run(root, "help", "words").out
    outside = tmp_path / "outside"
    outside.mkdir()
    assert "kb init --here" in run(outside, KB_HOME=str(tmp_path / "none")).error


def test_history_is_told_in_the_language_of_the_base(root: Path) -> None:
    run(root, *DECISION)
    assert "Add [D001]" in run(root, "log", "D001").out
    (root / "kb.toml").write_text('language = "zh"\n')
    for command in ("log", "history"):
        assert "新增 [D001]" in run(root, command, "D001").out and "Add [D001]" in git(root, "log", "--format=%s")


# -- streams --------------------------------------------------------------------------------------


def test_data_goes_to_stdout_and_words_to_stderr(root: Path) -> None:
    written = run(root, *DECISION)
    assert written.out.splitlines() == [
        "created   [D001] Use PostgreSQL for orders  content/anchors/global/D001-use-postgresql-for-orders.md"
    ]
    assert "large impact" in written.error
    for command in (["list"], ["show", "D001"], ["search", "orders"], ["log", "D001"], ["history", "D001"]):
        ran = run(root, *command)
        assert ran.out
        assert ran.error == ""
    assert run(root, "show", "D404").out == ""
    assert run(root, "list", "--colour").out == ""


@pytest.mark.parametrize(
    "words",
    [
        ["list"], ["show", "D001"], ["search", "orders"], ["log", "D001"], ["history", "D001"], ["refs", "D001"],
        ["review"], ["review", "show", "D002"], ["inbox"], ["inbox", "list"], ["session", "list"], ["check"],
        ["config"],
        ["hint", "t1"], ["hint", "t2", "-k", "orders"], ["hint", "avatar", "--avatar", "body", "--task", "orders"],
        ["alaya", "seeds"], ["alaya", "karma"], ["alaya", "prefs"], ["confirm", "D001"], ["doctor"],
        ["supersede", "D001", "--by", "D003"], ["status", "D001", "deprecated"], ["rm", "D003"], [*OTHER], [*HELD],
    ],
    ids=lambda words: " ".join(words[:3]),
)  # fmt: skip
def test_json_is_json_and_nothing_else(filled: Path, words: list[str]) -> None:
    ran = run(filled, *words, "--json")
    assert json.loads(ran.out) is not None
    assert ran.code in (0, 1, 3, 4)


@pytest.fixture(scope="module")
def filled(empty_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with two records, a review and something held."""
    import shutil

    place = tmp_path_factory.mktemp("filled") / "kb"
    shutil.copytree(empty_kb, place, symlinks=True)
    run(place, *DECISION)
    run(place, *OTHER)
    run(place, *HELD)
    run(place, "write", "--kind", "D", "--title", "Publish events through the outbox", "--decision",
        "Events are written to the outbox table first", "--why", "No event is ever lost",
        "--area", "modules")  # fmt: skip
    return place


# -- global options, aliases ----------------------------------------------------------------------


def test_the_option_kb_names_the_knowledge_base(root: Path, tmp_path: Path) -> None:
    run(root, *DECISION)
    assert run(tmp_path, "--kb", str(root), "list").out.startswith("D001")
    missing = run(tmp_path, "--kb", "nowhere", "list")
    assert missing.code == 1
    assert "nowhere is not a knowledge base" in missing.error


def test_the_environment_names_the_knowledge_base(root: Path, tmp_path: Path) -> None:
    run(root, *DECISION)
    assert run(tmp_path, "list", KB_HOME=str(root)).out.startswith("D001")


@pytest.mark.parametrize("alias", ALIASES)
def test_an_alias_is_the_command_it_stands_for(root: Path, alias: str) -> None:
    assert run(root, alias, "--help").out == run(root, *ALIASES[alias].split(), "--help").out


def test_a_word_that_is_an_alias_is_only_one_where_a_command_stands(root: Path) -> None:
    run(root, *DECISION, "--tag", "锚点")
    assert "D001" in run(root, "search", "锚点").out
    assert run(root, "--kb", str(root), "锚点").out.startswith("D001")


def test_a_path_limits_the_check(root: Path) -> None:
    run(root, *DECISION)
    folder = root / "content" / "anchors" / "global"
    (folder / "P001-half.md").write_text("---\nid: P001\n")
    assert run(root, "check").code == 1
    assert run(root, "check", str(folder / "D001-use-postgresql-for-orders.md")).code == 0
    assert run(root, "check", "content/anchors/global").code == 1
    assert run(folder, "check", "P001-half.md").code == 1
    assert run(root, "check", "content/sessions").code == 0
    assert run(root, "check", ".").code == 1


# -- both languages -------------------------------------------------------------------------------


def said_in(path: Path) -> list[tuple[int, str]]:
    """Return line and text of every literal that a module hands to click.echo or an error without `say`."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if isinstance(node, ast.Call) and name in (
            "click.echo",
            "click.UsageError",
            "click.confirm",
            "KbError",
            "BadInput",
        ):
            found += [(node.lineno, text) for text in _literals(node.args[0])]
    return found


def _literals(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Call | ast.Subscript):
        return []
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    return [text for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr) for text in _literals(child)]


@pytest.mark.parametrize("path", sorted(Path(kb.cli.__file__).parent.glob("*.py")), ids=lambda path: path.stem)
def test_no_command_says_words_that_cannot_be_translated(path: Path) -> None:
    plain = [(line, text) for line, text in said_in(path) if re.search("[A-Za-z]{3,}", text)]
    assert [row for row in plain if not re.fullmatch(r"content/sessions/|http://", row[1])] == []


@pytest.fixture
def chinese(root: Path) -> Path:
    """A Chinese knowledge base."""
    (root / "kb.toml").write_text('language = "zh"\n', encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "words",
    [
        DECISION, HELD, ["show", "D404"], ["lst"], ["list", "--colour"], ["list", "--kind", "novel"], ["show"],
        ["list", "--status", "done"], ["write"], ["write", "-"], ["write", "nothing.json"], ["check"],
        ["check", "nothing"], ["import", "adr", "nothing"], ["import", "wukong", "nothing"], ["review", "show", "D404"],
        ["inbox", "show", "x"], ["session", "load", "x"], ["session", "list", "--since", "soon"],
        ["init", "x", "--here"], ["--kb", "x", "list"], ["list", "--scope", "x"], ["list", "--scope", "project/x"],
    ],
    ids=lambda words: " ".join(words[:3]),
)  # fmt: skip
def test_in_a_chinese_knowledge_base_every_sentence_is_chinese(chinese: Path, words: list[str]) -> None:
    ran = run(chinese, *words)
    for line in ran.error.splitlines():
        sentence = re.sub(r"\[[^\]]*\]|“[^”]*”|≈.*|content/\S+|\(.*\)", "", line)
        if re.search(r"[A-Za-z]{2,} [A-Za-z]{2,} [A-Za-z]{2,}", sentence):
            assert HAN.search(sentence), line
    for line in ran.out.splitlines():
        assert HAN.search(line), line


def test_a_section_is_named_as_its_heading_is_read(root: Path) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    given = (
        "write",
        "--kind",
        "检查清单",
        "--title",
        "发布前检查",
        "--decision",
        "发布前逐项确认。",
        "--session",
        "s1",
    )
    ran = run(root, *given, "--section", "步骤=1. 备份数据库。", "--prevents-repeat", "yes")
    assert ran.code == 0, ran.error
    assert "## 步骤\n\n1. 备份数据库。" in run(root, "show", "CK001").out
    ran = run(root, *given, "--section", "步聚=1. 备份数据库。", "--dry-run")
    assert ran.code == 1 and "命令行选项: 没有字段 sections.步聚" in ran.error


@pytest.mark.parametrize(("language", "said"), [("en", "there is no terminal to edit in"), ("zh", "没有终端可供编辑")])
def test_without_a_terminal_no_editor_for_terminals_is_started(root: Path, language: str, said: str) -> None:
    run(root, *DECISION)
    (root / "kb.toml").write_text(f'language = "{language}"\n')
    ran = run(root, "edit", "D001", EDITOR="", VISUAL="")
    assert ran.code == 5 and said in ran.error and "kb write --updates D001" in ran.error and ran.out == ""
    assert not list((root / ".kb" / "edits").glob("*")), "nothing is left of it"


@pytest.mark.parametrize("answer", [b"n\n", b""], ids=["no", "stopped"])
def test_what_was_typed_is_kept_when_it_cannot_be_written(root: Path, tmp_path: Path, answer: bytes) -> None:
    run(root, *DECISION)
    editor = tmp_path / "editor"
    editor.write_text("#!/bin/sh\nsed -i -e 's/^uid:.*/uid: [/' -e '$a an hour of typing' \"$1\"\n")
    editor.chmod(0o755)
    ran = run(root, "edit", "D001", stdin=answer, EDITOR=str(editor), VISUAL=str(editor))
    kept = root / ".kb" / "edits" / "D001.md"
    assert ran.code in (1, 130) and str(kept) in ran.error
    assert "an hour of typing" in kept.read_text("utf-8")
    assert git(root, "status", "--porcelain") == ""
    editor.write_text("#!/bin/sh\nsed -i 's/^an hour of/two hours of/' \"$1\"\n")
    again = run(root, "edit", "D001", stdin=answer, EDITOR=str(editor), VISUAL=str(editor))
    assert again.code in (1, 130) and "two hours of typing" in kept.read_text("utf-8"), "the kept text is opened"
    uid = git(root, "show", "HEAD:" + next(root.glob("content/**/D001-*.md")).relative_to(root).as_posix())
    uid = next(line for line in uid.splitlines() if line.startswith("uid:"))
    editor.write_text(f"#!/bin/sh\nsed -i -e 's/^uid:.*/{uid}/' \"$1\"\n")
    done = run(root, "edit", "D001", EDITOR=str(editor), VISUAL=str(editor))
    assert done.code == 0 and "two hours of typing" in run(root, "show", "D001").out, done.error
    assert not list((root / ".kb" / "edits").glob("*"))


def test_an_index_that_breaks_is_an_error_and_then_whole_again(root: Path) -> None:
    run(root, *DECISION)
    index = root / ".kb" / "index.db"
    data = index.read_bytes()
    index.write_bytes(data[:4096] + b"\xaa" * (len(data) - 4096))
    ran = run(root, "list")
    assert ran.code == 1 and "index" in ran.error and "→" in ran.error
    assert "PostgreSQL" in run(root, "list").out


# -- wrong values -----------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["context", "usage"], ["form", "compact"], ["prune", "transcript"]])
def test_what_is_no_number_is_no_percent(root: Path, words: list[str]) -> None:
    for value in ("nan", "-1", "inf", "many"):
        ran = run(root, *words, "--percent", value)
        assert (ran.code, ran.out) == (2, "") and "--percent must be a number" in ran.error, value


@pytest.mark.parametrize("words", [["spawn", "--task", "x"], ["hint", "avatar", "--task", "x"]])
def test_an_unknown_avatar_is_named(root: Path, words: list[str]) -> None:
    ran = run(root, *words, "--avatar", "explorrer")
    assert ran.code == 2 and "explorrer" in ran.error and "explorer, analyst" in ran.error
    assert run(root, *words, "--avatar", "Explorer").code == 0 == run(root, *words, "--avatar", "耳").code


def test_an_option_that_would_do_nothing_is_refused(root: Path) -> None:
    ran = run(root, "hint", "t1", "--avatar", "耳")
    assert ran.code == 2 and "kb hint avatar --avatar 耳" in ran.error
    kept = run(root, "write", "--kind", "decision", "--title", "Retries wait with jitter", "--decision",
               "Retries wait with jitter.", "--area", "architecture", "--verification", "`false`")  # fmt: skip
    assert kept.code == 0
    assert run(root, "verify", "D001", "--yes").code == 2 and "$ " in run(root, "verify", "D001").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["digest", "tree"], "多余的词：tree"),
        (["export", "nothing"], "没有命令 nothing"),
        (["context", "build", "-q", "x", "--budget", "-1"], "--budget 必须是不小于 0 的数"),
        (["search", "x", "-n", "many"], "--limit 必须是不小于 1 的数"),
        (["search", "x", "-n"], "需要一个值"),
        (["context", "usage", "--percent", "nan"], "必须是 0 到 1000"),
    ],
)
def test_a_wrong_use_is_told_in_chinese_where_the_base_is(root: Path, words: list[str], said: str) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    ran = run(root, *words)
    assert ran.code == 2 and said in ran.error.splitlines()[0], ran.error
    assert not re.search(r"[A-Za-z]{3,} [a-z]{3,} [a-z]", ran.error.splitlines()[0]), ran.error


@pytest.mark.parametrize("name", OLD_NAMES)
@pytest.mark.parametrize("language", ["en", "zh"])
def test_an_old_name_explains_itself_or_says_why_there_is_none(root: Path, name: str, language: str) -> None:
    (root / "kb.toml").write_text(f'language = "{language}"\n')
    old = OLD_NAMES[name]
    done = run(root, name, "--help")
    assert done.code == 0 and not done.error
    if old.command:
        assert done.out == run(root, *old.command.partition(" --")[0].split(), "--help").out
    else:
        assert old.note and done.out.strip() == old.note.translate(language)
        refused = run(root, name)
        assert refused.code == 2 and done.out.strip() in refused.error and not refused.out


def test_old_names_are_a_table_and_hidden_from_the_help(root: Path) -> None:
    said = run(root, "--help").out
    assert not [name for name in OLD_NAMES if name in said.split()]
    for system in ("zclaw", "sman"):
        names = [name for name, old in OLD_NAMES.items() if old.system == system]
        assert [line.split()[0] for line in run(root, "commands", "--map", system).out.splitlines()] == names
        assert [row["name"] for row in json.loads(run(root, "commands", "--map", system, "--json").out)] == names
    source = Path(__file__).parent.parent / "data" / "zclaw_commands.txt"
    assert set(source.read_text().split()) == {name for name, old in OLD_NAMES.items() if old.system == "zclaw"}
    assert [line.split()[0] for line in run(root, "commands").out.splitlines()] == [*COMMANDS]


def test_an_old_name_takes_what_its_command_takes(root: Path) -> None:
    words = ("--title", "Fees are in cents", "--decision", "All fees are kept in whole cents.", "--reference", "yes")
    assert run(root, "viking_add", "agent://loan/knowledge/fees", *words).code == 0
    assert run(root, "memory_search", "cents").out.startswith("loan:DN001 ")
    assert run(root, "viking_grep", "whole c.nts").out.startswith("loan:DN001 ")
    assert run(root, "viking_ls", "agent://loan").out.startswith("loan:DN001 ")
    assert "whole cents" in run(root, "viking_read", "agent://loan/knowledge/fees/DN001", "--level", "1").out
    assert run(root, "memory_stats").out.startswith("records: 1\n")
    assert run(root, "search", "memory_search").code == 0  # a word like any other


# -- the next step -----------------------------------------------------------------------------------


def test_a_contradiction_is_said_once_with_the_one_next_step(root: Path) -> None:
    assert run(root, *DECISION).code == 0
    said = run(root, *OTHER).error
    assert said.count("D001") == 1 and said.count("Use PostgreSQL for orders") == 1
    assert said.count("→") == 1 and said.rstrip().endswith("→ decide it: kb review show D002")


def test_a_contradiction_of_what_is_accepted_is_said_once_too(root: Path) -> None:
    whole = ("--alternatives", "MySQL", "--impact", "src", "--verification", "Look", "--rollback", "Back")
    assert "✅" in (run(root, *DECISION, *whole).out and run(root, "list").out)
    said = run(root, *OTHER).error
    assert said.count("D001") == 1 and "which is accepted" not in said


def test_reviews_end_with_how_to_decide_them(root: Path) -> None:
    assert run(root, *DECISION).code == 0 and run(root, *OTHER).code == 4
    listed, shown = run(root, "review"), run(root, "review", "show", "D002")
    assert listed.error == ("both sides: kb review show D002; then kb review accept D002, or kb review reject D002\n")
    assert shown.error == "to decide it: kb review accept D002, or kb review reject D002\n"
    assert run(root, "review", "accept", "D002", "--yes").code == 0


def test_reviews_of_one_record_are_named_by_their_branches(root: Path) -> None:
    assert (
        run(root, *DECISION, "--verification", "x", "--rollback", "y", "--impact", "a", "--alternatives", "z").code == 0
    )
    for status in ("deprecated", "proposed"):
        assert run(root, "status", "D001", status).code == 4
    named = re.findall(r"kb review show (\S+);", run(root, "review").error)
    assert named[0] != "D001" and run(root, "review", "show", named[0]).code == 0


def test_what_is_hardly_alike_is_not_shown(root: Path) -> None:
    assert run(root, *DECISION).code == 0
    far = run(root, "write", "--kind", "decision", "--title", "Use gRPC between the services", "--why", "Typed calls",
              "--decision", "Services call each other by gRPC", "--area", "architecture", "--json")  # fmt: skip
    scores = [one["score"] for one in json.loads(far.out)[0]["similar"]]
    assert scores and max(scores) < 0.35  # else the test says nothing
    twin = run(root, "write", "--kind", "decision", "--title", "Use gRPC between all the back ends", "--why", "Typed",
               "--decision", "Back ends call by gRPC", "--area", "architecture")  # fmt: skip
    assert not [float(score) for score in re.findall(r"≈ (\S+)", twin.error) if float(score) < 0.35]


def test_a_record_is_found_by_its_number_alone(root: Path) -> None:
    run(root, *DECISION)
    shown = run(root, "show", "D001").out
    for name in ("1", "0001", "D1", "d01"):
        assert run(root, "show", name).out == shown, name
    pitfall = ("--kind", "pitfall", "--title", "The queue drops messages on restart", "--decision", "They are gone.")
    assert run(root, "write", *pitfall, "--why", "It keeps them in memory.", "--area", "architecture").code == 0
    several = run(root, "show", "1")
    assert several.code == 1 and "D001" in several.error and "P001" in several.error
    assert run(root, "show", "D1").out == shown and run(root, "show", "7").code == 1


@pytest.mark.parametrize("language", ["en", "zh"])
def test_two_records_of_one_number_lead_to_renumber(root: Path, language: str) -> None:
    run(root, *DECISION)
    (root / "kb.toml").write_text(f'language = "{language}"\n')
    path = next(root.glob("content/**/D001-*.md"))
    uid = next(line for line in path.read_text("utf-8").splitlines() if line.startswith("uid:"))
    other = path.read_text("utf-8").replace(uid, "uid: 01HZZZZZZZZZZZZZZZZZZZZZZZ")
    path.with_name("D001-another.md").write_text(other, "utf-8")
    said = run(root, "show", "D001").error
    assert "kb renumber" in said and path.name in said and "D001-another.md" in said
    assert run(root, "renumber").code == 0 and run(root, "show", "D001").code == 0


def test_the_log_of_a_renumbered_record_begins_where_it_was_written(root: Path) -> None:
    run(root, *DECISION)
    assert run(root, "renumber", "D001").code == 0
    log = run(root, "log", "D002").out.splitlines()
    assert len(log) == 2 and "renumbered" in log[0] and "created" in log[1]
    assert "PostgreSQL" in run(root, "log", "D002", "-p").out.split("diff --git")[-1]
    assert [
        line for line in run(root, "history", "D002").out.splitlines() if "Renumber" in line and "seeded" not in line
    ]


def test_what_replaces_a_record_is_said_wherever_it_is_named(root: Path) -> None:
    whole = ("--alternatives", "MySQL", "--impact", "src", "--verification", "Look", "--rollback", "Back")
    run(root, *DECISION, *whole)
    run(root, *OTHER, *whole)
    assert run(root, "review", "accept", "D002", "--yes").code == 0
    shown = run(root, "show", "D001")
    assert (
        "replaced by [D002] Use MongoDB for orders" in shown.error and "replaced" not in run(root, "show", "D002").error
    )
    found = run(root, "search", "orders", "PostgreSQL").out
    assert "Use PostgreSQL for orders  ❌ superseded" in found and "Use MongoDB for orders  (" in found
    before = git(root, "rev-parse", "HEAD")
    removed = run(root, "rm", "D001", "--yes")
    assert removed.code == 0 and "unchanged" in removed.out and "[D002]" in removed.error
    assert git(root, "rev-parse", "HEAD") == before and "status: superseded" in run(root, "show", "D001").out


def test_a_person_reads_a_review_section_by_section(root: Path) -> None:
    run(root, *DECISION)
    words = "The schema changes every single week. " * 8
    run(root, *OTHER[:-3], words, *OTHER[-2:])
    seen = run_at_terminal(root, "review", "show", "D002", COLUMNS="80")
    assert "now (" in seen.out and "proposed (cli)" in seen.out and "diff --git" not in seen.out
    assert "| --- |" not in seen.out and "MACHINE_BLOCK" not in seen.out and seen.out.count("schema changes") > 4
    assert max(len(line) for line in seen.out.splitlines()) <= 90
    assert "diff --git" in run_at_terminal(root, "review", "show", "D002", "-p").out
    assert "diff --git" in run(root, "review", "show", "D002").out


def test_words_of_a_title_name_what_is_held(root: Path) -> None:
    run(root, *HELD)
    run(root, *[word.replace("blue", "green").replace("settings", "logout") for word in HELD])
    assert run(root, "inbox", "drop", "button").code == 1, "two have it"
    dropped = run(root, "inbox", "drop", "settings Button")
    assert dropped.code == 0 and "settings" in dropped.out and "logout" in run(root, "inbox").out


def test_a_group_alone_lists_and_one_setting_is_shown(root: Path) -> None:
    assert run(root, "learn").error == run(root, "learn", "next").error != ""
    assert run(root, "hooks").error == run(root, "hooks", "status").error != ""
    one = run(root, "config", "required")
    assert one.code == 0 and one.out.startswith("required = ") and len(one.out.splitlines()) == 2
    assert list(json.loads(run(root, "config", "required", "--json").out)) == ["required"]
    assert run(root, "config", "requird").code == 2


def test_a_dry_run_says_what_would_be(root: Path) -> None:
    assert run(root, *DECISION, "--dry-run").out.startswith("would create [D001]")
    assert run(root, *HELD, "--dry-run").out.startswith("would hold")


def test_a_status_may_be_named_as_it_is_shown(root: Path) -> None:
    assert run(root, *DECISION).code == 0
    for said in ("proposed", "Proposed", "⚠️ proposed", "待验证", "⚠️ 待验证"):
        assert run(root, "list", "--status", said).out.startswith("D001"), said
    assert run(root, "search", "orders", "--status", "生效").out == ""
    assert run(root, "list", "--status", "foo").code == 2


def test_the_life_of_a_record_is_told_in_plain_words(root: Path) -> None:
    assert run(root, *DECISION).code == 0
    lines = run(root, "history", "D001").out.splitlines()
    assert "  written (seeded)  " in lines[0] and "  waits (dormant)  " in lines[1]


def test_lists_in_chinese_have_chinese_commas(root: Path) -> None:
    (root / "kb.toml").write_text('name = "kb"\nlanguage = "zh"\n', "utf-8")
    git(root, "commit", "-qam", "Speak Chinese")
    assert "未给出：备选方案、影响范围、" in run(root, *DECISION).error
    assert "proposed、accepted" in run(root, "list", "--status", "foo").error


def test_a_path_lists_what_governs_it_from_any_folder(root: Path) -> None:
    (root / "src/pay").mkdir(parents=True)
    (root / "src/pay/queue.py").write_text("", encoding="utf-8")
    assert run(root, *DECISION, "--impact", "src/pay").code == 0
    title = DECISION[DECISION.index("--title") + 1]
    for folder, path in ((".", "src/pay/queue.py"), ("src", "pay/queue.py"), ("src", "src/pay/gone.py")):
        assert title in run(root / folder, "list", path).out, (folder, path)
    assert title in run(root, "list", "src/").out and title in run(root, "list", ".").out, "what is below the folder"
    (root / "src/pays").mkdir()
    assert "no record" in run(root, "list", "src/pays").error
    assert "no record" in run(root, "list", "src/other.py").error
    assert "kb list PATH" in run(root, "governs", "src/pay").error
    assert run(root, "status", "D001", "rejected", "--yes").code == 0
    left = run(root, "list", "src/pay/queue.py")
    assert title not in left.out and "no longer valid: 1; see: --status rejected" in left.error
    assert title in run(root, "list", "src/pay/queue.py", "--status", "rejected").out


def test_an_unknown_command_of_a_group_is_named_alone(tmp_path: Path) -> None:
    """Also where click has a suggestion: “No such command 'request'. Did you mean 'reject'?”"""
    assert "there is no command request\n" in run(tmp_path, "review", "request").error


@pytest.mark.parametrize(("language", "mark"), [("en", "(named in the text)"), ("zh", "（正文提到）")])
def test_what_only_names_a_path_in_its_text_follows_what_declares_it(root: Path, language: str, mark: str) -> None:
    (root / "kb.toml").write_text(f'name = "kb"\nlanguage = "{language}"\n', "utf-8")
    named = [*DECISION, "--impact", "other/x.py", "--scope", "global"]
    named[named.index("--title") + 1] = "Retry twice"
    named[named.index("--why") + 1] += " That is what `src/pay/queue.py` does."
    assert run(root, *named).code == 0
    assert run(root, *DECISION, "--impact", "src/pay").code == 0
    declared, mentioned = run(root, "list", "src/pay/queue.py").out.splitlines()
    assert mark not in declared and "Retry twice" in mentioned and mentioned.endswith(mark)
    assert "Retry twice" not in run(root, "list", "src/pay/other.py").out
