"""Compress a session into a summary of so many tokens: the richest form that fits, with every anchor it cites."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.capture.form_choice import render_transcript_form
from kb.errors import BadInput
from kb.i18n import msg
from kb.search.query import find_references
from kb.sessions.forms import COMPACT, EXPANDED, LIMIT, NORMAL
from kb.sessions.render_forms import RenderedForm
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from kb.workspace import Workspace

_SHORTER = (LIMIT, 400, 300, 200, 140, 100, 60)
"""字 of the compact forms that are tried, one after the other."""


def compress_session(kb: Workspace, path: str, budget: int) -> RenderedForm:
    """Return the transcript *path* in *budget* tokens at most; raise BadInput where not even its anchors fit."""
    usual = kb.config
    expanded = render_transcript_form(kb, path, EXPANDED)
    ids = [reference.id for reference in find_references(expanded.text) if kb.index.find_by_id(reference.id)]
    least = 0
    try:
        for form, limit in (("", 0), (NORMAL, 0), *((COMPACT, limit) for limit in _SHORTER)):
            kb.config = usual._replace(compact_limit=limit or usual.compact_limit)
            made = render_transcript_form(kb, path, form) if form else expanded
            missing = [name for name in dict.fromkeys(ids) if f"[{name}]" not in made.text]
            text = made.text + (" ".join(f"[{name}]" for name in missing) + "\n" if missing else "")
            least = estimate_tokens(text)
            if least <= budget:
                return RenderedForm(text)
    finally:
        kb.config = usual
    problem = msg("the shortest summary with all its anchors has {n} tokens", n=least)
    raise BadInput(problem, path=path, hint=msg("give a larger --budget"))
