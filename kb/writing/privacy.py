"""Keep what is about a person out of a knowledge base that others read."""

from __future__ import annotations

import os

from kb.i18n import msg
from kb.paths import user_home
from kb.records.model import Candidate
from kb.safety.personal_facts import is_personal_fact
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.agent_shells import is_agent_shell
from kb.writing.objection import Objection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.workspace import Workspace

_PERSONAL = frozenset({"preference", "domain-note"})
"""Kinds under which a person's own facts are handed in; in others "I" is whoever wrote the document."""


def is_shared(kb: Workspace) -> bool:
    """Return whether others may read the knowledge base: all but the user's own one (`~/.kb`) without a remote."""
    if os.path.realpath(kb.root) != os.path.realpath(user_home(kb.environment)):
        return True
    return bool(kb.repository.run_git(["config", "--get-regexp", r"^remote\..*\.url$"]).out.strip())


def refuse_personal(kb: Workspace, candidate: Candidate) -> Iterator[Objection]:
    """Refuse what an agent hands in and is certainly about a person, where others would read it."""
    by_agent = bool(candidate.session or candidate.host) or is_agent_shell(kb.environment)
    if by_agent and candidate.kind in _PERSONAL and is_personal_fact(candidate) and is_shared(kb):
        reason = msg("it is about a person, and others read this knowledge base")
        yield Objection("personal", reason, msg("keep it in a knowledge base of your own: KB_HOME=~/.kb kb write"))
