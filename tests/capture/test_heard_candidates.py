"""What is heard beside the prompts becomes candidates: choices, summaries, hand-overs; never a quoted wish."""

import json
from typing import Any

import pytest

from kb.capture.extract import extract_candidates
from kb.config import Masking
from kb.records.model import Candidate
from kb.sessions.render_forms import mask_transcript
from kb.sessions.transcript import Transcript, parse_transcript
from tests.sessions.test_heard_words import ASKED, OPTIONS, SUMMARY, asked, claude, queued, result

WISH = "From now on we always store amounts in cents, because floats lose money."


def read(*records: Any) -> Transcript:
    return parse_transcript("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in records).encode())


def typed(text: str, **more: Any) -> dict[str, Any]:
    return claude({"type": "text", "text": text}, role="user", **more)


def choose(question: str, options: list[dict[str, str]], answer: str) -> list[Candidate]:
    said = f'User has answered your questions: "{question}"="{answer}". You can now continue with'
    call = asked(questions=[{"question": question, "options": options}])
    transcript = read(claude(call), claude(result(said), role="user"))
    found = extract_candidates(transcript)
    texts = [text for message in transcript.messages for text in message.texts]
    assert all(any(evidence.quote in text for text in texts) for one in found for evidence in one.evidence)
    return found


def test_a_choice_among_named_options_is_a_decision() -> None:
    [made] = choose(ASKED, OPTIONS, "Settings page (Recommended)")
    assert (made.kind, made.title) == ("decision", "Where do users find their public key: Settings page")
    assert made.decision == "Settings page: Always there, with a copy button."
    assert made.alternatives == "Share dialog: Beside the field to paste into."
    assert "☑ Settings page" in made.evidence[0].quote and "☐" not in made.evidence[0].quote
    assert made.affects_future is None, "the gate says whether it matters"
    options = [{"label": "PostgreSQL", "description": "因为要事务"}, {"label": "SQLite", "description": "零配置"}]
    [chosen] = choose("订单存在哪个数据库？", options, "PostgreSQL")
    assert (chosen.title, chosen.why, chosen.alternatives) == (
        "订单存在哪个数据库: PostgreSQL",
        "要事务",
        "SQLite: 零配置",
    )


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("What would you like to do next?", "Fix it"), ("How would you like to proceed?", "Fix it"),
        ("Should I open Docker Desktop?", "Fix it"), ("接下来怎么做？", "Fix it"), ("是否继续？", "Fix it"),
        ("Where should the key stand?", "You decide"), ("密钥放在哪里？", "你来定"),
    ],
)  # fmt: skip
def test_how_to_go_on_decides_nothing(question: str, answer: str) -> None:
    assert (
        choose(question, [{"label": answer, "description": ""}, {"label": "Leave it", "description": ""}], answer) == []
    )


def test_an_answer_in_own_words_is_read_as_a_prompt() -> None:
    [made] = choose("How should amounts be stored?", OPTIONS, WISH)
    assert made.kind == "constraint" and "cents" in made.title
    [queue] = extract_candidates(read(queued("enqueue", WISH)))
    assert queue.title == made.title


def test_a_secret_in_an_answer_is_masked() -> None:
    key = "ghp_" + "aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
    options = [{"label": f"use {key}", "description": "a key"}, {"label": "none", "description": ""}]
    said = f'User has answered your questions: "{ASKED}"="use {key}". You can now continue'
    call = asked(questions=[{"question": ASKED, "options": options}])
    transcript = read(claude(call), claude(result(said), role="user"))
    masked = mask_transcript(transcript, Masking((), ()))
    [message] = [one for one in masked.messages if one.answers]
    assert key not in repr(message) and message.texts == tuple(one.text for one in message.answers)


def test_a_summary_is_the_agents_and_repeats_no_wish() -> None:
    row = typed(SUMMARY, isCompactSummary=True)
    found = extract_candidates(read(row))
    assert [(one.kind, one.title) for one in found] == [
        ("pitfall", 'Upload 500 error: "fetch failed"'),
        ("pitfall", "Credo nesting depth in `classify`"),
    ]
    assert found[0].why == "`IPFS_URL` was not set" and "Created `apps/api/.env`" in found[0].decision
    assert all(evidence.quote in SUMMARY for one in found for evidence in one.evidence)


HANDOVER = (
    "Continue from this handover:\n\n## Done\nThe ledger is split.\n\nWe chose SQLite over PostgreSQL because it needs "
    "no server.\n\nFrom now on always use tabs, because we like them.\n\nI prefer short names everywhere.\n"
    "More text that only fills the page, line after line, until it is long enough."
)


def test_a_handover_is_read_as_an_agents_words() -> None:
    found = extract_candidates(read(typed(HANDOVER)))
    assert [one.kind for one in found if "SQLite" in one.title] == ["decision"]
    assert not any(one.kind == "preference" for one in found), "an agent's text tells no wish of a person"


@pytest.mark.parametrize(
    "prompt",
    [f"Please fix this.\n<issue>\n{WISH}\n</issue>", f"Please fix this.\n\nIssue #7:\n{WISH}",
     f"看一下。\n以下是工单内容\n{WISH}", f"Go on.\n## 🔸 Compact context\n- {WISH}"],
)  # fmt: skip
def test_a_quoted_decision_is_nobodys(prompt: str) -> None:
    assert extract_candidates(read(typed(prompt))) == []
    assert len(extract_candidates(read(typed(WISH)))) == 1


def test_texts_of_a_host_or_a_skill_give_nothing() -> None:
    meta = typed(f"Base directory for this skill: /x\n{WISH}", isMeta=True)
    hook = {"type": "attachment", "attachment": {"type": "hook_additional_context", "content": [WISH]}}
    assert extract_candidates(read(meta, hook, typed(f"<skill>\n{WISH}\n</skill>"))) == []
