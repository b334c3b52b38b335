"""Read what one sentence states: its words, its duty, its numbers, and what it chooses for what.

Two statements can then be compared piece by piece. Words are looked up, not understood.
"""

from __future__ import annotations

import re
from functools import lru_cache

from kb.similarity.lexicon import HOLDERS, PLACES, SLOTS
from kb.similarity.tokens import Word, tokenise
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple


class Choice(NamedTuple):
    """What a statement picks, for what, and what it turns down."""

    picked: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    role: frozenset[str] = frozenset()
    slot: str = ""  # "any": the role takes one thing; "names": one product; "": it may take several
    are_names: bool = False


class Statement(NamedTuple):
    """What one sentence states."""

    text: str
    words: tuple[Word, ...] = ()  # Those of the reason it gives included
    # The words that carry weight, in order, each once, one for all of a meaning; without numbers, units and reason
    terms: tuple[str, ...] = ()
    duty: str = "must"  # must, may, need not, must not; "" where the sentence says more than one
    is_explicit: bool = False
    numbers: tuple[Word, ...] = ()
    places: frozenset[str] = frozenset()
    marks: frozenset[str] = frozenset()
    choice: Choice | None = None

    @property
    def amounts(self) -> tuple[tuple[str, str], ...]:
        """The numbers with what they measure, sorted: 1 minute equals 60 秒."""
        return tuple(sorted((number.text, number.unit) for number in self.numbers))


_QUESTION_ENDS = ("?", "？", "吗", "呢")


@lru_cache(maxsize=4096)
def parse_statement(text: str) -> Statement:
    """Return what *text*, a title or one sentence, states; a question rules nothing."""
    said, reason = tokenise(text)
    terms = tuple(dict.fromkeys(word.text for word in said if word.mark in ("term", "undo")))
    duty, is_explicit = (
        ("", False) if text.rstrip().endswith(_QUESTION_ENDS) else resolve_duty([word.mark for word in said])
    )
    numbers = tuple(word for word in said if word.mark == "number")
    marks = frozenset(word.mark for word in said)
    choice = _parse_choice(said, duty)
    return Statement(text, (*said, *reason), terms, duty, is_explicit, numbers, PLACES & set(terms), marks, choice)


def parse_titled_statement(title: str, sentence: str) -> Statement:
    """Return what *sentence* states under *title*: the title says about what."""
    head, body = parse_statement(title), parse_statement(sentence)
    duty = body.duty if body.is_explicit else head.duty
    choice = body.choice
    # Where the sentence does not say for what, the title does: "Message broker", "Use Kafka."
    if head.choice is None and choice is None:
        choice = parse_statement(f"{title}: {sentence}").choice
    elif head.choice is None and choice and not choice.role:
        slot = _find_slot([Word("term", term) for term in head.terms])
        choice = choice._replace(role=frozenset(head.terms), slot=slot)
    return Statement(
        sentence,
        (),
        tuple(dict.fromkeys(head.terms + body.terms)),
        "" if head.is_explicit and head.duty != duty else duty,
        head.is_explicit or body.is_explicit,
        tuple(dict.fromkeys(head.numbers + body.numbers)),
        head.places | body.places,
        head.marks | body.marks,
        choice,
    )


_DIRECTED = frozenset({"order", "from", "over"})
SEQUENCE = regex(r"先.{1,60}?[后再]|\bfirst\b.{1,80}?\bthen\b", re.IGNORECASE)  # Steps that are told in turn


def has_order(statement: Statement) -> bool:
    """Return whether the order of its words counts: "masked before stored", 先写缓存后写数据库."""
    return bool(_DIRECTED & statement.marks) or SEQUENCE.search(statement.text) is not None


def is_order_swapped(one: Statement, other: Statement) -> bool:
    """Return whether both say the same words in another order, and the order counts."""
    is_same = one.terms == other.terms or set(one.terms) != set(other.terms)
    return not is_same and (has_order(one) or has_order(other))


# “Must not”, “may not”, 不得: what a "not" makes of a duty
_DENIED = {"must": "must not", "may": "must not", "need not": "must", "must not": "must"}
# “Must be disabled”, “may be disabled” (and need not be on), 可以停用
_TURNED_OFF = {"must": "must not", "must not": "must", "may": "need not", "need not": "may"}


def resolve_duty(marks: list[str]) -> tuple[str, bool]:
    """Return what words with *marks* oblige to, and whether they say so expressly; "" where they say two things."""
    said = {mark for mark in marks if mark in ("must", "may", "need not")}
    if len(said) > 1:
        return "", True
    duty = next(iter(said), "must")
    for mark in marks:
        if mark == "not":
            duty = _DENIED[duty]
        elif mark in ("off", "undo"):
            duty = _TURNED_OFF[duty]
    return duty, bool(said or {"not", "off", "on", "undo"} & {*marks})


# -- choices --------------------------------------------------------------------------------------

LONGEST_THING = 6  # Words of the longest thing that can be chosen; what is longer is a clause
LONGEST_NAME = 3  # Words of the longest name of a product

_NOTHING: frozenset[str] = frozenset()
# Stems of the verbs that precede "from A to B" and are no part of the role
_MOVING = frozenset({"migrat", "mov", "switch", "chang", "迁移", "切换", "迁", "移"})
# What one thing does for another, which leaves room for no second
_MADE = frozenset({"生成", "签发", "分配", "产生", "颁发", "托管", "维护"})
_MADE_BY = frozenset({"generat", "issu", "assign", "allocat", "host", "maintain", "sign"})
# Marks that part a choice from its role
_CUTS = frozenset({"use", "as", "as the", "for", "over", "is", "in", "to", "from", "comma", "order", "except"})


def _parse_choice(words: list[Word], duty: str) -> Choice | None:
    """Return what *words* choose, or None where they choose nothing that is certain."""
    # "also use Flask", "support MySQL", "may use Redis", 也用 Flask, 支持 MySQL, 可以用 Redis: nothing is ruled out
    if any(word.mark in ("also", "besides", "except", "may", "need not") for word in words):
        return None
    kept = [word for word in words if word.mark in _CUTS or word.mark in ("term", "and", "number")]
    found = _parse_migration(kept) or _parse_usage(kept) or _parse_assignment(kept)
    # "Do not use Redis for sessions", 会话不要用 Redis
    if found and duty == "must not":
        return Choice(rejected=found.picked, role=found.role)
    # "The default cache is Redis", 唯一的缓存是 Redis
    if found and found.role and any(word.mark == "sole" for word in words):
        found = found._replace(slot="any")
    return found if duty == "must" else None


def _split_at_cuts(words: list[Word]) -> list[tuple[str, list[Word]]]:
    """Return *words* cut before each mark of _CUTS, each piece with its mark; the first has none."""
    pieces: list[tuple[str, list[Word]]] = [("", [])]
    for word in words:
        if word.mark in _CUTS:
            pieces.append((word.mark, []))
        else:
            pieces[-1][1].append(word)
    return pieces


def _parse_migration(words: list[Word]) -> Choice | None:
    """Read "move Y from A to B", "Y 从 A 迁移到 B", "replace A with B"."""
    marks, parts = zip(*_split_at_cuts(words), strict=True)
    if "from" in marks:
        at = marks.index("from")
        after = next((i for i in range(at + 1, len(parts)) if marks[i] in ("to", "use")), 0)
        if not after or not parts[at] or not parts[after]:
            return None
        role = [word for part in parts[:at] + parts[after + 1 :] for word in part if word.text not in _MOVING]
        return _build_choice(parts[after], _collect_items(parts[at]), role, "names")
    if len(parts) > 1 and marks[1] in ("in", "use") and parts[0] and parts[0][0].text in ("replac", "replace"):
        role = [word for part in parts[2:] for word in part]
        return _build_choice(parts[1], _collect_items(parts[0][1:]), role, "names")
    return None


def _parse_usage(words: list[Word]) -> Choice | None:
    """Read "use X as Y", "use X over W for Y", "Y 采用 X", "用 X 替换 W 做 Y"."""
    at = next((i for i, word in enumerate(words) if word.mark == "use"), None)
    if at is None:
        return None
    before = [word for word in words[:at] if word.mark in ("term", "and")]
    (_, first), *tail = _split_at_cuts(words[at + 1 :])
    picked, rest = _split_name(first)
    rejected = _NOTHING
    role, slot = [*before, *rest], _find_slot(before or rest)
    for mark, part in tail:
        if mark == "comma":
            break
        if mark == "over":
            name, part = _split_name(part)
            rejected = _collect_items(name)
        elif mark in ("as", "as the"):
            slot = "any" if mark == "as the" else slot or _find_slot(part) or "names"
        elif mark == "for":
            slot = slot or _find_slot(part)
        role += part
    # "Use PostgreSQL database": the last word says for what
    if not slot and len(picked) > 1 and picked[0].is_name and (slot := _find_slot(picked[-1:])):
        picked, role = picked[:-1], [*role, picked[-1]]
    return _build_choice(picked, rejected, role, slot)


def _parse_assignment(words: list[Word]) -> Choice | None:
    """Read "X as Y", "Y: X", "Y is X", "X for Y", and "do Y in X"; "X 作为 Y", "Y 为 X"."""
    (_, first), *tail = _split_at_cuts(words)
    if not tail:
        return None
    (mark, second), (last_mark, last) = tail[0], tail[-1]
    behind = [word for _, part in tail for word in part]
    if mark in ("as", "as the"):
        return _build_choice(first, _NOTHING, behind, "any" if mark == "as the" else _find_slot(second) or "names")
    if mark == "is" and len(tail) == 1:
        return _build_choice(second, _NOTHING, first, _find_slot(first))
    # "订单号由数据库序列生成", "order ids are generated by a sequence": one thing makes it
    if last_mark == "from" and len(tail) == 1 and "".join(word.text for word in last[-2:]) in _MADE and first:
        return _build_choice(last[:-2], _NOTHING, [*first, *last[-2:]], "any")
    if mark == "is" and last_mark == "order" and len(tail) == 2 and second and second[-1].text in _MADE_BY and last:
        return _build_choice(last, _NOTHING, [*first, *second], "any")
    if mark == "for":
        return _build_choice(first, _NOTHING, behind, "names" if _find_slot(second) else "")
    if mark != "over" and last_mark in ("in", "to") and last and all(word.is_name for word in last):
        return _build_choice(last, _NOTHING, [*first, *behind[: -len(last)]], "")
    return None


def _build_choice(picked: list[Word], rejected: frozenset[str], role: list[Word], slot: str) -> Choice | None:
    """Return the choice; None where what is picked is nothing, or too long to be a thing."""
    things = [word for word in picked if word.mark == "term"]
    if not 0 < len(things) <= LONGEST_THING:
        return None
    are_names = all(word.is_name for word in things) and len(things) <= LONGEST_NAME
    return Choice(
        _collect_items(picked), rejected, frozenset(w.text for w in role if w.mark == "term"), slot, are_names
    )


def _collect_items(words: list[Word]) -> frozenset[str]:
    """Return the things *words* list, each as one phrase."""
    items: list[list[str]] = [[]]
    for word in words:
        if word.mark == "and":
            items.append([])
        elif word.mark == "term":
            items[-1].append(word.text)
    return frozenset(" ".join(item) for item in items if item)


def _split_name(words: list[Word]) -> tuple[list[Word], list[Word]]:
    """Part a name that is written in Latin letters from the Chinese that follows it: "Alembic 管理迁移"."""
    if not words or not words[0].text.isascii():
        return words, []
    end = next((at for at, word in enumerate(words) if not word.text.isascii() or word.mark == "comma"), len(words))
    return words[:end], words[end:]


def _find_slot(words: list[Word]) -> str:
    """Return what the last of *words* takes: "any" one thing, "names" one product, "" several."""
    terms = [word.text for word in words if word.mark == "term"]
    if {*terms[-1:], " ".join(terms[-2:])} & SLOTS:
        return "any"
    return "names" if terms and terms[-1] in HOLDERS else ""
