"""KnowledgeBase: the whole API. Doors call it, and nothing below it; every verb that is long has a module here."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Mapping, Sequence

from kb import config as settings
from kb.errors import BadRecord, KbError
from kb.git.repository import Repository
from kb.i18n import Message
from kb.index.database import Index
from kb.index.lookup import for_reader, one_named, root_around, root_at, unreadable, write_for_caller
from kb.index.schema import ALL, Filter
from kb.records.kinds import KINDS
from kb.records.model import GLOBAL, Candidate, Record, Verdict
from kb.records.record_paths import CONTENT
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state.state_folder import State

if TYPE_CHECKING:
    from typing import Self

    from kb.capture.save_session import Saved
    from kb.checks.findings import Finding
    from kb.context.hints import Hint
    from kb.context.pack import Pack
    from kb.context.record_context import Context
    from kb.git.blame import Change
    from kb.history.record_life import Moment
    from kb.history.record_links import Link
    from kb.index.index_sync import Looking
    from kb.search.answer import Answer
    from kb.sessions.session_archive import Session
    from kb.writing.inbox import Held
    from kb.writing.reviews import Review, Sides


Clock = Callable[[], float]


class KnowledgeBase:
    """One knowledge base on disk; to be closed, or used in a `with`. One object is for one thread."""

    def __init__(self, root: str, environment: Mapping[str, str], now: Clock = time.time, *, folder: str = "") -> None:
        """Open the knowledge base at *root* for work in *folder* ("": not known); *now*: seconds since 1970."""
        self.root = os.path.realpath(root)
        self.folder = folder
        self.environment = environment
        self.now = now
        self.state = State(self.root, environment)
        self.state.refuse_links()
        self.config = settings.load(self.root, self.state.path("config.json"))
        self._repository: Repository | None = None
        self._index: Index | None = None
        self._looking: Looking | None = None

    @classmethod
    def open(cls, start: str = "", environment: Mapping[str, str] | None = None, now: Clock = time.time) -> Self:
        """Open the knowledge base that holds for the folder *start* (default: the current one).

        In this order: `$KB_HOME`; the nearest folder with a `kb.toml` that nobody else has laid there; `~/.kb`. Raise
        NoKnowledgeBase if there is none.
        """
        environment = os.environ if environment is None else environment
        folder = start or os.getcwd()
        return cls(root_around(folder, environment), environment, now, folder=folder)

    @classmethod
    def at(cls, root: str, environment: Mapping[str, str] | None = None, *, folder: str = "") -> Self:
        """Open the knowledge base whose root is *root* for work in *folder*; raise NoKnowledgeBase if it is none."""
        return cls(root_at(root), os.environ if environment is None else environment, folder=folder)

    def close(self) -> None:
        """Close what is open."""
        if self._looking:
            self._looking.given_up()
            self._looking = None
        if self._index:
            self._index.close()
            self._index = None

    def __enter__(self) -> KnowledgeBase:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: object) -> None:
        if isinstance(error, KbError):
            write_for_caller(self, error)
        self.close()

    @property
    def repository(self) -> Repository:
        """The git repository around the knowledge base."""
        if self._repository is None:
            self._repository = Repository(self.root, self.environment)
        return self._repository

    @property
    def index(self) -> Index:
        """The index, as it was last brought up to date."""
        if self._index is None:
            with contextlib.suppress(OSError):  # the index needs none then
                self.state.made()
            folders = sorted({f"{CONTENT}/{kind.folder}" for kind in KINDS})
            self._index = Index(self.state.path("index.db"), self.root, folders)
            if self._index.is_new:
                from kb.writing import id_allocator

                id_allocator.remember(self)
        return self._index

    def fresh(self, *, thorough: bool = True) -> Index:
        """Return the index, brought up to the files first; not *thorough*: a file edited in place may be missed."""
        if thorough:
            from kb.index import index_sync as fresh

            fresh.refresh(self, self._looking)
            self._looking = None
        else:
            self.index.refresh(edited=())
        return self.index

    def look(self) -> None:
        """Let git look for edited files while the caller prepares a question; the next `fresh` uses what it finds."""
        from kb.index import index_sync as fresh

        self._looking = None if fresh.looked_lately(self) else fresh.look(self)

    def words(self, said: Message | str) -> str:
        """Return *said* in the language of this knowledge base, its ids as the caller finds their records."""
        return said if isinstance(said, str) else for_reader(self, said).translate(self.config.language)

    def today(self) -> str:
        """Return the day as ISO date, in local time."""
        return time.strftime("%Y-%m-%d", time.localtime(self.now()))

    def project(self, folder: str) -> str:
        """Return the scope that holds for work in *folder*: "project/<name>", or "global" inside the knowledge base."""
        from kb.writing.project import scope_for

        return scope_for(self, folder)

    @functools.cached_property
    def here(self) -> str:
        """The scope from which the caller names records: that of the folder he works in, or "" where none is known."""
        return self.project(self.folder or self.root) if self.folder or self.config.project else ""

    def write(
        self, candidates: Sequence[Candidate], *, folder: str = "", dry_run: bool = False, decided: bool = False
    ) -> list[Verdict]:
        """Write *candidates* as one commit and return verdicts; *folder*, where the caller works, gives the scope.

        What cannot be committed is `held` and `spooled`. What overrules an accepted record is a review or *decided*.
        """
        from kb.writing.group_commit import Call, Waiting, written_by_another

        waiting = Waiting(self, Call(candidates, folder, decided=decided))
        if dry_run or (verdicts := written_by_another(self, waiting)) is None:
            from kb.index.index_sync import look_ahead

            self._looking = self._looking or look_ahead(self)
            from kb.capture.flush_spool import write

            verdicts = write(self, candidates, folder=folder, dry_run=dry_run, waiting=waiting, decided=decided)
        if dry_run or not any(verdict.verdict == "refused" for verdict in verdicts):
            return verdicts
        from kb.capture.declined import keep_declined

        return keep_declined(self, candidates, verdicts, folder)

    def import_records(
        self, records: Sequence[Record], *, origin: str,
        progress: Callable[[int], None] | None = None, dry_run: bool = False,
    ) -> list[Verdict]:  # fmt: skip
        """Write finished *records* of another tool as one commit; ids that are taken are replaced by the next free."""
        from kb.writing.bulk_import import import_records

        return import_records(self, records, origin=origin, progress=progress, dry_run=dry_run)

    def change_status(
        self, name: str, status: str, *, why: str = "", scope: str = "", decided: bool = False
    ) -> Verdict:
        """Give the record *name* another *status*; out of force only in a review, unless a person has *decided* it."""
        from kb.writing.edit import change_status

        return change_status(self, name, status, why=why, scope=scope, decided=decided)

    def supersede(self, old: str, *, by: str, in_part: bool = False, scope: str = "", decided: bool = False) -> Verdict:
        """Say that *by* replaces *old*, wholly or in part; in a review, unless a person has *decided* it."""
        from kb.writing.edit import supersede

        return supersede(self, old, by, in_part=in_part, scope=scope, decided=decided)

    def confirm(self, name: str, *, scope: str = "") -> Verdict:
        """Stamp the record *name* as found true today."""
        from kb.writing.edit import confirm

        return confirm(self, name, scope=scope)

    def replace_text(
        self, record: Record, text: str, *, opened: str, committed: bytes | None = None, decided: bool = True
    ) -> Verdict:
        """Commit *text*, made of *opened*, with what was committed since; raise Overtaken where both changed a line."""
        from kb.writing.edit import replace_text

        return replace_text(self, record, text, opened=opened, committed=committed, decided=decided)

    def held(self) -> list[Held]:
        """Return what the gate keeps back."""
        from kb.writing import inbox

        inbox.sync(self)
        return inbox.everything(self)

    def one_held(self, name: str) -> Held:
        """Return what is held under *name* or its beginning; raise UnknownId."""
        from kb.writing import inbox

        return inbox.one(self, name)

    def promote(self, name: str) -> Verdict:
        """Let what is held under *name* through on a person's word."""
        from kb.writing import inbox

        return inbox.promote(self, name)

    def drop(self, name: str) -> Held:
        """Forget what is held under *name*."""
        from kb.writing import inbox

        return inbox.drop(self, name)

    def reviews(self) -> list[Review]:
        """Return the open reviews, oldest first."""
        from kb.writing import reviews as branches

        return branches.reviews(self)

    def sides(self, name: str) -> Sides:
        """Return both sides of the review *name* (its branch, or the id of its new record)."""
        from kb.writing import reviews as branches

        return branches.sides(self, name)

    def accept(self, name: str) -> Verdict:
        """Merge the review *name* into the checked-out branch; raise NeedsPerson where git cannot merge it."""
        from kb.sync import decide_review

        return decide_review.accept(self, name)

    def reject(self, name: str) -> Verdict:
        """Close the review *name*; what it held stays under `refs/kb/rejected/`."""
        from kb.sync import decide_review

        return decide_review.reject(self, name)

    def request(self, name: str, remote: str = "origin", *, open_it: bool = False) -> list[str]:
        """Push the review *name* and return the command that opens its pull request, or what running it said."""
        from kb.sync import decide_review

        return decide_review.request(self, name, remote, open_it=open_it)

    def save_session(
        self, transcript: str, *, session: str = "", folder: str = "", host: str = "", archive: bool = True,
        full: bool = False,
    ) -> Saved:  # fmt: skip
        """Extract from a transcript, write through the gate, and keep compact form and archive (*full*: all forms)."""
        from kb.capture.flush_spool import save

        return save(self, transcript, session=session, folder=folder, host=host, archive=archive, full=full)

    def save_when_due(
        self, transcript: str, *, session: str, folder: str = "", host: str = "", agent: str = "", answer: str = ""
    ) -> Saved | None:
        """Extract what is new, unless the last time was less than `pause` seconds ago: then a later call takes it."""
        from kb.capture.flush_spool import save_when_due

        return save_when_due(self, transcript, session=session, folder=folder, host=host, agent=agent, answer=answer)

    def end_session(self, transcript: str, *, session: str, folder: str = "", host: str = "") -> None:
        """Take away what a session had while it ran, and leave the saving of it to the next call that has time."""
        from kb.capture.save_session import end

        end(self, transcript, session=session, folder=folder, host=host)

    def land(self) -> list[Verdict]:
        """Write what earlier calls could not or put off, and return the verdicts."""
        if not self.state.has_work():
            return []
        from kb.capture.flush_spool import land

        return land(self)

    def sessions(self) -> list[Session]:
        """Return the archived sessions, oldest first."""
        from kb.sessions import session_archive as archive

        return archive.sessions(self)

    def session_named(self, name: str) -> Session:
        """Return the archived session that a unique part of its *name* names; raise UnknownId."""
        from kb.sessions import session_archive as archive

        return archive.one_session(self, name)

    def day_named(self, word: str) -> str:
        """Return the first ISO day that *word* ("today", "yesterday", "week" or a day) means; raise BadInput."""
        from kb.sessions.session_archive import day_named

        return day_named(word, self.now())

    def spawn(self, avatar: str, task: str, *, session: str = "", project: str = GLOBAL, style: str = "shi") -> str:
        """Return what the prompt of a sub-agent in the role *avatar* begins with."""
        from kb.context.give_hints import spawn

        return spawn(self, avatar, task, session=session, project=project, style=style)

    def session_file(self, name: str, file: str = "compact.md") -> str:
        """Return one file of the archived session that *name* names."""
        from kb.sessions import session_archive as archive

        return archive.session_file(self, archive.one_session(self, name), file)

    def records(self, wanted: Filter = ALL) -> list[Record]:
        """Return the records *wanted*, by scope and id."""
        return self.fresh().records(wanted)

    def record(self, name: str, *, scope: str = "") -> Record:
        """Return the record that *name* names: an id (`D001`), a citation (`shop:D001`) or a uid.

        An id is looked for in *scope* (default: the caller's), then globally. Raise UnknownId.
        """
        scope = scope or self.here
        record = one_named(self.fresh(thorough=False), name, scope)
        return record if self.index.is_current(record.path) else one_named(self.fresh(), name, scope)

    def broken(self) -> list[BadRecord]:
        """Return why each file that should hold a record cannot be read, as of the last answer."""
        return unreadable(self.index)

    def text(self, record: Record) -> str:
        """Return the file of *record* as it stands in the checkout."""
        from kb.files import within
        from kb.records.front_matter import decode

        with open(within(self.root, record.path), "rb") as file:
            return decode(file.read(), record.path)

    def refs(self, name: str, *, scope: str = "") -> list[Link]:
        """Return what the record *name* points to and what points to it."""
        from kb.history.record_links import links

        return links(self, name, scope=scope)

    def log(self, name: str, *, scope: str = "") -> list[Change]:
        """Return the commits that touched the record *name*, newest first."""
        from kb.git.blame import changes_of

        return changes_of(self.repository, self.record(name, scope=scope).path)[::-1]

    def patches(self, name: str, *, scope: str = "") -> str:
        """Return the commits that touched the record *name* with what they changed."""
        from kb.git.blame import patches

        return patches(self.repository, self.record(name, scope=scope).path)

    def history(self, name: str, *, scope: str = "") -> list[Moment]:
        """Return the life of the record *name*, oldest first."""
        from kb.history.record_life import history

        return history(self, name, scope=scope)

    def recall(self, query: str, *, wanted: Filter = ALL, project: str = GLOBAL, limit: int = 10) -> list[Answer]:
        """Return at most *limit* records that answer *query*, best first; without a query all that are *wanted*."""
        self.look()
        from kb.search.answer import explained

        return explained(self, query, wanted=wanted, project=project, limit=limit).answers

    def context(self, query: str, *, budget: int = 1500, wanted: Filter = ALL, project: str = GLOBAL) -> Context:
        """Return what answers *query* as text for an agent: whole or short records within *budget* estimated tokens."""
        from kb.context.build_context import build

        return build(self, query, budget=budget, wanted=wanted, project=project)

    def pack(self, question: str, *, folder: str = "") -> Pack:
        """Return what is known of *question*: verbatim evidence, open questions, conflicts with code in *folder*."""
        from kb.context.build_pack import build

        return build(self, question, folder=folder)

    def hint(self, moment: str, keywords: Sequence[str], *, task: str = "", project: str = GLOBAL) -> Hint:
        """Return the T1 or T2 hint (*moment* "t1" or "t2"): what holds a keyword or is about *task*, or what is new."""
        from kb.context.give_hints import hint

        return hint(self, moment, keywords, task=task, project=project)

    def hint_for_avatar(self, avatar: str, task: str, *, project: str = GLOBAL, quiet: bool = False) -> str:
        """Return the hints that the *avatar* gets for *task*, or ""; *quiet*: no word where there is nothing."""
        from kb.context.give_hints import hint_for_avatar

        return hint_for_avatar(self, avatar, task, project=project, quiet=quiet)

    def answer_to_prompt(self, prompt: str, *, project: str = GLOBAL, folder: str = "") -> str:
        """Return what a prompt in *folder* should be told, or "" when nothing is relevant."""
        from kb.context.give_hints import answer_to_prompt

        return answer_to_prompt(self, prompt, project=project, folder=folder)

    def start_of_session(self, session: str, *, source: str, project: str = GLOBAL) -> str:
        """Return what a session that starts is told; after a compaction (*source* "compact") its compact form."""
        from kb.context.give_hints import start_of_session

        return start_of_session(self, session, source=source, project=project)

    def check(self, *, fix: bool = False, below: Sequence[str] = ()) -> list[Finding]:
        """Return what is wrong with the records (in or *below* some paths); with *fix*, after mending what is safe."""
        from kb.checks.collect_checks import check

        return check(self, fix=fix, below=below)


__all__ = ["ALL", "Filter", "KbError", "KnowledgeBase", "one_named"]
