"""Build the three forms of a session: compact 缩, normal 常 and expanded 巨.

What a form contains is selected here and written by a template that the caller hands in (`render_forms`). What does not
fit is left out by priority, whole entries and whole sentences at a time.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kb.i18n import Message, msg
from kb.records.model import Candidate
from kb.sessions import trackers
from kb.sessions.handed_text import find_last_tasks, find_task
from kb.sessions.progress import find_progress, is_farewell, list_last_statements
from kb.sessions.prose import CUT, is_question, shorten_text
from kb.sessions.trackers import SessionProgress
from kb.sessions.transcript import Transcript, list_agent_texts, list_calls, list_prompts
from kb.similarity.failure_signatures import identify_command
from kb.text.segment import clip, count_words, one_line, split_sentences

COMPACT, NORMAL, EXPANDED = "compact", "normal", "expanded"
FORMS = (COMPACT, NORMAL, EXPANDED)
SITUATIONS = {"agent-start": COMPACT, "handover": NORMAL, "debug": EXPANDED}
"""Which form a situation calls for (RUYI-01)."""
LIMIT, NORMAL_LIMIT, NORMAL_MIN = 499, 2000, 500
"""Longest compact form (SHI-11: shorter than 500) and bounds of the normal one (SHI-13), in 字."""
_SHARE = 12
"""An entry of a list gets at most this part of the limit (of 499: 41 字), the task twice as much."""
_MIN_REASON_ROOM = 5
"""A reason that has less room than this is left out."""
_COMPACT_PARTS = {"rules": 6, "decided": 8, "next": 3, "doing": 4, "open": 8, "anchors": 10, "done": 8}
"""The lists of the compact form, each with its most entries; what stands first is kept first when there is little room,
and the task comes before all of them (SHI-11)."""
_NORMAL_PARTS = {
    **{"background": 4, "decided": 12, "caveats": 8, "progress": 12, "method": 2, "troubles": 4, "anchors": 30},
    **{"interfaces": 16, "done": 12, "files": 12, "plans": 3, "papers": 4, "designs": 4},
}
_FILLINGS = ((4, 2), (4, 1), (6, 2), (6, 1), (8, 2), (8, 1), (_SHARE, 2), (_SHARE, 1))
"""An entry's share of the limit, and how many times as many entries, in the order in which they are tried."""
_MOST_TASKS = 12
_ENTRY = 60
"""An entry of the normal form gets at most so many 字."""
_INTENT = re.compile(
    r"\b(?:let me|i'll|i will|going to|the plan|approach)\b|让我|我将|我会|计划|方案|思路", re.IGNORECASE
)
_ROUTINE = re.compile(
    r"\b(?:let me|let's|i'll|i will|i am going to|i'm going to|we'll)\b(?:\W*\b(?:now|also|first|then|just|"
    r"quickly|next|start by|begin by|try to)\b)*"
    r"\W*\b(?:check|look|see|verify|run|re-?run|commit|push|read|view|open|find|search|explore|examine|inspect|"
    r"continue|proceed|"
    r"start|close|file|list|try|confirm|double-check|mark|update the (?:todo|task|plan|status)|get|wait|review|"
    r"investigate|"
    r"understand|analy[sz]e|finali[sz]e|clean|summari[sz]e|know|create a (?:\w+ )?(?:report|summary)|explain|"
    r"tell|show|help|be|do)\b|"
    r"(?:让我|我来|我将|我会|现在)(?:再|先|来|去|也|快速|接着|继续|一下)*(?:看|查|检查|确认|运行|跑|提交|推送|"
    r"读|打开|找|搜|继续|试|了解|验证|总结)",
    re.IGNORECASE,
)
"""What any agent says at any step: “Let me verify the final structure” shows no method."""
_GOES_ON = re.compile(
    r"(?:/\S+\s+)?(?:and |please |ok,? )*(?:continue|go on|keep going|proceed|carry on|resume)"
    r"(?:\W+(?:with|on|and|the|all|your|re\w*ining|"
    r"rest|next|other|open|of|tasks?|subtasks?|steps?|items?|work|ones?|it|please|now))*\W*$|"
    r"(?:/\S+\s+)?(?:请|好，?)*(?:继续|接着)(?:做|干|完成|往下|下面|剩下|剩余|其余|的|任务|工作|步骤|下一步|吧)*\W*$",
    re.IGNORECASE,
)
_LOOKING = ("Read", "Grep", "Glob", "LS", "WebFetch", "WebSearch", "NotebookRead")
_LANGUAGES = {
    **{"py": "python", "ts": "typescript", "tsx": "typescript", "js": "javascript", "rs": "rust", "go": "go"},
    **{"ex": "elixir", "exs": "elixir", "java": "java", "rb": "ruby", "kt": "kotlin"},
}
_RULES = ("constraint", "preference", "pitfall")
_DECISIONS = ("decision", "pattern", "checklist", "domain-note")
_WAITS = msg("wait for the next prompt; nothing is open")

Write = Callable[[Mapping[str, object]], str]
"""Fills the template of a form."""


class FormFacts(NamedTuple):
    """What a form says of a session besides its transcript."""

    found: tuple[Candidate, ...] = ()
    made: tuple[str, ...] = ()
    """The ids of the records it wrote."""
    ids: Mapping[str, str] = {}
    """Ids of records by the titles of what became them."""
    now: SessionProgress | None = None
    """Where the session stands, where that was found out already."""


def render_compact(
    transcript: Transcript,
    known: FormFacts,
    anchors: Sequence[str],
    write: Write,
    *,
    language: str = "en",
    limit: int = LIMIT,
) -> str:
    """Return the compact form of a session in markdown, never longer than *limit* 字 (from 60 on).

    *anchors* are the records that the session cites. What does not fit is left out by priority: task, constraints,
    decisions, what is next, under way and open, anchors, what is done; of rules and decisions the newest are kept.
    Where something was left out, its part says so: a part says “none” only where there is none.
    """
    now, task = known.now or find_progress(transcript, language), find_task(transcript)
    last, reason = find_last_tasks(transcript, _MOST_TASKS), msg("reason").translate(language)
    text = ""
    # the longest entries with which nothing has to go; where even short ones do not fit, the most of them
    for share, times in _FILLINGS:
        longest, most = max(limit // share, 5), {part: number * times for part, number in _COMPACT_PARTS.items()}
        wanted: dict[str, Sequence[str]] = {
            "rules": _list_titles(known.found, _RULES),
            "decided": _list_titles(known.found, ("decision", "interface", *_DECISIONS[1:]), reason, longest),
            "doing": now.doing,
            "open": now.open,
            "next": now.next or ([] if now.doing or now.open or not now.done else [_WAITS.translate(language)]),
            "anchors": anchors,
            "done": now.done[::-1],
        }
        rows = {part: [shorten_text(row, longest) for row in given] for part, given in wanted.items()}
        is_last = (share, times) == _FILLINGS[-1]
        shown = _write_task(task, last, longest, limit if is_last else 3 * limit // 2, write, language)
        text = _fill_parts(rows, most, {"task": shown}, write, limit, language, has_to_fit=not is_last)
        if text:
            break
    return text


def _write_task(task: str, last: Sequence[str], longest: int, limit: int, write: Write, language: str) -> str:
    """Return the task and what was asked *last*, at most *longest* 字 each and twice as much for both ends.

    The task has the longest share that leaves the rest of the template its room: two fifths of *limit*.
    """
    empty, shown = dict.fromkeys(_COMPACT_PARTS, ()), ""
    for share in (2 * longest, longest, 5, 0):
        shown = CUT * bool(task)
        if share:
            most = [share, *([longest] * (len(last) - 1)), share]
            texts = [task, *(last if share >= longest else ())]
            parts = [shorten_text(one, size) for one, size in zip(texts, most, strict=False)]
            # of the prompts between the first and the last as many as two fifths of the form hold: questions go
            # first, then the shortest (“check again”)
            while len(parts) > 2 and sum(map(count_words, parts)) > limit * 2 // 5:
                between = range(1, len(parts) - 1)
                del parts[min(between, key=lambda at: (not is_question(parts[at]), count_words(parts[at])))]
            shown = msg(" | then: ").translate(language).join(parts)
        if count_words(write({**empty, "task": shown})) <= limit // (2 if share > longest else 1):
            break
    return shown


def render_normal(
    transcript: Transcript, known: FormFacts, anchors: Sequence[str], write: Write, *, language: str = "en"
) -> str:
    """Return the normal form of a session in markdown, never longer than NORMAL_LIMIT 字."""
    now, task, prompts = (
        known.now or find_progress(transcript, language),
        find_task(transcript),
        list_prompts(transcript),
    )
    paths = trackers.list_changed_files(trackers.list_edits(transcript))
    asked = [one for one in find_last_tasks(transcript) if not is_farewell(one) and not _GOES_ON.match(one)]
    doing = [one for one in now.doing if not _GOES_ON.match(one)]
    newest = known.found[::-1]
    failures = _list_troubles(transcript)[-8:]
    calls = [one.request for one in list_calls(transcript) if one.request.name == "ExitPlanMode"]
    plans = [plan for one in calls if isinstance(plan := one.input.get("plan"), str) and plan.strip()]
    interfaces = [one.title for one in known.found if one.kind == "interface"]
    said = [row for _, text in list_agent_texts(transcript) for row in _split_entries(text)]
    methods = [row for row in said if _INTENT.search(row) and count_words(row) > 4 and not _is_routine(row)]
    wanted: dict[str, Sequence[object]] = {
        "background": [*_split_entries(task), *(shorten_text(one, _ENTRY) for one in prompts[1:][-2:])],
        "decided": [_build_decision(one, known.ids) for one in newest if one.kind in _DECISIONS],
        "caveats": _shorten_rows([*(one.title for one in newest if one.kind in _RULES), *now.open]),
        "progress": _shorten_rows(list_last_statements(transcript, texts=4)),
        "method": _shorten_rows(methods[:-3:-1]),
        "troubles": _shorten_rows([f"{one.what}: {one.error}" for one in reversed(failures)]),
        "anchors": anchors,
        "interfaces": [clip(row, 160) for row in [*interfaces, *trackers.list_signatures(transcript)[-16:]]],
        "done": _shorten_rows(now.done[::-1]),
        "files": paths,
        "plans": _shorten_rows(plan.strip().splitlines()[0].lstrip("# ") for plan in plans),
        "papers": [path for path in paths if _is_document_named(path, ("require", "prd", "需求"))],
        "designs": [path for path in paths if _is_document_named(path, ("design", "plan", "adr", "设计", "架构"))],
    }
    known_languages = (_LANGUAGES.get(path.rpartition(".")[2]) for path in paths)
    fixed = {
        "task": shorten_text(task, 40),
        "goal": shorten_text((*doing, *asked[-1:], task)[0], _ENTRY),
        "code": next(filter(None, known_languages), "python"),
    }
    return _fill_parts(wanted, _NORMAL_PARTS, fixed, write, NORMAL_LIMIT, language)


def _list_troubles(transcript: Transcript) -> list[trackers.FailedCall]:
    """Return the calls that failed and never went well later, but for looking around: a file that was not there."""
    calls = {one.request.line: one.request for one in list_calls(transcript)}

    def is_trouble(failed: trackers.FailedCall) -> bool:
        call = calls[failed.line]
        command = str(call.input.get("command", ""))
        is_telling = not failed.error.lower().endswith("sibling tool call errored")
        return is_telling and (bool(identify_command(command)) if command else call.name not in _LOOKING)

    return [one for one in trackers.list_failed_calls(transcript) if not one.fixed_by and is_trouble(one)]


def _is_routine(row: str) -> bool:
    return row.endswith((":", "：")) or _ROUTINE.search(row) is not None


def render_expanded(transcript: Transcript, known: FormFacts, anchors: Sequence[str], write: Write) -> str:
    """Return the expanded form of a session in markdown, as long as it comes. *anchors* are whole texts."""
    # a pitfall that was overcome: what was seen, then why; its title is that in short
    pitfalls = [
        {
            "what": one_line(one.decision) or one.title,
            "error": one_line(one.why) or one.title,
            "fixed_by": one.verification or CUT,
        }
        for one in known.found
        if one.kind == "pitfall"
    ]
    failed = trackers.list_failed_calls(transcript)
    calls = {one.request.line: one.request for one in list_calls(transcript)}

    def is_told(one: trackers.FailedCall) -> bool:
        """Return whether a pitfall says the same: this command, and this error."""
        command = str(calls[one.line].input.get("command", "")).strip()
        return bool(command) and any(command in row["what"] and one.error in row["what"] for row in pitfalls)

    edits = trackers.list_edits(transcript)
    fences = [max([2, *map(len, re.findall("`{3,}", one.diff))]) + 1 for one in edits]  # longer than any in the diff
    values: dict[str, object] = {
        "history": trackers.list_entries(transcript),
        "decisions": [_build_decision(c, known.ids) for c in known.found if c.kind not in ("preference", "pitfall")],
        "changes": [{**one._asdict(), "fence": "`" * fence} for one, fence in zip(edits, fences, strict=True)],
        "problems": [*pitfalls, *(one._asdict() for one in failed if not is_told(one))],
        "preferences": [one.title for one in known.found if one.kind == "preference"],
        "anchors": list(anchors),
    }
    return write(values)


def _fill_parts(
    wanted: Mapping[str, Sequence[object]],
    most: Mapping[str, int],
    fixed: Mapping[str, object],
    write: Write,
    limit: int,
    language: str,
    *,
    has_to_fit: bool = False,
) -> str:
    """Return what *write* makes of as many entries of *wanted* as fit into *limit* 字, by the order of the parts.

    *most* has the parts in order, each with its most entries. What is missing is said at the end of a part: how many,
    or where not even that fits, "…". With *has_to_fit* the answer is "" where the most entries are too long.
    """
    short = {part: wanted[part][:number] for part, number in most.items()}
    tables = {part for part, entries in short.items() if any(isinstance(entry, dict) for entry in entries)}

    def render_parts(kept: Mapping[str, Sequence[object]], *, is_counted: bool = True) -> str:
        parts: dict[str, object] = {}
        for part in short:
            missing = len(wanted[part]) - len(kept[part])
            mark: object = msg("… {number} more", number=missing).translate(language) if is_counted else CUT
            if part in tables:
                mark = {"id": CUT, "title": mark, "choice": "", "why": "", "alternatives": "", "quotes": []}
            parts[part] = [*kept[part], *([mark] if missing > 0 else [])]
        return write({**fixed, **parts})

    if count_words(text := render_parts(short)) <= limit or has_to_fit:
        return text if count_words(text) <= limit else ""
    kept: dict[str, Sequence[object]] = {part: [] for part in short}
    is_counted = count_words(text := render_parts(kept)) <= limit
    if not is_counted:
        text = render_parts(kept, is_counted=False)
    first = [(part, entry) for part, entries in short.items() for entry in entries[:1]]
    rest = [(part, entry) for part, entries in short.items() for entry in entries[1:]]
    for part, entry in (*first, *rest):  # one of each part before a second of any: what is under way is told too
        longer = {**kept, part: [*kept[part], entry]}
        rendered = render_parts(longer, is_counted=is_counted)
        if count_words(rendered) <= limit:
            kept, text = longer, rendered
    return text


# -- entries ---------------------------------------------------------------------------------------


def _split_entries(text: str) -> list[str]:
    """Return the first three sentences of *text*, each short enough for an entry."""
    return [shorten_text(row, _ENTRY) for row in split_sentences(one_line(text[:2000]), with_breaks=False)[:3]]


def _shorten_rows(rows: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(shorten_text(row, _ENTRY) for row in rows if row.strip()))


def _list_titles(
    candidates: Sequence[Candidate], kinds: tuple[str, ...], reason: str = "", longest: int = 0
) -> list[str]:
    """Return the candidates by *kinds*, the newest first, with their reasons where *longest* has the room."""
    found = []
    for one in sorted((c for c in reversed(candidates) if c.kind in kinds), key=lambda c: kinds.index(c.kind)):
        room = longest - count_words(one.title) - 1
        # “Use tabs because tabs are wanted” needs no reason beside its title
        has_news = one.why and one.why not in one.title and room > _MIN_REASON_ROOM
        why = shorten_text(one.why, room).rstrip("。.") if has_news else ""
        found.append(f"{one.title} ({reason}: {why})" if why else one.title)
    return found


def _build_decision(one: Candidate, ids: Mapping[str, str]) -> dict[str, Any]:
    said = {"title": one.title, "choice": one.decision or one.title, "why": one.why}
    quotes = [one_line(evidence.quote) for evidence in one.evidence]
    return {"id": ids.get(one.title, ""), **said, "alternatives": one_line(one.alternatives), "quotes": quotes}


def _is_document_named(path: str, words: Sequence[str]) -> bool:
    name = path.rpartition("/")[2].lower()
    return name.endswith((".md", ".txt", ".rst")) and any(word in name for word in words)


# -- what is wrong with a form that somebody wrote (RUYI-55) ---------------------------------------

TITLES = {
    COMPACT: ("## 🔸 缩形态上下文", "## 🔸 Compact context"),
    NORMAL: ("## 🔹 常形态上下文", "## 🔹 Normal context"),
    EXPANDED: ("## 🔶 巨形态上下文", "## 🔶 Expanded context"),
}
SECTIONS = {
    COMPACT: (
        ("【任务】", "【Task】"),
        ("【已决策】", "【Decided】"),
        ("【约束】", "【Constraints】"),
        ("【当前进度】", "【Progress】"),
        ("【锚点引用】", "【Anchors】"),
    ),
    NORMAL: (
        ("### 任务背景", "### Background"),
        ("### 已完成工作", "### Done"),
        ("### 关键决策", "### Decisions"),
        ("### 当前焦点", "### Focus"),
        ("### 接口约定", "### Interfaces"),
        ("### 注意事项", "### Caveats"),
        ("### 锚点索引", "### Anchors"),
    ),
    EXPANDED: (
        ("### 完整会话历史", "### History"),
        ("### 所有决策及讨论", "### Decisions"),
        ("### 完整代码变更", "### Changes"),
        ("### 问题与解决", "### Problems"),
        ("### 用户偏好记录", "### Preferences"),
        ("### 完整锚点列表", "### Anchors"),
    ),
}
"""The headings of each form, in order, in Chinese and in English (SHI-10, SHI-12, RUYI-02, RUYI-03)."""
BULLETS = {
    COMPACT: (("- 已完成:", "- Done:"), ("- 进行中:", "- In progress:"), ("- 待处理:", "- To do:")),
    NORMAL: (("- 目标:", "- goal:"), ("- 方法:", "- method:"), ("- 进展:", "- progress:"), ("- 问题:", "- problem:")),
    EXPANDED: (),
}
TYPES = {"决策": "D", "约束": "C", "接口": "I", "问题": "P", "偏好": "U", "模式": "M"}
"""What a typed reference may name: `接口: [I001] …`."""
_TYPED_LINE = re.compile(r"^-\s*(决策|约束|接口|问题|偏好|模式)\s*[:：]\s*(.*)$")
_REFERENCE = re.compile(r"\[(?:[\w.-]{1,100}:)?([A-Z]{1,2})([0-9]+)\]")


class FormProblem(NamedTuple):
    """What is wrong with a form, and where."""

    line: int
    message: Message
    is_warning: bool = False


def find_problems(text: str) -> tuple[str, list[FormProblem]]:
    """Return which form *text* is ("" for none) and what is wrong with it, by line."""
    rows = text.replace("\r\n", "\n").split("\n")
    for form, titles in TITLES.items():
        start = next((number for number, row in enumerate(rows) if row.strip() in titles), None)
        if start is not None:
            end = next((n for n in range(start + 1, len(rows)) if rows[n].startswith("## ")), len(rows))
            own = rows[start:end]
            found, size = [*_check_sections(form, own)], count_words("\n".join(own))
            if form == COMPACT and size > LIMIT:
                sizes = {"size": size, "most": LIMIT + 1}
                problem = msg("the compact form has {size} words; it must have fewer than {most}", **sizes)
                found.append(FormProblem(1, problem))
            if form == NORMAL and (misfit := check_normal_size(size)):
                found.append(FormProblem(1, misfit, is_warning=size < NORMAL_MIN))
            found += _check_references(own) if form != EXPANDED else []
            placed = (one._replace(line=start + one.line) for one in found)
            return form, sorted(placed, key=lambda one: one.line)
    titles_of_all = ", ".join(map(" / ".join, TITLES.values()))
    return "", [FormProblem(1, msg("none of these titles is here: {titles}", titles=titles_of_all))]


def _check_sections(form: str, rows: Sequence[str]) -> Iterator[FormProblem]:
    """Yield what is wrong with the headings of a form; *rows* begin with its title, as line 1."""
    last = 1
    language = TITLES[form].index(rows[0].strip())
    for headings in SECTIONS[form]:
        heading = headings[language]
        # a heading counts in either language, as people translate single ones
        lines = [number for number, row in enumerate(rows, 1) if row.startswith(headings)]
        if not lines:
            yield FormProblem(last, msg("the section {heading} is missing", heading=heading))
            continue
        if len(lines) > 1:
            yield FormProblem(lines[1], msg("the section {heading} appears twice", heading=heading))
        if lines[0] < last:
            yield FormProblem(lines[0], msg("the section {heading} is out of order", heading=heading))
        last = max(last, lines[0])
    for words in BULLETS[form]:
        if not any(row.replace("：", ":").startswith(words) for row in rows):
            yield FormProblem(1, msg("the line {words} is missing", words=words[language]))
    if form == COMPACT and any(row.strip() in SECTIONS[COMPACT][0] for row in rows):
        yield FormProblem(1, msg("the task is empty"))


def check_normal_size(size: int) -> Message | None:
    """Return what is wrong with a normal form of *size* 字, or None."""
    if NORMAL_MIN <= size <= NORMAL_LIMIT:
        return None
    bounds = {"least": NORMAL_MIN, "most": NORMAL_LIMIT}
    return msg("the normal form has {size} words; it should have {least} to {most}", size=size, **bounds)


def _check_references(rows: Sequence[str]) -> Iterator[FormProblem]:
    for number, row in enumerate(rows, 1):
        for match in _REFERENCE.finditer(row):
            if len(match[2]) < 3:
                problem = msg("{reference} is not an id: an id has three digits or more", reference=match[0])
                yield FormProblem(number, problem)
        if typed := _TYPED_LINE.match(row):
            letters, letter = [match[1] for match in _REFERENCE.finditer(typed[2])], TYPES[typed[1]]
            if letters and letter not in letters:
                problem = msg("{type} cites an anchor whose id begins with {letter}", type=typed[1], letter=letter)
                yield FormProblem(number, problem)
