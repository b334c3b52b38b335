"""The questions of `bench.recall`: public sets of texts and of questions whose right answers are known.

A set is tuned on (`dev`) or reported on (`rest`); the parts are named where the set is read. Folders are found by the
beginning of their names below `KB_BENCH_DATA`, so that other parts of the same collections can be put in their place.
"""

import glob
import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from kb.adr.adr_file import read_adr
from kb.errors import KbError
from kb.records.front_matter import decode_record
from kb.records.model import Record, Section
from kb.text.segment import count_words, iter_runs


class Question(NamedTuple):
    """What is asked, and the ids of the records that answer it."""

    text: str
    right: frozenset[str]
    own: str = ""
    """The record the question was taken from; it is no answer."""


class Part(NamedTuple):
    """Records that are searched together, and what is asked of them."""

    name: str
    records: list[Record]
    dev: list[Question]
    rest: list[Question]


def rows(path: str) -> Iterator[dict[str, object]]:
    """Yield the values of a file of JSON lines."""
    with open(path, encoding="utf-8") as file:
        yield from map(json.loads, file)


def folders(data: str, *pattern: str) -> list[str]:
    """Return the folders below *data* that match, in order."""
    return sorted(folder for folder in glob.glob(os.path.join(data, *pattern)) if os.path.isdir(folder))


def record(number: int, title: str, body: str, *, date: str = "", source: str = "") -> Record:
    """Return an accepted record of these words."""
    sections = (Section("decision", "Decision", body),) if body else ()
    id = f"D{number:06}"
    sources = (source,) if source else ()
    return Record(
        id, "decision", title, "global", "accepted", uid=id, date=date, sources=sources, sections=sections,
        path=f"content/anchors/global/{id}.md",
    )  # fmt: skip


# -- conversations --------------------------------------------------------------------------------

DEV_CONVERSATIONS = ("conv-26", "conv-30")
_MONTHS = ("January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
           "December")  # fmt: skip


def conversations(data: str) -> list[Part]:
    """Return LoCoMo: a turn is a record, its session is where it comes from; one part for a conversation."""
    parts = []
    for folder in folders(data, "retrieval", "locomo*"):
        turns = list(rows(os.path.join(folder, "docs.jsonl")))
        asked = list(rows(os.path.join(folder, "queries.jsonl")))
        for group in dict.fromkeys(str(turn["group"]) for turn in turns):
            own = [turn for turn in turns if turn["group"] == group]
            ids = {str(turn["id"]): f"D{number:06}" for number, turn in enumerate(own)}
            records = [_turn(number, turn) for number, turn in enumerate(own)]
            questions = [
                Question(str(q["text"]), frozenset(ids[r] for r in _words(q["rel"]) if r in ids))
                for q in asked
                if q["group"] == group
            ]
            questions = [question for question in questions if question.right]
            is_dev = group in DEV_CONVERSATIONS
            parts.append(Part(group, records, questions if is_dev else [], [] if is_dev else questions))
    return parts


def _turn(number: int, turn: dict[str, object]) -> Record:
    text = f"{turn['speaker']}: {turn['text']}" + (f" [{turn['caption']}]" if turn["caption"] else "")
    day, month, year = re.search(r"(\d+) (\w+), (\d+)", str(turn["date"])).groups()  # type: ignore[union-attr]
    date = f"{year}-{_MONTHS.index(month) + 1:02}-{int(day):02}"
    return record(number, "", text, date=date, source=f"session-{turn['session']}")


def _words(value: object) -> list[str]:
    return [str(each) for each in value] if isinstance(value, list) else []


# -- paragraphs -----------------------------------------------------------------------------------


def paragraphs(data: str, language: str) -> list[Part]:
    """Return XQuAD in *language*: a paragraph is a record; those of every other five paragraphs are the dev part."""
    parts = []
    for folder in folders(data, "retrieval", f"xquad_{language}*"):
        docs = list(rows(os.path.join(folder, "docs.jsonl")))
        ids = {str(doc["id"]): f"D{number:06}" for number, doc in enumerate(docs)}
        records = [record(number, "", str(doc["text"])) for number, doc in enumerate(docs)]
        dev, rest = [], []
        for q in rows(os.path.join(folder, "queries.jsonl")):
            right = frozenset(ids[r] for r in _words(q["rel"]) if r in ids)
            place = min(int(id[1:]) for id in right) // 5
            (rest if place % 2 else dev).append(Question(str(q["text"]), right))
        parts.append(Part(os.path.basename(folder), records, dev, rest))
    return parts


def across(data: str, asked: str, told: str, *, mixed: bool) -> list[Part]:
    """Return XQuAD, asked in one language and told in the other: the same paragraphs stand in the same order in both.

    *mixed*: those of the question's language are searched as well, and do not count.
    """
    parts = []
    for ours, others in zip(paragraphs(data, asked), paragraphs(data, told), strict=True):
        count = len(others.records)
        own = [r._replace(id=f"D{count + n:06}", uid="", path=f"{r.path}.own") for n, r in enumerate(ours.records)]
        parts.append(ours._replace(name=f"{asked}-{told}", records=others.records + (own if mixed else [])))
    return parts


# -- issues ---------------------------------------------------------------------------------------


def issues(data: str, *, bodies: bool) -> list[Part]:
    """Return GitBugs: the title of an issue asks for its duplicates; the first half of the questions is the dev part.

    Without *bodies* a record is a title alone.
    """
    parts = []
    for folder in folders(data, "retrieval", "gitbugs*"):
        docs = list(rows(os.path.join(folder, "docs.jsonl")))
        ids = {str(doc["id"]): f"D{number:06}" for number, doc in enumerate(docs)}
        records = [
            record(number, str(doc["text"]), str(doc["body"]) if bodies else "") for number, doc in enumerate(docs)
        ]
        questions = [
            Question(
                str(q["text"]), frozenset(ids[r] for r in _words(q["rel"]) if r in ids), ids.get(str(q["self"]), "")
            )
            for q in rows(os.path.join(folder, "queries.jsonl"))
        ]
        questions = [question for question in questions if question.right]
        half = len(questions) // 2
        parts.append(Part(os.path.basename(folder), records, questions[:half], questions[half:]))
    return parts


# -- decision records -----------------------------------------------------------------------------

_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]*)[^)]*\)|\[\[[^\]]*\]\]|<https?://[^>]*>|https?://\S+")
_NAMED = re.compile(r"\bADR[- #]?0*(\d{1,4})\b(?:\s*\([^)]*\))?", re.IGNORECASE)
_FILE = re.compile(r"[\w/.-]*?(\d{1,8}-[\w.-]+\.md)\b")
_WRAP = re.compile(r"(?<=\S)[ \t]*\n[ \t]*(?![ \t]*(?:\n|[-*+>|#]|\d+[.)]\s))")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z\[*])|[。！？；\n]+")
_NUMBER = re.compile(r"(?:adr[-_]?)?0*(\d{1,4})[-_.]", re.IGNORECASE)
_RELATION = re.compile(r"(?i)\b(?:supersed\w*|amend\w*|status|replac\w* by|related|see also)\b|取代|替代|状态")
ENOUGH_WORDS = 6
"""Words a sentence keeps when its citations are gone, or it is no question."""


def decision_records(data: str) -> list[Part]:
    """Return real ADRs: a sentence that cites another one asks for it; every other repository is the dev part."""
    parts = []
    for number, folder in enumerate(folders(data, "adr", "*+*")):
        files = sorted(glob.glob(os.path.join(folder, "**", "*.md"), recursive=True))
        read = [(path, text, found) for path in files for text, found in [_adr(path, folder)] if found]
        records = [
            found._replace(id=f"D{n:06}", uid=f"D{n:06}", status="accepted", path=f"content/anchors/global/D{n:06}.md")
            for n, (_, _, found) in enumerate(read)
        ]
        names = {os.path.basename(path): f"D{n:06}" for n, (path, _, _) in enumerate(read)}
        numbers = _numbers(names)
        questions = [
            question for n, (_, text, _) in enumerate(read) for question in _citing(text, names, numbers, f"D{n:06}")
        ]
        if questions:
            is_dev = number % 2 == 1
            name = os.path.basename(folder)
            parts.append(Part(name, records, questions if is_dev else [], [] if is_dev else questions))
    return parts


def _adr(path: str, folder: str) -> tuple[str, Record | None]:
    with open(path, "rb") as file:
        data = file.read()
    try:
        text = decode_record(data, path)
        return text, read_adr(text, os.path.relpath(path, folder)).record
    except KbError:
        return "", None


def _numbers(names: dict[str, str]) -> dict[int, str]:
    """Return the record of each number that only one file has."""
    found = [(int(match.group(1)), id) for name, id in names.items() if (match := _NUMBER.match(name))]
    often = Counter(number for number, _ in found)
    return {number: id for number, id in found if often[number] == 1}


def _citing(text: str, names: dict[str, str], numbers: dict[int, str], own: str) -> Iterator[Question]:
    """Yield the sentences of *text* that cite other records, without the citations."""
    for sentence in _SENTENCE.split(_WRAP.sub(" ", text)):
        right = {names.get(os.path.basename(link.split("#")[0]), "") for link in _LINK.findall(sentence) if link}
        bare = _LINK.sub(" ", sentence)
        right |= {numbers.get(int(number), "") for number in _NAMED.findall(sentence)}
        right |= {names.get(name, "") for name in _FILE.findall(bare)}
        right -= {"", own}
        bare = _FILE.sub(" ", _NAMED.sub(" ", bare))
        if right and not _RELATION.search(bare) and _meaning(bare) >= ENOUGH_WORDS:
            yield Question(" ".join(bare.split()), frozenset(right), own)


def _meaning(text: str) -> int:
    return count_words(" ".join(run for run, unspaced in iter_runs(text) if unspaced or len(run) > 3))


# -- Chinese words --------------------------------------------------------------------------------

OFTEN = (3, 20)
"""In how many paragraphs a word stands that is asked for: often enough to miss one, seldom enough to show all."""


def short_words(parts: Iterable[Part]) -> list[Part]:
    """Return for each Chinese part its words of one and two characters, with every record that holds them."""
    found = []
    for part in parts:
        texts = {record.id: record.sections[0].text for record in part.records}
        held: dict[str, set[str]] = {}
        for id, text in texts.items():
            for run, unspaced in iter_runs(text):
                for size in (1, 2) if unspaced else ():
                    for at in range(len(run) - size + 1):
                        held.setdefault(run[at : at + size], set()).add(id)
        words = [word for word, ids in held.items() if OFTEN[0] <= len(ids) <= OFTEN[1]]
        questions = [Question(word, frozenset(held[word])) for word in sorted(words)]
        few = questions[:: max(1, len(questions) // 400)]
        found.append(Part(part.name, part.records, few[0::2], few[1::2]))
    return found
