"""Check that everything works: a tuple of checks, each with its one remedy.

A check answers with what it found. What it cannot foresee is a finding as well, never the end of the examination.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from kb.doctor import host_checks
from kb.doctor import leftovers as traces
from kb.doctor.doctor_finding import FAILED, NOTE, OK, SKIPPED, Check, Found, Place, opened
from kb.errors import KbError
from kb.git.git_process import run, scrubbed
from kb.i18n import Message, msg
from kb.index.lookup import MAKE_ONE
from kb.knowledge_base import KnowledgeBase
from kb.paths import passed_over
from kb.records import record_file
from kb.records.kinds import FOLDERS
from kb.records.model import Record
from kb.records.record_paths import REVIEWS
from kb.sessions.active_sessions import leftovers
from kb.state.state_folder import write_whole
from kb.writing import inbox
from kb.writing.edit_drafts import left_drafts

__all__ = ["CHECKS", "FAILED", "NOTE", "OK", "SKIPPED", "Check", "Found", "Outcome", "Place", "examine"]

NOT_OPEN = msg("there is no knowledge base that can be opened")
OLDEST_GIT = (2, 38)
"""The first git whose plumbing does all that kb asks of it."""
_SAMPLE = 500
"""Records whose file is read again to compare it with the index."""


class Outcome(NamedTuple):
    """How a check went."""

    name: str
    state: str
    said: Message
    remedy: Message | None
    """The one next step; None where there is nothing to do."""
    mended: bool = False


def examine(
    root: str, folder: str, environment: Mapping[str, str], *, fix: bool = False, now: Callable[[], float] = time.time
) -> list[Outcome]:
    """Return how every check goes for the knowledge base at *root* ("" for none) and work in *folder*.

    With *fix*, what can be mended without risk is mended and looked at again.
    """
    kb, problem = None, None
    try:
        kb = KnowledgeBase.at(root, environment, folder=folder) if root else None
    except KbError as error:
        problem = error
    place = Place(root, folder, environment, kb, problem, now)
    with kb or contextlib.nullcontext():
        return [_outcome(check, place, fix=fix) for check in CHECKS]


def _outcome(check: Check, place: Place, *, fix: bool) -> Outcome:
    found, mended = _looked(check, place), False
    if fix and check.mend and found.state in (NOTE, FAILED):
        check.mend(place)
        found, mended = _looked(check, place), True
    remedy = (found.remedy or check.remedy) if found.state in (NOTE, FAILED) else None
    return Outcome(check.name, found.state, found.said, remedy, mended)


def _looked(check: Check, place: Place) -> Found:
    if check.name in NEED_KB and place.kb is None:
        return Found(SKIPPED, NOT_OPEN)
    try:
        return check.look(place)
    except KbError as error:
        return Found(FAILED, error.message, error.hint if str(error.hint) else None)
    except Exception as error:  # what nobody foresaw is what a doctor is there to find
        return Found(FAILED, msg("{kind}: {problem}", kind=type(error).__name__, problem=error))


# -- git ---------------------------------------------------------------------------------------------


def git_version(place: Place) -> Found:
    """Look for a git that is new enough."""
    text = run(["git", "--version"], scrubbed(place.environment)).out.decode("utf-8", "replace")
    match = re.search(r"(?<!\d)(\d++)\.(\d+)", text)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    said = msg("git {version}", version=text.removeprefix("git version").strip())
    return Found(OK if version >= OLDEST_GIT else FAILED, said)


def repository(place: Place) -> Found:
    """Look whether git works in the repository and a commit could be made now."""
    kept = opened(place).repository
    kept.git("rev-parse", "--is-inside-work-tree")
    if busy := kept.not_now():
        return Found(FAILED, busy.message, busy.hint)
    head = kept.head()
    return Found(OK, msg("{path}, on {branch}", path=kept.top, branch=head.ref.removeprefix("refs/heads/")))


def identity(place: Place) -> Found:
    """Look whether git knows whose the commits are."""
    output = opened(place).repository.output(["var", "GIT_AUTHOR_IDENT"])
    if output.code:
        return Found(FAILED, msg("git does not know who you are; commits are made as kb@localhost"))
    return Found(OK, msg("{name}", name=output.out.decode("utf-8", "replace").rpartition(">")[0] + ">"))


def state_folder(place: Place) -> Found:
    """Look whether git ignores what belongs to this clone only."""
    kb = opened(place)
    if kb.repository.git("ls-files", "-z", "--", kb.repository.full(".kb")):
        remedy = msg("run: git rm -r --cached {path}", path=kb.repository.full(".kb"))
        return Found(FAILED, msg("files of {path} are tracked by git", path=".kb/"), remedy)
    if kb.repository.git("ls-files", "-z", "--others", "--exclude-standard", "--", kb.repository.full(".kb")):
        return Found(FAILED, msg("git does not ignore {path}", path=".kb/"))
    return Found(OK, msg("git ignores {path}", path=".kb/"))


def _ignore_state_folder(place: Place) -> None:
    kb = opened(place)
    kb.state.made()
    write_whole(kb.state.path(".gitignore"), b"*\n")


# -- the knowledge base ------------------------------------------------------------------------------


def settings(place: Place) -> Found:
    """Look whether there is a knowledge base with settings that hold."""
    if place.problem:
        hint = place.problem.hint
        message = msg("{problem}", problem=_with_place(place.problem))
        return Found(FAILED, message, hint if str(hint) else msg("mend {path}", path="kb.toml"))
    if over := passed_over(place.folder, place.environment):
        said = msg("{path} belongs to somebody else and is passed over", path=os.path.join(over, "kb.toml"))
        remedy = msg("if you trust its owner, name it: KB_HOME={path}", path=over)
        return Found(NOTE if place.root else FAILED, said, remedy)
    if not place.root:
        return Found(FAILED, msg("there is no knowledge base here"), MAKE_ONE)
    return Found(OK, msg("{path}", path=os.path.join(place.root, "kb.toml")))


def _with_place(error: KbError) -> Message:
    """Return the message of *error* behind the place it names."""
    where = f"{error.path}:{error.line}" if error.line else error.path
    return msg("{where}: {message}", where=where, message=error.message) if where else error.message


def index(place: Place) -> Found:
    """Look whether the index can be read and says what the files say."""
    kb = opened(place)
    kept = kb.fresh()
    files = _record_files(kb.root)
    broken = {path for path, _, _ in kept.broken()}
    records = {record.path: record for record in kept.records()}
    if files != broken | records.keys():
        wrong = len(files ^ (broken | records.keys()))
        return Found(FAILED, msg("the index and the files differ in {n} paths", n=wrong))
    step = max(1, len(records) // _SAMPLE)
    for path in sorted(records)[::step]:
        with open(os.path.join(kb.root, *path.split("/")), "rb") as file:
            if _bare(record_file.read(file.read(), path)) != _bare(records[path]):
                return Found(FAILED, msg("the index differs from {path}", path=path))
    return Found(OK, msg("{n} records", n=len(records)))


def _bare(record: Record) -> Record:
    """Return *record* without the wording of its headings: the index knows a section by its name."""
    return record._replace(sections=tuple(s._replace(heading="" if s.name else s.heading) for s in record.sections))


def _record_files(root: str) -> set[str]:
    found = set()
    tops = (os.path.join(root, "content", folder) for folder in FOLDERS)
    for folder, folders, names in (step for top in tops for step in os.walk(top)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [os.path.join(folder, name) for name in names if name.endswith(".md") and not name.startswith(".")]
        found |= {os.path.relpath(path, root).replace(os.sep, "/") for path in paths if not os.path.islink(path)}
    return found


def _rebuild_index(place: Place) -> None:
    kb = opened(place)
    kb.close()
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path("index.db") + end)
    kb.fresh()


def records(place: Place) -> Found:
    """Look for files that are no readable records."""
    broken = opened(place).fresh().broken()
    if not broken:
        return Found(OK, msg("every record can be read"))
    return Found(FAILED, msg("{n} files cannot be read as records: {path}", n=len(broken), path=broken[0][0]))


def reviews(place: Place) -> Found:
    """Count the reviews that wait for a person."""
    n = len(opened(place).repository.refs(REVIEWS.rstrip("/")))
    return Found(NOTE if n else OK, msg("{n} reviews are open", n=n))


def spool(place: Place) -> Found:
    """Count what waits to be written."""
    n = len(opened(place).state.spooled())
    return Found(NOTE if n else OK, msg("{n} writes wait for the next call", n=n))


def waiting(place: Place) -> Found:
    """Look for files in the inbox that hold no candidate; one who shares it may have put them there."""
    found = inbox.unreadable(opened(place))
    if not found:
        return Found(OK, msg("what waits in the inbox can be read"))
    return Found(NOTE, msg("{n} files of the inbox hold no candidate: {name}", n=len(found), name=found[0]))


def unreadable(place: Place) -> Found:
    """Look for spooled files that were set aside."""
    found = opened(place).state.unreadable()
    if not found:
        return Found(OK, msg("nothing was set aside"))
    return Found(FAILED, msg("{n} spooled files could not be written: {path}", n=len(found), path=found[0]))


def _hand_in_again(place: Place) -> None:
    from kb.capture.flush_spool import hand_in_again

    hand_in_again(opened(place))


def edits(place: Place) -> Found:
    """Look for what was typed in `kb edit` and never committed: the editor failed, or kb was killed."""
    found = left_drafts(opened(place))
    if not found:
        return Found(OK, msg("nothing typed in kb edit is left over"))
    return Found(NOTE, msg("{n} texts typed in kb edit were never committed: {path}", n=len(found), path=found[0].path))


def sessions(place: Place) -> Found:
    """Count what sessions left that ended without a word."""
    kb = opened(place)
    n = len(leftovers(kb.state, kb.now()))
    return Found(NOTE if n else OK, msg("{n} sessions left something more than 30 days ago", n=n))


def _clear_sessions(place: Place) -> None:
    import shutil

    kb = opened(place)
    for path in leftovers(kb.state, kb.now()):
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


# -- the rest ----------------------------------------------------------------------------------------


def model(place: Place) -> Found:
    """Look whether the user's language model command is there."""
    import shutil

    command = place.environment.get("KB_LLM_CMD", "")
    if not command:
        return Found(OK, msg("KB_LLM_CMD is not set; extraction works offline"))
    try:
        words = shlex.split(command)
    except ValueError as error:
        return Found(FAILED, msg("KB_LLM_CMD cannot be read: {problem}", problem=error))
    if not words or not shutil.which(words[0], path=place.environment.get("PATH")):
        return Found(FAILED, msg("KB_LLM_CMD names no program: {command}", command=command))
    return Found(OK, msg("{command}", command=command))


CHECKS: tuple[Check, ...] = (
    Check("git", git_version, msg("install git 2.38 or newer")),
    Check("settings", settings, msg("see: kb config")),
    Check("versions", traces.versions, msg("install Python 3.11 or newer")),
    Check("permissions", traces.permissions, msg("make it yours: chown")),
    Check("locks", traces.locks, msg("if no git process works there: kb doctor --fix"), traces.remove_locks),
    Check("repository", repository, msg("make git status work there")),
    Check("refs", traces.refs, msg("see: git fsck, git reflog")),
    Check("driver", traces.merge_driver, msg("run: kb doctor --fix"), traces.install_driver),
    Check("identity", identity, msg("run: git config --global user.name NAME; git config --global user.email ADDRESS")),
    Check("state folder", state_folder, msg("run: kb doctor --fix"), _ignore_state_folder),
    Check("index", index, msg("run: kb doctor --fix"), _rebuild_index),
    Check("records", records, msg("see: kb check")),
    Check("reviews", reviews, msg("decide them: kb review")),
    Check("inbox", waiting, msg("look who wrote them: git log -p refs/kb/inbox")),
    Check("spool", spool, msg("write something, or start a session; if they stay, see the repository check")),
    Check("queue", traces.queue, msg("write something: the next write takes it along")),
    Check("set aside", unreadable, msg("run: kb doctor --fix; save by hand what stays, and delete it"), _hand_in_again),
    Check("edits", edits, msg("take over what holds: kb edit; then delete the file")),
    Check("checkout", traces.checkout_follows, msg("run: kb doctor --fix"), traces.let_follow),
    Check("leftovers", traces.leftovers, msg("run: kb doctor --fix"), traces.clear_leftovers),
    Check("sessions", sessions, msg("run: kb doctor --fix"), _clear_sessions),
    Check(
        "hook failures", host_checks.failures, msg("mend the cause, then: kb doctor --fix"), host_checks.clear_failures
    ),
    Check("hooks", host_checks.hooks, msg("run: kb hooks install claude")),
    Check("hook line", host_checks.hook_lines, msg("run: kb hooks install claude")),
    Check("transcripts", host_checks.transcripts, msg("that is for kb to learn; nothing is lost by it")),
    Check("model", model, msg("set KB_LLM_CMD to a command that can be run, or unset it")),
)
"""What is looked at, in order. A new check is a function and a line here."""

NEED_KB = frozenset({
    "repository", "identity", "permissions", "locks", "refs", "driver", "queue", "leftovers", "checkout",
    "state folder", "index", "records", "reviews", "inbox", "spool", "set aside", "edits", "sessions", "hook line",
    "transcripts",
})  # fmt: skip
"""The checks that ask the knowledge base."""
