"""Files of records that cannot be read, and what a candidate may have to do with them."""

from __future__ import annotations

import os

from kb.errors import BadRecord
from kb.files import read_if_exists
from kb.index.record_ids import list_unreadable
from kb.records import record_file
from kb.records.model import Candidate
from kb.records.record_paths import parse_path_scope
from kb.similarity.duplicates import compute_similarity
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING
from kb.text.segment import normalise, slugify

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.workspace import Workspace

_TITLES = regex(r"(?m)^(?:title:[ \t]*|#[ \t]+\[[A-Z]{1,3}[0-9]{3,9}\][ \t]*)([^\r\n]{1,400})")
_LOOKED_AT = 8_000
"""Bytes of a file in which its title stands."""


def find_damaged_twin(kb: Workspace, candidate: Candidate) -> BadRecord | None:
    """Return why a file cannot be read that may be the record *candidate* repeats; None where there is none.

    That is one of the candidate's scope with a title like the candidate's. A damaged file takes no part in looking for
    duplicates, so that the same would be written a second time.
    """
    for error in list_unreadable(kb.index):
        if parse_path_scope(error.path) == candidate.scope and _has_similar_title(kb, candidate.title, error.path):
            return error
    return None


def find_checkout_damage(kb: Workspace, path: str, tip: bytes | None) -> BadRecord | None:
    """Return why the file *path* in the checkout cannot be read, where it is not as in the *tip*; None where it can.

    The index may not have seen yet that somebody has edited it.
    """
    here = read_if_exists(os.path.join(kb.root, *path.split("/")))
    if here is None or here == tip:
        return None
    try:
        record_file.read(here, path)
    except BadRecord as error:
        return error
    return None


def _has_similar_title(kb: Workspace, title: str, path: str) -> bool:
    slug = os.path.basename(path).removesuffix(".md").partition("-")[2]
    if slug and slug == slugify(title):
        return True
    limit = kb.config.title_similarity
    return any(
        normalise(one) == normalise(title) or compute_similarity(one, title, limit) > limit
        for one in _iter_titles(kb, path)
    )


def _iter_titles(kb: Workspace, path: str) -> Iterator[str]:
    """Yield what may be the title of the damaged file *path*."""
    try:
        data = read_if_exists(os.path.join(kb.root, *path.split("/"))) or b""
    except OSError:
        return
    for match in _TITLES.finditer(data[:_LOOKED_AT].decode("utf-8", "replace")):
        yield match[1].strip().strip("\"'")
