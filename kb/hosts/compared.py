"""Have the files that only kb writes compared, before and after a command of an agent and at the end of its turn."""

from __future__ import annotations

import os
import time
from collections.abc import Mapping

from kb import snapshot, tools
from kb.decision import Decision
from kb.errors import IndexFailed, KbError
from kb.hosts.watch import may_discard
from kb.knowledge import KnowledgeBase, failures
from kb.values import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def compared(kb: KnowledgeBase, payload: Mapping[str, Any], event: str, *, asked: bool = False) -> Decision:
    """Compare the files that only kb writes with what they were; where that fails, the event is answered without it."""
    session, folder = tools.text(payload.get("session_id")), tools.text(payload.get("cwd"))
    if event == "PreToolUse" and not may_discard(payload) and snapshot.is_unchanged(kb.root, folder):
        snapshot.begin(kb.root, session, snapshot.SETTINGS if asked else "")
        return Decision()
    from kb.knowledge.guard import aside

    caller = aside.Caller(session, folder, tools.text(payload.get("host")) or "claude")
    try:
        if event == "PreToolUse":
            return aside.before_call(kb, caller, asked=asked)
        return aside.end_of_turn(kb, caller) if event == "Stop" else aside.after_call(kb, caller)
    except IndexFailed:
        raise
    except (KbError, OSError, ValueError) as error:
        failed = failures.Failure(failures.iso(time.time()), f"{event} guard", f"{type(error).__name__}: {error}")
        failures.remember(kb.root, os.environ, failed)
        return Decision()
