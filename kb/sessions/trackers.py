"""Read what a session did: what its trackers say, and its files, commands, steps and outcome, all verbatim.

Trackers are lists of tasks, commits, issues and pull requests, and files not committed.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from kb.i18n import msg
from kb.sessions.host_input import to_text
from kb.sessions.prose import split_pieces, split_sentences
from kb.sessions.transcript import (
    AGENT,
    DELEGATED,
    MAX_READ_CHARACTERS,
    SUMMARY,
    AnsweredCall,
    ToolCall,
    Transcript,
    TranscriptMessage,
    get_own_texts,
    get_prompt,
    list_calls,
)
from kb.similarity.failure_signatures import identify_command, is_wrapper
from kb.text.mentions import make_relative
from kb.text.segment import clip, one_line

_EDITORS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
# TaskCreate answers “Task #3 created”: the number by which TaskUpdate names the task later
_CREATED = re.compile(r"#(\d{1,9})\b")
# git commit -m "Fix it", -am '修复登录', or -m "$(cat <<'EOF' … EOF)", of which the first line is the subject
_COMMIT = re.compile(
    r"git commit\b[^\n]{0,400}?\s(?:-[A-Za-z]{0,8}m|--message)[\s=]*+"
    r"[\"'](?:\$\(cat <<-?\s*+['\"]?\w++['\"]?[^\S\n]*+\n)?\s*+([^\n\"']+)"
)


class SessionProgress(NamedTuple):
    """Where a session stands, each thing in the words in which it was said."""

    done: tuple[str, ...] = ()
    """In order: what was done last stands last."""
    doing: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    next: tuple[str, ...] = ()
    """The next step: the agent's, or what it waits for."""


# -- lists of tasks, and commits --------------------------------------------------------------------


def read_task_list(transcript: Transcript) -> SessionProgress:
    """Return the latest state of the session's task list, whichever tool kept it."""
    todos: list[tuple[str, str]] = []
    tasks: dict[str, tuple[str, str]] = {}
    for answered in list_calls(transcript, in_context=True):
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
    matches = (_COMMIT.search(command) for command, _ in _iter_commands(transcript))
    return list(dict.fromkeys(one_line(match[1]) for match in matches if match))


def _iter_commands(transcript: Transcript) -> Iterator[tuple[str, AnsweredCall]]:
    """Yield the commands that ran and did not fail, each with its call."""
    for one in list_calls(transcript):
        if one.request.name == "Bash" and one.result and not one.is_error:
            yield _get_text(one.request.input, "command"), one


# -- trackers on the command line ------------------------------------------------------------------

_ID = r"[A-Za-z][\w.]*-[\w.]+|#?\d+|https?://\S+/(?:issues|pull)/\d+"
_QUOTED = r"(?:\"(?P<{0}>[^\"\n]+)\"|'(?P<{0}b>[^'\n]+)')"
_TRACKER = re.compile(
    r"\b(?P<tool>bd|gh issue|gh pr|glab issue|glab mr)\s+(?P<verb>create|close|done|reopen|merge|update)\b"
    r"(?P<rest>[^\n;|&]*)"
)
_TITLE = re.compile(rf"(?:--title[= ]|-t )\s*{_QUOTED.format('title')}|^\s+{_QUOTED.format('first')}")
_STATUS = re.compile(r"--status[= ]\s*['\"]?(\w+)|(--claim)\b")
_LEADING_NAMES = re.compile(rf"\A(?:\s+(?:{_ID})(?=\s|$))*")
_CREATED_ID = re.compile(
    r"(?:issues|pull|merge_requests)/(\d+)|\"id\":\s*\"([\w.-]+)\"|[Cc]reated[^\n]{0,120}?\b([a-z]\w{0,40}-[\w.]++)"
)
_SETTLES = re.compile(
    r"\bgit (?:commit|stash|(?:rebase|merge|cherry-pick) --continue|restore|checkout --|reset --hard)\b"
)
_REMOVES = re.compile(r"(?:^|[\s;&|(])(?:git )?rm\s[^\n;&|]*")
_ADDS = re.compile(r"\bgit add\s((?:[^\n;&|\\]|\\\n){0,4000})")
_COMMITS_ALL = re.compile(r"git commit(?: -\w++)*? -(?:a|\w{1,3}a|-all\b)")
_PUSHES = re.compile(r"\bgit push\b|\bgh pr (?:create|merge)\b")
_MERGES = re.compile(r"\bgh pr merge\b|\bglab mr merge\b")
_OFFERED = re.compile(r"/pull/new/|/merge_requests/new")
_REQUESTS = re.compile(r"\bgh pr create\b|\bglab mr create\b")
_IS_OPEN = {"open", "in_progress", "blocked", "deferred", "reopened"}


class _Issue(NamedTuple):
    name: str
    title: str
    state: str


def read_trackers(transcript: Transcript) -> SessionProgress:
    """Return the last state that commands gave to issues and pull requests: `bd close shop-12`, `gh pr create …`."""
    issues: dict[str, _Issue] = {}
    for command, call in _iter_commands(transcript):
        for match in _TRACKER.finditer(command) if "bd " in command or "gh " in command or "glab " in command else ():
            for issue in _read_tracker_call(match, call.output, issues):
                issues.pop(issue.name, None)  # the newest stands last
                issues[issue.name] = issue
    rows = {key: f"{one.name}{f' {one.title}' if one.title else ''} ({one.state})" for key, one in issues.items()}
    is_open = {key: one.state in _IS_OPEN for key, one in issues.items()}
    return SessionProgress(
        done=tuple(row for key, row in rows.items() if not is_open[key]),
        open=tuple(row for key, row in reversed(rows.items()) if is_open[key]),
    )


def _read_tracker_call(match: re.Match[str], output: str, known: Mapping[str, _Issue]) -> Iterator[_Issue]:
    """Yield what one command did to an issue; what its output does not name stays without a number."""
    tool, verb, rest = match["tool"], match["verb"], match["rest"]
    kind = {"gh pr": "PR ", "glab mr": "MR ", "gh issue": "issue ", "glab issue": "issue "}.get(tool, "")
    if verb == "create":
        title = _TITLE.search(rest)
        made = _CREATED_ID.search(output)
        number = next(filter(None, made.groups()), "") if made else ""
        named = next(filter(None, title.groups()), "") if title else ""
        if number or named:
            name = f"{kind}{'#' if number.isdigit() else ''}{number}" if number else kind.strip() or named
            yield _Issue(name, "" if name == named else clip(named, 100), "open")
        return
    state = {"close": "closed", "done": "closed", "merge": "merged", "reopen": "reopened"}.get(verb, "")
    if status := _STATUS.search(rest) if verb == "update" else None:
        state = "in_progress" if status[2] else status[1].lower()
    for found in _LEADING_NAMES.findall(rest)[0].split() if state else ():
        number = found.rpartition("/")[2].lstrip("#")
        name = f"{kind}#{number}" if number.isdigit() and kind else found
        yield _Issue(name, known[name].title if name in known else "", state)


class GitState(NamedTuple):
    """What the session's edits, commits and pushes have come to."""

    uncommitted: str = ""
    """The files that were edited and not committed, the last four by name."""
    is_unpushed: bool = False
    """Whether there was a commit after the last push."""
    is_pushed_last: bool = False
    """Whether a push is the last that happened: nothing was edited, committed or merged since."""
    is_unrequested: bool = False
    """Whether the server offered to open a request for a pushed branch and nobody did."""


def read_git_state(transcript: Transcript) -> GitState:
    """Return what is committed and pushed of what the session has edited."""
    edited: dict[str, None] = {}
    staged: list[str] = []
    commits = pushes = 0
    is_offered = is_merged = False
    for one in list_calls(transcript):
        command = _get_text(one.request.input, "command")
        if one.is_error or (command and not one.result):  # what still runs has settled nothing
            continue
        if one.request.name in _EDITORS and one.request.path:
            path = make_relative(one.request.path, transcript.cwd)
            edited.pop(path, None)  # what was edited last stands last
            edited[path] = None
        elif _SETTLES.search(command) or _ADDS.search(command):
            staged += _ADDS.findall(command)
            if _SETTLES.search(command):
                edited = _drop_settled(edited, command, staged)
                staged, commits = [], commits + ("git commit" in command)
        removed = " ".join(_REMOVES.findall(command)).replace("/", " ").split() if "rm " in command else ()
        edited = {path: None for path in edited if path.rpartition("/")[2] not in removed}
        if _PUSHES.search(command):
            commits, pushes = 0, pushes + 1
            is_merged = bool(_MERGES.search(command))
            is_offered = bool(_OFFERED.search(one.output)) and not _REQUESTS.search(command)
    files = [path for path in edited if not path.startswith("/") and path[1:2] != ":"]
    more = f" … +{len(files) - 4}" if len(files) > 4 else ""
    return GitState(
        ", ".join(files[-4:]) + more, commits > 0, bool(pushes) and not (commits or files or is_merged), is_offered
    )


def _drop_settled(edited: dict[str, None], command: str, staged: Sequence[str]) -> dict[str, None]:
    """Return what of *edited* a commit leaves: with `git add PATH …` before it the other files, else nothing."""
    names = [name.strip("'\"").removeprefix("./").rstrip("/") for name in " ".join(staged).replace("\\", " ").split()]
    if not names or "git commit" not in command or _COMMITS_ALL.search(command):
        return {}
    if any(name in (".", "") or name.startswith(("-", ":")) or "*" in name for name in names):
        return {}
    return {path: None for path in edited if not any(path == one or f"/{path}/".find(f"/{one}/") >= 0 for one in names)}


def _get_text(given: Mapping[str, Any], *keys: str) -> str:
    """Return the first of the values of *keys* that is a text and not empty, or ""."""
    return next((value for key in keys if isinstance(value := given.get(key), str) and value), "")


# -- what an answer says is missing -----------------------------------------------------------------

_GAP_HEADING = re.compile(
    r"(?i)\b(?:missing|findings|risks|gaps?|limitations?|caveats?|known (?:issues|problems|bugs)"
    r"|not (?:yet )?(?:covered|fixed|done|tested)"
    r"|left (?:out|open))\b|缺失|缺口|发现的?问题|风险|不足|局限|已知问题|未覆盖|没做|注意"
)
"""“## Missing features”: the sentences under it tell what is open."""


_BOLD_LINE = re.compile(r"\*\*[^*\n]{2,60}\*\*[:：]?\s*(?:\n|\Z)")
"""“**Findings**” alone on a line is a heading too."""


def iter_gaps(text: str) -> Iterator[str]:
    """Yield the first sentence of each of five pieces under headings of *text* that speak of what is missing."""
    is_gap, left = False, 5
    for piece in split_pieces(text):
        if piece.what == "heading" or _BOLD_LINE.match(piece.text):
            is_gap = _GAP_HEADING.search(piece.text) is not None
        elif is_gap and left and piece.what in ("prose", "item"):
            left -= 1
            yield from islice(split_sentences(piece.text), 1)


# -- files, commands, steps, outcome --------------------------------------------------------------

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
    fixed_by: str
    """The call that succeeded later in its place; "" for none. Templates use the name."""


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
        old, new = (
            _get_text(call.input, "old_string"),
            _get_text(call.input, "new_string", "content", "new_source"),
        )
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
    """Return the calls that failed, with what succeeded later in their place."""
    calls = list_calls(transcript)
    found = []
    for number, one in enumerate(calls):
        if one.result and one.has_failed:
            later = (other for other in calls[number + 1 :] if other.result and not other.is_error)
            fixed_by = next((other.request for other in later if _has_same_target(one.request, other.request)), None)
            error, better = _format_error(one.output), format_call(fixed_by) if fixed_by else ""
            found.append(FailedCall(format_call(one.request), error, one.request.line, better))
    return found


def _has_same_target(one: ToolCall, other: ToolCall) -> bool:  # `git push` as well as `git push -u origin main`
    if one.name != other.name:
        return False
    if path := _get_text(one.input, "file_path"):
        return path == _get_text(other.input, "file_path")
    family, others = (identify_command(_get_text(call.input, "command")) for call in (one, other))
    return family == others != ""


_SEARCHES = frozenset("ls cat grep rg find sed head tail which test echo cd pwd wc tree stat file diff awk jq".split())
"""Programs that look something up: that they fail leaves nothing open."""
_NAMES_ERROR = re.compile(r"(?i)error|fatal|fail|cannot|denied|refused|not found|aborted|错误|失败|无法")
_MAX_CALLS_SINCE = 6  # calls after a failing command from which on the work has gone on without it


def list_failing_commands(transcript: Transcript, language: str) -> list[str]:
    """Return the commands that failed since the last prompt and have not passed again, the last two, with the error."""
    since = max((message.line for message in transcript.messages if is_asked(message)), default=0)
    last: dict[str, AnsweredCall] = {}
    for call in list_calls(transcript, in_context=True)[-_MAX_CALLS_SINCE:]:
        command = call.request.input.get("command")
        family = identify_command(command) if isinstance(command, str) else ""
        if family and call.result and call.request.line > since and family.split()[0] not in _SEARCHES:
            last.pop(family, None)
            last[family] = call
    ran = [to_text(call.request.input.get("command")) for call in last.values()]
    return [
        msg("{command} fails: {error}", command=f"`{family}`", error=_find_error(call.output)).translate(language)
        for n, (family, call) in enumerate(last.items(), 1)
        if call.has_failed and "<tool_use_error>" not in call.output and not is_wrapper(ran[n - 1], ran[n:])
    ][-2:]


def _find_error(output: str) -> str:
    lines = map(one_line, output[-MAX_READ_CHARACTERS:].splitlines())
    rows = [row for row in lines if row and not row.startswith("Exit code")]
    return clip(([row for row in rows if _NAMES_ERROR.search(row)] or rows or [""])[-1], 120)


def is_asked(message: TranscriptMessage) -> bool:
    """Return whether *message* asks the agent for something: a person's prompt, or another agent's of the team."""
    return bool(get_prompt(message)) or (message.origin == DELEGATED and message.in_context)


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


def count_tools(transcript: Transcript) -> Counter[str]:
    """Return how often each tool was called, and of the shell's calls each program (`git`, `pytest`)."""
    counted: Counter[str] = Counter()
    for call in (call for message in transcript.messages for call in message.calls):
        program = str(call.input.get("command", "")).split(maxsplit=1)[:1] if call.name == "Bash" else [call.name]
        counted.update(word for word in program if _PLAIN_TOOL.fullmatch(word))
    return counted


_PLAIN_TOOL = re.compile(r"[A-Za-z][\w.-]{1,30}")
