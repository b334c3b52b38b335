"""The words of a trade: groups of words that mean the same, by which search, contexts and packs find (ZCLAW-40)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.i18n import msg
from kb.records.front_matter import decode
from kb.safety import redaction
from kb.search import synonyms
from kb.search.answer import SYNONYMS
from kb.search.synonyms import Group
from kb.writing.edit import alone

if TYPE_CHECKING:
    from kb.workspace import Workspace
    from kb.writing.transaction import Writing

PATH = f"content/{SYNONYMS}"


def keywords(kb: Workspace) -> list[Group]:
    """Return the groups of the knowledge base's own, as they are committed."""
    return _read(kb.repository.blob("HEAD", PATH))


def load(kb: Workspace, text: str, source: str) -> list[Group]:
    """Add the groups in *text*, the file *source*, that are not there yet, as one commit; return those added.

    Raise BadInput naming the line that is no group.
    """
    groups = synonyms.read(redaction.redact(text, kb.config.masking)[0], source)
    if not groups:
        raise BadInput(msg("it holds no group of words"), path=source, hint=msg("write: - [缓存, cache, caching]"))

    def step(writing: Writing) -> list[Group]:
        before = writing.text_of(PATH)
        known = {frozenset(group.words) for group in _read(before)}
        new = [group for group in dict.fromkeys(groups) if frozenset(group.words) not in known]
        if new:
            head = decode(before, PATH) if before else ""
            rows = "".join(f"- [{', '.join(group.words)}]\n" for group in new)
            now = head + ("" if head.endswith("\n") or not head else "\n") + rows
            writing.put_file(PATH, before, now.encode())
        return new

    return alone(kb, step, "Load keywords", "keywords") if _are_new(kb, groups) else []


def _are_new(kb: Workspace, groups: list[Group]) -> bool:
    known = {frozenset(group.words) for group in keywords(kb)}
    return any(frozenset(group.words) not in known for group in groups)


def _read(data: bytes | None) -> list[Group]:
    return synonyms.read(decode(data, PATH), PATH) if data else []
