"""Check the installation (`kb doctor`): a table of checks, each with its one remedy.

A check answers with what it found. What it cannot foresee is a finding as well, never the end of the examination.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kb.doctor import base_checks as base
from kb.doctor import git_checks as git
from kb.doctor.git_checks import FAILED, NOTE, OK, SKIPPED, DoctorCheck, DoctorFinding, DoctorTarget
from kb.errors import KbError
from kb.i18n import Message, msg
from kb.knowledge_base import KnowledgeBase

__all__ = ["CHECKS", "FAILED", "NOTE", "OK", "SKIPPED", "DoctorCheck", "DoctorFinding", "DoctorTarget"]

NOT_OPEN = msg("there is no knowledge base that can be opened")
_FIX = msg("run: kb doctor --fix")


class DoctorOutcome(NamedTuple):
    """How a check went."""

    name: str
    state: str
    said: Message
    remedy: Message | None
    """The one next step; None where there is nothing to do."""
    fixed: bool = False
    label: Message = msg("")
    """The name in the reader's language."""


def run_checks(
    root: str,
    folder: str,
    environment: Mapping[str, str],
    *,
    fix: bool = False,
    now: Callable[[], float] = time.time,
    checks: Iterable[DoctorCheck] | None = None,
) -> list[DoctorOutcome]:
    """Return how each of *checks*, by default all, goes for the knowledge base at *root* ("" for none) in *folder*.

    With *fix*, what can be repaired without risk is repaired and examined again.
    """
    kb, problem = None, None
    try:
        kb = KnowledgeBase.at(root, environment, folder=folder) if root else None
    except KbError as error:
        problem = error
    target = DoctorTarget(root, folder, environment, kb, problem, now)
    with kb or contextlib.nullcontext():
        return [_check_and_fix(check, target, fix=fix) for check in (CHECKS if checks is None else checks)]


def _check_and_fix(check: DoctorCheck, target: DoctorTarget, *, fix: bool) -> DoctorOutcome:
    found, is_fixed = _run_check(check, target), False
    if fix and check.fix and found.state in (NOTE, FAILED):
        check.fix(target)
        found, is_fixed = _run_check(check, target), True
    remedy = (found.remedy or check.remedy) if found.state in (NOTE, FAILED) else None
    return DoctorOutcome(str(check.name), found.state, found.said, remedy, is_fixed, check.name)


def _run_check(check: DoctorCheck, target: DoctorTarget) -> DoctorFinding:
    if check.needs_kb and target.kb is None:
        return DoctorFinding(SKIPPED, NOT_OPEN)
    try:
        return check.check(target)
    except KbError as error:
        return DoctorFinding(FAILED, error.message, error.hint if str(error.hint) else None)
    except Exception as error:  # what nobody foresaw is what a doctor is there to find
        return DoctorFinding(FAILED, msg("{kind}: {problem}", kind=type(error).__name__, problem=error))


CHECKS: tuple[DoctorCheck, ...] = (
    DoctorCheck(msg("git"), git.check_git_version, msg("install git 2.38 or newer"), needs_kb=False),
    DoctorCheck(msg("settings"), base.check_settings, msg("see: kb config"), needs_kb=False),
    DoctorCheck(msg("versions"), base.check_versions, msg("install Python 3.11 or newer"), needs_kb=False),
    DoctorCheck(msg("extras"), base.check_extras, msg("see: docs/install.md"), needs_kb=False),
    DoctorCheck(msg("permissions"), git.check_permissions, msg("make it yours: chown")),
    DoctorCheck(
        msg("locks"), git.check_locks, msg("if no git process works there: kb doctor --fix"), git.remove_stale_locks
    ),
    DoctorCheck(msg("repository"), git.check_repository, msg("make sure git status works there")),
    DoctorCheck(msg("refs"), git.check_refs, msg("see: git fsck, git reflog")),
    DoctorCheck(msg("driver"), git.check_merge_driver, _FIX, git.install_merge_driver),
    DoctorCheck(
        msg("identity"),
        git.check_identity,
        msg("run: git config --global user.name NAME; git config --global user.email ADDRESS"),
    ),
    DoctorCheck(msg("state folder"), git.check_state_folder, _FIX, git.ignore_state_folder),
    DoctorCheck(msg("index"), base.check_index, _FIX, base.rebuild_index),
    DoctorCheck(msg("records"), base.check_record_files, msg("see: kb check")),
    DoctorCheck(msg("reviews"), base.check_reviews, msg("decide them: kb review")),
    DoctorCheck(msg("inbox"), base.check_inbox, msg("see who wrote them: git log -p refs/kb/inbox")),
    DoctorCheck(
        msg("spool"),
        base.check_spool,
        msg("write something, or start a session; if they remain, see the repository check"),
    ),
    DoctorCheck(msg("queue"), base.check_queue, msg("write something: the next write includes it")),
    DoctorCheck(
        msg("set aside"),
        base.check_unreadable_spool,
        msg("run: kb doctor --fix; copy what remains by hand, then delete it"),
        base.retry_unreadable_spool,
    ),
    DoctorCheck(msg("edits"), base.check_edit_drafts, msg("copy what is still right: kb edit; then delete the file")),
    DoctorCheck(msg("checkout"), git.check_checkout, _FIX, git.update_checkout),
    DoctorCheck(msg("leftovers"), base.check_leftovers, _FIX, base.remove_leftovers),
    DoctorCheck(msg("sessions"), base.check_abandoned_sessions, _FIX, base.remove_abandoned_sessions),
    DoctorCheck(
        msg("hook failures"),
        base.check_hook_failures,
        msg("fix the cause, then: kb doctor --fix"),
        base.clear_failures,
        needs_kb=False,
    ),
    DoctorCheck(msg("hooks"), base.check_hooks, msg("run: kb hooks install claude"), needs_kb=False),
    DoctorCheck(msg("hook line"), base.check_hook_lines, msg("run: kb hooks install claude")),
    DoctorCheck(msg("transcripts"), base.check_transcripts, msg("kb does not support it yet; nothing is lost")),
    DoctorCheck(
        msg("model"),
        base.check_llm_command,
        msg("set KB_LLM_CMD to a command that can be run, or unset it"),
        needs_kb=False,
    ),
)
"""What is examined, in order. A new check is a function and a line here."""

NEED_KB = frozenset(str(check.name) for check in CHECKS if check.needs_kb)
"""The checks that are skipped without a knowledge base."""
