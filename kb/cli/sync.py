"""kb sync."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from kb.cli.options import json_option, with_kb
from kb.cli.prints import print_json, warn
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kb.knowledge_base import KnowledgeBase
    from kb.sync.sync import SyncResult

_HOW = {
    "forward": msg("received {n} commits"),
    "replayed": msg("received {n} commits, and put what is new here upon them"),
    "merged": msg("received {n} commits, and merged them with what is new here"),
}
_INBOX = {"received": msg("received"), "sent": msg("sent")}


@click.command(short_help="Bring this clone and a remote together.")
@click.option(
    "--remote", default="", metavar="NAME", help="With which remote (default: that of the branch, else origin)."
)
@click.option("--push/--no-push", default=True, show_default=True, help="Send what the remote does not have.")
@json_option
@with_kb
def command(kb: KnowledgeBase, remote: str, push: bool, as_json: bool) -> None:
    """Fetch, put what is new here upon what is new there, and push: the branch, open reviews and the inbox.

    Nothing is forced, and nothing that is published is rewritten. A record whose number was taken meanwhile gets the
    next free one, and what cites it follows. Without a connection nothing happens and nothing is lost. Where the branch
    takes no pushes, the commits go to a branch for a pull request. Exit 5 where a person has to decide.
    """
    from kb.sync.sync import sync_with_remote

    done = sync_with_remote(kb, remote, push=push)
    if as_json:
        print_json(_serialise_result(kb, done))
        return
    for line in _iter_results(done):
        click.echo(kb.localise(line))
    sys.stdout.flush()
    for note in _iter_notes(done):
        warn(kb, note)


def _serialise_result(kb: KnowledgeBase, done: SyncResult) -> dict[str, object]:
    """Return *done* with its sentences in the language of *kb*."""
    told = [{"branch": note.branch, "said": kb.localise(note.said)} for note in done.reviews]
    return {**done._asdict(), "reviews": told, "notes": [kb.localise(note) for note in done.notes]}


def _iter_results(done: SyncResult) -> Iterator[Message]:
    """Yield what came and went."""
    name = f"{done.remote}/{done.branch}"
    if done.received and done.how:
        yield msg("{name}: {what}", name=name, what=_HOW[done.how]._replace(values={"n": done.received}))
    if done.sent:
        yield msg("{name}: sent {n} commits", name=name, n=done.sent)
    for one in done.renumbered:
        yield msg("[{old}] is [{new}] now: {title}", old=one.old, new=one.new, title=one.title)
    for note in done.reviews:
        yield msg("{name}: {what}", name=note.branch, what=note.said)
    for word in done.inbox:
        yield msg("{name}: {what}", name=msg("inbox"), what=_INBOX[word])
    if not any((done.received, done.sent, done.reviews, done.inbox, done.unreachable, done.waiting)):
        yield msg("{name}: everything is in sync", name=name)


def _iter_notes(done: SyncResult) -> Iterator[Message]:
    """Yield what a person should know."""
    yield from done.notes
    if done.rescue:
        yield msg("what was put upon it is kept as it was: {ref}", ref=done.rescue)
    if done.unreachable:
        yield msg("{remote} cannot be reached: {problem}", remote=done.remote, problem=done.unreachable)
        yield msg("{n} commits wait here; go on writing, and sync later", n=done.waiting)
    if done.request:
        yield msg(
            "{branch} takes no pushes: {reason}", branch=f"{done.remote}/{done.branch}", reason=done.request.reason
        )
        yield msg("{n} commits are on {branch}; open the request: {command}", n=done.request.commits,
                  branch=done.request.branch, command=done.request.command)  # fmt: skip
