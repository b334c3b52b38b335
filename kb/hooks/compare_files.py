"""Have the files that only kb writes compared, before and after a command of an agent and at the end of its turn."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from kb.errors import IndexFailed, KbError
from kb.guard.response import Decision
from kb.hooks.guard_fast_path import may_discard
from kb.knowledge_base import KnowledgeBase
from kb.sessions import tool_names
from kb.startup.namedtuple import TYPE_CHECKING
from kb.state import hook_failures, record_stamps

if TYPE_CHECKING:
    from typing import Any


def compared(kb: KnowledgeBase, payload: Mapping[str, Any], event: str, *, asked: bool = False) -> Decision:
    """Compare the files that only kb writes with what they were; where that fails, the event is answered without it."""
    session, folder = tool_names.text(payload.get("session_id")), tool_names.text(payload.get("cwd"))
    if event == "PreToolUse" and not may_discard(payload) and record_stamps.is_unchanged(kb.root, folder):
        record_stamps.begin(kb.root, session, record_stamps.SETTINGS if asked else "")
        return Decision()
    from kb.guard import set_aside

    caller = set_aside.Caller(session, folder, tool_names.text(payload.get("host")) or "claude")
    try:
        if event == "PreToolUse":
            return set_aside.before_call(kb, caller, asked=asked)
        return set_aside.end_of_turn(kb, caller) if event == "Stop" else set_aside.after_call(kb, caller)
    except IndexFailed:
        raise
    except (KbError, OSError, ValueError) as error:
        failed = hook_failures.Failure(
            hook_failures.iso(time.time()), f"{event} guard", f"{type(error).__name__}: {error}"
        )
        hook_failures.remember(kb.root, os.environ, failed)
        return Decision()
