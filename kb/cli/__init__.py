"""The command line: the table of commands, and who answers: click, or for the plainest calls nobody but the library."""

from __future__ import annotations

import io
import sys

from kb.startup.process import begin, leave

COMMANDS: dict[str, tuple[str, str]] = {
    "init": ("init", "Make a knowledge base."),
    "write": ("write", "Hand candidates to the gate."),
    "list": ("list", "List records."),
    "show": ("show", "Print a record."),
    "search": ("search", "Find records."),
    "pack": ("pack", "Answer a question with evidence."),
    "route": ("route", "Tell what to read before a piece of work."),
    "drill": ("drill", "Tell how to find an answer: read, or have a pack made."),
    "memory": ("memory", "Write MEMORY.md and the conventions anew."),
    "vectors": ("vectors", "Make the vectors by which search finds meaning."),
    "hint": ("hint", "Print the hint for a moment of work."),
    "keywords": ("keywords", "Load the words of a trade."),
    "log": ("log", "Print the commits of a record."),
    "history": ("history", "Tell the life of a record."),
    "changes": ("changes", "Tell what became of the records between two commits."),
    "digest": ("digest", "Tell what happened lately, and what waits."),
    "impact": ("impact", "Tell what depends on a record."),
    "refs": ("refs", "Tell what a record cites and what cites it."),
    "edit": ("edit", "Edit a record in your editor."),
    "status": ("status", "Give a record another status."),
    "supersede": ("supersede", "Replace a record by a newer one."),
    "confirm": ("confirm", "Say that a record still holds."),
    "verify": ("verify", "Show how a record is verified, and run it."),
    "rm": ("rm", "Take a record out of force."),
    "review": ("review", "List and decide open reviews."),
    "sync": ("sync", "Bring this clone and a remote together."),
    "renumber": ("renumber", "Give records new numbers."),
    "repair": ("repair", "Mend what a merge lost."),
    "inbox": ("inbox", "See what the gate keeps back."),
    "guard": ("guard", "Tell what the guard would say."),
    "proposal": ("proposal", "See and decide what is proposed to be kept."),
    "session": ("session", "Save, list and load sessions."),
    "archive": ("archive", "Archive a session."),
    "load": ("load", "Print an archived session to go on from."),
    "compact": ("compact", "Show the running session in its compact form."),
    "expand": ("expand", "Show the running session in its expanded form."),
    "form": ("form", "Print a session in one of its three forms."),
    "context": ("context", "Build an agent's context, or tell how full it is."),
    "prune": ("prune", "Prune a session's transcript."),
    "check": ("check", "Check the records."),
    "purge-secret": ("purge_secret", "Prepare the removal of a secret."),
    "import": ("import_", "Take over records of other tools."),
    "layout": ("layout", "Change between the two layouts of the context."),
    "export": ("export", "Write records in another tool's form."),
    "wiki": ("wiki", "Build or serve the wiki."),
    "hooks": ("hooks", "Connect an agent host."),
    "mcp": ("mcp", "Serve agents over MCP."),
    "agents": ("agents", "Tell agents by files how to use kb."),
    "spawn": ("spawn", "Print the context for a sub-agent."),
    "alaya": ("alaya", "Look at seeds, karma and preferences."),
    "config": ("config", "Explain the settings."),
    "doctor": ("doctor", "Check that everything works."),
    "merge-driver": ("merge_driver", "Merge a record, for git."),
}
"""Command → (module, one line of help). A new command is a module and a line here."""

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


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code."""
    from kb.cli import plain, prints

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
            if stream is sys.stdout or not stream.isatty():  # a progress bar drives the terminal on purpose
                prints.show_what_hides(stream)
    if arguments is None:
        begin()
    words = sys.argv[1:] if arguments is None else arguments
    code = plain.answered(words)
    if code is None:
        from kb.cli import group

        code = group.answered(words)
    if arguments is None:
        leave(code)
    sys.exit(code)
