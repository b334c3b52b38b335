"""Class a candidate by its deed: a good decision, a passing act, or a debt (RUYI "业力分类").

What is read is the title and a decision of at most two sentences. A long decision that says "for now" somewhere gives
its context with it; a title that says so is a passing act.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from kb.records.model import Candidate
from kb.startup.lazy_regex import regex

WHOLESOME, NEUTRAL, UNWHOLESOME = "wholesome", "neutral", "unwholesome"

_SENTENCE = regex(r"[。！？!?；;\n]+|\.(?=\s|$)")
_CLAUSE = regex(r"[。！？!?；;，,\n]+|\.(?=\s|$)")
_DEEDS = frozenset({"decision", "interface", "domain-note"})
"""Kinds that tell what was done. A constraint, a pattern or a checklist about workarounds is a rule, not a debt."""

_ONE_OFF = regex(
    r"\bfor now\b|\bfor the (?:time being|moment)\b|\b(?:quick|temporary) (?:hack|fix|patch|change)\b"
    r"|\bjust (?:this once|for (?:now|today|this (?:run|session|time|test)|the (?:demo|test)))\b"
    r"|\b(?:this|one) time only\b"
    r"|\btemporarily (?:comment|disabl|skip|hard-?cod|bypass|turn|switch|stub|mut|pin|revert|remov|us)"
    r"|\b(?:will|'ll|let's|can|to) (?:revert|undo|remove|delete|clean|fix) (?:this |it |that |them )?(?:up )?"
    r"(?:later|afterwards|tomorrow)\b"
    r"|\bone-off (?:script|fix|change|run|test|experiment)\b|\bthrow-?away (?:script|code|test)"
    r"|先临时|这次先|今天先|暂时先|仅此一次|只此一次|回头再|待会儿?"
    r"|(?<!等)(?<!隔)(?<!等待)一会儿?(?=我|再|就|改|删|恢复|回来|处理|弄|看)"
    r"|(?:先|暂时|暂且|临时)"
    r"(?:注释|屏蔽|禁用|关掉|关闭|跳过|写死|改成|改为|换成|顶一|顶上|凑合|用着|放着|这样|不管|停掉|去掉|加个|搞)"
    r"|一次性(?:脚本|修改|改动|处理|决定|操作|任务|调试)|临时(?:方案|处理|改动|修改|补丁|修复|调试|措施|改一下)"
    r"|稍后再(?:改|说|处理|修|补|看|清理)",
    re.IGNORECASE,
)
_DEBT = regex(
    r"work-?arounds?\b|\btech(?:nical)? debt\b|(?<!quick )\bhack(?:s|y|ed)?\b|\bkludge|\bband-?aid\b|\bstop-?gap\b"
    r"|\bknown (?:issue|risk|hazard|bug|problem|flaw|weakness)|技术债|技术负债|隐患|权宜之计|历史包袱"
    r"|临时(?:绕过|规避)|绕过方案"
    r"|(?:已知|遗留)的?(?:问题|缺陷|漏洞|风险)",
    re.IGNORECASE,
)
_RULED = regex(
    r"\b(?:no|not|never|without|avoid|must|shall|always|don't|mustn't|forbid|instead of|rather than|ban)"
    r"|不得|不要|不能|不允许|不可|禁止|严禁|切勿|避免|杜绝|必须|应当|应该|一律|始终|每个|所有|而不是|而非",
    re.IGNORECASE,
)
"""Words before a passing act that make a lasting rule about it."""

_SETTLED = regex(
    r"\b(?:no|not|never|without|avoid|prevent|remov|replac|drop|eliminat|pay|paid|reduc|fix|clean|track|retire|get rid)"
    r"|instead of|rather than"
    r"|不再|没有|避免|杜绝|消除|偿还|清理|减少|移除|去掉|删除|替换|代替|取代|而不是|而非"
    r"|防止|治理|跟踪|排查|解决|修复",
    re.IGNORECASE,
)
"""Words before a debt that pay it off."""


def classify_karma(candidate: Candidate) -> str:
    """Return "wholesome" (distil), "neutral" (keep with the session only) or "unwholesome" (note as a pitfall)."""
    return _classify_text(candidate.kind, candidate.title, candidate.decision)


@lru_cache(maxsize=64)
def _classify_text(kind: str, title: str, decision: str) -> str:
    """Return the karma of a candidate; it is asked for when the kind is settled, and again at the gate."""
    if kind == "pitfall":
        return UNWHOLESOME
    text = _summarise_candidate(title, decision)
    if kind in _DEEDS and _has_clause(_DEBT, text, unless=_SETTLED):
        return UNWHOLESOME
    return NEUTRAL if _has_clause(_ONE_OFF, text, unless=_RULED) else WHOLESOME


def reclassify_candidate(candidate: Candidate) -> Candidate:
    """Return *candidate* as a pitfall where it tells of a debt; one that updates a record keeps that record's kind."""
    if candidate.updates or classify_karma(candidate) != UNWHOLESOME:
        return candidate
    return candidate._replace(kind="pitfall")


def split_sentences(text: str) -> list[str]:
    """Return the sentences of *text* with what ends them."""
    found, start = [], 0
    for match in _SENTENCE.finditer(text):
        found.append(text[start : match.end()].strip())
        start = match.end()
    return [sentence for sentence in (*found, text[start:].strip()) if sentence]


def _summarise_candidate(title: str, decision: str) -> str:
    """Return what a candidate says in short."""
    short = decision if len(split_sentences(decision)) <= 2 else ""
    return unicodedata.normalize("NFKC", f"{title}\n{short}")


def _has_clause(pattern: re.Pattern[str], text: str, *, unless: re.Pattern[str]) -> bool:
    """Return whether a clause of *text* matches *pattern* without a word of *unless* before it."""
    for clause in _CLAUSE.split(text):
        match = pattern.search(clause)
        if match and not unless.search(clause, 0, match.start()):
            return True
    return False
