"""Compatibility façade: three functions for Python programs (SHI-37); `context/give_hints` builds the hints.

from kb.hints import get_shi_t1_prompt, get_shi_t2_prompt, get_shi_prompt_for_avatar

They return "" if there is no knowledge base, so that an agent can always start. “shi” (识) is Wukong's name for its
memory.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from kb.knowledge_base import KnowledgeBase
from kb.paths import find_root


def get_shi_t1_prompt(cwd: str, keywords: Sequence[str] | None = None) -> str:
    """Return the T1 hint (before work: pitfalls, constraints, patterns) for work on *keywords* in the folder *cwd*."""
    return _ask(cwd, lambda kb: kb.hint("t1", keywords or (), project=kb.project(cwd)).text)


def get_shi_t2_prompt(cwd: str, keywords: Sequence[str] | None = None) -> str:
    """Return the T2 hint (after the plan: decisions, interfaces, rollbacks) for work on *keywords* in *cwd*."""
    return _ask(cwd, lambda kb: kb.hint("t2", keywords or (), project=kb.project(cwd)).text)


def get_shi_prompt_for_avatar(cwd: str, avatar: str, task_description: str) -> str:
    """Return the hints that the *avatar* (眼 耳 鼻 舌 身 意, or an alias) gets for a task, or ""."""
    return _ask(cwd, lambda kb: kb.hint_for_avatar(avatar, task_description, project=kb.project(cwd)))


def _ask(cwd: str, question: Callable[[KnowledgeBase], str]) -> str:
    if find_root(cwd, os.environ) is None:
        return ""
    with KnowledgeBase.open(cwd) as kb:
        return question(kb)
