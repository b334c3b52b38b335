"""`kb-hook write`: the gate for programs, without what a person's command line costs."""

from __future__ import annotations

import json
import os
import sys

from kb.errors import KbError
from kb.knowledge_base import KnowledgeBase
from kb.records import candidate
from kb.records.model import choose_exit_code
from kb.state import hook_failures


def write_candidates(data: bytes, folder: str) -> int:
    """Put the candidates in *data* through the gate, print the verdicts as JSON, and return `kb write`'s exit code."""
    try:
        candidates = candidate.parse_candidates(data, "stdin")
        with KnowledgeBase.open(folder, os.environ) as kb:
            verdicts = kb.write(candidates, folder=folder)
    except KbError as error:
        print(hook_failures.redact_message(f"kb: {error}\n    → {error.hint}"), file=sys.stderr)
        return error.exit_code
    rows = [{**v._asdict(), "similar": [s._asdict() for s in v.similar]} for v in verdicts]
    json.dump(rows, sys.stdout, ensure_ascii=False, indent=2)
    sys.stdout.write("\n")
    return choose_exit_code(verdicts)
