"""Edit every decision record under KB_BENCH_DATA/adr and prove that no byte outside the edit changes.

    KB_BENCH_DATA=… python bench/codec.py

Each file is taken as it is, with CRLF, and with a byte order mark. The span that an edit may touch is found here, by
lines and bytes, not by the code under test. Prints counts; exits with 1 on any violation and 2 without data.
"""

import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from kb.errors import KbError
from kb.records.blocks import append_to_section, edit_section, replace_machine_block
from kb.records.front_matter import edit_front_matter, parse_front_matter
from kb.records.kinds import resolve_section_name
from kb.records.record_file import MACHINE_END, MACHINE_START, USER_END, USER_START, find_blocks
from kb.text.markdown_scan import find_code_lines


class Trial(NamedTuple):
    """One edit of one text, and the bytes it may touch."""

    name: str
    old: str
    new: Callable[[], str]
    start: int
    """Offset in bytes of the first one that may change."""
    end: int
    """Offset behind the last one."""


def main() -> int:
    """Run every trial and print what came of it."""
    data = os.environ.get("KB_BENCH_DATA", "")
    files = sorted((Path(data) / "adr").rglob("*.md")) if data else []
    if not files:
        print("set KB_BENCH_DATA to a folder with adr/**/*.md", file=sys.stderr)
        return 2
    done: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    wrong: list[str] = []
    for file in files:
        for variant, text in _variants(file.read_bytes().decode("utf-8")):
            for trial in (*_front_trials(text), *_block_trials(text)):
                _run(trial, f"{file.name} ({variant})", done, refused, wrong)
    print(f"{len(files)} files in 3 variants, {sum(done.values())} edits, {len(wrong)} violations")
    for name, count in sorted(done.items()):
        print(f"  {count:6} {name}")
    for name, count in refused.most_common():
        print(f"  {count:6} refused: {name}")
    for line in wrong[:40]:
        print(f"  WRONG {line}")
    return 1 if wrong else 0


def _run(trial: Trial, place: str, done: Counter[str], refused: Counter[str], wrong: list[str]) -> None:
    try:
        new = trial.new().encode()
    except KbError as error:
        refused[f"{trial.name}: {error.message}"] += 1
        return
    except (ValueError, IndexError, TypeError) as error:
        wrong.append(f"{trial.name}: {place}: {type(error).__name__}: {error}")
        return
    old = trial.old.encode()
    done[trial.name] += 1
    tail = old[trial.end :]
    if not new.startswith(old[: trial.start]) or not new.endswith(tail) or len(new) < trial.start + len(tail):
        wrong.append(f"{trial.name}: {place}: bytes outside {trial.start}–{trial.end} differ")


def _variants(text: str) -> Iterator[tuple[str, str]]:
    yield "as it is", text
    yield "CRLF", text.replace("\r\n", "\n").replace("\n", "\r\n")
    yield "BOM", "\ufeff" + text.removeprefix("\ufeff")


def _rows(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def _size(rows: list[str]) -> int:
    return len("".join(rows).encode())


# -- the front ------------------------------------------------------------------------------------


def _front_trials(text: str) -> Iterator[Trial]:
    """Yield edits that set, replace and remove keys, each with where its key's lines stand."""
    rows = _rows(text)
    if not re.match(r"\ufeff?---\s*$", rows[0]):
        mark = len("\ufeff".encode()) if text.startswith("\ufeff") else 0
        yield Trial(
            "front: begin one", text, lambda: edit_front_matter(text, {"id": "D001", "tags": ("a", "决策")}), mark, mark
        )
        return
    try:
        values = parse_front_matter(text)
    except KbError:
        return
    close = next(n for n, row in enumerate(rows[1:], 1) if re.match(r"(?:---|\.\.\.)\s*$", row))
    inside = (_size(rows[:1]), _size(rows[:close]))
    yield Trial("front: add a key", text, lambda: edit_front_matter(text, {"kb_added": "值: x"}), *inside)
    for key in values:
        starts = [n for n in range(1, close) if re.match(rf"['\"]?{re.escape(str(key))}['\"]?\s*:", rows[n])]
        if len(starts) != 1:
            continue
        end = next((n for n in range(starts[0] + 1, close) if re.match(r"[^\s\-#\]}]", rows[n])), close)
        span = (_size(rows[: starts[0]]), _size(rows[:end]))
        yield Trial("front: replace a key", text, _edit(text, str(key), "new # value"), *span)
        yield Trial("front: remove a key", text, _edit(text, str(key), None), *span)
        yield Trial("front: others keep their values", text, _edit_checked(text, str(key)), *span)


def _edit(text: str, key: str, value: object) -> Callable[[], str]:
    return lambda: edit_front_matter(text, {key: value})


def _edit_checked(text: str, key: str) -> Callable[[], str]:
    """Return an edit that also reads the front again; a value that moved shows as a changed byte."""

    def edited() -> str:
        new = edit_front_matter(text, {key: ("a", "b, c")})
        before, after = parse_front_matter(text), parse_front_matter(new)
        same = {**before, key: ["a", "b, c"]} == after
        return new if same else ""

    return edited


# -- the blocks -----------------------------------------------------------------------------------


def _block_trials(text: str) -> Iterator[Trial]:
    """Yield edits of the same text with its body put into a MACHINE block."""
    rows = _rows(text)
    close = 0
    if re.match(r"\ufeff?---\s*$", rows[0]):
        close = next((n for n, row in enumerate(rows[1:], 1) if re.match(r"(?:---|\.\.\.)\s*$", row)), -1) + 1
    end = "\r\n" if rows[0].endswith("\r\n") else "\n"
    body = "".join(rows[close:])
    gap = "" if body.endswith("\n") else end
    whole = (
        f"{''.join(rows[:close])}{MACHINE_START}{end}{body}{gap}{MACHINE_END}{end}{end}"
        f"{USER_START}{end}notes ## of a person{end}{USER_END}{end}"
    )
    lines = _rows(whole)
    last = max(n for n, row in enumerate(lines) if row.startswith(MACHINE_END))
    first = _size(lines[: close + 1]), _size(lines[:last])
    yield Trial("blocks: found", whole, lambda: whole if find_blocks(whole) else "", *first)
    yield Trial("blocks: replace the machine's", whole, lambda: replace_machine_block(whole, "# new\n\n正文\n"), *first)
    spans = _section_spans(lines, close + 1, last)
    for name in ("context", "decision", "alternatives", "rollback"):
        where = spans.get(name)
        span = (_size(lines[: where[0]]), _size(lines[: where[1]])) if where else None
        at = span or _insertion(whole, name)
        kind = "present" if span else "missing"
        yield Trial(f"section: set a {kind} one", whole, _set(whole, name), *at)
        yield Trial(f"section: append to a {kind} one", whole, _append(whole, name), *at)


def _set(text: str, name: str) -> Callable[[], str]:
    return lambda: edit_section(text, name, "一行\n\n```\n## code\n```\n\n* item")


def _append(text: str, name: str) -> Callable[[], str]:
    return lambda: append_to_section(text, name, "- 2026-01-01 one more")


def _section_spans(lines: list[str], first: int, last: int) -> dict[str, tuple[int, int]]:
    """Return the first section of each name: its lines, the heading left out."""
    inside = "".join(lines[first:last])
    code = find_code_lines(inside)
    heads = [
        (n, match.group(1))
        for n in range(first, last)
        if n - first not in code and (match := re.match(r" {0,3}##?[ \t]+(.*?)[ \t#]*\r?\n", lines[n]))
    ]
    spans: dict[str, tuple[int, int]] = {}
    for (start, title), (following, _) in zip(heads, [*heads[1:], (last, "")], strict=False):
        if lines[start].lstrip().startswith("## "):
            spans.setdefault(resolve_section_name(title), (start + 1, following))
    return spans


def _insertion(text: str, name: str) -> tuple[int, int]:
    """Return the one place where the edit inserts; (0, 0) where it fails."""
    try:
        new = edit_section(text, name, "x").encode()
    except (KbError, ValueError):
        return 0, 0
    old = text.encode()
    start = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), len(old))
    return start, start


if __name__ == "__main__":
    sys.exit(main())
