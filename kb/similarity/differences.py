"""Find the one point in which two texts of one subject cannot both hold: a duty, a number, a choice.

`find_difference` compares two statements strictly: all that both say but this point must be the same.
`find_loose_difference` lays the clauses of two freely worded records beside each other: what neither shares with the
other record at all must stand in one place on each side; where they differ in two places they speak of two things.
Which duties, numbers and words exclude each other is said once, for both.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from kb.similarity.choice import Choice
from kb.similarity.lexicon import (
    OPPOSITE_OF,
    PLACES,
    RIVAL_ROWS,
    are_opposites,
    are_rivals,
    find_implied_words,
    loose_opposites,
)
from kb.similarity.statement import Clause, Profile, Statement, weigh_word
from kb.similarity.statement_words import Word
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple

SUBJECT = 2.0
"""What the words must weigh at least that two clauses share."""

AGREED = 0.4
"""Share of what either decides that the other must tell of, but for the point in which they differ."""

READ = 600
"""Characters of a text that decide whether it is worth comparing."""

NEAR = 0.16
"""Share of the prefixes of the shorter text that the other must have; nineteen in twenty strangers have less."""

_PREFIX = regex(r"(?<![a-z0-9])[a-z][a-z0-9]{3}")
_UNSPACED = regex("[^\x00-\u2e7f]+")

_EXCLUSIVE_DUTIES = (
    frozenset({"must", "must not"}),  # Logs must be masked / must not be masked, 日志必须脱敏 / 日志禁止脱敏
    frozenset({"must", "need not"}),  # Logs must be masked / need not be masked, 日志必须脱敏 / 日志不必脱敏
    frozenset({"may", "must not"}),  # Guests may post / may not post, 可以在预发库执行 / 不要在预发库执行
)
_CHOOSING = frozenset({"use", "as", "as the", "is", "in", "for", "to"})
_DIRECTED = frozenset({"order", "from", "over"})
"""Marks beside which the order of the words counts: "masked before stored" is not "stored before masked"."""


class Difference(NamedTuple):
    """Two texts that cannot both hold."""

    point: str
    """duty, number, choice, or rejection: a choice that the other expressly turns down."""
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
    pairs = ("".join(pair) for run in _UNSPACED.findall(folded) for pair in pairwise(run))
    return frozenset((*_PREFIX.findall(folded), *pairs))


def have_exclusive_duties(one: Statement | Clause, other: Statement | Clause) -> bool:
    """Return whether one obliges to what the other forbids or leaves open."""
    return frozenset({one.duty, other.duty}) in _EXCLUSIVE_DUTIES


def have_exclusive_amounts(old: Sequence[Word], new: Sequence[Word]) -> bool:
    """Return whether two rows of numbers set the same things otherwise: 30 days and 90 days, 8000 端口 and 8001 端口.

    They do not where a number measures something else (30 days, 30 MB) or belongs to a name (阶段 1, CentOS 7).
    """
    pairs = list(zip(old, new, strict=False)) if len(old) == len(new) else []
    changed = [(a, b) for a, b in pairs if (a.text, a.unit) != (b.text, b.unit)]
    return bool(changed) and all(a.unit == b.unit and a.is_setting and b.is_setting for a, b in changed)


# -- statements -----------------------------------------------------------------------------------


def find_difference(
    old: Statement, new: Statement, *, shares_paths: bool = False, same_title: bool = False
) -> Difference | None:
    """Return the one point in which two statements cannot both hold, or None.

    With *shares_paths* (both records name one path) one side may say a word more. Under the *same_title* a denial may
    say less than what it denies.
    """
    # "in production" and "on staging", 生产环境 and 预发环境; phase 1 and phase 2, 第 1 阶段 and 第 2 阶段: both hold
    if old.places != new.places or _collect_labels(old) != _collect_labels(new):
        return None
    adds = {"also", "besides"} & (old.marks | new.marks)  # "support MySQL", "also use Flask", 新增 MySQL 驱动

    # "Use an ORM" / "Do not use an ORM", 启用接口压缩 / 接口压缩已停用
    if have_exclusive_duties(old, new) and (old.is_explicit or new.is_explicit):
        is_same = list_amounts(old) == list_amounts(new) and _is_same_subject(old, new, shares_paths)
        if is_same or (same_title and _is_full_denial(old, new)):
            return Difference("duty", old.text, new.text)
    # "Use Python 3.11" / "Use Python 3.12", 退款窗口 30 天 / 退款窗口 90 天
    is_changed = not adds and old.duty == new.duty and have_exclusive_amounts(old.numbers, new.numbers)
    if is_changed and _is_same_subject(old, new, shares_paths):
        return Difference("number", old.text, new.text)
    # "Indent with tabs" / "Indent with spaces", 删除用户采用软删除 / 删除用户采用物理删除
    if not adds and _is_word_exchanged(old, new):
        return Difference("choice", old.text, new.text)
    if adds or old.choice is None or new.choice is None:
        return None
    # "Kafka over RabbitMQ for events" / "RabbitMQ for events", 用 pnpm 代替 npm / 使用 npm
    if _is_choice_rejected(old.choice, new.choice) or _is_choice_rejected(new.choice, old.choice):
        return Difference("rejection", old.text, new.text)
    # "Use FastAPI as the backend framework" / "Use Flask as backend framework", 数据库选 PostgreSQL / 数据库选 MySQL
    if set(old.terms) != set(new.terms) and _are_choices_exclusive(old.choice, new.choice, shares_paths):
        return Difference("choice", old.text, new.text)
    return None


def list_amounts(one: Statement) -> list[tuple[str, str]]:
    """Return the numbers of *one* with what they measure, sorted."""
    return sorted((number.text, number.unit) for number in one.numbers)


def _collect_labels(one: Statement) -> set[str]:
    """Return the numbers that belong to names."""
    return {number.text for number in one.numbers if not number.is_setting}


def _is_same_subject(old: Statement, new: Statement, shares_paths: bool) -> bool:
    """Return whether both speak of the same things in the same roles; shared paths excuse one word more on one side."""
    mine, theirs = set(new.terms), set(old.terms)
    if not mine or ("except" in old.marks) != ("except" in new.marks):
        return False
    if mine == theirs:
        return old.terms == new.terms or not _DIRECTED & (old.marks | new.marks)
    return shares_paths and (mine < theirs or theirs < mine) and len(mine ^ theirs) == 1 and len(mine & theirs) >= 2


def _is_full_denial(one: Statement, other: Statement) -> bool:
    """Return whether the denial says no more than what it denies; one that says more is about a part of it."""
    denial, denied = (one, other) if one.duty in ("must not", "need not") else (other, one)
    if "except" in denial.marks | denied.marks or not set(list_amounts(denial)) <= set(list_amounts(denied)):
        return False
    return set(denial.terms) < set(denied.terms) or denial.terms == denied.terms


def _is_word_exchanged(old: Statement, new: Statement) -> bool:
    """Return whether both are the same but for one word against its rival or its opposite."""
    gone, come = [t for t in old.terms if t not in new.terms], [t for t in new.terms if t not in old.terms]
    if len(gone) != 1 or len(come) != 1 or len(old.terms) < 2 or (old.duty, new.duty) != ("must", "must"):
        return False
    if list_amounts(old) != list_amounts(new):
        return False
    if are_opposites(gone[0], come[0]):
        return True
    return are_rivals(gone[0], come[0]) and bool(_CHOOSING & old.marks & new.marks)


def _is_choice_rejected(chosen: Choice, other: Choice) -> bool:
    """Return whether *other* turns down for the same role, or for every role, what is *chosen*."""
    return bool(chosen.picked & other.rejected) and (not other.role or _is_same_role(chosen, other))


def _is_same_role(one: Choice, other: Choice) -> bool:
    """Return whether two choices fill one role; what only says of what sort a thing is (a database) counts not."""
    names = one.picked | other.picked | one.rejected | other.rejected
    implied = {word for name in names for word in find_implied_words(name)}
    return one.role == other.role or one.role - implied == other.role - implied


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


# -- clauses --------------------------------------------------------------------------------------


def find_loose_difference(old: Profile, new: Profile) -> Difference | None:
    """Return the first point in which two records of one subject differ, or None."""
    for mine in new.core:
        for theirs in old.core:
            found = _compare_clauses(mine, theirs, new, old) if mine.words and theirs.words else None
            if found is None:
                continue
            point, values = found
            if min(_compute_agreed_share(new, old, values), _compute_agreed_share(old, new, values)) >= AGREED:
                return Difference(point, theirs.text, mine.text)
    return None


def _compare_clauses(mine: Clause, theirs: Clause, new: Profile, old: Profile) -> tuple[str, set[str]] | None:
    """Return what two clauses differ in, and the words they say it by."""
    shared = _weigh_shared_words(mine, theirs)
    if shared < 1 or _collect_places(mine, new) != _collect_places(theirs, old):
        return None
    left, right = find_own_positions(mine, theirs, old), find_own_positions(theirs, mine, new)
    are_opposed = have_exclusive_duties(mine, theirs)
    # "Guests may post comments" / "Guests may not post comments", 用户评论必须审核后显示 / 用户评论无需审核
    if not left or not right:
        return ("duty", set()) if are_opposed and _is_denial(mine, theirs, left, right, new, old) else None
    # What differs must stand in one place: "Tests run under pytest" and "Tests run on SQLite" hold together
    if are_opposed or not (_is_contiguous(left) and _is_contiguous(right)):
        return None
    if shared < SUBJECT and not (is_fully_covered(mine, theirs, left) and is_fully_covered(theirs, mine, right)):
        return None
    a, b = [mine.words[i] for i in left], [theirs.words[i] for i in right]
    values = {word.text for word in (*a, *b)}
    # "locks itself after 5 minutes" / "after 2 minutes", 60 秒内 / 120 秒内; "at least 12" and "最多 128" hold together
    if all(word.mark == "number" for word in (*a, *b)):
        are_bounds_apart = mine.bound and theirs.bound and mine.bound != theirs.bound
        return ("number", values) if have_exclusive_amounts(b, a) and not are_bounds_apart else None
    if all(sum(bool(word.lead) for word in words) > 1 for words in (a, b)):
        return None
    # "Use X" and "do not use Y", 也支持 X: both hold
    is_denied = (mine.duty == "must not") != (theirs.duty == "must not")
    if is_denied or {"also", "besides", "support"} & (mine.marks | theirs.marks):
        return None
    # "delivered as WebP" / "delivered as AVIF", 通过 CUPS 完成 / 通过 Feie 完成
    are_ends = left[-1] == len(mine.words) - 1 and right[-1] == len(theirs.words) - 1
    if _are_values_exclusive(a, b, are_ends):
        return "choice", values
    # "Every member can edit" / "Only owners can edit", 所有人可以改 / 只有管理员可以改
    if _is_reserved(a, theirs) or _is_reserved(b, mine):
        return "choice", values
    # The heart of both records, said of where or how: "keys in a locker" / "in a drawer", 通过邮件发送 / 通过短信发送
    is_in_title = mine.text in (new.clauses[0].text, old.clauses[0].text)
    return ("choice", values) if not is_in_title and _is_core_value_changed(a, b, new, old) else None


def _compute_agreed_share(one: Profile, other: Profile, values: set[str]) -> float:
    """Return the share of what *one* decides that the *other* record tells of, the *values* that differ left out."""
    weights = {word.text: weigh_word(word) for clause in one.core for word in clause.words if word.mark != "number"}
    rest = {text: weight for text, weight in weights.items() if text not in values}
    return sum(weight for text, weight in rest.items() if text in other.words) / (sum(rest.values()) or 1)


def _weigh_shared_words(one: Clause, other: Clause) -> float:
    """Return what the words weigh that two clauses share, those of the sentences before them included."""
    weights = {word.text: weigh_word(word) for word in (*one.words, *other.words) if word.mark != "number"}
    shared = (one.texts | one.before) & (other.texts | other.before)
    return sum(weight for text, weight in weights.items() if text in shared)


def weigh_overlap(one: Clause, other: Clause) -> float:
    """Return what the words weigh that two clauses share themselves."""
    return _weigh_shared_words(one._replace(before=frozenset()), other._replace(before=frozenset()))


def _collect_places(clause: Clause, record: Profile) -> frozenset[str]:
    """Return where a clause holds: production is not staging."""
    return PLACES & (record.clauses[0].texts | clause.texts)


def find_own_positions(one: Clause, other: Clause, record: Profile) -> list[int]:
    """Return the positions in *one* of what neither *other* nor, unless it is a value, its *record* has."""
    there = {(word.text, word.unit) for word in other.words}
    return [
        position
        for position, word in enumerate(one.words)
        if (word.text, word.unit) not in there
        and (word.mark == "number" or word.text not in (record.affirmed if _is_value(word) else record.words))
    ]


def is_fully_covered(one: Clause, other: Clause, own: Sequence[int]) -> bool:
    """Return whether each word of *one* is its *own* or one of *other*."""
    return len(own) + sum(word.text in other.texts for word in one.words) >= len(one.words)


def _is_value(word: Word) -> bool:
    """Return whether *word* may be what is chosen: saying it of something else, or denying it, is not saying it."""
    return word.is_name or word.text in RIVAL_ROWS or word.text in OPPOSITE_OF or word.text in loose_opposites()


def _is_contiguous(positions: Sequence[int]) -> bool:
    return positions[-1] - positions[0] == len(positions) - 1


def _is_denial(
    mine: Clause, theirs: Clause, left: Sequence[int], right: Sequence[int], new: Profile, old: Profile
) -> bool:
    """Return whether one of two clauses denies all of what the other says; a denial of a part leaves the rest."""
    if ("except" in mine.marks) != ("except" in theirs.marks) or "without" in mine.marks | theirs.marks:
        return False
    denial, said, own, rest = mine, theirs, left, right
    if mine.duty != "must not" and theirs.duty != "must":
        denial, said, own, rest = theirs, mine, right, left
    shared = weigh_overlap(mine, theirs)
    # The denial says nothing of its own, and what it leaves out neither leads the clause nor weighs much
    if own or 0 in rest or not shared or any(word.mark == "number" and word.text == "0" for word in said.words):
        return False
    if sum(weigh_word(said.words[i]) for i in rest) > min(_weigh_shared_words(mine, theirs), SUBJECT):
        return False
    if 2 * shared < sum(weigh_word(word) for word in denial.words if word.mark != "number"):
        return False
    return not _is_stated_elsewhere(mine, old, shared) and not _is_stated_elsewhere(theirs, new, shared)


def _is_stated_elsewhere(clause: Clause, record: Profile, shared: float) -> bool:
    """Return whether *record* obliges to the same as *clause* elsewhere."""
    return clause.is_explicit and any(
        their.duty == clause.duty and their.is_explicit and weigh_overlap(clause, their) >= min(shared, SUBJECT)
        for their in record.clauses
    )


def _are_values_exclusive(one: Sequence[Word], other: Sequence[Word], are_ends: bool) -> bool:
    """Return whether what two clauses put into one place, or at their ends, leaves no room for both."""
    describes = [any(not _is_value(word) and word.mark != "number" for word in words) for words in (one, other)]
    if all(describes) and not are_ends:
        return False
    if any(are_opposites(a.text, b.text, loose=True) or are_rivals(a.text, b.text) for a in one for b in other):
        return True
    are_known = all(any(w.text in RIVAL_ROWS or w.text in OPPOSITE_OF for w in words) for words in (one, other))
    are_named = all(any(w.is_name or w.mark == "number" for w in words) for words in (one, other))
    return not are_known and are_named and _is_led(one[0]) and _is_led(other[0])


def _is_led(word: Word) -> bool:
    """Return whether *word* stands behind a word that leads a choice; behind "is" a word may be a verb."""
    return bool(word.lead) and (word.lead != "is" or word.is_name or word.mark == "number")


def _is_reserved(only: Sequence[Word], clause: Clause) -> bool:
    """Return whether one clause reserves for *only* these what another leaves to any."""
    return only[0].lead == "only" and (clause.is_open or clause.duty == "may")


def _is_core_value_changed(one: Sequence[Word], other: Sequence[Word], new: Profile, old: Profile) -> bool:
    """Return whether what two clauses put into one place is the heart of both records and says how or where."""
    if one[0].lead != other[0].lead or one[0].lead not in ("in", "by"):
        return False
    return any(word.text in new.stressed for word in one) and any(word.text in old.stressed for word in other)
