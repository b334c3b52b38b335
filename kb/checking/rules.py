"""Check the records of a knowledge base: a tuple of rules, each a function from a shelf to findings."""

from __future__ import annotations

from collections.abc import Iterable

from kb.checking import drift, identity, links, lives, merged, schema, trust, wording
from kb.checking.findings import Finding, Secrets, Source, Surroundings, Vague
from kb.checking.shelf import Rule, Shelf, shelf
from kb.config import Config

RULES: tuple[Rule, ...] = (
    schema.unreadable,
    schema.kinds,
    schema.ids,
    schema.dates,
    schema.folders,
    schema.title_lines,
    schema.keys,
    identity.duplicate_ids,
    identity.duplicate_uids,
    identity.ids_on_other_branches,
    links.relations,
    links.whole_or_part,
    links.coexistence_reasons,
    links.dangling_citations,
    links.citations_of_the_dead,
    links.broken_links,
    lives.statuses,
    lives.transitions,
    lives.superseded_by_nobody,
    lives.unmarked,
    lives.cycles,
    lives.required_sections,
    lives.claims,
    lives.clashes,
    merged.sections_twice,
    merged.both_texts,
    merged.items_twice,
    merged.lines_twice,
    merged.leftover_markers,
    drift.impact_paths,
    drift.stale_records,
    drift.failed_verifications,
    drift.known_fixes,
    drift.old_records,
    wording.secrets_in_texts,
    wording.vague_titles,
    trust.untrusted,
)
"""A new rule: one function, one word here."""


def check(
    sources: Iterable[Source],
    surroundings: Surroundings,
    config: Config,
    *,
    secrets: Secrets,
    vague: Vague,
    rules: Iterable[Rule] = RULES,
) -> list[Finding]:
    """Return everything that is wrong with the records, by path and line; an empty list is a clean bill."""
    return found(shelf(sources, surroundings, config, secrets, vague), rules)


def found(everything: Shelf, rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Return what the *rules* find on the shelf, by path and line."""
    findings = [finding for rule in rules for finding in rule(everything)]
    return sorted(findings, key=lambda f: (f.path, f.line, f.rule, str(f.message)))
