"""A git-backed markdown knowledge base for engineering teams and their coding agents.

    from kb import Candidate, KnowledgeBase

    with KnowledgeBase.open() as kb:
        kb.write([Candidate("decision", "Retry payments three times", "…", why="…")])
        kb.recall("how often do we retry")

The names below are loaded when they are first asked for: a hook that runs at every prompt imports this package too.
"""

from __future__ import annotations

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from kb.errors import KbError
    from kb.index.schema import Filter
    from kb.knowledge_base import KnowledgeBase, make
    from kb.records.model import Candidate, Record, Verdict

__version__ = "0.2.0"
__all__ = ["Candidate", "Filter", "KbError", "KnowledgeBase", "Record", "Verdict", "make"]

_HOMES = {
    "Candidate": "records.model",
    "Filter": "index.schema",
    "KbError": "errors",
    "KnowledgeBase": "knowledge_base",
    "Record": "records.model",
    "Verdict": "records.model",
    "make": "knowledge_base",
}


def __getattr__(name: str) -> object:
    """Load one of the names that the package offers."""
    if name not in _HOMES:
        raise AttributeError(f"module 'kb' has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"kb.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
