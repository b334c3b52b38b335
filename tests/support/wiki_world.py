"""A knowledge base as a team has it after a year, for everything that is looked at in a browser."""

import json
import os
from pathlib import Path
from urllib.parse import unquote, urldefrag

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Evidence, Record, Section
from kb.text.segment import one_line
from kb.wiki.build import build
from tests.support.clones import FASTAPI, FLASK, SMALL
from tests.support.sealed import DAY, git
from tests.wiki.test_wiki_site import WITH_SESSIONS, Anchored, archived, shelved

ATTACK = '<script>document.title="taken"</script><img src=x onerror="document.title=1">'
HEADINGS = {"context": "Context", "decision": "Decision", "alternatives": "Alternatives", "why": "Why"}
HEADINGS |= {"impact": "Impact", "verification": "Verification", "rollback": "Rollback", "evidence": "Evidence"}
KINDS = {"D": "decision", "C": "constraint", "I": "interface", "P": "pitfall", "M": "pattern", "U": "preference"}


def told(id: str, title: str, scope: str = "project/shop", **more: object) -> Record:
    """Return a record whose sections and fields *more* names."""
    texts = {name: str(more.pop(name)) for name in HEADINGS if name in more and name != "impact"}
    sections = tuple(Section(name, HEADINGS[name], text) for name, text in texts.items())
    fields: dict[str, object] = {"status": "accepted", "uid": f"01K{id:0>23}"[:26] + scope[-1:].upper(), **more}
    return Record(id, KINDS[id.rstrip("0123456789")], title, scope, sections=sections, **fields)  # type: ignore[arg-type]


def by_hand() -> list[Record]:
    """Return the records that the tests look at."""
    queue = {"tags": ("queue", "payments"), "impact": ("src/pay/queue.py", "src/pay/")}
    return [
        told("D001", "Poll the payment provider every minute", status="superseded", date="2025-11-03",
             decision="A cron job asks the provider once a minute.", why="Nothing else was there yet.", **queue),
        told("D002", "Take payment results from the provider's webhook", status="superseded", date="2026-02-11",
             supersedes=("D001",), decision="The webhook writes straight to the order table.",
             why="Polling [D001] was a minute late.", **queue),
        told("D003", "Put webhook results into a queue before the order table", date="2026-06-20", supersedes=("D002",),
             context="On 2026-06-18 the provider repeated 4,000 webhooks in one minute.\nThe order table locked.",
             decision="The webhook answers at once and puts the result into a queue. A worker with "
                      "**one consumer per order** writes it, see [C001] and [[还款接口必须幂等]].\n\n"
                      "```python\ndef take(result: Result) -> None:\n    queue.put(result)  # never blocks\n```",
             alternatives="| Way | Late by | Lost on crash |\n| --- | ---: | --- |\n| Direct, as [D002] | 0 s | yes |\n"
                          "| Queue | 2 s | no |\n| Polling, as [D001] | 60 s | no |",
             why="A queue keeps what arrives while the table is locked. Measured: 4,000 results in 9 s, none lost.",
             verification="Run `make storm`; see [Global rules](../../global/C001-日志要脱敏.md).",
             rollback="Set `PAY_QUEUE=off`: the webhook writes directly again.",
             evidence="> one message per order, or we will charge twice\n\nTurn 4 of the session.",
             user="Call Lin before you touch the worker count. We were burnt by [P001].\n\n- two workers are enough",
             sources=("claude/abcdefgh-1",), confirmed="2026-11-02", occurrences=3, **queue),
        told("D004", "还款接口必须幂等", date="2026-05-04", tags=("payments", "幂等"), impact=("src/pay/api.py",),
             decision="每个还款请求带幂等键，重复请求返回第一次的结果。参见 [D003]。",
             why="网关超时会重试，重复扣款无法接受。",
             alternatives="数据库唯一约束；人工对账。", verification="压测脚本 storm 重复发送同一请求。",
             rollback="关闭幂等检查开关。"),
        told("C001", "日志要脱敏", "global", date="2026-03-01", tags=("security",), user="[shop:D003] 的日志已检查。",
             decision="手机号、卡号一律脱敏后才能写日志。", why="合规要求。"),
        told("C002", "No request may wait longer than 300 ms", "global", date="2026-04-02", impact=("src/gateway/",),
             tags=("latency",), decision="The gateway answers within 300 ms or refuses.", why="Callers give up."),
        told("P001", "Two workers on one order charge twice", date="2026-06-25", impact=("src/pay/queue.py",),
             tags=("payments",), decision="Two consumers took the same order; both charged.", why="See [D003]."),
        told("I001", "Sign-in answers with a session of thirty minutes", "project/lend", date="2026-07-07",
             impact=("src/auth/session.py",), tags=("auth",), decision="`POST /session` answers 201.", why="Audit."),
        told("D005", f"Keep {ATTACK} harmless", date="2026-07-08", tags=(ATTACK,), impact=(f"src/{ATTACK}",),
             decision=f"{ATTACK} [x](javascript:alert(1)) ![t](https://evil.example/t.gif) {{{{ config }}}}",
             why=ATTACK),
        told("D006", "Nobody has read this", status="proposed", date="2025-12-01", decision="Hm, [D005].", why="–"),
    ]  # fmt: skip


def by_number(count: int) -> list[Record]:
    """Return *count* more records, over a year, three projects and six kinds, some citing and superseding others."""
    words = ["cache", "retry", "队列", "audit", "限流", "rollout", "partition", "回滚", "ledger", "结算"]
    found = []
    for n in range(count):
        prefix = "DDDDDDCIPMU"[n % 11]
        word, scope = words[n % 10], ("project/lend", "project/data", "global")[n % 3]
        older = n - 33 if n >= 33 and n % 4 == 0 and prefix == "D" else -1
        gone = n % 4 == 0 and n + 33 < count and "DDDDDDCIPMU"[(n + 33) % 11] == "D" and (n + 33) % 4 == 0
        found.append(
            told(
                f"{prefix}{100 + n}", f"{word.capitalize()} policy of part {n}", scope,
                status="superseded" if gone else ("accepted", "accepted", "proposed", "deprecated")[n % 4],
                date=f"{2025 + n // 140 % 2}-{1 + n * 7 % 12:02}-{1 + n % 28:02}", tags=(word, f"team-{n % 7}"),
                impact=(f"src/{word}/part{n % 23}.py",), supersedes=(f"D{100 + older}",) if older >= 0 else (),
                decision=f"Part {n} of {word} is done in one place, by one owner."
                         + (f" It builds on [D{100 + n - n % 11}]." if n % 11 > 5 and n % 33 == n % 11 else ""),
                why="Two owners did it twice.",
            )
        )  # fmt: skip
    return found


def world(place: Path, language: str = "en", count: int = 130) -> Path:
    """Make the knowledge base at *place*: with history, two reviews, an inbox, sessions and a remote on GitHub."""
    root = shelved(place, [*by_hand(), *by_number(count)], language, "Shop & Co", WITH_SESSIONS)
    archived(root)
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Archive a session")
    git(root, "remote", "add", "origin", "https://github.com/shop/knowledge.git")
    (root / "content/anchors/projects/shop/project.json").write_text(
        json.dumps({"repository": "github.com/shop/shop"}), "utf-8"
    )
    path = next((root / "content/anchors/projects/shop").glob("D003-*.md"))
    path.write_text(path.read_text("utf-8").replace("Measured:", "Measured in June:"), "utf-8")
    git(root, "commit", "-qam", "Say when it was measured\n\nKb-Host: claude-code")
    with KnowledgeBase(str(root), os.environ, lambda: DAY) as kb:
        quote = "let us take Flask, nobody here knows FastAPI"
        one = FASTAPI._replace(scope="project/shop", why="It checks the types of every request.")
        kb.write([one], folder=kb.root)
        kb.write([FLASK._replace(scope="project/shop", evidence=(Evidence(quote, "s2", 12),))], folder=kb.root)
        kb.write([SMALL._replace(decision=f"Blue. {one_line(ATTACK)}")], folder=kb.root)
    return root


def built(root: Path, out: Path) -> Path:
    """Build the wiki of the knowledge base at *root* into *out*."""
    with KnowledgeBase(str(root), os.environ, lambda: DAY) as kb:
        build(kb, str(out), strict=False)
    return out


def lost_links(site: Path) -> list[str]:
    """Return the links of all pages of *site*, to pages of it, that lead to no file or to no anchor."""
    parsed = {path: Anchored(path.read_text("utf-8")) for path in site.rglob("*.html") if path.name != "404.html"}
    lost = []
    for path, page in parsed.items():
        for href in page.links:
            if "://" in href or href.startswith("mailto:"):
                continue
            address, anchor = urldefrag(href)
            address = address.partition("?")[0]
            target = (path.parent / unquote(address)).resolve() if address else path
            target = target / "index.html" if target.is_dir() else target
            if not target.is_file() or (anchor and target in parsed and unquote(anchor) not in parsed[target].ids):
                lost.append(f"{path.relative_to(site)}: {href}")
    return lost
