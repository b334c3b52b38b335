"""Does everything a record points to exist, and does it still speak?"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping

from kb.checks.check_context import CheckContext, LoadedRecord, collect_folders, make_finding
from kb.checks.findings import CheckedText, Finding, Key
from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.citations import find_citations
from kb.records.front_matter import find_body_start
from kb.records.kinds import BY_PREFIX, status_name
from kb.records.model import LIVE, Record, Status, is_imported, qualify_id
from kb.text.line_ends import find_line_number, iter_line_numbers
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import clip

_LIKE_A_CITATION = re.compile(r"\[(?:([\w.-]+):)?([A-Z]{1,2}\d{3,})\]")
_LINK = re.compile(r"\]\([ \t]*(?:<([^<>\n]*)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*))")
_LINK_DEFINITION = re.compile(
    r"(?m)^ {0,3}\[(?!\^)[^\[\]\r\n]+\]:[ \t]*(?:<([^<>\r\n]*)>|([^\s./]*[./]\S*))[ \t]*(?:[\"'(].*)?\r?$"
)
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|#|\?|\\")


def check_relations(shelf: CheckContext) -> Iterator[Finding]:
    """Report supersedes, amends and coexists_with that name no record."""
    for one in shelf.opened:
        for key in ("supersedes", "amends", "coexists_with"):
            for reference in getattr(one.record, key):
                if shelf.resolve_reference(one.record.scope, reference) is None:
                    message = msg("there is no record {id}", id=clip(reference, 40))
                    fix = msg("correct the id under {key}, or take it out", key=key)
                    yield make_finding("relation", one, message, fix, key=key, item=reference)


def check_double_relations(shelf: CheckContext) -> Iterator[Finding]:
    """Report a record that replaces another both as a whole and in part."""
    for one in shelf.opened:
        whole = {shelf.resolve_reference(one.record.scope, reference) for reference in one.record.supersedes} - {None}
        for reference in one.record.amends if whole else ():
            if shelf.resolve_reference(one.record.scope, reference) in whole:
                message = msg("{id} stands under supersedes and under amends", id=clip(reference, 40))
                fix = msg("keep it under one: supersedes for the whole, amends for a part")
                yield make_finding("relation", one, message, fix, key="amends", item=reference)


def check_coexistence_reasons(shelf: CheckContext) -> Iterator[Finding]:
    """Report a coexists_with that does not say why."""
    for one in shelf.opened:
        for reference, reason in one.record.coexists_with.items():
            if not reason.strip():
                message = msg("it coexists with {id}, but not a word why", id=clip(reference, 40))
                fix = msg('write: coexists_with: {{{id}: "the reason"}}', id=clip(reference, 40))
                yield make_finding(
                    "coexistence", one, message, fix, key="coexists_with", item=reference, severity="warning"
                )


def check_dangling_citations(shelf: CheckContext) -> Iterator[Finding]:
    """Report `[D001]` and `[shop:D001]` in a text where no such record is found (SHI-18)."""
    for text in shelf.texts:
        wanted = {(m.group(1) or "", m.group(2)) for m in _LIKE_A_CITATION.finditer(text.text)}
        missing = {pair for pair in wanted if _is_record_id(pair[1]) and _resolve_target(shelf, text, *pair) is None}
        if not missing:
            continue
        for project, id, line in find_citations(text.text):
            if (project, id) in missing:
                yield Finding(
                    rule="citation",
                    severity="error" if text.is_record else "warning",
                    path=text.path,
                    line=line,
                    message=msg("[{id}] names no record", id=_format_reference(project, id)),
                    fix=msg("correct the id; if it is no citation, write it in code marks: `[{id}]`",
                            id=_format_reference(project, id)),
                )  # fmt: skip


def check_obsolete_citations(shelf: CheckContext) -> Iterator[Finding]:
    """Report a live record that leans on one which holds no more; what it replaces itself it may name."""
    dead = {key for key, owners in shelf.by_key.items() if all(one.record.status not in LIVE for one in owners)}
    for one in shelf.opened:
        if one.record.status not in LIVE or not dead:
            continue
        text = CheckedText(one.record.path, one.text, one.record.scope)
        found = {(m.group(1) or "", m.group(2)) for m in _LIKE_A_CITATION.finditer(one.text)}
        replaced = {shelf.resolve_reference(one.record.scope, reference) for reference in _list_relations(one)}
        gone = {
            pair: key for pair in found if (key := _resolve_target(shelf, text, *pair)) in dead and key not in replaced
        }
        if not gone:
            continue
        for project, id, line in find_citations(one.text):
            key = gone.get((project, id))
            if key:
                status = shelf.by_key[key][0].record.status
                message = msg("[{id}] is {status}", id=_format_reference(project, id), status=status_name(status))
                yield Finding(
                    "dead-citation",
                    "warning",
                    one.record.path,
                    line,
                    message,
                    _suggest_replacement(shelf, key, one.record.scope),
                )


def _list_relations(one: LoadedRecord) -> tuple[str, ...]:
    return (*one.record.supersedes, *one.record.amends, *one.record.coexists_with)


def _suggest_replacement(shelf: CheckContext, key: Key, scope: str) -> Message:
    live = [one for one in shelf.successors.get(key, ()) if one.record.status == Status.ACCEPTED]
    if live:
        return msg(
            "cite [{id}] instead, or say why the old one still matters", id=_format_citation(live[0].record, scope)
        )
    return msg("take the citation out, or say why the old one still matters")


def _format_citation(record: Record, scope: str) -> str:
    """Return how a text of *scope* cites *record*."""
    return qualify_id(scope, record.scope, record.id, is_taken=False)


def _is_record_id(id: str) -> bool:
    return id.rstrip("0123456789") in BY_PREFIX


def _resolve_target(shelf: CheckContext, text: CheckedText, project: str, id: str) -> Key | None:
    return shelf.resolve_reference(text.scope, _format_reference(project, id))


def _format_reference(project: str, id: str) -> str:
    return f"{project}:{id}" if project else id


def check_links(shelf: CheckContext) -> Iterator[Finding]:
    """Report relative markdown links to files the knowledge base does not have (MBANK-06).

    What points out of the knowledge base, or to the root of wherever it is shown, cannot be judged here.
    """
    files = shelf.surroundings.files
    if files is None:
        return
    folders: frozenset[str] = frozenset()
    named: Mapping[str, list[str]] = {}
    foreign = {one.record.path for one in shelf.opened if is_imported(one.record.extra)}
    for text in shelf.texts:
        if text.path in foreign:  # its other links lead to files of the repository it came from
            continue
        links = list(_find_links(text.text))
        lost = {target for target in {target for _, target in links} if not _is_valid_target(files, text.path, target)}
        if lost and not folders:
            folders, named = collect_folders(files), _group_by_name(files)
        lost = {target for target in lost if not _is_valid_target(folders, text.path, target)}
        missing = [found for found in links if found[1] in lost]
        for line, target in dict.fromkeys(_filter_outside_code(text.text, missing)):  # once a line is enough
            yield Finding(
                rule="link",
                severity="warning",
                path=text.path,
                line=line,
                message=msg("the link leads nowhere: {target}", target=clip(target, 120)),
                fix=_suggest_target(named, text.path, target),
            )


def _find_links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the target of each relative link."""
    for mark, pattern in (("](", _LINK), ("]:", _LINK_DEFINITION)):
        if mark in text:
            for match in pattern.finditer(text, find_body_start(text)):
                target = match.group(1) or match.group(2) or ""
                if target and not _ELSEWHERE.match(target):
                    yield match.start(match.lastindex or 0), target


def _filter_outside_code(text: str, found: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the 1-based line and the target of each of the links *found* that does not stand in code, in order."""
    code = locate_code_lines(text) if found else set()
    found = sorted(found)
    row_start = at = marks = 0
    for (offset, target), line in zip(found, iter_line_numbers(text, (offset for offset, _ in found)), strict=True):
        start = max(text.rfind("\n", at, offset), text.rfind("\r", at, offset)) + 1
        if start:
            row_start, at, marks = start, start, 0
        marks += text.count("`", max(at, row_start), offset)  # counted on from the link before: a row may be long
        at = offset
        in_span = (marks + target.count("`")) % 2
        if line not in code and not in_span:
            yield line, target


def _is_valid_target(places: frozenset[str], path: str, target: str) -> bool:
    if f"{path.rpartition('/')[0]}/{target}" in places:
        return True
    inside = _resolve_link(path, target)
    return inside in places or inside == ".." or inside.startswith("../")


def _resolve_link(path: str, target: str) -> str:
    """Return the file that *target* means in the text at *path*, relative to the knowledge base."""
    bare = target.partition("#")[0].partition("?")[0]
    if "%" in bare:
        from urllib.parse import unquote

        bare = unquote(bare)
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), bare))


def locate_code_lines(text: str) -> set[int]:
    """Return the 1-based lines of *text* that stand in code; of a text too tangled to tell, none."""
    start = find_body_start(text)
    first = find_line_number(text, start)
    try:
        return {first + line for line in find_code_lines(text[start:])}
    except BadRecord:
        return set()


def _group_by_name(files: frozenset[str]) -> Mapping[str, list[str]]:
    """Return the *files* by their names without folders."""
    named: dict[str, list[str]] = {}
    for file in files:
        named.setdefault(posixpath.basename(file), []).append(file)
    return named


def _suggest_target(named: Mapping[str, list[str]], path: str, target: str) -> Message:
    found = named.get(posixpath.basename(_resolve_link(path, target)), [])
    if len(found) == 1:
        likely = posixpath.relpath(found[0], posixpath.dirname(path) or ".")
        return msg("perhaps it moved: {target}", target=likely)
    return msg("correct the link, or add the file it leads to")
