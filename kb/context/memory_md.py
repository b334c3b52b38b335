"""Write MEMORY.md and the conventions: for agents that read files and call nothing.

Both are derived from the records by a template, inside the MACHINE block; what a person writes in the USER block stays.
The same records always give the same bytes. A MACHINE block that somebody has edited is not overwritten.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import TYPE_CHECKING, NamedTuple

from kb.context import routing
from kb.context.build_routes import BANK, CONVENTIONS, glob
from kb.errors import NeedsPerson
from kb.files import content, within, write_whole
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.records.blocks import MACHINE_END, MACHINE_START, USER_END, USER_START, blocks, contained, replace_machine
from kb.records.front_matter import decode
from kb.records.kinds import BY_NAME, KINDS, kind_label
from kb.records.model import GLOBAL, LIVE, Record, Status, recency
from kb.safety.quoting import TITLE_LIMIT, concludes, quoted, told
from kb.sessions.render_forms import Writer
from kb.state.agent_shells import remember_mended
from kb.text.line_ends import line_feeds, line_of
from kb.text.segment import first_sentence, one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

MEMORY = f"{BANK}/MEMORY.md"
ANSWERS = 8
"""Quick answers, at most."""
_ENTRIES = 40
"""Entries of a kind in the conventions, at most."""
_PATHS = 3
_GROUPS = ("constraint", "pattern", "preference", "decision")
_SEAL = re.compile(r"^<!-- kb:[0-9a-f]{12} -->\r?\n", re.MULTILINE)


class Page(NamedTuple):
    """One file of the bank, as it stands and as it is to be."""

    path: str
    """Relative to the knowledge base."""
    before: bytes | None
    after: bytes
    notes: tuple[Message | str, ...] = ()
    """What a person could do better."""

    @property
    def is_stale(self) -> bool:
        """Whether the file is not as it is to be."""
        return self.before != self.after


def pages(kb: Workspace, *, force: bool = False) -> list[Page]:
    """Return the files of the bank; raise NeedsPerson where somebody has edited a MACHINE block, unless *force*."""
    records = [r for r in kb.fresh().records(Filter(statuses=tuple(LIVE))) if not told(r, "").warning]
    values = ((MEMORY, "memory", _memory(kb, records)), (CONVENTIONS, "patterns", _conventions(kb, records)))
    return [_page(kb, path, template, value, force=force) for path, template, value in values]


def write(kb: Workspace, *, force: bool = False) -> list[Page]:
    """Write the files of the bank that are not as they are to be, and return all of them."""
    made = pages(kb, force=force)
    for page in made:
        if page.is_stale:
            write_whole(os.path.join(kb.root, *page.path.split("/")), page.after)
    remember_mended(kb, {page.path: page.after for page in made if page.is_stale})
    return made


def _page(kb: Workspace, path: str, template: str, values: Mapping[str, object], *, force: bool) -> Page:
    writer = Writer(kb, template)
    inside = contained(writer(values).strip("\n") + "\n")
    inside = f"<!-- kb:{_sum(inside)} -->\n{inside}"
    before = content(within(kb.root, path))
    if before is None:
        notes = "## 用户笔记\n" if kb.config.language == "zh" else "## Notes\n"
        text = "\n".join((MACHINE_START, inside + MACHINE_END, "", USER_START,
                          notes + USER_END, ""))  # fmt: skip
    else:
        old = decode(before, path)
        _refuse_edited(old, path, force=force)
        text = replace_machine(old, inside, path)
    return Page(path, before, text.encode(), (*writer.notes(kb), *_thin(values)))


def _refuse_edited(text: str, path: str, *, force: bool) -> None:
    """Raise NeedsPerson where the MACHINE block is not as it was written."""
    span = blocks(text, path).machine
    block = text[span.start : span.end]
    seal = _SEAL.match(block)
    if force or (seal and seal.group().strip() == f"<!-- kb:{_sum(line_feeds(block[seal.end() :]))} -->"):
        return
    raise NeedsPerson(
        msg("somebody has edited the MACHINE block"), path=path, line=line_of(text, span.start),
        hint=msg("move the text into the USER block, then: kb memory --force"),
    )  # fmt: skip


def _sum(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:12]


# -- what the templates are filled with -----------------------------------------------------------


def _memory(kb: Workspace, records: Sequence[Record]) -> dict[str, object]:
    language = kb.config.language
    counts = {kind.name: sum(record.kind == kind.name for record in records) for kind in KINDS}
    spoken = [f"{kind_label(name, language)} {n}" for name, n in counts.items() if n]
    return {
        "name": quoted(kb.config.name, TITLE_LIMIT),
        "holdings": "、".join(spoken) if language == "zh" else ", ".join(spoken),
        "routes": [*_routes(language)],
        "max_files": routing.MAX_FILES,
        "max_lines": routing.MAX_LINES,
        "answers": [_entry(record, MEMORY) for record in _top(records)],
    }


def _routes(language: str) -> Iterator[dict[str, object]]:
    conventions = posixpath.relpath(CONVENTIONS, BANK)
    for intent in routing.INTENTS:
        globs = [posixpath.relpath(glob(BY_NAME[kind].prefix), BANK) for kind in intent.kinds]
        read = [f"[{conventions}]({conventions})"] if intent.conventions else []
        yield {"when": intent.zh if language == "zh" else intent.en, "read": read + [f"`{each}`" for each in globs]}


def _top(records: Sequence[Record]) -> list[Record]:
    """Return the records that are worth knowing by heart: what always holds, then what is new."""
    known = [record for record in records if record.status == Status.ACCEPTED and not _is_conclusion(record)]
    newest = sorted(known, key=recency, reverse=True)
    newest.sort(key=lambda record: not BY_NAME[record.kind].always)
    return newest[:ANSWERS]


def _is_conclusion(record: Record) -> bool:
    return record.kind not in BY_NAME or concludes(record.title)


def _conventions(kb: Workspace, records: Sequence[Record]) -> dict[str, object]:
    groups = []
    for name in _GROUPS:
        own = sorted((r for r in records if r.kind == name and not _is_conclusion(r)), key=lambda r: (r.scope, r.id))
        if own:
            entries = [_entry(record, CONVENTIONS) for record in own[:_ENTRIES]]
            label = kind_label(name, kb.config.language)
            groups.append({"label": label, "kind": name, "entries": entries, "left": len(own) - len(entries)})
    return {"groups": groups}


def _entry(record: Record, page: str) -> dict[str, object]:
    """Return what a line about *record* holds: conclusion, boundary, pointer (MBANK-43)."""
    title = quoted(record.title, TITLE_LIMIT)
    first = quoted(first_sentence(record.section("decision")), 2 * TITLE_LIMIT)
    scope = record.scope if record.scope == GLOBAL else record.scope.removeprefix("project/")
    paths = [f"`{quoted(one_line(path), TITLE_LIMIT)}`" for path in record.impact[:_PATHS]]
    return {
        "id": record.id,
        "conclusion": title if not first or first == title or concludes(first) else f"**{title}** {first}",
        "boundary": ", ".join([scope, *paths, *(["…"] if len(record.impact) > _PATHS else [])]),
        "path": posixpath.relpath(record.path, posixpath.dirname(page)).replace(" ", "%20"),
        "is_thin": not record.impact,
    }


def _thin(values: Mapping[str, object]) -> Iterator[Message]:
    """Yield which quick answers say nothing of where they hold but their scope."""
    answers = values.get("answers", ())
    thin = [str(answer["id"]) for answer in answers if answer["is_thin"]] if isinstance(answers, list) else []
    if thin:
        yield msg("no impact paths say where these hold: {ids}", ids=", ".join(thin))
