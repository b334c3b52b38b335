"""Check the records of a knowledge base: a tuple of rules, each a function from a shelf to findings."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import TYPE_CHECKING

from kb.checks import content_rules, file_rules, lifecycle, link_rules, merge_damage, staleness
from kb.checks.check_context import CheckContext, Rule, digest_text, load_check_context
from kb.checks.findings import CheckSurroundings, Finding, RecordSource, Secrets, Vague
from kb.config import Config
from kb.guard.call_targets import BANK
from kb.i18n import msg
from kb.records.kinds import KINDS
from kb.records.record_paths import CONTENT
from kb.safety import injection, injection_patterns, redaction
from kb.state import record_stamps
from kb.state.project import is_agent_shell
from kb.state.record_stamps import GONE, FileStamp, GuardSnapshot

if TYPE_CHECKING:
    from kb.checks.findings import Finding
    from kb.workspace import Workspace


RULES: tuple[Rule, ...] = (
    file_rules.check_readable,
    file_rules.check_kinds,
    file_rules.check_ids,
    file_rules.check_dates,
    file_rules.check_folders,
    file_rules.check_title_lines,
    file_rules.check_keys,
    file_rules.check_duplicate_ids,
    file_rules.check_duplicate_uids,
    file_rules.check_branch_ids,
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
    content_rules.check_untrusted,
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


_FILE = "clean.json"
_RULES = {"secret", "untrusted"}
_PROGRAMS = (injection_patterns, injection, content_rules, content_rules, redaction)


def load_clean_digests(kb: Workspace) -> frozenset[str]:
    """Return the digests of the texts in which the rules of today, with the settings of today, found nothing."""
    told = kb.state.load(_FILE)
    return frozenset(told["texts"].split()) if told and told.get("rules") == _fingerprint_rules(kb) else frozenset()


def save_clean_digests(kb: Workspace, everything: CheckContext, findings: Iterable[Finding]) -> None:
    """Keep which texts of *everything* are in none of the *findings* of those rules."""
    found = {finding.path for finding in findings if finding.rule in _RULES}
    clean = {digest_text(text.text) for text in everything.texts if text.path not in found}
    if clean != everything.surroundings.clean:
        with contextlib.suppress(OSError):
            kb.state.save({"rules": _fingerprint_rules(kb), "texts": " ".join(sorted(clean))}, _FILE)


def _fingerprint_rules(kb: Workspace) -> str:
    times = [os.stat(str(module.__file__)).st_mtime_ns for module in _PROGRAMS]
    return sha256(repr((times, kb.config.masking)).encode()).hexdigest()


_MENDED = "mended.json"
_GOING_ON = ("MERGE_HEAD", "CHERRY_PICK_HEAD", "REVERT_HEAD", "rebase-merge", "rebase-apply")
"""What stands in a git directory while git itself brings changes together."""


def check_staged_changes(kb: Workspace) -> Iterator[Finding]:
    """Report what an agent is about to commit that only kb writes: kb commits by itself (MBANK-37, second line)."""
    if kb.config.writer == "direct" or not is_agent_shell(kb.environment):
        return
    from kb.checks.findings import Finding  # a plain call asks only whose shell it is

    if any(os.path.lexists(os.path.join(kb.repository.git_dir, name)) for name in _GOING_ON):
        return
    mended = kb.state.load(_MENDED) or {}
    seen = record_stamps.load_snapshot(kb.root)
    for path, oid in _list_staged(kb).items():
        if seen and _is_undone(seen, path, oid):
            continue
        if path in mended and mended[path] == sha256(kb.repository.run_git(["cat-file", "blob", oid]).out).hexdigest():
            continue
        message = msg("an agent has staged a change here, where only kb writes")
        fix = msg("take it back: git restore --staged --worktree {path}; then: kb write", path=path)
        yield Finding("writer", "error", path, 1, message, fix)


def _is_undone(seen: GuardSnapshot, path: str, oid: str) -> bool:
    """Return whether the blob *oid* is what *path* had before a change of an agent: undoing it is no change."""
    from kb.guard.outside_changes import LEFT  # it asks this module what was mended

    oid = oid if oid.strip("0") else GONE
    entry = seen.files.get(path, FileStamp(GONE))
    return entry.mark == LEFT + oid or (entry.mark == GONE and entry.oid == oid != GONE)


def _list_staged(kb: Workspace) -> dict[str, str]:
    """Return path and blob of what is staged where only kb writes; in the index of the commit that is being made."""
    repository = kb.repository
    kept = [f"{CONTENT}/{folder}" for folder in sorted({kind.folder for kind in KINDS})]
    kept += [f"{CONTENT}/sessions", BANK]
    words = ("diff", "--cached", "--raw", "--no-abbrev", "--no-renames", "-z", "HEAD", "--")
    index = os.path.realpath(os.path.join(repository.top, kb.environment.get("GIT_INDEX_FILE") or os.devnull))
    own = index if index.startswith(os.path.realpath(repository.git_dir) + os.sep) else ""
    output = repository.run_git([*words, *(repository.prefix + folder for folder in kept)], index=own)
    parts = os.fsdecode(output.out).split("\0") if not output.code else []
    rows = zip(parts[::2], parts[1::2], strict=False)
    return {path.removeprefix(repository.prefix): about.split(" ")[3] for about, path in rows}
