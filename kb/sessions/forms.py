"""Say what a session came to: its compact form, and the two reports kept beside it in the archive."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kb.candidate import as_json
from kb.patterns import regex
from kb.record import Candidate, Record, Verdict
from kb.sessions.prose import plain, sentences
from kb.sessions.transcript import AGENT, DELEGATED, SUMMARY, Transcript, asked, said
from kb.text import clip, count, first_sentence, one_line
from kb.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

TITLE = "## 🔸 缩形态上下文"
TASK, DECIDED, RULES, PROGRESS, ANCHORS = "【任务】", "【已决策】", "【约束】", "【当前进度】", "【锚点引用】"
DONE, DOING, OPEN = "已完成", "进行中", "待处理"
"""The headings of the compact form: they are its format and the same in every language (SHI-10)."""

LIMIT = 499
"""Longest compact form, in 字 (SHI-11: shorter than 500)."""
_SHARE = 12
"""An entry of a list gets at most this part of the limit (of 499: 41 字), the task twice as much."""
_PER_PART = {"rules": 6, "decided": 8, "doing": 4, "open": 6, "anchors": 10, "done": 8}
_PRIORITY = ("rules", "decided", "doing", "open", "anchors", "done")
"""What is kept first when there is little room; the task comes before all of them (SHI-11)."""
_CREATED = regex(r"#(\d{1,9})\b")
_WORDS = {"zh": ("无", "原因"), "en": ("none", "reason")}


class Progress(NamedTuple):
    """What is done, under way and open, by the session's own list."""

    done: tuple[str, ...] = ()
    doing: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


def compact(
    transcript: Transcript,
    *,
    anchors: Sequence[Record | str] = (),
    candidates: Sequence[Candidate] = (),
    language: str = "en",
    limit: int = LIMIT,
) -> str:
    """Return the compact form of a session in markdown, never longer than *limit* 字 (from 60 on).

    *anchors* are records, or ids, that the session cites. What does not fit is left out by priority: task, constraints,
    decisions, what is under way and open, anchors, what is done.
    """
    reason = _WORDS.get(language, _WORDS["en"])[1]
    now = progress(transcript)
    wanted: dict[str, list[str]] = {
        "rules": _titles(candidates, ("constraint", "preference", "pitfall"), ""),
        "decided": _titles(candidates, ("decision", "interface", "pattern", "checklist", "domain-note"), reason),
        "doing": list(now.doing) if any(now) else _latest(transcript),
        "open": list(now.open),
        "anchors": [_cited(anchor) for anchor in anchors],
        "done": list(now.done)[::-1],
    }
    kept: dict[str, list[str]] = {part: [] for part in wanted}
    task = ""
    longest = max(limit // _SHARE, 5)
    for share in (2 * longest, longest, 5, 0):
        task = _shortened(task_of(transcript), share) if share else ""
        if count(_compact_text(task, kept, language)) <= limit:
            break
    for part in _PRIORITY:
        for entry in wanted[part][: _PER_PART[part]]:
            tried = {**kept, part: [*kept[part], _shortened(entry, longest)]}
            if count(_compact_text(task, tried, language)) <= limit:
                kept = tried
    return _compact_text(task, kept, language)


def task_of(transcript: Transcript) -> str:
    """Return what the session was asked for: the first prompt that says something, else what another agent asked."""
    prompts = [prompt for message in transcript.messages if (prompt := asked(message))]
    telling = [prompt for prompt in prompts if count(prompt) >= 3]
    if telling or prompts:
        return (telling or prompts)[0]
    given = [m.texts[0] for m in transcript.messages if m.origin in (DELEGATED, SUMMARY) and m.texts]
    return given[0] if given else ""


def progress(transcript: Transcript) -> Progress:
    """Return the latest state of the session's task list, whichever tool kept it."""
    todos: list[tuple[str, str]] = []
    tasks: dict[str, tuple[str, str]] = {}
    answers = {result.id: result.text for message in transcript.messages for result in message.results}
    for message in transcript.messages:
        for call in message.calls:
            if call.name == "TodoWrite":
                todos = list(_todos(call.input))
            elif call.name == "TaskCreate" and (subject := _word(call.input, "subject")):
                number = _CREATED.search(answers.get(call.id, ""))
                tasks[number.group(1) if number else str(len(tasks) + 1)] = (subject, "pending")
            elif call.name == "TaskUpdate":
                _update(tasks, call.input)
    items = list(tasks.values()) or todos
    return Progress(
        tuple(text for text, status in items if status == "completed"),
        tuple(text for text, status in items if status == "in_progress"),
        tuple(text for text, status in items if status not in ("completed", "in_progress", "deleted", "cancelled")),
    )


def hui_output(
    transcript: Transcript,
    *,
    candidates: Sequence[Candidate],
    compact_md: str,
    timestamp: str,
    project_path: str = "",
) -> dict[str, Any]:
    """Return `hui-output.json`: everything the extraction found (SHI-05). *timestamp* is in ISO 8601."""
    now = progress(transcript)

    def told(*kinds: str) -> list[dict[str, str]]:
        chosen = [c for c in candidates if c.kind in kinds]
        return [{"title": c.title, "content": c.decision, "reason": c.why} for c in chosen]

    return {
        "version": 1,
        "timestamp": timestamp,
        "session_id": transcript.session_id,
        "project_path": project_path or transcript.cwd,
        "context": {
            "task": first_sentence(task_of(transcript), 300),
            "decisions": told("decision", "pattern", "checklist", "domain-note"),
            "constraints": told("constraint", "preference"),
            "interfaces": told("interface"),
            "problems": told("pitfall"),
            "progress": {"done": list(now.done), "in_progress": list(now.doing), "pending": list(now.open)},
            "compact_md": compact_md,
        },
        "anchors": [as_json(candidate) for candidate in candidates],
    }


def shi_result(verdicts: Sequence[Verdict], errors: Sequence[str] = ()) -> dict[str, list[Any]]:
    """Return `shi-result.json`: what became of each candidate (SHI-06).

    A candidate's id is its 1-based place among *verdicts*, which is its place among the anchors of `hui-output.json`.
    """
    report: dict[str, list[Any]] = {key: [] for key in (*_REPORTS.values(), "errors")}
    for number, verdict in enumerate(verdicts, 1):
        key = _REPORTS.get(verdict.verdict)
        if key is None:
            report["errors"].append({"id": str(number), "title": verdict.title, "error": verdict.verdict})
        else:
            report[key].append(_reported(str(number), verdict))
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


def _reported(number: str, verdict: Verdict) -> dict[str, Any]:
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


def _compact_text(task: str, kept: Mapping[str, list[str]], language: str) -> str:
    none = _WORDS.get(language, _WORDS["en"])[0]

    def listed(part: str) -> str:
        return "\n".join(f"- {entry}" for entry in kept[part]) or f"- {none}"

    def joined(part: str) -> str:
        return "; ".join(kept[part]) or none

    return (
        f"{TITLE}\n\n{TASK}{task or none}\n\n{DECIDED}\n{listed('decided')}\n\n{RULES}\n{listed('rules')}\n\n"
        f"{PROGRESS}\n- {DONE}: {joined('done')}\n- {DOING}: {joined('doing')}\n- {OPEN}: {joined('open')}\n\n"
        f"{ANCHORS}\n{listed('anchors')}\n"
    )


def _titles(candidates: Sequence[Candidate], kinds: tuple[str, ...], reason: str) -> list[str]:
    """Return the candidates of *kinds* in the order of the kinds, with their reasons if *reason* names the word."""
    chosen = sorted((c for c in candidates if c.kind in kinds), key=lambda c: kinds.index(c.kind))
    return [
        f"{c.title} ({reason}: {clip(c.why, 80)})" if reason and c.why and c.why not in c.title else c.title
        for c in chosen
    ]


def _cited(anchor: Record | str) -> str:
    return f"[{anchor}]" if isinstance(anchor, str) else f"[{anchor.id}] {clip(anchor.title, 60)}"


def _latest(transcript: Transcript) -> list[str]:
    """Return the last prompt, or what the agent said last if there was only one: without a task list that must do."""
    prompts = [prompt for message in transcript.messages if (prompt := asked(message))]
    if len(prompts) > 1 and prompts[-1] != task_of(transcript):
        return [first_sentence(prompts[-1])]
    told = [text for message in transcript.messages if message.origin == AGENT for text in said(message)]
    spoken = (plain(clip(row, 120)) for text in told[-1:] for row in sentences(text))
    return [row for row in spoken if count(row) > 3][:1]


def _shortened(text: str, limit: int) -> str:
    """Return *text* on one line with at most *limit* 字, cut at its end, and without the brackets of the headings."""
    line = one_line(clip(text, 8 * limit).replace("【", "[").replace("】", "]"))
    if count(line) <= limit:
        return line
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count(line[:middle]) <= limit else (low, middle - 1)
    while low and count(line[:low]) > limit:
        low -= 1
    return line[:low].rstrip() + "…"


def _todos(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    items = given.get("todos")
    for item in items if isinstance(items, list) else []:
        if isinstance(item, dict) and (text := _word(item, "content") or _word(item, "subject")):
            yield text, _word(item, "status")


def _update(tasks: dict[str, tuple[str, str]], given: Mapping[str, Any]) -> None:
    number = str(given.get("taskId", ""))
    if number in tasks:
        subject, status = tasks[number]
        tasks[number] = (_word(given, "subject") or subject, _word(given, "status") or status)


def _word(given: Mapping[str, Any], key: str) -> str:
    value = given.get(key)
    return value if isinstance(value, str) else ""
