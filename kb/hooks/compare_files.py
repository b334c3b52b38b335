"""Have the files that only kb writes compared, before and after a command of an agent and at the end of its turn."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from kb.errors import IndexFailed, KbError
from kb.guard.response import HookResponse
from kb.hooks.guard_fast_path import may_discard
from kb.knowledge_base import KnowledgeBase
from kb.sessions import host_input
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state import hook_failures, record_stamps

if TYPE_CHECKING:
    from typing import Any


def compare_protected_files(
    kb: KnowledgeBase, payload: Mapping[str, Any], event: str, *, asked: bool = False
) -> HookResponse:
    """Compare the files that only kb writes with what they were; where that fails, the event is answered without it."""
    session, folder = host_input.to_text(payload.get("session_id")), host_input.to_text(payload.get("cwd"))
    if event == "PreToolUse" and not may_discard(payload) and record_stamps.is_unchanged(kb.root, folder):
        record_stamps.mark_call_started(kb.root, session, record_stamps.SETTINGS if asked else "")
        return HookResponse()
    from kb.guard import set_aside

    caller = set_aside.Caller(session, folder, host_input.to_text(payload.get("host")) or "claude")
    try:
        if event == "PreToolUse":
            return set_aside.check_before_call(kb, caller, asked=asked)
        return set_aside.check_end_of_turn(kb, caller) if event == "Stop" else set_aside.check_after_call(kb, caller)
    except IndexFailed:
        raise
    except (KbError, OSError, ValueError) as error:
        failed = hook_failures.HookFailure(
            hook_failures.format_time(time.time()), f"{event} guard", f"{type(error).__name__}: {error}"
        )
        hook_failures.save_failure(kb.root, os.environ, failed)
        return HookResponse()
