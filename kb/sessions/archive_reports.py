"""The two reports kept beside a session's compact form in the archive."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.records.candidate import candidate_to_json
from kb.records.model import Candidate, Verdict
from kb.sessions.facts import find_task, read_task_list
from kb.sessions.transcript import Transcript
from kb.text.segment import first_sentence

if TYPE_CHECKING:
    from typing import Any


def build_hui_output(
    transcript: Transcript,
    *,
    candidates: Sequence[Candidate],
    compact_md: str,
    timestamp: str,
    project_path: str = "",
) -> dict[str, Any]:
    """Return `hui-output.json`: everything the extraction found (SHI-05). *timestamp* is in ISO 8601."""
    now = read_task_list(transcript)

    def select_kinds(*kinds: str) -> list[dict[str, str]]:
        chosen = [c for c in candidates if c.kind in kinds]
        return [{"title": c.title, "content": c.decision, "reason": c.why} for c in chosen]

    return {
        "version": 1,
        "timestamp": timestamp,
        "session_id": transcript.session_id,
        "project_path": project_path or transcript.cwd,
        "context": {
            "task": first_sentence(find_task(transcript), 300),
            "decisions": select_kinds("decision", "pattern", "checklist", "domain-note"),
            "constraints": select_kinds("constraint", "preference"),
            "interfaces": select_kinds("interface"),
            "problems": select_kinds("pitfall"),
            "progress": {"done": list(now.done), "in_progress": list(now.doing), "pending": list(now.open)},
            "compact_md": compact_md,
        },
        "anchors": [candidate_to_json(candidate) for candidate in candidates],
    }


def build_shi_result(verdicts: Sequence[Verdict], errors: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return `shi-result.json`: what became of each candidate (SHI-06).

    A candidate's id is its 1-based place among *verdicts*, which is its place among the anchors of `hui-output.json`.
    """
    report: dict[str, list[Any]] = {key: [] for key in (*_REPORTS.values(), "errors")}
    for number, verdict in enumerate(verdicts, 1):
        key = _REPORTS.get(verdict.verdict)
        if key is None:
            report["errors"].append({"id": str(number), "title": verdict.title, "error": verdict.verdict})
        else:
            report[key].append(_format_verdict(str(number), verdict))
    report["errors"] += [{"error": error} for error in errors]
    return report


_REPORTS: Mapping[str, str] = {
    "created": "anchors_written",
    "refused": "anchors_skipped",
    "updated": "anchors_merged",
    "appended": "anchors_merged",
    "unchanged": "anchors_duplicated",
    "held": "anchors_held",
    "conflict": "anchors_conflict",
}
"""Which list of the report a verdict goes to."""


def _format_verdict(number: str, verdict: Verdict) -> dict[str, Any]:
    reason = "; ".join(verdict.reasons)
    late = {"spooled": True} if verdict.spooled else {}
    if verdict.verdict == "created":
        return {"candidate_id": number, "new_id": verdict.id, "type": verdict.kind, "title": verdict.title, **late}
    if verdict.verdict in ("updated", "appended", "unchanged"):
        return {"id": number, "existing_id": verdict.id, "title": verdict.title, **late}
    told = {"id": number, "title": verdict.title, "reason": reason}
    if verdict.verdict == "conflict":
        existing = verdict.similar[0].id if verdict.similar else ""
        return {**told, "new_id": verdict.id, "existing_id": existing, "branch": verdict.branch, **late}
    return {**told, **late}
