"""The way out, with proof: what is known of a question, quoted from its files, and compared with the project's."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING

from kb.context import claims, pack
from kb.context.build_context import find_relevant_hits
from kb.context.claims import ClaimMismatch, ProjectTree
from kb.context.pack import FileConflict, OpenQuestion, Pack, QuotedEvidence, UnverifiedClaim
from kb.context.readable_files import build_read_filter
from kb.errors import BadInput, BadRecord
from kb.files import read_if_exists, resolve_within
from kb.git.git_dir import find_git_dir
from kb.git.tracked_files import list_tracked_files
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.records.front_matter import decode_record
from kb.records.model import GLOBAL, Record, Status
from kb.records.record_paths import CONTENT
from kb.safety.quoting import quote_record
from kb.text.segment import one_line

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

SCHEMA = pack.SCHEMA
"""The form of a pack."""

as_yaml = pack.dump_yaml

MOST = 6
"""Records that are quoted, at most."""
MAX_FILE, MAX_ALL = 400_000, 24_000_000
"""Bytes of a project's file that is read, and of all of them."""
_OWN = (CONTENT, "memory-bank", ".kb", "kb.toml")
_PLACES = 3


def compose_pack(kb: Workspace, question: str, *, folder: str = "") -> Pack:
    """Return what is known of *question*; *folder* is where the caller works (default: the current one)."""
    folder, question = folder or os.getcwd(), one_line(question)
    may_read = build_read_filter((), kb.config.pack_deny, never=())
    scope = kb.project(folder)
    hits = find_relevant_hits(kb, question, project=scope)
    records = [hit.record for hit in hits if may_read(hit.record.path)][:MOST]
    warned = [(record, quote_record(record, "").warning) for record in records]
    kept = [record for record, warning in warned if warning is None]
    texts = {record.path: decode_record(_read_record_file(kb, record), record.path) for record in kept}
    tree = _load_project_tree(kb, folder)
    conflicts, doubts = _find_disagreements(kb, kept, texts, tree, scope)
    return Pack(
        pack.VERSION,
        question,
        tuple(pack.summarise_record(record) for record in kept),
        tuple(item for record in kept for item in _iter_evidence(kb, record, texts[record.path], question)),
        tuple(_iter_open_questions(kb, question, kept, texts, tree)),
        tuple(conflicts),
        tuple(doubts),
        tuple(kb.localise(warning) for _, warning in warned if warning),
    )


def _read_record_file(kb: Workspace, record: Record) -> bytes:
    return read_if_exists(resolve_within(kb.root, record.path)) or b""


def _iter_evidence(kb: Workspace, record: Record, text: str, question: str) -> Iterator[QuotedEvidence]:
    commit, date = _find_last_change(kb, record)
    for quote in pack.select_quotes(text, question):
        yield QuotedEvidence(
            record.id, record.scope, record.title, str(record.status), record.path, quote.line, quote.text, commit, date
        )


def _find_last_change(kb: Workspace, record: Record) -> tuple[str, str]:
    """Return the commit that last changed the file and its time; of a file that differs from it no commit."""
    full = kb.repository.to_git_path(record.path)
    said = kb.repository.run_git(("log", "-1", "--format=%H %cI", "--", full))
    commit, _, date = said.out.decode().strip().partition(" ")
    data = _read_record_file(kb, record)
    if commit and kb.repository.read_blob(commit, record.path) == data:
        return commit, date
    changed = os.stat(resolve_within(kb.root, record.path)).st_mtime
    return "", time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(changed))


# -- the project's files --------------------------------------------------------------------------


def _load_project_tree(kb: Workspace, folder: str) -> ProjectTree:
    """Return the files of the repository around *folder*, with the texts of those that may be read; else none."""
    around = find_git_dir(os.path.realpath(folder))
    if around is None:
        return ProjectTree((), {})
    top = around[0]
    own = os.path.relpath(kb.root, top).replace(os.sep, "/")
    ours = () if own.startswith("..") else tuple(os.path.normpath(f"{own}/{part}") for part in _OWN)
    names = [
        name
        for name in list_tracked_files(kb, top)
        if not any(name == one or name.startswith(f"{one}/") for one in ours)
    ]
    may_read = build_read_filter(kb.config.pack_allow, kb.config.pack_deny)
    texts: dict[str, str] = {}
    left = MAX_ALL
    for name in sorted(names):
        if left > 0 and may_read(name) and (text := _read_text_file(top, name)) is not None:
            texts[name] = text
            left -= len(text)
    return ProjectTree(names, texts)


def _read_text_file(top: str, name: str) -> str | None:
    """Return the text of a plain file that is not too long; None for a link, a folder, a pipe or bytes."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        place = resolve_within(top, name)
        stat = os.lstat(place)
        if S_ISREG(stat.st_mode) and stat.st_size <= MAX_FILE:
            data = read_if_exists(place) or b""
            return None if b"\0" in data else data.decode("utf-8")
    return None


def _find_disagreements(
    kb: Workspace, records: Sequence[Record], texts: dict[str, str], tree: ProjectTree, scope: str
) -> tuple[list[FileConflict], list[UnverifiedClaim]]:
    """Return where *records* and the files of the project *scope* disagree, and what only a person can check."""
    conflicts: list[FileConflict] = []
    doubts: list[UnverifiedClaim] = []
    for record in records if tree.code else ():
        names = (record.id, record.scope)
        made = claims.extract_claims(texts[record.path], record.impact)
        found = list(claims.find_mismatches(made, tree))
        if record.scope == GLOBAL and scope != GLOBAL and len(found) == len(made):
            continue  # nothing of it is here: it speaks of other projects
        for answer in found:
            claim = answer.claim
            if answer.is_sure:
                where, line = record.path, max(claim.line, 1)
                conflicts.append(FileConflict(*names, claim.kind, claim.said, _describe_found(kb, answer), where, line,
                                          _suggest_fix(kb, record)))  # fmt: skip
            else:
                doubts.append(
                    UnverifiedClaim(*names, claim.said, kb.localise(msg("no file of the project can answer this")))
                )
        for key, value in record.claims.items():
            if not tree.has_word(value):
                why = kb.localise(msg("no rule can check this; a person has to look"))
                doubts.append(UnverifiedClaim(*names, f"{key}: {value}", why))
    return conflicts, doubts


def _describe_found(kb: Workspace, answer: ClaimMismatch) -> str:
    if not answer.found:
        return kb.localise(msg("the project has none"))
    return kb.localise(msg("the project has {found}", found=answer.found))


def _suggest_fix(kb: Workspace, record: Record) -> str:
    return kb.localise(
        msg(
            "if the code is right, update the record: kb edit {id}; if the record is right, mend the code",
            id=record.scoped_id,
        )
    )


def _iter_open_questions(
    kb: Workspace, question: str, records: Sequence[Record], texts: dict[str, str], tree: ProjectTree
) -> Iterator[OpenQuestion]:
    """Yield what the records do not say of *question*, each with where to look."""
    if not records:
        said = msg("nothing recorded answers “{question}”", question=question)
        yield OpenQuestion(
            kb.localise(said),
            _find_mentions(pack.find_uncovered_words(question, ()), tree) or _suggest_commands(question),
        )
        return
    for word in pack.find_uncovered_words(question, texts.values()):
        look = _find_mentions([word], tree) + _suggest_commands(word)
        yield OpenQuestion(kb.localise(msg("the records found do not speak of “{word}”", word=word)), look)
    for record in records:
        if record.status == Status.PROPOSED:
            said = msg("[{id}] is proposed and nobody has accepted it: does it hold?", id=record.scoped_id)
            name = qualify_name(kb, record)
            yield OpenQuestion(kb.localise(said), (f"kb history {name}", f"kb show {name}"))


def _find_mentions(words: Sequence[str], tree: ProjectTree) -> tuple[str, ...]:
    """Return the files of the project that name most of *words*, by their paths."""
    folded = [word.casefold() for word in words]
    counted = [(sum(word in text.casefold() for word in folded), path) for path, text in tree.texts.items()]
    best = sorted((-count, path) for count, path in counted if count)
    return tuple(path for _, path in best[:_PLACES])


def _suggest_commands(words: str) -> tuple[str, ...]:
    quoted = words.replace('"', "'")
    return (f'kb search "{quoted}"', f'git log -i --grep="{quoted}"')


# -- a pack that somebody else made ---------------------------------------------------------------


def find_pack_problems(kb: Workspace, source: str, path: str) -> list[str]:
    """Return what is wrong with a pack that a reader wrote, JSON or YAML: its form, and quotes that stand nowhere."""
    value = _parse_pack(source, path)
    found = [
        kb.localise(msg("{place} is not as the schema says", place=place)) for place in pack.iter_schema_errors(value)
    ]
    evidence = value.get("evidence") if isinstance(value, dict) else None
    for number, item in enumerate(evidence if isinstance(evidence, list) else ()):
        if isinstance(item, dict) and not _has_quote(kb, item):
            found.append(kb.localise(msg("evidence[{n}]: the quote does not stand in {file}", n=number,
                                      file=item.get("file"))))  # fmt: skip
    return found


def _has_quote(kb: Workspace, item: dict[str, Any]) -> bool:
    try:
        data = read_if_exists(resolve_within(kb.root, str(item.get("file")))) or b""
        return bool(item.get("quote")) and str(item["quote"]).encode() in data
    except (OSError, ValueError):
        return False


def _parse_pack(source: str, path: str) -> Any:
    import json

    from kb.records.safe_yaml import YamlError, load_yaml

    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        pass
    try:
        return {key: entry.value for key, entry in load_yaml(source, 8).entries.items()}
    except YamlError as error:
        raise BadInput(
            msg("neither JSON nor YAML: {problem}", problem=error.problem), path=path, line=error.line
        ) from None
    except BadRecord as error:
        raise BadInput(error.message, path=path) from None
