"""Compare the checkout with the revision it is to be merged into: changes, their effect, and objections.

`record_diff` compares record by record, `merge_conflicts` finds the objections, `merge_damage` reads a
merge afterwards.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from kb.checks import content_rules, file_rules, lifecycle
from kb.checks.check_context import CheckContext, Finding, RecordSource, build_check_context, load_check_context
from kb.checks.collect_checks import collect_context, iter_sources
from kb.checks.merge_conflicts import MAX_COMPARED_RECORDS, DivergedRecords, MergeConflicts, load_divergence
from kb.checks.record_diff import Comparison, RecordChange, diff_parts, diff_records, summarise_merge
from kb.checks.run_checks import RULES, apply_rules, collect_project_ids, filter_findings, is_below, qualify_findings
from kb.git import revisions
from kb.index.record_ids import qualify_message_ids

if TYPE_CHECKING:
    from kb.workspace import Workspace

_CROSS_BRANCH_RULES = (
    file_rules.check_duplicate_ids,
    file_rules.check_duplicate_uids,
    content_rules.check_relations,
    content_rules.check_dangling_citations,
    content_rules.check_obsolete_citations,
    content_rules.check_links,
    lifecycle.check_missing_successors,
    lifecycle.check_unmarked_records,
    lifecycle.check_cycles,
    lifecycle.check_claims,
    lifecycle.check_impact_paths,
)
"""The rules by which a change to one file can make another one wrong."""
_SCANNING_RULES = (content_rules.check_secrets, content_rules.check_untrusted)
"""The rules that read a text letter by letter, which takes longer than all others: the rest was read when it came."""


def compare_with_revision(kb: Workspace, revision: str, *, below: Sequence[str] = ()) -> Comparison:
    """Return what merging the checkout into *revision* changes, in or *below* some paths, and what is against it.

    The files count as they are in the checkout, committed or not. Raise GitFailed where git cannot compare.
    """
    parted = revisions.find_divergence(kb, revision)
    paths = frozenset(revisions.list_changed_records(kb, parted.base))
    # what the index knows is used where there is one; it is not built for this
    has_index = os.path.exists(kb.state.path("index.db"))
    known = {record.path: record for record in kb.sync_index().records()} if has_index else {}
    context = collect_context(kb, iter_sources(kb, known))
    lines = load_divergence(kb, revision, parted, paths, context)
    conflicts = MergeConflicts(kb, lines, context)
    reported = [*conflicts.find_taken_ids(), *conflicts.find_contradictions(), *conflicts.find_rival_successors()]
    own, others = _split_findings(kb, lines, context)
    findings = qualify_findings(kb, [*reported, *_drop_repeated(own, reported, conflicts)], context, "")
    changes = [change for change in _iter_changes(lines, conflicts) if is_below(change.record.path, below)]
    shared = collect_project_ids(context)
    sentences = summarise_merge(changes, lines.merged, kb.config.language)
    # with ids by which a reader finds the records wherever they are
    meaning = (
        qualify_message_ids(kb, said, "", lambda record_id: ["project"] if record_id in shared else [])
        for said in sentences
    )
    return Comparison(
        revision,
        parted.base,
        tuple(changes),
        tuple(meaning),
        tuple(filter_findings(findings, below)),
        Counter(finding.severity for finding in others),
        uncommitted=len(revisions.list_changed_records(kb, parted.head)),
        branches=tuple(conflicts.branches),
        unseen=conflicts.unseen,
        uncompared=len(conflicts.changed_live[MAX_COMPARED_RECORDS:]),
        shared=shared,
    )


def _iter_changes(lines: DivergedRecords, conflicts: MergeConflicts) -> Iterator[RecordChange]:
    """Yield what this line changes: new records with what is like them, others with what has changed there too.

    What is said of a status is said against the other line's: that is what counts until the merge.
    """
    olds = lines.before
    before = [r._replace(status=lines.there[key].status) if key in lines.there else r for key, r in olds.items()]
    after = [lines.merged[record.identity] for record in lines.mine]
    new = 0
    for change in diff_records(before, after, lines.merged):
        key = change.record.identity
        if change.step == "new" and new < MAX_COMPARED_RECORDS:
            new += 1
            yield change._replace(similar=conflicts.there.find_similar(change.record))
        elif key in olds and key in lines.came:
            parts = [part.name for part in diff_parts(olds[key], lines.there[key])]
            moved = ["status"] if lines.there[key].status != olds[key].status else []
            yield change._replace(elsewhere=(*moved, *parts))
        else:
            yield change


# -- what is wrong --------------------------------------------------------------------------------


def _split_findings(
    kb: Workspace, lines: DivergedRecords, context: CheckContext
) -> tuple[list[Finding], list[Finding]]:
    """Return what is wrong in the changed files, or elsewhere because of them; then what is wrong anyway."""
    was = {record.uid: record.status for record in lines.before.values() if record.uid}
    context = context._replace(surroundings=context.surroundings._replace(was=was))
    changed = context._replace(
        records=tuple(one for one in context.records if one.record.path in lines.paths),
        texts=tuple(text for text in context.texts if text.path in lines.paths),
        broken=tuple(broken for broken in context.broken if broken.source.path in lines.paths),
    )
    across = apply_rules(context, _CROSS_BRANCH_RULES)
    alone = apply_rules(context, [rule for rule in RULES if rule not in (*_CROSS_BRANCH_RULES, *_SCANNING_RULES)])
    findings = [*across, *alone, *apply_rules(changed, _SCANNING_RULES)]
    # a link to a record that this branch renames breaks in a file that it leaves alone: only what is new counts
    spread = [finding for finding in across if finding.path not in lines.paths]
    earlier = apply_rules(_load_base_context(kb, lines, context), _CROSS_BRANCH_RULES) if spread else ()
    before = {(finding.rule, finding.path, str(finding.message)) for finding in earlier}
    ours = {id(finding) for finding in findings if finding.path in lines.paths}
    ours |= {id(finding) for finding in spread if (finding.rule, finding.path, str(finding.message)) not in before}
    findings.sort(key=lambda f: (f.path not in lines.paths, f.path, f.line))
    return [f for f in findings if id(f) in ours], [f for f in findings if id(f) not in ours]


def _load_base_context(kb: Workspace, lines: DivergedRecords, context: CheckContext) -> CheckContext:
    """Return the checkout with the changed files as they were where the two lines parted."""
    files = kb.repository.read_files(lines.parted.base, sorted(lines.paths))
    sources = [RecordSource(path, data) for path, data in files.items() if data is not None]
    around = context.surroundings
    if kb.config.project in around.trees:
        names = kb.repository.git("ls-tree", "-r", "-z", "--name-only", "--full-tree", lines.parted.base)
        tree = frozenset(os.fsdecode(names).split("\0"))
        around = around._replace(trees={**around.trees, kb.config.project: tree})
    old = load_check_context(sources, around, context.config)
    records = (one for one in context.records if one.record.path not in lines.paths)
    broken = (one for one in context.broken if one.source.path not in lines.paths)
    return build_check_context((*records, *old.records), (*broken, *old.broken), around, context.config)


def _drop_repeated(
    findings: Iterable[Finding], reported: Iterable[Finding], conflicts: MergeConflicts
) -> Iterator[Finding]:
    """Yield the *findings* of the check that do not say again what the comparison has *reported*."""
    numbered = {finding.path for finding in reported if finding.rule == "branch-id"}
    for finding in findings:
        other = str(finding.message.values.get("other", ""))
        is_id_reported = finding.rule == "duplicate-id" and finding.path in numbered
        is_claim_reported = finding.rule == "claims" and (finding.path, other) in conflicts.contradicting
        if not is_id_reported and not is_claim_reported:
            yield finding
