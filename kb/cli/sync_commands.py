"""Bring clones, numbers, merges and layouts in order: `kb sync`, `renumber`, `repair` and `layout`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, scope_option, with_kb
from kb.cli.prints import print_json, print_verdict, warn
from kb.errors import NeedsPerson
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from kb.knowledge_base import KnowledgeBase
    from kb.sync.sync import SyncResult

_RECEIVED = {
    "forward": msg("received {n} commits"),
    "replayed": msg("received {n} commits and rebased the local ones onto them"),
    "merged": msg("received {n} commits and merged them with the local ones"),
}
_INBOX = {"received": msg("received"), "sent": msg("sent")}

dry_option = click.option("--dry-run", is_flag=True, help="Only tell what would change.")


# -- sync --------------------------------------------------------------------------------------------


@click.command(short_help="Bring this clone and a remote together.")
@click.option(
    "--remote", default="", metavar="NAME", help="With which remote (default: that of the branch, else origin)."
)
@click.option("--push/--no-push", default=True, show_default=True, help="Send what the remote does not have.")
@json_option
@with_kb
def sync(kb: KnowledgeBase, remote: str, push: bool, as_json: bool) -> None:
    """Fetch, rebase local commits onto the remote's, and push: the branch, open reviews and the inbox.

    Nothing is forced, and nothing that is published is rewritten. A record whose number was taken meanwhile gets the
    next free one, and what cites it follows. Without a connection nothing happens and nothing is lost. Where the branch
    takes no pushes, the commits go to a branch for a pull request. Exit 5 where a person has to decide.
    """
    from kb.sync.sync import sync_with_remote

    done = sync_with_remote(kb, remote, push=push)
    if as_json:
        reviews = [{"branch": note.branch, "said": kb.localise(note.said)} for note in done.reviews]
        print_json({**done._asdict(), "reviews": reviews, "notes": [kb.localise(note) for note in done.notes]})
        return
    for line in _iter_results(done):
        click.echo(kb.localise(line))
    sys.stdout.flush()
    for note in _iter_notes(done):
        warn(kb, note)


def _iter_results(done: SyncResult) -> Iterator[Message]:
    """Yield what came and went."""
    name = f"{done.remote}/{done.branch}"
    if done.received and done.how:
        yield msg("{name}: {what}", name=name, what=_RECEIVED[done.how]._replace(values={"n": done.received}))
    if done.sent:
        yield msg("{name}: sent {n} commits", name=name, n=done.sent)
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
        yield msg("what was based on it is kept: {ref}", ref=done.rescue)
    if done.unreachable:
        yield msg("{remote} cannot be reached: {problem}", remote=done.remote, problem=done.unreachable)
        yield msg("{n} commits wait here; go on writing, and sync later", n=done.waiting)
    if request := done.request:
        branch = f"{done.remote}/{done.branch}"
        yield msg("{branch} takes no pushes: {reason}", branch=branch, reason=request.reason)
        values = {"n": request.commits, "branch": request.branch, "command": request.command}
        yield msg("{n} commits are on {branch}; open the request: {command}", **values)


# -- renumber and repair -----------------------------------------------------------------------------


@click.command(short_help="Give records new numbers.")
@click.argument("name", metavar="[ID]", default="")
@scope_option
@dry_option
@json_option
@with_kb
def renumber(kb: KnowledgeBase, name: str, scope: str, dry_run: bool, as_json: bool) -> None:
    """Renumber the younger of every two records that have one number, or the record that ID means.

    One commit: the file, its front and title, and every citation that means the record. The old number stays an alias.
    A citation of which history does not say which of the two it means stays as it is and is named.
    """
    from kb.sync.renumber import renumber_records

    done = renumber_records(kb, name, scope=scope, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    for one in done.renumbered:
        said = msg("[{old}] is [{new}] now: {title}", old=one.old, new=one.new, title=one.title)
        click.echo(f"{kb.localise(said)}  {one.path}")
    if not done.renumbered:
        click.echo(kb.localise(msg("all numbers are unique")))
    sys.stdout.flush()
    for path in done.followed:
        warn(kb, msg("its citations follow: {path}", path=path))
    for path, old in done.unclear:
        values = {"path": path, "id": old}
        warn(kb, msg("{path} cites [{id}], and it is not clear which of the two is meant: look at it", **values))


@click.command(short_help="Repair what a merge lost.")
@click.argument("names", nargs=-1, metavar="[PATH|ID|COMMIT]...")
@click.option("--all", "every", is_flag=True, help="Examine all merges, not only those since the last run.")
@dry_option
@json_option
@with_kb
def repair(kb: KnowledgeBase, names: tuple[str, ...], every: bool, dry_run: bool, as_json: bool) -> int:
    """Merge records again that were merged without kb, as by the button of a code host, in one commit.

    A record is merged again from the parents of the merge if git left it merged line by line, with conflict markers or
    with a duplicate section. What both sides decided differently is listed for you: exit 5.
    """
    from kb.sync.repair import repair_merges

    done = repair_merges(kb, names, every=every, dry_run=dry_run)
    if as_json:
        print_json(done)
    else:
        for path in done.mended:
            click.echo(kb.localise(msg("fixed: {path}", path=path)))
        if not done.mended:
            click.echo(kb.localise(msg("nothing to repair in {n} merges", n=done.merges)))
    sys.stdout.flush()
    for one in done.undecided:
        for reason in one.reasons:
            warn(kb, msg("{path}: {problem}", path=one.path, problem=reason))
        warn(kb, msg("    → see what was merged: {command}", command=f"git show -m {one.merge[:12]} -- {one.path}"))
    return NeedsPerson.exit_code if done.undecided else 0


# -- layout ------------------------------------------------------------------------------------------


@click.group(short_help="Change between the two layouts of the context.")
def layout() -> None:
    """Change between the layout of a user (content/ alone) and that of one project (.wukong/context/ beside it)."""


@layout.command("migrate", short_help="Change to a layout.")
@click.argument("layout", type=click.Choice(["user", "project"]))
@click.option("--dry-run", is_flag=True, help="Only tell which files.")
@json_option
@with_kb
def migrate_layout(kb: KnowledgeBase, layout: str, dry_run: bool, as_json: bool) -> None:
    """Change to LAYOUT in one commit; nothing is lost either way.

    `project` writes .wukong/context/ (anchors.md, dcp-config.yaml, templates/ and sessions/), `user` removes it. Both
    take back first what only that tree has; an anchor that was edited there stops them.
    """
    from kb.importers import project_layout

    done = project_layout.migrate_layout(kb, layout, dry_run=dry_run)
    if as_json:
        print_json(done)
        return
    for verdict in done.brought:
        print_verdict(kb, verdict)
    for path in done.files:
        click.echo(path)
    if not done.commit:
        warn(kb, msg("the layout is {layout} already", layout=layout))
