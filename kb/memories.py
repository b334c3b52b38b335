"""Functions that store memories from a session and estimate tokens, for Python programs.

from kb.memories import estimate_content_tokens, extract_and_store_memories, extract_session_memories
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kb.knowledge_base import KnowledgeBase
from kb.records.candidate import candidate_to_json
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from typing import Any


def estimate_content_tokens(content: str) -> int:
    """Return roughly how many model tokens *content* takes, in Chinese and in English."""
    return estimate_tokens(content)


def extract_session_memories(transcript: str, cwd: str = "") -> list[dict[str, Any]]:
    """Return the candidates in the file *transcript* in the form of `kb write`, without writing them.

    *cwd* selects the knowledge base (default: the current folder). Raise NoKnowledgeBase and BadInput.
    """
    from kb.capture.extract import find_candidates_in_file

    with KnowledgeBase.open(cwd or os.getcwd()) as kb:
        return [candidate_to_json(candidate) for candidate in find_candidates_in_file(kb, transcript)]


def extract_and_store_memories(transcript: str, cwd: str = "") -> list[dict[str, Any]]:
    """Pass the candidates in the file *transcript* through the gate, archive the session, and return the verdicts.

    *cwd* is the folder of the session. Raise NoKnowledgeBase and BadInput.
    """
    folder = cwd or os.getcwd()
    with KnowledgeBase.open(folder) as kb:
        saved = kb.save_session(transcript, folder=folder, host="python")
        return [verdict._asdict() for verdict in saved.verdicts]
