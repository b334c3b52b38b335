"""`python -m bench.triggers`: how often kb speaks up at a prompt when it should, and only then.

Three triggers, on prompts that were labelled before the rules were written (triggers_zh.txt, triggers_en.txt): is the
memory read (the hook answers with records), is the prompt proposed to the person, and is it heard at all: proposed,
written or held by the rules, or left to the agent to word. Half of the prompts, by their hash,
are for mending the rules; the other half is only counted, and so are those that were written last, after the rules.
`--show` prints what went wrong in the first half.
"""

import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from bench.sayings import LOST, judge_saying
from kb.capture.proposal_cues import find_notable_sentence
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate
from kb.startup.process import sha256

HERE = Path(__file__).parent
STORED: dict[str, list[tuple[str, str, str]]] = {
    "zh": [
        ("decision", "订单金额用整数分存储", "金额字段一律存整数分，展示时再换算，避免浮点误差。"),
        ("constraint", "日志里的手机号必须脱敏", "写日志之前把手机号的中间四位换成星号，合规审计要求。"),
        ("decision", "后端统一使用 FastAPI", "类型提示和异步支持好，团队都熟悉，不再引入其他框架。"),
        ("decision", "订单服务使用 PostgreSQL 存储", "订单与账本在同一个事务里提交，MongoDB 做不到。"),
        ("interface", "退款接口要求幂等键", "请求头 Idempotency-Key 必填，同一个键重复请求只退一次款。"),
        ("pitfall", "Redis 连接池耗尽导致缓存雪崩", "连接没有归还，池子耗尽，请求全部打到数据库；要设超时并归还连接。"),
        ("decision", "前端状态管理使用 Pinia", "购物车和登录状态都放在 Pinia 的 store 里。"),
        ("decision", "发布采用蓝绿发布，不停机", "先部署到绿环境，检查通过以后再切换流量。"),
        ("interface", "接口错误码统一为五位数字", "前两位是服务，后三位是具体的错误。"),
        ("pattern", "库存扣减使用乐观锁", "带版本号更新，冲突时重试三次。"),
        ("decision", "消息队列选用 Kafka", "订单消息需要回放，消费者可以从任意位置重新读。"),
        ("constraint", "单元测试覆盖率不低于 80%", "合并请求的覆盖率低于 80% 时流水线失败。"),
    ],
    "en": [
        ("decision", "User sessions expire after 30 minutes", "A session ends 30 minutes after the last call."),
        ("constraint", "Passwords are hashed with argon2", "Only argon2id hashes passwords, with 64 MB of memory."),
        ("decision", "The API version is part of the URL path", "Every route begins with /v1 or /v2, no headers."),
        ("decision", "Feature flags live in LaunchDarkly", "No feature flag in code or settings files any more."),
        ("interface", "Rate limit of 100 requests a minute per API key", "Above the limit a client gets a 429."),
        ("decision", "Postgres migrations are written with Alembic", "One migration for each change of the schema."),
        ("decision", "Search uses Elasticsearch 8", "The search index is rebuilt every night by a job of its own."),
        ("interface", "Webhooks are signed with HMAC-SHA256", "X-Signature carries the signature."),
        ("decision", "All timestamps are stored in UTC", "The timezone of a user matters for showing times only."),
        ("decision", "Docker images build on distroless", "There is no shell in the image, so less to attack."),
        ("pitfall", "Circular import in the billing module", "The billing module imports invoices on load."),
        ("preference", "Commit messages are in the imperative mood", "Write commit messages as orders: add, move."),
    ],
}  # fmt: skip
"""What the knowledge base of the bench holds: kind, title and text."""

DEVELOPED_ON, HELD_OUT, WRITTEN_LAST = PARTS = ("developed on", "held out", "written last")


class Row(NamedTuple):
    """One labelled prompt."""

    text: str
    read: bool
    propose: bool
    part: str
    """One of PARTS."""


class Score(NamedTuple):
    """How often a trigger was right."""

    hits: int
    missed: int
    wrong: int
    quiet: int

    @property
    def precision(self) -> float:
        return self.hits / (self.hits + self.wrong) if self.hits + self.wrong else 1.0

    @property
    def recall(self) -> float:
        return self.hits / (self.hits + self.missed) if self.hits + self.missed else 1.0


def rows(language: str) -> list[Row]:
    """Return the labelled prompts of *language*."""
    found, last = [], False
    for line in (HERE / f"triggers_{language}.txt").read_text("utf-8").splitlines():
        last = last or line.startswith("# Last")
        if line[:1] in "r-":
            odd = sha256(line[3:].encode()).digest()[0] % 2 == 1
            part = WRITTEN_LAST if last else HELD_OUT if odd else DEVELOPED_ON
            found.append(Row(line[3:], line[0] == "r", line[1] == "p", part))
    return found


def score(wanted: Sequence[bool], found: Sequence[bool]) -> Score:
    """Return how *found* compares with what was *wanted*."""
    pairs = list(zip(wanted, found, strict=True))
    counts = (pairs.count(pair) for pair in ((True, True), (True, False), (False, True), (False, False)))
    return Score(*counts)


def stored(folder: Path) -> KnowledgeBase:
    """Return a knowledge base in *folder* with what is stored in both languages."""
    kb, _ = make(str(folder / "kb"), os.environ, name="triggers")
    every = [
        Candidate(kind, title, decision=text, why=text, affects_future=True, scope="global")
        for records in STORED.values()
        for kind, title, text in records
    ]
    verdicts = kb.write(every, typed=True)
    assert all(verdict.verdict == "created" for verdict in verdicts), verdicts
    return kb


def measured(language: str, kb: KnowledgeBase) -> Iterator[tuple[str, str, Score, list[str]]]:
    """Yield trigger, part, score and what went wrong."""
    for name, wanted, found in (
        ("read", lambda row: row.read, lambda row: bool(kb.answer_to_prompt(row.text))),
        ("propose", lambda row: row.propose, lambda row: find_notable_sentence(row.text) is not None),
        ("hear", lambda row: row.propose, lambda row: judge_saying(kb, row.text, language)[0] != LOST),
    ):
        for part in PARTS:
            those = [row for row in rows(language) if row.part == part]
            answers = [found(row) for row in those]
            wrong = [row.text for row, got in zip(those, answers, strict=True) if got != wanted(row)]
            yield name, part, score([wanted(row) for row in those], answers), wrong


def main() -> int:
    """Print the table."""
    print("| language | trigger | part | prompts | precision | recall | missed | wrong |")
    print("|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder, stored(Path(folder)) as kb:
        for language in ("zh", "en"):
            for name, part, result, wrong in measured(language, kb):
                print(f"| {language} | {name} | {part} | {sum(result)} | {result.precision:.0%} | {result.recall:.0%} "
                      f"| {result.missed} | {result.wrong} |")  # fmt: skip
                if part == DEVELOPED_ON and "--show" in sys.argv:
                    print("".join(f"    {text}\n" for text in wrong), end="", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
