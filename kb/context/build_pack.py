"""The way out, with proof: what is known of a question, quoted from its files, and compared with the project's."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator, Sequence
from stat import S_ISREG
from typing import TYPE_CHECKING

from kb.context import claims, pack
from kb.context.build_context import telling
from kb.context.claims import Answer, Tree
from kb.context.pack import Conflict, Doubt, Evidence, OpenQuestion, Pack
from kb.context.readable_files import readable
from kb.errors import BadInput, BadRecord
from kb.files import content, within
from kb.git.git_dir import enclosing
from kb.git.tracked_files import tracked
from kb.i18n import msg
from kb.index.lookup import name_of
from kb.records.front_matter import decode
from kb.records.model import GLOBAL, Record, Status
from kb.records.record_paths import CONTENT
from kb.safety.quoting import told
from kb.text.segment import one_line

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

SCHEMA = pack.SCHEMA
"""The form of a pack."""

as_yaml = pack.yaml

MOST = 6
"""Records that are quoted, at most."""
MAX_FILE, MAX_ALL = 400_000, 24_000_000
"""Bytes of a project's file that is read, and of all of them."""
_OWN = (CONTENT, "memory-bank", ".kb", "kb.toml")
_PLACES = 3


def build(kb: Workspace, question: str, *, folder: str = "") -> Pack:
    """Return what is known of *question*; *folder* is where the caller works (default: the current one)."""
    folder, question = folder or os.getcwd(), one_line(question)
    may_read = readable((), kb.config.pack_deny, never=())
    scope = kb.project(folder)
    hits = telling(kb, question, project=scope)
    records = [hit.record for hit in hits if may_read(hit.record.path)][:MOST]
    warned = [(record, told(record, "").warning) for record in records]
    kept = [record for record, warning in warned if warning is None]
    texts = {record.path: decode(_bytes(kb, record), record.path) for record in kept}
    tree = _tree(kb, folder)
    conflicts, doubts = _disagreements(kb, kept, texts, tree, scope)
    return Pack(
        pack.VERSION,
        question,
        tuple(pack.summary(record) for record in kept),
        tuple(item for record in kept for item in _evidence(kb, record, texts[record.path], question)),
        tuple(_open(kb, question, kept, texts, tree)),
        tuple(conflicts),
        tuple(doubts),
        tuple(kb.words(warning) for _, warning in warned if warning),
    )


def _bytes(kb: Workspace, record: Record) -> bytes:
    return content(within(kb.root, record.path)) or b""


def _evidence(kb: Workspace, record: Record, text: str, question: str) -> Iterator[Evidence]:
    commit, date = _last_change(kb, record)
    for quote in pack.quotes(text, question):
        yield Evidence(record.id, record.scope, record.title, str(record.status), record.path, quote.line, quote.text,
                       commit, date)  # fmt: skip


def _last_change(kb: Workspace, record: Record) -> tuple[str, str]:
    """Return the commit that last changed the file and its time; of a file that differs from it no commit."""
    full = kb.repository.full(record.path)
    said = kb.repository.output(("log", "-1", "--format=%H %cI", "--", full))
    commit, _, date = said.out.decode().strip().partition(" ")
    data = _bytes(kb, record)
    if commit and kb.repository.blob(commit, record.path) == data:
        return commit, date
    changed = os.stat(within(kb.root, record.path)).st_mtime
    return "", time.strftime("%Y-%m-%dT%H:%M:%S+00:00", time.gmtime(changed))


# -- the project's files --------------------------------------------------------------------------


def _tree(kb: Workspace, folder: str) -> Tree:
    """Return the files of the repository around *folder*, with the texts of those that may be read; else none."""
    around = enclosing(os.path.realpath(folder))
    if around is None:
        return Tree((), {})
    top = around[0]
    own = os.path.relpath(kb.root, top).replace(os.sep, "/")
    ours = () if own.startswith("..") else tuple(os.path.normpath(f"{own}/{part}") for part in _OWN)
    names = [name for name in tracked(kb, top) if not any(name == one or name.startswith(f"{one}/") for one in ours)]
    may_read = readable(kb.config.pack_allow, kb.config.pack_deny)
    texts: dict[str, str] = {}
    left = MAX_ALL
    for name in sorted(names):
        if left > 0 and may_read(name) and (text := _text(top, name)) is not None:
            texts[name] = text
            left -= len(text)
    return Tree(names, texts)


def _text(top: str, name: str) -> str | None:
    """Return the text of a plain file that is not too long; None for a link, a folder, a pipe or bytes."""
    with contextlib.suppress(OSError, UnicodeDecodeError):
        place = within(top, name)
        stat = os.lstat(place)
        if S_ISREG(stat.st_mode) and stat.st_size <= MAX_FILE:
            data = content(place) or b""
            return None if b"\0" in data else data.decode("utf-8")
    return None


def _disagreements(
    kb: Workspace, records: Sequence[Record], texts: dict[str, str], tree: Tree, scope: str
) -> tuple[list[Conflict], list[Doubt]]:
    """Return where *records* and the files of the project *scope* disagree, and what only a person can check."""
    conflicts: list[Conflict] = []
    doubts: list[Doubt] = []
    for record in records if tree.code else ():
        names = (record.id, record.scope)
        made = claims.claims(texts[record.path], record.impact)
        found = list(claims.answers(made, tree))
        if record.scope == GLOBAL and scope != GLOBAL and len(found) == len(made):
            continue  # nothing of it is here: it speaks of other projects
        for answer in found:
            claim = answer.claim
            if answer.is_sure:
                where, line = record.path, max(claim.line, 1)
                conflicts.append(Conflict(*names, claim.kind, claim.said, _found(kb, answer), where, line,
                                          _proposal(kb, record)))  # fmt: skip
            else:
                doubts.append(Doubt(*names, claim.said, kb.words(msg("no file of the project can answer this"))))
        for key, value in record.claims.items():
            if not tree.holds(value):
                why = kb.words(msg("no rule can check this; a person has to look"))
                doubts.append(Doubt(*names, f"{key}: {value}", why))
    return conflicts, doubts


def _found(kb: Workspace, answer: Answer) -> str:
    if not answer.found:
        return kb.words(msg("the project has none"))
    return kb.words(msg("the project has {found}", found=answer.found))


def _proposal(kb: Workspace, record: Record) -> str:
    return kb.words(
        msg(
            "if the code is right, update the record: kb edit {id}; if the record is right, mend the code",
            id=record.scoped_id,
        )
    )


def _open(
    kb: Workspace, question: str, records: Sequence[Record], texts: dict[str, str], tree: Tree
) -> Iterator[OpenQuestion]:
    """Yield what the records do not say of *question*, each with where to look."""
    if not records:
        said = msg("nothing recorded answers “{question}”", question=question)
        yield OpenQuestion(kb.words(said), _places(pack.uncovered(question, ()), tree) or _elsewhere(question))
        return
    for word in pack.uncovered(question, texts.values()):
        look = _places([word], tree) + _elsewhere(word)
        yield OpenQuestion(kb.words(msg("the records found do not speak of “{word}”", word=word)), look)
    for record in records:
        if record.status == Status.PROPOSED:
            said = msg("[{id}] is proposed and nobody has accepted it: does it hold?", id=record.scoped_id)
            name = name_of(kb, record)
            yield OpenQuestion(kb.words(said), (f"kb history {name}", f"kb show {name}"))


def _places(words: Sequence[str], tree: Tree) -> tuple[str, ...]:
    """Return the files of the project that name most of *words*, by their paths."""
    folded = [word.casefold() for word in words]
    counted = [(sum(word in text.casefold() for word in folded), path) for path, text in tree.texts.items()]
    best = sorted((-count, path) for count, path in counted if count)
    return tuple(path for _, path in best[:_PLACES])


def _elsewhere(words: str) -> tuple[str, ...]:
    quoted = words.replace('"', "'")
    return (f'kb search "{quoted}"', f'git log -i --grep="{quoted}"')


# -- a pack that somebody else made ---------------------------------------------------------------


def troubles(kb: Workspace, source: str, path: str) -> list[str]:
    """Return what is wrong with a pack that a reader wrote, JSON or YAML: its form, and quotes that stand nowhere."""
    value = _parsed(source, path)
    found = [kb.words(msg("{place} is not as the schema says", place=place)) for place in pack.problems(value)]
    evidence = value.get("evidence") if isinstance(value, dict) else None
    for number, item in enumerate(evidence if isinstance(evidence, list) else ()):
        if isinstance(item, dict) and not _stands(kb, item):
            found.append(kb.words(msg("evidence[{n}]: the quote does not stand in {file}", n=number,
                                      file=item.get("file"))))  # fmt: skip
    return found


def _stands(kb: Workspace, item: dict[str, Any]) -> bool:
    try:
        data = content(within(kb.root, str(item.get("file")))) or b""
        return bool(item.get("quote")) and str(item["quote"]).encode() in data
    except (OSError, ValueError):
        return False


def _parsed(source: str, path: str) -> Any:
    import json

    from kb.records.safe_yaml import YamlError, load

    try:
        return json.loads(source)
    except (ValueError, RecursionError):
        pass
    try:
        return {key: entry.value for key, entry in load(source, 8).entries.items()}
    except YamlError as error:
        raise BadInput(
            msg("neither JSON nor YAML: {problem}", problem=error.problem), path=path, line=error.line
        ) from None
    except BadRecord as error:
        raise BadInput(error.message, path=path) from None
