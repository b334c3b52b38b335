"""Collect the facts of a session for its forms: files, commands, steps, outcome; all verbatim from the transcript."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kb.sessions.prose import split_sentences
from kb.sessions.transcript import (
    AGENT,
    DELEGATED,
    SUMMARY,
    ToolCall,
    Transcript,
    get_own_texts,
    get_prompt,
    list_agent_texts,
    list_calls,
    list_prompts,
)
from kb.text.mentions import make_relative, strip_markdown
from kb.text.segment import clip, count_words, extract_ranking_terms, has_cjk, one_line

_MIN_WORD_SHARE = 0.6
"""The share of the words of a step that have to come back where it is done."""
_MAX_STEPS = 200
"""Steps still to be done that are gathered, and things done that they are compared with, at most."""
# TaskCreate answers “Task #3 created”: the number by which TaskUpdate names the task later
_CREATED = re.compile(r"#(\d{1,9})\b")
# git commit -m "Fix it", -am '修复登录', or -m "$(cat <<'EOF' … EOF)", of which the first line is the subject
_COMMIT = re.compile(
    r"git commit\b[^\n]{0,400}?\s(?:-[A-Za-z]{0,8}m|--message)[\s=]*+"
    r"[\"'](?:\$\(cat <<-?\s*+['\"]?\w++['\"]?[^\S\n]*+\n)?\s*+([^\n\"']+)"
)
# a line that declares something: “async def fetch(url):”, “pub fn parse(text: &str) -> Tree {”
_SIGNATURE = re.compile(
    r"^[ \t]*+((?:(?:export|default|pub(?:\([a-z]+\))?|public|static|async|abstract)[ \t]++)*+"
    r"(?:def|func|fn|function|class|interface|struct|trait|enum|defmodule|defmacro)\s+[A-Za-z][^\n]{0,140}?)"
    r"\s*+(?:\bdo|[{:]|=>)?[ \t]*+$",
    re.MULTILINE,
)
_CODE = re.compile(r"\.(?:py|pyi|js|mjs|ts|tsx|jsx|go|rs|ex|exs|java|kt|rb|c|h|cc|cpp|hpp|cs|swift|php|scala)$")
_TEST = re.compile(r"(?:^|/)(?:tests?|spec|__tests__)/|(?:^|/)test_|_test\.|\.(?:test|spec)\.")
# “def _helper(”, “def test_login(”: nobody outside calls these
_PRIVATE = re.compile(r" (?:_|test_|test$)")
# “Next: add tests”, “还需要补测试”: what the agent says is left
_NEXT = re.compile(
    r"\b(?:next(?: step)?s?(?: is| are|:)|remaining|still (?:to do|needs?|missing)|not yet|left to do|to-?do:)"
    r"|下一步|待处理|剩下|剩余|还需要?|尚未|接下来",
    re.IGNORECASE,
)
# “All tests pass”, “已全部完成”; “the tests pass” alone says nothing of the task
_ALL_DONE = re.compile(
    r"\ball (?:\w+ )?(?:tasks?|steps?|tests?|beads?) (?:are |were |have been )?(?:done|complete|pass|finish)"
    r"|\bis (?:now )?(?:complete|finished|done)\b|\b(?:fully|successfully) (?:ported|implemented|completed)"
    r"|everything is (?:pushed|done)|全部(?:完成|通过)|(?:已经?|都已?)(?:全部)?完成",
    re.IGNORECASE,
)
_GREETING = re.compile(
    r"^\s*+(?:(?:hi|hello|hey|good (?:morning|afternoon|evening)|morning)(?: (?:there|all))?"
    r"|早上好|上午好|下午好|晚上好|早|你好|您好|嗨|大家好)\s*+[，,。.!！~～]++\s*+",
    re.IGNORECASE,
)
"""What a prompt may begin with that is not a task."""
_FAREWELL = re.compile(
    r"\b(?:that'?s (?:all|it|enough) for (?:today|now)|see you|good night|bye|let'?s stop here)\b"
    r"|(?:今天|先)(?:就)?(?:先)?到(?:这里|这儿|此)|下班了|明天见|再见",
    re.IGNORECASE,
)
"""With this a person ends a session: nothing is under way."""
# “webhook tomorrow”, “明天继续做 webhook”: put off, and so still open
_LATER_PATTERN = re.compile(r"\b(?:tomorrow|next time)\b|明天|下次", re.IGNORECASE)
# “I added the tests”, “测试写了”: what takes a step off the list of open ones
_DONE_PATTERN = re.compile(
    r"\b(?:done|added|implemented|fixed|finished|completed|wrote|written|updated|removed|created|merged|passes?)\b"
    r"|完成|已|好了|通过了|写了|加了|加上了|修复了|更新了",
    re.IGNORECASE,
)
# “Let me look”, “让我看一下”: an announcement says nothing of where the session stands
_NOISE = re.compile(
    r"^(?:let me|now let me|i'll|i will|now|good|great|perfect|ok(?:ay)?)\b.{0,40}$|^(?:让我|好的|现在)", re.IGNORECASE
)


class SessionProgress(NamedTuple):
    """What is done, under way and open, by the session's own list."""

    done: tuple[str, ...] = ()
    doing: tuple[str, ...] = ()
    open: tuple[str, ...] = ()


class FileEdit(NamedTuple):
    """One change of a file."""

    path: str
    line: int
    is_new: bool
    added: int
    removed: int
    diff: str


class FailedCall(NamedTuple):
    """A call that failed."""

    what: str
    error: str
    line: int
    mended: str
    """What went well later in its place; "" for nothing."""


# -- the task and how far it is --------------------------------------------------------------------


def find_task(transcript: Transcript) -> str:
    """Return what the session was asked for: the first prompt that says something, else what another agent asked."""
    prompts = list_prompts(transcript)
    telling = [rest for prompt in prompts if count_words(rest := _GREETING.sub("", prompt)) >= 3]
    if telling or prompts:
        return (telling or prompts)[0]
    given = [m.texts[0] for m in transcript.messages if m.origin in (DELEGATED, SUMMARY) and m.texts]
    return given[0] if given else ""


def find_progress(transcript: Transcript) -> SessionProgress:
    """Return what is done, under way and open: by the session's own list, else by its commits and last words."""
    kept = read_task_list(transcript)
    if any(kept):
        return kept
    done, doing = list_commits(transcript), _find_current_work(transcript)
    if finished := _find_completion_claim(transcript):
        done, doing = [*done, finished], []
    return SessionProgress(tuple(done), tuple(doing), tuple(_iter_next_steps(transcript)))


def read_task_list(transcript: Transcript) -> SessionProgress:
    """Return the latest state of the session's task list, whichever tool kept it."""
    todos: list[tuple[str, str]] = []
    tasks: dict[str, tuple[str, str]] = {}
    for answered in list_calls(transcript):
        name, given = answered.request.name, answered.request.input
        if name == "TodoWrite":
            listed = given.get("todos")
            rows = [row for row in listed if isinstance(row, dict)] if isinstance(listed, list) else []
            named = [(_get_text(row, "content", "subject"), _get_text(row, "status")) for row in rows]
            todos = [(text, status) for text, status in named if text]
        elif name == "TaskCreate" and (subject := _get_text(given, "subject")):
            number = _CREATED.search(answered.output)
            tasks[number[1] if number else str(len(tasks) + 1)] = (subject, "pending")
        elif name == "TaskUpdate" and (task := str(given.get("taskId", ""))) in tasks:
            subject, status = tasks[task]
            tasks[task] = (_get_text(given, "subject") or subject, _get_text(given, "status") or status)
    items = list(tasks.values()) or todos
    # a status that nobody knows counts as open: what is not named done must not get lost
    return SessionProgress(
        tuple(text for text, status in items if status == "completed"),
        tuple(text for text, status in items if status == "in_progress"),
        tuple(text for text, status in items if status not in ("completed", "in_progress", "deleted", "cancelled")),
    )


def list_commits(transcript: Transcript) -> list[str]:
    """Return the subjects of the commits that were made, in order."""
    made = [one for one in list_calls(transcript) if one.request.name == "Bash" and one.result and not one.is_error]
    matches = (_COMMIT.search(_get_text(one.request.input, "command")) for one in made)
    return list(dict.fromkeys(one_line(match[1]) for match in matches if match))


def _find_completion_claim(transcript: Transcript) -> str:
    """Return the words with which the agent says, since the last prompt, that all is done; "" without any."""
    since = max((number for number, message in enumerate(transcript.messages) if get_prompt(message)), default=0)
    texts = [text for _, text in list_agent_texts(transcript._replace(messages=transcript.messages[since:]))]
    # the claim stands in the last texts; an earlier “done” was followed by more work
    for text in texts[:-4:-1]:
        for row in _iter_matching_sentences(_ALL_DONE, text):
            if 3 < count_words(row) < 60 and not _NEXT.search(row):
                return row
    return ""


def _iter_matching_sentences(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    """Yield the sentences of *text* that match *pattern*; most texts need not be cut into sentences for that."""
    if pattern.search(strip_markdown(text)):
        rows = (strip_markdown(sentence) for sentence in split_sentences(text))
        yield from (row for row in rows if pattern.search(row))


def _find_current_work(transcript: Transcript) -> list[str]:
    """Return the last prompt, or what the agent said last if there was only one: without a task list that must do."""
    prompts = list_prompts(transcript)
    if prompts and _FAREWELL.search(prompts[-1]):
        return []
    if len(prompts) > 1 and prompts[-1] != find_task(transcript):
        return [one_line(prompts[-1])]
    return list_last_statements(transcript)[:1]


def list_last_statements(transcript: Transcript, texts: int = 1) -> list[str]:
    """Return the sentences of the *texts* that the agent said last, the last first, without announcements."""
    last = [text for _, text in list_agent_texts(transcript)][: -texts - 1 : -1]
    rows = [row for text in last for row in _iter_sentences(text) if count_words(row) > 3]
    return [row for row in rows if not _NOISE.search(row)] or rows  # “Let me check the logs.” stands only alone


def _iter_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of *text* without its headings; a row of a table is one."""
    for line in text.splitlines():
        bare = line.strip()
        if bare.startswith("|") and not set(bare) <= set("|-: "):
            yield strip_markdown(" — ".join(cell.strip() for cell in bare.strip("|").split("|")))
        elif not bare.startswith(("#", "|")):
            yield from (strip_markdown(row) for row in split_sentences(line))


def _iter_next_steps(transcript: Transcript) -> Iterator[str]:
    """Yield what the agent said last is still to be done, and what a person puts off when the session ends.

    What was done after it was said is left out: a commit or a sentence of the agent's that names most of its words.
    """
    for line, text in list_agent_texts(transcript)[-2:]:
        wanted = (row for row in _iter_matching_sentences(_NEXT, text) if count_words(row) < 60)
        steps = list(islice(wanted, _MAX_STEPS))
        done = [_extract_terms(row) for row in _list_done_after(transcript, line)[-_MAX_STEPS:]] if steps else []
        for row in steps:
            terms = _extract_terms(_NEXT.sub(" ", row))
            if not terms or not any(len(terms & other) >= _MIN_WORD_SHARE * len(terms) for other in done):
                yield row
    for prompt in list_prompts(transcript)[-1:]:
        if _FAREWELL.search(prompt):
            rows = (strip_markdown(sentence) for sentence in split_sentences(prompt))
            yield from (row for row in rows if _LATER_PATTERN.search(row))


def _list_done_after(transcript: Transcript, line: int) -> list[str]:
    """Return what was done behind *line*: the subjects of commits, and what the agent says that it has done."""
    later = transcript._replace(messages=tuple(m for m in transcript.messages if m.line > line))
    rows = (row for _, text in list_agent_texts(later) for row in split_sentences(text))
    return [*list_commits(later), *(row for row in rows if _DONE_PATTERN.search(row) and not _NEXT.search(row))]


def _extract_terms(text: str) -> frozenset[str]:
    """Return the stems of the words of *text* that have four letters or more, and its CJK bigrams."""
    return frozenset(term for term in extract_ranking_terms(text) if len(term) > (1 if has_cjk(term) else 3))


# -- files -----------------------------------------------------------------------------------------


def _list_edit_calls(transcript: Transcript) -> list[tuple[str, ToolCall]]:
    """Return the calls that changed a file by a tool for that, each with its path as it is given."""
    made = [one.request for one in list_calls(transcript) if not one.is_error]
    calls = [one for one in made if one.name in ("Edit", "Write", "NotebookEdit")]
    named = [(_get_text(one.input, "file_path", "notebook_path"), one) for one in calls]
    return [(path, one) for path, one in named if path]


def list_edits(transcript: Transcript) -> list[FileEdit]:
    """Return every change that was made to a file by a tool for that."""
    found = []
    for path, call in _list_edit_calls(transcript):
        old, new = _get_text(call.input, "old_string"), _get_text(call.input, "new_string", "content", "new_source")
        rows = list(difflib.unified_diff(old.splitlines(), new.splitlines(), lineterm="", n=2))[2:]
        added, removed = (sum(row.startswith(mark) for row in rows) for mark in "+-")
        path, is_new = make_relative(path, transcript.cwd), call.name == "Write"
        found.append(FileEdit(path, call.line, is_new, added, removed, "\n".join(rows)))
    return found


def list_changed_files(changes: Sequence[FileEdit]) -> list[str]:
    """Return the changed files, each once, the one changed most first."""
    sizes: Counter[str] = Counter()
    for change in changes:
        sizes[change.path] += change.added + change.removed
    return sorted(sizes, key=lambda path: (bool(_TEST.search(path)), -sizes[path]))


def list_signatures(transcript: Transcript) -> list[str]:
    """Return the signatures that were written into code outside tests, in order, each once, the last one said."""
    found: dict[str, str] = {}
    for path, call in _list_edit_calls(transcript):
        if _CODE.search(path) and not _TEST.search(make_relative(path, transcript.cwd)):
            for match in _SIGNATURE.finditer(_get_text(call.input, "new_string", "content")):
                row = one_line(match[1])
                found[row.partition("(")[0]] = row
    whole = (row for row in found.values() if row.count("(") == row.count(")"))
    return [row for row in whole if not _PRIVATE.search(row.partition("(")[0])]


# -- problems --------------------------------------------------------------------------------------


def list_failed_calls(transcript: Transcript) -> list[FailedCall]:
    """Return the calls that failed, with what went well later in their place."""
    calls = list_calls(transcript)
    found = []
    for number, one in enumerate(calls):
        if one.result and one.has_failed:
            later = (other for other in calls[number + 1 :] if other.result and not other.is_error)
            mended = next((other.request for other in later if _has_same_target(one.request, other.request)), None)
            error, better = _format_error(one.output), format_call(mended) if mended else ""
            found.append(FailedCall(format_call(one.request), error, one.request.line, better))
    return found


def _has_same_target(one: ToolCall, other: ToolCall) -> bool:
    if one.name != other.name:
        return False
    if path := _get_text(one.input, "file_path"):
        return path == _get_text(other.input, "file_path")
    words, others = (_get_text(call.input, "command").split()[:3] for call in (one, other))
    return len(words) > 1 and words == others


def format_call(call: ToolCall, limit: int = 100) -> str:
    """Return *call* as a person knows it."""
    given = next((v.strip() for v in call.input.values() if isinstance(v, str) and v.strip()), "")
    return f"{call.name} {clip(given.splitlines()[0] if given else '', limit)}".strip()


def _format_error(text: str) -> str:
    rows = [row.strip() for row in text.replace("<tool_use_error>", "").splitlines() if row.strip()]
    telling = [row for row in rows if not row.startswith("Exit code")]
    return clip((telling or rows or [""])[0].removesuffix("</tool_use_error>"), 160)


# -- the whole -------------------------------------------------------------------------------------


def list_entries(transcript: Transcript) -> list[dict[str, Any]]:
    """Return everything that was said and called, in order: who, when and what."""
    calls, found = iter(list_calls(transcript)), []
    for message in transcript.messages:
        about = {"time": message.time[:16].replace("T", " "), "line": message.line}
        made = list(islice(calls, len(message.calls)))
        if (prompt := get_prompt(message)) or message.origin in (DELEGATED, SUMMARY):
            text = _quote_text(prompt or "\n\n".join(message.texts))
            found.append({"who": "person" if prompt else message.origin, **about, "text": text})
        if message.origin == AGENT:
            found += [{"who": "agent", **about, "text": _quote_text(text)} for text in get_own_texts(message)]
            for one in made:
                error = f" — {_format_error(one.output)}" if one.is_error else ""
                text = f"{format_call(one.request, 160)}{error}"
                found.append({"who": "tool", **about, "text": text, "failed": one.is_error})
    return found


def _quote_text(text: str) -> str:
    """Return *text* as a quotation, so that headings and fences in it are none of the form's."""
    return "\n".join(f"> {row}".rstrip() for row in text.strip().splitlines())


def _get_text(given: Mapping[str, Any], *keys: str) -> str:
    """Return the first of the values of *keys* that is a text and not empty, or ""."""
    return next((value for key in keys if isinstance(value := given.get(key), str) and value), "")
