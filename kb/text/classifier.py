"""Classify a short sentence by linear models: does it ask about the asker, speak of the speaker, or what does it want?

A model is a table of small weights, one for each of its slots; a feature of the sentence (a word, two or three words
in a row, a part of a word, a row of word classes) is hashed to a slot, and the sum of their weights is the score. The
words and their classes stand in `models/word_classes.txt`, the weights beside it. They are learned from the labelled
sentences under `bench/` by `python -m bench.classifiers`, which writes the same bytes from the same sentences; nothing
is learned where kb runs. English and Chinese go through the same features: a Chinese character is a word of its own,
and a traditional one is read as the simplified one.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from zlib import crc32

from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

ASKER, PERSON, WANTED = "asker", "person", "wanted"
"""The models: a question about who asks it; what the speaker says of themselves; what a search wants."""
BITS = {ASKER: 16, PERSON: 16, WANTED: 15}
"""Slots of a model's table, as a power of two, for each of its labels."""
FOLDER = os.path.join(os.path.dirname(__file__), "models")
MAX_CHARACTERS = 400  # characters of a sentence that are read; what is longer is no short sentence
ZERO = 128  # The byte that stands for a weight of nothing
_MAX_WORD = 6  # tokens that one word of a table may have

_TOKEN = regex(r"[a-z]+(?:'[a-z]+)?|\d+|[^\W\d_a-z]|[^\w\s]")
_CHUNK = regex(r"[\w./()#:-]+")
_NAMED = regex(r"[A-Z*]")


class SentenceModel(NamedTuple):
    """The weights of one model."""

    labels: tuple[str, ...]
    scales: tuple[float, ...]  # What one step of a weight is worth, for each label
    biases: tuple[float, ...]
    tables: tuple[bytes, ...]  # The weights of each label, a byte for each slot


def score_sentence(name: str, text: str) -> dict[str, float]:
    """Return label → how clearly *text* has it, by the model *name*: above 0.0 rather yes, 1.0 as its examples."""
    model = load_model(name)
    slots = hash_features(name, text)
    norm = len(slots) ** -0.5
    scores = {}
    for label, scale, bias, table in zip(model.labels, model.scales, model.biases, model.tables, strict=True):
        total = sum([table[slot] for slot in slots]) - ZERO * len(slots)
        scores[label] = total * scale * norm + bias
    return scores


@cache
def load_model(name: str) -> SentenceModel:
    """Return the model *name*, read once."""
    with open(os.path.join(FOLDER, f"{name}.weights"), "rb") as file:
        head, _, data = file.read().partition(b"\n")
    rows = [part.split("=") for part in head.decode("ascii").split()[1:]]
    size = 1 << BITS[name]
    return SentenceModel(
        tuple(label for label, _ in rows),
        tuple(float(numbers.split(",")[0]) for _, numbers in rows),
        tuple(float(numbers.split(",")[1]) for _, numbers in rows),
        tuple(data[at * size : (at + 1) * size] for at in range(len(rows))),
    )


def hash_features(name: str, text: str) -> list[int]:
    """Return the slots of the features of *text* in the tables of the model *name*, in order, each once."""
    mask = (1 << BITS[name]) - 1
    return sorted({crc32(feature.encode("utf-8", "replace")) & mask for feature in _iter_features(name, text)})


def _iter_features(name: str, text: str) -> Iterator[str]:
    """Yield the features of *text*, some of them more than once."""
    text = unicodedata.normalize("NFKC", text[:MAX_CHARACTERS])
    if not text.isascii():
        text = text.translate(_load_spellings())
    folded = text.casefold().replace("’", "'").replace("‘", "'")
    tokens = ["#" if token[0].isdigit() else token for token in _TOKEN.findall(folded)]
    yield from _iter_rows("", ["^", *tokens, "$"], 3)
    for token in tokens:
        if len(token) > 3 and token.isascii():
            # parts of a word know its other forms, and a typing error: “preferences”, “prefrence”
            framed = f"<{token}>"
            yield from (f".{framed[i : i + size]}" for size in (4, 5) for i in range(len(framed) - size + 1))
    subjects = _name_classes(tokens, "subjects")
    for row in _iter_rows("s:", ["^", *subjects, "$"], 4):
        if _NAMED.search(row):  # a row without a class is among the words already
            yield row
    if name == ASKER:
        grammar = _name_classes(tokens, "grammar")
        yield from _iter_rows("g:", ["^", *grammar, "$"], 4)
        if not {"I", "M", "Y", "J"} & set(grammar):  # without a word for the speaker the rest means another thing
            yield from _iter_rows("0:", [letter for letter in grammar if letter not in "Fdx,"], 2)
        yield from _iter_rows("h:", ["^", *(letter for letter in grammar if letter != "F"), "$"], 4)
    if name == WANTED:
        yield from (f"c:{_outline(chunk)}" for chunk in _CHUNK.findall(text) if chunk.isascii())


def _iter_rows(mark: str, items: Sequence[str], longest: int) -> Iterator[str]:
    """Yield each row of one to *longest* neighbours among *items*, behind *mark*."""
    for size in range(1, longest + 1):
        for at in range(len(items) - size + 1):
            yield mark + " ".join(items[at : at + size])


def _outline(chunk: str) -> str:
    """Return the outline of *chunk*, 12 characters at most: getUser and parseRow are aAa, K-8 is A-9."""
    outline = ""
    for character in chunk:
        kind = "9" if character.isdigit() else character
        if character.isalpha():
            kind = "A" if character.isupper() else "a"
        if not outline.endswith(kind):
            outline += kind
    return outline[:12]


def _name_classes(tokens: Sequence[str], table: str) -> list[str]:
    """Return *tokens* with each word of *table*, the longest first, as its class.

    Of what is in no class the table of subjects keeps small words and Chinese characters; English ones are “*”.
    """
    classes, keeps = _load_classes()[table], table == "subjects"
    small = _load_classes()["small"]
    named, at = list[str](), 0
    while at < len(tokens):
        joint = "" if not tokens[at].isascii() else "_"
        for length in range(min(_MAX_WORD, len(tokens) - at), 0, -1):
            if found := classes.get(joint.join(tokens[at : at + length])):
                break
        else:
            token, length = tokens[at], 1
            is_word = token.isascii() and token[0].isalpha()
            if keeps:
                found = "*" if is_word and token not in small and "'" not in token else token
            else:
                found = classes.get(token.removesuffix("'s")) or ("x" if token[0].isalnum() or token == "#" else ",")
        named.append(found)
        at += length
    return named


@cache
def _load_classes() -> dict[str, dict[str, str]]:
    """Return table → word → class, or character → its other spelling; a word has _ for a hyphen or a space."""
    tables: dict[str, dict[str, str]] = {}
    table: dict[str, str] = {}
    with open(os.path.join(FOLDER, "word_classes.txt"), encoding="utf-8") as file:
        for line in file:
            if line.startswith("["):
                table = tables.setdefault(line.strip("[]\n"), {})
            elif table is tables.get("spelling"):
                table.update((pair[0], pair[1:]) for pair in line.split())
            elif not line.startswith("#"):
                name, *words = line.split()
                _add_words(table, name, words)
    return tables


@cache
def _load_spellings() -> dict[int, str]:
    """Return traditional and Cantonese character → what is written for it in mainland China."""
    return str.maketrans(_load_classes()["spelling"])


def _add_words(table: dict[str, str], name: str, words: Iterable[str]) -> None:
    for word in words:
        table.setdefault(word.replace("-", "_-_") if word.isascii() else word, name)
