"""What to read before a piece of work, and how to find an answer: the rules, told what the knowledge base holds."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kb.context import routing
from kb.context.build_context import find_relevant_hits
from kb.context.routing import AnsweringFile, Drill, Route
from kb.files import read_if_exists, resolve_within
from kb.index.schema import Filter
from kb.records.kinds import BY_NAME, KINDS
from kb.records.model import GLOBAL, LIVE
from kb.records.record_paths import CONTENT
from kb.text.segment import one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

BANK = "memory-bank"
"""The folder of what is written for agents that read files and call nothing."""
NONE = "none"
"""What is printed where nothing has to be read; programs look for it, so it is not translated."""
CONVENTIONS = f"{BANK}/details/patterns.md"
_CONVENTIONAL = ("pattern", "constraint", "preference")
"""The kinds in which the conventions stand where nobody has written that file."""


def route(kb: Workspace, text: str, *, project: str = GLOBAL) -> Route:
    """Return what to read before the work that *text* speaks of."""
    text = one_line(text)
    index = kb.sync_index()
    globs = {kind.name: build_glob(kind.prefix) for kind in KINDS if index.count(Filter(kinds=(kind.name,)))}
    if routing.is_small_talk(text) or not globs:
        return Route()
    wanted = routing.find_intents(text)
    about = [hit.record.path for hit in find_relevant_hits(kb, text, project=project, first=0)][: routing.MAX_FILES]
    if not about and not any(intent.conventions for intent in wanted) and not routing.has_file_path(text):
        return Route()
    conventions = _find_conventions(kb, globs)
    missing = "" if CONVENTIONS in conventions else CONVENTIONS
    reads = routing.build_reading_list(wanted, about, globs, conventions, kb.config.language, instead_of=missing)
    return Route(tuple(intent.name for intent in wanted), reads)


def _find_conventions(kb: Workspace, globs: dict[str, str]) -> list[str]:
    if os.path.isfile(os.path.join(kb.root, CONVENTIONS)):
        return [CONVENTIONS]
    return [globs[kind] for kind in _CONVENTIONAL if kind in globs] or list(globs.values())


def build_glob(prefix: str) -> str:
    """Return what finds the files of the records whose ids begin with *prefix*."""
    return f"{CONTENT}/{BY_NAME['decision'].folder}/**/{prefix}[0-9]*.md"


def drill(kb: Workspace, question: str, *, project: str = GLOBAL) -> Drill:
    """Return how to find the answer to *question*: which files to read directly, or that a pack is to be made."""
    files = []
    for hit in find_relevant_hits(kb, question, project=project, first=0):
        if hit.record.status in LIVE:
            data = read_if_exists(resolve_within(kb.root, hit.record.path)) or b""
            files.append(
                AnsweringFile(hit.record.path, len(data.splitlines()), hit.record.id, one_line(hit.record.title))
            )
    return routing.plan_drill(files, one_line(question))
