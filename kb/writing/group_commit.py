"""Group concurrent writers: the process that holds the lock writes for all that wait.

A writer that finds the lock taken puts its masked candidates into `.kb/queue/` and waits for the lock or an answer,
whichever comes first. The holder also plans the requests in the queue, each as a commit of its own, and moves the refs
once for all of them. No request depends on its holder: it stays in the queue until it is answered, and a writer that
gets the lock withdraws its own request. So if the holder dies, the writer itself or the next holder writes it.

A request is a job: before the refs move, the holder saves the commits and drafts the answer. If the holder dies after
that, the next process sends the drafted answer and writes nothing, even on another branch. A writer that waited too
long spools its request under the same job name.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence

from kb.errors import Busy, GitFailed, KbError
from kb.files import json_bytes, open_nonblocking, remove_file, try_lock, write_atomic
from kb.git.git_process import build_git_error, is_inconclusive
from kb.git.objects import filter_existing_commits
from kb.git.repository import NOBODY, POLL, QUEUE
from kb.i18n import msg
from kb.records.candidate import build_candidates, candidate_to_json
from kb.records.model import Candidate, SimilarRecord, Verdict
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace


_FOLDER = "queue"
_REQUEST, _ANSWER, _DRAFT, _OWN = ".json", ".answer", ".draft", ".own"
_MAX_REQUESTS = 64
"""Requests written together; more would delay the answers to the first ones."""
_AUTHOR_VARIABLES = tuple(
    f"GIT_{role}_{part}" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL", "DATE")
)


class WriteRequest(NamedTuple):
    """The candidates of one call, and how to write them."""

    candidates: Sequence[Candidate]
    folder: str
    masked: Sequence[Sequence[str]] = ()
    """For each candidate, the rules that its caller has already masked it by."""
    by: Mapping[str, str] = NOBODY
    decided: bool = False
    """Whether a person has decided that records may lose their accepted status."""
    path: str = ""
    """The file of the request in the queue; "" for the holder's own."""
    job: str = ""
    """Its job name in the queue or the spool, or "" if it was in neither."""
    scope: str = ""
    """The scope of candidates without one; "": the scope of the project around *folder*."""
    promoted: str = ""
    """The name of the held candidate that a person takes out of the inbox."""
    by_person: bool = False
    """Whether a person has confirmed this exact wording."""
    proofs: Sequence[str] = ()
    """For each candidate PROVEN, SAID, WEIGHED, a quote missing from its session, or "" if nothing was looked up."""


class QueuedWriter:
    """A writer that may have to wait for the lock, and its request in the queue."""

    def __init__(self, kb: Workspace, call: WriteRequest, job: str = "") -> None:
        """Do not queue the request yet; the first check for an answer does.

        *job* is the name of the spooled job that the call writes; without one it is named when it is queued.
        """
        self._kb = kb
        self.call = call._replace(job=job)
        self._path = ""
        self._has_asked = False

    def wait_for_answer(self) -> list[Verdict] | None:
        """Wait while another process writes and return its answer, or None as soon as the lock is free.

        Raise Busy if nothing can be written now.
        """
        end = time.monotonic() + QUEUE
        while self._kb.repository.is_locked():
            if self.is_queued_and_answered():
                return self.read_answer()
            if time.monotonic() > end:
                verdicts = self.read_answer_or_withdraw()
                if verdicts is None:
                    raise self._kb.repository.build_locked_error()
                return verdicts
            time.sleep(POLL)
        return None

    def is_queued_and_answered(self) -> bool:
        """Return whether the request has been answered; put it into the queue on the first call.

        If the request cannot be queued, for example on a full disk, the writer only waits for the lock.
        """
        if not self._has_asked:
            self._has_asked = True
            with contextlib.suppress(OSError):
                self._path = _enqueue_request(self._kb, self.call)
                self.call = self.call._replace(job=os.path.basename(self._path))
        return self.has_answer()

    def has_answer(self) -> bool:
        """Return whether the request was queued and has been answered."""
        return bool(self._path) and os.path.exists(self._path + _ANSWER)

    def is_written(self) -> bool:
        """Return whether the request has been written; if its holder died before the answer, send the answer.

        Raise GitFailed if git cannot tell.
        """
        return self.has_answer() or (bool(self._path) and _answer_if_published(self._kb, self._path))

    def read_answer(self) -> list[Verdict]:
        """Return the verdicts on the request; raise Busy if the holder could not write either."""
        with open(self._path + _ANSWER, encoding="utf-8") as file:
            value = json.load(file)
        self.withdraw_request()
        if "busy" in value:
            raise Busy(msg("{problem}", problem=value["busy"]), hint=msg("{problem}", problem=value["hint"]))
        return [
            Verdict(**row)._replace(
                reasons=tuple(row["reasons"]), similar=tuple(SimilarRecord(**one) for one in row["similar"])
            )
            for row in value["verdicts"]
        ]

    def read_answer_or_withdraw(self) -> list[Verdict] | None:
        """Return the verdicts on the request, or withdraw it and return None; raise Busy as `read_answer` does.

        If git cannot tell whether it was published, the process that flushes the spool checks again.
        """
        with contextlib.suppress(GitFailed):
            if self.is_written():
                return self.read_answer()
        self.withdraw_request()
        return None

    def withdraw_request(self) -> None:
        """Withdraw the request; call this only while holding the lock or with an answer."""
        if self._path:
            for ending in ("", _OWN, _ANSWER, _DRAFT):
                remove_file(self._path + ending)


def wait_for_other_writer(kb: Workspace, waiting: QueuedWriter) -> list[Verdict] | None:
    """Return the verdicts of the process that holds the lock, or None if the lock is free or spooled jobs come first.

    A writer that has to wait anyway does so here, before most of kb is loaded.
    """
    if kb.state.list_spooled():
        return None
    try:
        return waiting.wait_for_answer()
    except Busy as busy:
        from kb.writing.spool import spool_candidates

        call = waiting.call
        return spool_candidates(
            kb, call.candidates, call.folder, busy, decided=call.decided, job=call.job, proofs=call.proofs
        )


def _enqueue_request(kb: Workspace, call: WriteRequest) -> str:
    """Mask *call*, put it into the queue under its job name, and return the path of the file."""
    from kb.safety import redaction

    masked = [redaction.redact_candidate(candidate, kb.config.masking) for candidate in call.candidates]
    value = {
        "folder": call.folder,
        "candidates": [candidate_to_json(candidate) for candidate, _ in masked],
        "masked": [sorted({mask.rule for mask in marks}) for _, marks in masked],
        "decided": call.decided,
        "proofs": list(call.proofs),
        "by": {name: kb.environment[name] for name in _AUTHOR_VARIABLES if name in kb.environment},
    }
    kb.state.ensure_folder()
    path = kb.state.path(_FOLDER, call.job or f"{time.time_ns():020d}-{os.getpid()}{_REQUEST}")
    write_atomic(path, json_bytes(kb.state.sign_value(value)))
    return path


def iter_requests(kb: Workspace) -> Iterator[WriteRequest]:
    """Yield the requests in the queue, oldest first, including new ones; call this while holding the lock."""
    seen: set[str] = set()
    while len(seen) < _MAX_REQUESTS:
        new = [path for path in _list_request_files(kb) if path not in seen][: _MAX_REQUESTS - len(seen)]
        if not new:
            return
        for path in new:
            seen.add(path)
            if call := _read_request(kb, path):
                yield call


def _list_request_files(kb: Workspace) -> list[str]:
    """Return the files of unanswered requests, oldest first; delete answers that were not fetched in time."""
    folder = kb.state.path(_FOLDER)
    found, names = [], []
    with contextlib.suppress(OSError):
        names = sorted(os.listdir(folder))
    for path in (os.path.join(folder, name) for name in names):
        with contextlib.suppress(OSError):
            about = os.stat(path)
            if path.endswith(_REQUEST):
                is_open = about.st_uid == os.getuid() and not os.path.exists(path + _ANSWER)
                if is_open and not _answer_if_published(kb, path):
                    found.append(path)
                continue
            # the writer of an old answer has died; a draft is deleted with its request
            has_request = path.endswith(_DRAFT) and os.path.exists(path.removesuffix(_DRAFT))
            if time.time() - about.st_mtime > 3 * QUEUE and not has_request:
                remove_file(path)
    return found


def _answer_if_published(kb: Workspace, path: str) -> bool:
    """Return whether the request *path* was published; if so, send the answer its holder drafted."""
    if not os.path.exists(path + _DRAFT) or not has_landed(kb, os.path.basename(path)):
        return False
    with contextlib.suppress(FileNotFoundError):  # its writer has noticed that as well
        os.replace(path + _DRAFT, path + _ANSWER)
    remove_file(path)
    return True


def _read_request(kb: Workspace, path: str) -> WriteRequest | None:
    """Return the request *path*, or None if it is unreadable or of another clone; its writer then handles it."""
    try:
        with open(path, encoding="utf-8", opener=open_nonblocking) as file:
            value: dict[str, Any] = kb.state.verify_signed(json.load(file)) or {}
        by = {str(key): str(word) for key, word in value["by"].items() if key in _AUTHOR_VARIABLES}
        wanted, decided = build_candidates(value["candidates"], path), value.get("decided") is True
        made = WriteRequest(wanted, str(value["folder"]), value["masked"], by, decided, path, os.path.basename(path))
        return made._replace(proofs=[str(proof) for proof in value.get("proofs") or ()])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, KbError):
        return_to_writer(path)
        return None


def return_to_writer(path: str) -> None:
    """Remove the request *path* from the queue without an answer: its writer goes on waiting for the lock."""
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, path + _OWN)


def save_draft_answer(request: WriteRequest, verdicts: Sequence[Verdict]) -> None:
    """Save the answer to *request* before it is published."""
    write_atomic(request.path + _DRAFT, _encode_verdicts(verdicts))


def send_answer(request: WriteRequest, verdicts: Sequence[Verdict]) -> None:
    """Answer *request*; if that fails, the draft remains to be found."""
    _write_answer(request.path, _encode_verdicts(verdicts))


def answer_all_busy(kb: Workspace, busy: Busy) -> None:
    """Answer all queued requests that nothing can be written now, so that their writers stop waiting."""
    for path in _list_request_files(kb):
        _write_answer(path, json_bytes({"busy": kb.localise(busy.message), "hint": kb.localise(busy.hint)}))


def _encode_verdicts(verdicts: Sequence[Verdict]) -> bytes:
    rows = [{**verdict._asdict(), "similar": [one._asdict() for one in verdict.similar]} for verdict in verdicts]
    return json_bytes({"verdicts": rows})


def _write_answer(path: str, data: bytes) -> None:
    with contextlib.suppress(OSError):
        write_atomic(path + _ANSWER, data)
        remove_file(path)
        remove_file(path + _DRAFT)


# -- which commits a job was written as -----------------------------------------------------------
#
# No branch, worktree or later call writes a job twice. A job keeps its name when it moves from the queue to the spool.
# Its commits are saved before the refs move: if the process died before the move, no ref has any of them; if it died
# later, some ref has one.


_JOBS_FILE = "landed.json"
"""Maps job → commits; in the git directory shared by all worktrees."""
_MAX_REMEMBERED_JOBS = 256
"""Jobs to remember; spool files are deleted once their job is done, so only a few ever need it."""


@contextlib.contextmanager
def claim_job(path: str) -> Iterator[bool]:
    """Claim the spooled file *path* and yield whether this process may write it.

    The claim is a lock on the file, which ends with the process.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield os.path.lexists(path)  # the reader sets aside a file that cannot be opened
        return
    try:
        yield try_lock(file) and os.path.lexists(path)
    finally:
        os.close(file)


def note_commits(kb: Workspace, jobs: Sequence[str], commits: Sequence[str]) -> None:
    """Save that *jobs* are about to be published as *commits*; call this while holding the lock.

    If they change nothing, *commits* is the commit that already has everything.
    """
    if not jobs:
        return
    known = _load_jobs(kb)
    for job in jobs:
        known[job] = [*known.pop(job, []), *commits]
    remembered = list(known)[-_MAX_REMEMBERED_JOBS:]
    path = os.path.join(kb.repository.private, _JOBS_FILE)
    write_atomic(path, json_bytes({name: known[name] for name in remembered}), synced=True)


def has_landed(kb: Workspace, job: str) -> bool:
    """Return whether *job* was published: a ref has one of its commits; raise GitFailed if git cannot tell."""
    commits = filter_existing_commits(kb.repository, _load_jobs(kb).get(job, ()))
    if not commits:
        return False
    asked = ["for-each-ref", "--count=1", "--format=%(refname)", *(f"--contains={commit}" for commit in commits)]
    output = kb.repository.run_git(asked)
    if is_inconclusive(output):
        raise build_git_error(asked, output)
    return bool(output.out.strip())


def _load_jobs(kb: Workspace) -> dict[str, Any]:
    try:
        with open(os.path.join(kb.repository.private, _JOBS_FILE), encoding="utf-8") as file:
            value = json.load(file)
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}
