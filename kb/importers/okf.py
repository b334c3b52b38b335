"""Write and read bundles of the Open Knowledge Format 0.2 (GoogleCloudPlatform/knowledge-catalog, okf/SPEC.md).

A bundle is a folder of markdown files with front matter; `type` is its one required key. §n names a paragraph of the
specification.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.hosts import HOSTS
from kb.i18n import msg
from kb.importers.notes import Note, map_kind, read_sections
from kb.records.citations import find_citations
from kb.records.front_matter import format_entry
from kb.records.kinds import BY_NAME, section_label
from kb.records.model import GLOBAL, ORIGINAL_AUTHOR, VALID_UNTIL, Candidate, Record, Status
from kb.records.short_form import summarise_section
from kb.text.segment import one_line, slugify

if TYPE_CHECKING:
    from typing import Any

VERSION = "0.2"
_RESERVED = ("index", "log")
"""Names that no concept may have (§3.1)."""
_STATUSES = {Status.ACCEPTED: "stable", Status.PROPOSED: "draft"}
"""Status → lifecycle (§5.4); what no longer holds is deprecated."""
_CITED = re.compile(r"\[((?:[\w/-]+:)?[A-Z]{1,2}\d{3,})\](?!\()")
_OWN_KEYS = ("id", "uid", "kind", "scope", "supersedes", "amends", "claims", "impact")
"""Keys of kb that a concept keeps (§4.1: a producer may include any)."""


def build_bundle(records: Sequence[Record], language: str) -> dict[str, str]:
    """Return the files of a bundle of *records*, each under its path in it; headings in *language*."""
    paths = _choose_paths(records)
    files = {paths[record.key]: render_concept(record, paths, language) for record in records}
    files |= _build_indexes(records, paths)
    files["log.md"] = _build_log(records, paths)
    return files


def _choose_paths(records: Sequence[Record]) -> dict[tuple[str, str], str]:
    """Return for each record its path in the bundle: a folder for its scope, then its id and title."""
    paths = {}
    for record in records:
        stem = slugify(f"{record.id}-{record.title}") or record.id.lower()
        paths[record.key] = f"{record.scope}/{stem}_{'' if stem not in _RESERVED else 'record'}".rstrip("_") + ".md"
    return paths


def render_concept(record: Record, paths: Mapping[tuple[str, str], str], language: str) -> str:
    """Return the concept document of *record* (§4); *paths* leads from a record to its file."""
    row = BY_NAME.get(record.kind)
    entries: dict[str, Any] = {
        "type": row.en if row else record.kind,
        "title": one_line(record.title),
        "description": _describe(record),
        "tags": list(record.tags),
        "status": _STATUSES.get(Status(record.status), "deprecated") if record.status in list(Status) else "draft",
    }
    lines = [format_entry(key, value) for key, value in entries.items() if value]
    if record.date:
        lines.append(f"generated: {{ by: {_quote(_find_actor(record))}, at: {_format_instant(record.date)} }}\n")
    if record.confirmed:
        # only a person, or what a person runs, says of a record that it still holds
        lines.append(
            f"verified: {{ by: {_quote('human:' + _get_author(record))}, at: {_format_instant(record.confirmed)} }}\n"
        )
    if until := str(record.extra.get(VALID_UNTIL) or ""):
        lines.append(f"stale_after: {_format_instant(until)}\n")
    if record.sources:
        lines.append("sources:\n" + "".join(f"  - resource: {_quote('session ' + one)}\n" for one in record.sources))
    own = {"kb_" + key: getattr(record, key) for key in _OWN_KEYS}
    lines += [
        format_entry(key, list(value) if isinstance(value, tuple) else value) for key, value in own.items() if value
    ]
    head = "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)
    return f"---\n{head}---\n\n{_link_citations(_render_body(record, language), record, paths)}"


def _describe(record: Record) -> str:
    row = BY_NAME.get(record.kind)
    names = (*(row.required if row else ()), "decision")
    text = next(filter(None, map(record.section, names)), "") or next((s.text for s in record.sections if s.text), "")
    return one_line(summarise_section(text, limit=200))


def _render_body(record: Record, language: str) -> str:
    parts = []
    for section in record.sections:
        if section.text.strip():
            heading = section.heading or section_label(section.name, language, record.kind)
            parts.append(f"# {heading}\n\n{section.text.strip()}\n")
    if record.user.strip():
        parts.append(f"# Notes\n\n{record.user.strip()}\n")
    return "\n".join(parts) or f"{one_line(record.title)}\n"


def _link_citations(text: str, record: Record, paths: Mapping[tuple[str, str], str]) -> str:
    """Return *text* with `[D001]` as a link to that record's file, from the root of the bundle (§6.1)."""
    cited = {f"{project}:{name}" if project else name for project, name, _ in find_citations(text)}

    def link(match: re.Match[str]) -> str:
        name = match[1]
        project, _, record_id = name.rpartition(":")
        scopes = (
            [f"project/{project}" if project and project != GLOBAL else project] if project else [record.scope, GLOBAL]
        )
        found = next((paths[scope, record_id] for scope in scopes if (scope, record_id) in paths), "")
        return f"[{name}](/{found})" if found and name in cited else match[0]

    return _CITED.sub(link, text)


def _find_actor(record: Record) -> str:
    """Return who made *record* as an actor (§7): the agent of its first session, or a person."""
    host, _, session = (record.sources[0] if record.sources else "").partition("/")
    return f"{host}/{session}" if session and host in HOSTS else f"human:{_get_author(record)}"


def _get_author(record: Record) -> str:
    return slugify(str(record.extra.get(ORIGINAL_AUTHOR) or "")) or "unknown"


def _format_instant(day: str) -> str:
    """Return *day* as an instant with an offset (§5): its beginning in UTC, unless it says a time itself."""
    return day if "T" in day else f"{day[:10]}T00:00:00Z"


def _quote(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _build_indexes(records: Sequence[Record], paths: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return index.md for the bundle and for every folder of it (§8)."""
    by_folder: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_folder[record.scope].append(record)
    folders = {""}
    for scope in by_folder:
        pieces = scope.split("/")
        folders |= {"/".join(pieces[:depth]) for depth in range(len(pieces) + 1)}
    files = {}
    for folder in sorted(folders):
        below = sorted(one for one in folders if one and one.rpartition("/")[0] == folder)
        text = "# Folders\n\n" + "".join(f"* [{one.rpartition('/')[2]}]({one.rpartition('/')[2]}/)\n" for one in below)
        parts = [text] if below else []
        groups: dict[str, list[Record]] = defaultdict(list)
        for record in by_folder.get(folder, ()):
            groups[BY_NAME[record.kind].en if record.kind in BY_NAME else record.kind].append(record)
        for kind, members in groups.items():
            rows = (_format_index_row(one, paths[one.key].rpartition("/")[2]) for one in members)
            parts.append(f"# {kind}\n\n" + "".join(rows))
        head = "" if folder else f'---\nokf_version: "{VERSION}"\n---\n\n'
        files[f"{folder}/index.md".lstrip("/")] = head + ("\n".join(parts) or "# Folders\n")
    return files


def _format_index_row(record: Record, file: str) -> str:
    said = _describe(record)
    title = one_line(record.title).replace("[", "\\[").replace("]", "\\]")
    return f"* [{title}]({file})" + (f" - {said}" if said else "") + "\n"


def _build_log(records: Sequence[Record], paths: Mapping[tuple[str, str], str]) -> str:
    """Return log.md (§9): what was written on which day, newest first."""
    by_day: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.date:
            by_day[record.date[:10]].append(record)
    parts = ["# Log\n"]
    for day in sorted(by_day, reverse=True):
        rows = (
            f"* **{'Creation' if one.status in _STATUSES else 'Deprecation'}**: "
            f"[{one_line(one.title).replace('[', '').replace(']', '')}](/{paths[one.key]})\n"
            for one in by_day[day]
        )
        parts.append(f"## {day}\n\n" + "".join(rows))
    return "\n".join(parts)


# -- reading -----------------------------------------------------------------------------------------


def read_concept(note: Note) -> Candidate:
    """Return the candidate in the concept document *note*; raise BadInput for one whose type is no kind.

    What is under a heading that kb knows becomes that section, the rest its main text.
    """
    type_ = str(note.front.get("type") or "").strip()
    if not type_:
        raise BadInput(msg("not an OKF concept: it has no type"), path=note.name)
    kind = map_kind(note.front.get("kb_kind"), type_, *type_.split())
    if not kind:
        raise BadInput(msg("its type {type} is not a kind of record", type=type_), path=note.name)
    tags = tuple(str(tag) for tag in note.front.get("tags") or () if isinstance(tag, str))
    made = read_sections(note, kind, tags)
    impact = tuple(str(path) for path in note.front.get("kb_impact") or ())
    time = _find_time(note.front)
    return made._replace(impact=impact or made.impact, evidence=tuple(one._replace(time=time) for one in made.evidence))


def _find_time(front: Mapping[str, Any]) -> str:
    generated = front.get("generated")
    return str(generated.get("at") or "") if isinstance(generated, dict) else str(front.get("timestamp") or "")
