"""Words that say the same in two languages: groups that people write, and what a question gains by them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kb.errors import BadInput
from kb.i18n import msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple
from kb.text.segment import FIRST_CJK, extract_ranking_terms, fold_text

MAX_GROUPS = 5000
_GROUP = regex(r"-\s*\[(.*)\]")


class SynonymGroup(NamedTuple):
    """Words that say the same."""

    words: tuple[str, ...]
    """Folded."""


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
            raise BadInput(
                msg("this is no group of synonyms"), path=path, line=number, hint=msg("write: - [缓存, cache, caching]")
            )
        groups.append(SynonymGroup(tuple(words)))
    return groups


def iter_synonym_terms(query: str, groups: Sequence[SynonymGroup]) -> Iterator[str]:
    """Yield the terms that say what words of *query* say, those the query has itself left out."""
    line = " ".join(fold_text(query).split())
    own = set(extract_ranking_terms(line))
    for group in groups:
        if any(_has_word_or_plural(word, line) for word in group.words):
            for word in group.words:
                terms = extract_ranking_terms(word)
                if not own.issuperset(terms):
                    yield from (term for term in terms if len(term) > 1 or len(word) == 1)


def _has_word_or_plural(word: str, line: str) -> bool:
    """Return whether *word* stands in *line*: a spaced one as a word or the beginning of one of its forms."""
    at = line.find(word)
    while at >= 0:
        end = at + len(word)
        if word[0] >= FIRST_CJK or not (at and _is_spaced_letter(line[at - 1])):
            rest = line[end : end + 3]
            if word[-1] >= FIRST_CJK or not rest[:1] or not _is_spaced_letter(rest[0]) or _is_plural_ending(rest):
                return True
        at = line.find(word, at + 1)
    return False


def _is_plural_ending(rest: str) -> bool:
    """Return whether what follows a word is the ending of its plural."""
    return any(
        rest.startswith(end) and not _is_spaced_letter(rest[len(end) : len(end) + 1] or " ") for end in ("s", "es")
    )


def _is_spaced_letter(character: str) -> bool:
    return character < FIRST_CJK and character.isalnum()
