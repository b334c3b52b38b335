"""kb as a memory provider of agent-memory-benchmark, for running its agents with a key of one's own.

    pip install ./agent-memory-benchmark  # a checkout of vectorize-io/agent-memory-benchmark
    KB_AGENT_CMD='claude -p' python -m bench.amb_provider run --dataset sdebench --split boltons --memory kb …

Every document is a session: its messages go through kb's hooks as a host would send them. What is then open is put to
KB_AGENT_CMD, a command that takes a prompt on stdin and may run `kb`; without it the rules of kb stand alone, or those
of KB_LLM_CMD where that is set. What a query is answered with are the records that search finds for it.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from kb.hooks import events
from kb.index.schema import Filter
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import GLOBAL

QUESTION = "Hand over what later work needs of this session; copy every quote word for word. What waits:\n\n{openings}"


class KbProvider:
    """A knowledge base with a project for each user."""

    name, description, kind = "kb", "Records in git, worded by the agent, their quotes proved", "local"
    provider = variant = link = logo = None
    concurrency = 1

    def initialize(self) -> None:
        """Do nothing: there is no server."""

    def cleanup(self) -> None:
        """Do nothing: what was written stays for a look."""

    def prepare(self, store_dir: Path, unit_ids: set[str] | None = None) -> None:
        """Make the knowledge base below *store_dir*, once."""
        self.root, self.work = Path(store_dir).resolve() / "base", Path(store_dir).resolve() / "work"
        if not (self.root / "kb.toml").exists():
            make(str(self.root), os.environ, name="bench")[0].close()
            with (self.root / "kb.toml").open("a", encoding="utf-8") as file:
                file.write("pause = 0\n")

    def _open_project(self, user: str | None) -> Path:
        folder = self.work / (re.sub(r"\W+", "-", user or "everybody"))
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def ingest(self, documents: list[Any]) -> None:
        """Let each document happen as a session, and let its agent hand over."""
        for number, document in enumerate(documents):
            folder = self._open_project(document.user_id)
            session = re.sub(r"[^A-Za-z0-9-]", "-", f"{document.id}-{number}")
            path = self.work / f"{session}.jsonl"
            turns = document.messages or [{"role": "user", "content": document.content}]
            path.write_text("".join(_format_turn(turn, session, folder) for turn in turns), "utf-8")
            payload = {"session_id": session, "cwd": str(folder), "transcript_path": str(path), "host": "claude"}
            events.handle_event("Stop", payload, str(self.root))
            self._ask_agent(session, folder)

    def _ask_agent(self, session: str, folder: Path) -> None:
        environment = {**os.environ, "KB_HOME": str(self.root)}
        program = str(Path(sys.executable).parent / "kb")
        call = [program, "learn", "next", "--session", session]
        waits = subprocess.run(call, cwd=folder, env=environment, capture_output=True, text=True, check=False).stdout
        if waits and (command := os.environ.get("KB_AGENT_CMD")):
            question = QUESTION.format(openings=waits)
            subprocess.run(shlex.split(command), input=question, cwd=folder, env=environment, text=True, check=False)

    def retrieve(
        self, query: str, k: int = 10, user_id: str | None = None, query_timestamp: str | None = None
    ) -> tuple[list[Any], dict[str, Any] | None]:
        """Return the *k* records that search finds for *query* in the user's project."""
        document = import_module("memory_bench.models").Document
        folder = str(self._open_project(user_id))
        with KnowledgeBase(str(self.root), os.environ, folder=folder) as kb:
            scope = kb.project(folder)
            found = kb.recall(query, wanted=Filter(scopes=(scope, GLOBAL)), project=scope, limit=k)
            return [document(id=hit.record.id, content=kb.text(hit.record), user_id=user_id) for hit in found], None


def _format_turn(turn: dict[str, Any], session: str, folder: Path) -> str:
    role = "assistant" if turn.get("role") == "assistant" else "user"
    text = turn.get("content", turn.get("text", ""))
    content = [{"type": "text", "text": text}] if role == "assistant" else text
    row = {"type": role, "sessionId": session, "cwd": str(folder), "message": {"role": role, "content": content}}
    return json.dumps(row, ensure_ascii=False) + "\n"


def main() -> None:
    """Register kb beside the other providers, and run the benchmark's own command line."""
    base, memory = import_module("memory_bench.memory.base").MemoryProvider, import_module("memory_bench.memory")
    memory.REGISTRY["kb"] = type("KbMemoryProvider", (KbProvider, base), {})
    import_module("memory_bench.cli").app()


if __name__ == "__main__":
    main()
