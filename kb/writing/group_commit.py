"""Group concurrent writers: the one that holds the lock writes for those that wait.

A writer that finds the lock taken puts its candidates, masked, into `.kb/queue/` and waits for the lock or for an
answer, whichever comes first. The holder plans what it finds there as well, every call with a commit of its own, and
the refs move once for all of them. Nothing rests on an answer: a request stays until it is answered, and a writer that
gets the lock takes its own request back. So one whose holder has died is written by its writer, or by the next holder
where the writer has died too.

A request is a job: its holder notes the commits, and drafts the answer, before the refs move. So a
process that finds the request of a holder that died afterwards sends the answer and writes nothing, also on another
branch; and a writer that waited in vain spools the request under the same name.
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
"""Calls that are written at once; more would keep those waiting whose answer is ready."""
_AUTHOR_VARIABLES = tuple(
    f"GIT_{role}_{part}" for role in ("AUTHOR", "COMMITTER") for part in ("NAME", "EMAIL", "DATE")
)


class WriteRequest(NamedTuple):
    """What one caller wants to have written."""

    candidates: Sequence[Candidate]
    folder: str
    masked: Sequence[Sequence[str]] = ()
    """For each candidate the rules by which its caller has masked it already."""
    by: Mapping[str, str] = NOBODY
    decided: bool = False
    """Whether a person has decided what the call takes out of force."""
    path: str = ""
    """The request in the queue; "" for the holder's own."""
    job: str = ""
    """The name that it has, or had, in the queue or the spool; "" for one that was in neither."""
    scope: str = ""
    """The scope of candidates that name none; "": that of the project around *folder*."""
    promoted: str = ""
    """The name under which a person takes it out of the inbox."""
    by_person: bool = False
    """Whether a person has said of these very words that they hold."""
    proofs: Sequence[str] = ()
    """For each candidate PROVEN, SAID, WEIGHED, a quote that its session lacks, or "" where nothing was looked up."""


class QueuedWriter:
    """A writer that may have to wait, and its request in the queue."""

    def __init__(self, kb: Workspace, call: WriteRequest, job: str = "") -> None:
        """Ask for nothing yet; the first look for an answer puts the request into the queue.

        *job* is the name of the spooled job that the call is to land; without one it is named when it is queued.
        """
        self._kb = kb
        self.call = call._replace(job=job)
        self._path = ""
        self._has_asked = False

    def wait_for_answer(self) -> list[Verdict] | None:
        """Wait while somebody else writes and return what they answer; None as soon as nobody holds the lock.

        Raise Busy where nothing can be written now.
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
        """Return whether somebody has written what was asked for; the first time, ask for it.

        Where the request cannot be written, on a full disk for one, the writer waits for the lock alone.
        """
        if not self._has_asked:
            self._has_asked = True
            with contextlib.suppress(OSError):
                self._path = _enqueue_request(self._kb, self.call)
                self.call = self.call._replace(job=os.path.basename(self._path))
        return self.has_answer()

    def has_answer(self) -> bool:
        """Return whether somebody has written what was asked for, where it was asked for at all."""
        return bool(self._path) and os.path.exists(self._path + _ANSWER)

    def is_written(self) -> bool:
        """Return whether somebody has written what was asked for, and send the answer where they died before they did.

        Raise GitFailed where git cannot look.
        """
        return self.has_answer() or (bool(self._path) and _answer_if_published(self._kb, self._path))

    def read_answer(self) -> list[Verdict]:
        """Return the verdicts on what was asked for; raise Busy where the holder could not write either."""
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
        """Return the verdicts on what was asked for, or take it back and return None; raise Busy as `read_answer` does.

        Where git cannot look whether it was published, the process that lands it from the spool looks again.
        """
        with contextlib.suppress(GitFailed):
            if self.is_written():
                return self.read_answer()
        self.withdraw_request()
        return None

    def withdraw_request(self) -> None:
        """Take back what was asked for; to be called by the one who holds the lock, or has an answer."""
        if self._path:
            for ending in ("", _OWN, _ANSWER, _DRAFT):
                remove_file(self._path + ending)


def wait_for_other_writer(kb: Workspace, waiting: QueuedWriter) -> list[Verdict] | None:
    """Return the verdicts of the writer who holds the lock; None where nobody does, or others are to be written first.

    So that one who has to wait anyway does so before most of kb is loaded.
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
    """Write *call*, masked, into the queue under the name of its job and return the file."""
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
    """Yield the calls that wait, oldest first, also those that come meanwhile; to be called by the lock's holder."""
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
    """Return the requests that wait for an answer, oldest first; answers that nobody has fetched in time go."""
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
            # The writer of an old answer has died. A draft goes with its request.
            has_request = path.endswith(_DRAFT) and os.path.exists(path.removesuffix(_DRAFT))
            if time.time() - about.st_mtime > 3 * QUEUE and not has_request:
                remove_file(path)
    return found


def _answer_if_published(kb: Workspace, path: str) -> bool:
    """Return whether the request *path* was published, and make what its holder drafted the answer."""
    if not os.path.exists(path + _DRAFT) or not has_landed(kb, os.path.basename(path)):
        return False
    with contextlib.suppress(FileNotFoundError):  # its writer has seen it, too
        os.replace(path + _DRAFT, path + _ANSWER)
    remove_file(path)
    return True


def _read_request(kb: Workspace, path: str) -> WriteRequest | None:
    """Return the request *path*; one that cannot be read, or is not of this clone, is left to its writer."""
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
    """Take the request *path* out of the queue unanswered: its writer goes on waiting for the lock."""
    with contextlib.suppress(FileNotFoundError):
        os.replace(path, path + _OWN)


def save_draft_answer(request: WriteRequest, verdicts: Sequence[Verdict]) -> None:
    """Keep what *request* is to be answered once it is published, before it is."""
    write_atomic(request.path + _DRAFT, _encode_verdicts(verdicts))


def send_answer(request: WriteRequest, verdicts: Sequence[Verdict]) -> None:
    """Answer *request*; where that fails, the draft is found."""
    _write_answer(request.path, _encode_verdicts(verdicts))


def answer_all_busy(kb: Workspace, busy: Busy) -> None:
    """Answer all who wait that nothing can be written now, so that none of them waits for the same."""
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
# No branch, worktree or later call writes a job again. It keeps its name when it moves from the queue to the spool. Its
# commits are noted before the refs move: of a job whose process died in between none is on any ref, of one whose
# process died later one is.


_JOBS_FILE = "landed.json"
"""In the part of the git directory that all worktrees share: {job: [commit, …]}."""
_MAX_REMEMBERED_JOBS = 256
"""Jobs that are remembered; a file of the spool goes when its job is done, and more than a few never wait for that."""


@contextlib.contextmanager
def claim_job(path: str) -> Iterator[bool]:
    """Claim the spooled file *path* and yield whether it is this process that lands it.

    The claim is a lock on the file, which ends with its process.
    """
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        yield os.path.lexists(path)  # what cannot be opened is set aside by the one who reads it
        return
    try:
        yield try_lock(file) and os.path.lexists(path)
    finally:
        os.close(file)


def note_commits(kb: Workspace, jobs: Sequence[str], commits: Sequence[str]) -> None:
    """Note that *jobs* are about to be published as *commits*, together; under the lock of the repository.

    Where they change nothing, that is the commit that says all of it already.
    """
    if not jobs:
        return
    known = _load_jobs(kb)
    for job in jobs:
        known[job] = [*known.pop(job, []), *commits]
    kept = list(known)[-_MAX_REMEMBERED_JOBS:]
    path = os.path.join(kb.repository.private, _JOBS_FILE)
    write_atomic(path, json_bytes({name: known[name] for name in kept}), synced=True)


def has_landed(kb: Workspace, job: str) -> bool:
    """Return whether *job* was published: one of its commits is on some ref; raise GitFailed where git cannot look."""
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
