"""Is a command that fails as it failed before answered with the right cure, and no other failure with a wrong one?

    python -m bench.need --sessions FOLDER… [--logs CLONE] [--half dev|held|all] [--show]

*Sessions*: folders of transcripts, each of one project, one file a session. They are played in the order of time. What
a session overcame is known in the next ones; each of their failing commands is looked up. Right is a cure whose
commands, or whose command in its other wording, the session itself then used; wrong is any other.

*Logs*: a clone of the repository of LogChunks (Brandt et al., MSR 2020): failing builds of 80 projects, in which people
have marked the part that says why. The output of the command that failed is looked up among those of the same project
before it. It is the same failure where the marked parts are alike (ratio of their lines or letters .8), another where
they are not (below .5); between, it is counted as unclear. Here nobody knows a cure: the question is whether the one of
the earlier failure would be told.

Arms: kb; "naive", the command and its first line with an error word; "exact", the whole output but for its digits.
Projects and sessions are split by a checksum of their name into a half for development and one that is held out.

Falsifier: kb does not help at failures if it tells the cure of another one at more than 1 in 50 of those it speaks at,
or names the right one at fewer than 90 % of the failures that come back and have a line of their own.
"""

from __future__ import annotations

import argparse
import difflib
import html
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import md5
from pathlib import Path
from typing import NamedTuple

from bench.shares import wilson_interval
from kb.capture.failures import find_pitfalls
from kb.records.kinds import SIGNATURE
from kb.sessions.transcript import Transcript, list_calls, parse_transcript
from kb.similarity.failure_signatures import (
    GENERIC_FROM,
    SHELLS,
    compute_signature,
    identify_command,
    is_same_failure,
    iter_error_lines,
    list_shared_lines,
)
from kb.state.failed_calls import count_signatures

MAX_OUTPUT = 30_000
"""Characters of an output that a host hands over: half from its beginning, half from its end."""
ALIKE, UNLIKE = 0.8, 0.5
ANSI = re.compile(r"\x1b\[[0-9;]*[A-Za-z]|\[[0-9;]*m|travis_(?:fold|time):\S*")
FAILED = re.compile(r'^The command "(.*?)"(?: failed and)? exited with [1-9]\d*', re.MULTILINE | re.DOTALL)
WORD = re.compile(r"(?i)error|fail|exception|cannot|not found|denied|fatal")
COMMAND = re.compile(r"`([^`\n]+)`")

Signature = tuple[str, ...]
Sign = Callable[[str, str], Signature]
Match = Callable[[Signature, Signature, Iterable[str]], bool]


class Arm(NamedTuple):
    """One way of recognising a failure."""

    name: str
    sign: Sign
    is_same: Match


class Failure(NamedTuple):
    """A failing command."""

    family: str
    output: str
    reason: str
    """What people marked in it, or what overcame it."""


def sign_naive(family: str, output: str) -> Signature:
    """Return the family and the first line with a word of an error."""
    line = next((row.strip() for row in output.split("\n") if WORD.search(row)), "")
    return (family, re.sub(r"\d+", "0", line)) if line else ()


def sign_exact(family: str, output: str) -> Signature:
    """Return the family and the whole output."""
    return (family, re.sub(r"\d+", "0", output))


def is_equal(one: Signature, other: Signature, generic: Iterable[str] = ()) -> bool:
    """Return whether two signatures are the same."""
    return bool(one) and one == other


ARMS = (
    Arm("kb", compute_signature, lambda one, other, generic: is_same_failure(one, other, tuple(generic))),
    Arm("naive", sign_naive, is_equal),
    Arm("exact", sign_exact, is_equal),
)


def choose(arm: Arm, known: Sequence[Signature], seen: Signature) -> int | None:
    """Return the number of the *known* failure that *seen* is taken for; None for none."""
    counts = count_signatures(seen[1:], known)
    generic = {line for line, count in counts.items() if count >= GENERIC_FROM} if arm.name == "kb" else set()
    found = [
        (len(list_shared_lines(one, seen, generic)), -n)
        for n, one in enumerate(known)
        if arm.is_same(one, seen, generic)
    ]
    return -max(found)[1] if found else None


# -- build logs that people have labelled ------------------------------------------------------------


def read_projects(clone: Path, half: str) -> Iterator[tuple[str, list[Failure]]]:
    """Yield the projects of LogChunks with their failing commands, in order."""
    for path in sorted((clone / "tool/example-sets/BuildFailureReason").glob("*/*.xml")):
        if not is_in_half(path.name, half):
            continue
        text, found = path.read_text("utf-8", "replace"), []
        for example in re.findall(r"<ExampleDataOfString>(.*?)</ExampleDataOfString>", text, re.DOTALL):
            name = re.search(r"<InputPath>(.*?)</InputPath>", example)
            marked = re.search(r"<Output>(.*?)</Output>", example, re.DOTALL)
            log = clone / "tool/samples" / html.unescape(name[1]) if name else None
            failure = find_failing_command(log.read_text("utf-8", "replace")) if log and log.exists() else None
            if marked and failure:
                found.append(failure._replace(reason=ANSI.sub("", html.unescape(marked[1]))))
        yield path.stem, found


def find_failing_command(log: str) -> Failure | None:
    """Return the command that failed in the *log* of a build, with its output; None where the log does not say."""
    text = ANSI.sub("", log.replace("\r\n", "\n").replace("\r", "\n"))
    for match in FAILED.finditer(text):
        first = match[1].strip().split("\n")[0][:60]
        start = text.rfind("$ " + first, 0, match.start())
        if start >= 0:
            family = identify_command(match[1]) or match[1].split()[0]
            return Failure(family, cut_output(text[start + 2 + len(first) : match.start()]), "")
    return None


def cut_output(text: str) -> str:
    """Return *text* as a host hands it over."""
    half = MAX_OUTPUT // 2
    return text if len(text) <= 2 * half else f"{text[:half]}\n{text[-half:]}"


def compare_reasons(one: str, other: str) -> bool | None:
    """Return whether two marked parts say the same; None where that is unclear."""
    rows = [
        [re.sub(r"\d+", "0", row.strip().lower()) for row in text.split("\n") if row.strip()] for text in (one, other)
    ]
    if not all(rows):
        return None
    ratio = difflib.SequenceMatcher(None, *rows, autojunk=False).ratio()
    if ratio < ALIKE:
        letters = [" ".join(each)[:3000] for each in rows]
        ratio = max(ratio, difflib.SequenceMatcher(None, *letters, autojunk=False).ratio())
    return True if ratio >= ALIKE else False if ratio < UNLIKE else None


def list_passing_lines(failure: Failure, others: Iterable[Failure]) -> set[str]:
    """Return the error lines that the same command prints where this failure is not: in logs marked for another one.

    They stand for the run that passed, which a session has and a failing build has not: its lines are no part of the
    signature of what failed. What is marked in those logs is left out.
    """
    found: set[str] = set()
    for other in others:
        if other.family == failure.family and compare_reasons(failure.reason, other.reason) is False:
            marked = {line for line, _ in iter_error_lines(other.reason)}
            found |= {line for line, _ in iter_error_lines(other.output)} - marked
    return found


def replay_logs(
    projects: Sequence[tuple[str, list[Failure]]], arm: Arm, *, proved: bool = False, show: bool = False
) -> Counter[str]:
    """Return how often *arm* names the same failure of a project, another, and none where there is one.

    *proved*: what is known of a failure is known from a run that passed as well; see `list_passing_lines`.
    """
    counts: Counter[str] = Counter()
    for name, failures in projects:
        known: list[tuple[Signature, Failure]] = []
        for failure in failures:
            counts["failures"] += 1
            seen = arm.sign(failure.family, failure.output)
            if not seen:
                continue
            counts["signed"] += 1
            same = [compare_reasons(before.reason, failure.reason) for _, before in known]
            counts["recurring"] += True in same
            with_line = [n for n, (one, _) in enumerate(known) if same[n] and set(one[1:]) & set(seen[1:])]
            counts["with line"] += bool(with_line)
            at = choose(arm, [one for one, _ in known], seen)
            if at is not None:
                verdict = "right" if same[at] else "unclear" if same[at] is None else "wrong"
                counts[verdict] += 1
                counts["right with line"] += verdict == "right" and bool(with_line)
                if show and verdict == "wrong":
                    print(f"wrong: {name}: {list_shared_lines(known[at][0], seen)}")
                if verdict == "right":
                    continue  # it is one more sighting of what is known
            elif show and with_line:
                print(f"missed: {name}: {known[with_line[0]][0]} {seen}")
            passing = list_passing_lines(failure, failures) if proved else set()
            if own := [line for line in seen[1:] if line not in passing]:
                known.append(((seen[0], *own), failure))
    return counts


# -- sessions ----------------------------------------------------------------------------------------


def read_sessions(folder: Path, half: str) -> list[Transcript]:
    """Return the sessions in *folder*, in the order of time."""
    paths = [path for path in folder.glob("*.jsonl") if is_in_half(path.name, half)]
    return sorted((parse_transcript(path.read_bytes()) for path in paths), key=lambda one: one.started)


def replay_sessions(sessions: Sequence[Transcript], *, show: bool = False) -> Counter[str]:
    """Return how often a failing command is answered, and whether the session then did what the cure says."""
    counts: Counter[str] = Counter()
    known: list[tuple[Signature, str]] = []
    for session in sessions:
        calls = list_calls(session)
        own = [(one.fields.get(SIGNATURE, ()), one.sections.get("solution", "")) for _, one in find_pitfalls(session)]
        told: set[int] = set()
        counts["sessions"] += 1
        counts["overcome"] += len(own)
        for number, call in enumerate(calls):
            command = call.request.input.get("command")
            if call.request.name not in SHELLS or not isinstance(command, str):
                continue
            counts["commands"] += 1
            if not call.has_failed:
                continue
            counts["failures"] += 1
            seen = compute_signature(identify_command(command), call.output)
            counts["signed"] += bool(seen)
            counts["recurring"] += bool(seen) and any(is_same_failure(one, seen) for one, _ in known)
            at = choose(ARMS[0], [one for one, _ in known], seen) if seen else None
            if at is None or at in told:
                continue
            told.add(at)
            later = [str(each.request.input.get("command", "")) for each in calls[number + 1 :]]
            options = {word for text in COMMAND.findall(known[at][1]) for word in text.split()[1:] if word[0] == "-"}
            used = any(text in each for text in COMMAND.findall(known[at][1]) for each in later)
            verdict = "right" if used or any(options & {*each.split()} for each in later) else "wrong"
            counts[verdict] += 1
            if show:
                print(f"{verdict}: {command[:80]!r} → {known[at][1]}")
        known += [(signature, cure) for signature, cure in own if signature and cure]
    return counts


# -- figures -----------------------------------------------------------------------------------------


def is_in_half(name: str, half: str) -> bool:
    """Return whether *name* belongs to that *half*: dev, held or all."""
    return half == "all" or int(md5(name.encode()).hexdigest(), 16) % 2 == (half == "held")


def format_share(part: int, whole: int) -> str:
    """Return a share with its 95 % interval (Wilson)."""
    if not whole:
        return "– (0)"
    low, high = wilson_interval(part, whole)
    return f"{part / whole:.0%} ({part}/{whole}, {low:.0%}–{high:.0%})"


def print_log_figures(name: str, counts: Counter[str]) -> None:
    """Print what an arm does on build logs."""
    spoken = counts["right"] + counts["wrong"]
    print(f"logs, {name}: {counts['failures']} failures, {counts['signed']} with a line of their own")
    print(f"  right cure where one comes back: {format_share(counts['right'], counts['recurring'])}")
    print(f"  … and has a line of its own: {format_share(counts['right with line'], counts['with line'])}")
    print(f"  wrong cure where it speaks: {format_share(counts['wrong'], spoken)}; unclear {counts['unclear']}")


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessions", nargs="*", type=Path, default=[])
    parser.add_argument("--logs", type=Path)
    parser.add_argument("--half", choices=("dev", "held", "all"), default="all")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    data = Path(os.environ.get("KB_BENCH_DATA", "")) / "failures"
    logs = given.logs or (data / "logchunks" if (data / "logchunks").is_dir() else None)
    if logs:
        projects = list(read_projects(logs, given.half))
        for arm, proved in ((ARMS[0], True), *((arm, False) for arm in ARMS)):
            counts = replay_logs(projects, arm, proved=proved, show=given.show and proved)
            print_log_figures(arm.name + ", proved" * proved, counts)
    for folder in given.sessions or [path for path in [data / "sessions"] if path.is_dir()]:
        counts = replay_sessions(read_sessions(folder, given.half), show=given.show)
        spoken = counts["right"] + counts["wrong"]
        print(
            f"sessions, {folder.name}: {counts['sessions']} sessions, {counts['commands']} commands,"
            f" {counts['failures']} failures, {counts['signed']} with a line of their own,"
            f" {counts['overcome']} overcome;"
            f" come back {counts['recurring']}; told {spoken}, right {format_share(counts['right'], spoken)}"
        )


if __name__ == "__main__":
    main()
