"""Compare the checkout with the revision it is to be merged into: what changes, what that means, what is against it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kb.checks import collect_checks, content_rules, file_rules, lifecycle, link_rules, staleness
from kb.checks import record_diff as changing
from kb.checks.check_context import CheckContext, build_check_context, load_check_context
from kb.checks.findings import Finding, RecordSource
from kb.checks.merge_conflicts import MOST, DivergedRecords, MergeConflicts, load_divergence
from kb.checks.record_diff import Comparison, RecordChange, summarise_merge
from kb.checks.run_checks import RULES, apply_rules
from kb.git import revisions
from kb.i18n import Message
from kb.index.record_ids import qualify_message_ids

if TYPE_CHECKING:
    from kb.workspace import Workspace

_ACROSS = (
    file_rules.check_duplicate_ids,
    file_rules.check_duplicate_uids,
    link_rules.check_relations,
    link_rules.check_dangling_citations,
    link_rules.check_obsolete_citations,
    link_rules.check_links,
    lifecycle.check_missing_successors,
    lifecycle.check_unmarked_records,
    lifecycle.check_cycles,
    lifecycle.check_claims,
    staleness.check_impact_paths,
)
"""The rules by which a change to one file can make another one wrong."""
_SCANNING = (content_rules.check_secrets, content_rules.check_untrusted)
"""The rules that read a text letter by letter, which takes longer than all others: the rest was read when it came."""


def compare_with_revision(kb: Workspace, revision: str, *, below: Sequence[str] = ()) -> Comparison:
    """Return what merging the checkout into *revision* changes, in or *below* some paths, and what is against it.

    The files count as they stand in the checkout, committed or not. Raise GitFailed where git cannot compare.
    """
    parted = revisions.find_divergence(kb, revision)
    paths = frozenset(revisions.list_changed_records(kb, parted.base))
    everything = collect_checks.collect_context(kb, _iter_indexed_sources(kb))
    lines = load_divergence(kb, revision, parted, paths, everything)
    against = MergeConflicts(kb, lines, everything)
    told = [*against.find_taken_ids(), *against.find_contradictions(), *against.find_rival_successors()]
    findings, others = _split_findings(kb, lines, everything)
    changes = [change for change in _iter_changes(lines, against) if collect_checks.is_below(change.record.path, below)]
    shared = collect_checks.collect_project_ids(everything)
    return Comparison(
        revision,
        parted.base,
        tuple(changes),
        tuple(qualify_messages(kb, summarise_merge(changes, lines.merged, kb.config.language), shared)),
        tuple(
            collect_checks.filter_findings(
                collect_checks.qualify_findings(kb, [*told, *_drop_repeated(findings, told, against)], everything, ""),
                below,
            )
        ),
        Counter(finding.severity for finding in others),
        uncommitted=len(revisions.list_changed_records(kb, parted.head)),
        branches=tuple(against.branches),
        unseen=against.unseen,
        uncompared=len(against.movers[MOST:]),
        shared=shared,
    )


def qualify_messages(kb: Workspace, sentences: Iterable[Message], shared: frozenset[str]) -> Iterator[Message]:
    """Yield the *sentences* with ids by which a reader finds the records wherever they stand."""
    for said in sentences:
        yield qualify_message_ids(kb, said, "", lambda record_id: ["project"] if record_id in shared else [])


def _iter_indexed_sources(kb: Workspace) -> Iterator[RecordSource]:
    """Yield the record files of the checkout, with what the index knows of them where there is one: it is not built."""
    there_is_one = os.path.exists(kb.state.path("index.db"))
    known = {record.path: record for record in kb.sync_index().records()} if there_is_one else {}
    for path, data, _ in collect_checks.iter_sources(kb):
        yield RecordSource(path, data, known.get(path))


# -- what changes ---------------------------------------------------------------------------------


def _iter_changes(lines: DivergedRecords, against: MergeConflicts) -> Iterator[RecordChange]:
    """Yield what this line changes: new records with what is like them, others with what has changed there too.

    What is said of a status is said against the other line's: that is what holds until the merge.
    """
    olds = {changing.record_identity(record): record for record in lines.before}
    before = [r._replace(status=lines.there[key].status) if key in lines.there else r for key, r in olds.items()]
    after = [lines.merged[key] for key in map(changing.record_identity, lines.mine)]
    new = 0
    for change in changing.diff_records(before, after, lines.merged):
        key = changing.record_identity(change.record)
        if change.step == "new" and new < MOST:
            new += 1
            yield change._replace(similar=against.there.find_similar(change.record))
        elif key in olds and key in lines.came:
            parts = [part.name for part in changing.diff_parts(olds[key], lines.there[key])]
            moved = ["status"] if lines.there[key].status != olds[key].status else []
            yield change._replace(elsewhere=(*moved, *parts))
        else:
            yield change


# -- what is wrong --------------------------------------------------------------------------------


def _split_findings(
    kb: Workspace, lines: DivergedRecords, everything: CheckContext
) -> tuple[list[Finding], list[Finding]]:
    """Return what is wrong in the changed files, or elsewhere because of them; then what is wrong anyway."""
    was = {record.uid: record.status for record in lines.before if record.uid}
    everything = everything._replace(surroundings=everything.surroundings._replace(was=was))
    alone = [rule for rule in RULES if rule not in (*_ACROSS, *_SCANNING)]
    across = apply_rules(everything, _ACROSS)
    findings = [
        *across,
        *apply_rules(everything, alone),
        *apply_rules(_restrict_context(everything, lines.paths), _SCANNING),
    ]
    spread = [finding for finding in across if finding.path not in lines.paths]
    before = {
        _finding_identity(f)
        for f in (apply_rules(_load_base_context(kb, lines, everything), _ACROSS) if spread else ())
    }
    ours = {id(f) for f in findings if f.path in lines.paths} | {
        id(f) for f in spread if _finding_identity(f) not in before
    }
    findings.sort(key=lambda f: (f.path not in lines.paths, f.path, f.line))
    return [f for f in findings if id(f) in ours], [f for f in findings if id(f) not in ours]


def _finding_identity(finding: Finding) -> tuple[str, str, str]:
    return finding.rule, finding.path, str(finding.message)


def _restrict_context(everything: CheckContext, paths: frozenset[str]) -> CheckContext:
    """Return the shelf with nothing but the files *paths*, for rules that look at one file alone."""
    return everything._replace(
        opened=tuple(one for one in everything.opened if one.record.path in paths),
        texts=tuple(text for text in everything.texts if text.path in paths),
        broken=tuple(broken for broken in everything.broken if broken.source.path in paths),
    )


def _load_base_context(kb: Workspace, lines: DivergedRecords, everything: CheckContext) -> CheckContext:
    """Return the checkout with the changed files as they stood where the two lines parted."""
    paths = sorted(lines.paths)
    blobs = kb.repository.read_blobs([(lines.parted.base, path) for path in paths])
    olds = [RecordSource(path, data) for path, data in zip(paths, blobs, strict=True) if data is not None]
    around = everything.surroundings
    if kb.config.project in around.trees:
        names = kb.repository.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", lines.parted.base)
        tree = frozenset(os.fsdecode(names).split("\0"))
        around = around._replace(trees={**around.trees, kb.config.project: tree})
    about = (around, everything.config, everything.secrets, everything.vague)
    old = load_check_context(olds, *about)
    kept = [one for one in everything.opened if one.record.path not in lines.paths]
    broken = [one for one in everything.broken if one.source.path not in lines.paths]
    return build_check_context([*kept, *old.opened], [*broken, *old.broken], *about)


def _drop_repeated(findings: Iterable[Finding], told: Iterable[Finding], against: MergeConflicts) -> Iterator[Finding]:
    """Yield the *findings* of the check that do not say again what the comparison has *told*."""
    numbered = {finding.path for finding in told if finding.rule == "branch-id"}
    for finding in findings:
        other = str(finding.message.values.get("other", ""))
        numbered_anew = finding.rule == "duplicate-id" and finding.path in numbered
        again = numbered_anew or (finding.rule == "claims" and (finding.path, other) in against.clashing)
        if not again:
            yield finding
