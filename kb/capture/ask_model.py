"""Ask the user's own language model (KB_LLM_CMD) what a session leaves, and prove what it answers.

It is asked for everything in one call. Only candidates whose quotes stand word for word in the session come through,
and a preference only where a person said it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kb.errors import BadInput
from kb.i18n import msg
from kb.records.candidate import SCHEMA, build_candidates
from kb.records.model import Candidate, Evidence
from kb.sessions.handed_text import SpokenText, list_spoken
from kb.sessions.transcript import ANSWER, HUMAN, Transcript, get_own_texts
from kb.text.segment import count_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MAX_CHARACTERS = 120_000  # of the longest input; of a longer session the end is given
_MIN_QUOTE_CHARACTERS = 4  # a quote of fewer 字 proves nothing: it is in every text
_SELF_CHECK = ("affects_future", "reference_value", "prevents_repeat")
"""The questions that the gate asks of every candidate."""
_PERSONS = (HUMAN, ANSWER)
"""Who speaks where a person does."""

_MODEL_PROMPTS = {
    "en": (
        "Extract from the session what will still matter to later work: decisions with their reasons, constraints, "
        "interfaces, pitfalls with their causes, patterns, and lasting preferences of the person. Leave out plans, "
        "questions, progress, and whatever is temporary or obvious. Answer with JSON only: an object whose key "
        '"candidates" holds a list that follows the schema. Every candidate needs at least one evidence with a quote '
        "copied word for word from one input text, and its line. Leave a field out when the session does not say it. "
        "Check every candidate yourself and answer three questions, true or false, null where the session does not "
        "tell: affects_future (will it affect a later decision?), reference_value (will somebody look it up?), "
        "prevents_repeat (does it prevent a repeated discussion or mistake?). In the input, who is: human, a prompt of "
        "the person; answer, the person's answer to a question, with ☑ before what was chosen, ☐ before what was not, "
        "→ before their own words; agent; summary, what the agent kept at a compaction; handover, an agent's text from "
        "another session; report, what a sub-agent found. Only human and answer are words of the person. "
        "An empty list is a good answer."
    ),
    "zh": (
        "从会话中提取以后仍会影响工作的内容：带理由的决策、约束、接口、带原因的教训、模式，以及用户的长期偏好。"
        "不要提取计划、提问、进度、临时或显而易见的内容。只用 JSON 回答：一个对象，"
        '键 "candidates" 是符合 schema 的列表。每个候选至少有一条 evidence，'
        "其 quote 必须从某条输入文本中逐字复制，并注明 line。会话没有说的字段不要填写。"
        "对每个候选自检并回答三个问题，true 或 false，会话没有说明则为 null：affects_future（会影响以后的决策吗？）、"
        "reference_value（以后会有人查阅吗？）、prevents_repeat（能避免重复讨论或重复犯错吗？）。"
        "输入中的 who：human 是用户的提示；answer 是用户对提问的回答，☑ 是选中的选项，☐ 是没有选的，→ 是用户自己的话；"
        "agent 是代理；summary 是压缩时代理保留的内容；handover 是另一会话中代理写的文字；report 是子代理的报告。"
        "只有 human 和 answer 是用户的话。没有值得保留的内容时，返回空列表。"
    ),
}


def build_request(transcript: Transcript, language: str) -> dict[str, Any]:
    """Return what the model is asked in *language* ("zh" or "en"): task, schema, input and lang."""
    rows: list[dict[str, Any]] = []
    room = MAX_CHARACTERS
    for spoken in reversed(list_spoken(transcript)):
        room -= len(spoken.text)
        if room < 0:
            break
        rows.append({"line": spoken.line, "who": spoken.who, "text": spoken.text})
    item = {key: value for key, value in SCHEMA.items() if key != "$schema"}
    item["required"] = [*item["required"], "evidence", *_SELF_CHECK]
    properties = {"candidates": {"type": "array", "items": item}}
    schema = {"type": "object", "required": ["candidates"], "properties": properties}
    return {
        "task": _MODEL_PROMPTS.get(language, _MODEL_PROMPTS["en"]),
        "schema": schema,
        "input": rows[::-1],
        "lang": language,
    }


def parse_answer(answer: object, transcript: Transcript) -> list[Candidate]:
    """Return the candidates in a model's *answer* that the session proves.

    Raise BadInput if the answer has no list of candidates, or if none of those in it follows the schema: then the
    offline extraction is the better one. What a model cannot know from the session (ids of other records, session,
    host) is taken out, and paths and quotes that do not occur are dropped.
    """
    items = answer.get("candidates") if isinstance(answer, dict) and "kind" not in answer else answer
    if isinstance(items, dict):
        items = [items]
    if not isinstance(items, list):
        raise BadInput(msg("the answer of KB_LLM_CMD has no list of candidates"))
    found: list[Candidate] = []
    problem: BadInput | None = None
    for number, item in enumerate(items):
        try:
            found += build_candidates(item, f"KB_LLM_CMD[{number}]")
        except BadInput as error:
            problem = problem or error
    if problem and not found:
        raise problem
    said = list_spoken(transcript)
    parts = [text for message in transcript.messages for text in get_own_texts(message)]  # to look paths up in
    calls = (call for message in transcript.messages for call in message.calls)
    parts += (json.dumps(call.input, ensure_ascii=False, default=str) for call in calls)
    mentioned = "\n".join(parts).replace("\\\\", "/")
    proven = []
    for candidate in found:
        voices = _PERSONS if candidate.kind == "preference" else ()  # what an agent likes is no wish of the person
        quotes = [_find_quote(evidence, said, transcript.session_id, voices) for evidence in candidate.evidence]
        known = candidate._replace(
            evidence=tuple(dict.fromkeys(quote for quote in quotes if quote)),
            impact=tuple(path for path in candidate.impact if path and path in mentioned),
            supersedes=(),
            amends=(),
            coexists_with={},
            updates="",
            session=transcript.session_id,
            host="",
        )
        proven += [known] if known.evidence else []
    return proven


def locate_quote(evidence: Evidence, transcript: Transcript) -> Evidence | None:
    """Return *evidence* with the line and time at which its quote really stands, the named line first; None for none.

    White space may differ: who copies a quote out of wrapped lines has it with other line ends.
    """
    return _find_quote(evidence, list_spoken(transcript), transcript.session_id)


def _find_quote(
    evidence: Evidence, said: Sequence[SpokenText], session: str, voices: Sequence[str] = ()
) -> Evidence | None:
    """Return where the quote stands in what was *said*, by one of *voices* if any are given."""
    if count_words(evidence.quote) < _MIN_QUOTE_CHARACTERS:
        return None
    quote = " ".join(evidence.quote.split())
    # A model often miscounts lines: a quote counts wherever it stands word for word.
    for spoken in sorted(said, key=lambda spoken: spoken.line != evidence.line):
        if (not voices or spoken.who in voices) and quote in " ".join(spoken.text.split()):
            return Evidence(evidence.quote, session, spoken.line, spoken.time)
    return None
