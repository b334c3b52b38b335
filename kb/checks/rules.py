"""Check the records of a knowledge base: a tuple of rules, each a function from a shelf to findings."""

from __future__ import annotations

from collections.abc import Iterable

from kb.checks import content_rules, file_rules, identity, lifecycle, link_rules, merge_damage, staleness, trust_rules
from kb.checks.check_context import Rule, Shelf, shelf
from kb.checks.findings import Finding, Secrets, Source, Surroundings, Vague
from kb.config import Config

RULES: tuple[Rule, ...] = (
    file_rules.unreadable,
    file_rules.kinds,
    file_rules.ids,
    file_rules.dates,
    file_rules.folders,
    file_rules.title_lines,
    file_rules.keys,
    identity.duplicate_ids,
    identity.duplicate_uids,
    identity.ids_on_other_branches,
    link_rules.relations,
    link_rules.whole_or_part,
    link_rules.coexistence_reasons,
    link_rules.dangling_citations,
    link_rules.citations_of_the_dead,
    link_rules.broken_links,
    lifecycle.statuses,
    lifecycle.transitions,
    lifecycle.superseded_by_nobody,
    lifecycle.unmarked,
    lifecycle.cycles,
    lifecycle.required_sections,
    lifecycle.claims,
    lifecycle.clashes,
    merge_damage.sections_twice,
    merge_damage.both_texts,
    merge_damage.items_twice,
    merge_damage.lines_twice,
    merge_damage.leftover_markers,
    staleness.impact_paths,
    staleness.stale_records,
    staleness.failed_verifications,
    staleness.known_fixes,
    staleness.old_records,
    content_rules.secrets_in_texts,
    content_rules.vague_titles,
    trust_rules.untrusted,
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
