"""Does everything a record points to exist, and is it still accepted?"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from kb.checks.check_context import CheckContext, Key, collect_folders, make_finding
from kb.checks.findings import Finding
from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.citations import find_citations
from kb.records.front_matter import find_body_start
from kb.records.kinds import BY_PREFIX, status_name
from kb.records.model import LIVE, Status, is_imported, qualify_id
from kb.text.line_ends import find_line_number, iter_line_numbers
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import clip

_LIKE_A_CITATION = re.compile(r"\[(?:([\w.-]+):)?([A-Z]{1,2}\d{3,})\]")
# the target of [text](target) and [text](<target with spaces>); round brackets may nest once: (a_(b).md)
_LINK = re.compile(r"\]\([ \t]*(?:<([^<>\n]*)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*))")
# [name]: target, where the target looks like a path; [^1]: is a footnote, and "[x]: word" is prose
_LINK_DEFINITION = re.compile(
    r"(?m)^ {0,3}\[(?!\^)[^\[\]\r\n]+\]:[ \t]*(?:<([^<>\r\n]*)>|([^\s./]*[./]\S*))[ \t]*(?:[\"'(].*)?\r?$"
)
# "https:", "/top", "#part", "?query", "\\host": not a file of the knowledge base
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|#|\?|\\")


def check_relations(context: CheckContext) -> Iterator[Finding]:
    """Report supersedes, amends and coexists_with that name no record."""
    for one in context.records:
        for key in ("supersedes", "amends", "coexists_with"):
            for reference in getattr(one.record, key):
                if context.resolve_reference(one.record.scope, reference) is None:
                    message = msg("there is no record {id}", id=clip(reference, 40))
                    fix = msg("correct the id under {key}, or remove it", key=key)
                    yield make_finding("relation", one, message, fix, key=key, item=reference)


def check_double_relations(context: CheckContext) -> Iterator[Finding]:
    """Report a record that replaces another both as a whole and in part."""
    for one in context.records:
        whole = {context.resolve_reference(one.record.scope, reference) for reference in one.record.supersedes} - {None}
        for reference in one.record.amends if whole else ():
            if context.resolve_reference(one.record.scope, reference) in whole:
                message = msg("{id} appears under both supersedes and amends", id=clip(reference, 40))
                fix = msg("keep it under one: supersedes for the whole, amends for a part")
                yield make_finding("relation", one, message, fix, key="amends", item=reference)


def check_coexistence_reasons(context: CheckContext) -> Iterator[Finding]:
    """Report a coexists_with that does not say why."""
    for one in context.records:
        for reference, reason in one.record.coexists_with.items():
            if not reason.strip():
                message = msg("it coexists with {id}, but not a word why", id=clip(reference, 40))
                fix = msg('write: coexists_with: {{{id}: "the reason"}}', id=clip(reference, 40))
                key = "coexists_with"
                yield make_finding("coexistence", one, message, fix, key=key, item=reference, severity="warning")


def check_dangling_citations(context: CheckContext) -> Iterator[Finding]:
    """Report `[D001]` and `[shop:D001]` in a text where no such record is found (SHI-18)."""
    for text in context.texts:
        wanted = {(match[1] or "", match[2]) for match in _LIKE_A_CITATION.finditer(text.text)}
        known_prefix = {pair for pair in wanted if pair[1].rstrip("0123456789") in BY_PREFIX}
        missing = {pair for pair in known_prefix if context.resolve_reference(text.scope, _join_id(*pair)) is None}
        for project, id, line in find_citations(text.text) if missing else ():
            if (project, id) in missing:
                cited = _join_id(project, id)
                message = msg("[{id}] names no record", id=cited)
                fix = msg("correct the id; if it is no citation, write it in code marks: `[{id}]`", id=cited)
                yield Finding("citation", "error" if text.is_record else "warning", text.path, line, message, fix)


def check_obsolete_citations(context: CheckContext) -> Iterator[Finding]:
    """Report a live record that cites one which is no longer live; what it replaces itself it may name."""
    dead = {key for key, owners in context.by_key.items() if all(one.record.status not in LIVE for one in owners)}
    for one in context.records:
        record = one.record
        if record.status not in LIVE or not dead:
            continue
        relations = (*record.supersedes, *record.amends, *record.coexists_with)
        allowed = {context.resolve_reference(record.scope, reference) for reference in relations}
        cited = {(match[1] or "", match[2]) for match in _LIKE_A_CITATION.finditer(one.text)}
        targets = {pair: context.resolve_reference(record.scope, _join_id(*pair)) for pair in cited}
        gone = {pair: key for pair, key in targets.items() if key in dead and key not in allowed}
        for project, id, line in find_citations(one.text) if gone else ():
            if key := gone.get((project, id)):
                status = status_name(context.by_key[key][0].record.status)
                message = msg("[{id}] is {status}", id=_join_id(project, id), status=status)
                fix = _suggest_replacement(context, key, record.scope)
                yield Finding("dead-citation", "warning", record.path, line, message, fix)


def _suggest_replacement(context: CheckContext, key: Key, scope: str) -> Message:
    """Say what a text of *scope* may cite instead of the record *key*."""
    for one in context.successors.get(key, ()):
        if one.record.status == Status.ACCEPTED:
            id = qualify_id(scope, one.record.scope, one.record.id, is_taken=False)
            return msg("cite [{id}] instead, or say why the old one still matters", id=id)
    return msg("remove the citation, or say why the old one still matters")


def _join_id(project: str, id: str) -> str:
    return f"{project}:{id}" if project else id


# -- links ----------------------------------------------------------------------------------------


def check_links(context: CheckContext) -> Iterator[Finding]:
    """Report relative markdown links to files the knowledge base does not have (MBANK-06).

    What points out of the knowledge base, or to the root of wherever it is shown, cannot be judged here.
    """
    files = context.surroundings.files
    if files is None:
        return
    folders: frozenset[str] = frozenset()
    named: dict[str, list[str]] = {}
    foreign = {one.record.path for one in context.records if is_imported(one.record.extra)}
    for text in context.texts:
        if text.path in foreign:  # its other links lead to files of the repository it came from
            continue
        links = list(_find_links(text.text))
        lost = {target for target in {target for _, target in links} if not _is_valid_target(files, text.path, target)}
        if lost and not folders:
            folders = collect_folders(files)
            for file in files:
                named.setdefault(posixpath.basename(file), []).append(file)
        lost = {target for target in lost if not _is_valid_target(folders, text.path, target)}
        missing = [found for found in links if found[1] in lost]
        for line, target in dict.fromkeys(_filter_outside_code(text.text, missing)):  # once a line is enough
            message = msg("the link leads nowhere: {target}", target=clip(target, 120))
            yield Finding("link", "warning", text.path, line, message, _suggest_target(named, text.path, target))


def _find_links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the target of each relative link."""
    for mark, pattern in (("](", _LINK), ("]:", _LINK_DEFINITION)):
        if mark in text:
            for match in pattern.finditer(text, find_body_start(text)):
                target = match.group(1) or match.group(2) or ""
                if target and not _ELSEWHERE.match(target):
                    yield match.start(match.lastindex or 0), target


def _filter_outside_code(text: str, found: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield the 1-based line and the target of each of the links *found* that is not in code, in order."""
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


def _is_valid_target(known: frozenset[str], path: str, target: str) -> bool:
    """Return whether *target* in the text at *path* is *known*, or outside of the knowledge base."""
    if f"{path.rpartition('/')[0]}/{target}" in known:
        return True
    inside = _resolve_link(path, target)
    return inside in known or inside == ".." or inside.startswith("../")


def _resolve_link(path: str, target: str) -> str:
    """Return the file that *target* means in the text at *path*, relative to the knowledge base."""
    bare = unquote(target.partition("#")[0].partition("?")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), bare))


def _suggest_target(named: Mapping[str, list[str]], path: str, target: str) -> Message:
    files = named.get(posixpath.basename(_resolve_link(path, target)), [])
    if len(files) != 1:
        return msg("correct the link, or add the file it leads to")
    return msg("perhaps it moved: {target}", target=posixpath.relpath(files[0], posixpath.dirname(path) or "."))


def locate_code_lines(text: str) -> set[int]:
    """Return the 1-based lines of *text* that are fenced code; of a text too tangled to tell, none."""
    start = find_body_start(text)
    first = find_line_number(text, start)
    try:
        return {first + line for line in find_code_lines(text[start:])}
    except BadRecord:
        return set()
