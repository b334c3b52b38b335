"""The table of events and hosts that hooks know."""

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
    "messages": "Messages",
}
"""The events kb answers, by the word of the command line and by kb's name for them, which is Claude Code's."""


HOSTS = ("claude", "codex", "gemini", "copilot", "cursor", "opencode")
"""The hosts kb speaks to. Each is a module of this name, and only the one that is named is loaded."""
