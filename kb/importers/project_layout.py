"""Mirror a project's records in `.wukong/context/`: `anchors.md`, `dcp-config.yaml`, `templates/`, `sessions/`.

The files under `content/` stay the truth. This tree is made of them for people and tools that know it, and what was
changed in it is taken back (RUYI-48). An archive `shop-20261120-101500-ab12cd34` is `2026-11-20-shop-101500-ab12cd34`
there, so that either name leads to the other.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import KbError, NeedsPerson
from kb.files import read_if_exists, resolve_within
from kb.i18n import msg
from kb.importers.wukong import SNAPSHOT, parse_anchors, render_anchors
from kb.records.front_matter import decode_record
from kb.records.kinds import CONTENT, TREE
from kb.records.model import GLOBAL, Record, Verdict
from kb.sessions.dcp_settings import load_root_settings, render_settings
from kb.templates import FOLDER
from kb.writing.bulk_import import import_records
from kb.writing.file_changes import commit_files, list_uncommitted
from kb.writing.transaction import transactions

if TYPE_CHECKING:
    from kb.workspace import Workspace

_SETTINGS = "kb.toml"
_DCP = "dcp-config.yaml"
_FORMS = ("compact", "normal", "expanded", "anchor")
_ARCHIVE = re.compile(r"(.+)-(\d{4})(\d\d)(\d\d)-(\d{6}-.{8})")
_FOLDER = re.compile(r"(\d{4})-(\d\d)-(\d\d)-(.+)-(\d{6}-.{8})")
_SET = re.compile(r"(?m)^[ \t]*(?:#[ \t]*)?layout[ \t]*=.*$")


class LayoutMigration(NamedTuple):
    """What a migration did, or would."""

    files: tuple[str, ...]
    """The files it wrote or removed."""
    brought: tuple[Verdict, ...] = ()
    """What became of anchors that only the tree had."""
    commit: str = ""


def migrate_layout(kb: Workspace, layout: str, *, dry_run: bool = False) -> LayoutMigration:
    """Change to *layout*: `project` makes the tree or makes it again, `user` removes it; both take back from it first.

    What is taken back: anchors, archives, templates and settings that only the tree has. Raise NeedsPerson for an
    anchor that was edited in the tree: which of the two texts holds is for a person to say.
    """
    # What is taken back is what is committed: an edit that is not would be passed over.
    paths = list_uncommitted(kb, (TREE, f"{CONTENT}/templates", _DCP))
    if paths:
        raise NeedsPerson(
            msg("not committed yet: {paths}", paths=sorted(paths)[:10]),
            hint=msg("commit them first, so that they are not passed over: git add PATH && git commit"),
        )
    new = _find_new_anchors(kb)
    brought = import_records(kb, new, origin=f"{TREE}/anchors.md", dry_run=dry_run) if new else []
    for transaction in transactions(kb, dry_run=dry_run):
        with transaction:
            tip = transaction.head.oid
            kept = kb.repository.read_files(tip, kb.repository.list_files(tip, TREE))
            back = _find_tree_only_files(kb, tip, kept)
            made = _build_tree(kb, tip, back) if layout == "project" else {}
            files = {**made, **{path: None for path in kept if path not in made}}
            changed = sorted({path for path in files if kept.get(path) != files[path]} | set(back))
            subject = "Lay the context out for one project" if made else "Keep the context under content/ only"
            files = {**back, **files, **_edit_layout_setting(kb, tip, layout)}
            commit = commit_files(transaction, "layout", files, subject)
    return LayoutMigration(tuple(changed), tuple(brought), "" if dry_run else commit)


# -- the tree -------------------------------------------------------------------------------------


def find_stale_anchors(kb: Workspace) -> str:
    """Return the path of `anchors.md` where the tree has it and it no longer says what the records do; else ""."""
    path = f"{TREE}/anchors.md"
    try:
        file = resolve_within(os.path.realpath(kb.root), path)
    except FileNotFoundError:
        return ""
    data = read_if_exists(file) if os.path.isfile(file) else None
    return path if data is not None and data.removeprefix(SNAPSHOT.encode()) != _encode_anchors(kb) else ""


def _encode_anchors(kb: Workspace) -> bytes:
    """Return all records as `anchors.md` has them."""
    return render_anchors(sorted(kb.records(), key=lambda record: record.uid or "~"), "zh", GLOBAL).encode()


def _build_tree(kb: Workspace, tip: str, back: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of the tree as the records and the commit *tip*, with *back* above it, have them."""
    defaults = _load_defaults(kb)
    names = [*defaults, *kb.repository.list_files(tip, f"{CONTENT}/sessions")]
    here = {**kb.repository.read_files(tip, names), **back}
    anchors = _encode_anchors(kb)
    files = {"anchors.md": SNAPSHOT.encode() + anchors if anchors else b"", ".gitignore": b"current/\n"}
    for path, default in defaults.items():
        files[path.removeprefix(f"{CONTENT}/")] = here[path] or default
    for path, data in here.items():
        name, _, file = path.removeprefix(f"{CONTENT}/sessions/").partition("/")
        if file and (match := _ARCHIVE.fullmatch(name)):
            project, year, month, day, rest = match.groups()
            files[f"sessions/{year}-{month}-{day}-{project}-{rest}/{file}"] = data or b""
    return {f"{TREE}/{name}": data for name, data in files.items()}


def _load_defaults(kb: Workspace) -> dict[str, bytes]:
    """Return the settings of pruning and the templates that kb brings, by their paths in the knowledge base."""
    found = {_DCP: render_settings(load_root_settings(""), "").encode()}
    for form in _FORMS:
        with open(os.path.join(FOLDER, kb.config.language, f"{form}.md"), "rb") as file:
            found[f"{CONTENT}/templates/{form}.md"] = file.read()
    return found


# -- the way back ---------------------------------------------------------------------------------


def _find_new_anchors(kb: Workspace) -> list[Record]:
    """Return the anchors that only the tree has; raise NeedsPerson for those that it has in other words."""
    tip = kb.repository.head().oid
    path = f"{TREE}/anchors.md"
    data = kb.repository.read_blob(tip, path) if tip else None
    if not data or not data.strip():
        return []
    own = {(record.scope, record.id): record for record in kb.records()}
    new, edited = [], []
    for record in parse_anchors(decode_record(data, path), GLOBAL, path):
        mine = own.get((record.scope, record.id))
        if mine is None:
            new.append(record)
        elif _normalise_text(record) != _normalise_text(mine):
            edited.append(mine.id)
    if edited:
        raise NeedsPerson(
            msg("{path} differs from the records {ids}", path=path, ids=edited[:10]),
            hint=msg("repeat the change with kb edit, or undo it in {path}", path=path),
        )
    return new


def _normalise_text(record: Record) -> str:
    """Return *record* as it is in the file, however blank lines are set there."""
    return re.sub(r"\n{2,}", "\n\n", render_anchors([record], "zh", GLOBAL)).strip().removesuffix("---").strip()


def _find_tree_only_files(kb: Workspace, tip: str, kept: Mapping[str, bytes | None]) -> dict[str, bytes]:
    """Return the files that the tree has and `content/` lacks: settings, templates and archives."""
    defaults = _load_defaults(kb)
    back: dict[str, bytes] = {}
    for path, data in kept.items():
        name = path.removeprefix(f"{TREE}/")
        own = name if name == _DCP else f"{CONTENT}/{name}"
        if own in defaults and data != defaults[own]:
            back[own] = data or b""
        elif name.startswith("sessions/") and name.count("/") > 1:
            _, folder, file = name.split("/", 2)
            if match := _FOLDER.fullmatch(folder):
                year, month, day, project, end = match.groups()
                folder = f"{project}-{year}{month}{day}-{end}"
            back[f"{CONTENT}/sessions/{folder}/{file}"] = data or b""
    here = kb.repository.read_files(tip, list(back))
    return {path: data for path, data in back.items() if here[path] is None}


def _edit_layout_setting(kb: Workspace, tip: str, layout: str) -> Mapping[str, bytes]:
    """Return the settings with *layout* in its line, or as the last one."""
    data = kb.repository.read_blob(tip, _SETTINGS)
    text = decode_record(data, _SETTINGS) if data else ""
    row = f'layout = "{layout}"'
    if _SET.search(text):
        return {_SETTINGS: _SET.sub(row, text, count=1).encode()}
    if re.search(r"(?m)^\[", text):  # a line after it would belong to the table
        raise KbError(msg("{path} has a table: put `{row}` above it by hand", path=_SETTINGS, row=row))
    gap = "" if not text or text.endswith("\n") else "\n"
    return {_SETTINGS: f"{text}{gap}{row}\n".encode()}
