"""Write MEMORY.md and the conventions, for agents that read files and call nothing.

Both are derived from the records by a template, inside the MACHINE block; what a person writes in the USER block stays.
The same records always give the same bytes. A MACHINE block that somebody has edited is not overwritten.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.context.build_routes import BANK, CONVENTIONS, INTENTS, MAX_FILES, MAX_LINES, build_glob
from kb.context.still_true import is_fixed
from kb.errors import NeedsPerson
from kb.files import read_if_exists, resolve_within, write_atomic
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.records.blocks import (
    MACHINE_END,
    MACHINE_START,
    USER_END,
    USER_START,
    escape_block,
    find_blocks,
    replace_machine_block,
)
from kb.records.front_matter import decode_record
from kb.records.kinds import BY_NAME, KINDS, kind_label
from kb.records.model import AGENT, GLOBAL, LIVE, Record, Status, recency_key
from kb.safety.quoting import TITLE_LIMIT, has_conclusion, quote_record, quote_text
from kb.sessions.render_forms import FormWriter
from kb.state.project import save_kb_edits
from kb.text.segment import find_line_number, first_sentence, normalise_newlines, one_line

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

MEMORY = f"{BANK}/MEMORY.md"
MAX_ANSWERS = 8  # quick answers, at most
_MAX_ENTRIES = 40  # entries of a kind in the conventions, at most
_MAX_PATHS = 3
_GROUPS = ("constraint", "pattern", "preference", "decision")
_SEAL = re.compile(r"^<!-- kb:[0-9a-f]{12} -->\r?\n", re.MULTILINE)


class MemoryPage(NamedTuple):
    """One file of the bank, as it stands and as it is to be."""

    path: str  # relative to the knowledge base
    before: bytes | None
    after: bytes
    notes: tuple[Message | str, ...] = ()  # what a person could do better

    @property
    def is_stale(self) -> bool:
        """Whether the file is not as it is to be."""
        return self.before != self.after


def build_pages(kb: Workspace, *, force: bool = False) -> list[MemoryPage]:
    """Return the files of the bank; raise NeedsPerson where somebody has edited a MACHINE block, unless *force*."""
    live = kb.sync_index().records(Filter(statuses=tuple(LIVE)))
    # these files are for everybody who reads the repository: what is one agent's own is in a file of its own
    records = [r for r in live if not (r.scope.startswith(AGENT) or quote_record(r, "").warning)]
    values = (
        (MEMORY, "memory", _build_memory_values(kb, records)),
        (CONVENTIONS, "patterns", _build_convention_values(kb, records)),
    )
    pages = [build_page(kb, path, template, value, force=force) for path, template, value in values]
    if soul := _build_soul_values(kb):
        pages.append(build_page(kb, f"{BANK}/agents/{kb.reader}.md", "soul", soul, force=force))
    return pages


def write(kb: Workspace, *, force: bool = False) -> list[MemoryPage]:
    """Write the files of the bank that are not as they are to be, and return all of them."""
    pages = build_pages(kb, force=force)
    stale = {page.path: page.after for page in pages if page.is_stale}
    for path, data in stale.items():
        write_atomic(os.path.join(kb.root, *path.split("/")), data)
    save_kb_edits(kb, stale)
    return pages


def build_page(kb: Workspace, path: str, template: str, values: Mapping[str, object], *, force: bool) -> MemoryPage:
    writer = FormWriter(kb, template)
    inside = escape_block(writer(values).strip("\n") + "\n")
    inside = f"<!-- kb:{_compute_seal(inside)} -->\n{inside}"
    before = read_if_exists(resolve_within(kb.root, path))
    if before is None:
        notes = "## 用户笔记\n" if kb.config.language == "zh" else "## Notes\n"
        text = "\n".join((MACHINE_START, inside + MACHINE_END, "", USER_START, notes + USER_END, ""))
    else:
        old = decode_record(before, path)
        span = find_blocks(old, path).machine
        block = old[span.start : span.end]
        # The block begins with a hash of the rest: that distinguishes an edit by hand from an older template.
        seal = _SEAL.match(block)
        known = f"<!-- kb:{_compute_seal(normalise_newlines(block[seal.end() :]))} -->" if seal else ""
        if not force and not (seal and seal.group().strip() == known):
            raise NeedsPerson(
                msg("somebody has edited the MACHINE block"),
                path=path,
                line=find_line_number(old, span.start),
                hint=msg("move the text into the USER block, then: kb memory --force"),
            )
        text = replace_machine_block(old, inside, path)
    answers: Any = values.get("answers", ())
    thin = ", ".join(answer["id"] for answer in answers if answer["is_thin"])  # these say only of which scope they are
    warnings = [msg("these apply to no particular path: {ids}", ids=thin)] if thin else []
    return MemoryPage(path, before, text.encode(), (*writer.report_broken(kb), *warnings))


def _compute_seal(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


# -- what the templates are filled with -----------------------------------------------------------


def _build_memory_values(kb: Workspace, records: Sequence[Record]) -> dict[str, object]:
    language = kb.config.language
    accepted = (record for record in records if record.status == Status.ACCEPTED and not is_fixed(record))
    known = [record for record in accepted if not _is_conclusion(record)]
    newest = sorted(known, key=recency_key, reverse=True)
    best = sorted(newest, key=lambda record: not BY_NAME[record.kind].always)  # what always holds, then what is new
    counts = {kind.name: sum(record.kind == kind.name for record in records) for kind in KINDS}
    spoken = [f"{kind_label(name, language)} {n}" for name, n in counts.items() if n]
    conventions = posixpath.relpath(CONVENTIONS, BANK)
    routes = []
    for intent in INTENTS:
        globs = [posixpath.relpath(build_glob(BY_NAME[kind].prefix), BANK) for kind in intent.kinds]
        read = [f"[{conventions}]({conventions})"] if intent.conventions else []
        when = intent.zh if language == "zh" else intent.en
        routes.append({"when": when, "read": read + [f"`{glob}`" for glob in globs]})
    return {
        "name": quote_text(kb.config.name, TITLE_LIMIT),
        "holdings": "、".join(spoken) if language == "zh" else ", ".join(spoken),
        "routes": routes,
        "max_files": MAX_FILES,
        "max_lines": MAX_LINES,
        "answers": [_build_entry(record, MEMORY) for record in best[:MAX_ANSWERS]],
    }


def _build_soul_values(kb: Workspace) -> dict[str, object]:
    """Return what the identity file of the agent who asks is filled with; {} where it has no preferences of its own."""
    if not kb.reader:
        return {}
    records = kb.index.records(Filter(("preference",), (Status.ACCEPTED,), (AGENT + kb.reader,)))
    safe = [record for record in records if not quote_record(record, "").warning]
    page = f"{BANK}/agents/{kb.reader}.md"
    return {"agent": kb.reader, "preferences": [_build_entry(record, page) for record in safe]} if safe else {}


def _is_conclusion(record: Record) -> bool:
    return record.kind not in BY_NAME or has_conclusion(record.title)


def _build_convention_values(kb: Workspace, records: Sequence[Record]) -> dict[str, object]:
    groups = []
    for name in _GROUPS:
        group = sorted((r for r in records if r.kind == name and not _is_conclusion(r)), key=lambda r: (r.scope, r.id))
        if group:
            entries = [_build_entry(record, CONVENTIONS) for record in group[:_MAX_ENTRIES]]
            label = kind_label(name, kb.config.language)
            groups.append({"label": label, "kind": name, "entries": entries, "left": len(group) - len(entries)})
    return {"groups": groups}


def _build_entry(record: Record, page: str) -> dict[str, object]:
    """Return what a line about *record* holds: conclusion, boundary, pointer (MBANK-43)."""
    title = quote_text(record.title, TITLE_LIMIT)
    first = quote_text(first_sentence(record.section("decision")), 2 * TITLE_LIMIT)
    scope = record.scope if record.scope == GLOBAL else record.scope.removeprefix("project/")
    paths = [f"`{quote_text(one_line(path), TITLE_LIMIT)}`" for path in record.impact[:_MAX_PATHS]]
    return {
        "id": record.id,
        "conclusion": title if not first or first == title or has_conclusion(first) else f"**{title}** {first}",
        "boundary": ", ".join([scope, *paths, *(["…"] if len(record.impact) > _MAX_PATHS else [])]),
        "path": posixpath.relpath(record.path, posixpath.dirname(page)).replace(" ", "%20"),
        "is_thin": not record.impact,
    }
