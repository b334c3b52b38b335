"""Rules on the lifecycle of records: status, supersession, sections, claims, contradictions, impact, age, due days."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import date
from fnmatch import translate

from kb.checks.check_context import CheckContext, FileTree, Finding, Key, LoadedRecord, parse_folder_key
from kb.context.still_true import STALE_SHARE, is_silenced_by_sources
from kb.i18n import Message, msg
from kb.records.kinds import FIXED_BY, REGRESSION_TEST, SECTIONS, find_kind, parse_uid_day, section_label, status_name
from kb.records.model import LIVE, TRANSITIONS, VALID_UNTIL, Record, Status, find_due_day, is_day, is_imported
from kb.text.segment import clip

_STATUS_ALIASES = {
    "生效": Status.ACCEPTED,
    "已生效": Status.ACCEPTED,
    "待验证": Status.PROPOSED,
    "待审核": Status.PROPOSED,
}
# decoration that people and other tools put around a status: "✅ Accepted", "**accepted**", "【生效】"
_ORNAMENT = re.compile(r"[\W_]+")
# placeholder text of an unwritten section: "TODO", "- [tbd]", "（待补充）", "…"
_PLACEHOLDER = re.compile(
    r"(?:[-*+][ \t]*)?[(（<\[]?(?:todo|tbd|fixme|待补充?|待定|待填写?|\.{3}|…+)[)）>\]]?[.。:：]?"
)


def check_statuses(context: CheckContext) -> Iterator[Finding]:
    """Report unknown statuses; for a recognisable spelling, suggest the right one (RUYI-18)."""
    known = [str(status) for status in Status]
    for one in context.records:
        if one.record.status in known:
            continue
        message = msg("there is no status {status}", status=clip(one.record.status, 40))
        plain = _ORNAMENT.sub("", one.record.status).casefold()  # "✅ Accepted" and "已生效" both mean accepted
        meant = str(_STATUS_ALIASES.get(plain, plain if plain in known else ""))
        if meant:
            fix = msg("write: status: {status}", status=meant)
            yield one.report("status", "status", message, fix, change={"status": meant})
        else:
            fix = msg("write one of: {statuses}", statuses=list(known))
            yield one.report("status", "status", message, fix)


def check_transitions(context: CheckContext) -> Iterator[Finding]:
    """Report a status that cannot follow the status before the change (RUYI-18)."""
    for one in context.records:
        before, now = context.surroundings.was.get(one.record.uid, ""), one.record.status
        if before in TRANSITIONS and now in TRANSITIONS and before != now and now not in TRANSITIONS[before]:
            allowed = [status for status in Status if status in TRANSITIONS[before]]
            message = msg("{now} cannot follow {before}", now=now, before=before)
            fix = msg("after {before} comes one of: {allowed}", before=before, allowed=allowed)
            yield one.report("transition", "status", message, fix)


# -- supersession ---------------------------------------------------------------------------------


def check_missing_successors(context: CheckContext) -> Iterator[Finding]:
    """Report a superseded record whose successor is missing, or not accepted yet."""
    unread = {scope for broken in context.broken for scope, id in [parse_folder_key(broken.source.path)] if id}
    for one in context.records:
        if one.record.status != Status.SUPERSEDED:
            continue
        id = one.record.scoped_id
        successors = [successor.record for successor in context.successors.get(one.record.key, ())]
        pending = [record for record in successors if record.status in (Status.PROPOSED, Status.REJECTED)]
        if not successors and one.record.scope not in unread and not is_imported(one.record.extra):
            message = msg("it is superseded, but by no record")
            fix = msg("name the successor: kb supersede {id} --by NEW; without one: kb status {id} deprecated", id=id)
            yield one.report("superseded", "status", message, fix)
        elif successors and len(pending) == len(successors):
            new = pending[0]
            message = msg("it is superseded by {id}, which is only {status}", id=new.scoped_id, status=new.status)
            fix = msg("accept {new}, or until then: kb status {id} accepted", new=new.scoped_id, id=id)
            waits = any(record.status == Status.PROPOSED for record in pending)
            yield one.report("superseded", "status", message, fix, severity="warning" if waits else "error")


def check_unmarked_records(context: CheckContext) -> Iterator[Finding]:
    """Report a live record that an accepted one supersedes as a whole, unless cycles or duplicate ids are involved."""
    on_cycles = _find_cycle_records(_collect_edges(context))
    for key, successors in context.successors.items():
        owners = context.by_key.get(key, ())
        accepted = [
            successor.record
            for successor in successors
            if successor.record.status == Status.ACCEPTED
            and key not in context.resolve_all(successor.record.scope, successor.record.amends)
        ]
        if len(owners) == 1 and accepted and key not in on_cycles and owners[0].record.status in LIVE:
            new, status = accepted[0].scoped_id, status_name(owners[0].record.status)
            message = msg("{new} supersedes it, and it is still {status}", new=new, status=status)
            change = {"status": str(Status.SUPERSEDED)}
            yield owners[0].report("unmarked", "status", message, msg("add the markers: kb check --fix"), change=change)


def check_cycles(context: CheckContext) -> Iterator[Finding]:
    """Report supersession cycles; of cycles that share a record, only one per run."""
    edges = _collect_edges(context)
    on_cycles = _find_cycle_records(edges)
    # with one edge per record the cycles are disjoint: any other is found once the first is fixed
    follow = {key: next(old for old in edges[key] if old in on_cycles) for key in on_cycles}
    walked: set[Key] = set()
    for key in sorted(follow):
        walk: dict[Key, int] = {}
        while key not in walked and key not in walk:
            walk[key] = len(walk)
            key = follow[key]
        walked.update(walk)
        cycle = list(walk)[walk[key] :] if key in walk else []
        if cycle:
            first = cycle.index(min(cycle))
            chain = " → ".join(id for _, id in [*cycle[first:], *cycle[:first], cycle[first]])
            message = msg("records supersede each other in a cycle: {chain}", chain=clip(chain, 200))
            fix = msg("remove the wrong supersedes: an older record cannot replace a newer one")
            yield context.by_key[cycle[first]][0].report("cycle", "supersedes", message, fix)


def _collect_edges(context: CheckContext) -> dict[Key, list[Key]]:
    """Map each record to the records it supersedes."""
    edges: dict[Key, list[Key]] = defaultdict(list)
    for old, successors in sorted(context.successors.items()):
        for one in successors:
            edges[one.record.key].append(old)
    return edges


def _find_cycle_records(edges: Mapping[Key, list[Key]]) -> set[Key]:
    """Return the records that are on a supersession cycle, or on a path between two cycles."""
    back: dict[Key, list[Key]] = defaultdict(list)
    for new, olds in edges.items():
        for old in olds:
            back[old].append(new)
    remaining = set(edges) & set(back)
    # Kahn's algorithm in both directions: removing dead ends leaves cycles and the paths between them
    for ahead, behind in ((edges, back), (back, edges)):
        ends = [key for key in remaining if remaining.isdisjoint(ahead[key])]
        while ends:
            end = ends.pop()
            remaining.discard(end)
            ends += [key for key in behind.get(end, ()) if key in remaining and remaining.isdisjoint(ahead[key])]
    return remaining


# -- sections -------------------------------------------------------------------------------------


def check_required_sections(context: CheckContext) -> Iterator[Finding]:
    """Report accepted records without a section their kind requires (RUYI-17); proposed ones if kb.toml says so."""
    is_strict = context.config.missing == "refuse"
    for one in context.records:
        record, kind = one.record, find_kind(one.record.kind)
        is_accepted = record.status == Status.ACCEPTED
        is_due = is_accepted or (is_strict and record.status == Status.PROPOSED)
        if kind is None or is_imported(record.extra) or not is_due:
            continue
        filled = {section.name for section in record.sections if _has_content(section.text)}
        filled |= {"impact"} if record.impact else set()
        due = [section for section in SECTIONS if section.name in kind.required and section.name not in filled]
        missing = [section_label(section.name, context.config.language) for section in due]
        if not missing or (is_accepted and record.confirmed and not is_strict):
            continue  # a person has confirmed the record as it is: there may be nothing to add
        if is_accepted:
            fix = msg("write what is missing, or let it wait: kb status {id} proposed", id=record.scoped_id)
            message = msg("it is accepted without: {sections}", sections=missing)
            yield one.report("sections", "status", message, fix, severity="error" if is_strict else "warning")
        else:
            message = msg("this knowledge base refuses records without: {sections}", sections=missing)
            yield one.report("sections", "status", message, msg("write what is missing"))


def _has_content(text: str) -> bool:
    """Return whether the *text* of a section is more than comments and a placeholder."""
    # comments are cut by hand: a search for "<!--.*?-->" is quadratic if many are not closed
    head, *tails = text.split("<!--")
    plain = (head + "".join(tail.partition("-->")[2] for tail in tails)).strip()
    return bool(plain) and not (len(plain) < 20 and _PLACEHOLDER.fullmatch(plain.casefold()))


# -- claims ---------------------------------------------------------------------------------------


def check_claims(context: CheckContext) -> Iterator[Finding]:
    """Report two accepted records of one scope that claim different values for one key, unless one names the other."""
    claimed: dict[Key, list[tuple[LoadedRecord, str, str, str]]] = defaultdict(list)
    for one in sorted(context.records, key=lambda one: one.age_key):
        for key, value in one.record.claims.items() if one.record.status == Status.ACCEPTED else ():
            claimed[one.record.scope, _normalise_words(key)].append((one, key, value, _normalise_words(value)))
    for claims in claimed.values():
        is_disputed = len({plain for _, _, _, plain in claims}) > 1
        for number, (one, key, value, plain) in enumerate(claims if is_disputed else ()):
            for other, _, theirs, other_plain in claims[:number]:
                if other_plain != plain and not _is_explained(context, one.record, other.record):
                    id = other.record.scoped_id
                    values = {"key": clip(key, 60), "ours": clip(value, 60), "theirs": clip(theirs, 60), "other": id}
                    message = msg("{key} is {ours} here, and {theirs} in {other}", **values)
                    fix = msg(
                        'supersede one of them, or say why both hold: coexists_with: {{{id}: "the reason"}}', id=id
                    )
                    yield one.report("claims", "claims", message, fix, item=key)
                    break


def _normalise_words(words: str) -> str:
    # "Retry  Limit" and "retry limit", "３" and "3" are the same claim
    return " ".join(unicodedata.normalize("NFKC", words).casefold().split())


def _is_explained(context: CheckContext, one: Record, other: Record) -> bool:
    """Return whether one of the two records names the other in coexists_with, supersedes or amends."""
    pairs = ((one, other), (other, one))
    named = ((*a.coexists_with, *a.supersedes, *a.amends) for a, _ in pairs)
    return any(b.key in context.resolve_all(a.scope, ids) for (a, b), ids in zip(pairs, named, strict=True))


def check_contradictions(context: CheckContext) -> Iterator[Finding]:
    """Report accepted records that contradict each other in their text; `check_claims` compares claims.

    Only recently changed records were compared, and pairs that name their relation (`coexists_with`, `supersedes`,
    `amends`) were left out.
    """
    by_path = {one.record.path: one for one in context.records if context.surroundings.contradictions}
    for (path, other_path), reason in context.surroundings.contradictions.items():
        one, other = by_path.get(path), by_path.get(other_path)
        if one and other and not _has_claim_conflict(one.record, other.record):
            # between records of another tool only a warning: their authors accepted both
            is_foreign = is_imported(one.record.extra) and is_imported(other.record.extra)
            fix = suggest_choice(other.record, one.record)
            yield one.report("contradiction", "title", reason, fix, severity="warning" if is_foreign else "error")


def suggest_choice(old: Record, new: Record) -> Message:
    """Return the next step for two records that contradict each other."""
    return msg(
        "replace one of them: kb supersede {old} --by {new}; or say why both hold: coexists_with",
        old=old.scoped_id,
        new=new.scoped_id,
    )


def _has_claim_conflict(one: Record, other: Record) -> bool:
    mine, theirs = (
        {_normalise_words(key): _normalise_words(value) for key, value in record.claims.items()}
        for record in (one, other)
    )
    return any(theirs.get(key, value) != value for key, value in mine.items())


# -- staleness ------------------------------------------------------------------------------------

UNSETTLED_DAYS = 180
"""Days after which a record that is still proposed is reported. Our judgement."""
UNCONFIRMED_DAYS = 730
"""Days after which an unconfirmed accepted record without tracked impact files is reported. Our judgement."""

VERIFIED, VERIFICATION_FAILED = "verified", "failed"
"""Front matter key for the result of `kb verify`, and its value for a failure."""

# "/etc/x", "~/x", "C:\\x", "\\\\host", and ".." anywhere in the path
_OUTSIDE = re.compile(r"(?:/|~|[A-Za-z]:[\\/]|\\\\)|(?:.*[\\/])?\.\.(?:[\\/]|$)")
# "src/a.py:12-40", "src/a.py#L12-L40"
_LINE_NUMBER = re.compile(r"(?::\d+(?:-\d+)?|#L\d+(?:-L\d+)?)$")


def check_impact_paths(context: CheckContext) -> Iterator[Finding]:
    """Report impact paths that lead out of the project or are not in its tree (RUYI-16).

    Paths imported from another repository are no error: they never existed here.
    """
    trees = {name: FileTree(files) for name, files in context.surroundings.trees.items()}
    answers: dict[tuple[str, str], bool] = {}
    for one in context.records:
        project = one.record.scope.removeprefix("project/")
        tree = trees.get(project)
        foreign = context.surroundings.foreign.get(one.record.path, frozenset())
        for path in one.record.impact if one.record.status in LIVE else ():
            if "://" in path:  # a URL is not a file
                continue
            if _OUTSIDE.match(path):
                message = msg("{path} leads outside the project", path=clip(path, 120))
                fix = msg("write the path relative to the project's root")
                yield one.report("impact", "impact", message, fix, item=path)
            elif tree and path not in foreign:
                if (project, path) not in answers:
                    answers[project, path] = _has_path(tree, normalise_path(path))
                if not answers[project, path]:
                    yield _report_missing_path(context, one, path, tree)


def _has_path(tree: FileTree, path: str) -> bool:
    """Return whether *path*, a file, a folder or a pattern with wildcards, is in the tree."""
    if path in tree.files or path in tree.folders:
        return True
    if not any(mark in path for mark in "*?["):
        return False
    # fnmatch has no "**", and its "*" matches slashes: "src/**/a.py" becomes "src/*a.py"
    pattern = re.compile(translate(path.replace("**/", "*")))
    return any(pattern.match(file) for file in tree.files)


def _report_missing_path(context: CheckContext, one: LoadedRecord, path: str, tree: FileTree) -> Finding:
    message = msg("the project has no {path}", path=clip(path, 120))
    if context.surroundings.changes.get(one.record.path, {}).get(path, 0.0) is None:
        message = msg("{path} has vanished since the record was confirmed", path=clip(path, 120))
    fix = msg("correct the path; if the record no longer applies: kb status {id} deprecated", id=one.record.scoped_id)
    if moved := tree.find_moved(normalise_path(path)):
        fix = msg("perhaps it moved: {target}", target=moved)
    is_accepted = one.record.status == Status.ACCEPTED
    return one.report("impact", "impact", message, fix, item=path, severity="error" if is_accepted else "warning")


def normalise_path(path: str) -> str:
    """Return *path* as git writes it: forward slashes, no `./`, no line number."""
    bare = _LINE_NUMBER.sub("", path.strip().replace("\\", "/"))
    return bare.removeprefix("./").rstrip("/") or "."


def check_stale_records(context: CheckContext) -> Iterator[Finding]:
    """Report accepted records whose impact files changed much or vanished since they were confirmed (RUYI-16).

    `check_impact_paths` reports vanished paths of projects whose tree is known.
    """
    for one in context.records:
        changes = context.surroundings.changes.get(one.record.path)
        is_told = one.record.status == Status.ACCEPTED or (
            one.record.status in LIVE and is_silenced_by_sources(one.record)
        )
        if not changes or not is_told:
            continue
        fix = _suggest_confirming(one)
        is_tree_known = one.record.scope.removeprefix("project/") in context.surroundings.trees
        for path, share in changes.items():
            if share is None and not is_tree_known:
                message = msg("{path} has vanished since the record was confirmed", path=clip(path, 120))
                yield one.report("stale", "impact", message, fix, item=path, severity="warning")
        # one finding per record, at the path that changed most
        share, path = max(((share, path) for path, share in changes.items() if share is not None), default=(0.0, ""))
        if share >= STALE_SHARE:
            day = one.record.confirmed or one.record.date or "?"
            values = {"share": round(min(share, 1.0) * 100), "path": clip(path, 120), "day": day}
            message = msg("{share}% of {path} changed since the record was confirmed ({day})", **values)
            yield one.report("stale", "impact", message, fix, item=path, severity="warning")


def _suggest_confirming(one: LoadedRecord) -> Message:
    return msg("read it again; if it still applies: kb confirm {id}", id=one.record.scoped_id)


def check_due_records(context: CheckContext) -> Iterator[Finding]:
    """Report live records past their `valid_until` day that nobody has confirmed since."""
    for one in context.records:
        if day := find_due_day(one.record, context.surroundings.today):
            message = msg("it was valid until {day}", day=day)
            fix = msg(
                "read it again; if it still applies: kb confirm {id}, or set a later {key}", **_name(one, VALID_UNTIL)
            )
            yield one.report("due", VALID_UNTIL, message, fix, severity="warning")


def _name(one: LoadedRecord, key: str) -> dict[str, object]:
    return {"id": one.record.scoped_id, "key": key}


def check_verifications(context: CheckContext) -> Iterator[Finding]:
    """Report live records whose verification failed when it was last run (RUYI-16)."""
    for one in context.records:
        verification = one.record.extra.get(VERIFIED)
        if (
            one.record.status in LIVE
            and isinstance(verification, Mapping)
            and verification.get("result") == VERIFICATION_FAILED
        ):
            message = msg("its verification failed on {day}", day=verification.get("date") or "–")
            fix = msg("fix the code or the record, then: kb verify {id}", id=one.record.id)
            yield one.report("verification", VERIFIED, message, fix, severity="warning")


def check_fixes(context: CheckContext) -> Iterator[Finding]:
    """Report a fix whose commit is not in the project, and a regression test that is not in its tree (ZCLAW-60)."""
    for one in context.records:
        commit, test = (str(one.record.extra.get(key, "")) for key in (FIXED_BY, REGRESSION_TEST))
        if context.surroundings.fixes.get(one.record.path) is False:
            message = msg("the project has no commit {commit}", commit=clip(commit, 64))
            yield one.report(
                "fix", FIXED_BY, message, msg("name the commit that fixed it, or remove {key}", key=FIXED_BY)
            )
        files = context.surroundings.trees.get(one.record.scope.removeprefix("project/"))
        if test and files is not None and normalise_path(test.partition("::")[0]) not in files:
            message = msg("the project has no {path}", path=clip(test, 120))
            fix = msg("name the regression test, or remove {key}", key=REGRESSION_TEST)
            yield one.report("fix", REGRESSION_TEST, message, fix)
        if commit and not test and one.record.status in LIVE:
            message = msg("it names its fix, but no test that guards against a regression")
            fix = msg("add {key}: with the path of the test", key=REGRESSION_TEST)
            yield one.report("fix", FIXED_BY, message, fix, severity="warning")


def check_old_records(context: CheckContext) -> Iterator[Finding]:
    """Report old proposals, and accepted records without tracked impact files that are long unconfirmed.

    `file_rules.check_date_format` checks whether a date is valid.
    """
    if not context.surroundings.today:
        return
    today = date.fromisoformat(context.surroundings.today)
    for one in context.records:
        day = one.record.confirmed or one.record.date
        if not is_day(day):
            continue
        came = "" if one.record.confirmed else context.surroundings.adopted.get(one.record.path, "")
        known = (day, came, _find_import_day(one.record))
        age = (today - max(date.fromisoformat(each) for each in known if is_day(each))).days
        if one.record.status == Status.PROPOSED and age > UNSETTLED_DAYS:
            message = msg("it has waited {days} days for a decision", days=age)
            fix = msg("decide it: kb status {id} accepted, or rejected", id=one.record.scoped_id)
            yield one.report("unsettled", "status", message, fix, severity="warning")
        has_changes = bool(context.surroundings.changes.get(one.record.path))
        if one.record.status == Status.ACCEPTED and age > UNCONFIRMED_DAYS and not has_changes:
            message = msg("nobody has confirmed it for {days} days", days=age)
            yield one.report("stale", "date", message, _suggest_confirming(one), severity="warning")


def _find_import_day(record: Record) -> str:
    """Return the day on which a record of another tool was imported: its own date may be years older."""
    return parse_uid_day(record.uid) if is_imported(record.extra) and not record.confirmed else ""
