"""Synthetic knowledge bases of any size: two languages, all kinds, the same every time."""

import json
import os
import random
import subprocess
from pathlib import Path

from kb.knowledge_base import make
from kb.records.kinds import KINDS, folder_for_scope, generate_ulid
from kb.records.model import GLOBAL, Record, Section
from kb.records.record_file import render
from kb.text.segment import slugify

NOUNS = [
    "order service",
    "payment gateway",
    "refund window",
    "session cache",
    "search index",
    "audit log",
    "message queue",
    "feature flag",
    "rate limiter",
    "image pipeline",
    "billing ledger",
    "user profile",
    "webhook retry",
    "export job",
    "schema migration",
    "tracing header",
    "access token",
    "backup",
    "订单服务",
    "支付网关",
    "退款窗口",
    "会话缓存",
    "搜索索引",
    "审计日志",
    "消息队列",
    "功能开关",
    "限流器",
    "图片管线",
    "账单分录",
    "用户画像",
    "回调重试",
    "导出任务",
    "表结构迁移",
    "链路追踪",
    "访问令牌",
    "备份",
]
VERBS = [
    "use",
    "avoid",
    "cache",
    "encrypt",
    "batch",
    "retry",
    "partition",
    "validate",
    "采用",
    "避免",
    "缓存",
    "加密",
    "批量处理",
    "重试",
    "分区",
    "校验",
]
THINGS = [
    "PostgreSQL",
    "Redis",
    "Kafka",
    "gRPC",
    "OpenAPI",
    "S3",
    "SQLite",
    "Nginx",
    "Protobuf",
    "OAuth",
    "idempotency keys",
    "soft deletes",
    "UTC timestamps",
    "ULIDs",
    "幂等键",
    "软删除",
    "协调世界时",
    "雪花编号",
    "乐观锁",
    "读写分离",
    "灰度发布",
    "脱敏规则",
    "分布式锁",
    "对账任务",
]


def title(number: int, chance: random.Random) -> str:
    """Return a title that no other *number* gets."""
    verb, thing, noun = chance.choice(VERBS), chance.choice(THINGS), chance.choice(NOUNS)
    return f"{verb} {thing} {'for' if noun.isascii() else '用于'} {noun} {word(number)}"


def word(number: int) -> str:
    """Return a made-up word for *number*: titles differ by a word, not by a digit."""
    syllables = [
        "ba",
        "ce",
        "di",
        "fo",
        "gu",
        "ha",
        "je",
        "ki",
        "lo",
        "mu",
        "na",
        "pe",
        "qi",
        "ro",
        "su",
        "ta",
        "ve",
        "wi",
        "xo",
        "yu",
    ]
    parts = []
    while True:
        number, rest = divmod(number, len(syllables))
        parts.append(syllables[rest])
        if not number:
            return "".join(parts)


def record(number: int, scope: str, chance: random.Random) -> Record:
    """Return the record *number*."""
    kind = KINDS[number % len(KINDS)]
    record_id = f"{kind.prefix}{number // len(KINDS) + 1:03d}"
    name = title(number, chance)
    sections = tuple(
        Section(part, "", f"{name}. {chance.choice(NOUNS)} {chance.choice(THINGS)} " * chance.randint(2, 8))
        for part in ("decision", "alternatives", "why", "impact", "verification", "rollback")
    )
    return Record(
        record_id, kind.name, name, scope, "accepted", generate_ulid(1_790_000_000 + number), "2026-09-21",
        tags=(chance.choice(NOUNS),), impact=(f"src/{word(number % 500)}/",), sections=sections,
        path=f"{folder_for_scope(scope)}/{record_id}-{slugify(name)}.md",
    )  # fmt: skip


def build(place: Path, size: int, *, projects: int = 10) -> Path:
    """Make a knowledge base with *size* records at *place*, once; return it."""
    if (place / ".ready").exists():
        return place
    knowledge, _ = make(str(place), os.environ, name="bench")
    knowledge.close()
    chance = random.Random(size)
    for number in range(size):
        share = number % (projects + 1)
        one = record(number, f"project/p{share}" if share else GLOBAL, chance)
        file = place / one.path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(render(one), encoding="utf-8")
    for command in (["config", "gc.auto", "0"], ["add", "-A"], ["commit", "-qm", "Fill"], ["gc", "-q"]):
        subprocess.run(["git", "-C", str(place), *command], check=True)
    (place / ".git" / "info" / "exclude").write_text(".ready\n")
    (place / ".ready").touch()
    return place


def adr(number: int) -> str:
    """Return the text of the ADR file *number*, in the plainest of the formats."""
    chance = random.Random(number)
    name = title(number, chance)
    body = f"{name}. {chance.choice(NOUNS)} {chance.choice(THINGS)}. " * 4
    parts = [f"# {number}. {name}", f"Date: 2025-03-{number % 28 + 1:02}", "## Status", "Accepted"]
    parts += [line for heading in ("Context", "Decision", "Consequences") for line in (f"## {heading}", body)]
    return "\n\n".join(parts) + "\n"


def transcript(size: int) -> bytes:
    """Return an agent's session of about *size* bytes: talk, tool calls with long results, a few decisions."""
    chance = random.Random(size)
    rows: list[str] = []
    length = number = 0
    while length < size:
        rows += (json.dumps(row, ensure_ascii=False) for row in _turn(number, chance))
        length += sum(len(row) for row in rows[-4:])
        number += 1
    return ("\n".join(rows) + "\n").encode()


def _turn(number: int, chance: random.Random) -> list[dict[str, object]]:
    noun, thing = chance.choice(NOUNS), chance.choice(THINGS)
    call = {
        "type": "tool_use",
        "id": f"t{number}",
        "name": "Read",
        "input": {"file_path": f"/p/src/{word(number % 40)}.py"},
    }
    result = {
        "type": "tool_result",
        "tool_use_id": f"t{number}",
        "content": f"def {word(number)}(): pass  # {noun}\n" * 80,
    }
    said = f"Next I look at the {noun}."
    if number % 50 == 0:
        said = f"We chose {thing} over a table of our own for the {noun} {word(number)} because it survives a restart."
    contents: list[tuple[str, object]] = [
        ("user", f"please go on with {noun} {number}"),
        ("assistant", [{"type": "text", "text": said}]),
        ("assistant", [call]),
        ("user", [result]),
    ]
    return [
        {"type": role, "uuid": f"u{number}-{place}", "sessionId": "bench", "timestamp": "2026-09-21T10:00:00Z",
         "message": {"role": role, "content": content}}
        for place, (role, content) in enumerate(contents)
    ]  # fmt: skip
