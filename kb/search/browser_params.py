"""What a search outside of kb, such as that of the wiki in a browser, needs to rank as kb does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.search.answer import load_shipped_synonyms
from kb.search.query import WORD_LISTS
from kb.search.query_terms import FUNCTION_EN, FUNCTION_ZH
from kb.search.synonyms import SynonymGroup

if TYPE_CHECKING:
    from typing import Any


def collect_word_lists(synonyms: Sequence[SynonymGroup] = ()) -> dict[str, Any]:
    """Return the lists of words by which kb cuts a question, by name, and the groups of *synonyms*; none: its own."""
    lists = {"function_en": FUNCTION_EN, "function_zh": FUNCTION_ZH, **WORD_LISTS}
    groups = synonyms or load_shipped_synonyms()
    return {**{name: sorted(words) for name, words in lists.items()}, "synonyms": [list(one.words) for one in groups]}
