"""What a transcript holds that may become records, found by the user's own language model or by rules.

One call asks the model for everything. Only candidates whose quotes stand word for word in the session come through.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kb.capture.extract import extract_candidates
from kb.errors import BadInput, KbError
from kb.i18n import msg
from kb.records.candidate import SCHEMA, build_candidates
from kb.records.model import Candidate, Evidence
from kb.safety import redaction
from kb.sessions.host_input import read_transcript
from kb.sessions.render_forms import mask_transcript
from kb.sessions.transcript import Transcript, get_own_texts, parse_transcript
from kb.text.segment import count_words

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace


MAX_CHARACTERS = 120_000
"""Longest input in characters; of a longer session the end is given."""
_SHORTEST_QUOTE = 4
"""A quote of fewer 字 proves nothing: it stands in every text."""

_TASK = {
    "en": (
        "Extract from the session what will still matter to later work: decisions with their reasons, constraints, "
        "interfaces, pitfalls with their causes, patterns, and lasting preferences of the person. Leave out plans, "
        "questions, progress, and whatever is temporary or obvious. Answer with JSON only: an object whose key "
        '"candidates" holds a list that follows the schema. Every candidate needs at least one evidence with a quote '
        "copied word for word from one input text, and its line. Leave a field out when the session does not say it. "
        "An empty list is a good answer."
    ),
    "zh": (
        "从会话中提取以后仍会影响工作的内容：带理由的决策、约束、接口、带原因的教训、模式，以及用户的长期偏好。"
        "不要提取计划、提问、进度、临时或显而易见的内容。只用 JSON 回答：一个对象，"
        '键 "candidates" 是符合 schema 的列表。每个候选至少有一条 evidence，'
        "其 quote 必须从某条输入文本中逐字复制，并注明 line。会话没有说的字段不要填写。"
        "没有值得保留的内容时，返回空列表。"
    ),
}


def find_candidates(
    kb: Workspace, transcript: Transcript, after: int, session: str, host: str
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates in *transcript*: by KB_LLM_CMD where it is set and answers, else offline."""
    notes: list[str] = []
    found: list[Candidate] | None = None
    if command := kb.environment.get("KB_LLM_CMD"):
        from kb.state.json_process import run_llm_command

        try:
            request = build_request(transcript, kb.config.language)
            answer = run_llm_command(command, request, kb.config.llm_timeout)
            found = [c for c in parse_answer(answer, transcript) if all(one.line > after for one in c.evidence)]
        except KbError as error:
            notes.append(error.translate(kb.config.language))
    if found is None:
        found = extract_candidates(transcript, after)
    return [c._replace(session=session, host=host or c.host) for c in found], notes


def find_candidates_in_file(kb: Workspace, path: str) -> list[Candidate]:
    """Return the candidates in the transcript *path*, without secrets; nothing is written."""
    transcript = mask_transcript(parse_transcript(read_transcript(path)), kb.config.masking)
    found, _ = find_candidates(kb, transcript, 0, transcript.session_id, "")
    return [redaction.redact_candidate(candidate, kb.config.masking)[0] for candidate in found]


# -- by a language model ---------------------------------------------------------------------------


def build_request(transcript: Transcript, language: str) -> dict[str, Any]:
    """Return what the model is asked in *language* ("zh" or "en"): task, schema, input and lang."""
    rows = [
        {"line": message.line, "who": message.origin, "text": text}
        for message in transcript.messages
        for text in get_own_texts(message)
        if text.strip()
    ]
    kept: list[dict[str, Any]] = []
    room = MAX_CHARACTERS
    for row in reversed(rows):
        room -= len(str(row["text"]))
        if room < 0:
            break
        kept.append(row)
    item = {key: value for key, value in SCHEMA.items() if key != "$schema"}
    properties = {"candidates": {"type": "array", "items": item}}
    schema = {"type": "object", "required": ["candidates"], "properties": properties}
    return {"task": _TASK.get(language, _TASK["en"]), "schema": schema, "input": kept[::-1], "lang": language}


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
    parts: list[str] = []  # all that was said and asked of tools, to look paths up in
    for message in transcript.messages:
        parts += get_own_texts(message)
        parts += (json.dumps(call.input, ensure_ascii=False, default=str) for call in message.calls)
    mentioned = "\n".join(parts).replace("\\\\", "/")
    return [proven for candidate in found if (proven := _verify_candidate(candidate, transcript, mentioned)).evidence]


def _verify_candidate(candidate: Candidate, transcript: Transcript, mentioned: str) -> Candidate:
    quotes = [_locate_quote(evidence, transcript) for evidence in candidate.evidence]
    return candidate._replace(
        evidence=tuple(dict.fromkeys(quote for quote in quotes if quote)),
        impact=tuple(path for path in candidate.impact if path and path in mentioned),
        supersedes=(),
        amends=(),
        coexists_with={},
        updates="",
        session=transcript.session_id,
        host="",
    )


def _locate_quote(evidence: Evidence, transcript: Transcript) -> Evidence | None:
    """Return *evidence* with the line and time at which its quote really stands, the named line first."""
    if count_words(evidence.quote) < _SHORTEST_QUOTE:
        return None
    for message in sorted(transcript.messages, key=lambda message: message.line != evidence.line):
        if any(evidence.quote in text for text in get_own_texts(message)):
            return Evidence(evidence.quote, transcript.session_id, message.line, message.time)
    return None
