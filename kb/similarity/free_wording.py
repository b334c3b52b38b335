"""Compare two records that are worded freely: the one point in which they differ, or that they say the same.

The clauses of the two are laid beside each other. What neither shares with the other record at all must be in one
place on each side; where they differ in two places they speak of two things. To say the same, what both say must agree
by far, and nothing may speak against it: a wrong merge hides a decision in another one.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from kb.similarity.clauses import (
    NAME,
    SUBJECT,
    Clause,
    Profile,
    build_profile,
    find_own_positions,
    is_fully_covered,
    is_value,
    weigh_shared_words,
    weigh_word,
)
from kb.similarity.lexicon import OPPOSITE_OF, PLACES, RIVAL_ROWS, are_opposites, are_rivals
from kb.similarity.statement import SEQUENCE, Statement, is_order_swapped, parse_statement
from kb.similarity.tokens import Word
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

AGREED = 0.4  # Share of what either decides that the other must tell of, but for the point in which they differ
READ = 600  # Characters of a text that decide whether it is worth comparing

# Share of the prefixes of the shorter text that the other must have; nineteen in twenty strangers have less
NEAR = 0.16

# What must agree to be the same: of what both say, of what either says, of what either title says (this and what
# follows is chosen on the dev half of bench/pairs).
RETOLD, LEAST, NAMED = 0.55, 0.35, 0.25

APART = 0.65  # The share of what both say that must agree where one sign speaks against it

EVIDENCE = 2.75  # What the words and numbers that both have must weigh, times the share: less could be any two records
SHORT = 4  # Words of a denial that is about these words and not about what one of them does

_PREFIX = regex(r"(?<![a-z0-9])[a-z][a-z0-9]{3}")
_UNSPACED = regex("[^\x00-\u2e7f]+")

_EXCLUSIVE_DUTIES = (
    {"must", "must not"},  # Logs must be masked / must not be masked, 日志必须脱敏 / 日志禁止脱敏
    {"must", "need not"},  # Logs must be masked / need not be masked, 日志必须脱敏 / 日志不必脱敏
    {"may", "must not"},  # Guests may post / may not post, 可以在预发库执行 / 不要在预发库执行
)


class Difference(NamedTuple):
    """Two texts that cannot both hold."""

    point: str  # duty, number, choice, or rejection: a choice that the other expressly turns down
    old: str
    new: str


def is_worth_comparing(one: str, other: str) -> bool:
    """Return whether two texts may speak of the same.

    Most records near a candidate do not, and to read them clause by clause would cost more than all other rules.
    """
    mine, theirs = _collect_prefixes(one), _collect_prefixes(other)
    return len(mine & theirs) >= NEAR * max(min(len(mine), len(theirs)), 1)


def score_overlap(one: str, other: str) -> float:
    """Return the share of their prefixes that two texts have in common (0.0–1.0), for ranking."""
    mine, theirs = _collect_prefixes(one), _collect_prefixes(other)
    return 2 * len(mine & theirs) / (len(mine) + len(theirs) or 1)


@lru_cache(maxsize=1024)
def _collect_prefixes(text: str) -> frozenset[str]:
    """Return the first four letters of each longer word of *text*, and of Chinese each pair of characters."""
    folded = text[:READ].casefold()
    runs = _UNSPACED.findall(folded) if not folded.isascii() else ()
    pairs = ("".join(pair) for run in runs for pair in pairwise(run))
    return frozenset((*_PREFIX.findall(folded), *pairs))


def is_duty_exclusive(one: Statement | Clause, other: Statement | Clause) -> bool:
    """Return whether one obliges to what the other forbids or leaves open."""
    return {one.duty, other.duty} in _EXCLUSIVE_DUTIES


def are_amounts_exclusive(old: Sequence[Word], new: Sequence[Word]) -> bool:
    """Return whether two rows of numbers set the same things otherwise: 30 days and 90 days, 8000 端口 and 8001 端口.

    They do not where a number measures something else (30 days, 30 MB) or belongs to a name (阶段 1, CentOS 7).
    """
    pairs = list(zip(old, new, strict=False)) if len(old) == len(new) else []
    changed = [(a, b) for a, b in pairs if (a.text, a.unit) != (b.text, b.unit)]
    return bool(changed) and all(a.unit == b.unit and a.is_setting and b.is_setting for a, b in changed)


def sets_other_amount(old: Profile, new: Profile) -> bool:
    """Return whether each of two records sets one amount of a measure, not the same, in the same place: 30 s, 300 s."""
    # Production and staging, 优惠券到期 and 会员到期: what each is about of its own has an amount of its own
    if PLACES & old.words != PLACES & new.words or (stresses_more(old, new) and stresses_more(new, old)):
        return False
    theirs, mine = _collect_amounts(old), _collect_amounts(new)
    pairs = ((theirs[unit], mine[unit]) for unit in theirs.keys() & mine.keys())
    return any(
        len(a) == len(b) == 1 and a.keys() != b.keys() and not ({*a.values(), *b.values()} >= {"≤", "≥"})
        for a, b in pairs
    )


def _collect_amounts(record: Profile) -> dict[str, dict[str, str]]:
    """Return measure → the amounts of it that *record* names, each with what bounds it; what is counted has none."""
    found: dict[str, dict[str, str]] = {}
    for clause in record.clauses:
        for word in clause.words:
            if word.is_setting and word.unit in ("time", "bytes", "share"):  # in week 2 is no amount
                found.setdefault(word.unit, {})[word.text] = clause.bound
    return found


# -- the one point of difference ------------------------------------------------------------------


class _Side(NamedTuple):
    """A clause beside another record's, and what it alone says."""

    clause: Clause
    record: Profile
    own: Sequence[int]  # Positions of the words that the other record does not say

    @property
    def words(self) -> list[Word]:
        """The words at these positions."""
        return [self.clause.words[position] for position in self.own]


def find_loose_difference(old_texts: tuple[str, str], new_texts: tuple[str, str]) -> Difference | None:
    """Return the first point in which two records of one subject differ, or None; each is its title and decision."""
    old, new = build_profile(*old_texts), build_profile(*new_texts)
    old_places, new_places = PLACES & old.clauses[0].texts, PLACES & new.clauses[0].texts
    for mine in new.core:
        for theirs in old.core:
            # Production is not staging, 生产环境 is not 预发环境: a clause holds where its record or it says
            is_here = (new_places | PLACES & mine.texts) == (old_places | PLACES & theirs.texts)
            shared = weigh_shared_words(mine, theirs, with_sentence=True) if is_here else 0.0
            if shared < 1 or not mine.words or not theirs.words:
                continue
            left = _Side(mine, new, find_own_positions(mine, theirs, old))
            right = _Side(theirs, old, find_own_positions(theirs, mine, new))
            if point := _compare_sides(left, right, shared):
                values = {word.text for word in (*left.words, *right.words)} if point != "duty" else set()
                if min(_compute_told_share(new, old, values), _compute_told_share(old, new, values)) >= AGREED:
                    return Difference(point, theirs.text, mine.text)
    return None


def _compare_sides(left: _Side, right: _Side, shared: float) -> str:
    """Return the point in which two clauses differ, or ""; *shared*: what the words of their sentences weigh."""
    mine, theirs = left.clause, right.clause
    are_opposed = is_duty_exclusive(mine, theirs)
    # "Guests may post comments" / "Guests may not post comments", 用户评论必须审核后显示 / 用户评论无需审核
    if not left.own or not right.own:
        return "duty" if are_opposed and _is_denial(left, right, shared) else ""
    # What differs must be in one place: "Tests run under pytest" and "Tests run on SQLite" hold together
    if are_opposed or any(side.own[-1] - side.own[0] != len(side.own) - 1 for side in (left, right)):
        return ""
    covered = is_fully_covered(mine, theirs, left.own) and is_fully_covered(theirs, mine, right.own)
    if shared < SUBJECT and not covered:
        return ""
    a, b = left.words, right.words
    # "locks itself after 5 minutes" / "after 2 minutes", 60 秒内 / 120 秒内; "at least 12" and "最多 128" hold together
    if all(word.mark == "number" for word in (*a, *b)):
        are_bounds_apart = mine.bound and theirs.bound and mine.bound != theirs.bound
        return "number" if are_amounts_exclusive(b, a) and not are_bounds_apart else ""
    if all(sum(bool(word.lead) for word in words) > 1 for words in (a, b)):
        return ""
    # "Use X" and "do not use Y", 也支持 X: both hold
    is_denied = (mine.duty == "must not") != (theirs.duty == "must not")
    if is_denied or {"also", "besides", "support"} & (mine.marks | theirs.marks):
        return ""
    # "delivered as WebP" / "delivered as AVIF", 通过 CUPS 完成 / 通过 Feie 完成
    are_ends = all(side.own[-1] == len(side.clause.words) - 1 for side in (left, right))
    if _are_values_exclusive(a, b, are_ends):
        return "choice"
    # "Every member can edit" / "Only owners can edit", 所有人可以改 / 只有管理员可以改
    for words, other in ((a, theirs), (b, mine)):
        if words[0].lead == "only" and (other.is_open or other.duty == "may"):
            return "choice"
    # The heart of both records, said of where or how: "keys in a locker" / "in a drawer", 通过邮件发送 / 通过短信发送
    is_in_title = mine.text in (right.record.clauses[0].text, left.record.clauses[0].text)
    is_place = a[0].lead == b[0].lead and a[0].lead in ("in", "by")
    is_stressed = all(any(word.text in side.record.stressed for word in side.words) for side in (left, right))
    return "choice" if is_place and is_stressed and not is_in_title else ""


def _compute_told_share(one: Profile, other: Profile, values: set[str]) -> float:
    """Return the share of what *one* decides that the *other* record mentions, the *values* that differ left out."""
    weights = {word.text: weigh_word(word) for clause in one.core for word in clause.words if word.mark != "number"}
    rest = {text: weight for text, weight in weights.items() if text not in values}
    return sum(weight for text, weight in rest.items() if text in other.words) / (sum(rest.values()) or 1)


def _is_denial(left: _Side, right: _Side, shared_sentences: float) -> bool:
    """Return whether one of two clauses denies all of what the other says; a denial of a part leaves the rest."""
    marks = left.clause.marks | right.clause.marks
    if ("except" in left.clause.marks) != ("except" in right.clause.marks) or "without" in marks:
        return False
    denial, said = left, right
    if left.clause.duty != "must not" and right.clause.duty != "must":
        denial, said = right, left
    shared = weigh_shared_words(left.clause, right.clause)
    # The denial says nothing of its own, and what it leaves out neither leads the clause nor weighs much
    if denial.own or 0 in said.own or not shared:
        return False
    if any(word.mark == "number" and word.text == "0" for word in said.clause.words):
        return False
    if sum(map(weigh_word, said.words)) > min(shared_sentences, SUBJECT):
        return False
    if 2 * shared < sum(weigh_word(word) for word in denial.clause.words if word.mark != "number"):
        return False
    # Where a record obliges to the same elsewhere as the other's clause, both say it
    return not any(
        one.clause.is_explicit
        and their.is_explicit
        and their.duty == one.clause.duty
        and weigh_shared_words(one.clause, their) >= min(shared, SUBJECT)
        for one, other in ((left, right), (right, left))
        for their in other.record.clauses
    )


def _are_values_exclusive(one: Sequence[Word], other: Sequence[Word], are_ends: bool) -> bool:
    """Return whether what two clauses put into one place, or at their ends, leaves no room for both."""
    describes = [any(not is_value(word) and word.mark != "number" for word in words) for words in (one, other)]
    if all(describes) and not are_ends:
        return False
    if any(are_opposites(a.text, b.text, loose=True) or are_rivals(a.text, b.text) for a in one for b in other):
        return True
    are_known = all(any(w.text in RIVAL_ROWS or w.text in OPPOSITE_OF for w in words) for words in (one, other))
    are_named = all(any(w.is_name or w.mark == "number" for w in words) for words in (one, other))
    # Both must follow a word that leads a choice; behind "is", 是 a word may be a verb
    firsts = (one[0], other[0])
    are_led = all(w.lead and (w.lead != "is" or w.is_name or w.mark == "number") for w in firsts)
    return not are_known and are_named and are_led


# -- the same in other words ----------------------------------------------------------------------


class ComparedText(NamedTuple):
    """What a record says."""

    title: str
    decision: str
    why: str


def compute_agreement(mine: ComparedText, theirs: ComparedText, *, rules: bool) -> float:
    """Return how much of what each of the two says the other says too; 0.0 where it is too little or something differs.

    Names, numbers and words of title and decision are weighed; the reason of the other may say them. Two that *rule*
    something must not do so in another place or by the opposite duty.
    """
    new, old = build_profile(mine.title, mine.decision), build_profile(theirs.title, theirs.decision)
    new_title, old_title = build_profile(mine.title, ""), build_profile(theirs.title, "")
    # 50 GB / 20 GB, 7 天 / 90 天; "Logs with Fluent Bit" / "Logs with Vector", Fluentd 采集日志 / Vector 采集日志
    if (new.numbers - old.numbers and old.numbers - new.numbers) or _has_different_names(new, old):
        return 0.0
    # "Android 9 or newer": a number in a title has to stand somewhere in the other record; one ("once", 一次) need not
    for title, other in ((new_title, old), (old_title, new)):
        if {amount for amount, _ in title.numbers} - {amount for amount, _ in other.numbers} - {"1"}:
            return 0.0
    if rules and _are_titles_contrary(mine.title, theirs.title):
        return 0.0
    shares = _compute_covered_share(new, old, theirs.why), _compute_covered_share(old, new, mine.why)
    named = _compute_covered_share(new_title, old, theirs.why), _compute_covered_share(old_title, new, mine.why)
    against, share = _count_differences(new, old), sum(shares) / 2
    if against > 1 or share < (APART if against else RETOLD) or min(shares) < LEAST or min(named) < NAMED:
        return 0.0
    common_numbers = new.numbers & old.numbers
    if not (common_numbers or new.names & old.names or max(named) == 1.0 or (share >= APART and not against)):
        return 0.0
    common = new.sum_weights(new.terms.keys() & old.terms.keys()) + NAME * len(common_numbers)
    return share if share * common >= EVIDENCE else 0.0


def _are_titles_contrary(one: str, other: str) -> bool:
    """Return whether one title allows or demands and the other denies, they hold in different places, or in turn."""
    a, b = parse_statement(one), parse_statement(other)
    denies = {"must not", "need not"} & {a.duty, b.duty} and len({*a.terms} & {*b.terms}) > 1
    # 先写缓存后写数据库 / 先写数据库后写缓存; "A over B in C" and "in C, A over B" say the same
    in_turn = SEQUENCE.search(one) and SEQUENCE.search(other) and is_order_swapped(a, b)
    return bool((denies and a.duty != b.duty) or (a.places ^ b.places) - {"test"} or in_turn)


def _has_different_names(one: Profile, other: Profile) -> bool:
    """Return whether each of two records names what the other does not, in its title or beside too few common names."""
    mine, theirs = one.names - other.words, other.names - one.words
    if not mine or not theirs:
        return False
    return bool(mine & one.title) or bool(theirs & other.title) or len(one.names & other.names) < len(mine | theirs)


def _compute_covered_share(one: Profile, other: Profile, why: str) -> float:
    """Return the share of what *one* says that the *other* says too, be it as its reason."""
    terms = other.terms.keys() | (build_profile("", why).terms.keys() if why else set())
    covered = one.sum_weights(one.terms.keys() & terms) + NAME * len(one.numbers & other.numbers)
    return covered / (sum(one.terms.values()) + NAME * len(one.numbers) or 1)


def _count_differences(new: Profile, old: Profile) -> int:
    """Return how many signs there are that two records speak of two things."""
    signs = 0
    for one, other in ((new, old), (old, new)):
        signs += stresses_more(one, other)
        # "Several replicas" / "a single replica", 多个 / 单个
        is_single = "single" in other.words or any(amount == "1" for amount, _ in other.numbers - one.numbers)
        signs += 2 * ("several" in one.words and "several" not in other.words and is_single)
        # "Every member can edit" / "Only owners can edit", 所有人可以改 / 只有管理员可以改
        is_open = any(clause.is_open and "except" not in clause.marks for clause in one.core)
        signs += 2 * (is_open and _is_restricting(other.core) and not _is_restricting(one.clauses))
    # "sequential" / "parallel", 明文 / 密文
    if any(are_opposites(a, b, loose=True) for a in new.words - old.words for b in old.words - new.words):
        signs += 2
    # "Invoices are exported at 03:00" / "Orders are exported at 03:00", 电子发票用 PDF / 电子合同用 PDF
    signs += _has_swapped_words(new.clauses[0], old.clauses[0], new, old) or any(
        _has_swapped_words(mine, theirs, new, old, is_twin=True) for mine in new.core for theirs in old.core
    )
    # One denies in short what the other says: "no retries" / "three retries", 不重试 / 重试三次
    return signs + any(_collect_denied_words(a) & b.affirmed for a, b in ((new, old), (old, new)))


def stresses_more(one: Profile, other: Profile) -> bool:
    """Return whether *one* says in title and decision what the *other* never says: 退货单 / 换货单."""
    return any(term.isascii() or not {*term} <= other.words for term in one.stressed - other.terms.keys())


def _is_restricting(clauses: Sequence[Clause]) -> bool:
    return any(word.lead == "only" for clause in clauses for word in clause.words)


def _collect_denied_words(record: Profile) -> frozenset[str]:
    """Return the words of short denials that *record* does not affirm elsewhere."""
    short = (clause for clause in record.clauses if clause.duty == "must not" and len(clause.words) <= SHORT)
    return frozenset(text for clause in short for text in clause.texts) - record.affirmed


def _has_swapped_words(mine: Clause, theirs: Clause, new: Profile, old: Profile, *, is_twin: bool = False) -> bool:
    """Return whether between the same neighbours each clause has a word that the other's record has not.

    With *is_twin*, the two clauses must be the same but for what is in one place.
    """
    left, right = find_own_positions(mine, theirs, old), find_own_positions(theirs, mine, new)
    covered = is_fully_covered(mine, theirs, left) and is_fully_covered(theirs, mine, right)
    if not left or not right or (is_twin and not covered) or weigh_shared_words(mine, theirs) < SUBJECT:
        return False
    return not _find_gap_neighbours(mine, left).isdisjoint(_find_gap_neighbours(theirs, right))


def _find_gap_neighbours(clause: Clause, positions: Sequence[int]) -> set[tuple[str, str]]:
    """Return the neighbours of each run at *positions* of a word or more; numbers are compared elsewhere."""
    texts = ["", *(word.text for word in clause.words), ""]
    own = [position for position in positions if clause.words[position].mark != "number"]
    starts = [position for position in own if position - 1 not in own]
    ends = [position + 1 for position in own if position + 1 not in own]
    runs = zip(starts, ends, strict=True)
    return {(texts[a], texts[b + 1]) for a, b in runs if sum(map(weigh_word, clause.words[a:b])) >= 1}
