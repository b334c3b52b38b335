"""The life of one record: from seed to what became of it (RUYI "种子生命周期")."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.context.give_hints import list_uses
from kb.i18n import msg
from kb.records.model import Status

if TYPE_CHECKING:
    from kb.workspace import Workspace

_OVER = frozenset({Status.REJECTED, Status.DEPRECATED, Status.SUPERSEDED})


class LifeEvent(NamedTuple):
    """One step in a record's life (RUYI "种子生命周期")."""

    stage: str
    """播种 seeded, 休眠 dormant, 成熟 matured, 果报 fruited, 更新 updated, 废弃 obsolete: the English word."""
    time: str
    """ISO 8601."""
    cause: str
    commit: str
    author: str


STAGES: Mapping[str, str] = {
    "seeded": "播种", "dormant": "休眠", "matured": "成熟", "fruited": "果报", "updated": "更新", "obsolete": "废弃",
}  # fmt: skip


def build_history(kb: Workspace, name: str, *, scope: str = "") -> list[LifeEvent]:
    """Return the life of the record *name*, oldest first, from git and from what cites it."""
    from kb.git.blame import list_file_commits

    record = kb.record(name, scope=scope)
    moments: list[LifeEvent] = []
    for change in list_file_commits(kb.repository, record.path):
        moments.append(
            LifeEvent(
                _choose_stage(change.operation, not moments), change.time, change.subject, change.commit, change.author
            )
        )
        if len(moments) == 1:
            moments.append(
                LifeEvent(
                    "dormant", change.time, kb.localise(msg("until a task needs it")), change.commit, change.author
                )
            )
    for use in list_uses(kb, record):
        moments.append(LifeEvent(use.stage, use.time, use.cause, "", ""))
    return sorted(moments, key=lambda moment: _parse_timestamp(moment.time))


def _parse_timestamp(time: str) -> float:
    """Return the ISO *time* in seconds since 1970: as texts, times of two zones stand in the wrong order."""
    from datetime import datetime

    try:
        return datetime.fromisoformat(time).timestamp()
    except ValueError:
        return 0.0


def _choose_stage(operation: str, first: bool) -> str:
    if first:
        return "seeded"
    word, _, status = operation.partition(" ")
    return "obsolete" if word in ("superseded", "review") or status in _OVER else "updated"
