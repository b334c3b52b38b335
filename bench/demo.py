"""`python -m bench.demo FOLDER`: make a knowledge base in FOLDER and run the main job on a session, step by step.

Everything a person would type is run as a command of its own and printed first; nothing outside FOLDER is touched.
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
from kb.records.model import Candidate, Verdict
from kb.safety.redaction import redact_text
from kb.sessions import transcript as transcripts
from kb.text.segment import clip

TRANSCRIPT = Path(__file__).with_name("demo_transcript.jsonl")
MARK = Path(".kb") / "demo" / "made-by-the-demo"
"""Only a folder with this file is deleted."""
BIN = Path(sys.executable).parent
SCRUBBED = ("GIT_", "KB_")

BEFORE: list[dict[str, Any]] = [
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
        "title": "Call the payment gateway after the commit, never inside a transaction",
        "decision": "Write the intent, commit, call the gateway, then write what it said in a second transaction.",
        "why": "A call takes seconds; inside a transaction it holds row locks for as long, and it cannot be undone.",
        "impact": ["src/pay/refund.py", "src/pay/api.py"],
        "session": "2026-09-02",
        "host": "demo",
    },
]
"""What the team had written down before the session began."""

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

    def __init__(self, top: Path) -> None:
        """Name the places under *top*."""
        self.top = top
        self.code = top / ".kb" / "demo" / "payments"
        self.payload = top / ".kb" / "demo" / "payload.json"
        self.transcript = top / ".kb" / "demo" / TRANSCRIPT.name.removeprefix("demo_")
        self.wiki = top / ".kb" / "wiki"
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(SCRUBBED)}
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


def prepare(top: Path) -> Stage:
    """Make *top* an empty folder with the session in it; a folder the demo did not make is not deleted."""
    if top.exists() and not (top / MARK).is_file() and (not top.is_dir() or any(top.iterdir())):
        raise SystemExit(f"{top} was not made by the demo, so it is not deleted; name another folder")
    shutil.rmtree(top, ignore_errors=True)
    (top / MARK).parent.mkdir(parents=True)
    (top / MARK).touch()
    (top / ".kb" / ".gitignore").write_text("*\n")
    stage = Stage(top)
    for path, text in CODE.items():
        (stage.code / path).parent.mkdir(parents=True, exist_ok=True)
        (stage.code / path).write_text(text)
    stage.run("git", "init", "-q", "-b", "main", str(stage.code))
    shutil.copyfile(TRANSCRIPT, stage.transcript)
    payload = {
        "session_id": transcripts.parse_transcript(TRANSCRIPT.read_bytes()).session_id,
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


def show_verdict(number: int, candidate: Candidate, verdict: Verdict) -> None:
    """Print a candidate with its evidence, and what became of it with the reasons."""
    name = f" [{verdict.id}]" if verdict.verdict != "held" and verdict.id else ""
    print(f"  {number}  {candidate.kind}: {verdict.title}")
    for evidence in candidate.evidence[:1]:
        first, _, rest = evidence.quote.partition("\n")
        print(f"     said    line {evidence.line}: “{masked(clip(first, 110))}”" + (" …" if rest else ""))
    print(f"     became  {verdict.verdict}{name}")
    for reason in verdict.reasons:
        print(f"     {'reason' if reason is verdict.reasons[0] else '':7} {reason}")
    for similar in verdict.similar[:1]:
        print(f"     nearest {similar.score:.2f} [{similar.id}] {similar.title}")
    if verdict.branch:
        print(f"     branch  {verdict.branch}")
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
    """Run the demo in the folder *arguments* names."""
    if len(arguments) != 1:
        raise SystemExit("usage: python -m bench.demo FOLDER")
    stage = prepare(Path(arguments[0]).resolve())

    heading(1, "A knowledge base, and what the team knew before")
    stage.show("kb", "init", str(stage.top), "--name", "Payments")
    given = json.dumps(BEFORE, ensure_ascii=False).encode()
    print(indented("\n$ kb write - < before.json"))
    print(indented(stage.run("kb", "write", "-", cwd=stage.code, given=given)))

    heading(2, "A session ends: what the gate says to each thing found in it")
    rows = stage.transcript.read_bytes().count(b"\n")
    print(f"  {rows} lines of a session on refunds, found without a language model:\n")
    candidates, verdicts = told_beforehand(stage)
    for number, (candidate, verdict) in enumerate(zip(candidates, verdicts, strict=True), 1):
        show_verdict(number, candidate, verdict)

    heading(3, "The agent host calls the hook before it compacts")
    print(indented(f"$ kb-hook pre-compact < {stage.payload}"))
    stage.run("kb-hook", "pre-compact", given=stage.payload.read_bytes())
    archive = did_the_same(stage, verdicts)
    print(indented(f"it did what step 2 says, and archived the session in content/sessions/{archive}/:\n"))
    print(indented((stage.top / "content" / "sessions" / archive / "compact.md").read_text().rstrip(), 4))

    heading(4, "Everything is files and commits")
    stage.show("git", "log", "--oneline", "--all")
    print()
    stage.show("git", "status", "--short", "--branch")
    print()
    created = next(v for v in verdicts if v.verdict == "created" and v.status == "accepted")
    stage.show("cat", created.path)

    heading(5, "The contradiction waits on a branch: main is as it was")
    stage.show("kb", "review")
    print()
    conflict = next(v for v in verdicts if v.verdict == "conflict")
    stage.show("git", "-c", "core.quotePath=false", "diff", f"main...{conflict.branch}")
    print(indented(f"\nkb review accept {conflict.id}    # the same as merging the branch"))
    print(indented(f"kb review reject {conflict.id}    # the same as deleting it"))

    heading(6, "What the next session on this is told before it starts")
    stage.show("kb", "hint", "t1", "-k", "refund", "-k", "退款", "-k", "日志", cwd=stage.code)

    heading(7, "The wiki")
    stage.show("kb", "wiki", "build", "--output", str(stage.wiki))
    print(f"\n  Go on by yourself:  cd {os.path.relpath(stage.top)} && {BIN / 'kb'} search 退款\n")


if __name__ == "__main__":
    main(sys.argv[1:])
