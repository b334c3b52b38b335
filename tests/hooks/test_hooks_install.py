"""Writing the hooks into a host's settings and taking them out: nobody else's bytes change."""

import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.capture.save_session import save
from kb.errors import BadInput, UnknownId
from kb.hooks import install, settings_file, text_edit
from kb.hosts import EVENTS, HOSTS, resolve_settings_path
from kb.knowledge_base import KnowledgeBase
from kb.sessions.active_sessions import ExtractionJob
from tests.support import command_line
from tests.support.talk import EN, transcript

PROGRAM = "/opt/my tools/bin/kb-hook"

ALIEN = """{
    "env": {"TOKEN": "é中", "N": 1e5},
    "permissions": {"allow": ["Bash(ls:*)", "Read"]},
    "hooks": {
        "Stop": [
            {"matcher": "", "hooks": [{"type": "command", "command": "echo done"}]}
        ],
        "Notification": [ {"matcher": "Bash", "hooks": []} ]
    },
    "model": "opus"
}
"""
TEXTS = {
    "nothing": "",
    "blank": " \n",
    "empty": "{}",
    "one line": '{"model":"opus"}',
    "tabs": '{\n\t"model": "opus"\n}\n',
    "start or end marker": '{\n  "model": "opus"\n}',
    "crlf": '{\r\n  "model": "opus",\r\n  "hooks": {}\r\n}\r\n',
    "bom": '\ufeff{\n  "hooks": {"Stop": []}\n}\n',
    "alien": ALIEN,
    "null entries": '{"hooks": {"Stop": [null, 7, {"hooks": null}, {"hooks": [7, {"command": 7}]}]}}',
}


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home that no other test has written to."""
    return {**os.environ, "HOME": str(tmp_path / "home")}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A settings file in a folder that is not there yet."""
    return tmp_path / "home" / ".claude" / "settings.json"


def written(path: Path, text: str | None) -> bytes | None:
    if text is None:
        return None
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode())
    return text.encode()


def install_hooks(path: Path, environment: dict[str, str], program: str = PROGRAM) -> settings_file.SettingsEdit:
    change = install.plan_installation(HOSTS["claude"], str(path), program, environment)
    if change.has_changes:
        settings_file.apply_edit(change, environment)
    return change


def remove_hooks(path: Path, environment: dict[str, str]) -> settings_file.SettingsEdit:
    change = install.plan_removal(HOSTS["claude"], str(path), environment)
    if change.has_changes:
        settings_file.apply_edit(change, environment)
    return change


# -- there and back --------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [None, *TEXTS.values()], ids=["no file", *TEXTS])
def test_install_adds_and_uninstall_restores(path: Path, environment: dict[str, str], text: str | None) -> None:
    before = written(path, text)
    assert install_hooks(path, environment).before == before
    now = json.loads(path.read_bytes().decode("utf-8-sig"))
    for event, timeout in HOSTS["claude"].timeouts.items():
        entry = now["hooks"][event][-1]["hooks"][-1]
        assert entry["type"] == "command" and entry["timeout"] == timeout
        assert shlex.split(entry["command"])[0] == PROGRAM
        assert EVENTS[shlex.split(entry["command"])[1]] == event
    assert not install_hooks(path, environment).has_changes
    remove_hooks(path, environment)
    assert (path.read_bytes() if path.exists() else None) == before
    assert not remove_hooks(path, environment).has_changes
    assert not list(Path(environment["HOME"]).rglob("*.json.kb-*"))


@pytest.mark.parametrize("name", ["empty", "tabs", "crlf", "alien", "one line"])
def test_install_keeps_every_line_that_was_there(path: Path, environment: dict[str, str], name: str) -> None:
    before = written(path, TEXTS[name])
    assert before is not None
    install_hooks(path, environment)
    after = iter(path.read_bytes().decode().splitlines())
    kept = [row.rstrip(",") for row in before.decode().splitlines() if row.strip() not in ("{}", '"hooks": {}')]
    kept = [row.rstrip("}") if name == "one line" else row for row in kept]
    assert all(any(row in line for line in after) for row in kept), "in their order"
    assert ("\r\n" in TEXTS[name]) == ("\r\n" in path.read_bytes().decode())
    assert not re.search("[^\r]\n", path.read_bytes().decode()) or "\r\n" not in TEXTS[name]


@pytest.mark.parametrize("name", ["nothing", "tabs", "crlf", "bom", "alien"])
def test_uninstall_after_a_change_takes_out_kb_only(path: Path, environment: dict[str, str], name: str) -> None:
    written(path, TEXTS[name])
    install_hooks(path, environment)
    text = path.read_bytes().decode()
    root = text_edit.find_root(text.removeprefix("\ufeff"))
    mark = "\ufeff" if text.startswith("\ufeff") else ""
    changed = text_edit.insert_value(text.removeprefix("\ufeff"), root, ["新", {"a": None}], "added")
    path.write_bytes((mark + changed).encode())
    remove_hooks(path, environment)
    left = json.loads(path.read_bytes().decode("utf-8-sig"))
    assert left.pop("added") == ["新", {"a": None}]
    before = json.loads(TEXTS[name].removeprefix("\ufeff").strip() or "{}")
    for settings_ in (left, before):
        settings_["hooks"] = {event: groups for event, groups in settings_.get("hooks", {}).items() if groups}
    assert left == before


def test_hooks_of_another_place_are_replaced(path: Path, environment: dict[str, str]) -> None:
    before = written(path, ALIEN)
    install_hooks(path, environment, "/old/venv/bin/kb-hook")
    install_hooks(path, environment)
    assert {shlex.split(hook.command)[0] for hook in install.read_hooks(HOSTS["claude"], str(path))} == {PROGRAM}
    assert len(install.read_hooks(HOSTS["claude"], str(path))) == len(HOSTS["claude"].timeouts)
    remove_hooks(path, environment)
    assert path.read_bytes() == before


def test_a_hook_that_somebody_took_out_comes_back(path: Path, environment: dict[str, str]) -> None:
    install_hooks(path, environment)
    now = json.loads(path.read_text())
    del now["hooks"]["Stop"]
    now["hooks"]["SessionStart"][0]["hooks"].insert(0, {"type": "command", "command": "echo mine"})
    path.write_text(json.dumps(now))
    install_hooks(path, environment)
    assert {hook.event for hook in install.read_hooks(HOSTS["claude"], str(path))} == set(HOSTS["claude"].timeouts)
    assert (
        len(install.read_hooks(HOSTS["claude"], str(path))) == len(HOSTS["claude"].timeouts)
        and "echo mine" in path.read_text()
    )
    remove_hooks(path, environment)
    assert json.loads(path.read_text()) == {
        "hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "echo mine"}]}]}
    }


@pytest.mark.parametrize(
    ("text", "line"),
    [('{\n  "a": "b",\n}', 3), ("[]", 1), ('"x"', 1), ('{\n "hooks": []\n}', 2), ('{"hooks": {\n "Stop": {}}}', 2),
     ("// a comment\n{}", 1), ("\xff\xfe", 1), ("{} {}", 1), ("[" * 100_000, 0)],
    ids=range(9),
)  # fmt: skip
def test_broken_settings_are_refused_and_left(path: Path, environment: dict[str, str], text: str, line: int) -> None:
    path.parent.mkdir(parents=True)
    path.write_bytes(text.encode("latin-1"))
    for call in (lambda: install_hooks(path, environment), lambda: remove_hooks(path, environment)):
        with pytest.raises(BadInput) as error:
            call()
        assert (error.value.path, error.value.line) == (str(path), line)
    assert path.read_bytes() == text.encode("latin-1")


def test_a_link_stays_a_link_and_rights_stay_rights(path: Path, environment: dict[str, str], tmp_path: Path) -> None:
    real = tmp_path / "dotfiles" / "claude.json"
    written(real, ALIEN)
    real.chmod(0o640)
    path.parent.mkdir(parents=True)
    path.symlink_to(real)
    install_hooks(path, environment)
    assert path.is_symlink() and install.read_hooks(HOSTS["claude"], str(real)) and real.stat().st_mode & 0o777 == 0o640
    remove_hooks(path, environment)
    assert path.is_symlink() and real.read_text() == ALIEN


def test_what_cannot_be_put_in_place_leaves_nothing_behind(path: Path, environment: dict[str, str]) -> None:
    change = install.plan_installation(HOSTS["claude"], str(path), PROGRAM, environment)
    (path / "in the way").mkdir(parents=True)
    with pytest.raises(OSError):
        settings_file.apply_edit(change, environment)
    assert os.listdir(path.parent) == [path.name]


def test_what_was_there_is_kept_for_nobody_else(path: Path, environment: dict[str, str]) -> None:
    written(path, ALIEN)
    install_hooks(path, environment)
    (kept,) = Path(environment["HOME"], ".local", "state", "kb", "hooks").iterdir()
    assert kept.stat().st_mode & 0o077 == 0
    remove_hooks(path, environment)
    assert not kept.exists()


@pytest.mark.parametrize(
    ("line", "ours"),
    [("kb-hook stop", True), ("'/a b/kb-hook' session-start", True), ("/x/kb-hook Stop --host claude", True),
     ("kb-hook", False), ("kb-hook write", False), ("my-kb-hook stop", False), ("echo kb-hook stop", False),
     ("kb-hook stop; rm -rf /", False), ("kb-hook 'stop", False), ("kb-hook stop && echo x", False), ("", False)],
)  # fmt: skip
def test_kb_knows_its_own_hooks(line: str, ours: bool) -> None:
    assert install.is_own_hook(line) == ours


def test_an_unknown_host_is_named_with_the_known(environment: dict[str, str]) -> None:
    with pytest.raises(UnknownId) as error:
        install.get_host("emacs")
    assert "claude" in str(error.value.hint)


def test_settings_stand_where_the_host_looks(tmp_path: Path) -> None:
    assert resolve_settings_path(HOSTS["claude"].hooks, "", {"HOME": "/h"}) == "/h/.claude/settings.json"
    assert (
        resolve_settings_path(HOSTS["claude"].hooks, "", {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c"})
        == "/c/settings.json"
    )
    assert resolve_settings_path(HOSTS["claude"].hooks, "/p", {"HOME": "/h"}) == "/p/.claude/settings.json"
    (tmp_path / ".git").mkdir()
    (tmp_path / "a" / "b").mkdir(parents=True)
    assert settings_file.find_project_root(str(tmp_path / "a" / "b")) == str(tmp_path)


# -- JSON as text ----------------------------------------------------------------------------------

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3),
    max_leaves=12,
)
OTHERS = st.dictionaries(st.text(min_size=1, max_size=5).filter(lambda key: key != "hooks"), JSON, max_size=3)
GROUPS = st.lists(
    st.fixed_dictionaries({"matcher": st.text(max_size=3), "hooks": st.lists(st.just({"command": "x"}), max_size=2)}),
    max_size=2,
)
HOOKS = st.dictionaries(st.sampled_from(["Stop", "SessionStart", "Other"]), GROUPS, max_size=3)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(OTHERS, st.none() | HOOKS, st.sampled_from([None, 1, 2, 4, "\t"]), st.booleans())
def test_any_settings_survive(others: dict[str, object], hooks: object, indent: int | str | None, ascii_: bool) -> None:
    value = others if hooks is None else {"hooks": hooks, **others}
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_)
    wanted = install.build_hooks(HOSTS["claude"], PROGRAM)
    there = install.add_hooks(install.get_host("claude"), text, wanted)
    assert list(json.loads(there)) == [*value, *(["hooks"] if hooks is None else [])]
    for event in HOSTS["claude"].timeouts:
        mine = json.loads(there)["hooks"][event]
        assert mine[:-1] == (value.get("hooks") or {}).get(event, [])  # type: ignore[attr-defined]
    back = json.loads(install.remove_hooks(there))
    for side in (back, value):
        side["hooks"] = {event: groups for event, groups in (side.get("hooks") or {}).items() if groups}  # type: ignore[union-attr]
    assert back == value


# -- the command -----------------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str, str]:
    return command_line.run(Path.cwd(), "hooks", *words)


def test_the_command_shows_what_it_changes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".claude" / "settings.json"
    before = written(path, ALIEN)
    code, out, error = run("install", "claude", "--dry-run")
    assert code == 0 and path.read_bytes() == before and error == ""
    assert f"+++ {path}" in out and re.search(r"^\+ +\"command\": \".*kb-hook stop\"", out, re.MULTILINE)
    assert not [row for row in out.splitlines() if row.startswith("-") and not row.startswith("---") and "]" not in row]
    code, shown, error = run("install", "claude")
    assert code == 0 and shown == "" and f"hooks written to {path}" in error, "one line, not the file"
    assert run("uninstall", "claude")[0] == 0 and run("install", "claude", "--verbose")[1] == out
    assert run("install", "claude")[1] == "" and install.read_hooks(HOSTS["claude"], str(path))
    code, out, _ = run("status", "--json")
    assert sorted(row["event"] for row in json.loads(out)) == sorted(HOSTS["claude"].timeouts)
    assert run("uninstall", "claude")[0] == 0 and path.read_bytes() == before
    assert run("status")[1] == ""


def test_the_project_has_settings_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    (tmp_path / "shop" / "src").mkdir()
    monkeypatch.chdir(tmp_path / "shop" / "src")
    assert run("install", "claude", "--project")[0] == 0
    assert (tmp_path / "shop" / ".claude" / "settings.json").exists() and not (tmp_path / "home").joinpath(
        ".claude"
    ).exists()
    assert run("uninstall", "claude", "--project")[0] == 0
    assert not (tmp_path / "shop" / ".claude" / "settings.json").exists()
    assert run("install", "claude", "--project", "--user")[0] == 2


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project of a team, on a machine where `kb-hook` is on the path."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "VIRTUAL_ENV"):
        monkeypatch.delenv(name, raising=False)
    program = tmp_path / "bin" / "kb-hook"
    program.parent.mkdir()
    program.symlink_to(install.find_hook_program())
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    (tmp_path / "shop" / ".git").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


@pytest.mark.parametrize("host", HOSTS)
def test_a_projects_hooks_name_no_path_of_one_machine(shop: Path, host: str) -> None:
    assert run("install", host, "--project")[0] == 0
    path = Path(resolve_settings_path(HOSTS[host].hooks, str(shop), os.environ))
    assert str(Path(sys.executable).parent) not in path.read_text()
    hooks = install.read_hooks(HOSTS[host], str(path))
    assert {hook.event for hook in hooks} == set(HOSTS[host].timeouts)
    assert all(map(install.is_for_team, hooks)) and hooks[0].command.startswith("kb-hook ")
    assert "already" in run("install", host, "--project")[2], "a second time changes nothing"
    assert run("uninstall", host, "--project")[0] == 0 and not path.exists()


def test_the_installer_says_what_a_team_needs(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    error = run("install", "claude", "--project")[2]
    assert "commit this file" in error and "PATH" not in error
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    assert "kb-hook is not on your PATH" in run("install", "claude", "--project")[2]
    # an activated environment is on the path of one shell
    active = Path(os.environ["HOME"]).parent
    monkeypatch.setenv("PATH", f"{active}/bin:/usr/bin:/bin")
    monkeypatch.setenv("VIRTUAL_ENV", str(active))
    assert "kb-hook is not on your PATH" in run("install", "claude", "--project")[2]


def test_the_installer_names_the_hooks_of_the_other_scope(shop: Path) -> None:
    theirs = resolve_settings_path(HOSTS["claude"].hooks, str(shop), os.environ)
    mine = resolve_settings_path(HOSTS["claude"].hooks, "", os.environ)
    error = run("install", "claude")[2]
    assert "--project" in error and theirs not in error
    assert f"{mine} has hooks too: where both exist, only the user's run" in run("install", "claude", "--project")[2]
    assert f"{theirs} has hooks too: where both exist, only the user's run" in run("install", "claude")[2]
    change = install.plan_installation(HOSTS["claude"], theirs, PROGRAM, os.environ)
    settings_file.apply_edit(change, os.environ)
    assert "both run; to fix those: kb hooks install claude --project" in run("install", "claude")[2]


@pytest.mark.parametrize("host", [name for name in HOSTS if HOSTS[name].tells_model("UserPromptSubmit")])
def test_where_the_user_has_hooks_those_of_the_project_say_nothing(shop: Path, root: Path, host: str) -> None:
    with KnowledgeBase(str(root), os.environ) as kb:
        save(kb, ExtractionJob(transcript(shop / "t.jsonl", EN), "s-0", str(shop)))
    word = "user-prompt"
    about = {"prompt": "Do API responses have to go through the Sanitizer?", "cwd": str(shop), "timestamp": 1}
    line = ["kb-hook", word, "--host", host, "--project"]

    def call(session: str) -> str:
        about.update(session_id=session, sessionId=session)
        environment = {**os.environ, "KB_HOME": str(root)}
        done = subprocess.run(line, input=json.dumps(about).encode(), capture_output=True, env=environment, check=True)
        return done.stdout.decode()

    run("install", host, "--project")
    assert "D001" in call("s-1"), "alone it answers"
    assert run("install", host, "--events", "session-start")[0] == 0
    is_plugin = not HOSTS[host].entry
    assert ("D001" in call("s-2")) != is_plugin, "the user has another event only"
    run("uninstall", host)
    run("install", host)
    assert "D001" not in call("s-3"), "the user's own has answered"
    line.remove("--project")
    assert "D001" in call("s-4")


def test_the_line_names_the_program_of_this_python(tmp_path: Path) -> None:
    program = install.find_hook_program()
    assert os.path.isabs(program) and os.path.dirname(program) == os.path.dirname(sys.executable)
    hook = next(hook for hook in install.build_hooks(HOSTS["claude"], program) if hook.event == "UserPromptSubmit")
    done = subprocess.run(["/bin/sh", "-c", hook.command], input=b'{"prompt": ""}', capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("number", ["1e999", "NaN", "-Infinity"])
def test_a_time_that_is_no_number_of_seconds_is_none(path: Path, number: str) -> None:
    path.parent.mkdir(parents=True)
    entry = f'{{"type": "command", "command": "kb-hook stop", "timeout": {number}}}'
    path.write_text(f'{{"hooks": {{"Stop": [{{"hooks": [{entry}]}}]}}}}')
    assert [hook.timeout for hook in install.read_hooks(HOSTS["claude"], str(path))] == [0]


def test_a_reader_who_stops_reading_stops_no_uninstalling(root: Path, tmp_path: Path) -> None:
    """`kb hooks uninstall claude | head`: the pipe is closed before the first line is printed."""
    environment = {**os.environ, "HOME": str(tmp_path), "KB_HOME": str(root)}
    code = "import sys\nfrom kb.cli import main\nsys.exit(main(sys.argv[1:]))"
    settings = tmp_path / ".claude" / "settings.json"
    for verb in ("install", "uninstall"):
        reading, writing = os.pipe()
        os.close(reading)
        subprocess.run([sys.executable, "-c", code, "hooks", verb, "claude"], cwd=root, env=environment,
                       stdout=writing, stderr=subprocess.DEVNULL, check=False)  # fmt: skip
        os.close(writing)
        assert (settings.exists() and b"kb-hook" in settings.read_bytes()) is (verb == "install")
