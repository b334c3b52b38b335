"""Build the transcripts of tool-heavy sessions, line by line, as a host writes them."""

import json
from pathlib import Path
from typing import Any


class Session:
    """A transcript that grows; every `step` is one message of the assistant."""

    def __init__(self, prompt: str = "Fix the retry of webhooks") -> None:
        self.rows: list[str] = []
        self.steps = self.calls = 0
        self.before: str | None = None
        self.ask(prompt)

    def _add(self, role: str, content: Any, **more: Any) -> None:
        uuid = f"u{len(self.rows)}"
        record = {
            "parentUuid": self.before, "isSidechain": False, "type": role, "sessionId": "s-1", "uuid": uuid,
            "timestamp": "2026-11-20T10:00:00Z", "message": {"role": role, "content": content}, **more,
        }  # fmt: skip
        self.rows.append(json.dumps(record, ensure_ascii=False, separators=(",", ":")))
        self.before = uuid

    def ask(self, text: str) -> None:
        """Let a person ask."""
        self._add("user", text)

    def step(self, text: str = "Looking.", used: int = 0, model: str = "claude-opus-4-6") -> None:
        """Let the assistant begin a new step with some words."""
        self.steps += 1
        self._assistant({"type": "text", "text": text}, used, model)

    def _assistant(self, block: dict[str, Any], used: int = 0, model: str = "claude-opus-4-6") -> None:
        self._add("assistant", [block])
        record = json.loads(self.rows[-1])
        usage = {"input_tokens": 3, "cache_read_input_tokens": max(used - 3, 0), "output_tokens": 10}
        record["message"].update({"id": f"m{self.steps}", "model": model, **({"usage": usage} if used else {})})
        self.rows[-1] = json.dumps(record, ensure_ascii=False, separators=(",", ":"))

    def call(self, name: str, output: str | list[Any] = "done", *, fails: bool = False, **given: Any) -> None:
        """Let the assistant call a tool in a step of its own, and answer."""
        self.steps += 1
        self.calls += 1
        self._assistant({"type": "tool_use", "id": f"c{self.calls}", "name": name, "input": given})
        block = {"type": "tool_result", "tool_use_id": f"c{self.calls}", "content": output}
        self._add("user", [{**block, "is_error": True} if fails else block], toolUseResult={"kept": output})

    def read(self, path: str, text: str, **given: Any) -> None:
        """Let the assistant read a file."""
        self.call("Read", text, file_path=path, **given)

    def idle(self, steps: int) -> None:
        """Let the assistant do so many other things."""
        for number in range(steps):
            self.call("Bash", f"ok {number}", command=f"true {self.steps} {number}")

    def data(self) -> bytes:
        """Return the file."""
        return ("\n".join(self.rows) + "\n").encode()

    def write(self, path: Path) -> str:
        """Write the file and return its path."""
        path.write_bytes(self.data())
        return str(path)


def numbered(text: str, first: int = 1) -> str:
    """Return *text* as the Read tool shows it."""
    return "\n".join(f"{n:6}→{row}" for n, row in enumerate(text.splitlines(), first))
