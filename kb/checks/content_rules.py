"""Is there anything in the texts that should not be there?"""

from __future__ import annotations

from collections.abc import Iterator

from kb.checks.check_context import CheckContext, make_finding
from kb.checks.findings import CheckedText, Finding
from kb.errors import BadRecord
from kb.i18n import msg
from kb.records.front_matter import decode_record
from kb.records.model import LIVE, is_imported
from kb.text.segment import clip


def check_secrets(shelf: CheckContext) -> Iterator[Finding]:
    """Report secrets, without repeating them; files that are no records are searched too."""
    for text in (*shelf.texts, *iter_unreadable_texts(shelf)):
        for line, rule in () if shelf.is_clean(text.text) else shelf.secrets(text.text):
            yield Finding(
                rule="secret",
                severity="error",
                path=text.path,
                line=line,
                message=msg("a secret, or what is personal, stands here ({rule})", rule=rule),
                fix=msg("take it out and have it revoked: git's history keeps what was once committed"),
            )


def iter_unreadable_texts(shelf: CheckContext) -> Iterator[CheckedText]:
    """Yield the texts of the files that are no records."""
    for broken in shelf.broken:
        try:
            yield CheckedText(broken.source.path, decode_record(broken.source.data), "")
        except BadRecord:
            continue


def check_vague_titles(shelf: CheckContext) -> Iterator[Finding]:
    """Report live records whose title could stand over any record (RUYI-52)."""
    for one in shelf.opened:
        foreign = is_imported(one.record.extra)  # its title was given where other rules hold
        if one.record.status in LIVE and not foreign and shelf.vague(one.record.title):
            message = msg("the title names no subject: {title}", title=clip(one.record.title, 80))
            fix = msg("say what was decided about what")
            yield make_finding("title", one, message, fix, key="title", severity="warning")
