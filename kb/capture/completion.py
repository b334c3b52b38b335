"""Complete a candidate of a session from its own words and from what was done after it was said."""

from __future__ import annotations

import re

from kb.records.candidate import AREAS
from kb.records.model import Candidate
from kb.sessions.transcript import HUMAN, Transcript
from kb.text.mentions import find_paths, is_document, make_relative

_AREAS = {
    "architecture": r"\barchitectur(?:e|al)\b|\bmicro-?services?\b|\bmonolith\w*|架构|微服务|单体应用",
    "security": r"\bsecurity\b|\bvulnerab\w+|\bauthenticat\w+|\bauthori[sz]ation\b|\bencrypt\w*|\bcredentials?\b"
    r"|\bXSS\b|\bCSRF\b|\bSQL injection\b|(?<!线程)(?<!类型)(?<!内存)安全(?!地)|漏洞|鉴权|身份认证|加密|脱敏|密钥"
    r"|SQL ?注入|越权",
    "performance": r"\bperformance\b|\blatency\b|\bthroughput\b|性能|延迟高|吞吐",
    "compliance": r"\bcomplian(?:ce|t with)\b|\bGDPR\b|\bHIPAA\b|\bPCI[- ]DSS\b|合规|等保|个人信息保护",
    "modules": r"\b(?:across|all|several|multiple) (?:the )?(?:modules|services|packages)\b"
    r"|跨模块|跨服务|多个模块|所有模块|所有服务",
}
_AREA_PATTERNS = tuple((area, re.compile(_AREAS[area], re.IGNORECASE)) for area in AREAS)
_ALL_PROJECTS_PATTERN = re.compile(
    r"\b(?:in |across )?(?:all|every|any|other)(?: of)?(?: our| my| the)? (?:projects?|repositor(?:y|ies)|repos)\b"
    r"|所有项目|每个项目|各个项目|跨项目|任何项目",
    re.IGNORECASE,
)
# What gives a setting a value: a dotted key in a code span, a copula, a number or a code span.
_CLAIM = re.compile(
    r"`([a-z][a-z0-9_]*(?:\.[a-z0-9_]+)+)`\s*(?:=|:|is set to|must be|is|to|设为|设置为|固定为|必须为|必须是|为|是)\s*"
    r"(?:`([^`\n]{1,60})`|(\d+(?:\.\d+)?)(?![\w.]))"
)
_FILE_ENDINGS = frozenset(
    "py js ts md json yaml yml toml txt ex exs rs go java rb sh css html sql c h lock xml cfg ini".split()
)
_DONE_KINDS = frozenset({"decision", "constraint", "interface"})
"""Kinds that work follows upon: a wish or a pattern says nothing of the files at hand."""
_MAX_EDITED = 3
"""Files edited in one turn of which each may be what was decided about; of more, most are not."""
_EDITS = frozenset({"Edit", "Write", "MultiEdit", "NotebookEdit"})
_TEST_COMMAND = re.compile(
    r"(?:^|[;&|]\s*)(?:[\w./-]+=\S+\s+)*(?:(?:uv|poetry|pipenv|mise|bundle|npx|pnpm|yarn|bun)\s+(?:run\s+|exec\s+)?)?"
    r"(?:\S*/)?(?:pytest|tox|nox|jest|vitest|mocha|rspec|phpunit|ctest|(?:python3?\s+-m\s+(?:pytest|unittest))"
    r"|(?:npm|pnpm|yarn|bun|go|cargo|mix|dotnet|mvnw?|gradlew?|make|just|rake|swift|flutter|dart|test|run)\s+"
    r"(?:run\s+)?(?:-\S+\s+)*(?:\S+:)?test\S*)(?=\s|$)"
)


def complete_candidate(candidate: Candidate, transcript: Transcript, line: int, touched: frozenset[str]) -> Candidate:
    """Add what is certain from the candidate's own words, areas, claims, reuse, and from what was done behind *line*.

    Where it names no file, the files edited in the same turn are its impact, if they are few; the first test that
    passed after one of its files was edited is its verification.
    """
    words = "\n".join((candidate.title, candidate.decision, candidate.why))
    if candidate.kind != "preference" and not candidate.impact:
        candidate = candidate._replace(impact=find_paths(words, transcript.cwd, touched))
    if candidate.kind in _DONE_KINDS:
        done = _list_deeds(transcript, line)
        edited = tuple(dict.fromkeys(path for turn, path, _ in done if path and not turn and not is_document(path)))
        impact = candidate.impact or (edited if len(edited) <= _MAX_EDITED else ())
        first = next((at for at, (_, path, _) in enumerate(done) if path in impact), len(done))
        passed = next((command for _, _, command in done[first:] if command), "")
        verification = candidate.verification or (f"`{passed}`" if passed else "")
        candidate = candidate._replace(impact=impact, verification=verification)
    areas = tuple(area for area, pattern in _AREA_PATTERNS if pattern.search(words))
    # “in all projects” / 所有项目: what holds everywhere is reusable; nothing else is said to be or not to be.
    reusable = True if candidate.reusable is None and _ALL_PROJECTS_PATTERN.search(words) else candidate.reusable
    found = _CLAIM.findall(words) if candidate.kind in ("decision", "constraint") else ()
    claims = {key: quoted or number for key, quoted, number in found if key.rpartition(".")[2] not in _FILE_ENDINGS}
    return candidate._replace(
        impact_areas=candidate.impact_areas or areas,
        claims=candidate.claims or claims,
        reusable=reusable,
        session=transcript.session_id or candidate.session,
    )


def _list_deeds(transcript: Transcript, line: int) -> list[tuple[int, str, str]]:
    """Return what was done behind *line*: how many prompts later, the file edited or "", the test that passed or ""."""
    failed = {result.id for message in transcript.messages for result in message.results if result.is_error}
    done: list[tuple[int, str, str]] = []
    turn = 0
    for message in transcript.messages:
        if message.line <= line:
            continue
        turn += message.origin == HUMAN
        for call in message.calls:
            path = make_relative(call.path, transcript.cwd) if call.name in _EDITS else ""
            command = " ".join(str(call.input.get("command", "")).split()) if call.name == "Bash" else ""
            is_test = call.id not in failed and len(command) <= 160 and _TEST_COMMAND.search(command)
            done.append((turn, "" if path.startswith("/") else path, command if is_test else ""))
    return done
