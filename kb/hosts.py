"""The table of the agent programs (hosts) that kb supports, one row for each, and the answer that each is given.

A row holds the plain properties of a host. Its own ways are elsewhere: how its payloads are read and its answers
written, in the module of its name in `kb/hooks/`; its transcripts, in `kb/sessions/host_formats.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from kb.paths import home_folder
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

COMMAND, SECONDS, MILLISECONDS = "{command}", "{seconds}", "{milliseconds}"
"""Stand in the entry of a hook for the line to run and for its timeout."""
SERVER_PROGRAM, SERVER_ARGUMENTS, SERVER_LINE = "{program}", "{arguments}", "{line}"
"""Stand in the entry of an MCP server for what starts it; SERVER_LINE: program and arguments as one list."""
SHARED = "--project"  # ends the line of a hook in a project's settings, silent where the user has the hook as well
NO_VALUES: Mapping[str, Any] = {}
EVENTS = {
    "session-start": "SessionStart",
    "user-prompt": "UserPromptSubmit",
    "pre-compact": "PreCompact",
    "stop": "Stop",
    "subagent-stop": "SubagentStop",
    "subagent-start": "SubagentStart",
    "session-end": "SessionEnd",
    "pre-tool": "PreToolUse",
    "post-tool": "PostToolUse",
    "post-tool-failure": "PostToolUseFailure",
    "messages": "Messages",
}
"""The events kb answers, by the word of the command line and by kb's name for them, which is Claude Code's."""


class SettingsFile(NamedTuple):
    """Where a settings file of a host stands; all paths are relative and have slashes."""

    project: str
    """In a project."""
    variable: str
    """The environment variable that names the user's folder of the host; "" for none."""
    home: str
    """That folder in the user's home; below `.config/` the XDG variable holds."""
    user: str
    """In that folder."""
    has_jsonc: bool = False
    """Whether the same name with `.jsonc` is read in its place where there is one."""


class HostEvent(NamedTuple):
    """An event of a host."""

    name: str
    """Its own name for it."""
    event: str
    """kb's, which is Claude Code's."""
    seconds: int = 0
    """After which it goes on without kb; 0 where kb is not called."""
    matcher: str = ""
    """The tools at which kb is called, as a pattern; "" for all of them."""


class Host(NamedTuple):
    """An agent program."""

    name: str
    program: str
    """What starts it."""
    shell_variable: str
    """The variable that it sets in the shells it runs commands in."""
    event_rows: tuple[HostEvent, ...]
    hooks: SettingsFile
    entry: Mapping[str, Any]
    """How a hook is in its settings; empty where kb's hooks are a plugin, a file of their own."""
    mcp: SettingsFile
    mcp_key: str
    """Under which its MCP servers stand."""
    mcp_entry: Mapping[str, Any]
    tools: Mapping[str, tuple[str, Mapping[str, str]]] = NO_VALUES
    """Its tools: the name kb knows each by, and its names of what the tool is given, each with kb's."""
    speaking: tuple[str, ...] = ()
    """The events, by kb's names, whose answer may carry text to the model."""
    blocking: tuple[str, ...] = ()
    """The events, by kb's names, that a reason stops."""
    limit: int = 10_000
    """Characters at which it cuts every text (Copilot: bytes)."""
    failed: int = 1
    """The exit code where kb failed: 0 where the host takes every other one for a denial."""
    read_lines: int = 0
    """Lines that it reads at most where nobody says how many; 0: the whole file."""
    is_grouped: bool = False
    """Whether its hooks are in groups with a matcher each."""
    is_commented: bool = False
    """Whether its settings may hold comments."""
    top: Mapping[str, Any] = NO_VALUES
    """What a new file of its settings begins with."""
    has_hyphenated_mcp: bool = False
    """Whether it calls the tools of MCP servers SERVER-TOOL; no tool of its own has a hyphen in its name."""
    guest_field: str = ""
    """A field of what it gives hooks of Claude Code's, where it runs them as well; "" where it does not."""
    guest_variable: str = ""
    """The variable that is set besides, where others have such a field, too."""
    shows_turn_end: bool = True
    """Whether it shows a person what is told at the end of a turn."""

    def tells_model(self, event: str) -> bool:
        """Return whether its model is told what kb answers at *event*, by kb's name; with no list, at every one."""
        return not self.speaking or event in self.speaking

    @property
    def events(self) -> dict[str, str]:
        """Its events by its own names, each with kb's, which is Claude Code's."""
        return {row.name: row.event for row in self.event_rows}

    @property
    def timeouts(self) -> dict[str, int]:
        """Its events that kb is called at, each with the seconds after which it goes on without kb."""
        return {row.name: row.seconds for row in self.event_rows if row.seconds}

    @property
    def matchers(self) -> dict[str, str]:
        """The events at which kb is called for some tools only, each with the pattern of their names."""
        return {row.name: row.matcher for row in self.event_rows if row.matcher}


_CONTEXT_EVENTS = (
    "SessionStart",
    "UserPromptSubmit",
    "SubagentStart",
    "PreToolUse",
    "PostToolUse",
    "PostToolUseFailure",
)
_READ_AND_WRITE = "Read|Write|Edit|MultiEdit|NotebookEdit|Grep|Glob|Bash|PowerShell|mcp__.*|Agent|Task"
_ENTRY = {"type": "command", "command": COMMAND, "timeout": SECONDS}
_SERVER = {"command": SERVER_PROGRAM, "args": SERVER_ARGUMENTS}

CLAUDE = Host(
    "claude",
    "claude",
    "CLAUDECODE",
    # Events that extract get as long as a KB_LLM_CMD may take and more. At SessionEnd all hooks share 1.5 s unless a
    # hook in a settings file asks for more.
    event_rows=(
        HostEvent("SessionStart", "SessionStart", 120),
        HostEvent("UserPromptSubmit", "UserPromptSubmit", 10),
        HostEvent("PreCompact", "PreCompact", 120),
        HostEvent("Stop", "Stop", 120),
        HostEvent("SubagentStop", "SubagentStop", 120),
        HostEvent("SubagentStart", "SubagentStart", 10),
        HostEvent("SessionEnd", "SessionEnd", 10),
        HostEvent("PreToolUse", "PreToolUse", 10, _READ_AND_WRITE),
        HostEvent("PostToolUse", "PostToolUse", 10, "Glob|Grep|Bash|PowerShell|mcp__.*"),
        HostEvent("PostToolUseFailure", "PostToolUseFailure", 10, "Bash|PowerShell|mcp__.*"),
    ),
    hooks=SettingsFile(".claude/settings.json", "CLAUDE_CONFIG_DIR", ".claude", "settings.json"),
    entry=_ENTRY,
    mcp=SettingsFile(".mcp.json", "CLAUDE_CONFIG_DIR", "", ".claude.json"),
    mcp_key="mcpServers",
    mcp_entry={"type": "stdio", **_SERVER},
    speaking=_CONTEXT_EVENTS,
    blocking=("UserPromptSubmit", "PostToolUse", "Stop", "SubagentStop", "PreCompact"),
    is_grouped=True,
)
CODEX = Host(
    "codex",
    "codex",
    "CODEX_SANDBOX",
    # It has no searches whose results could be shortened: these may change records without a word of it.
    event_rows=(
        HostEvent("SessionStart", "SessionStart", 120),
        HostEvent("UserPromptSubmit", "UserPromptSubmit", 10),
        HostEvent("PreCompact", "PreCompact", 120),
        HostEvent("Stop", "Stop", 120),
        HostEvent("SubagentStop", "SubagentStop", 120),
        HostEvent("SubagentStart", "SubagentStart", 10),
        HostEvent("SessionEnd", "SessionEnd", 3),
        HostEvent("PreToolUse", "PreToolUse", 10),
        HostEvent("PostToolUse", "PostToolUse", 10, "Bash|apply_patch|mcp__.*"),
    ),
    hooks=SettingsFile(".codex/hooks.json", "CODEX_HOME", ".codex", "hooks.json"),
    entry=_ENTRY,
    mcp=SettingsFile(".codex/config.toml", "CODEX_HOME", ".codex", "config.toml"),
    mcp_key="mcp_servers",
    mcp_entry=_SERVER,
    tools={"request_user_input": ("AskUserQuestion", {})},
    speaking=_CONTEXT_EVENTS,
    blocking=("UserPromptSubmit", "PostToolUse", "Stop"),
    is_grouped=True,
)
GEMINI = Host(
    "gemini",
    "gemini",
    "GEMINI_CLI",
    # It names PreCompress "auto" before every request to the model, whether it compresses then or not. No result of a
    # tool can be shortened here: at AfterTool kb looks at what a command has changed.
    event_rows=(
        HostEvent("SessionStart", "SessionStart", 60),
        HostEvent("BeforeAgent", "UserPromptSubmit", 10),
        HostEvent("BeforeTool", "PreToolUse", 10),
        HostEvent("AfterTool", "PostToolUse", 10, "run_shell_command|write_file|replace|mcp_.*"),
        HostEvent("AfterAgent", "Stop", 60),
        HostEvent("PreCompress", "PreCompact", 60, "manual"),
        HostEvent("SessionEnd", "SessionEnd", 10),
    ),
    hooks=SettingsFile(".gemini/settings.json", "", ".gemini", "settings.json"),
    entry={"type": "command", "name": "kb", "command": COMMAND, "timeout": MILLISECONDS},
    mcp=SettingsFile(".gemini/settings.json", "", ".gemini", "settings.json"),
    mcp_key="mcpServers",
    mcp_entry=_SERVER,
    tools={
        "read_file": ("Read", {"absolute_path": "file_path"}),
        "write_file": ("Write", {}),
        "replace": ("Edit", {}),
        "run_shell_command": ("Bash", {}),
        "glob": ("Glob", {}),
        "search_file_content": ("Grep", {}),
        "grep_search": ("Grep", {}),
        "write_todos": ("TodoWrite", {}),
        "ask_user": ("AskUserQuestion", {}),
    },
    speaking=("SessionStart", "UserPromptSubmit", "PostToolUse"),
    blocking=("UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"),
    read_lines=2000,
    is_grouped=True,
    is_commented=True,
)
COPILOT = Host(
    "copilot",
    "copilot",
    "COPILOT_CLI",
    # What a sub-agent does is in the session's own file, so at subagentStop there is nothing to read.
    event_rows=(
        HostEvent("sessionStart", "SessionStart", 60),
        HostEvent("userPromptSubmitted", "UserPromptSubmit", 10),
        HostEvent("preToolUse", "PreToolUse", 10),
        HostEvent("postToolUse", "PostToolUse", 10, "glob|grep|bash|powershell"),
        HostEvent("postToolUseFailure", "PostToolUseFailure", 10, "bash|powershell"),
        HostEvent("agentStop", "Stop", 60),
        HostEvent("subagentStart", "SubagentStart", 10),
        HostEvent("subagentStop", "SubagentStop"),
        HostEvent("preCompact", "PreCompact", 60),
        HostEvent("sessionEnd", "SessionEnd", 10),
    ),
    hooks=SettingsFile(".github/hooks/kb.json", "COPILOT_HOME", ".copilot", "hooks/kb.json"),
    entry={"type": "command", "bash": COMMAND, "timeoutSec": SECONDS},
    mcp=SettingsFile(".github/mcp.json", "COPILOT_HOME", ".copilot", "mcp-config.json"),
    mcp_key="mcpServers",
    mcp_entry={"type": "local", **_SERVER, "tools": ["*"]},
    tools={
        "bash": ("Bash", {}),
        "powershell": ("Bash", {}),
        "view": ("Read", {"path": "file_path"}),
        "create": ("Write", {"path": "file_path", "file_text": "content"}),
        "edit": ("Edit", {"path": "file_path", "old_str": "old_string", "new_str": "new_string"}),
        "glob": ("Glob", {}),
        "grep": ("Grep", {}),
        "task": ("Agent", {"agent_type": "subagent_type"}),
        "ask_user": ("AskUserQuestion", {}),
    },
    speaking=_CONTEXT_EVENTS,
    blocking=("Stop", "SubagentStop"),
    failed=0,
    top={"version": 1},
    has_hyphenated_mcp=True,
    guest_field="timestamp",
    guest_variable="COPILOT_CLI",
    shows_turn_end=False,
)
CURSOR = Host(
    "cursor",
    "cursor-agent",
    "CURSOR_AGENT",
    # At subagentStart nothing can be told, and no result but that of an MCP tool can be changed.
    event_rows=(
        HostEvent("sessionStart", "SessionStart", 60),
        HostEvent("beforeSubmitPrompt", "UserPromptSubmit", 10),
        HostEvent("preToolUse", "PreToolUse", 10),
        HostEvent("postToolUse", "PostToolUse", 10, "Shell|Write|StrReplace|MCP.*"),
        HostEvent("preCompact", "PreCompact", 60),
        HostEvent("stop", "Stop", 60),
        HostEvent("subagentStart", "SubagentStart"),
        HostEvent("subagentStop", "SubagentStop", 60),
        HostEvent("sessionEnd", "SessionEnd", 10),
    ),
    hooks=SettingsFile(".cursor/hooks.json", "", ".cursor", "hooks.json"),
    entry=_ENTRY,
    mcp=SettingsFile(".cursor/mcp.json", "", ".cursor", "mcp.json"),
    mcp_key="mcpServers",
    mcp_entry=_SERVER,
    tools={
        "Shell": ("Bash", {}),
        "Read": ("Read", {"path": "file_path", "target_file": "file_path"}),
        "Write": ("Write", {"path": "file_path", "contents": "content"}),
        "StrReplace": ("Edit", {"path": "file_path"}),
        "Grep": ("Grep", {}),
        "Task": ("Agent", {}),
        "AskQuestion": ("AskUserQuestion", {}),
    },
    speaking=("SessionStart", "PostToolUse"),
    blocking=("Stop",),
    failed=0,
    is_commented=True,
    top={"version": 1},
    guest_field="cursor_version",
    shows_turn_end=False,
)
OPENCODE = Host(
    "opencode",
    "opencode",
    "OPENCODE",
    # kb's plugin itself goes on without an answer after so many seconds.
    event_rows=(
        HostEvent("session.created", "SessionStart", 60),
        HostEvent("session.compacted", "SessionStart"),
        HostEvent("chat.message", "UserPromptSubmit", 10),
        HostEvent("tool.execute.before", "PreToolUse", 10),
        HostEvent("tool.execute.after", "PostToolUse", 10),
        HostEvent("experimental.session.compacting", "PreCompact", 60),
        HostEvent("experimental.chat.messages.transform", "Messages", 10),
        HostEvent("session.idle", "Stop", 60),
        HostEvent("session.deleted", "SessionEnd", 10),
    ),
    hooks=SettingsFile(".opencode/plugin/kb.js", "OPENCODE_CONFIG_DIR", ".config/opencode", "plugin/kb.js"),
    entry={},
    mcp=SettingsFile("opencode.json", "OPENCODE_CONFIG_DIR", ".config/opencode", "opencode.json", has_jsonc=True),
    mcp_key="mcp",
    mcp_entry={"type": "local", "command": SERVER_LINE, "enabled": True},
    tools={
        "read": ("Read", {"filePath": "file_path"}),
        "write": ("Write", {"filePath": "file_path"}),
        "edit": ("Edit", {"filePath": "file_path", "oldString": "old_string", "newString": "new_string"}),
        "multiedit": ("Edit", {"filePath": "file_path"}),
        "patch": ("apply_patch", {"patchText": "patch"}),
        "apply_patch": ("apply_patch", {"patchText": "patch"}),
        "bash": ("Bash", {}),
        "glob": ("Glob", {}),
        "grep": ("Grep", {}),
        "task": ("Agent", {}),
        "todowrite": ("TodoWrite", {}),
        "question": ("AskUserQuestion", {}),
    },
    read_lines=2000,
)

# To add a host: a row above and its name here; `kb/hooks/<name>.py` if payloads or answers differ from Claude Code's;
# a reader in FORMATS of `kb/sessions/host_formats.py`; cases in `tests/hooks/test_hosts.py`; then `make docs`.
HOSTS: dict[str, Host] = {host.name: host for host in (CLAUDE, CODEX, GEMINI, COPILOT, CURSOR, OPENCODE)}


def find_guest(payload: Mapping[str, Any], environment: Mapping[str, str]) -> Host | None:
    """Return the host, not Claude Code, that sent a *payload* in Claude Code's shape; None for Claude Code itself.

    The environment alone is not enough: a Claude Code that was started inside of Copilot has Copilot's. Cursor's field
    is its own, so its row, the later one, is asked first.
    """
    for host in reversed(HOSTS.values()):
        if (
            host.guest_field
            and host.guest_field in payload
            and (not host.guest_variable or host.guest_variable in environment)
        ):
            return host
    return None


def resolve_user_folder(file: SettingsFile, environment: Mapping[str, str]) -> str:
    """Return the user's folder of the host whose *file* it is."""
    if file.variable and (folder := environment.get(file.variable)):
        return folder
    settings = environment.get("XDG_CONFIG_HOME")
    if settings and file.home.startswith(".config/"):
        return os.path.join(settings, *file.home.split("/")[1:])
    return os.path.join(home_folder(environment), *filter(None, file.home.split("/")))


def resolve_settings_path(file: SettingsFile, folder: str, environment: Mapping[str, str]) -> str:
    """Return the *file* that holds in the project at *folder*, or with "" that of the user."""
    parts = (file.project if folder else file.user).split("/")
    path = os.path.join(folder or resolve_user_folder(file, environment), *parts)
    return path + "c" if file.has_jsonc and os.path.exists(path + "c") else path


# -- the answer to an event, whatever the host -----------------------------------------------------

ALLOW, WARN, ASK, DENY = "allow", "warn", "ask", "deny"
STRICTER = ("", ALLOW, WARN, ASK, DENY)
"""What may be said of a tool call, each stricter than the one before; "" leaves it to the host."""


class HookResponse(NamedTuple):
    """What a hook answers."""

    permission: str = ""
    """One of STRICTER. A host asks the person where that is "": allow takes the question away, warn does not."""
    reason: str = ""
    """Why it is warned, asked or denied, with the one next step; for the model and for the person."""
    context: str = ""
    """Text for the model."""
    message: str = ""
    """Text for the person."""
    updated_input: Any = None
    """What the tool is given in place of its input, as a whole; None to leave it."""
    updated_output: Any = None
    """What the tool has answered in place of its output, in the same shape; None to leave it."""
    updated_note: str = ""
    """What the model is told of these changes where the host makes them."""
    unasked: str = ""
    """The reason with the next step, where the person is to be asked and the host cannot ask: then it denies."""

    @property
    def model_text(self) -> str:
        """All that the model is told beside a permission."""
        return _join_texts(self.context, self.reason if self.permission == WARN else "")

    @property
    def refusal_text(self) -> str:
        """Why the call is not made, where the host denies what the person is to be asked about."""
        return (self.unasked if self.permission == ASK else "") or self.reason

    @property
    def person_text(self) -> str:
        """All that the person is told beside a permission."""
        return _join_texts(self.message, self.reason if self.permission == WARN else "")

    @property
    def fallback_text(self) -> str:
        """All that is told beside a permission where the host can tell the model nothing: the person is told it."""
        return _join_texts(self.context, "" if self.person_text in self.context else self.person_text)

    @property
    def is_silent_input_change(self) -> bool:
        """Whether the input changes and the model need not be told: not every host can tell it before a call."""
        return self.updated_input is not None and not self.updated_note


def _join_texts(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def merge_responses(*decisions: HookResponse) -> HookResponse:
    """Return what several say together: the strictest permission with its reasons, all texts, the last changes."""
    permission = max((one.permission for one in decisions), key=STRICTER.index, default="")
    inputs = [one.updated_input for one in decisions if one.updated_input is not None]
    outputs = [one.updated_output for one in decisions if one.updated_output is not None]
    return HookResponse(
        permission,
        "\n".join(one.reason for one in decisions if one.reason and one.permission == permission),
        _join_texts(*(one.context for one in decisions)),
        "\n".join(one.message for one in decisions if one.message),
        inputs[-1] if inputs else None,
        outputs[-1] if outputs else None,
        "\n".join(one.updated_note for one in decisions if one.updated_note),
        "\n".join(one.unasked or one.reason for one in decisions if one.reason and one.permission == permission),
    )
