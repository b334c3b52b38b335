"""`python -m bench.demo FOLDER [zh]`: make a knowledge base in FOLDER and run the main job on a session, step by step.

Everything a person would type is run as a command of its own and printed first; nothing outside FOLDER is touched.
All of it is in one language: English, or Chinese.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kb.capture import extract
from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import kind_label, verdict_name
from kb.records.model import Candidate, Verdict
from kb.safety.redaction import redact_text
from kb.sessions import transcript as transcripts
from kb.text.segment import clip

TRANSCRIPTS = {
    "en": Path(__file__).with_name("demo_transcript.jsonl"),
    "zh": Path(__file__).with_name("demo_transcript_zh.jsonl"),
}
"""The same session, in English and in Chinese."""
MARK = Path(".kb") / "demo" / "made-by-the-demo"
"""Only a folder with this file is deleted."""
BIN = Path(sys.executable).parent
SCRUBBED = ("GIT_", "KB_")

BEFORE: dict[str, list[dict[str, Any]]] = {
    "en": [
        {
            "kind": "decision",
            "title": "The refund window is 30 days",
            "decision": "A payment can be refunded within 30 days; after that, support decides case by case.",
            "alternatives": "No window: refunds after the books are closed, which finance cannot settle.",
            "why": "The books are closed every month; within 30 days a refund falls into an open month.",
            "impact": ["src/pay/refund.py"],
            "verification": "tests/test_refund.py has a case for day 30 and one for day 31.",
            "rollback": "Remove the check; support decides every case again.",
            "impact_areas": ["compliance"],
            "session": "2026-09-02",
            "host": "demo",
        },
        {
            "kind": "pattern",
            "title": "Call the payment gateway after the commit, never inside a transaction",
            "decision": "Write the intent, commit, call the gateway, then write what it said in a second transaction.",
            "why": "A call takes seconds; inside a transaction it holds row locks as long, and it cannot be undone.",
            "impact": ["src/pay/refund.py", "src/pay/api.py"],
            "session": "2026-09-02",
            "host": "demo",
        },
    ],
    "zh": [
        {
            "kind": "decision",
            "title": "退款期限为 30 天",
            "decision": "付款后 30 天内可以退款；之后由客服转人工处理。",
            "alternatives": "不设期限：账期关闭以后还能退，财务无法结账。",
            "why": "每月结账，30 天以内的退款都落在未关闭的账期里。",
            "impact": ["src/pay/refund.py"],
            "verification": "tests/test_refund.py 里有第 30 天和第 31 天两个用例。",
            "rollback": "删去检查，退回到由客服逐单判断。",
            "impact_areas": ["compliance"],
            "session": "2026-09-02",
            "host": "demo",
        },
        {
            "kind": "pattern",
            "title": "提交之后再调用支付网关，绝不在事务里调用",
            "decision": "先写意图并提交，再调用网关，然后在第二个事务里写下网关的回答。",
            "why": "一次调用要几秒；放在事务里会一直占着行锁，而且无法回滚。",
            "impact": ["src/pay/refund.py", "src/pay/api.py"],
            "session": "2026-09-02",
            "host": "demo",
        },
    ],
}
"""What the team had written down before the session began."""

WORDS = {
    "en": {
        "name": "Payments",
        "hint": ["refund", "log"],
        "search": "refund",
        "1": "A knowledge base, and what the team knew before",
        "2": "A session ends: what the gate says to each thing found in it",
        "rows": "{rows} lines of a session on refunds, found without a language model:",
        "3": "The agent host calls the hook before it compacts",
        "archived": "it did what step 2 says, and archived the session in {folder}:",
        "4": "Everything is files and commits",
        "5": "The contradiction waits on a branch: main is as it was",
        "merge": "the same as merging the branch",
        "delete": "the same as deleting it",
        "6": "What the next session on this is told before it starts",
        "7": "The wiki",
        "said": "said    line {line}",
        "became": "became ",
        "reason": "reason ",
        "nearest": "nearest",
        "branch": "branch ",
        "on": "Go on by yourself, in {folder}:",
    },
    "zh": {
        "name": "支付",
        "hint": ["退款", "日志"],
        "search": "退款",
        "1": "一个知识库，和团队此前已经知道的",
        "2": "一个会话结束了：闸门对其中每一条怎么说",
        "rows": "一个关于退款的会话，共 {rows} 行；不用语言模型，找到：",
        "3": "代理宿主在压缩上下文之前调用钩子",
        "archived": "它做的正是第 2 步所说的，并把会话存档到 {folder}：",
        "4": "一切都是文件和提交",
        "5": "矛盾在分支上等人决定：主分支原样未动",
        "merge": "等于合并这个分支",
        "delete": "等于删除这个分支",
        "6": "下一个相关会话开始前会被告知什么",
        "7": "维基",
        "said": "原话    第 {line} 行",
        "became": "结果   ",
        "reason": "理由   ",
        "nearest": "最相近 ",
        "branch": "分支   ",
        "on": "接下来可以自己试，在 {folder} 里：",
    },
}
"""What the demo itself says."""

CODE = {
    "src/pay/refund.py": "async def refund(order_id: str, amount_cents: int, key: str) -> None: ...\n",
    "src/pay/ledger.py": "async def book(order_id: str, amount_cents: int) -> None: ...\n",
    "src/pay/idempotency.py": "async def first_time(connection, key: str) -> bool: ...\n",
    "src/pay/api.py": "",
    "tests/conftest.py": "",
    "tests/test_refund.py": "",
}
"""The code repository the session worked in, as far as the demo needs one."""


class Stage:
    """The folder of the demo and the commands that run in it."""

    def __init__(self, top: Path, language: str) -> None:
        """Name the places under *top*; *language*: en or zh."""
        self.top = top
        self.language = language
        self.words: dict[str, Any] = WORDS[language]
        self.code = top / ".kb" / "demo" / "payments"
        self.payload = top / ".kb" / "demo" / "payload.json"
        self.transcript = top / ".kb" / "demo" / "transcript.jsonl"
        self.wiki = top / ".kb" / "wiki"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(SCRUBBED)}
        self.environment["LANG"] = "zh_CN.UTF-8" if language == "zh" else "en_US.UTF-8"
        self.environment["PATH"] = f"{BIN}{os.pathsep}{self.environment.get('PATH', os.defpath)}"

    def run(self, *command: str, cwd: Path | None = None, given: bytes = b"", good: Sequence[int] = (0,)) -> str:
        """Run *command* and return what it printed; stop the demo when it leaves with a code that is not *good*."""
        done = subprocess.run(
            command, cwd=cwd or self.top, env=self.environment, input=given,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False,
        )  # fmt: skip
        said = done.stdout.decode("utf-8", "replace").rstrip()
        if done.returncode not in good:
            raise SystemExit(f"{' '.join(command)} left with exit code {done.returncode}:\n{said}")
        return said

    def show(self, *command: str, cwd: Path | None = None, good: Sequence[int] = (0,)) -> None:
        """Print *command*, run it, and print what it said."""
        print(indented("$ " + " ".join(quoted(word) for word in command)))
        print(indented(self.run(*command, cwd=cwd, good=good)))


def quoted(word: str) -> str:
    """Return *word* as one types it in a shell."""
    return f'"{word}"' if " " in word else word


def indented(text: str, depth: int = 2) -> str:
    """Return *text* with every line moved to the right."""
    return "\n".join(" " * depth + line if line else "" for line in text.split("\n"))


def heading(number: int, text: str) -> None:
    """Print the heading of a step."""
    print(f"\n\n── {number}. {text} {'─' * max(3, 92 - len(text))}\n")


def prepare(top: Path, language: str = "en") -> Stage:
    """Make *top* an empty folder with the session in it; a folder the demo did not make is not deleted."""
    if top.exists() and not (top / MARK).is_file() and (not top.is_dir() or any(top.iterdir())):
        raise SystemExit(f"{top} was not made by the demo, so it is not deleted; name another folder")
    shutil.rmtree(top, ignore_errors=True)
    (top / MARK).parent.mkdir(parents=True)
    (top / MARK).touch()
    (top / ".kb" / ".gitignore").write_text("*\n")
    stage = Stage(top, language)
    for path, text in CODE.items():
        (stage.code / path).parent.mkdir(parents=True, exist_ok=True)
        (stage.code / path).write_text(text)
    stage.run("git", "init", "-q", "-b", "main", str(stage.code))
    shutil.copyfile(TRANSCRIPTS[language], stage.transcript)
    payload = {
        "session_id": transcripts.parse_transcript(stage.transcript.read_bytes()).session_id,
        "transcript_path": str(stage.transcript),
        "cwd": str(stage.code),
        "hook_event_name": "PreCompact",
        "trigger": "auto",
    }
    stage.payload.write_text(json.dumps(payload, indent=1) + "\n")
    return stage


def told_beforehand(stage: Stage) -> tuple[list[Candidate], list[Verdict]]:
    """Return the candidates in the session and what the gate would say to them, without writing anything."""
    payload = json.loads(stage.payload.read_text())
    with KnowledgeBase.at(str(stage.top), stage.environment) as kb:
        found = [
            candidate._replace(session=payload["session_id"], host="claude")
            for candidate in extract.extract_candidates(transcripts.parse_transcript(stage.transcript.read_bytes()))
        ]
        return found, kb.write(found, folder=str(stage.code), dry_run=True)


def show_verdict(stage: Stage, number: int, candidate: Candidate, verdict: Verdict) -> None:
    """Print a candidate with its evidence, and what became of it with the reasons."""
    words, language = stage.words, stage.language
    name = f" [{verdict.id}]" if verdict.verdict != "held" and verdict.id else ""
    print(f"  {number}  {kind_label(candidate.kind, language)}: {verdict.title}")
    for evidence in candidate.evidence[:1]:
        first, _, rest = evidence.quote.partition("\n")
        quote = masked(clip(first, 110)) + (" …" if rest else "")
        print(f"     {words['said'].format(line=evidence.line)}: “{quote}”")
    print(f"     {words['became']} {verdict_name(verdict.verdict).translate(language)}{name}")
    for reason in verdict.reasons:
        print(f"     {words['reason'] if reason is verdict.reasons[0] else ' ' * 7} {reason}")
    for similar in verdict.similar[:1]:
        print(f"     {words['nearest']} {similar.score:.2f} [{similar.id}] {similar.title}")
    if verdict.branch:
        print(f"     {words['branch']} {verdict.branch}")
    print()


def masked(quote: str) -> str:
    """Return *quote* as it may be shown: what the gate masks is no sight for a terminal either."""
    return redact_text(quote, ())[0]


def did_the_same(stage: Stage, verdicts: Sequence[Verdict]) -> str:
    """Return the archive's name; stop where the hook did something else than the dry run said."""
    (archive,) = (stage.top / "content" / "sessions").glob("*/")
    report = json.loads((archive / "shi-result.json").read_text())
    expected = sorted(v.id for v in verdicts if v.verdict == "created")
    written = sorted(row["new_id"] for row in report["anchors_written"])
    if expected != written:
        raise SystemExit(f"the dry run promised {expected}, the hook wrote {written}")
    return archive.name


def main(arguments: Sequence[str]) -> None:
    """Run the demo in the folder, and in the language, that *arguments* name."""
    if len(arguments) not in (1, 2) or (language := "".join(arguments[1:]) or "en") not in WORDS:
        raise SystemExit("usage: python -m bench.demo FOLDER [zh]")
    stage = prepare(Path(arguments[0]).resolve(), language)
    words = stage.words

    heading(1, words["1"])
    stage.show("kb", "init", str(stage.top), "--name", words["name"], "--language", language)
    given = json.dumps(BEFORE[language], ensure_ascii=False).encode()
    print(indented("\n$ kb write - < before.json"))
    print(indented(stage.run("kb", "write", "-", cwd=stage.code, given=given)))

    heading(2, words["2"])
    rows = stage.transcript.read_bytes().count(b"\n")
    print(f"  {words['rows'].format(rows=rows)}\n")
    candidates, verdicts = told_beforehand(stage)
    for number, (candidate, verdict) in enumerate(zip(candidates, verdicts, strict=True), 1):
        show_verdict(stage, number, candidate, verdict)

    heading(3, words["3"])
    print(indented(f"$ kb-hook pre-compact < {stage.payload}"))
    stage.run("kb-hook", "pre-compact", given=stage.payload.read_bytes())
    archive = did_the_same(stage, verdicts)
    print(indented(words["archived"].format(folder=f"content/sessions/{archive}/") + "\n"))
    print(indented((stage.top / "content" / "sessions" / archive / "compact.md").read_text().rstrip(), 4))

    heading(4, words["4"])
    stage.show("git", "log", "--oneline", "--all")
    print()
    stage.show("git", "status", "--short", "--branch")
    print()
    created = next(v for v in verdicts if v.verdict == "created" and v.status == "accepted")
    stage.show("cat", created.path)

    heading(5, words["5"])
    stage.show("kb", "review")
    print()
    conflict = next(v for v in verdicts if v.verdict == "conflict")
    stage.show("git", "-c", "core.quotePath=false", "diff", f"main...{conflict.branch}")
    print(indented(f"\nkb review accept {conflict.id}    # {words['merge']}"))
    print(indented(f"kb review reject {conflict.id}    # {words['delete']}"))

    heading(6, words["6"])
    keywords = [part for word in words["hint"] for part in ("-k", word)]
    stage.show("kb", "hint", "t1", *keywords, cwd=stage.code)

    heading(7, words["7"])
    stage.show("kb", "wiki", "build", "--output", str(stage.wiki))
    folder, kb = os.path.relpath(stage.top), BIN / "kb"
    print(f"\n  {words['on'].format(folder=folder)}\n")
    print(f"    cd {folder} && {kb} search {words['search']}")
    print(f"    cd {folder} && {kb} wiki serve\n")


if __name__ == "__main__":
    main(sys.argv[1:])
