"""Settle what can be settled safely: a changed value in the front, and no other byte."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

from kb.checks.file_rules import FRESH_UID
from kb.checks.findings import Finding, RecordSource
from kb.errors import BadRecord
from kb.records.front_matter import decode_record, edit_front_matter, find_body_start, parse_front_matter
from kb.records.record_file import read

if TYPE_CHECKING:
    from typing import Any


def build_fixes(
    findings: Iterable[Finding], sources: Iterable[RecordSource], new_uid: Callable[[], str]
) -> dict[str, bytes]:
    """Return the new bytes of every file that can be settled; a result that does not read back as meant is left out."""
    wanted: dict[str, dict[str, Any]] = defaultdict(dict)
    for finding in findings:
        wanted[finding.path].update(finding.change)
    fixed: dict[str, bytes] = {}
    for source in sources:
        changes = dict(wanted.get(source.path, {}))
        if changes.get("uid") == FRESH_UID:
            changes["uid"] = new_uid()
        new = _fix_source(source, changes) if changes else None
        if new is not None:
            fixed[source.path] = new
    return fixed


def _fix_source(source: RecordSource, changes: Mapping[str, Any]) -> bytes | None:
    try:
        old = decode_record(source.data, source.path)
        new = edit_front_matter(old, changes, source.path)
        read(new.encode(), source.path)
        same_body = new[find_body_start(new) :] == old[find_body_start(old) :]
        as_meant = parse_front_matter(new, source.path) == {**parse_front_matter(old, source.path), **changes}
    except BadRecord:
        return None
    return new.encode() if same_body and as_meant else None
