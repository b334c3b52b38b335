"""Find pitfalls: a command that failed, what was done about it, and the same command succeeding afterwards.

Only commands and MCP tools count: an edit that did not match or a missing file is the agent's own slip. A failure
followed by a success is proof of itself. If the agent states the cause before or right after, the pitfall has a cause;
otherwise the fix must be something other than the agent's own work of this session: another command, another form of
the same command, or an edit of a file that the session had not written.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from kb.capture.reports import FailureCause, Remedy, find_cause, find_remedy, list_closing_messages
from kb.i18n import Message, msg
from kb.records.kinds import SIGNATURE
from kb.records.model import Candidate, Evidence
from kb.sessions.transcript import (
    AnsweredCall,
    ToolCall,
    ToolResult,
    Transcript,
    list_calls,
)
from kb.similarity.failure_signatures import (
    SHELLS,
    compute_signature,
    identify_command,
    is_same_failure,
    iter_error_lines,
    strip_location,
)
from kb.text.mentions import find_paths, make_relative, strip_markdown
from kb.text.segment import clip, count_words

MAX_PITFALLS = 3
"""At most so many pitfalls per session, the first ones: a session that keeps failing says little with each."""
# Confidence: the command and its error are facts; that the sentence explains them is a conclusion.
EXPLAINED_CONFIDENCE = 0.6
UNEXPLAINED_CONFIDENCE = 0.4  # below `kb.writing.gate.SURE`: words in an error message are no reason to keep it

_EDITORS = frozenset({"Edit", "Write", "NotebookEdit"})
_MAX_CURE_FILES = 3
"""More edited files than this are the session's task, not a fix."""
_MAX_ADDED_LINES, _MAX_ADDED_CHARACTERS = 2, 90
"""An edit of at most so many lines, of at most so many characters each, is quoted as the fix."""
_MAX_CURE_CHARACTERS = 120
"""Longest command that is shown as a fix."""
_MAX_CURE_DISTANCE = 5
"""Only commands among so many calls before the successful run count as a fix."""
_CHANGING = re.compile(
    r"(?!git add\b)(?:sudo |env |npx |uv run |poetry run |\w+=\S+ )*(?:rm|mv|cp|mkdir|chmod|chown|ln|kill|pkill|source"
    r"|export|unset|touch|launchctl|(?:[\w./@-]+ (?:-\S+ )*)(?:run |exec )?(?:\S*(?:install|setup|migrate|update"
    r"|upgrade|fetch|clean|reset)\S*|add|ci|init|pull|sync|up|start|restart|stop|down|login|auth|config|set|unset"
    r"|enable|disable|use|prune|unlock|link|download|restore|bundle|tidy|allow|trust|create|delete|remove|checkout"
    r"|switch|submodule|vendor|get|apply|load|pair))(?![\w-])",
)
"""Commands that change the environment: `pip install pika`, `go mod tidy`, `git pull --rebase`, `rm -f x.lock`."""
_MAKING = re.compile(r"(?:[\w./@-]+ )+(?:run |exec )?\S*(?:generate|build|compile|format|fmt)\S*(?![\w-])")
"""Commands that build something from the sources: after an edit they are part of checking it."""
_SCRATCH = re.compile(r"/tmp\b|\bmktemp\b")
"""Commands that try something outside the project."""
_MAX_CURE_COMMANDS = 3
"""At most so many commands of a fix are named, the last ones."""
_MAX_TITLE_COMMAND, _MAX_TITLE_ERROR = 60, 90
"""Longest command and longest error message in a title."""
_ERROR_LEAD = re.compile(
    r"^[\s*!✖✗×>-]*(?:E {2,})?(?:Exit code \d+\s+)?(?:(?:npm )?(?:error|err!|fatal|错误)\b(?:\[\w+\])?\s*[:：!]?\s*)*",
    re.IGNORECASE,
)
_MISUSE = re.compile(
    r"\b(?:unknown|unrecogni[sz]ed|invalid|illegal|unexpected|ambiguous|usage:|no such|not found|cannot find|not exist"
    r"|could not (?:resolve|find|read)|cannot (?:open|access|stat)|not a (?:git|valid|directory)|required"
    r"|expected one of|did not match|overwritten)\b|未知|无效|找不到|不存在",
    re.IGNORECASE,
)
"""Messages of tools called in the wrong way or in the wrong folder."""
_COMMAND_WORD = re.compile(r"[\w.@=:-]+")
_QUOTED = re.compile(r"\"(?:[^\"\\]|\\.)*\"?|'[^']*'?")
_REDIRECT = re.compile(r"(?<!\s)\s*+(?:\d?>&\d|&?\d?>>?\s*+\S++)")
_NOT_THE_TASK = re.compile(
    r"<tool_use_error>|doesn't want to proceed|tool use was rejected|\[Request interrupted|requires approval|timed out",
    re.IGNORECASE,
)
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


class _CommandRun(NamedTuple):
    """One run of a command."""

    family: str
    number: int
    """Its position among all calls of the session."""
    call: ToolCall
    result: ToolResult

    @property
    def command(self) -> str:
        """The command line."""
        return str(self.call.input.get("command", ""))

    @property
    def is_proof(self) -> bool:
        """Whether it certainly succeeded: the exit code of `npm test | tail` is that of `tail`."""
        if self.result.is_error:
            return False
        return "|" not in _QUOTED.sub("", self.command) or not any(iter_error_lines(self.result.text))


class _OvercomeFailure(NamedTuple):
    """A failed run, the next run, which no longer shows the failure, and the run that passed."""

    failed: _CommandRun
    following: _CommandRun
    proof: _CommandRun
    first: int
    """Number of the call at which this failure first occurred."""


class _Cure(NamedTuple):
    """What was done between a failure and the run that no longer showed it."""

    commands: tuple[str, ...] = ()
    """Other commands that succeeded and changed something."""
    files: tuple[str, ...] = ()
    """Edited files, relative to the folder of the session."""
    is_own_work: bool = False
    """Whether only files were edited that the session had written before or that the error names."""
    instead: str = ""
    """The form of the command that passed, if nothing else changed."""
    added: tuple[str, ...] = ()
    """The lines added to the only edited file, if they are few and short."""


def find_pitfalls(transcript: Transcript, language: str = "en") -> Iterator[tuple[int, Candidate]]:
    """Yield the first MAX_PITFALLS pitfalls, each with the line at which it was overcome, in order.

    *language* ("en" or "zh") is that of the words around the quoted output.
    """
    calls, lines = list_calls(transcript), [message.line for message in transcript.messages]
    found: list[tuple[int, Candidate]] = []
    for overcome in _iter_overcome(_group_runs(calls)):
        first = bisect_right(lines, overcome.failed.result.line)
        between = transcript.messages[first : bisect_left(lines, overcome.following.call.line)]
        closing = list_closing_messages(transcript, bisect_left(lines, overcome.proof.result.line))
        cause = find_cause(between) or find_cause(closing)
        signature = _compute_own_signature(overcome)
        cure = _find_cure(calls, overcome, signature, transcript.cwd)
        if cause or (signature and _is_cure(cure)):
            remedy = find_remedy(closing)
            candidate = _build_candidate(transcript, overcome, cause, cure, signature, language, remedy)
            found.append((overcome.proof.result.line, candidate))
    yield from sorted(found, key=lambda one: one[0])[:MAX_PITFALLS]


def list_unsolved(transcript: Transcript) -> list[tuple[str, ...]]:
    """Return the signatures of failed commands that did not succeed later in the session, without duplicates."""
    found: list[tuple[str, ...]] = []
    for runs in _group_runs(list_calls(transcript)):
        passed = max((run.number for run in runs if run.is_proof), default=-1)
        found += [compute_signature(r.family, r.result.text) for r in runs if r.result.is_error and r.number > passed]
    return [signature for signature in dict.fromkeys(found) if signature]


def _group_runs(calls: Sequence[AnsweredCall]) -> list[list[_CommandRun]]:
    """Return the runs of each command family, in order."""
    by_family: dict[str, list[_CommandRun]] = {}
    for number, (call, result, *_) in enumerate(calls):
        if result is None or (result.is_error and _NOT_THE_TASK.search(result.text[:2000])):
            continue
        command = call.input.get("command")
        name = identify_command(command) if call.name in SHELLS and isinstance(command, str) else ""
        if name := name or (call.name if call.name.startswith("mcp__") else ""):
            # `python -c …` is a new program each time: only the same code shows that a failure is gone
            run = str(command) if name.endswith((" -c", " -e")) else name
            by_family.setdefault(run, []).append(_CommandRun(name, number, call, result))
    return list(by_family.values())


def _iter_overcome(families: Iterable[list[_CommandRun]]) -> Iterator[_OvercomeFailure]:
    for runs in families:
        proof: _CommandRun | None = None
        # Backwards from the last run: the proof is the next successful run; without one, nothing was overcome.
        for at, (following, failed) in enumerate(pairwise([*reversed(runs)]), 2):
            proof = following if following.is_proof else proof
            if proof is None or not failed.result.is_error or not _is_resolved(failed, following):
                continue
            first, signature = failed, compute_signature(failed.family, failed.result.text)
            for earlier in reversed(runs[: len(runs) - at]):  # earlier attempts with the same failure
                known = compute_signature(earlier.family, earlier.result.text)
                is_same = is_same_failure(signature, known) or _repeats_error(first, earlier)
                if not earlier.result.is_error or not is_same:
                    break
                first = earlier
                if not signature and known:  # the first output said more
                    failed, signature = earlier, known
            yield _OvercomeFailure(failed, following, proof, first.number)


def _repeats_error(run: _CommandRun, earlier: _CommandRun) -> bool:
    """Return whether each error line of *run* is part of an error line of the *earlier* run.

    "FATAL: sorry, too many clients already" may be the end of a longer message of the driver: nothing was resolved.
    """
    mine, theirs = ([" ".join(row.split()) for row in _list_error_lines(one.result.text)] for one in (run, earlier))
    mine = [row for row in mine if count_words(row) > 2]
    return bool(mine) and all(any(row in their for their in theirs) for row in mine)


def _compute_own_signature(overcome: _OvercomeFailure) -> tuple[str, ...]:
    """Return the signature of the failure without lines that the successful run prints as well."""
    also = {line for line, _ in iter_error_lines(overcome.proof.result.text)}
    family, *lines = compute_signature(overcome.failed.family, overcome.failed.result.text) or ("",)
    own = tuple(line for line in lines if line not in also)
    return (family, *own) if own else ()


def _find_cure(
    calls: Sequence[AnsweredCall], overcome: _OvercomeFailure, signature: tuple[str, ...], cwd: str
) -> _Cure:
    """Return what was done between the failed run and the next, which no longer shows the failure."""
    failed, following = overcome.failed, overcome.following
    edited = list_edited_files(calls[failed.number + 1 : following.number], cwd)
    commands, given = [], _split_command(failed.command)
    for each in calls[max(failed.number, following.number - _MAX_CURE_DISTANCE) + 1 : following.number + 1]:
        command = each.request.input.get("command")
        if not isinstance(command, str) or each.request.name not in SHELLS or each.result is None or each.is_error:
            continue
        if not _SCRATCH.search(command):
            parts = (part for part in _split_command(command) if part not in given)
            commands += [part for part in parts if _is_changing(part, has_edits=bool(edited))]
    commands = [one for one in dict.fromkeys(commands) if identify_command(one) != failed.family]
    before = list_edited_files(calls[: failed.number], cwd)
    typed, passed = _format_command(failed, cwd), _format_command(following, cwd)
    is_other = not commands and not edited and passed != typed and _MISUSE.search(" ".join(signature[1:]))
    instead = passed if is_other and following.is_proof and _is_wording_alike(typed, passed) else ""
    # An error located in the file that was then edited is a bug in that code, not in its environment.
    located = any(f"{path.rpartition('/')[2]}:" in failed.result.text for path in edited)
    is_own_work = located or set(edited) <= set(before)
    added = _list_added_lines(calls[failed.number + 1 : following.number]) if len(edited) == 1 else ()
    return _Cure(tuple(commands), edited, is_own_work=is_own_work, instead=instead, added=added)


def _list_added_lines(calls: Iterable[AnsweredCall]) -> tuple[str, ...]:
    """Return the lines that edits among *calls* add, in order; () if there are too many or one is too long."""
    found: dict[str, None] = {}
    for call in calls:
        given = call.request.input
        old, new = given.get("old_string"), given.get("new_string")
        if call.request.name not in _EDITORS or call.is_error:
            continue
        if not isinstance(old, str) or not isinstance(new, str):
            return ()  # a whole file was written
        had = {row.strip() for row in old.split("\n")}
        found |= dict.fromkeys(row.strip() for row in new.split("\n") if row.strip() and row.strip() not in had)
    is_quotable = len(found) <= _MAX_ADDED_LINES and all(len(row) <= _MAX_ADDED_CHARACTERS for row in found)
    return tuple(found) if is_quotable and not any("`" in row for row in found) else ()


def _is_wording_alike(one: str, other: str) -> bool:
    """Return whether two commands share most of their words, so that they have the same purpose."""
    words, others = (set(_COMMAND_WORD.findall(command)) - {"cd"} for command in (one, other))
    return 2 * len(words & others) >= max(len(words), len(others)) > 0


def _is_cure(cure: _Cure) -> bool:
    """Return whether *cure* alone says what helped, without an explanation by the agent."""
    is_foreign_edit = bool(cure.files) and not cure.is_own_work and len(cure.files) <= _MAX_CURE_FILES
    return bool(cure.commands or cure.instead) or is_foreign_edit


def _split_command(command: str) -> list[str]:
    """Return the commands of the first line, without pipes and redirections."""
    row = command.strip().split("\n", 1)[0]
    return [_REDIRECT.sub("", part.split(" | ")[0]).strip() for part in re.split(r"&&|\|\||;", row) if part.strip()]


def _is_changing(command: str, *, has_edits: bool) -> bool:
    """Return whether *command* changes the environment: installs, fetches, removes or starts something."""
    if len(command) > _MAX_CURE_CHARACTERS or "`" in command:
        return False
    return bool(_CHANGING.match(command)) or (not has_edits and bool(_MAKING.match(command)))


def _is_resolved(failed: _CommandRun, following: _CommandRun) -> bool:
    """Return whether the next run no longer shows most of the errors of *failed*."""
    if not following.result.is_error:
        return True
    if _repeats_error(following, failed):
        return False
    texts = failed.result.text, following.result.text
    # The number of failures that a test run reports at its end; 0: it does not say.
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


def _build_candidate(
    transcript: Transcript,
    overcome: _OvercomeFailure,
    cause: FailureCause | None,
    cure: _Cure,
    signature: tuple[str, ...],
    language: str,
    remedy: Remedy | None,
) -> Candidate:
    source, cwd, failed = transcript.session_id, transcript.cwd, overcome.failed
    command, proven = _format_command(failed, cwd), _format_command(overcome.proof, cwd)
    error = _find_shown_error(failed.result.text, signature)
    observed = f"`{command or failed.family}`: {clip(error, 200)}".rstrip(": ")
    quotes = [one for one in (cause.quote, cause.remedy) if one] if cause else []
    evidence = [Evidence(quote, source, cause.message.line, cause.message.time) for quote in quotes] if cause else []
    if remedy and remedy.quote not in quotes:
        evidence.append(Evidence(remedy.quote, source, remedy.message.line, remedy.message.time))
    if not cause and error in failed.result.text:
        evidence.append(Evidence(error, source, failed.result.line))
    # The cost is recorded only for failures that others may meet and whose fix is known.
    is_explained = bool(remedy or (cause and cause.outright)) and _is_cure(cure)
    is_met_by_others = bool(signature) and bool(cure.commands or cure.instead or is_explained)
    spent = overcome.following.number - overcome.first if is_met_by_others else None
    outcome = msg("{command} passes", command=f"`{proven or overcome.proof.family}`").translate(language)
    done = _describe_cure(cure).translate(language)
    solution = cause.remedy if cause and cause.remedy else done
    if remedy:  # the agent's explanation comes before what was done: `first_sentence` reads only one
        solution = "\n\n".join(dict.fromkeys(filter(None, (strip_markdown(remedy.quote), done))))
    # "Error: Cannot find module 'x'" is shown as "Cannot find module 'x'".
    said = _ERROR_LEAD.sub("", strip_location(error)) or error
    typed = f"`{command if command and len(command) <= _MAX_TITLE_COMMAND else failed.family}`"
    title = msg("{command} fails: {error}", command=typed, error=clip(said, _MAX_TITLE_ERROR)).translate(language)
    if cause and not signature:  # the output has no specific error: the cause says more
        title = clip(cause.title[:1].upper() + cause.title[1:], 120)
    return Candidate(
        kind="pitfall",
        title=title,
        decision=observed,
        why=strip_markdown(cause.quote) if cause else "",
        impact=tuple(dict.fromkeys([*find_paths(command, cwd), *cure.files]))[:5],
        verification=f"`{proven}`" if proven else "",
        sections={"solution": solution, "outcome": outcome} if solution else {"outcome": outcome},
        fields={SIGNATURE: signature} if signature else {},
        confidence=EXPLAINED_CONFIDENCE if cause else UNEXPLAINED_CONFIDENCE,
        cost=spent,
        evidence=tuple(evidence),
        session=source,
    )


def _find_shown_error(output: str, signature: tuple[str, ...]) -> str:
    """Return the line of *output* to show: the first of the signature, else the first that names an error."""
    for line, written in iter_error_lines(output):
        if line in signature[1:]:
            return written
    rows = [row for row in output[:200_000].split("\n") if row.strip() and not _is_tally(row)]
    return clip((_list_error_lines(output) or rows or [""])[0], 200)


def _describe_cure(cure: _Cure) -> Message:
    """Return what helped, as a sentence: the commands, else the files, else the command that passed."""
    if cure.commands:
        return msg("Run {commands}.", commands=[f"`{one}`" for one in cure.commands[-_MAX_CURE_COMMANDS:]])
    if cure.files and not cure.is_own_work and cure.added:
        lines = ", ".join(f"`{one}`" for one in cure.added)
        return msg("In {files}: {lines}.", files=f"`{cure.files[0]}`", lines=lines)
    if cure.files and not cure.is_own_work:
        return msg("Edit {files}.", files=[f"`{one}`" for one in cure.files[:_MAX_CURE_FILES]])
    return msg("Run {commands} instead.", commands=f"`{cure.instead}`") if cure.instead else msg("")


def _format_command(run: _CommandRun, cwd: str) -> str:
    """Return the command of *run* as typed in *cwd*, or "" if it is too long for an example."""
    command = str(run.call.input.get("command", "")).strip()
    if cwd:
        command = command.replace(f"cd {cwd} && ", "").replace(cwd.rstrip("/") + "/", "")
    command = re.sub(r"(?<!\s)\s*+2>&1\s*+$", "", command)
    return command if len(command) <= 160 and "\n" not in command and "`" not in command else ""


def list_edited_files(calls: Iterable[AnsweredCall], cwd: str) -> tuple[str, ...]:
    """Return the files below *cwd* that *calls* edited, relative to it."""
    given = (call.request.path for call in calls if call.request.name in _EDITORS and not call.is_error)
    found = (make_relative(path, cwd) for path in given if path)
    return tuple(dict.fromkeys(path for path in found if path and not path.startswith("/")))
