"""Show what is known of the person: what they said of themselves, and what their own sessions show.

All is derived but the USER part of the card, which is the person's. It is in their own base and nowhere else.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.refusals import list_cursors
from kb.context.memory_md import MemoryPage, build_page
from kb.files import write_atomic
from kb.index.schema import Filter
from kb.records.model import LIVE, Record, Status
from kb.safety.quoting import quote_text
from kb.search.query import is_function_word, parse_query
from kb.sessions.render_forms import FormWriter
from kb.sessions.session_archive import list_sessions
from kb.state.project import find_own_root, is_shared, list_own_records, open_own_base

if TYPE_CHECKING:
    from kb.workspace import Workspace

CARD = "profile.md"
"""The file of the card in the person's own base."""
MAX_ROWS = 10
"""Rows of each list of the card."""
_MIN_SESSIONS = 2  # sessions that must be about a topic: of one it is a task
_PREFIX = "profile."


class PersonProfile(NamedTuple):
    """What is known of the person who works in this clone."""

    claims: Mapping[str, str]
    """Trait → value: what has one value at a time."""
    wishes: tuple[str, ...]
    """What else they have said of themselves, and how they want to be answered, the newest first."""
    topics: tuple[tuple[str, int], ...]
    """What their archived sessions were about, with the number of sessions."""
    tools: tuple[tuple[str, int], ...]
    """Tools and programs, with the number of calls in their sessions."""
    pains: tuple[tuple[str, str, int], ...]
    """Id and title of the pitfalls met most often, with the number of sessions."""


def build_profile(kb: Workspace, project: str) -> PersonProfile:
    """Return the profile of the person who works in this clone, for work in *project*."""
    records = list_own_records(kb) or _list_own_preferences(kb)
    claims: dict[str, str] = {}
    for record in records:
        for key, value in record.claims.items() if record.status == Status.ACCEPTED else ():
            claims.setdefault(key.removeprefix(_PREFIX), quote_text(value, 80)) if key.startswith(_PREFIX) else None
    wishes = [quote_text(record.title, 120) for record in records if not _has_trait(record)]
    cursors = [cursor for _, cursor in list_cursors(kb, 0.0)]
    mine = {str(cursor.get("archive", "")) for cursor in cursors}
    tasks = [session.task for session in list_sessions(kb) if session.name in mine]
    tools: Counter[str] = Counter()
    for cursor in cursors:
        found = cursor.get("tools")
        tools.update({str(tool): int(n) for tool, n in found.items()} if isinstance(found, dict) else {})
    wanted = Filter(("pitfall",), tuple(LIVE), kb.own_scopes(project))
    pains = sorted(kb.records(wanted), key=lambda record: (-record.occurrences, record.id))
    return PersonProfile(
        claims,
        tuple(wishes[:MAX_ROWS]),
        tuple(_count_topics(tasks)[:MAX_ROWS]),
        tuple(tools.most_common(MAX_ROWS)),
        tuple((one.id, quote_text(one.title, 120), one.occurrences) for one in pains[:MAX_ROWS]),
    )


def _has_trait(record: Record) -> bool:
    return any(key.startswith(_PREFIX) for key in record.claims)


def _list_own_preferences(kb: Workspace) -> list[Record]:
    """Return what is said of the person in *kb* itself, where that is their own base."""
    return [] if is_shared(kb) else kb.records(Filter(("preference",), tuple(LIVE)))[::-1]


def _count_topics(tasks: list[str]) -> list[tuple[str, int]]:
    """Return the words that several of *tasks* share, the most shared first: one for each task that has them."""
    counted: Counter[str] = Counter()
    for task in tasks:
        query = parse_query(task)
        words = {run.text.lower() for run in query.runs if not run.is_unspaced and len(run.text) > 2}
        counted.update({word for word in words if not is_function_word(word)} | set(query.pieces))
    return [(word, n) for word, n in counted.most_common(4 * MAX_ROWS) if n >= _MIN_SESSIONS]


# -- the card --------------------------------------------------------------------------------------


def _build_values(profile: PersonProfile) -> dict[str, object]:
    return {**profile._asdict(), "claims": sorted(profile.claims.items())}


def render_profile(kb: Workspace, profile: PersonProfile) -> str:
    """Return the MACHINE part of the card as text."""
    return FormWriter(kb, "profile")(_build_values(profile))


def write_card(kb: Workspace, profile: PersonProfile) -> MemoryPage | None:
    """Write the card into the person's own base and return it; None where they have none that others cannot read.

    Raise NeedsPerson where somebody has edited its MACHINE part; the USER part stays byte for byte.
    """
    root = find_own_root(kb) or ("" if is_shared(kb) else kb.root)
    if not root:
        return None
    with open_own_base(kb, root) as own:
        page = build_page(own, CARD, "profile", _build_values(profile), force=False)
        if page.is_stale and not is_shared(own):
            write_atomic(os.path.join(root, CARD), page.after)
    return None if is_shared(own) else page
