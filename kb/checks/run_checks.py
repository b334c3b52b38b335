"""Check the records of a knowledge base: a table of rules, each a function from the context to findings.

Also compare the checkout with the revision it is to be merged into: changes, effects and objections.
`record_diff` compares the records; `merge_conflicts` finds the objections, and damage done by a past merge.
"""

from __future__ import annotations

import contextlib
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.adr.adopted import list_record_files
from kb.checks import content_rules, file_rules, lifecycle_rules, merge_conflicts
from kb.checks.check_context import (
    CheckContext,
    Finding,
    RecordSource,
    build_check_context,
    build_fixes,
    digest_text,
    load_check_context,
)
from kb.checks.collect_checks import add_other_branches, collect_context, iter_sources
from kb.checks.merge_conflicts import MAX_COMPARED_RECORDS, DivergedRecords, MergeConflicts, load_divergence
from kb.checks.record_diff import Comparison, RecordChange, diff_parts, diff_records, summarise_merge
from kb.context import memory_md
from kb.errors import KbError
from kb.files import read_if_exists, write_atomic
from kb.git import revisions
from kb.git.dropped_records import list_still_dropped, put_back_if_free
from kb.git.repository import UNDER_WAY
from kb.guard.call_paths import BANK
from kb.guard.outside_changes import MARK_LEFT_BY_AGENT
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_message_ids
from kb.records.kinds import CONTENT, KINDS, generate_ulid
from kb.records.model import GLOBAL, Record
from kb.safety import injection, injection_patterns, redaction
from kb.state import record_stamps
from kb.state.project import is_agent_shell, load_kb_edits, save_kb_edits
from kb.state.record_stamps import GONE, FileStamp
from kb.writing.publish import rescue_lost_work

if TYPE_CHECKING:
    from kb.workspace import Workspace

Rule = Callable[[CheckContext], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    file_rules.check_readable,
    file_rules.check_markers,
    file_rules.check_kinds,
    file_rules.check_fields,
    file_rules.check_ids,
    file_rules.check_date_format,
    file_rules.check_folders,
    file_rules.check_title_lines,
    file_rules.check_keys,
    file_rules.check_duplicate_ids,
    file_rules.check_adopted_numbers,
    file_rules.check_duplicate_uids,
    file_rules.check_branch_ids,
    content_rules.check_relations,
    content_rules.check_double_relations,
    content_rules.check_coexistence_reasons,
    content_rules.check_dangling_citations,
    content_rules.check_obsolete_citations,
    content_rules.check_links,
    lifecycle_rules.check_statuses,
    lifecycle_rules.check_transitions,
    lifecycle_rules.check_missing_successors,
    lifecycle_rules.check_unmarked_records,
    lifecycle_rules.check_cycles,
    lifecycle_rules.check_required_sections,
    lifecycle_rules.check_claims,
    lifecycle_rules.check_contradictions,
    merge_conflicts.check_duplicate_sections,
    merge_conflicts.check_both_sides,
    merge_conflicts.check_duplicate_items,
    merge_conflicts.check_duplicate_lines,
    merge_conflicts.check_leftover_markers,
    lifecycle_rules.check_impact_paths,
    lifecycle_rules.check_stale_records,
    lifecycle_rules.check_due_records,
    lifecycle_rules.check_verifications,
    lifecycle_rules.check_fixes,
    lifecycle_rules.check_old_records,
    content_rules.check_secrets,
    content_rules.check_vague_titles,
    content_rules.check_untrusted,
)
"""To add a rule, write a function and list it here."""

OWN_FORM = frozenset({"bare", "field", "file-name", "folder", "heading", "key", "stale", "title", "twice", "uid"})
"""Rules on the format of kb's own files; adopted files are exempt."""
_CLEAN_FILE = "clean.json"
"""Digests of the texts in which the character-by-character rules found nothing."""
_COSTLY_PROGRAMS = (injection_patterns, injection, content_rules, redaction)


class CheckResult(NamedTuple):
    """The findings of a check, and the number of records checked."""

    findings: list[Finding]
    records: int
    shared: frozenset[str] = frozenset()
    """The ids used by records of projects; alone they do not identify a global record to every reader."""


def apply_rules(context: CheckContext, rules: Iterable[Rule] = RULES) -> list[Finding]:
    """Return the findings of *rules* by path and line; adopted files are exempt from OWN_FORM.

    Findings in the text of an adopted file are warnings at most, so that adopting a folder breaks no build."""
    files = list_record_files(context.config)
    results = (finding for rule in rules for finding in rule(context))
    findings = [
        one if files.find_folder(one.path) is None else one._replace(severity="warning")
        for one in results
        if one.rule not in OWN_FORM or files.find_folder(one.path) is None
    ]
    return sorted(findings, key=lambda f: (f.path, f.line, f.rule, str(f.message)))


def check_records(kb: Workspace, *, fix: bool = False, below: Sequence[str] = ()) -> list[Finding]:
    """Return the problems in the files or folders *below* (none: all).

    With *fix*, first repair the checkout where that is safe, and check again.
    """
    return run_check(kb, fix=fix, below=below).findings


def run_check(kb: Workspace, *, fix: bool = False, below: Sequence[str] = (), reader: str | None = None) -> CheckResult:
    """Do the same as `check_records` and count the records; *reader* is that of `qualify_findings`."""
    put_back_if_free(kb)
    rescue_lost_work(kb)
    sources = list(iter_sources(kb))
    context = add_other_branches(kb, collect_context(kb, sources))
    findings = [*apply_rules(context), *check_staged_changes(kb), *_find_dropped_records(kb), *_find_stale_memory(kb)]
    findings = filter_findings(qualify_findings(kb, findings, context, reader), below)
    if fix and _write_fixes(kb, findings, sources):  # a fix may reveal a problem hidden by another
        return run_check(kb, below=below, reader=reader)
    return CheckResult(findings, len(context.records), collect_project_ids(context))


def check_unsaved_record(kb: Workspace, path: str, text: str) -> tuple[list[Finding], str]:
    """Return the problems of the unsaved record *path*, and *text* with the safe fixes applied.

    All other records are taken from the checkout; the record itself is compared with other branches too. The text is ""
    if there is nothing to fix.
    """
    source = RecordSource(path, text.encode("utf-8", "surrogatepass"))
    known = {record.path: record for record in kb.sync_index().records()}
    sources = [*(one for one in iter_sources(kb, known) if one.path != path), source]
    context = add_other_branches(kb, collect_context(kb, sources))
    # checking all of 10,000 records at each keystroke would take seconds; most rules look at one record at a time
    texts = tuple(one for one in context.texts if one.path == path)
    alone = context._replace(records=tuple(one for one in context.records if one.record.path == path), texts=texts)
    across: dict[Rule, CheckContext] = dict.fromkeys(_CROSS_BRANCH_RULES, context._replace(texts=texts))
    findings = (finding for rule in RULES for finding in rule(across.get(rule, alone)))
    own = sorted(filter_findings(list(findings), [path]), key=lambda f: (f.line, f.rule, str(f.message)))
    fixed = build_fixes(own, [source], lambda: generate_ulid(kb.now())).get(path, b"")
    return qualify_findings(kb, own, context), fixed.decode("utf-8", "surrogatepass")


def _write_fixes(kb: Workspace, findings: Iterable[Finding], sources: Sequence[RecordSource]) -> bool:
    """Write the safe fixes; return whether there were any."""
    before = {source.path: source.data for source in sources}
    new = build_fixes(findings, sources, lambda: generate_ulid(kb.now()))
    files = {path: os.path.join(kb.root, *path.split("/")) for path in new}
    # skip files that somebody has changed since they were read: a check takes seconds
    fixed = {path: data for path, data in new.items() if read_if_exists(files[path]) == before[path]}
    for path, data in fixed.items():
        write_atomic(files[path], data)
    save_kb_edits(kb, fixed)
    return bool(fixed)


def collect_project_ids(context: CheckContext) -> frozenset[str]:
    """Return the ids used by records of projects."""
    return frozenset(record_id for scope, record_id in context.known if scope != GLOBAL)


def qualify_findings(
    kb: Workspace, findings: Iterable[Finding], context: CheckContext, reader: str | None = None
) -> list[Finding]:
    """Return *findings* with ids qualified for the *reader*, a scope (None: the caller; "": any reader)."""
    scopes: dict[str, list[str]] = {}
    for scope, record_id in context.known:
        scopes.setdefault(record_id, []).append(scope)

    def qualify_message(message: Message) -> Message:
        return qualify_message_ids(kb, message, reader, lambda record_id: scopes.get(record_id, ()))

    return [one._replace(message=qualify_message(one.message), fix=qualify_message(one.fix)) for one in findings]


def filter_findings(findings: list[Finding], below: Sequence[str]) -> list[Finding]:
    """Return the *findings* in the files or folders *below* (none: all)."""
    return [finding for finding in findings if is_below(finding.path, below)]


def is_below(path: str, below: Sequence[str]) -> bool:
    """Return whether *path* is one of *below* or under one; always if *below* is empty."""
    tops = [top.rstrip("/") for top in below]
    return not tops or "" in tops or any(path == top or path.startswith(top + "/") for top in tops)


# -- what was checked before ----------------------------------------------------------------------


def recheck_records(kb: Workspace, records: Iterable[Record]) -> list[Finding]:
    """Return the problems of *records*, which the index has parsed.

    Texts found clean before are not read character by character again.
    """
    times = [os.stat(str(module.__file__)).st_mtime_ns for module in _COSTLY_PROGRAMS]
    fingerprint = sha256(repr((times, kb.config.masking)).encode()).hexdigest()
    saved = kb.state.load(_CLEAN_FILE)
    clean = frozenset(saved["texts"].split()) if saved and saved.get("rules") == fingerprint else frozenset()
    sources = iter_sources(kb, {record.path: record for record in records})
    context = add_other_branches(kb, collect_context(kb, sources, clean))
    findings = apply_rules(context)
    paths_with_findings = {finding.path for finding in findings if finding.rule in ("secret", "untrusted")}
    now = {digest_text(text.text) for text in context.texts if text.path not in paths_with_findings}
    if now != clean:
        with contextlib.suppress(OSError):
            kb.state.save({"rules": fingerprint, "texts": " ".join(sorted(now))}, _CLEAN_FILE)
    return qualify_findings(kb, findings, context, "")


# -- what is in git's index and in other files ----------------------------------------------------


def _find_dropped_records(kb: Workspace) -> Iterator[Finding]:
    """Report records that the next `git commit` would delete or revert because git's index lacks them."""
    for path in list_still_dropped(kb):
        message = msg("git's index has an older version of this file: the next git commit would revert it")
        yield Finding("index", "warning", path, 1, message, msg("keep it: git add {path}", path=path))


def _find_stale_memory(kb: Workspace) -> Iterator[Finding]:
    """Report the files written by `kb memory` that differ from the records."""
    if not os.path.isfile(os.path.join(kb.root, *memory_md.MEMORY.split("/"))):
        return
    with contextlib.suppress(KbError):  # somebody has edited a block: `kb memory` reports that
        for page in memory_md.build_pages(kb):
            if page.is_stale:
                message = msg("it is not up to date with the records")
                yield Finding("memory", "warning", page.path, 1, message, msg("run: kb memory"))


def check_staged_changes(kb: Workspace) -> Iterator[Finding]:
    """Report staged changes of an agent in folders where only kb writes and commits (MBANK-37, second line)."""
    if kb.config.writer == "direct" or not is_agent_shell(kb.environment):
        return
    if any(os.path.lexists(os.path.join(kb.repository.git_dir, name)) for name in UNDER_WAY):
        return
    edits = load_kb_edits(kb)
    seen = record_stamps.load_snapshot(kb.root)
    for path, oid in _list_staged(kb).items():
        if seen:  # staging what *path* was before an agent's change undoes it, so it is no change
            undone = oid if oid.strip("0") else GONE
            entry = seen.files.get(path, FileStamp(GONE))
            if entry.mark == MARK_LEFT_BY_AGENT + undone or (entry.mark == GONE and entry.oid == undone != GONE):
                continue
        if path in edits and edits[path] == sha256(kb.repository.run_git(["cat-file", "blob", oid]).out).hexdigest():
            continue
        message = msg("an agent has staged a change here, where only kb writes")
        fix = msg("undo it: git restore --staged --worktree {path}; then: kb write", path=path)
        yield Finding("writer", "error", path, 1, message, fix)


def _list_staged(kb: Workspace) -> dict[str, str]:
    """Return path and blob of staged files in kb's folders, from the index of the commit under way."""
    repository = kb.repository
    folders = [f"{CONTENT}/{folder}" for folder in sorted({kind.folder for kind in KINDS})]
    folders += [f"{CONTENT}/sessions", BANK]
    # `git commit FILE` gives its hooks a temporary index below .git; do not trust any other path
    index = os.path.realpath(os.path.join(repository.top, kb.environment.get("GIT_INDEX_FILE") or os.devnull))
    own = index if index.startswith(os.path.realpath(repository.git_dir) + os.sep) else ""
    options = ("--cached", "--raw", "--no-abbrev", "--no-renames", "-z")
    paths = (repository.prefix + folder for folder in folders)
    output = repository.run_git(["diff", *options, "HEAD", "--", *paths], index=own)
    parts = os.fsdecode(output.out).split("\0") if not output.code else []
    rows = zip(parts[::2], parts[1::2], strict=False)  # ":100644 100644 <old> <new> M", then the path
    return {path.removeprefix(repository.prefix): about.split(" ")[3] for about, path in rows}


# -- a checkout compared with a revision ----------------------------------------------------------

_CROSS_BRANCH_RULES = (
    file_rules.check_duplicate_ids,
    file_rules.check_adopted_numbers,
    file_rules.check_duplicate_uids,
    content_rules.check_relations,
    content_rules.check_dangling_citations,
    content_rules.check_obsolete_citations,
    content_rules.check_links,
    lifecycle_rules.check_missing_successors,
    lifecycle_rules.check_unmarked_records,
    lifecycle_rules.check_cycles,
    lifecycle_rules.check_claims,
    lifecycle_rules.check_impact_paths,
)
"""Rules by which a change to one file can make another file wrong."""
_SCANNING_RULES = (content_rules.check_secrets, content_rules.check_untrusted)
"""Character-by-character rules, by far the slowest: unchanged files were checked when they were added."""


def compare_with_revision(kb: Workspace, revision: str, *, below: Sequence[str] = ()) -> Comparison:
    """Return what merging the checkout into *revision* changes in or *below* some paths, and the objections.

    Uncommitted files of the checkout count. Raise GitFailed if git cannot compare the two.
    """
    parted = revisions.find_divergence(kb, revision)
    paths = frozenset(revisions.list_changed_records(kb, parted.base))
    # use the index if there is one, but do not build it for this
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
    # with ids that identify the records for any reader
    meaning = (
        qualify_message_ids(kb, sentence, "", lambda record_id: ["project"] if record_id in shared else [])
        for sentence in sentences
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
    """Yield the changes of this line: similar records for new ones, changes on the other line for edited ones.

    A status is compared with that of the other line, which counts until the merge.
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
    """Return the problems in the changed files or caused by them, then the unrelated ones."""
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
    # renaming a record breaks links in files this branch does not change: count only new problems there
    spread = [finding for finding in across if finding.path not in lines.paths]
    earlier = apply_rules(_load_base_context(kb, lines, context), _CROSS_BRANCH_RULES) if spread else ()
    before = {(finding.rule, finding.path, str(finding.message)) for finding in earlier}
    ours = {id(finding) for finding in findings if finding.path in lines.paths}
    ours |= {id(finding) for finding in spread if (finding.rule, finding.path, str(finding.message)) not in before}
    findings.sort(key=lambda f: (f.path not in lines.paths, f.path, f.line))
    return [f for f in findings if id(f) in ours], [f for f in findings if id(f) not in ours]


def _load_base_context(kb: Workspace, lines: DivergedRecords, context: CheckContext) -> CheckContext:
    """Return the checkout with the changed files as they were in the merge base."""
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
    """Yield the *findings* of the check that the comparison has not *reported* already."""
    numbered = {finding.path for finding in reported if finding.rule == "branch-id"}
    for finding in findings:
        other = str(finding.message.values.get("other", ""))
        is_id_reported = finding.rule == "duplicate-id" and finding.path in numbered
        is_claim_reported = finding.rule == "claims" and (finding.path, other) in conflicts.contradicting
        if not is_id_reported and not is_claim_reported:
            yield finding
