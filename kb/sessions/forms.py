"""Say what a session came to in three forms: compact 缩, normal 常 and expanded 巨.

What a form says is gathered here and written by a template that the caller hands in. What does not fit is left out by
priority, whole entries and whole sentences at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.i18n import Message, msg
from kb.records.model import Candidate, Record
from kb.sessions import facts
from kb.sessions.facts import SessionProgress, find_progress, find_task, list_prompts
from kb.sessions.transcript import AGENT, Transcript, get_own_texts
from kb.text.segment import clip, count_words, one_line

if TYPE_CHECKING:
    from typing import Any


COMPACT, NORMAL, EXPANDED = "compact", "normal", "expanded"
FORMS = (COMPACT, NORMAL, EXPANDED)
SITUATIONS = {"agent-start": COMPACT, "handover": NORMAL, "debug": EXPANDED}
"""Which form a situation calls for (RUYI-01)."""
LIMIT, NORMAL_LIMIT, NORMAL_LEAST = 499, 2000, 500
"""Longest compact form (SHI-11: shorter than 500) and bounds of the normal one (SHI-13), in 字."""
_SHARE = 12
"""An entry of a list gets at most this part of the limit (of 499: 41 字), the task twice as much."""
_LEAST_REASON = 5
"""A reason that has less room than this is left out."""
_PER_PART = {"rules": 6, "decided": 8, "doing": 4, "open": 6, "anchors": 10, "done": 8}
_PRIORITY = ("rules", "decided", "doing", "open", "anchors", "done")
"""What is kept first when there is little room; the task comes before all of them (SHI-11)."""
_NORMAL_PRIORITY = (
    "background", "decided", "caveats", "progress", "method", "troubles", "anchors", "interfaces", "done", "files",
    "plans", "papers", "designs",
)  # fmt: skip
_NORMAL_PER_PART = {"background": 4, "decided": 12, "caveats": 8, "progress": 12, "method": 2, "troubles": 4,
                    "anchors": 30, "interfaces": 16, "done": 12, "files": 12, "plans": 3, "papers": 4,
                    "designs": 4}  # fmt: skip
_ENTRY = 60
"""An entry of the normal form gets at most so many 字."""
_SENTENCE = re.compile(r"[。！？]++[\"'”’」』)）]*|(?<![!?.])[!?.]++[\"'”’)]*+(?=\s|$)")
_CLAUSE = re.compile(r"[，；：、]|[,;:](?=\s)|\s[—–-]+(?=\s)")
_WITHIN = re.compile(r"[A-Za-z0-9_./-][A-Za-z0-9_]")
"""Two letters between which no word ends."""
_INTENT = re.compile(r"\b(?:let me|i'll|i will|going to|the plan|approach)\b|让我|我将|我会|计划|方案|思路", 2)
_LANGUAGES = {"py": "python", "ts": "typescript", "tsx": "typescript", "js": "javascript", "rs": "rust", "go": "go",
              "ex": "elixir", "exs": "elixir", "java": "java", "rb": "ruby", "kt": "kotlin"}  # fmt: skip
_REASON = {"zh": "原因", "en": "reason"}
_CUT = "…"
_MORE = {"zh": "… 另有 {n} 项", "en": "… {n} more"}
"""What stands for the entries of a part that had no room."""

Write = Callable[[Mapping[str, object]], str]
"""Fills the template of a form."""


def render_compact(
    transcript: Transcript,
    *,
    write: Write,
    anchors: Sequence[Record | str] = (),
    candidates: Sequence[Candidate] = (),
    language: str = "en",
    limit: int = LIMIT,
    now: SessionProgress | None = None,
) -> str:
    """Return the compact form of a session in markdown, never longer than *limit* 字 (from 60 on).

    *now* is `where_it_stands`, where that is known.
    *anchors* are records, or ids, that the session cites. What does not fit is left out by priority: task, constraints,
    decisions, what is under way and open, anchors, what is done; of constraints and decisions the newest are kept.
    Where something was left out, its part says so: a part says “none” only where there is none.
    """
    now = now or find_progress(transcript)
    reason = _REASON.get(language, _REASON["en"])
    longest = max(limit // _SHARE, 5)
    wanted = {
        "rules": _list_titles(candidates, ("constraint", "preference", "pitfall")),
        "decided": _list_titles(
            candidates, ("decision", "interface", "pattern", "checklist", "domain-note"), reason, longest
        ),
        "doing": list(now.doing),
        "open": list(now.open),
        "anchors": [_format_anchor(anchor) for anchor in anchors],
        "done": list(now.done)[::-1],
    }
    short = {part: [shorten_text(entry, longest) for entry in wanted[part][: _PER_PART[part]]] for part in _PRIORITY}
    task, empty = "", dict.fromkeys(_PRIORITY, ())
    for share in (2 * longest, longest, 5, 0):
        task = shorten_text(find_task(transcript), share) if share else _CUT * bool(find_task(transcript))
        if count_words(write({**empty, "task": task})) <= limit:
            break
    totals = {part: len(wanted[part]) for part in _PRIORITY}
    return fill_parts(short, _PRIORITY, {"task": task}, write, limit, totals=totals, language=language)


def render_normal(
    transcript: Transcript, *, write: Write, anchors: Sequence[str] = (), candidates: Sequence[Candidate] = (),
    ids: Mapping[str, str] | None = None, limit: int = NORMAL_LIMIT, language: str = "en",
) -> str:  # fmt: skip
    """Return the normal form of a session in markdown, never longer than *limit* 字 (from 200 on).

    *ids* holds the ids of records by the titles of the *candidates* that became them.
    """
    now, changes = find_progress(transcript), facts.list_edits(transcript)
    paths = facts.list_changed_files(changes)
    decided = [one for one in candidates if one.kind in ("decision", "pattern", "domain-note", "checklist")]
    minding = [one for one in candidates if one.kind in ("constraint", "pitfall", "preference")]
    prompts = list_prompts(transcript)
    open_failures = [one for one in facts.list_failed_calls(transcript)[-8:] if not one.mended]
    wanted: dict[str, Iterable[object]] = {
        "background": [
            *_split_sentences(find_task(transcript)),
            *(shorten_text(one, _ENTRY) for one in prompts[1:][-2:]),
        ],
        "decided": [_build_decision(one, ids or {}) for one in reversed(decided)],
        "caveats": _shorten_rows([*(one.title for one in reversed(minding)), *now.open]),
        "progress": _shorten_rows(facts.list_last_statements(transcript, texts=4)),
        "method": _shorten_rows(_list_methods(transcript)),
        "troubles": _shorten_rows(f"{one.what}: {one.error}" for one in reversed(open_failures)),
        "anchors": list(anchors),
        "interfaces": [clip(row, 160) for row in _list_interfaces(transcript, candidates)],
        "done": _shorten_rows(now.done[::-1]),
        "files": paths,
        "plans": _shorten_rows(_list_plans(transcript)),
        "papers": [path for path in paths if _is_document_named(path, ("require", "prd", "需求"))],
        "designs": [path for path in paths if _is_document_named(path, ("design", "plan", "adr", "设计", "架构"))],
    }
    short = {part: list(wanted[part])[: _NORMAL_PER_PART[part]] for part in _NORMAL_PRIORITY}
    goal = (*now.doing, *prompts[-1:], find_task(transcript))[0]
    fixed = {
        "task": shorten_text(find_task(transcript), 40),
        "goal": shorten_text(goal, _ENTRY),
        "code": _guess_language(paths),
    }
    totals = {part: len(list(wanted[part])) for part in _NORMAL_PRIORITY}
    return fill_parts(short, _NORMAL_PRIORITY, fixed, write, limit, totals=totals, language=language)


def render_expanded(
    transcript: Transcript, *, write: Write, anchors: Sequence[str] = (), candidates: Sequence[Candidate] = (),
    ids: Mapping[str, str] | None = None,
) -> str:  # fmt: skip
    """Return the expanded form of a session in markdown, as long as it comes. *anchors* are whole texts."""
    decisions = [one for one in candidates if one.kind not in ("preference", "pitfall")]
    pitfalls = [_build_problem(one) for one in candidates if one.kind == "pitfall"]
    return write({
        "history": facts.list_entries(transcript),
        "decisions": [_build_decision(one, ids or {}) for one in decisions],
        "changes": [{**one._asdict(), "fence": _choose_fence(one.diff)} for one in facts.list_edits(transcript)],
        "problems": [*pitfalls, *(one._asdict() for one in facts.list_failed_calls(transcript))],
        "preferences": [one.title for one in candidates if one.kind == "preference"],
        "anchors": list(anchors),
    })  # fmt: skip


def fill_parts(
    wanted: Mapping[str, Sequence[object]], order: Sequence[str], fixed: Mapping[str, object], write: Write, limit: int,
    *, totals: Mapping[str, int] | None = None, language: str = "en",
) -> str:  # fmt: skip
    """Return what *write* makes of as many entries of *wanted* as fit into *limit* 字, by the *order* of the parts.

    *totals* has how many entries there are of each part; what is missing is said at the end of the part: how many, or
    where not even that fits, "…".
    """
    totals = totals or {part: len(wanted[part]) for part in order}
    tables = {part for part in order if any(isinstance(entry, dict) for entry in wanted[part])}

    def render_parts(kept: Mapping[str, Sequence[object]], more: str) -> str:
        marked = {part: _append_more_mark(kept[part], totals[part], more, is_table=part in tables) for part in order}
        return write({**fixed, **marked})

    more = _MORE.get(language, _MORE["en"])
    kept: dict[str, Sequence[object]] = {part: list(wanted[part]) for part in order}
    text = render_parts(kept, more)
    if count_words(text) <= limit:
        return text
    kept = {part: [] for part in order}
    if count_words(text := render_parts(kept, more)) > limit:
        text = render_parts(kept, more := _CUT)
    first = [(part, entry) for part in order for entry in wanted[part][:1]]
    rest = [(part, entry) for part in order for entry in wanted[part][1:]]
    for part, entry in (*first, *rest):  # one of each part before a second of any: what is under way is told too
        tried = {**kept, part: [*kept[part], entry]}
        longer = render_parts(tried, more)
        if count_words(longer) <= limit:
            kept, text = tried, longer
    return text


def _append_more_mark(kept: Sequence[object], total: int, more: str, *, is_table: bool) -> list[object]:
    """Return the entries *kept* of a part, and behind them, where there are more, what says so."""
    if len(kept) >= total:
        return [*kept]
    mark = more.format(n=total - len(kept))
    row = {"id": _CUT, "title": mark, "choice": "", "why": "", "alternatives": "", "quotes": []}
    return [*kept, row if is_table else mark]


def _build_problem(pitfall: Candidate) -> dict[str, str]:
    """Return a pitfall that was overcome as a form says it: what was seen, then why; its title is that in short."""
    seen = one_line(pitfall.decision) or pitfall.title
    return {"what": seen, "error": one_line(pitfall.why) or pitfall.title, "mended": pitfall.verification or _CUT}


def shorten_text(text: str, limit: int) -> str:
    """Return *text* on one line with at most *limit* 字: whole sentences, or where the first is too long its clauses.

    A single clause that is too long ends at a word, with "…". The brackets of the headings become plain ones.
    """
    line = one_line(text[: 12 * limit + 200].replace("【", "[").replace("】", "]"))
    if count_words(line) <= limit and len(text) <= 12 * limit + 200:
        return line
    for ends, mark in ((_SENTENCE, ""), (_CLAUSE, "…")):
        fits = [match for match in ends.finditer(line) if count_words(line[: match.end()]) <= limit]
        if fits and count_words(line[: fits[-1].start()]):
            return line[: fits[-1].end()] if not mark else line[: fits[-1].start()].rstrip() + mark
    low, high = 0, len(line)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if count_words(line[:middle]) <= limit else (low, middle - 1)
    while low and count_words(line[:low]) > limit:
        low -= 1
    while low > 1 and _WITHIN.match(line, low - 1):
        low -= 1
    return line[:low].rstrip() + "…"


def _split_sentences(text: str) -> list[str]:
    found, at = [], 0
    line = one_line(text[:2000])
    for match in _SENTENCE.finditer(line):
        found.append(line[at : match.end()].strip())
        at = match.end()
    return [shorten_text(row, _ENTRY) for row in [*found, line[at:].strip()] if row][:3]


def _shorten_rows(rows: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(shorten_text(row, _ENTRY) for row in rows if row.strip()))


def _list_methods(transcript: Transcript) -> list[str]:
    """Return the last sentences in which the agent says how it goes about it, the newest first."""
    told = [text for message in transcript.messages if message.origin == AGENT for text in get_own_texts(message)]
    rows = [
        row
        for text in told[-30:]
        for row in _split_sentences(text)
        if _INTENT.search(row) and count_words(row) > 4 and not row.endswith(":")
    ]
    return rows[::-1][:2]


def _list_plans(transcript: Transcript) -> list[str]:
    plans = [call.input.get("plan") for m in transcript.messages for call in m.calls if call.name == "ExitPlanMode"]
    return [plan.strip().splitlines()[0].lstrip("# ") for plan in plans if isinstance(plan, str) and plan.strip()]


def _list_interfaces(transcript: Transcript, candidates: Sequence[Candidate]) -> list[str]:
    return [*(one.title for one in candidates if one.kind == "interface"), *facts.list_signatures(transcript)[-16:]]


def _build_decision(one: Candidate, ids: Mapping[str, str]) -> dict[str, Any]:
    return {
        "id": ids.get(one.title, ""), "title": one.title, "choice": one.decision or one.title, "why": one.why,
        "alternatives": one_line(one.alternatives), "quotes": [one_line(e.quote) for e in one.evidence],
    }  # fmt: skip


def _is_document_named(path: str, words: Sequence[str]) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith((".md", ".txt", ".rst")) and any(word in name for word in words)


def _guess_language(paths: Sequence[str]) -> str:
    known = (_LANGUAGES.get(path.rpartition(".")[2]) for path in paths)
    return next((name for name in known if name), "python")


def _choose_fence(text: str) -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return fence


def _list_titles(
    candidates: Sequence[Candidate], kinds: tuple[str, ...], reason: str = "", longest: int = 0
) -> list[str]:
    """Return the candidates by *kinds*, the newest first, with their reasons where *longest* has the room."""
    chosen = sorted((c for c in reversed(candidates) if c.kind in kinds), key=lambda c: kinds.index(c.kind))
    return [f"{c.title} ({reason}: {why})" if (why := _shorten_reason(c, longest)) else c.title for c in chosen]


def _shorten_reason(candidate: Candidate, longest: int) -> str:
    room = longest - count_words(candidate.title) - 1
    wanted = candidate.why and candidate.why not in candidate.title and room > _LEAST_REASON
    return shorten_text(candidate.why, room).rstrip("。.") if wanted else ""


def _format_anchor(anchor: Record | str) -> str:
    return f"[{anchor}]" if isinstance(anchor, str) else f"[{anchor.id}] {clip(anchor.title, 60)}"


TITLES = {
    COMPACT: ("## 🔸 缩形态上下文", "## 🔸 Compact context"),
    NORMAL: ("## 🔹 常形态上下文", "## 🔹 Normal context"),
    EXPANDED: ("## 🔶 巨形态上下文", "## 🔶 Expanded context"),
}
SECTIONS = {
    COMPACT: (("【任务】", "【Task】"), ("【已决策】", "【Decided】"), ("【约束】", "【Constraints】"),
              ("【当前进度】", "【Progress】"), ("【锚点引用】", "【Anchors】")),
    NORMAL: (("### 任务背景", "### Background"), ("### 已完成工作", "### Done"), ("### 关键决策", "### Decisions"),
             ("### 当前焦点", "### Focus"), ("### 接口约定", "### Interfaces"), ("### 注意事项", "### Caveats"),
             ("### 锚点索引", "### Anchors")),
    EXPANDED: (("### 完整会话历史", "### History"), ("### 所有决策及讨论", "### Decisions"),
               ("### 完整代码变更", "### Changes"), ("### 问题与解决", "### Problems"),
               ("### 用户偏好记录", "### Preferences"), ("### 完整锚点列表", "### Anchors")),
}  # fmt: skip
"""The headings of each form, in order, in Chinese and in English (SHI-10, SHI-12, RUYI-02, RUYI-03)."""
BULLETS = {
    COMPACT: (("- 已完成:", "- Done:"), ("- 进行中:", "- In progress:"), ("- 待处理:", "- To do:")),
    NORMAL: (("- 目标:", "- goal:"), ("- 方法:", "- method:"), ("- 进展:", "- progress:"), ("- 问题:", "- problem:")),
    EXPANDED: (),
}
TYPES = {"决策": "D", "约束": "C", "接口": "I", "问题": "P", "偏好": "U", "模式": "M"}
"""What a typed reference may name: `接口: [I001] …`."""
_TYPED = re.compile(r"^-\s*(决策|约束|接口|问题|偏好|模式)\s*[:：]\s*(.*)$")
_REFERENCE = re.compile(r"\[(?:[\w.-]{1,100}:)?([A-Z]{1,2})([0-9]+)\]")


class FormProblem(NamedTuple):
    """What is wrong with a form, and where."""

    line: int
    said: Message
    is_warning: bool = False


def find_problems(text: str) -> tuple[str, list[FormProblem]]:
    """Return which form *text* is ("" for none) and what is wrong with it, by line."""
    rows = text.replace("\r\n", "\n").split("\n")
    for form, titles in TITLES.items():
        starts = [number for number, row in enumerate(rows) if row.strip() in titles]
        if starts:
            end = next((n for n in range(starts[0] + 1, len(rows)) if rows[n].startswith("## ")), len(rows))
            found = [*_check_sections(form, rows, starts[0], end), *_check_size(form, rows[starts[0] : end], starts[0])]
            found += _check_references(rows, starts[0], end) if form != EXPANDED else []
            return form, sorted(found, key=lambda one: one.line)
    return "", [
        FormProblem(
            1, msg("none of the titles stands here: {titles}", titles=", ".join(map(" / ".join, TITLES.values())))
        )
    ]


def _check_sections(form: str, rows: Sequence[str], start: int, end: int) -> Iterator[FormProblem]:
    last = start
    speech = TITLES[form].index(rows[start].strip())
    for spoken in SECTIONS[form]:
        heading = spoken[speech]
        places = [number for number in range(start, end) if rows[number].startswith(spoken)]
        if not places:
            yield FormProblem(last + 1, msg("the section {heading} is missing", heading=heading))
            continue
        if len(places) > 1:
            yield FormProblem(places[1] + 1, msg("the section {heading} stands here twice", heading=heading))
        if places[0] < last:
            yield FormProblem(places[0] + 1, msg("the section {heading} is out of order", heading=heading))
        last = max(last, places[0])
    for words in BULLETS[form]:
        if not any(rows[number].replace("：", ":").startswith(words) for number in range(start, end)):
            yield FormProblem(start + 1, msg("the line {words} is missing", words=words[speech]))
    if form == COMPACT and any(row.strip() in ("【任务】", "【Task】") for row in rows[start:end]):
        yield FormProblem(start + 1, msg("the task is empty"))


def _check_size(form: str, rows: Sequence[str], start: int) -> Iterator[FormProblem]:
    size = count_words("\n".join(rows))
    if form == COMPACT and size > LIMIT:
        yield FormProblem(start + 1, msg("the compact form has {size} words; it must have fewer than {most}",
                                     size=size, most=LIMIT + 1))  # fmt: skip
    if form == NORMAL and not NORMAL_LEAST <= size <= NORMAL_LIMIT:
        problem = msg("the normal form has {size} words; it should have {least} to {most}",
                      size=size, least=NORMAL_LEAST, most=NORMAL_LIMIT)  # fmt: skip
        yield FormProblem(start + 1, problem, is_warning=size < NORMAL_LEAST)


def _check_references(rows: Sequence[str], start: int, end: int) -> Iterator[FormProblem]:
    for number in range(start, end):
        for match in _REFERENCE.finditer(rows[number]):
            if len(match.group(2)) < 3:
                yield FormProblem(number + 1, msg("{reference} is no id: it has three digits or more",
                                              reference=match.group()))  # fmt: skip
        typed = _TYPED.match(rows[number])
        letters = [match.group(1) for match in _REFERENCE.finditer(typed.group(2))] if typed else []
        if typed and letters and TYPES[typed.group(1)] not in letters:
            yield FormProblem(number + 1, msg("{type} names an anchor whose id begins with {letter}",
                                          type=typed.group(1), letter=TYPES[typed.group(1)]))  # fmt: skip
