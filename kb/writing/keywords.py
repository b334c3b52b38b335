"""The words of a trade: groups of words that mean the same, by which search, contexts and packs find (ZCLAW-40)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.i18n import msg
from kb.records.front_matter import decode_record
from kb.safety import redaction
from kb.search import synonyms
from kb.search.answer import SYNONYMS
from kb.search.synonyms import SynonymGroup
from kb.writing.edit import commit_step

if TYPE_CHECKING:
    from kb.workspace import Workspace
    from kb.writing.transaction import Transaction

PATH = f"content/{SYNONYMS}"


def list_groups(kb: Workspace) -> list[SynonymGroup]:
    """Return the groups of the knowledge base's own, as they are committed."""
    return _parse_groups(kb.repository.read_blob("HEAD", PATH))


def add_groups(kb: Workspace, text: str, source: str) -> list[SynonymGroup]:
    """Add the groups in *text*, the file *source*, that are not there yet, as one commit; return those added.

    Raise BadInput naming the line that is no group.
    """
    groups = synonyms.parse_groups(redaction.redact_text(text, kb.config.masking)[0], source)
    if not groups:
        raise BadInput(msg("it holds no group of words"), path=source, hint=msg("write: - [缓存, cache, caching]"))

    def plan_groups(writing: Transaction) -> list[SynonymGroup]:
        before = writing.read_planned(PATH)
        known = {frozenset(group.words) for group in _parse_groups(before)}
        new = [group for group in dict.fromkeys(groups) if frozenset(group.words) not in known]
        if new:
            head = decode_record(before, PATH) if before else ""
            rows = "".join(f"- [{', '.join(group.words)}]\n" for group in new)
            now = head + ("" if head.endswith("\n") or not head else "\n") + rows
            writing.plan_file(PATH, before, now.encode())
        return new

    return commit_step(kb, plan_groups, "Load keywords", "keywords") if _has_new_groups(kb, groups) else []


def _has_new_groups(kb: Workspace, groups: list[SynonymGroup]) -> bool:
    known = {frozenset(group.words) for group in list_groups(kb)}
    return any(frozenset(group.words) not in known for group in groups)


def _parse_groups(data: bytes | None) -> list[SynonymGroup]:
    return synonyms.parse_groups(decode_record(data, PATH), PATH) if data else []
