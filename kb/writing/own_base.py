"""Write personal records to the person's own knowledge base (`~/.kb`) instead of the team's."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from kb.index.schema import Filter
from kb.records.model import GLOBAL, LIVE, OWN, SAID, Candidate, Verdict
from kb.safety.personal_facts import read_profile_claims
from kb.state.project import find_own_root, is_shared, open_own_base
from kb.writing.pipeline import write

if TYPE_CHECKING:
    from kb.workspace import Workspace


def write_to_own_base(kb: Workspace, candidates: Sequence[Candidate]) -> list[Verdict]:
    """Write *candidates*, which are about the person, to their own base (`~/.kb`) and return the verdicts.

    A newer statement on the same trait (`profile.*`) replaces the older one without a review, because the person alone
    decides. The verdicts name records as `me:U001`, with absolute paths. Return [] if there is no private base.
    """
    root = find_own_root(kb)
    if not root or not candidates:
        return []
    with open_own_base(kb, root) as own:
        if is_shared(own):
            return []
        verdicts = []
        for one in candidates:
            claims = {**read_profile_claims(one.decision or one.title), **one.claims}
            known = own.sync_index().find_by_facet("claim", list(claims), Filter(statuses=tuple(LIVE)))
            older = {old.id for key, value, old in known if key.startswith("profile.") and value != claims[key]}
            placed = one._replace(
                kind="preference", scope=GLOBAL, claims=claims, supersedes=tuple(sorted(older)), impact=(), updates=""
            )
            verdicts += write(own, [placed._replace(affects_future=True)], proofs=[SAID], decided=True)
    return [
        verdict._replace(id=OWN + verdict.id, path=os.path.join(root, verdict.path)) if verdict.path else verdict
        for verdict in verdicts
    ]
