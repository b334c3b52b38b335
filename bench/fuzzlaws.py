"""What must hold for any bytes: a law for each reader of what nobody vouches for, and the texts fuzzing begins with."""

import json
import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from bench import corpus
from kb.capture import extract
from kb.errors import BadRecord
from kb.merge.merge_record import merge_record
from kb.records.blocks import append_to_section, edit_section, find_blocks
from kb.records.front_matter import decode_record, edit_front_matter, find_front_matter, parse_front_matter
from kb.records.kinds import KINDS
from kb.records.model import GLOBAL
from kb.records.record_file import normalise_record, read, render, verify_edit
from kb.sessions import transcript

PATH = "content/anchors/global/D001-x.md"
_TESTS = Path(__file__).parent.parent / "tests" / "data"
_MARKS = ("<<<<<<< ", "=======", ">>>>>>> ")


def codec(data: bytes) -> None:
    """Whatever is read as a record comes back from its own text, and an edit leaves all other bytes alone."""
    try:
        record = read(data, PATH)
    except BadRecord:
        return
    assert read(render(record).encode(), PATH) == normalise_record(record)
    text = decode_record(data, PATH)
    user = text[slice(*find_blocks(text).user)]
    for name in ("why", "additions"):
        for edited in (edit_section(text, name, record.user), append_to_section(text, name, f"- {record.title}")):
            verify_edit(text, edited, (), PATH)
            assert edited[slice(*find_blocks(edited).user)] == user
    with suppress(BadRecord):
        edited = edit_front_matter(text, {"tags": [record.title], "occurrences": record.occurrences + 1}, PATH)
        verify_edit(text, edited, ("tags", "occurrences"), PATH)


def fronts(data: bytes) -> None:
    """Whatever is read as a front has the value that an edit gives to a key, and keeps all others."""
    try:
        text = decode_record(data)
        before = parse_front_matter(text)
        for key, value in (("title", text[-40:]), ("fresh", before), *((key, None) for key in [*before][:3])):
            after = parse_front_matter(edit_front_matter(text, {key: value}))
            wanted = {name: old for name, old in before.items() if name != key}
            assert {name: new for name, new in after.items() if name != key} == _same(wanted, after), key
            assert value is None or repr(after[key]) == repr(value), key
            assert value is not None or key not in after, key
    except BadRecord:
        return


def _same(wanted: dict[str, object], found: dict[str, object]) -> dict[str, object]:
    """Return *wanted* with the values of *found* where they look the same: no number is like "not a number"."""
    return {key: found.get(key) if repr(found.get(key)) == repr(value) else value for key, value in wanted.items()}


def transcripts(data: bytes) -> None:
    """No bytes make the reader of transcripts fail; reading on gives what reading at once gives; all fits a file."""
    whole = transcript.parse_transcript(data)
    at = data.count(b"\n") // 2
    rest = transcript.parse_transcript(data, at)
    assert [_uncounted(m) for m in whole.messages if m.line > at] == [_uncounted(m) for m in rest.messages]
    json.dumps(whole, ensure_ascii=False, default=str).encode()
    found = extract.extract_candidates(whole)
    json.dumps(found, ensure_ascii=False, default=str).encode()
    extract.list_broken_blocks(whole)


def _uncounted(message: transcript.TranscriptMessage) -> transcript.TranscriptMessage:
    """Return *message* without its numbers, which count from where reading began."""
    return message._replace(step=0, turn=0)


def merges(data: bytes) -> None:
    """No texts break a merge: it is alike from both sides, a record without conflicts, a front without markers."""
    base, ours, theirs = (*data.split(b"\0", 2), b"", b"")[:3]
    one = merge_record(base or None, ours, theirs, path=PATH)
    other = merge_record(base or None, theirs, ours, path=PATH)
    assert _rows(one.data) == _rows(other.data) and one.conflicts == other.conflicts
    if not one.conflicts and ours != theirs and base not in (ours, theirs):
        read(one.data, PATH)
    if not any(_marked(side) for side in (base, ours, theirs)):
        assert not _marked(one.data), "conflict markers in the front"


def _rows(data: bytes) -> list[str]:
    """Return the rows in an order that does not tell which side is ours."""
    text = data.decode("utf-8", "replace").replace("\r", "\n")
    return sorted(row for row in text.split("\n") if not row.startswith(_MARKS))


def _marked(data: bytes) -> bool:
    """Return whether conflict markers stand in the front."""
    text = data.decode("utf-8", "replace")
    span = find_front_matter(text)
    rows = text[slice(*span)].replace("\r", "\n").split("\n") if span else []
    return any(row.startswith(_MARKS) for row in rows)


LAWS: dict[str, Callable[[bytes], None]] = {
    "codec": codec, "front": fronts, "transcript": transcripts, "merge": merges,
}  # fmt: skip


def seeds(target: str) -> list[bytes]:
    """Return the texts with which fuzzing *target* begins."""
    records = [render(corpus.record(number * len(KINDS), GLOBAL, random.Random(number))) for number in range(1, 7)]
    if target == "transcript":
        rows = (Path(__file__).parent / "demo_transcript.jsonl").read_bytes().splitlines(keepends=True)
        return [b"".join(rows[at : at + 6]) for at in range(0, len(rows), 6)]
    if target == "merge":
        cases = [case[:3] for case in _golden("merging")]
        return ["\0".join(case).encode() for case in [*cases, *([record] * 3 for record in records)]]
    names = ("edit_front",) if target == "front" else ("edit_section", "append_to_section", "refused")
    return [text.encode() for text in [*records, *(case[0] for name in names for case in _golden(name))]]


def _golden(name: str) -> list[list[str]]:
    """Return the parts of each case of a golden file."""
    text = (_TESTS / "golden" / f"{name}.txt").read_text(encoding="utf-8")
    parts = text.split("\n.\n")
    size = 5 if name == "merging" else 3  # the title, what is given, what is expected
    return [[part + "\n" for part in parts[at + 1 : at + size]] for at in range(0, len(parts) - size, size)]
