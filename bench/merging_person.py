"""The person of `bench.merging`: decides what stopped a merge, overlooks nothing, and uses nothing of kb's merging.

Of two titles or statuses they take ours; lists and counts they add up; of the rest they keep what both sides say, each
line once, and where both wrote behind the same line, one behind the other.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from kb.errors import KbError
from kb.records.front_matter import edit_front_matter, find_body_start, parse_front_matter
from kb.records.record_file import MACHINE_START

REGION = re.compile(r"(?ms)^<{7}[^\n]*\n(.*?)^={7}\r?\n(.*?)^>{7}[^\n]*\n")
FACT = re.compile(r"fact\d+x")
_ROWS = re.compile(r"(?:[\w.-]+: [^\n]*\n)*")


class Decided(NamedTuple):
    """A file that a person has merged."""

    text: str
    conflicts: int
    """Pairs of sides they had to look at."""
    disputed: str
    """All that stood between markers."""
    keys: frozenset[str]
    """The keys of the front they chose a value for."""


def decided(marked: str, base: str, ours: str, theirs: str, *, by_kb: bool) -> Decided:
    """Return what becomes of a file with conflict markers; *by_kb*: they are kb's."""
    regions = REGION.findall(marked)
    disputed = "".join(one + other for one, other in regions)
    if by_kb and not is_broken(marked):
        text, keys = of_kb(marked, base)
    else:
        head, keys = merged_front(base, ours, theirs)
        text = head + "".join(
            kept(lines_merged(*(side[find_body_start(side) :] for side in (base, ours, theirs))), base)
        )
    return Decided(text, len(regions), disputed, frozenset(keys))


def is_broken(text: str) -> bool:
    """Return whether the front cannot be read."""
    try:
        return not parse_front_matter(text)
    except KbError:
        return True


def of_kb(marked: str, base: str) -> tuple[str, set[str]]:
    """Decide what kb shows: keys of the front on top of the MACHINE block, the rest where it stands."""
    begins = marked.index(MACHINE_START) + len(MACHINE_START) + 1
    head, rest = marked[:begins], marked[begins:]
    chosen: dict[str, Any] = {}
    while (match := REGION.match(rest)) and all(_ROWS.fullmatch(side) for side in match.groups()):
        chosen |= dict.fromkeys(parse_front_matter(f"---\n{match.group(2)}---\n"))
        chosen |= parse_front_matter(f"---\n{match.group(1)}---\n")
        rest = rest[match.end() :]
    whole = {
        key: {**parse_front_matter(head)[key], **value} if isinstance(value, dict) else value
        for key, value in chosen.items()
    }
    return edit_front_matter(head, whole) + "".join(kept(rest, base)), set(chosen)


def kept(marked: str, base: str) -> Iterator[str]:
    """Yield a text with both sides of every conflict."""
    at = 0
    for match in REGION.finditer(marked):
        yield marked[at : match.start()]
        yield from both(match.group(1).splitlines(keepends=True), match.group(2).splitlines(keepends=True), base)
        at = match.end()
    yield marked[at:]


def both(ours: list[str], theirs: list[str], base: str) -> list[str]:
    """Return the lines of both sides, each once."""
    if all(len(side) == 1 and side[0].startswith("# [") for side in (ours, theirs)):
        return ours
    known = {line.rstrip() for line in base.splitlines() if len(line) > 20}
    old_lines = set(base.splitlines(keepends=True))
    found = list(ours)
    for line in theirs:
        if line in found or (line.strip() and line in old_lines):  # ours has it, or has done something with it
            continue
        began = next((old for old in known if line.startswith(old) and line.rstrip() != old), None)
        at = next((n for n, mine in enumerate(found) if began and mine.startswith(began)), None)
        if at is None:
            found.append(line)
        else:
            more = [fact for fact in FACT.findall(line) if fact not in found[at]]
            found[at] = " ".join([found[at].rstrip(), *more]) + "\n"
    return found


def lines_merged(base: str, ours: str, theirs: str) -> str:
    """Return what git makes of three texts, with its markers."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in zip("OAB", (base, ours, theirs), strict=True):
            Path(folder, name).write_text(text, encoding="utf-8", newline="")
        done = subprocess.run(["git", "merge-file", "-p", "A", "O", "B"], cwd=folder, capture_output=True, check=False)
    return done.stdout.decode()


def merged_front(base: str, ours: str, theirs: str) -> tuple[str, set[str]]:
    """Return the head of *ours* with what both sides changed in its front, and the keys of which one was chosen."""
    old, mine, other = (parse_front_matter(text) for text in (base, ours, theirs))
    changes: dict[str, Any] = {}
    keys = set()
    for key in [*mine, *(key for key in other if key not in mine)]:
        before, one, two = (values.get(key) for values in (old, mine, other))
        if key == "occurrences":
            changes[key] = (one or 1) + (two or 1) - (before or 1)
        elif two in (before, one):
            continue
        elif one == before:
            changes[key] = two
        elif all(isinstance(value, list | None) for value in (before, one, two)):
            gone = [x for x in before or () if x not in (one or ()) or x not in (two or ())]
            changes[key] = [x for x in dict.fromkeys([*(one or ()), *(two or ())]) if x not in gone] or None
        elif all(isinstance(value, dict | None) for value in (before, one, two)):
            changes[key] = {**(two or {}), **(one or {})}
        else:
            keys.add(key)
    changes = {key: value for key, value in changes.items() if key != "occurrences" or value != mine.get(key, 1)}
    text = edit_front_matter(ours, changes)
    return text[: find_body_start(text)], keys
