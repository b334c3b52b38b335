"""Rules on the text of records: secrets, vague titles, prompt injection, citations, links.

A text must not contain secrets; what it cites must exist and still be accepted.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

from kb.checks.check_context import CheckContext, CheckedText, FileTree, Finding, Key, Severity
from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.citations import find_citations, list_destinations
from kb.records.front_matter import decode_record, find_body_start, find_front_matter, parse_front_matter
from kb.records.kinds import BY_PREFIX, status_name
from kb.records.model import LIVE, Status, is_imported, qualify_id
from kb.safety.injection import HIDDEN, INSTRUCTION, TURNS, Threat, find_threats
from kb.safety.redaction import locate_secrets
from kb.text.markdown_scan import find_code_lines
from kb.text.segment import clip, find_line_number, iter_line_numbers
from kb.writing.quality import is_vague

if TYPE_CHECKING:
    from typing import Any

_LIKE_A_CITATION = re.compile(r"\[(?:((?:group/|agent/)?[\w.-]+):)?([A-Z]{1,2}\d{3,})\]")
# the target of [text](target) and [text](<target with spaces>); round brackets may nest once: (a_(b).md)
_LINK = re.compile(r"\]\([ \t]*(?:<([^<>\n]*)>|([^\s()<>]+(?:\([^\s()]*\)[^\s()<>]*)*))")
# [name]: target, where the target looks like a path; [^1]: is a footnote, and "[x]: word" is prose
_LINK_DEFINITION = re.compile(
    r"(?m)^ {0,3}\[(?!\^)[^\[\]\r\n]+\]:[ \t]*(?:<([^<>\r\n]*)>|([^\s./]*[./]\S*))[ \t]*(?:[\"'(].*)?\r?$"
)
# "https:", "/top", "#part", "?query", "\\host": not a file of the knowledge base
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|/|#|\?|\\")
_TAKE_OUT = msg("remove it, or quote it if you write about such texts; agents get only the title")


def check_secrets(context: CheckContext) -> Iterator[Finding]:
    """Report secrets without repeating them, also in files that are not valid records."""
    for text in _iter_unchecked_texts(context):
        for line, rule in locate_secrets(text.text, context.config.masking):
            message = msg("a secret, or what is personal, stands here ({rule})", rule=rule)
            fix = msg("remove it and have it revoked: git's history keeps what was once committed")
            yield Finding("secret", "error", text.path, line, message, fix)


def _iter_unchecked_texts(context: CheckContext) -> Iterator[CheckedText]:
    """Yield the texts not known to be clean, including files that are not valid records."""
    yield from (text for text in context.texts if not context.is_clean(text.text))
    for broken in context.broken:
        try:
            text = decode_record(broken.source.data)
        except BadRecord:
            continue
        if not context.is_clean(text):
            yield CheckedText(broken.source.path, text, "")


def check_vague_titles(context: CheckContext) -> Iterator[Finding]:
    """Report live records whose title would fit any record (RUYI-52)."""
    for one in context.records:
        is_foreign = is_imported(one.record.extra)  # its title follows the rules of another tool
        if one.record.status in LIVE and not is_foreign and is_vague(one.record.title):
            message = msg("the title names no subject: {title}", title=clip(one.record.title, 80))
            yield one.report("title", "title", message, msg("say what was decided about what"), severity="warning")


def check_untrusted(context: CheckContext) -> Iterator[Finding]:
    """Report hidden or misleading characters as errors, and instructions to an agent as warnings.

    A comment that is not displayed is no finding by itself: half of them are notes to authors and tools.
    """
    for text in _iter_unchecked_texts(context):
        threats = find_threats(text.text)
        hidden = [threat for threat in threats if threat.kind == HIDDEN]
        if hidden:  # one finding per text, at a character that reverses the reading order if there is one
            first = next((threat for threat in hidden if threat.problem == TURNS), hidden[0])
            fix = msg("remove such characters; lines of this file that have some: {count}", count=len(hidden))
            yield Finding("untrusted", "error", text.path, first.line, _describe_threat(first), fix)
        for threat in threats:
            if threat.kind == INSTRUCTION:
                yield Finding("untrusted", "warning", text.path, threat.line, _describe_threat(threat), _TAKE_OUT)
    for one in context.records:
        span = None if context.is_clean(one.text) else find_front_matter(one.text)
        source = one.text[span.start : span.end] if span else ""
        if "\\" not in source:
            continue
        # escapes such as "\\u202e" in the front matter are invisible in the text of the file
        shown = {threat.words for threat in find_threats(source)}
        try:
            values = parse_front_matter(one.text)
        except BadRecord:  # an adopted file is read line by line, so its escapes stay visible
            continue
        for key, value in values.items():
            for threat in find_threats("\n".join(_iter_texts(value))):
                if threat.words not in shown:
                    severity: Severity = "error" if threat.kind == HIDDEN else "warning"
                    yield one.report("untrusted", key, _describe_threat(threat), _TAKE_OUT, severity=severity)


def _describe_threat(threat: Threat) -> Message:
    return msg("the text {problem}: {words}", problem=threat.problem, words=threat.words)


def _iter_texts(value: Any) -> Iterator[str]:
    """Yield every text in a value of the front matter."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from (str(key), *_iter_texts(item))
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _iter_texts(item)


# -- relations and citations ----------------------------------------------------------------------


def check_relations(context: CheckContext) -> Iterator[Finding]:
    """Report supersedes, amends and coexists_with that refer to no record."""
    for one in context.records:
        for key in ("supersedes", "amends", "coexists_with"):
            for reference in getattr(one.record, key):
                if context.resolve_reference(one.record.scope, reference) is None:
                    message = msg("there is no record {id}", id=clip(reference, 40))
                    fix = msg("correct the id under {key}, or remove it", key=key)
                    yield one.report("relation", key, message, fix, item=reference)


def check_double_relations(context: CheckContext) -> Iterator[Finding]:
    """Report a record that replaces another both as a whole and in part."""
    for one in context.records:
        whole = context.resolve_all(one.record.scope, one.record.supersedes)
        for reference in one.record.amends if whole else ():
            if context.resolve_reference(one.record.scope, reference) in whole:
                message = msg("{id} appears under both supersedes and amends", id=clip(reference, 40))
                fix = msg("keep it under one: supersedes for the whole, amends for a part")
                yield one.report("relation", "amends", message, fix, item=reference)


def check_coexistence_reasons(context: CheckContext) -> Iterator[Finding]:
    """Report coexists_with entries without a reason."""
    for one in context.records:
        for reference, reason in one.record.coexists_with.items():
            if not reason.strip():
                id = clip(reference, 40)
                message = msg("it coexists with {id}, but does not say why", id=id)
                fix = msg('write: coexists_with: {{{id}: "the reason"}}', id=id)
                yield one.report("coexistence", "coexists_with", message, fix, item=reference, severity="warning")


def check_dangling_citations(context: CheckContext) -> Iterator[Finding]:
    """Report `[D001]` and `[shop:D001]` in a text where no such record exists (SHI-18)."""
    for text in context.texts:
        missing = {id for id, key in _resolve_citations(context, text.text, text.scope).items() if key is None}
        for project, number, line in find_citations(text.text) if missing else ():
            id = f"{project}:{number}" if project else number
            if id in missing:
                message = msg("[{id}] names no record", id=id)
                fix = msg("correct the id; if it is no citation, write it in code marks: `[{id}]`", id=id)
                yield Finding("citation", "error" if text.is_record else "warning", text.path, line, message, fix)


def check_obsolete_citations(context: CheckContext) -> Iterator[Finding]:
    """Report a live record that cites one which is no longer live, except one that it replaces itself."""
    dead = {key for key, owners in context.by_key.items() if all(one.record.status not in LIVE for one in owners)}
    for one in context.records if dead else ():
        record = one.record
        if record.status not in LIVE:
            continue
        relations = (*record.supersedes, *record.amends, *record.coexists_with)
        obsolete = dead - context.resolve_all(record.scope, relations)
        targets = _resolve_citations(context, one.text, record.scope)
        gone = {id: key for id, key in targets.items() if key in obsolete}
        for project, number, line in find_citations(one.text) if gone else ():
            id = f"{project}:{number}" if project else number
            if key := gone.get(id):
                status = status_name(context.by_key[key][0].record.status)
                message = msg("[{id}] is {status}", id=id, status=status)
                fix = _suggest_replacement(context, key, record.scope)
                yield Finding("dead-citation", "warning", record.path, line, message, fix)


def _resolve_citations(context: CheckContext, text: str, scope: str) -> dict[str, Key | None]:
    """Return what looks like a citation in *text*, in code or not, with the key it resolves to in *scope*."""
    pairs = {match.groups() for match in _LIKE_A_CITATION.finditer(text)}
    ids = (f"{project}:{id}" if project else id for project, id in pairs if id.rstrip("0123456789") in BY_PREFIX)
    return {id: context.resolve_reference(scope, id) for id in ids}


def _suggest_replacement(context: CheckContext, key: Key, scope: str) -> Message:
    """Return which record a text of *scope* may cite instead of the record *key*."""
    for one in context.successors.get(key, ()):
        if one.record.status == Status.ACCEPTED:
            id = qualify_id(scope, one.record.scope, one.record.id, is_taken=False)
            return msg("cite [{id}] instead, or say why the old one still matters", id=id)
    return msg("remove the citation, or say why the old one still matters")


# -- links ----------------------------------------------------------------------------------------


def check_links(context: CheckContext) -> Iterator[Finding]:
    """Report relative markdown links to files that the knowledge base does not have (MBANK-06).

    Links out of the knowledge base, and links to the root of the site that shows it, cannot be checked here.
    """
    if context.surroundings.files is None:
        return
    tree = FileTree(context.surroundings.files)
    foreign = {one.record.path for one in context.records if is_imported(one.record.extra)}
    for text in context.texts:
        if text.path in foreign:  # its other links lead to files of the source repository
            continue
        links = list(_find_links(text.text))
        targets = {target for _, target in links}
        lost = {target for target in targets if not _is_valid_target(tree, text.path, target)}
        missing = sorted(link for link in links if link[1] in lost)
        for line, target in dict.fromkeys(_filter_links(text.text, missing)):  # once per line
            message = msg("the link is broken: {target}", target=clip(target, 120))
            fix = msg("correct the link, or add the file it leads to")
            if moved := tree.find_moved(_resolve_link(text.path, target)):
                moved = posixpath.relpath(moved, posixpath.dirname(text.path) or ".")
                fix = msg("perhaps it moved: {target}", target=moved)
            yield Finding("link", "warning", text.path, line, message, fix)


def _find_links(text: str) -> Iterator[tuple[int, str]]:
    """Yield the offset and the target of each relative link."""
    for mark, pattern in (("](", _LINK), ("]:", _LINK_DEFINITION)):
        if mark in text:
            for match in pattern.finditer(text, find_body_start(text)):
                target = match.group(1) or match.group(2) or ""
                if target and not _ELSEWHERE.match(target):
                    yield match.start(match.lastindex or 0), target


def _filter_links(text: str, matches: list[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """Yield line (1-based) and target of those *matches* links that are not in code, in order."""
    start = find_body_start(text)
    shown = {start + span.start for span in list_destinations(text[start:])} if matches else set()
    links = [(offset, target) for offset, target in matches if offset in shown]
    lines = iter_line_numbers(text, (offset for offset, _ in links))
    yield from zip(lines, (target for _, target in links), strict=True)


def _is_valid_target(tree: FileTree, path: str, target: str) -> bool:
    """Return whether *target*, linked from the text at *path*, is in *tree* or outside the knowledge base."""
    written, inside = f"{posixpath.dirname(path)}/{target}", _resolve_link(path, target)
    if inside == ".." or inside.startswith("../") or not tree.files.isdisjoint((written, inside)):
        return True
    return not tree.folders.isdisjoint((written, inside))


def _resolve_link(path: str, target: str) -> str:
    """Return the file to which *target* in the text at *path* leads, relative to the knowledge base."""
    bare = unquote(target.partition("#")[0].partition("?")[0])
    return posixpath.normpath(posixpath.join(posixpath.dirname(path), bare))


def locate_code_lines(text: str) -> set[int]:
    """Return the 1-based lines of *text* in fenced code; none if the text is too deeply nested to parse."""
    start = find_body_start(text)
    first = find_line_number(text, start)
    try:
        return {first + line for line in find_code_lines(text[start:])}
    except BadRecord:
        return set()
