"""Decide whether a candidate contradicts a record: the two cannot both hold.

Precision before recall: a false contradiction opens a review that wastes a person's time. So every rule but the claims
asks that both sides speak of the same thing in the same words (as far as `statement` can tell) and differ in one point.
What is worded freely is compared by `free_wording`.
"""

from __future__ import annotations

import re
import unicodedata

from kb.i18n import Message, msg
from kb.records.kinds import KINDS, RULING
from kb.records.model import LIVE, Candidate, Record
from kb.similarity.clauses import build_profile
from kb.similarity.free_wording import (
    READ,
    Difference,
    are_amounts_exclusive,
    find_loose_difference,
    is_duty_exclusive,
    is_worth_comparing,
    sets_other_amount,
)
from kb.similarity.lexicon import UNITS, are_opposites, are_rivals, find_implied_words
from kb.similarity.stance import OPPOSED, find_opposition, parse_stance, score_subject
from kb.similarity.statement import Choice, Statement, is_order_swapped, parse_statement, parse_titled_statement
from kb.similarity.subject import name_alternatives
from kb.similarity.tokens import split_plain_sentences
from kb.startup.lazy_regex import regex, regex_rows
from kb.text.segment import clip

SENTENCES = 6  # Sentences of a decision that are compared; the first ones say what was decided
SHOWN = 120  # Characters of a sentence that a reason quotes

_ANSWERS = frozenset(kind.name for kind in KINDS if kind.contradicts_as == "answer")

_CHANGE = regex_rows(
    (
        ("从", "由"),
        r"(?:从|由)\s?(?P<before>[^，。；,;]{1,16}?)\s?"
        r"(?:提高|提升|上调|下调|收紧|放宽|升级?|降低?|调整?|改|换|切换?|迁移?|增加?|缩短?|减少?|延长)"
        r"(?:到|至|成|为)\s?(?P<after>[^，。；,;]{1,16})",
    ),
    (
        (" from ",),
        r"\b(?:rais|lower|increas|decreas|reduc|chang|widen|tighten|mov|migrat|switch|upgrad|went|go|goes|cut)"
        r"(?:e|es|ed|s|d|ing)?\b"
        r"[^,.;]{0,40}? from (?P<before>[^,.;]{1,30}?) to (?P<after>[^,;]{1,30}?)(?=[,;]|\.\s|\.?$)",
    ),
    flags=re.IGNORECASE,
)
"""“从 1 万行提高到 10 万行”, “goes up from 70 to 80 %”: the candidate says itself what it changes, and into what."""
_UPDATING = regex(
    r"\b(?:no longer|from now on|from this release on|instead of|as well|besides|in addition|except"
    r"|exempt(?:s|ed|ion)?|takes over"
    r"|replac(?:e|es|ed|ing)|is now|are now|can now|now be)\b"
    r"|不再|改为|改成|换成|提高到|收紧|放宽|降到|调整为|升级到|迁到|例外|除外|之外|另外|新增|增加",
    re.IGNORECASE,
)
# One side of each pair narrows or parts what the other says of all, or holds together: "on every pull request", "runs
# only at night"; "in one repository", "are split".
_APART = (
    (
        regex(r"\bonly\b|只|仅", re.IGNORECASE),
        regex(r"\b(?:every|each|all|any|both|also|even)\b|所有|全部|每|任何|都|也|均|一律|不区分", re.IGNORECASE),
    ),
    (
        regex(r"\b(?:split|separate(?:ly)?|apart)\b|拆分|分开|各自", re.IGNORECASE),
        regex(r"\b(?:one|single|same|together)\b|同一|统一|一个|合并", re.IGNORECASE),
    ),
)
_ALL = regex(r"\b(?:all|every|each|any)\b|所有|全部|任何|每个|一切", re.IGNORECASE)
_CHOOSING = frozenset({"use", "as", "as the", "is", "in", "for", "to"})
_CLAIM_NUMBER = regex(r"(-?\d+(?:\.\d+)?)\s*([^\d\s]*)")


def find_contradiction(candidate: Candidate, record: Record) -> Message | None:
    """Return why *candidate* and *record* cannot both hold, or None."""
    return find_literal_contradiction(candidate, record) or find_free_contradiction(candidate, record)


def find_literal_contradiction(candidate: Candidate, record: Record) -> Message | None:
    """Return why *candidate* and *record* cannot both hold as far as they use the same words, or None.

    Only a live record of the same scope can be contradicted (the caller has set `candidate.scope`), and none that the
    candidate replaces or that one of the two says it coexists with.
    """
    if not can_contradict(candidate, record):
        return None
    theirs = {_normalise_text(key): value for key, value in record.claims.items()}
    for key, value in candidate.claims.items():
        old = theirs.get(_normalise_text(key))
        if old is not None and normalise_claim(old) != normalise_claim(value):
            return msg(
                "[{id}] claims {key} = {old}; this claims {new}", id=record.scoped_id, key=key, old=old, new=value
            )
    is_answer = candidate.kind == record.kind and candidate.kind in _ANSWERS
    if not (is_answer or {candidate.kind, record.kind} <= RULING) or _is_word_for_word(candidate, record):
        return None
    shares_paths = _has_common_path(candidate.impact, record.impact)
    mine, its = parse_statement(candidate.title), parse_statement(record.title)
    if is_answer and set(mine.terms) != set(its.terms):
        return None  # two questions rule nothing out; two answers to one question may
    found = None if is_answer else find_difference(its, mine, shares_paths=shares_paths)
    # Titles that share all terms of the shorter but one: the decisions are compared as well, under their titles
    shared, shorter = len({*mine.terms} & {*its.terms}), min(len(mine.terms), len(its.terms))
    if found is None and (shares_paths or shared >= max(1, shorter - 1)):
        same_title = set(mine.terms) == set(its.terms)
        said = _list_statements(candidate.title, candidate.decision)
        differences = (
            find_difference(one, other, shares_paths=shares_paths, same_title=same_title)
            for one in _list_statements(record.title, record.section("decision"))
            for other in said
        )
        found = next(filter(None, differences), None)
    return _describe_difference(found, record.scoped_id) if found else None


def find_free_contradiction(candidate: Candidate, record: Record) -> Message | None:
    """Return the one point in which two decisions differ that are worded freely, or None."""
    decision = record.section("decision")
    if not (candidate.decision and decision and {candidate.kind, record.kind} <= RULING):
        return None
    if not can_contradict(candidate, record) or _is_word_for_word(candidate, record):
        return None
    if not is_worth_comparing(f"{candidate.title} {candidate.decision}", f"{record.title} {decision}"):
        return None
    found = _find_stated_change(f"{record.title} {decision}", candidate.decision)
    found = found or find_loose_difference((record.title, decision), (candidate.title, candidate.decision))
    found = found or _find_denial(record.title, decision, candidate)
    return _describe_difference(found, record.scoped_id) if found else None


def find_other_answer(candidate: Candidate, record: Record) -> Message | None:
    """Return why two records on one question answer it otherwise, or None: Kafka and SQS, 30 days and a year.

    That they are about one question is for the caller to know. Each chooses another alternative, or sets one amount of
    the same measure otherwise, in the same place.
    """
    if not {candidate.kind, record.kind} <= RULING:
        return None
    decision = record.section("decision")
    old, new = parse_stance(record.title, decision), parse_stance(candidate.title, candidate.decision)
    if name_alternatives(new.affirmed_text, old.affirmed_text, strictly=True):
        return _describe_difference(Difference("choice", decision, candidate.decision), record.scoped_id)
    if sets_other_amount(build_profile(record.title, decision), build_profile(candidate.title, candidate.decision)):
        return _describe_difference(Difference("number", decision, candidate.decision), record.scoped_id)
    return None


def _is_word_for_word(candidate: Candidate, record: Record) -> bool:
    """Return whether both say the same words: “30 days, not 90 days” has two numbers and contradicts no copy of it."""
    pairs = ((candidate.title, record.title), (candidate.decision, record.section("decision")))
    return all(_normalise_text(one) == _normalise_text(other) for one, other in pairs)


def _find_stated_change(old: str, new: str) -> Difference | None:
    """Return what *new* says it changes of *old*: that has the value it comes from, and not the one it goes to."""
    said = _normalise_text(old)
    for match in _CHANGE.finditer(new[:READ]):
        before, after = (_normalise_text(match[side]) for side in ("before", "after"))
        if len(before) > 1 and _has_word(said, before) and not _has_word(said, after):
            return Difference("number" if before[0].isdigit() else "choice", old, new)
    return None


def _has_word(text: str, word: str) -> bool:
    """Return whether *word* occurs in *text*, no letter or digit of the same script right beside it."""
    at = text.find(word)
    around = text[at - 1 : at] + word[0], word[-1] + text[at + len(word) : at + len(word) + 1]
    return at >= 0 and not any(len(pair) == 2 and pair.isascii() and pair.isalnum() for pair in around)


def has_word_of_change(candidate: Candidate, record: Record) -> bool:
    """Return whether *candidate* has a word of change that *record* has not: then it does not say the same again.

    "can now log in by passkey", 不再要求登录, 改为至少 12 位: it adds to, narrows or changes what held. Neither do two
    say the same of which one speaks of all, and the other of some only.
    """
    new, old = f"{candidate.title} {candidate.decision}", f"{record.title} {record.section('decision')}"
    for narrow, wide in _APART:
        for one, other in ((new, old), (old, new)):
            if narrow.search(one) and not narrow.search(other) and wide.search(other) and not wide.search(one):
                return True
    return bool({one.casefold() for one in _UPDATING.findall(new)} - {one.casefold() for one in _UPDATING.findall(old)})


def has_opposite_word(candidate: Candidate, record: Record) -> bool:
    """Return whether one of two records that look the same turns down what the other affirms."""
    old, new = parse_stance(record.title, record.section("decision")), parse_stance(candidate.title, candidate.decision)
    return find_opposition(old, new, loose=True) is not None


def _find_denial(title: str, decision: str, candidate: Candidate) -> Difference | None:
    """Return what one of two records on one subject turns down and the other is about, whatever else they say."""
    old, new = parse_stance(title, decision), parse_stance(candidate.title, candidate.decision)
    if score_subject(old, new) < OPPOSED or not (found := find_opposition(old, new)):
        return None
    return Difference("duty", *((title, found.denial) if found.is_by_new else (found.denial, candidate.title)))


def can_contradict(candidate: Candidate, record: Record) -> bool:
    """Return whether both could hold one thing, and neither says how they stand to each other."""
    names = {record.id, f"[{record.id}]", record.uid, record.scope.removeprefix("project/") + ":" + record.id} - {""}
    named = {*candidate.supersedes, *candidate.amends, *candidate.coexists_with, candidate.updates}
    is_declared = names & named or (candidate.updates and candidate.updates in record.coexists_with)
    return record.status in LIVE and record.scope == candidate.scope and not is_declared


def _list_statements(title: str, decision: str) -> list[Statement]:
    """Return what a record states: its title, then each of the first sentences of its decision under that title."""
    sentences = split_plain_sentences(decision)[:SENTENCES]
    return [parse_statement(title), *(parse_titled_statement(title, sentence) for sentence in sentences)]


def _describe_difference(found: Difference, record_id: str) -> Message:
    old, new = clip(found.old, SHOWN), clip(found.new, SHOWN)
    if found.point == "duty":
        return msg("“{new}” says the opposite of “{old}” in [{id}]", new=new, old=old, id=record_id)
    if found.point == "number":
        return msg("“{new}” changes a number of “{old}” in [{id}]", new=new, old=old, id=record_id)
    if found.point == "rejection":
        return msg("“{new}” turns down what “{old}” in [{id}] chose", new=new, old=old, id=record_id)
    return msg("“{new}” chooses otherwise than “{old}” in [{id}]", new=new, old=old, id=record_id)


# -- claims and paths -----------------------------------------------------------------------------


def normalise_claim(value: str) -> str:
    """Return *value* for comparison: case, width and spaces do not count, 90 days equal 90 天 and 90.0 equals 90."""
    plain = _normalise_text(value)
    number = _CLAIM_NUMBER.fullmatch(plain.replace(",", ""))
    if not number or (number[2] and number[2] not in UNITS):
        return plain
    measure, factor = UNITS.get(number[2], ("", 1.0))
    return f"{float(number[1]) * factor:.10g} {measure}".strip()


def _normalise_text(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).strip("\"'`“”‘’ ").rstrip(".。")


def _has_common_path(one: tuple[str, ...], other: tuple[str, ...]) -> bool:
    """Return whether both name the same path, or one a folder (not the top one) that holds the other's."""
    mine, theirs = (
        {path.replace("\\", "/").removeprefix("./").rstrip("/*").strip(".") for path in paths} - {""}
        for paths in (one, other)
    )
    pairs = [pair for a in mine for b in theirs for pair in ((a, b), (b, a))]
    return any(a == b or ("/" in a and b.startswith(a + "/")) for a, b in pairs)


# -- statements -----------------------------------------------------------------------------------


def find_difference(
    old: Statement, new: Statement, *, shares_paths: bool = False, same_title: bool = False
) -> Difference | None:
    """Return the one point in which two statements cannot both hold, or None.

    With *shares_paths* (both records name one path) one side may say a word more. Under the *same_title* a denial may
    say less than what it denies.
    """
    # "in production" and "on staging", 生产环境 and 预发环境; phase 1 and phase 2, 第 1 阶段 and 第 2 阶段: both hold
    labels, others = ({number.text for number in each.numbers if not number.is_setting} for each in (old, new))
    if old.places != new.places or labels != others:
        return None
    adds = {"also", "besides"} & (old.marks | new.marks)  # "support MySQL", "also use Flask", 新增 MySQL 驱动
    is_same_subject = _is_same_subject(old, new, shares_paths)

    # "Use an ORM" / "Do not use an ORM", 启用接口压缩 / 接口压缩已停用
    is_opposed = is_duty_exclusive(old, new) and (old.is_explicit or new.is_explicit)
    is_whole = is_same_subject and old.amounts == new.amounts
    if is_opposed and (is_whole or (same_title and _is_full_denial(old, new)) or _is_exempted(old, new)):
        return Difference("duty", old.text, new.text)
    # "Use Python 3.11" / "Use Python 3.12", 退款窗口 30 天 / 退款窗口 90 天
    is_changed = not adds and old.duty == new.duty and are_amounts_exclusive(old.numbers, new.numbers)
    if is_changed and is_same_subject:
        return Difference("number", old.text, new.text)
    # "Indent with tabs" / "Indent with spaces", 删除用户采用软删除 / 删除用户采用物理删除
    if not adds and _is_word_exchanged(old, new):
        return Difference("choice", old.text, new.text)
    if adds or old.choice is None or new.choice is None:
        return None
    # "Kafka over RabbitMQ for events" / "RabbitMQ for events", 用 pnpm 代替 npm / 使用 npm
    for chosen, other in ((old.choice, new.choice), (new.choice, old.choice)):
        if chosen.picked & other.rejected and (not other.role or _is_same_role(chosen, other)):
            return Difference("rejection", old.text, new.text)
    # "Use FastAPI as the backend framework" / "Use Flask as backend framework", 数据库选 PostgreSQL / 数据库选 MySQL
    if set(old.terms) != set(new.terms) and _are_choices_exclusive(old.choice, new.choice, shares_paths):
        return Difference("choice", old.text, new.text)
    return None


def _is_same_subject(old: Statement, new: Statement, shares_paths: bool) -> bool:
    """Return whether both speak of the same things in the same roles; shared paths excuse one word more on one side."""
    mine, theirs = set(new.terms), set(old.terms)
    if not mine or ("except" in old.marks) != ("except" in new.marks):
        return False
    if mine == theirs:
        return not is_order_swapped(old, new)
    return shares_paths and (mine < theirs or theirs < mine) and len(mine ^ theirs) == 1 and len(mine & theirs) >= 2


def _is_full_denial(one: Statement, other: Statement) -> bool:
    """Return whether the denial says no more than what it denies; one that says more is about a part of it."""
    denial, denied = (one, other) if one.duty in ("must not", "need not") else (other, one)
    if "except" in denial.marks | denied.marks or not set(denial.amounts) <= set(denied.amounts):
        return False
    return set(denial.terms) < set(denied.terms) or denial.terms == denied.terms


def _is_exempted(one: Statement, other: Statement) -> bool:
    """Return whether one binds all of a sort, and the other exempts a part: 所有接口必须鉴权 / 内部接口不需要鉴权."""
    rule, exempt = (one, other) if len(one.terms) < len(other.terms) else (other, one)
    return (
        rule.is_explicit
        and exempt.is_explicit
        and (rule.duty, exempt.duty) in (("must", "need not"), ("must", "must not"))
        and _ALL.search(rule.text) is not None
        and not ({"except"} & (rule.marks | exempt.marks))
        and rule.amounts == exempt.amounts
        and len(rule.terms) > 1
        and set(rule.terms) < set(exempt.terms)
        and len(exempt.terms) - len(rule.terms) == 1
    )


def _is_word_exchanged(old: Statement, new: Statement) -> bool:
    """Return whether both are the same but for one word against its rival or its opposite."""
    gone, come = [t for t in old.terms if t not in new.terms], [t for t in new.terms if t not in old.terms]
    if len(gone) != 1 or len(come) != 1 or len(old.terms) < 2 or (old.duty, new.duty) != ("must", "must"):
        return False
    is_rival = are_rivals(gone[0], come[0]) and _CHOOSING & old.marks & new.marks
    return old.amounts == new.amounts and bool(is_rival or are_opposites(gone[0], come[0]))


def _is_same_role(one: Choice, other: Choice) -> bool:
    """Return whether two choices fill one role; what only says of what sort a thing is (a database) counts not."""
    names = one.picked | other.picked | one.rejected | other.rejected
    implied = {word for name in names for word in find_implied_words(name)}
    return one.role - implied == other.role - implied


def _are_choices_exclusive(old: Choice, new: Choice, shares_paths: bool) -> bool:
    """Return whether two picks for one role leave no room for each other.

    Shared paths let one role say more than the other ("orders", "orders storage"); where each names what the other does
    not ("invoices storage", "sessions storage"), one file may well hold both.
    """
    pairs = [(a, b) for a in old.picked for b in new.picked]
    # "PostgreSQL" and "PostgreSQL with PgBouncer": one describes the other more closely
    if not pairs or any(set(a.split()) <= set(b.split()) or set(b.split()) <= set(a.split()) for a, b in pairs):
        return False
    if any(are_rivals(a, b) or are_opposites(a, b) for a, b in pairs):
        return _is_same_role(old, new) or (shares_paths and (old.role <= new.role or new.role <= old.role))
    if old.role != new.role or not old.role or not (old.slot and new.slot):
        return False
    return (old.are_names and new.are_names) or old.slot == new.slot == "any"
