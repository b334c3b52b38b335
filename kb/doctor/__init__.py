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
from kb.doctor.doctor_finding import FAILED, NOTE, OK, SKIPPED, DoctorCheck, DoctorFinding, DoctorTarget, require_base
from kb.errors import KbError
from kb.git.git_process import run, scrub_environment
from kb.i18n import Message, msg
from kb.index.record_ids import MAKE_ONE
from kb.knowledge_base import KnowledgeBase
from kb.paths import find_untrusted_root
from kb.records import record_file
from kb.records.kinds import FOLDERS
from kb.records.model import Record
from kb.records.record_paths import REVIEWS
from kb.sessions.active_sessions import list_stale_files
from kb.state.state_folder import write_atomic
from kb.writing import inbox
from kb.writing.edit_text import list_abandoned_drafts

__all__ = ["CHECKS", "FAILED", "NOTE", "OK", "SKIPPED", "DoctorCheck", "DoctorFinding", "DoctorTarget"]

NOT_OPEN = msg("there is no knowledge base that can be opened")
OLDEST_GIT = (2, 38)
"""The first git whose plumbing does all that kb asks of it."""
_SAMPLE = 500
"""Records whose file is read again to compare it with the index."""


class DoctorOutcome(NamedTuple):
    """How a check went."""

    name: str
    state: str
    said: Message
    remedy: Message | None
    """The one next step; None where there is nothing to do."""
    mended: bool = False


def run_checks(
    root: str, folder: str, environment: Mapping[str, str], *, fix: bool = False, now: Callable[[], float] = time.time
) -> list[DoctorOutcome]:
    """Return how every check goes for the knowledge base at *root* ("" for none) and work in *folder*.

    With *fix*, what can be mended without risk is mended and looked at again.
    """
    kb, problem = None, None
    try:
        kb = KnowledgeBase.at(root, environment, folder=folder) if root else None
    except KbError as error:
        problem = error
    place = DoctorTarget(root, folder, environment, kb, problem, now)
    with kb or contextlib.nullcontext():
        return [_check_and_fix(check, place, fix=fix) for check in CHECKS]


def _check_and_fix(check: DoctorCheck, place: DoctorTarget, *, fix: bool) -> DoctorOutcome:
    found, mended = _run_check(check, place), False
    if fix and check.mend and found.state in (NOTE, FAILED):
        check.mend(place)
        found, mended = _run_check(check, place), True
    remedy = (found.remedy or check.remedy) if found.state in (NOTE, FAILED) else None
    return DoctorOutcome(check.name, found.state, found.said, remedy, mended)


def _run_check(check: DoctorCheck, place: DoctorTarget) -> DoctorFinding:
    if check.name in NEED_KB and place.kb is None:
        return DoctorFinding(SKIPPED, NOT_OPEN)
    try:
        return check.look(place)
    except KbError as error:
        return DoctorFinding(FAILED, error.message, error.hint if str(error.hint) else None)
    except Exception as error:  # what nobody foresaw is what a doctor is there to find
        return DoctorFinding(FAILED, msg("{kind}: {problem}", kind=type(error).__name__, problem=error))


# -- git ---------------------------------------------------------------------------------------------


def check_git_version(place: DoctorTarget) -> DoctorFinding:
    """Look for a git that is new enough."""
    text = run(["git", "--version"], scrub_environment(place.environment)).out.decode("utf-8", "replace")
    match = re.search(r"(?<!\d)(\d++)\.(\d+)", text)
    version = (int(match[1]), int(match[2])) if match else (0, 0)
    said = msg("git {version}", version=text.removeprefix("git version").strip())
    return DoctorFinding(OK if version >= OLDEST_GIT else FAILED, said)


def check_repository(place: DoctorTarget) -> DoctorFinding:
    """Look whether git works in the repository and a commit could be made now."""
    kept = require_base(place).repository
    kept.git("rev-parse", "--is-inside-work-tree")
    if busy := kept.find_commit_obstacle():
        return DoctorFinding(FAILED, busy.message, busy.hint)
    head = kept.head()
    return DoctorFinding(OK, msg("{path}, on {branch}", path=kept.top, branch=head.ref.removeprefix("refs/heads/")))


def check_identity(place: DoctorTarget) -> DoctorFinding:
    """Look whether git knows whose the commits are."""
    output = require_base(place).repository.run_git(["var", "GIT_AUTHOR_IDENT"])
    if output.code:
        return DoctorFinding(FAILED, msg("git does not know who you are; commits are made as kb@localhost"))
    return DoctorFinding(OK, msg("{name}", name=output.out.decode("utf-8", "replace").rpartition(">")[0] + ">"))


def check_state_folder(place: DoctorTarget) -> DoctorFinding:
    """Look whether git ignores what belongs to this clone only."""
    kb = require_base(place)
    if kb.repository.git("ls-files", "-z", "--", kb.repository.to_git_path(".kb")):
        remedy = msg("run: git rm -r --cached {path}", path=kb.repository.to_git_path(".kb"))
        return DoctorFinding(FAILED, msg("files of {path} are tracked by git", path=".kb/"), remedy)
    if kb.repository.git("ls-files", "-z", "--others", "--exclude-standard", "--", kb.repository.to_git_path(".kb")):
        return DoctorFinding(FAILED, msg("git does not ignore {path}", path=".kb/"))
    return DoctorFinding(OK, msg("git ignores {path}", path=".kb/"))


def _ignore_state_folder(place: DoctorTarget) -> None:
    kb = require_base(place)
    kb.state.ensure_folder()
    write_atomic(kb.state.path(".gitignore"), b"*\n")


# -- the knowledge base ------------------------------------------------------------------------------


def check_settings(place: DoctorTarget) -> DoctorFinding:
    """Look whether there is a knowledge base with settings that hold."""
    if place.problem:
        hint = place.problem.hint
        message = msg("{problem}", problem=_prefix_path(place.problem))
        return DoctorFinding(FAILED, message, hint if str(hint) else msg("mend {path}", path="kb.toml"))
    if over := find_untrusted_root(place.folder, place.environment):
        said = msg("{path} belongs to somebody else and is passed over", path=os.path.join(over, "kb.toml"))
        remedy = msg("if you trust its owner, name it: KB_HOME={path}", path=over)
        return DoctorFinding(NOTE if place.root else FAILED, said, remedy)
    if not place.root:
        return DoctorFinding(FAILED, msg("there is no knowledge base here"), MAKE_ONE)
    return DoctorFinding(OK, msg("{path}", path=os.path.join(place.root, "kb.toml")))


def _prefix_path(error: KbError) -> Message:
    """Return the message of *error* behind the place it names."""
    where = f"{error.path}:{error.line}" if error.line else error.path
    return msg("{where}: {message}", where=where, message=error.message) if where else error.message


def check_index(place: DoctorTarget) -> DoctorFinding:
    """Look whether the index can be read and says what the files say."""
    kb = require_base(place)
    kept = kb.sync_index()
    files = _find_record_files(kb.root)
    broken = {path for path, _, _ in kept.list_broken()}
    records = {record.path: record for record in kept.records()}
    if files != broken | records.keys():
        wrong = len(files ^ (broken | records.keys()))
        return DoctorFinding(FAILED, msg("the index and the files differ in {n} paths", n=wrong))
    step = max(1, len(records) // _SAMPLE)
    for path in sorted(records)[::step]:
        with open(os.path.join(kb.root, *path.split("/")), "rb") as file:
            if _strip_headings(record_file.read(file.read(), path)) != _strip_headings(records[path]):
                return DoctorFinding(FAILED, msg("the index differs from {path}", path=path))
    return DoctorFinding(OK, msg("{n} records", n=len(records)))


def _strip_headings(record: Record) -> Record:
    """Return *record* without the wording of its headings: the index knows a section by its name."""
    return record._replace(sections=tuple(s._replace(heading="" if s.name else s.heading) for s in record.sections))


def _find_record_files(root: str) -> set[str]:
    found = set()
    tops = (os.path.join(root, "content", folder) for folder in FOLDERS)
    for folder, folders, names in (step for top in tops for step in os.walk(top)):
        folders[:] = [name for name in folders if not name.startswith(".")]
        paths = [os.path.join(folder, name) for name in names if name.endswith(".md") and not name.startswith(".")]
        found |= {os.path.relpath(path, root).replace(os.sep, "/") for path in paths if not os.path.islink(path)}
    return found


def _rebuild_index(place: DoctorTarget) -> None:
    kb = require_base(place)
    kb.close()
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path("index.db") + end)
    kb.sync_index()


def check_record_files(place: DoctorTarget) -> DoctorFinding:
    """Look for files that are no readable records."""
    broken = require_base(place).sync_index().list_broken()
    if not broken:
        return DoctorFinding(OK, msg("every record can be read"))
    return DoctorFinding(FAILED, msg("{n} files cannot be read as records: {path}", n=len(broken), path=broken[0][0]))


def check_reviews(place: DoctorTarget) -> DoctorFinding:
    """Count the reviews that wait for a person."""
    n = len(require_base(place).repository.list_refs(REVIEWS.rstrip("/")))
    return DoctorFinding(NOTE if n else OK, msg("{n} reviews are open", n=n))


def check_spool(place: DoctorTarget) -> DoctorFinding:
    """Count what waits to be written."""
    n = len(require_base(place).state.list_spooled())
    return DoctorFinding(NOTE if n else OK, msg("{n} writes wait for the next call", n=n))


def check_inbox(place: DoctorTarget) -> DoctorFinding:
    """Look for files in the inbox that hold no candidate; one who shares it may have put them there."""
    found = inbox.list_unreadable(require_base(place))
    if not found:
        return DoctorFinding(OK, msg("what waits in the inbox can be read"))
    return DoctorFinding(NOTE, msg("{n} files of the inbox hold no candidate: {name}", n=len(found), name=found[0]))


def check_unreadable_spool(place: DoctorTarget) -> DoctorFinding:
    """Look for spooled files that were set aside."""
    found = require_base(place).state.list_quarantined()
    if not found:
        return DoctorFinding(OK, msg("nothing was set aside"))
    return DoctorFinding(FAILED, msg("{n} spooled files could not be written: {path}", n=len(found), path=found[0]))


def _retry_unreadable_spool(place: DoctorTarget) -> None:
    from kb.capture.flush_spool import retry_quarantined_jobs

    retry_quarantined_jobs(require_base(place))


def check_edit_drafts(place: DoctorTarget) -> DoctorFinding:
    """Look for what was typed in `kb edit` and never committed: the editor failed, or kb was killed."""
    found = list_abandoned_drafts(require_base(place))
    if not found:
        return DoctorFinding(OK, msg("nothing typed in kb edit is left over"))
    return DoctorFinding(
        NOTE, msg("{n} texts typed in kb edit were never committed: {path}", n=len(found), path=found[0].path)
    )


def check_abandoned_sessions(place: DoctorTarget) -> DoctorFinding:
    """Count what sessions left that ended without a word."""
    kb = require_base(place)
    n = len(list_stale_files(kb.state, kb.now()))
    return DoctorFinding(NOTE if n else OK, msg("{n} sessions left something more than 30 days ago", n=n))


def _remove_abandoned_sessions(place: DoctorTarget) -> None:
    import shutil

    kb = require_base(place)
    for path in list_stale_files(kb.state, kb.now()):
        if os.path.isdir(path):
            shutil.rmtree(path)
        else:
            os.unlink(path)


# -- the rest ----------------------------------------------------------------------------------------


def check_llm_command(place: DoctorTarget) -> DoctorFinding:
    """Look whether the user's language model command is there."""
    import shutil

    command = place.environment.get("KB_LLM_CMD", "")
    if not command:
        return DoctorFinding(OK, msg("KB_LLM_CMD is not set; extraction works offline"))
    try:
        words = shlex.split(command)
    except ValueError as error:
        return DoctorFinding(FAILED, msg("KB_LLM_CMD cannot be read: {problem}", problem=error))
    if not words or not shutil.which(words[0], path=place.environment.get("PATH")):
        return DoctorFinding(FAILED, msg("KB_LLM_CMD names no program: {command}", command=command))
    return DoctorFinding(OK, msg("{command}", command=command))


CHECKS: tuple[DoctorCheck, ...] = (
    DoctorCheck("git", check_git_version, msg("install git 2.38 or newer")),
    DoctorCheck("settings", check_settings, msg("see: kb config")),
    DoctorCheck("versions", traces.check_versions, msg("install Python 3.11 or newer")),
    DoctorCheck("permissions", traces.check_permissions, msg("make it yours: chown")),
    DoctorCheck(
        "locks", traces.check_locks, msg("if no git process works there: kb doctor --fix"), traces.remove_stale_locks
    ),
    DoctorCheck("repository", check_repository, msg("make git status work there")),
    DoctorCheck("refs", traces.check_refs, msg("see: git fsck, git reflog")),
    DoctorCheck("driver", traces.check_merge_driver, msg("run: kb doctor --fix"), traces.install_merge_driver),
    DoctorCheck(
        "identity",
        check_identity,
        msg("run: git config --global user.name NAME; git config --global user.email ADDRESS"),
    ),
    DoctorCheck("state folder", check_state_folder, msg("run: kb doctor --fix"), _ignore_state_folder),
    DoctorCheck("index", check_index, msg("run: kb doctor --fix"), _rebuild_index),
    DoctorCheck("records", check_record_files, msg("see: kb check")),
    DoctorCheck("reviews", check_reviews, msg("decide them: kb review")),
    DoctorCheck("inbox", check_inbox, msg("look who wrote them: git log -p refs/kb/inbox")),
    DoctorCheck(
        "spool", check_spool, msg("write something, or start a session; if they stay, see the repository check")
    ),
    DoctorCheck("queue", traces.check_queue, msg("write something: the next write takes it along")),
    DoctorCheck(
        "set aside",
        check_unreadable_spool,
        msg("run: kb doctor --fix; save by hand what stays, and delete it"),
        _retry_unreadable_spool,
    ),
    DoctorCheck("edits", check_edit_drafts, msg("take over what holds: kb edit; then delete the file")),
    DoctorCheck("checkout", traces.check_checkout, msg("run: kb doctor --fix"), traces.update_checkout),
    DoctorCheck("leftovers", traces.check_leftovers, msg("run: kb doctor --fix"), traces.remove_leftovers),
    DoctorCheck("sessions", check_abandoned_sessions, msg("run: kb doctor --fix"), _remove_abandoned_sessions),
    DoctorCheck(
        "hook failures",
        host_checks.check_hook_failures,
        msg("mend the cause, then: kb doctor --fix"),
        host_checks.clear_failures,
    ),
    DoctorCheck("hooks", host_checks.check_hooks, msg("run: kb hooks install claude")),
    DoctorCheck("hook line", host_checks.check_hook_lines, msg("run: kb hooks install claude")),
    DoctorCheck("transcripts", host_checks.check_transcripts, msg("that is for kb to learn; nothing is lost by it")),
    DoctorCheck("model", check_llm_command, msg("set KB_LLM_CMD to a command that can be run, or unset it")),
)
"""What is looked at, in order. A new check is a function and a line here."""

NEED_KB = frozenset({
    "repository", "identity", "permissions", "locks", "refs", "driver", "queue", "leftovers", "checkout",
    "state folder", "index", "records", "reviews", "inbox", "spool", "set aside", "edits", "sessions", "hook line",
    "transcripts",
})  # fmt: skip
"""The checks that ask the knowledge base."""
