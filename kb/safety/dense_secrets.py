"""Find the stretches of a text that consist of secrets: thousands of assignments to names of secrets, side by side.

Each of them would be doubted by itself, which takes seconds for a megabyte. Where a few of them, drawn evenly from such
a stretch, prove to be secrets, the stretch is masked as one place instead, with its whole lines: more than need be.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kb.safety.secret_rules import KEY_BLOCKS, RULES
from kb.safety.secret_search import SearchTask, SecretSpan, find_secrets
from kb.startup.lazy_regex import regex

CROWD = 2000
"""So many assignments side by side are a crowd."""

_GAP = 64
"""Characters between two assignments that stand side by side."""

_DRAWN = 32
"""Assignments of a crowd that are looked at."""

_BEFORE, _BEHIND = 16, 200
"""Characters before and behind one of them that are looked at with it."""

_NAMES = ("pass", "pwd", "secret", "token", "credential", "key", "密码", "密碼", "口令", "令牌", "密钥", "秘钥", "私钥")
_ASSIGNED = regex(
    r"(?i)(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|key|密码|密碼|口令|令牌|密钥|秘钥|私钥)"
    r"[\"'`]?\s{0,2}[:=：＝]\s{0,2}[\"'`]?[^\s\"'`,;]{6}"
)
_KEY_BLOCKS = tuple(number for number, rule in enumerate(RULES) if rule in KEY_BLOCKS)


def find_dense_secrets(text: str, task: SearchTask) -> list[SecretSpan]:
    """Return the crowds of secrets in *text*; where there is one, also what reaches out of it into other lines."""
    if len(text) < CROWD * 8 or sum(map(text.lower().count, _NAMES)) < CROWD:
        return []
    spans: list[SecretSpan] = []
    for crowd in _iter_clusters(text):
        if rule := _sample_rule(crowd, text, task):
            start, end = _find_line_bounds(crowd, text)
            tail = (max(start, crowd[-1].start() - _BEHIND), end)
            spans += (SecretSpan(start, end, rule), *find_secrets(text, task, [tail]))
    if spans:  # the head of a key block or of a table may stand in a line that is masked, and the rest below it
        spans += find_secrets(text, task._replace(private=(), only=_KEY_BLOCKS))
    return spans


def _iter_clusters(text: str) -> Iterator[Sequence[re.Match[str]]]:
    """Yield the assignments of each crowd in *text*."""
    crowd: list[re.Match[str]] = []
    for match in _ASSIGNED.finditer(text):
        if crowd and match.start() - crowd[-1].end() > _GAP:
            if len(crowd) >= CROWD:
                yield crowd
            crowd = []
        crowd.append(match)
    if len(crowd) >= CROWD:
        yield crowd


def _sample_rule(crowd: Sequence[re.Match[str]], text: str, task: SearchTask) -> str:
    """Return the rule of a secret in *crowd*; "" where less than half of what is drawn from it are secrets."""
    drawn = crowd[:: len(crowd) // _DRAWN]
    found = [span.rule for match in drawn if (span := next(find_secrets(_extract_assignment(match, text), task), None))]
    return found[0] if 2 * len(found) >= len(drawn) else ""


def _extract_assignment(match: re.Match[str], text: str) -> str:
    """Return an assignment with what stands before it and the rest of its value."""
    rest = text[match.end() : match.end() + _BEHIND].split(None, 1)
    behind = rest[0] if rest and not text[match.end()].isspace() else ""
    return text[max(0, match.start() - _BEFORE) : match.end()] + behind


def _find_line_bounds(crowd: Sequence[re.Match[str]], text: str) -> tuple[int, int]:
    """Return start and end of the lines of *crowd*, with the line before and the line behind it."""
    start = text.rfind("\n", 0, crowd[0].start())
    end = text.find("\n", crowd[-1].end())
    if end >= 0:
        end = text.find("\n", end + 1)
    return text.rfind("\n", 0, max(start, 0)) + 1, end if end >= 0 else len(text)
