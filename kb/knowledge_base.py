"""KnowledgeBase: the documented API for Python programs; each method calls one feature."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from kb.errors import KbError, NoKnowledgeBase
from kb.i18n import msg
from kb.index.schema import ALL, Filter
from kb.paths import user_home
from kb.records.model import GLOBAL, Candidate, Record, Verdict, list_aliases
from kb.startup.namedtuple import TYPE_CHECKING
from kb.workspace import Workspace

if TYPE_CHECKING:
    from kb.capture.save_session import SavedSession, SessionReading
    from kb.checks.check_context import Finding
    from kb.context.build_context import Context
    from kb.context.hint_text import Hint
    from kb.context.pack import Pack
    from kb.git.revisions import FileCommit
    from kb.history.dependents import RecordLink
    from kb.history.timeline import LifeEvent
    from kb.search.answer import SearchAnswer
    from kb.sessions.session_archive import SessionArchive
    from kb.state.session_log import SessionLog
    from kb.writing.inbox import HeldCandidate
    from kb.writing.reviews import Review, ReviewSides


def _count_uses(kb: Workspace, reading: SessionReading) -> None:
    from kb.learning.uses import count_session_uses

    count_session_uses(kb, reading)


def _note_commands(kb: Workspace, reading: SessionReading) -> None:
    from kb.learning.grow import note_commands

    note_commands(kb, reading)


class KnowledgeBase(Workspace):
    """One knowledge base on disk, with everything that can be asked of it; to be closed, or used in a `with`.

    A subclass, so that features take the `Workspace` and know nothing of the verbs above them.
    """

    session_observers = (_count_uses, _note_commands)

    def own(self) -> KnowledgeBase:
        """Open the person's own base (`~/.kb`), or this one again where it is that; raise NoKnowledgeBase for none."""
        from kb.state.project import find_own_root, open_own_base

        root = self.root if self.root == os.path.realpath(user_home(self.environment)) else find_own_root(self)
        if not root:
            hint = msg("make it: kb init --user")
            raise NoKnowledgeBase(msg("you have no knowledge base of your own"), hint=hint)
        opened = open_own_base(self, root)
        assert isinstance(opened, KnowledgeBase)
        return opened

    def write(
        self,
        candidates: Sequence[Candidate],
        *,
        folder: str = "",
        dry_run: bool = False,
        decided: bool = False,
        typed: bool = False,
    ) -> list[Verdict]:
        """Write *candidates* as one commit and return verdicts; *folder*, where the caller works, gives the scope.

        What cannot be committed is `held` and `spooled`. What overrules an accepted record is a review or *decided*.
        What a person has *typed* passes the gate, and is accepted with the sections that the setting `required` names.
        """
        from kb.capture.submit import submit

        return submit(self, candidates, folder=folder, dry_run=dry_run, decided=decided, typed=typed)

    def import_records(
        self, records: Sequence[Record], *, origin: str, files: Sequence[str] = (),
        progress: Callable[[int], None] | None = None, dry_run: bool = False
    ) -> list[Verdict]:  # fmt: skip
        """Write finished *records* of another tool as one commit; ids that are taken are replaced by the next free.

        *files*: the text of each one's file, where it comes from another knowledge base.
        """
        from kb.writing.bulk_import import import_records

        return import_records(self, records, origin=origin, files=files, progress=progress, dry_run=dry_run)

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
        """Commit *text*, made of *opened*, with what was committed since; ConcurrentEdit: both changed a line."""
        from kb.writing.edit import replace_text

        return replace_text(self, record, text, opened=opened, committed=committed, decided=decided)

    def held(self) -> list[HeldCandidate]:
        """Return what the gate keeps back."""
        from kb.writing import inbox

        return inbox.list_held(self)

    def promote(self, name: str) -> Verdict:
        """Let what is held under *name* through on a person's word."""
        from kb.writing.pipeline import promote

        return promote(self, name)

    def drop(self, name: str) -> HeldCandidate:
        """Forget what is held under *name*."""
        from kb.writing import inbox

        return inbox.drop_held(self, name)

    def reviews(self) -> list[Review]:
        """Return the open reviews, oldest first."""
        from kb.writing.reviews import list_reviews

        return [review for review in list_reviews(self) if self.can_see(review.record.scope)]

    def sides(self, name: str) -> ReviewSides:
        """Return both sides of the review *name* (its branch, or the id of its new record)."""
        from kb.writing.reviews import load_sides

        return load_sides(self, name)

    def accept(self, name: str) -> Verdict:
        """Merge the review *name* into the checked-out branch; raise NeedsPerson where git cannot merge it."""
        from kb.sync import decide_review

        return decide_review.accept_review(self, name)

    def reject(self, name: str, *, why: str = "") -> Verdict:
        """Close the review *name*; what it held stays under `refs/kb/rejected/`, with the reason *why*."""
        from kb.sync import decide_review

        return decide_review.reject_review(self, name, why)

    def request(self, name: str, remote: str = "origin", *, open_it: bool = False) -> list[str]:
        """Push the review *name* and return the command that opens its pull request, or what running it said."""
        from kb.sync import decide_review

        return decide_review.request_review(self, name, remote, open_it=open_it)

    def save_session(
        self, transcript: str, *, session: str = "", folder: str = "", host: str = "", archive: bool = True,
        full: bool = False
    ) -> SavedSession:  # fmt: skip
        """Extract from a transcript, write through the gate, and keep compact form and archive (*full*: all forms)."""
        from kb.capture.submit import flush_and_save
        from kb.sessions.active_sessions import ExtractionJob

        return flush_and_save(self, ExtractionJob(transcript, session, folder, host), archive=archive, full=full)

    def save_when_due(
        self, transcript: str, *, session: str, folder: str = "", host: str = "", agent: str = "", answer: str = ""
    ) -> SavedSession | None:
        """Extract what is new, unless the last time was less than `pause` seconds ago: then a later call takes it."""
        from kb.capture.submit import save_when_due
        from kb.sessions.active_sessions import ExtractionJob

        return save_when_due(self, ExtractionJob(transcript, session, folder, host, agent), answer=answer)

    def end_session(self, transcript: str, *, session: str, folder: str = "", host: str = "") -> None:
        """Take away what a session had while it ran, and leave the saving of it to the next call that has time."""
        from kb.capture.save_session import spool_ended_session
        from kb.sessions.active_sessions import ExtractionJob

        spool_ended_session(self, ExtractionJob(transcript, session, folder, host))

    def land(self) -> list[Verdict]:
        """Write what earlier calls could not or put off, and return the verdicts."""
        if not self.state.has_pending_work():
            return []
        from kb.capture.submit import flush_pending_work

        return flush_pending_work(self)

    def sessions(self) -> list[SessionArchive]:
        """Return the archived sessions, oldest first."""
        from kb.sessions import session_archive

        return session_archive.list_sessions(self)

    def day_named(self, word: str) -> str:
        """Return the first ISO day that *word* ("today", "yesterday", "week" or a day) means; raise BadInput."""
        from kb.sessions.session_archive import parse_day

        return parse_day(word, self.now())

    def spawn(self, avatar: str, task: str, *, session: str = "", project: str = GLOBAL, style: str = "shi") -> str:
        """Return what the prompt of a sub-agent in the role *avatar* begins with."""
        from kb.context.give_hints import build_spawn_prompt

        return build_spawn_prompt(self, avatar, task, session=session, project=project, style=style)

    def session_file(self, name: str, file: str = "compact.md") -> str:
        """Return one file of the archived session that *name* names."""
        from kb.sessions import session_archive

        return session_archive.read_session_file(self, session_archive.find_session(self, name), file)

    def refs(self, name: str, *, scope: str = "") -> list[RecordLink]:
        """Return what the record *name* points to and what points to it."""
        from kb.history.dependents import list_links

        return list_links(self, name, scope=scope)

    def log(self, name: str, *, scope: str = "") -> list[FileCommit]:
        """Return the commits that touched the record *name*, newest first."""
        from kb.git.revisions import list_file_commits

        record = self.record(name, scope=scope)
        return list_file_commits(self.repository, record.path, list_aliases(record.extra))[::-1]

    def patches(self, name: str, *, scope: str = "") -> str:
        """Return the commits that touched the record *name* with what they changed."""
        from kb.git.revisions import read_patch_log

        record = self.record(name, scope=scope)
        return read_patch_log(self.repository, record.path, list_aliases(record.extra))

    def history(self, name: str, *, scope: str = "") -> list[LifeEvent]:
        """Return the life of the record *name*, oldest first."""
        from kb.history.timeline import build_history

        return build_history(self, name, scope=scope)

    def recall(self, query: str, *, wanted: Filter = ALL, project: str = GLOBAL, limit: int = 10) -> list[SearchAnswer]:
        """Return at most *limit* records that answer *query*, best first; without a query all that are *wanted*."""
        self.start_scan()
        from kb.search.answer import search_records

        return search_records(self, query, wanted=wanted, project=project, limit=limit).answers

    def context(self, query: str, *, budget: int = 1500, wanted: Filter = ALL, project: str = GLOBAL) -> Context:
        """Return what answers *query* as text for an agent: whole or short records within *budget* estimated tokens."""
        from kb.context.build_context import compose_context

        return compose_context(self, query, budget=budget, wanted=wanted, project=project)

    def pack(self, question: str, *, folder: str = "") -> Pack:
        """Return what is known of *question*: verbatim evidence, open questions, conflicts with code in *folder*."""
        from kb.context.build_pack import compose_pack

        return compose_pack(self, question, folder=folder)

    def hint(self, moment: str, keywords: Sequence[str], *, task: str = "", project: str = GLOBAL) -> Hint:
        """Return the T1 or T2 hint (*moment* "t1" or "t2"): what holds a keyword or is about *task*, or what is new."""
        from kb.context.give_hints import build_hint

        return build_hint(self, moment, keywords, task=task, project=project)

    def hint_for_avatar(
        self, avatar: str, task: str, *, project: str = GLOBAL, quiet: bool = False, told: SessionLog | None = None
    ) -> str:
        """Return the hints that the *avatar* gets for *task*, or ""; *quiet*: no word where there is nothing."""
        from kb.context.give_hints import build_avatar_hint

        return build_avatar_hint(self, avatar, task, project=project, quiet=quiet, told=told)

    def answer_to_prompt(
        self, prompt: str, *, project: str = GLOBAL, folder: str = "", told: SessionLog | None = None
    ) -> str:
        """Return what a prompt in *folder* should be told and its session was not *told*; "" for nothing relevant."""
        from kb.context.give_hints import build_prompt_hint

        return build_prompt_hint(self, prompt, project=project, folder=folder, told=told)

    def check(self, *, fix: bool = False, below: Sequence[str] = ()) -> list[Finding]:
        """Return what is wrong with the records (in or *below* some paths); with *fix*, after mending what is safe."""
        from kb.checks.run_checks import check_records

        return check_records(self, fix=fix, below=below)


def make(
    place: str,
    environment: Mapping[str, str],
    *,
    inside: bool = False,
    name: str = "",
    language: str = "",
    with_ci: bool = False,
    source: str = "",
    adopt: Sequence[str] = (),
) -> tuple[KnowledgeBase, list[str]]:
    """Make a knowledge base at *place*, or complete it, and return it with the files written; see `create_base`."""
    from kb.writing.init_base import create_base

    files = create_base(
        place,
        environment,
        inside=inside,
        name=name,
        language=language,
        with_ci=with_ci,
        source=source,
        adopt=adopt,
    )
    return KnowledgeBase(place, environment), files


__all__ = ["ALL", "Filter", "KbError", "KnowledgeBase", "make"]
