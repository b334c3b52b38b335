"""Writing kb's server into the settings of a client and taking it out: nobody else's bytes change."""

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import BadInput, UnknownId
from kb.hooks import install, text_edit
from kb.hooks.settings_file import apply_edit
from kb.hosts import HOSTS, Host, resolve_settings_path
from tests.support.command_line import run

COMMAND = ["/opt/my tools/kb", "mcp"]
SETTINGS = {
    "claude": '{\n\t"numStartups": 7,\n\t"mcpServers": {\n\t\t"git": {"command": "git-mcp"}\n\t},\n\t"é": [1e5]\n}\n',
    "cursor": '{"mcpServers": {}}',
    "copilot": '{\n  "mcpServers": {\n    "git": {"type": "local", "command": "git-mcp", "tools": ["*"]}\n  }\n}\n',
    "gemini": '{\n  // my theme\n  "theme": "Dark", // at night\n  "mcpServers": {\n    "a": {"url": "http://a//b"},'
    " // first\n    /* the second */\n  },\n}\n",
    "opencode": '{\n  "$schema": "https://opencode.ai/config.json",\n  "mcp": {\n    "x": {"type": "r"},\n  },\n}\n',
    "codex": '# mine\nmodel = "o9" # best\nprompt = """\n[mcp_servers.kb]\n"""\n\n[mcp_servers.git] # "kb"\n'
    'command = "git-mcp"\nargs = [\n  "a", # [mcp_servers.kb]\n]\n\n# below\n[tui]\ntheme = \'x\'\n',
}
LAYOUTS = {
    "as it is": lambda text: text,
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "bom": lambda text: "\ufeff" + text,
}


def parsed(client: Host, text: str) -> dict[str, Any]:
    """Return what the client reads in *text*."""
    text = text.removeprefix("\ufeff")
    return tomllib.loads(text) if client.name == "codex" else json.loads(text_edit.strip_comments(text))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home that no other test has written to."""
    return {"HOME": str(tmp_path / "home")}


def place(client: Host, environment: dict[str, str], text: str | None = None) -> Path:
    """Return the user's settings of *client*, with *text* in them."""
    path = Path(resolve_settings_path(client.mcp, "", environment))
    path.parent.mkdir(parents=True, exist_ok=True)
    if text is not None:
        path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize("name", HOSTS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_the_server_is_added_once_and_its_removal_restores_every_byte(
    environment: dict[str, str], name: str, layout: str
) -> None:
    client = install.get_client(name)
    text = LAYOUTS[layout](SETTINGS[name])
    path = place(client, environment, text)
    apply_edit(install.plan_server_installation(client, str(path), COMMAND, environment), environment)
    now = path.read_bytes().decode()
    entry = parsed(client, now)[client.mcp_key][install.SERVER_NAME]
    assert entry == install.build_server_entry(client, COMMAND)
    lines = iter(now.split("\n"))
    kept = [line.rstrip("\r,") for line in text.split("\n") if line.strip() not in ("", "{", "}")]
    assert name == "cursor" or all(any(line in after for after in lines) for line in kept), "in their order"
    assert layout != "crlf" or "\n" not in text or not re.search("[^\r]\n", now)
    assert not install.plan_server_installation(client, str(path), COMMAND, environment).has_changes
    apply_edit(install.plan_server_removal(client, str(path), environment), environment)
    assert path.read_bytes() == text.encode()
    assert not install.plan_server_removal(client, str(path), environment).has_changes


@pytest.mark.parametrize("name", HOSTS)
def test_after_a_change_by_others_the_removal_takes_out_the_server_only(environment: dict[str, str], name: str) -> None:
    client = install.get_client(name)
    path = place(client, environment, SETTINGS[name])
    apply_edit(install.plan_server_installation(client, str(path), COMMAND, environment), environment)
    mark = "\n[added]\n" if name == "codex" else "\n "
    path.write_text(path.read_text() + mark)
    apply_edit(install.plan_server_removal(client, str(path), environment), environment)
    left = path.read_text()
    expected = {**parsed(client, SETTINGS[name]), **({"added": {}} if name == "codex" else {})}
    assert parsed(client, left) == {key: value for key, value in expected.items() if name != "cursor"}
    for comment in re.findall(r"(?://|#|/\*) [a-z ]+", SETTINGS[name]):
        assert comment in left


@pytest.mark.parametrize("name", HOSTS)
def test_where_there_is_no_file_one_is_made_and_taken_away(environment: dict[str, str], name: str) -> None:
    client = install.get_client(name)
    path = place(client, environment)
    apply_edit(install.plan_server_installation(client, str(path), COMMAND, environment), environment)
    assert list(parsed(client, path.read_text())) == [client.mcp_key]
    apply_edit(install.plan_server_removal(client, str(path), environment), environment)
    assert not path.exists()


@pytest.mark.parametrize("name", HOSTS)
def test_a_kb_that_has_moved_is_put_right_and_keeps_what_the_user_added(environment: dict[str, str], name: str) -> None:
    client = install.get_client(name)
    path = place(client, environment, SETTINGS[name])
    apply_edit(install.plan_server_installation(client, str(path), COMMAND, environment), environment)
    text = path.read_text()
    if name == "codex":
        text = text_edit.set_table(text, ("mcp_servers", "kb"), {"startup_timeout_sec": "9"})
    else:
        servers = text_edit.find_member(text, text_edit.find_root(text), client.mcp_key)
        entry = text_edit.find_member(text, servers.at, "kb")
        text = text_edit.insert_value(text, entry.at, {"KB_HOME": "/k"}, "env")
    path.write_text(text)
    apply_edit(
        install.plan_server_installation(client, str(path), ["/new/kb", "--kb", "/k", "mcp"], environment), environment
    )
    now = parsed(client, path.read_text())[client.mcp_key]["kb"]
    assert now.items() >= install.build_server_entry(client, ["/new/kb", "--kb", "/k", "mcp"]).items()
    assert {"env", "startup_timeout_sec"} & set(now)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("claude", '{"mcpServers": {"kb": {"command": "kubectl-browser"}}}', "another program"),
        ("codex", '[mcp_servers.kb]\ncommand = "other"\n', "another program"),
        ("claude", '{"mcpServers": []}', "is not what claude reads"),
        ("claude", '{"mcpServers": {"kb": 1}}', "is not what claude reads"),
        ("cursor", "{\n x}", ":2: not valid JSON"),
        ("codex", "x =", "not valid TOML"),
        ("codex", 'mcp_servers = { git = { command = "x" } }\n', "without changing more"),
        ("claude", "\xff\xfe", "not valid JSON"),
    ],
)
def test_what_cannot_be_changed_safely_is_left_alone(
    environment: dict[str, str], name: str, text: str, told: str
) -> None:
    client = install.get_client(name)
    path = place(client, environment, text)
    with pytest.raises(BadInput, match=told) as raised:
        install.plan_server_installation(client, str(path), COMMAND, environment)
    assert str(raised.value.hint) and path.read_text() == text


def test_an_unknown_client_is_told_which_there_are() -> None:
    with pytest.raises(UnknownId) as raised:
        install.get_client("emacs")
    assert "claude, codex, gemini, copilot, cursor, opencode" in str(raised.value.hint)


def test_the_settings_of_a_project_start_kb_by_its_name_for_everybody(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    (work / "src").mkdir()
    home = {"HOME": str(tmp_path / "home")}
    done = run(work / "src", "mcp", "install", "claude", "--project", "--dry-run", **home)
    assert '+      "command": "kb",' in done.out and not (work / ".mcp.json").exists()
    assert run(work, "mcp", "install", "claude", "--project", **home).code == 0
    assert json.loads((work / ".mcp.json").read_text())["mcpServers"]["kb"]["args"] == ["mcp"]
    assert "already" in run(work, "mcp", "install", "claude", "--project", **home).error
    assert run(work, "--kb", str(work), "mcp", "install", "codex", **home).code == 0
    assert str(work) in (tmp_path / "home/.codex/config.toml").read_text()
    assert run(work, "mcp", "uninstall", "claude", "--project", **home).code == 0
    assert not (work / ".mcp.json").exists()
    assert run(work, "mcp", "install", "claude", "--user", "--project", **home).code == 2


def test_the_folders_that_clients_take_from_the_environment_are_respected(tmp_path: Path) -> None:
    given = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x", "XDG_CONFIG_HOME": str(tmp_path)}
    files = {name: resolve_settings_path(client.mcp, "", given) for name, client in HOSTS.items()}
    assert files == {
        "claude": "/c/.claude.json",
        "codex": "/x/config.toml",
        "gemini": "/h/.gemini/settings.json",
        "copilot": "/h/.copilot/mcp-config.json",
        "cursor": "/h/.cursor/mcp.json",
        "opencode": str(tmp_path / "opencode/opencode.json"),
    }
    (tmp_path / "opencode").mkdir()
    (tmp_path / "opencode/opencode.jsonc").touch()
    assert resolve_settings_path(HOSTS["opencode"].mcp, "", given).endswith(".jsonc")


# -- editing text ---------------------------------------------------------------------------------

KEYS = st.sampled_from(["kb", "a", "b.c", "中 文", 'q"'])
TOML = st.lists(
    st.sampled_from(
        ["[a]", "[mcp_servers.git]", "[[list]]", '["b.c".d]', "# [kb]", "x = 1", "y = [\n  [1],\n  ['a']\n]", "",
         "z = '''\n[kb]\n'''", "[mcp_servers.kb.env] # e", "w = '''x'''"]
    ),
    unique=True,
)  # fmt: skip


@given(TOML, st.lists(KEYS, min_size=1, max_size=2))
def test_a_table_is_added_and_taken_out_of_any_toml(lines: list[str], name: list[str]) -> None:
    text = "".join(line + "\n" for line in lines)
    try:
        before = tomllib.loads(text)
        there = before
        for key in name:
            there = there.get(key, {}) if isinstance(there, dict) else there
    except tomllib.TOMLDecodeError:
        return
    if there or name[0] in before:
        return
    with_it = text_edit.set_table(text, name, {"command": 'k"b', "args": ["a", "中"]})
    value = tomllib.loads(with_it)
    for key in name:
        value = value[key]
    assert value == {"command": 'k"b', "args": ["a", "中"]}
    assert tomllib.loads(text_edit.remove_table(with_it, name)) == before
    assert with_it.startswith(text)


VALUES = st.recursive(
    st.none() | st.integers() | st.text(max_size=5) | st.sampled_from(["//", "/* */", ",", '"', "[,]"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.text(min_size=1, max_size=3), VALUES, min_size=1, max_size=4), st.data())
def test_members_go_out_of_commented_json_and_comments_stay(value: dict[str, Any], data: st.DataObject) -> None:
    plain = json.dumps(value, ensure_ascii=False, indent=2)
    noted = "\n".join(
        line + (f" // note {n}" if data.draw(st.booleans()) else "") for n, line in enumerate(plain.split("\n"))
    )
    assert json.loads(text_edit.strip_comments(noted)) == value
    number = data.draw(st.integers(0, len(value) - 1))
    key = list(value)[number]
    left = text_edit.remove_value(noted, text_edit.find_root(noted), number)
    assert json.loads(text_edit.strip_comments(left)) == {k: v for k, v in value.items() if k != key}
    again = text_edit.insert_value(left, text_edit.find_root(left), value[key], key)
    assert json.loads(text_edit.strip_comments(again)) == value
    simple = json.dumps(value[key], indent=2).count("\n") == 0
    assert not simple or set(re.findall(r"// note \d+", again)) == set(re.findall(r"// note \d+", noted))


def test_copilots_server_is_written_as_copilot_writes_it(environment: dict[str, str]) -> None:
    client = install.get_client("copilot")
    path = place(client, environment)
    apply_edit(install.plan_server_installation(client, str(path), ["kb", "mcp"], environment), environment)
    entry = {"type": "local", "command": "kb", "args": ["mcp"], "tools": ["*"]}
    assert json.loads(path.read_text()) == {"mcpServers": {"kb": entry}}, "by `copilot mcp add kb -- kb mcp` of 1.0.102"
    assert resolve_settings_path(client.mcp, "/w", {}) == "/w/.github/mcp.json"


def test_an_installation_without_the_sdk_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    work = tmp_path / "work"
    work.mkdir()
    home = {"HOME": str(tmp_path / "home")}
    assert "will not start" not in run(work, "mcp", "install", "copilot", **home).error
    monkeypatch.setitem(sys.modules, "mcp", None)  # which is how Python notes that there is no such module
    done = run(work, "mcp", "install", "claude", **home)
    assert done.code == 0 and "will not start" in done.error and "pip install" in done.error
