"""Commands on clones, numbers, merges and layouts: sync, renumber, repair, layout, and the merge driver."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING

import click

from kb.cli.options import Answer, scope_option, with_json
from kb.cli.prints import detect_language
from kb.errors import NeedsPerson
from kb.files import write_atomic
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.sync.sync import SyncResult

_RECEIVED = {
    "forward": msg("received {count} commit", "received {count} commits", count=0),
    "replayed": msg(
        "received {count} commit and rebased the local ones onto it",
        "received {count} commits and rebased the local ones onto them",
        count=0,
    ),
    "merged": msg(
        "received {count} commit and merged it with the local ones",
        "received {count} commits and merged them with the local ones",
        count=0,
    ),
}
_MAX_SHOWN_RECORDS = 10
"""Records a sync received that are named."""
_INBOX = {"received": msg("received"), "sent": msg("sent")}
_MERGE_FAILED = 255
"""What git takes for "no merge at all"; up to 128 it takes what is in the file for a conflict."""

dry_option = click.option("--dry-run", is_flag=True, help="Only show what would change.")


@click.command()
@click.option("--remote", default="", metavar="NAME", help="The remote (default: the branch's own, else origin).")
@click.option("--push/--no-push", default=True, show_default=True, help="Send what the remote does not have.")
@with_json
def sync(kb: KnowledgeBase, remote: str, push: bool) -> Answer:
    """Fetch, rebase local commits onto the remote's, and push the branch, open reviews and the inbox.

    Nothing is forced, and nothing published is rewritten. A record whose number was taken meanwhile gets the next free
    one, and its citations follow. Without a connection nothing happens and nothing is lost. If the branch takes no
    pushes, the commits go to a branch for a pull request. Exit 5 if a person has to decide.
    """
    from kb.checks.collect_checks import find_brought_contradictions
    from kb.checks.lifecycle_rules import suggest_choice
    from kb.sync.sync import sync_with_remote

    done = sync_with_remote(kb, remote, push=push)
    contradictions = find_brought_contradictions(kb, done.joined) if done.joined else []
    reviews = [{"branch": note.branch, "said": kb.localise(note.said)} for note in done.reviews]
    records = [{"id": one.id, "scope": one.scope, "title": one.title, "path": one.path} for one in done.records]
    said = {"reviews": reviews, "records": records, "notes": [kb.localise(note) for note in done.notes]}
    data = {**done._asdict(), **said}
    data["contradictions"] = [
        {"id": kb.localise(new.scoped_id), "other": kb.localise(old.scoped_id), "why": kb.localise(why)}
        for new, old, why in contradictions
    ]
    notes: list[Message | str] = [*_iter_notes(done)]
    for new, old, why in contradictions:
        notes += [why, "    → " + kb.localise(suggest_choice(old, new))]
    code = NeedsPerson.exit_code if contradictions else 0
    return Answer(data, _iter_results(done), notes, code=code)


def _iter_results(done: SyncResult) -> Iterator[Message]:
    """Yield what came and went."""
    name = f"{done.remote}/{done.branch}"
    if done.received and done.how:
        yield msg("{name}: {what}", name=name, what=_RECEIVED[done.how]._replace(values={"count": done.received}))
        for record in done.records[:_MAX_SHOWN_RECORDS]:
            yield msg("    [{id}] {title}", id=record.scoped_id, title=record.title)
        if (left := len(done.records) - _MAX_SHOWN_RECORDS) > 0:
            yield msg("    … and {count} more", count=left)
    if done.sent:
        yield msg("{name}: sent {count} commit", "{name}: sent {count} commits", name=name, count=done.sent)
    for one in done.renumbered:
        yield msg("[{old}] is [{new}] now: {title}", old=one.old, new=one.new, title=one.title)
    for note in done.reviews:
        yield msg("{name}: {what}", name=note.branch, what=note.said)
    for direction in done.inbox:
        yield msg("{name}: {what}", name=msg("inbox"), what=_INBOX[direction])
    if not any((done.received, done.sent, done.reviews, done.inbox, done.unreachable, done.waiting)):
        yield msg("{name}: everything is in sync", name=name)


def _iter_notes(done: SyncResult) -> Iterator[Message]:
    """Yield what a person should know."""
    yield from done.notes
    if done.rescue:
        yield msg("commits based on it are kept: {ref}", ref=done.rescue)
    if done.unreachable:
        yield msg("{remote} cannot be reached: {problem}", remote=done.remote, problem=done.unreachable)
        yield msg("{n} commits wait here; go on writing, and sync later", n=done.waiting)
    if request := done.request:
        branch = f"{done.remote}/{done.branch}"
        yield msg("{branch} does not accept pushes: {reason}", branch=branch, reason=request.reason)
        values = {"n": request.commits, "branch": request.branch, "command": request.command}
        yield msg("{n} commits are on {branch}; open the request: {command}", **values)


@click.command()
@click.argument("name", metavar="[ID]", default="")
@scope_option
@dry_option
@with_json
def renumber(kb: KnowledgeBase, name: str, scope: str, dry_run: bool) -> Answer:
    """Renumber the younger of any two records that share a number, or the record ID.

    In one commit: the file, its front matter and title, and every citation of the record. The old number stays an
    alias. A citation that history cannot attribute to one of the two is left as it is and reported.
    """
    from kb.sync.repair import renumber_records

    done = renumber_records(kb, name, scope=scope, dry_run=dry_run)
    lines: list[Message | str] = [
        kb.localise(msg("[{old}] is [{new}] now: {title}", old=one.old, new=one.new, title=one.title)) + f"  {one.path}"
        for one in done.renumbered
    ]
    notes = [msg("its citations follow: {path}", path=path) for path in done.followed]
    for path, old in done.unclear:
        values = {"path": path, "id": old}
        notes.append(msg("{path} cites [{id}], and it is not clear which of the two it means: check it", **values))
    lines = lines or [msg("all numbers are unique")]
    return Answer(done, lines, notes, has_notes_with_json=True)


@click.command()
@click.argument("names", nargs=-1, metavar="[PATH|ID|COMMIT]...")
@click.option("--all", "every", is_flag=True, help="Examine every merge, not only those since the last run.")
@dry_option
@with_json
def repair(kb: KnowledgeBase, names: tuple[str, ...], every: bool, dry_run: bool) -> Answer:
    """Redo, in one commit, merges that were made without kb, such as by a code host's merge button.

    A record is merged again from the parents of the merge if git left it merged line by line, with conflict markers or
    with a duplicate section. What both sides decided differently is listed for you: exit 5.
    """
    from kb.sync.repair import repair_merges

    done = repair_merges(kb, names, every=every, dry_run=dry_run)
    lines = [msg("fixed: {path}", path=path) for path in done.repaired]
    notes = []
    for one in done.undecided:
        notes += [msg("{path}: {problem}", path=one.path, problem=reason) for reason in one.reasons]
        show = f"git show -m {one.merge[:12]} -- {one.path}"
        notes.append(msg("    → see what was merged: {command}", command=show))
    code = NeedsPerson.exit_code if done.undecided else 0
    nothing = msg("nothing to repair in {n} merges", n=done.merges)
    return Answer(done, lines or [nothing], notes, code=code, has_notes_with_json=True)


@click.group()
def layout() -> None:
    """Switch between the user layout (content/ alone) and the project layout (.wukong/context/ beside it)."""


@layout.command("migrate", short_help="Change to a layout.")
@click.argument("layout", type=click.Choice(["user", "project"]))
@click.option("--dry-run", is_flag=True, help="Only list the files.")
@with_json
def migrate_layout(kb: KnowledgeBase, layout: str, dry_run: bool) -> Answer:
    """Switch to LAYOUT in one commit; nothing is lost in either direction.

    `project` writes .wukong/context/ (anchors.md, dcp-config.yaml, templates/ and sessions/), `user` removes it. Both
    take back first what only that tree has; an anchor that was edited there stops them.
    """
    from kb.importers import project_layout

    done = project_layout.migrate_layout(kb, layout, dry_run=dry_run)
    notes = [] if done.commit else [msg("the layout is {layout} already", layout=layout)]
    return Answer(done, done.files, notes, verdicts=done.brought)


@click.command()
@click.argument("base", type=click.Path())
@click.argument("ours", type=click.Path())
@click.argument("theirs", type=click.Path())
@click.argument("path")
def merge(base: str, ours: str, theirs: str, path: str) -> int:
    """Merge the files OURS and THEIRS, which both come from BASE, and write the result over OURS.

    git calls this as kb merge-driver %O %A %B %P; kb init configures it. PATH is the path of the record. Exit 0:
    merged, 1: conflicts stand between markers, above 128: nothing was written.
    """
    # It opens no knowledge base and reads nothing but three files: git may call it in any clone, before a checkout.
    from kb.merge.merge_record import merge_record

    try:
        old, mine, other = (Path(name).read_bytes() for name in (base, ours, theirs))
        found = merge_record(old or None, mine, other, path=path)
        if found.data != mine:
            write_atomic(os.path.abspath(ours), found.data)
    except Exception:  # not narrower: a bug would exit with 1, and git would take our side for the merged file
        import traceback

        traceback.print_exc()
        return _MERGE_FAILED
    messages = [*found.removed, *(conflict.said for conflict in found.conflicts)]
    # it reads kb.toml, which a merge of many records need not do for each
    language = detect_language() if messages else ""
    for said in messages:
        click.echo(f"kb: {path}: {said.translate(language)}", err=True)
    if found.conflicts:
        hint = msg("choose between the versions, remove the markers, then: git add {path}", path=quote(path))
        click.echo("    → " + hint.translate(language), err=True)
    return 1 if found.conflicts else 0
