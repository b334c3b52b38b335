"""Small synthetic transcripts, in the form a host writes them."""

import json
from pathlib import Path
from typing import Any

ZH = "决定：后端统一使用 FastAPI 框架，因为类型提示和异步支持好，影响整体架构。"
EN = "Decision: All API responses go through the Sanitizer module because compliance audits require it."
PASSING = "决策：先临时注释掉登录测试，因为今天要演示。"


def said(role: str, *texts: str, **more: Any) -> str:
    """Return one line: what *role* ("user" or "assistant") said."""
    blocks = [{"type": "text", "text": text} for text in texts]
    record = {"type": role, "timestamp": "2026-11-20T10:00:00Z", "message": {"role": role, "content": blocks}}
    return json.dumps({**record, **more}, ensure_ascii=False) + "\n"


def called(name: str, given: dict[str, Any], call: str = "c1") -> str:
    """Return one line: the agent calls a tool."""
    block = {"type": "tool_use", "id": call, "name": name, "input": given}
    return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": [block]}}) + "\n"


def answered(call: str = "c1", text: str = "done") -> str:
    """Return one line: a tool answers."""
    block = {"type": "tool_result", "tool_use_id": call, "content": text}
    return json.dumps({"type": "user", "message": {"role": "user", "content": [block]}}) + "\n"


def transcript(path: Path, *texts: str) -> str:
    """Write a transcript in which a task is given and the agent says *texts*; return its path."""
    lines = [said("user", "请实现订单服务的接口 / implement the order service"), *(said("assistant", t) for t in texts)]
    path.write_text("".join(lines), encoding="utf-8")
    return str(path)


def add(path: str, *texts: str) -> None:
    """Let the agent say more."""
    with open(path, "a", encoding="utf-8") as file:
        file.write("".join(said("assistant", text) for text in texts))
