"""Rules on stale records: paths in `impact` that are gone or changed, old records, failed verifications."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, timedelta
from fnmatch import translate

from kb.checks.check_context import CheckContext, FileTree, LoadedRecord
from kb.checks.file_rules import is_day
from kb.checks.findings import Finding
from kb.i18n import Message, msg
from kb.records.kinds import FIXED_BY, REGRESSION_TEST
from kb.records.model import LIVE, Record, Status, is_imported
from kb.text.segment import clip

STALE_SHARE = 0.5
"""Share of a file's lines changed since a record was confirmed, from which the record is doubted. Our judgement."""
UNSETTLED_DAYS = 180
"""Days after which a record that is still proposed is brought up. Our judgement."""
UNCONFIRMED_DAYS = 730
"""Days after which an accepted record whose impact nobody can follow is brought up. Our judgement."""

VERIFIED, VERIFICATION_FAILED = "verified", "failed"
"""The key under which `kb verify` notes what came of it, and the word for a failure."""

_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
# "/etc/x", "~/x", "C:\\x", "\\\\host", and ".." anywhere on the way
_OUTSIDE = re.compile(r"(?:/|~|[A-Za-z]:[\\/]|\\\\)|(?:.*[\\/])?\.\.(?:[\\/]|$)")
# "src/a.py:12-40", "src/a.py#L12-L40"
_LINE_NUMBER = re.compile(r"(?::\d+(?:-\d+)?|#L\d+(?:-L\d+)?)$")


def check_impact_paths(context: CheckContext) -> Iterator[Finding]:
    """Report impact paths that lead out of the project, and those that its tree does not have (RUYI-16)."""
    trees = {name: FileTree(files) for name, files in context.surroundings.trees.items()}
    answers: dict[tuple[str, str], bool] = {}
    for one in context.records:
        project = one.record.scope.removeprefix("project/")
        tree = trees.get(project)
        for path in one.record.impact if one.record.status in LIVE else ():
            if "://" in path:  # an address is nobody's file
                continue
            if _OUTSIDE.match(path):
                message = msg("{path} leads outside the project", path=clip(path, 120))
                fix = msg("write the path relative to the project's root")
                yield one.report("impact", "impact", message, fix, item=path)
            elif tree:
                if (project, path) not in answers:
                    answers[project, path] = _has_path(tree, normalise_path(path))
                if not answers[project, path]:
                    yield _report_missing_path(context, one, path, tree)


def _has_path(tree: FileTree, path: str) -> bool:
    """Return whether *path*, which may be a folder or have wildcards, is in the tree."""
    if path in tree.files or path in tree.folders:
        return True
    if not any(mark in path for mark in "*?["):
        return False
    # fnmatch knows no "**", and its "*" goes through folders: "src/**/a.py" is "src/*a.py" to it
    pattern = re.compile(translate(path.replace("**/", "*")))
    return any(pattern.match(file) for file in tree.files)


def _report_missing_path(context: CheckContext, one: LoadedRecord, path: str, tree: FileTree) -> Finding:
    message = msg("the project has no {path}", path=clip(path, 120))
    if context.surroundings.changes.get(one.record.path, {}).get(path, 0.0) is None:
        message = msg("{path} has vanished since the record was confirmed", path=clip(path, 120))
    fix = msg("correct the path; if the record holds no more: kb status {id} deprecated", id=one.record.scoped_id)
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

    A vanished path of a project whose tree is known is reported by `check_impact_paths`.
    """
    for one in context.records:
        changes = context.surroundings.changes.get(one.record.path)
        if not changes or one.record.status != Status.ACCEPTED:
            continue
        fix = _suggest_confirming(one)
        is_tree_known = one.record.scope.removeprefix("project/") in context.surroundings.trees
        for path, share in changes.items():
            if share is None and not is_tree_known:
                message = msg("{path} has vanished since the record was confirmed", path=clip(path, 120))
                yield one.report("stale", "impact", message, fix, item=path, severity="warning")
        # once for a record, at the path that changed most
        share, path = max(((share, path) for path, share in changes.items() if share is not None), default=(0.0, ""))
        if share >= STALE_SHARE:
            day = one.record.confirmed or one.record.date or "?"
            values = {"share": round(min(share, 1.0) * 100), "path": clip(path, 120), "day": day}
            message = msg("{share}% of {path} changed since the record was confirmed ({day})", **values)
            yield one.report("stale", "impact", message, fix, item=path, severity="warning")


def _suggest_confirming(one: LoadedRecord) -> Message:
    return msg("read it again; if it still holds: kb confirm {id}", id=one.record.scoped_id)


def check_verifications(context: CheckContext) -> Iterator[Finding]:
    """Report live records whose verification failed when it was last run (RUYI-16)."""
    for one in context.records:
        kept = one.record.extra.get(VERIFIED)
        if one.record.status in LIVE and isinstance(kept, Mapping) and kept.get("result") == VERIFICATION_FAILED:
            message = msg("its verification failed on {day}", day=kept.get("date") or "–")
            fix = msg("fix the code or the record, then: kb verify {id}", id=one.record.id)
            yield one.report("verification", VERIFIED, message, fix, severity="warning")


def check_fixes(context: CheckContext) -> Iterator[Finding]:
    """Report a fix whose commit the project does not have, and a regression test that its tree lacks (ZCLAW-60)."""
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
            message = msg("it names its fix, but no test that prevents a regression")
            fix = msg("add {key}: with the path of the test", key=REGRESSION_TEST)
            yield one.report("fix", FIXED_BY, message, fix, severity="warning")


def check_old_records(context: CheckContext) -> Iterator[Finding]:
    """Report what waits too long for a verdict, and what nobody confirmed for long and no file speaks for.

    Whether a date is one at all is the business of `file_rules.check_date_format`.
    """
    if not context.surroundings.today:
        return
    today = date.fromisoformat(context.surroundings.today)
    for one in context.records:
        day = one.record.confirmed or one.record.date
        if not is_day(day):
            continue
        age = (today - max(date.fromisoformat(day), _find_import_day(one.record) or date.min)).days
        if one.record.status == Status.PROPOSED and age > UNSETTLED_DAYS:
            message = msg("it has waited {days} days for a decision", days=age)
            fix = msg("decide it: kb status {id} accepted, or rejected", id=one.record.scoped_id)
            yield one.report("unsettled", "status", message, fix, severity="warning")
        has_changes = bool(context.surroundings.changes.get(one.record.path))
        if one.record.status == Status.ACCEPTED and age > UNCONFIRMED_DAYS and not has_changes:
            message = msg("nobody has confirmed it for {days} days", days=age)
            yield one.report("stale", "date", message, _suggest_confirming(one), severity="warning")


def _find_import_day(record: Record) -> date | None:
    """Return the day on which a record of another tool was imported, by its uid: what it is dated was long before.

    The first ten characters of a ULID are the milliseconds since 1970, in Crockford's base 32.
    """
    if not is_imported(record.extra) or record.confirmed or not _ULID.fullmatch(record.uid):
        return None
    milliseconds = 0
    for letter in record.uid[:10]:
        milliseconds = 32 * milliseconds + _CROCKFORD.index(letter)
    return date(1970, 1, 1) + timedelta(days=milliseconds // 86_400_000)
