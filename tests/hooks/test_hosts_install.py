"""Hooks in the settings of every host: there and back, comments and strangers kept; plugins and prompts beside them."""

import json
import os
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from kb.cli.host_commands import hooks as command
from kb.errors import BadInput, UnknownId
from kb.hooks import codex, install, plugin, settings_file, text_edit
from kb.hooks.install import get_host
from kb.hosts import EVENTS, resolve_settings_path

HOSTS = ("codex", "gemini", "copilot", "cursor")
PROGRAM = "/opt/my tools/kb-hook"
COMMENTED = """{
  // what we agreed on
  "model": "pro", /* fast */
  "hooks": {
    "SessionStart": [
      // ours first
      {"hooks": [{"type": "command", "name": "mine", "command": "echo \\"// no comment\\""}]} // keep
    ],
    "BeforeTool": [ /* none yet */ ]
  } // end of hooks
}
"""
COMMENTS = ("// what we agreed on", "/* fast */", "// ours first", "// keep", "/* none yet */", "// end of hooks")


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own."""
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}


def there(host: str, path: str, environment: dict[str, str], *events: str) -> settings_file.SettingsEdit:
    change = install.plan_installation(get_host(host), path, PROGRAM, environment, events)
    if change.has_changes:
        settings_file.apply_edit(change, environment)
    return change


def back(host: str, path: str, environment: dict[str, str]) -> settings_file.SettingsEdit:
    change = install.plan_removal(get_host(host), path, environment)
    if change.has_changes:
        settings_file.apply_edit(change, environment)
    return change


# -- hooks -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("text", [None, "{}", '{\n\t"version": 1,\n\t"hooks": {"x": []}\n}\n'])
def test_there_and_back(host: str, text: str | None, environment: dict[str, str]) -> None:
    path = Path(resolve_settings_path(get_host(host).hooks, "", environment))
    if text is not None:
        path.parent.mkdir(parents=True)
        path.write_text(text)
    there(host, str(path), environment)
    now = json.loads(path.read_text())
    for event, timeout in get_host(host).timeouts.items():
        (one,) = now["hooks"][event]
        call = one["hooks"][0] if get_host(host).is_grouped else one
        words = shlex.split(call.get("command") or call["bash"])
        assert words[0] == PROGRAM and words[2:] == ["--host", host]
        assert EVENTS[words[1]] == get_host(host).events[event]
        assert call.get("timeoutSec", call.get("timeout")) == timeout * (1000 if host == "gemini" else 1)
    assert now.get("version") == (
        1 if text is None and not get_host(host).is_grouped else json.loads(text or "{}").get("version")
    )
    assert [hook.timeout for hook in install.read_hooks(get_host(host), str(path))] == [
        *get_host(host).timeouts.values()
    ]
    assert not there(host, str(path), environment).has_changes
    back(host, str(path), environment)
    assert (path.read_text() if path.exists() else None) == text


@pytest.mark.parametrize("host", HOSTS)
def test_after_a_change_only_kb_goes(host: str, environment: dict[str, str]) -> None:
    path = Path(resolve_settings_path(get_host(host).hooks, "", environment))
    there(host, str(path), environment)
    now = json.loads(path.read_text())
    event = next(iter(get_host(host).timeouts))
    now["hooks"][event].insert(0, {"command": "echo mine"})
    path.write_text(json.dumps(now))
    back(host, str(path), environment)
    left = json.loads(path.read_text())
    assert left == {**get_host(host).top, "hooks": {event: [{"command": "echo mine"}]}}


def test_only_the_events_that_are_wanted(environment: dict[str, str], tmp_path: Path) -> None:
    path = str(tmp_path / "hooks.json")
    there("cursor", path, environment, "stop", "SessionStart")
    assert [hook.event for hook in install.read_hooks(get_host("cursor"), path)] == ["sessionStart", "stop"]
    with pytest.raises(UnknownId) as error:
        install.build_hooks(get_host("copilot"), PROGRAM, ["subagentStop"])
    assert "preToolUse" in str(error.value.hint)


# -- comments --------------------------------------------------------------------------------------


def test_comments_stay_where_they_are(environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(COMMENTED)
    there("gemini", str(path), environment)
    text = path.read_text()
    assert [text.count(comment) for comment in COMMENTS] == [1] * len(COMMENTS)
    lines = text.splitlines()
    assert '"mine"' in next(line for line in lines if "// keep" in line), "a comment stays on its line"
    assert len(install.read_hooks(get_host("gemini"), str(path))) == len(get_host("gemini").timeouts)
    path.write_text(text + "\n// the last word\n")
    back("gemini", str(path), environment)
    left = path.read_text()
    assert json.loads(text_edit.strip_comments(left)) == json.loads(text_edit.strip_comments(COMMENTED))
    assert all(comment in left for comment in (*COMMENTS, "// the last word"))


@pytest.mark.parametrize("host", ["claude", "codex", "copilot"])
def test_who_reads_no_comments_gets_none(host: str, environment: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text("// a comment\n{}")
    with pytest.raises(BadInput):
        there(host, str(path), environment)
    assert path.read_text() == "// a comment\n{}"


@pytest.mark.parametrize(
    ("text", "number", "left"),
    [("[1, /* a */ 2]", 1, "[1 /* a */]"), ("[/* a */ 1, 2]", 0, "[/* a */ 2]"), ("[ 1 ]", 0, "[]"),
     ("[1, // of two\n2]", 0, "[// of two\n2]"), ("[/* a */ 1 /* b */]", 0, "[/* a */  /* b */]"),
     ('["// no", 2]', 1, '["// no"]')],
)  # fmt: skip
def test_what_goes_leaves_the_comments_of_others(text: str, number: int, left: str) -> None:
    assert text_edit.remove_value(text, 0, number) == left


def test_codex_switched_off_is_told(environment: dict[str, str], tmp_path: Path) -> None:
    config = tmp_path / "home" / ".codex" / "config.toml"
    config.parent.mkdir(parents=True)
    for text, off in (("", 0), ("[features]\nhooks = true\n", 0), ("[features]\nhooks = false\n", 1), ("[[", 0),
                      ("features = 1\n", 0), ("[features]\ncodex_hooks = false\n", 1)):  # fmt: skip
        config.write_text(text)
        assert len(codex.find_disabling_files(install.list_settings_paths("codex", str(tmp_path), environment))) == off


# -- plugin and prompts ----------------------------------------------------------------------------


def run(*words: str) -> tuple[int, str, str]:
    done = CliRunner().invoke(command, list(words), help_option_names=["-h", "--help"])
    return done.exit_code, done.stdout, str(done.exception or "")


def test_the_plugin_is_a_marketplace_of_one(tmp_path: Path) -> None:
    folder = tmp_path / "plugin"
    code, out, _ = run("plugin", "--out", str(folder), "--mcp")
    assert code == 0 and len(out.splitlines()) == 5
    market = json.loads((folder / ".claude-plugin" / "marketplace.json").read_text())
    (offered,) = market["plugins"]
    place = folder / offered["source"]
    about = json.loads((place / ".claude-plugin" / "plugin.json").read_text())
    assert about["name"] == offered["name"] == "kb" and about["version"] == offered["version"]
    assert about["author"]["name"] and market["description"], "what `claude plugin validate --strict` asks for"
    assert len((place / "README.md").read_text().split()) >= 40
    hooks = json.loads((place / "hooks" / "hooks.json").read_text())["hooks"]
    assert set(hooks) == set(get_host("claude").timeouts)
    for event, (group,) in hooks.items():
        program, word = shlex.split(group["hooks"][0]["command"])
        assert (program, EVENTS[word]) == ("kb-hook", event) and group.get("matcher") == get_host(
            "claude"
        ).matchers.get(event)
    assert run("plugin", "--out", str(folder), "--mcp")[1] == "", "again, nothing changes"
    (folder / "mine.txt").write_text("x")
    assert run("plugin", "--out", str(folder))[0] != 0 and (folder / "mine.txt").exists()
    assert set(plugin.render_claude_plugin("x", install.WORDS)) == set(
        plugin.render_claude_plugin("x", install.WORDS, mcp=True)
    ) - {"kb/.mcp.json"}


AGENTS = """{
  // my agents
  "agents": {
    "sisyphus": {"model": "opus", "prompt_append": "Be brief."},
    "oracle": {"model": "gpt"} // she knows
  }
}
"""


@pytest.mark.parametrize("text", [None, "{}", '{"agents": {}}', AGENTS])
def test_orchestrators_are_told_to_ask_first_and_forget_it_again(
    text: str | None, environment: dict[str, str], tmp_path: Path
) -> None:
    path = Path(plugin.resolve_agents_path("", environment))
    if text is not None:
        path.parent.mkdir(parents=True)
        path.write_text(text)
    for _ in range(2):
        settings_file.apply_edit(
            plugin.plan_amendment(str(path), ("sisyphus", "atlas"), "en", environment), environment
        )
    assert plugin.list_amended(str(path)) == ("sisyphus", "atlas")
    agents = json.loads(text_edit.strip_comments(path.read_text()))["agents"]
    told = agents["sisyphus"]["prompt_append"]
    assert told.count("AMENDMENT to Phase 0: insert Step 0") == 1 and ("Be brief." in told) == (text == AGENTS)
    assert "user_question" in agents["atlas"]["prompt_append"] and "Opt-out" in told
    if text == AGENTS:
        path.write_text(path.read_text() + "// later\n")
        settings_file.apply_edit(plugin.plan_amendment_removal(str(path), environment), environment)
        assert path.read_text() == AGENTS + "// later\n"
    else:
        settings_file.apply_edit(plugin.plan_amendment_removal(str(path), environment), environment)
        assert (path.read_text() if path.exists() else None) == text
    assert not plugin.plan_amendment_removal(str(path), environment).has_changes


def test_the_command_amends_prompts_and_takes_that_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_CONFIG_HOME")
    path = tmp_path / ".config" / "opencode" / "oh-my-opencode.json"
    words = ("opencode", "--orchestrator", "sisyphus,atlas")
    assert "AMENDMENT" in run("install", *words, "--dry-run")[1] and not path.exists()
    assert run("install", *words)[0] == 0 and path.exists() and run("install", *words)[1] == ""
    assert run("uninstall", *words)[0] == 0 and not path.exists()
    assert run("install", "claude", "--orchestrator", "atlas")[0] == 2
    assert "there is no orchestrator zeus" in run("install", "opencode", "--orchestrator", "zeus")[2]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text('{"agents": []}')
    assert run("install", *words)[0] != 0 and path.read_text() == '{"agents": []}'


def test_gemini_calls_kb_at_a_compression_that_was_asked_for_only(environment: dict[str, str]) -> None:
    path = resolve_settings_path(get_host("gemini").hooks, "", environment)
    there("gemini", path, environment)
    (group,) = json.loads(Path(path).read_text())["hooks"]["PreCompress"]
    assert group["matcher"] == "manual", "the host compares the matcher with the trigger"


# -- what is left ----------------------------------------------------------------------------------


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")} if folder.exists() else set()


@pytest.mark.parametrize("host", ["claude", "codex", "gemini", "copilot", "cursor", "opencode"])
@pytest.mark.parametrize("is_project", [False, True])
def test_no_folder_that_kb_made_is_left(
    host: str, is_project: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    home.mkdir()
    monkeypatch.setenv("HOME", str(home))
    for name in ("XDG_CONFIG_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(work)
    where = "--project" if is_project else "--user"
    place = work if is_project else home
    before = tree(place)
    assert run("install", host, where)[0] == 0 and tree(place) != before
    assert run("install", host, where)[0] == run("uninstall", host, where)[0] == 0
    assert {path for path in tree(place) if not path.startswith(".local")} <= before | {".cache", ".cache/kb"}


def test_folders_of_others_and_folders_in_use_stay(environment: dict[str, str], tmp_path: Path) -> None:
    path = Path(resolve_settings_path(get_host("copilot").hooks, str(tmp_path), environment))
    path.parent.parent.mkdir()
    there("copilot", str(path), environment)
    back("copilot", str(path), environment)
    assert path.parent.parent.is_dir() and not path.parent.exists(), "only the one that kb made"
    there("copilot", str(path), environment)
    (path.parent / "mine.json").touch()
    back("copilot", str(path), environment)
    assert (path.parent / "mine.json").exists()


def test_hooks_and_server_in_one_file_leave_no_folder(environment: dict[str, str]) -> None:

    client, path = install.get_client("gemini"), resolve_settings_path(get_host("gemini").hooks, "", environment)
    there("gemini", path, environment)
    settings_file.apply_edit(install.plan_server_installation(client, path, ["kb", "mcp"], environment), environment)
    back("gemini", path, environment)
    assert Path(path).exists()
    settings_file.apply_edit(install.plan_server_removal(client, path, environment), environment)
    left = Path(path)
    assert left.read_text().split() in (["{}"], ["{", "}"]) if left.exists() else not left.parent.exists()


def test_taking_opencodes_hooks_out_takes_its_prompts_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    assert run("install", "opencode", "--orchestrator", "sisyphus")[0] == 0
    path = plugin.resolve_agents_path("", dict(os.environ))
    assert plugin.list_amended(path) == ("sisyphus",)
    code, out, _ = run("uninstall", "opencode", "--verbose")
    assert code == 0 and "KB:sisyphus" in out and plugin.list_amended(path) == ()
    assert run("install", "opencode")[0] == run("install", "opencode", "--orchestrator", "atlas")[0] == 0
    assert run("uninstall", "opencode", "--orchestrator", "atlas")[0] == 0
    assert Path(resolve_settings_path(get_host("opencode").hooks, "", dict(os.environ))).exists(), (
        "the other way the plugin stays"
    )
