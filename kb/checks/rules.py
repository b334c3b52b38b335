"""Check the records of a knowledge base: a tuple of rules, each a function from a shelf to findings."""

from __future__ import annotations

from collections.abc import Iterable

from kb.checks import content_rules, file_rules, identity, lifecycle, link_rules, merge_damage, staleness, trust_rules
from kb.checks.check_context import CheckContext, Rule, load_check_context
from kb.checks.findings import CheckSurroundings, Finding, RecordSource, Secrets, Vague
from kb.config import Config

RULES: tuple[Rule, ...] = (
    file_rules.check_readable,
    file_rules.check_kinds,
    file_rules.check_ids,
    file_rules.check_dates,
    file_rules.check_folders,
    file_rules.check_title_lines,
    file_rules.check_keys,
    identity.check_duplicate_ids,
    identity.check_duplicate_uids,
    identity.check_branch_ids,
    link_rules.check_relations,
    link_rules.check_double_relations,
    link_rules.check_coexistence_reasons,
    link_rules.check_dangling_citations,
    link_rules.check_obsolete_citations,
    link_rules.check_links,
    lifecycle.check_statuses,
    lifecycle.check_transitions,
    lifecycle.check_missing_successors,
    lifecycle.check_unmarked_records,
    lifecycle.check_cycles,
    lifecycle.check_required_sections,
    lifecycle.check_claims,
    lifecycle.check_contradictions,
    merge_damage.check_duplicate_sections,
    merge_damage.check_both_sides,
    merge_damage.check_duplicate_items,
    merge_damage.check_duplicate_lines,
    merge_damage.check_leftover_markers,
    staleness.check_impact_paths,
    staleness.check_stale_records,
    staleness.check_verifications,
    staleness.check_fixes,
    staleness.check_old_records,
    content_rules.check_secrets,
    content_rules.check_vague_titles,
    trust_rules.check_untrusted,
)
"""A new rule: one function, one word here."""


def check_sources(
    sources: Iterable[RecordSource],
    surroundings: CheckSurroundings,
    config: Config,
    *,
    secrets: Secrets,
    vague: Vague,
    rules: Iterable[Rule] = RULES,
) -> list[Finding]:
    """Return everything that is wrong with the records, by path and line; an empty list is a clean bill."""
    return apply_rules(load_check_context(sources, surroundings, config, secrets, vague), rules)


def apply_rules(everything: CheckContext, rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Return what the *rules* find on the shelf, by path and line."""
    findings = [finding for rule in rules for finding in rule(everything)]
    return sorted(findings, key=lambda f: (f.path, f.line, f.rule, str(f.message)))
