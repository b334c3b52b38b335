"""`python -m bench.sayings CASES.jsonl`: what becomes of a person's sayings in a session.

Each line of CASES is a saying with its language (zh, en), label (keep, drop) and kind, written by somebody who did not
know the rules. Each is the second prompt of a session of its own. It is *written*, *held* in the inbox, *asked* (the
agent or the person is asked to word or confirm it), or *lost*. Recall is what was not lost of what should be kept;
junk is what was not lost of the rest. `--show` prints what went wrong; use it only on the half that the rules are made
with.
"""

import json
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from kb.capture.extract import extract_candidates
from kb.capture.openings import find_openings
from kb.capture.proposal_cues import find_notable_sentence
from kb.knowledge_base import KnowledgeBase, make
from kb.sessions.transcript import Transcript, parse_transcript

WRITTEN, HELD, ASKED, LOST = FATES = ("written", "held", "asked", "lost")
_SMALL_TALK = {
    "en": ("Look at the failing job", "I am reading its log."),
    "zh": ("看一下失败的任务", "正在读它的日志。"),
}


def build_session(saying: str, language: str) -> Transcript:
    """Return a session in which a person says *saying* after the agent reported what it does."""
    ask, answer = _SMALL_TALK[language]
    rows = []
    for kind, text in (("user", ask), ("assistant", answer), ("user", saying), ("assistant", "OK.")):
        content = text if kind == "user" else [{"type": "text", "text": text}]
        rows.append({"type": kind, "sessionId": "s1", "cwd": "/p", "message": {"role": kind, "content": content}})
    return parse_transcript("\n".join(json.dumps(row, ensure_ascii=False) for row in rows).encode() + b"\n")


def judge_saying(kb: KnowledgeBase, saying: str, language: str) -> tuple[str, str]:
    """Return the fate of *saying*, and the kind it gets or how it is asked."""
    session = build_session(saying, language)
    verdicts = kb.write(extract_candidates(session, 2, language), dry_run=True)
    for fate, names in ((WRITTEN, ("created", "updated", "appended")), (HELD, ("held",))):
        for verdict in verdicts:
            if verdict.verdict in names:
                return fate, verdict.title
    if openings := find_openings(session, 2):
        return ASKED, openings[0].kind
    if notable := find_notable_sentence(saying):
        return ASKED, f"proposal:{notable.kind}"
    return LOST, "; ".join(str(reason) for verdict in verdicts for reason in verdict.reasons)


def main() -> None:
    """Print the table."""
    cases = [json.loads(line) for line in Path(sys.argv[1]).read_text(encoding="utf-8").splitlines() if line]
    counts: Counter[tuple[str, str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"HOME": folder, "GIT_AUTHOR_NAME": "A", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "A"}
        os.environ["GIT_COMMITTER_EMAIL"] = "a@b"
        made, _ = make(f"{folder}/kb", os.environ, name="kb")
        made.close()
        with KnowledgeBase(f"{folder}/kb", os.environ) as kb:
            for case in cases:
                fate, how = judge_saying(kb, case["text"], case["lang"])
                counts[case["lang"], case["label"], fate] += 1
                if "--show" in sys.argv and (case["label"] == "keep") != (fate != LOST):
                    kind = case["kind"] or "-"
                    print(f"{case['label']:4} {kind:10} → {fate:7} {how:24} {case['text']}")
    for label in ("keep", "drop"):
        for language in ("en", "zh"):
            row = [counts[language, label, fate] for fate in FATES]
            told = ", ".join(f"{fate} {count}" for fate, count in zip(FATES, row, strict=True))
            heard, share = sum(row[:-1]), 100 * sum(row[:-1]) / max(1, sum(row))
            print(f"{label} {language}: {told}; not lost {heard} of {sum(row)} ({share:.0f} %)")


if __name__ == "__main__":
    main()
