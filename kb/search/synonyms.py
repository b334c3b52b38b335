"""Synonyms in two languages: read the groups that people write, and expand a query (spelling: `retrieve`)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import chain

from kb.errors import BadInput
from kb.i18n import msg
from kb.search.query import WORD_LISTS, Query
from kb.search.rank import is_spaced_letter
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.templates import FOLDER
from kb.text.segment import FIRST_CJK, collect_ranking_terms, extract_ranking_terms, fold_text

if TYPE_CHECKING:
    from kb.workspace import Workspace

SYNONYMS = "synonyms.yaml"
MAX_SYNONYMS = 1_000_000  # Characters of a file of synonyms that are read

MAX_GROUPS = 5000
_GROUP = regex(r"-\s*\[(.*)\]")


class SynonymGroup(NamedTuple):
    """Words that say the same."""

    words: tuple[str, ...]  # Folded


def parse_groups(text: str, path: str) -> list[SynonymGroup]:
    """Return the groups in *text*, the lines of a YAML list of lists: `- [缓存, cache]`; raise BadInput."""
    groups: list[SynonymGroup] = []
    for number, line in enumerate(text.splitlines(), 1):
        said = line.partition(" #")[0].strip()
        if not said or said.startswith("#"):
            continue
        match = _GROUP.fullmatch(said)
        words = [fold_text(word.strip(" \t\"'")) for word in match.group(1).split(",")] if match else []
        words = [" ".join(word.split()) for word in words if word.strip()]
        if len(words) < 2 or len(groups) == MAX_GROUPS:
            problem, hint = msg("this is not a group of synonyms"), msg("write: - [缓存, cache, caching]")
            raise BadInput(problem, path=path, line=number, hint=hint)
        groups.append(SynonymGroup(tuple(words)))
    return groups


@lru_cache(maxsize=1)
def load_shipped_synonyms() -> list[SynonymGroup]:
    """Return the groups of synonyms that come with kb, whose file is written as it is compared: a hook reads it."""
    with open(os.path.join(FOLDER, SYNONYMS), encoding="utf-8") as file:
        return [SynonymGroup(tuple(line[3:-2].split(", "))) for line in file if line.startswith("- [")]


def load_synonyms(kb: Workspace) -> list[SynonymGroup]:
    """Return the groups of synonyms that come with kb, and those of the knowledge base; raise BadInput."""
    return load_shipped_synonyms() + _load_groups(os.path.join(kb.root, "content", SYNONYMS), f"content/{SYNONYMS}")


def _load_groups(path: str, name: str) -> list[SynonymGroup]:
    with contextlib.suppress(FileNotFoundError):
        stat = os.stat(path)
        return _read_groups(path, name, (stat.st_mtime_ns, stat.st_size, stat.st_ino))
    return []


@lru_cache(maxsize=4)
def _read_groups(path: str, name: str, version: tuple[int, ...]) -> list[SynonymGroup]:
    """Return the groups in *version* of a file; a process that searches often reads it once."""
    with open(path, encoding="utf-8", errors="replace") as file:
        return parse_groups(file.read(MAX_SYNONYMS), name)


def collect_word_lists(synonyms: Sequence[SynonymGroup] = ()) -> dict[str, object]:
    """Return the lists of words by which kb cuts a question, by name, and the groups of *synonyms*; none: its own.

    A search outside of kb, such as that of the wiki in a browser, needs them to rank as kb does.
    """
    groups = synonyms or load_shipped_synonyms()
    lists: dict[str, object] = {name: sorted(words) for name, words in WORD_LISTS.items()}
    return {**lists, "synonyms": [list(group.words) for group in groups]}


# -- what a question gains ------------------------------------------------------------------------


class Synonyms(NamedTuple):
    """What words of a question mean, in other words."""

    said: frozenset[str]  # The terms of the question
    others: tuple[tuple[str, ...], ...]  # The terms of each other word of that meaning


def find_synonyms(query: Query, groups: Sequence[SynonymGroup]) -> list[Synonyms]:
    """Return what words of *query* mean in other words, of which the query has not every term itself."""
    line = " ".join(query.folded)
    own = set(collect_ranking_terms((run.text.casefold(), run.is_unspaced) for run in query.runs))
    found = []
    for group in groups:
        # most groups have no word in the line, and to look for a part of one costs least
        said = [word for word in group.words if word in line and _has_word_or_plural(word, line)]
        if said:
            terms = (extract_ranking_terms(word) for word in group.words)
            others = tuple(tuple(each) for each in terms if not own.issuperset(each))
            found.append(
                Synonyms(frozenset(own.intersection(chain.from_iterable(map(extract_ranking_terms, said)))), others)
            )
    return found


def iter_synonym_terms(query: Query, groups: Sequence[SynonymGroup]) -> Iterator[str]:
    """Yield the terms that say what words of *query* say, those the query has itself left out.

    A part of a longer Chinese word says nothing of it: of 缓存, 缓.
    """
    for synonyms in find_synonyms(query, groups):
        for terms in synonyms.others:
            yield from (term for term in terms if len(term) > 1 or len(terms) == 1)


def _has_word_or_plural(word: str, line: str) -> bool:
    """Return whether *word* occurs in *line*: a spaced one as a word or its plural, an unspaced one anywhere."""
    at = line.find(word)
    while at >= 0:
        end = at + len(word)
        if word[0] >= FIRST_CJK or not (at and is_spaced_letter(line[at - 1])):
            rest = line[end : end + 3]
            if word[-1] >= FIRST_CJK or not rest[:1] or not is_spaced_letter(rest[0]) or _is_plural_ending(rest):
                return True
        at = line.find(word, at + 1)
    return False


def _is_plural_ending(rest: str) -> bool:
    """Return whether what follows a word is the ending of its plural."""
    return any(rest.startswith(end) and not is_spaced_letter(rest[len(end) :][:1] or " ") for end in ("s", "es"))
