"""kb archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, usage_error, with_kb
from kb.cli.session import archive_session
from kb.i18n import msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase


@click.command(short_help="Archive a session.")
@click.argument("transcript", required=False, type=click.Path())
@click.option("--transcript", "given", default="", type=click.Path(), help="The same, as an option.")
@click.option("--full", is_flag=True, help="With the normal and the expanded form as well.")
@click.option("--session", default="", help="The session's id (default: the one in the file).")
@click.option("--cwd", default="", help="The folder the session worked in (default: the one in the file).")
@json_option
@with_kb
def command(
    kb: KnowledgeBase, /, transcript: str | None, given: str, full: bool, session: str, cwd: str, as_json: bool
) -> None:
    """Archive the session of TRANSCRIPT, a JSONL file, under content/sessions/; 存档 is the same.

    What it decided goes through the gate. Without TRANSCRIPT, the last session of this project. An expanded form of
    more than 200,000 bytes stays in this clone.
    """
    from kb.sessions.active_sessions import find_latest_transcript

    if transcript and given:
        raise usage_error(msg("give the transcript once"))
    archive_session(kb, transcript or given or find_latest_transcript(kb), session, cwd, full=full, as_json=as_json)
