"""The table of commands: a new command is a function and a line here."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import click

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("setup_commands:init_base", "Make a knowledge base."),
    "write": ("write_command:write", "Submit candidates to the gate."),
    "list": ("record_commands:list_records", "List records."),
    "show": ("record_commands:show_record", "Print a record."),
    "search": ("record_commands:search_records", "Find records."),
    "pack": ("context_commands:make_pack", "Answer a question with evidence."),
    "route": ("context_commands:route_work", "Tell what to read before a piece of work."),
    "drill": ("context_commands:drill_down", "Tell how to find an answer: read, or have a pack made."),
    "memory": ("build_commands:write_memory", "Write MEMORY.md and the conventions anew."),
    "vectors": ("build_commands:vectors", "Make the vectors for search by meaning."),
    "hint": ("context_commands:print_hint", "Print the hint for a moment of work."),
    "keywords": ("setup_commands:keywords", "Load the synonyms of a domain."),
    "log": ("record_commands:show_log", "Print the commits of a record."),
    "history": ("record_commands:show_history", "Tell the life of a record."),
    "changes": ("history_commands:show_changes", "Tell what became of the records between two commits."),
    "digest": ("history_commands:show_digest", "Tell what happened lately, and what waits."),
    "impact": ("history_commands:show_impact", "Tell what depends on a record."),
    "refs": ("record_commands:show_links", "Tell what a record cites and what cites it."),
    "edit": ("edit_commands:edit_record", "Edit a record in your editor."),
    "status": ("edit_commands:change_status", "Change the status of a record."),
    "supersede": ("edit_commands:supersede_record", "Replace a record by a newer one."),
    "confirm": ("edit_commands:confirm_record", "Say that a record still holds."),
    "verify": ("check_commands:verify_record", "Show how a record is verified, and run it."),
    "rm": ("edit_commands:deprecate_record", "Take a record out of force."),
    "review": ("review_commands:review", "List and decide open reviews."),
    "sync": ("sync_commands:sync", "Bring this clone and a remote together."),
    "renumber": ("sync_commands:renumber", "Give records new numbers."),
    "repair": ("sync_commands:repair", "Repair what a merge lost."),
    "inbox": ("review_commands:inbox", "See what the gate keeps back."),
    "guard": ("host_commands:show_guard", "Tell what the guard would say."),
    "proposal": ("review_commands:proposal", "See and decide what is proposed to be kept."),
    "session": ("session_commands:session", "Save, list and load sessions."),
    "archive": ("session_commands:archive", "Archive a session."),
    "load": ("session_commands:load", "Print an archived session to go on from."),
    "compact": ("transcript_commands:show_compact", "Show the running session in its compact form."),
    "expand": ("transcript_commands:show_expanded", "Show the running session in its expanded form."),
    "form": ("transcript_commands:show_form", "Print a session in one of its three forms."),
    "context": ("context_commands:context", "Build an agent's context, or show how full it is."),
    "prune": ("transcript_commands:prune", "Prune a session's transcript."),
    "check": ("check_commands:check", "Check the records."),
    "purge-secret": ("check_commands:purge_secret", "Prepare the removal of a secret."),
    "import": ("import_commands:import_group", "Take over records of other tools."),
    "layout": ("sync_commands:layout", "Change between the two layouts of the context."),
    "export": ("import_commands:export", "Write records in another tool's form."),
    "wiki": ("build_commands:wiki", "Build or serve the wiki."),
    "hooks": ("host_commands:hooks", "Connect an agent host."),
    "mcp": ("mcp_commands:mcp", "Serve agents over MCP."),
    "agents": ("host_commands:agents", "Tell agents by files how to use kb."),
    "spawn": ("context_commands:spawn", "Print the context for a sub-agent."),
    "alaya": ("record_commands:show_alaya", "Show seeds, karma and preferences."),
    "config": ("setup_commands:show_config", "Explain the settings."),
    "doctor": ("setup_commands:doctor", "Check that everything works."),
    "merge-driver": ("merge_driver:merge", "Merge a record, for git."),
}
"""Command → (where it is, as module:attribute, and one line of help)."""

ALIASES = {
    "存档": "archive",
    "加载": "load",
    "锚点": "list --here",
    "anchors": "list --here",
    "sessions": "session",
    "压缩": "compact",
    "展开": "expand",
    "修剪": "prune",
    "修剪报告": "prune report",
}
"""Other names by which a person or an older protocol calls a command."""


def load_command(name: str) -> click.Command:
    """Import and return the command *name* of the table."""
    module, _, attribute = COMMANDS[name][0].partition(":")
    command: click.Command = getattr(import_module(f"kb.cli.{module}"), attribute)
    return command
