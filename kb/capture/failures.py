"""Find pitfalls: a command that failed, somebody saying why, and the same command doing better afterwards.

Only runs of commands and of MCP tools count: an edit that did not match or a file that was not there is the agent's own
stumbling. Without an explanation in the agent's words there is no pitfall.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from kb.records.model import Candidate, Evidence
from kb.sessions.prose import (
    blank_code,
    find_paths,
    is_noncommittal,
    is_question,
    make_relative,
    remove_code,
    split_pieces,
    split_sentences,
    strip_markdown,
)
from kb.sessions.transcript import AGENT, ToolCall, ToolResult, Transcript, TranscriptMessage, get_own_texts, list_calls
from kb.text.segment import clip, count_words

# Confidence of a pitfall: the command and its error are facts, that the sentence explains them is a conclusion.
EXPLAINED_CONFIDENCE = 0.6
_MAX_SENTENCE_CHARACTERS = 600  # a sentence above this many characters explains nothing

_SHELLS = frozenset({"Bash", "PowerShell"})
_EDITORS = frozenset({"Edit", "Write", "NotebookEdit"})
_READ_ONLY_PROGRAMS = frozenset(
    "cd ls cat grep rg head tail sed awk echo find sleep which pwd test true wc printf kill export".split()
)
_INTERPRETERS = frozenset("node python python3 ruby bash sh zsh deno bun php perl elixir".split())
# Words that only start another command.
_STARTERS = (["sudo"], ["time"], ["env"], ["npx"], ["uv", "run"], ["poetry", "run"], ["bundle", "exec"])
_NOT_THE_TASK = re.compile(
    r"<tool_use_error>|doesn't want to proceed|tool use was rejected|\[Request interrupted|requires approval|timed out",
    re.IGNORECASE,
)
_QUOTED_ARGUMENT = re.compile(r"\"(?:[^\"\\]|\\.)*\"?|'[^']*'?")
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=\S*$")
_ERROR_LINE = re.compile(
    r"error|exception|fail|cannot|can't|could not|couldn't|undefined|denied|refused|not found|no such|ignored"
    r"|invalid|missing"
    r"|unknown|unexpected|fatal|never match|traceback|错误|失败|异常|找不到|无法|不存在|拒绝",
    re.IGNORECASE,
)
_TALLY_WORDS = frozenset(
    "exit code error errors failure failures failed fail failing passed test tests doctest doctests total skipped "
    "unnecessary skips warning warnings excluded found in and with second seconds s ms x invalid done finished".split()
)
_LETTERS = re.compile(r"[^\W\d_]+")
_FAILURE_COUNT = re.compile(r"\b(\d{1,7}) (?:failures?|failed|failing)\b")
_CAUSE = re.compile(
    r"\b(?:root cause|the (?:real |actual |underlying )?(?:cause|problem|issue|bug|culprit|reason)(?: here)? (?:is|was)"
    r"|that(?:'s| is| was) (?:the (?:bug|problem|issue|cause|reason)|why)|turns? out|caused by)\b"
    r"|根因|根本原因|(?:问题|原因)(?:就?是|在于|出在)|这就是.{0,8}原因|原来是?",
    re.IGNORECASE,
)
_BECAUSE = re.compile(r"\b(?:because|since|due to|(?:is|are|was|were) missing)\b|因为|由于|缺少|缺失", re.IGNORECASE)
_CAUSE_ASSERTION = re.compile(
    r"^\W*(?:that(?:'s| is| was) (?:the (?:bug|problem|issue|cause|reason)|why)|这就是)", re.IGNORECASE
)
_LEAD = re.compile(
    r"^\W*(?:(?:i see|ah|ok|okay|so|now|right|great|good|found it|aha|好|明白了?|原来如此)\b[\s,.:;!—–-]*)*"
    r"(?:the (?:real |actual |underlying |root )?(?:cause|problem|issue|bug|culprit|reason)(?: here)? (?:is|was)"
    r"(?: (?:clear|simple|obvious))?(?:\s*[—–:-]+\s*| that\s+|\s+)|(?:it )?turns out (?:that )?"
    r"|root cause(?: is)?[:\s]+(?:that )?"
    r"|(?:问题|原因|根因|根本原因)(?:就?是|在于|出在)?[:：，,\s]*|原来是?[，,]?)?",
    re.IGNORECASE,
)
_OWN_SLIP_PATTERN = re.compile(
    r"\bI(?:'m| am|'ve| was| need| have| had| forgot| should| did| used)\b|\bmy (?:code|edit|change|test|mistake"
    r"|fix)\b|我(?:写错|忘了|漏)",
    re.IGNORECASE,
)
_TRIVIAL_PATTERN = re.compile(
    r"\b(?:typo|syntax error|whitespace|indentation|unused (?:variable|import|alias)|formatt(?:ed|ing)|line length"
    r"|lint(?:er|ing)?"
    r"|false positive|cyclomatic|nest(?:ed|ing) too|too (?:complex|many|long|deep))\b|拼写|缩进|空格|格式化|笔误",
    re.IGNORECASE,
)
_REMEDY = re.compile(
    r"^\W*(?:(?:I|we|you)(?:'ll)? (?:need to|must|have to|should)|(?:the )?(?:fix|solution) is|use |必须|需要|应该"
    r"|解决(?:办法|方法|方案)是|改用|改为|要)",
    re.IGNORECASE,
)


class _CommandRun(NamedTuple):
    """One run of a command."""

    family: str
    call: ToolCall
    result: ToolResult


class _FailureCause(NamedTuple):
    """What the agent said about a failure."""

    message: TranscriptMessage
    quote: str
    title: str
    remedy: str
    outright: bool


def find_pitfalls(transcript: Transcript) -> Iterator[tuple[int, Candidate]]:
    """Yield each pitfall with the line at which it was overcome."""
    lines = [message.line for message in transcript.messages]
    by_family: dict[str, list[_CommandRun]] = {}
    for call, result, *_ in list_calls(transcript):
        if result is None or (result.is_error and _NOT_THE_TASK.search(result.text[:2000])):
            continue
        command = call.input.get("command")
        name = identify_command(command) if call.name in _SHELLS and isinstance(command, str) else ""
        if name := name or (call.name if call.name.startswith("mcp__") else ""):
            by_family.setdefault(name, []).append(_CommandRun(name, call, result))
    for same in by_family.values():
        proof: _CommandRun | None = None
        # From the last run back: the proof is the next run that succeeded; without one nothing was overcome.
        for following, failed in pairwise([*reversed(same)]):
            proof = proof if following.result.is_error else following
            if proof is None or not failed.result.is_error or not _is_resolved(failed, following):
                continue
            first, last = bisect_right(lines, failed.result.line), bisect_left(lines, following.call.line)
            between = transcript.messages[first:last]
            if cause := _find_cause(between):
                edited = _list_edited_files([m for m in between if m.line > cause.message.line], transcript.cwd)
                yield proof.result.line, _build_candidate(transcript, failed, cause, proof, edited)


def identify_command(command: str) -> str:
    """Return what a shell *command* runs: its program with its script or subcommand, or "" for mere looking around."""
    # `cd api && npm test 2>&1 | tail -5` runs `npm test`.
    first = _QUOTED_ARGUMENT.sub(" ", command.strip()).split("\n", 1)[0]
    last = re.split(r"&&|\|\||;", first)[-1].split("|")[0]
    words = [word for word in last.split() if not word.startswith(("<", ">", "2>"))]
    while words:  # assignments and commands that only start another
        starter = next((starter for starter in _STARTERS if words[: len(starter)] == starter), [])
        skipped = len(starter) or (2 if words[0] == "timeout" else 1 if _ASSIGNMENT.match(words[0]) else 0)
        if not skipped:
            break
        words = words[skipped:]
    if not words:
        return ""
    program = words[0].replace("\\", "/").rpartition("/")[2]
    if program in _READ_ONLY_PROGRAMS or not re.match(r"[\w.@-]+$", program):
        return ""
    # `npm run build` and `npm run test` are two commands, `npm test` and `npm test --watch` are one.
    plain_words = [word for word in words[1:] if not word.startswith("-")]
    if "-c" in words[1:3] or "-e" in words[1:3]:
        return ""  # `python -c …` is another program each time
    second = plain_words[0].rpartition("/")[2] if plain_words else ""
    if program in _INTERPRETERS:
        return f"{program} {second}".strip()
    if second == "run" and len(plain_words) > 1:
        second = f"run {plain_words[1]}"
    return f"{program} {second}" if re.match(r"[a-z][\w:-]*(?: [\w:.-]+)?$", second) else program


def _is_resolved(failed: _CommandRun, following: _CommandRun) -> bool:
    """Return whether the next run no longer shows most of what went wrong in *failed*."""
    if not following.result.is_error:
        return True
    texts = failed.result.text, following.result.text
    # How many failures a test run counts at its end; 0: it does not say.
    failures, left = (int((_FAILURE_COUNT.findall(text[-4000:]) or [0])[-1]) for text in texts)
    if failures and left and 2 * left < failures:
        return True
    before, after = (Counter(re.sub(r"\d+", "0", row[:200]) for row in _list_error_lines(text)) for text in texts)
    return before.total() > 0 and 2 * (before & after).total() < before.total()


def _is_tally(row: str) -> bool:
    """Return whether *row* only counts: "3 tests, 1 failure" names no error."""
    return _TALLY_WORDS.issuperset(_LETTERS.findall(row[:200].lower()))


def _list_error_lines(text: str) -> list[str]:
    """Return the lines of an output that name an error."""
    rows = (row.strip() for row in text[:200_000].replace("\\n", "\n").split("\n"))
    return [row for row in rows if _ERROR_LINE.search(row) and not _is_tally(row)]


def _find_cause(messages: tuple[TranscriptMessage, ...]) -> _FailureCause | None:
    """Return the last explanation in *messages*; one that names the cause outright wins over a "because"."""
    found = [
        cause
        for message in messages
        if message.origin == AGENT
        for text in get_own_texts(message)
        for piece in split_pieces(text)
        if piece.what in ("prose", "item")
        for cause in _iter_explanations(message, piece.text)
    ]
    outright = [cause for cause in found if cause.outright]
    return outright[-1] if outright else found[-1] if found else None


def _iter_explanations(message: TranscriptMessage, text: str) -> Iterator[_FailureCause]:
    rows = list(split_sentences(text))
    for number, row in enumerate(rows):
        if len(row) > _MAX_SENTENCE_CHARACTERS:
            continue
        masked = blank_code(row)
        outright = bool(_CAUSE.search(masked))
        if not (outright or _BECAUSE.search(masked)) or is_noncommittal(row) or _TRIVIAL_PATTERN.search(masked):
            continue
        # “That is the reason” / “这就是原因” explains by the sentence before it.
        subject = rows[number - 1] if number and _CAUSE_ASSERTION.match(masked) else row
        if (
            is_noncommittal(subject)
            or _OWN_SLIP_PATTERN.search(blank_code(subject))
            or _TRIVIAL_PATTERN.search(blank_code(subject))
        ):
            continue
        quote = row if subject is row else text[text.find(subject) : text.find(row) + len(row)]
        lead = _LEAD.match(blank_code(subject)) if not subject.startswith("`") else None
        title = strip_markdown(subject[lead.end() :] if lead else subject)
        if count_words(remove_code(title)) < 4 or count_words(title) < 6:
            continue
        behind = rows[number + 1] if number + 1 < len(rows) else ""
        is_remedy = _REMEDY.match(behind) and count_words(behind) >= 6 and not is_question(behind)
        yield _FailureCause(message, quote, title, behind if is_remedy else "", outright)


def _build_candidate(
    transcript: Transcript, failed: _CommandRun, cause: _FailureCause, proof: _CommandRun, edited: tuple[str, ...]
) -> Candidate:
    source, cwd = transcript.session_id, transcript.cwd
    command, proven = _format_command(failed, cwd), _format_command(proof, cwd)
    output = failed.result.text
    rows = [row for row in output[:200_000].split("\n") if row.strip() and not _is_tally(row)]
    error = clip((_list_error_lines(output) or rows or [""])[0], 200)
    observed = f"`{command or failed.family}`: {error}".rstrip(": ")
    remedy = [cause.remedy] if cause.remedy else []
    quotes = (cause.quote, *remedy)
    return Candidate(
        kind="pitfall",
        title=clip(cause.title[:1].upper() + cause.title[1:], 120),
        decision="\n".join([observed, *remedy]),
        why=strip_markdown(cause.quote),
        impact=tuple(dict.fromkeys([*find_paths(command, cwd), *edited]))[:5],
        verification=f"`{proven}`" if proven else "",
        confidence=EXPLAINED_CONFIDENCE,
        evidence=tuple(Evidence(quote, source, cause.message.line, cause.message.time) for quote in quotes),
        session=source,
    )


def _format_command(run: _CommandRun, cwd: str) -> str:
    """Return the command of *run* as one types it in *cwd*, or "" where it is too long to be read as an example."""
    command = str(run.call.input.get("command", "")).strip()
    if cwd:
        command = command.replace(f"cd {cwd} && ", "").replace(cwd.rstrip("/") + "/", "")
    command = re.sub(r"(?<!\s)\s*+2>&1\s*+$", "", command)
    return command if len(command) <= 160 and "\n" not in command and "`" not in command else ""


def _list_edited_files(messages: Iterable[TranscriptMessage], cwd: str) -> tuple[str, ...]:
    """Return the files below *cwd* that were edited in *messages*, relative to it."""
    calls = [call.input for message in messages for call in message.calls if call.name in _EDITORS]
    given = (call.get("file_path") or call.get("notebook_path") for call in calls)
    found = (make_relative(path, cwd) for path in given if isinstance(path, str))
    return tuple(dict.fromkeys(path for path in found if path and not path.startswith("/")))
