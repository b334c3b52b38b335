"""Read what a session's own trackers say: lists of tasks, commits, issues and pull requests, files not committed."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from kb.sessions.transcript import AnsweredCall, Transcript, list_calls
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
    commits = pushes = 0
    is_offered = is_merged = False
    for one in list_calls(transcript):
        command = _get_text(one.request.input, "command")
        if one.is_error:
            continue
        if one.request.name in _EDITORS and one.request.path:
            path = make_relative(one.request.path, transcript.cwd)
            edited.pop(path, None)  # what was edited last stands last
            edited[path] = None
        elif _SETTLES.search(command):
            edited.clear()
            commits += "git commit" in command
        if _PUSHES.search(command):
            commits, pushes = 0, pushes + 1
            is_merged = bool(_MERGES.search(command))
            is_offered = bool(_OFFERED.search(one.output)) and not _REQUESTS.search(command)
    files = [path for path in edited if not path.startswith("/")]
    more = f" … +{len(files) - 4}" if len(files) > 4 else ""
    return GitState(
        ", ".join(files[-4:]) + more, commits > 0, bool(pushes) and not (commits or files or is_merged), is_offered
    )


def _get_text(given: Mapping[str, Any], *keys: str) -> str:
    """Return the first of the values of *keys* that is a text and not empty, or ""."""
    return next((value for key in keys if isinstance(value := given.get(key), str) and value), "")
