"""Read what a statement chooses, for what, and what it turns down."""

from __future__ import annotations

from kb.similarity.lexicon import HOLDERS, SLOTS
from kb.similarity.statement_words import Word
from kb.startup.namedtuple import NamedTuple


class Choice(NamedTuple):
    """What a statement picks, for what, and what it turns down."""

    picked: frozenset[str] = frozenset()
    rejected: frozenset[str] = frozenset()
    role: frozenset[str] = frozenset()
    slot: str = ""
    """"any": the role takes one thing; "names": one product; "": it may take several."""
    are_names: bool = False


LONGEST_THING = 6
"""Words of the longest thing that can be chosen; what is longer is a clause."""
LONGEST_NAME = 3
"""Words of the longest name of a product."""

_NOTHING: frozenset[str] = frozenset()
_MOVING = frozenset({"migrat", "mov", "switch", "chang", "迁移", "切换", "迁", "移"})
"""Stems of the verbs that stand before "from A to B" and are no part of the role."""
_CUTS = frozenset({"use", "as", "as the", "for", "over", "is", "in", "to", "from", "comma", "order", "except"})


def parse_choice(words: list[Word], duty: str) -> Choice | None:
    """Return what *words* choose, or None where they choose nothing that is certain."""
    # "also use Flask", "support MySQL", "may use Redis", 也用 Flask, 支持 MySQL, 可以用 Redis: nothing is ruled out
    if any(word.mark in ("also", "besides", "except", "may", "need not") for word in words):
        return None
    is_sole = any(word.mark == "sole" for word in words)
    words = [word for word in words if word.mark in _CUTS or word.mark in ("term", "and", "number")]
    found = _parse_migration(words) or _parse_usage(words) or _parse_assignment(words)
    if found is None:
        return None
    # "Do not use Redis for sessions", 会话不要用 Redis
    if duty == "must not":
        return Choice(rejected=found.picked, role=found.role) if found.picked else None
    # "The default cache is Redis", 唯一的缓存是 Redis
    if is_sole and found.role:
        found = found._replace(slot="any")
    return found if duty == "must" else None


def _split_at_marks(words: list[Word]) -> list[tuple[str, list[Word]]]:
    """Cut *words* at the marks that part a choice from its role."""
    pieces: list[tuple[str, list[Word]]] = [("", [])]
    for word in words:
        if word.mark in _CUTS:
            pieces.append((word.mark, []))
        else:
            pieces[-1][1].append(word)
    return pieces


def _parse_migration(words: list[Word]) -> Choice | None:
    """Read "move Y from A to B", "Y 从 A 迁移到 B", "replace A with B"."""
    pieces = _split_at_marks(words)
    marks = [mark for mark, _ in pieces]
    if "from" in marks:
        at = marks.index("from")
        after = next((i for i in range(at + 1, len(pieces)) if marks[i] in ("to", "use")), 0)
        if not after or not pieces[at][1] or not pieces[after][1]:
            return None
        role = [w for _, part in pieces[:at] + pieces[after + 1 :] for w in part if w.text not in _MOVING]
        return _build_choice(pieces[after][1], _collect_items(pieces[at][1]), role, "names")
    head = pieces[0][1]
    if head and head[0].text in ("replac", "replace") and len(pieces) > 1 and marks[1] in ("in", "use"):
        role = [word for _, part in pieces[2:] for word in part]
        return _build_choice(pieces[1][1], _collect_items(head[1:]), role, "names")
    return None


def _parse_usage(words: list[Word]) -> Choice | None:
    """Read "use X as Y", "use X over W for Y", "Y 采用 X", "用 X 替换 W 做 Y"."""
    at = next((i for i, word in enumerate(words) if word.mark == "use"), None)
    if at is None:
        return None
    before = [word for word in words[:at] if word.mark in ("term", "and")]
    (_, first), *tail = _split_at_marks(words[at + 1 :])
    picked, rest = _split_name(first)
    rejected = _NOTHING
    role, slot = [*before, *rest], find_slot(before or rest)
    for mark, part in tail:
        if mark == "comma":
            break
        if mark == "over":
            name, part = _split_name(part)
            rejected = _collect_items(name)
        elif mark in ("as", "as the"):
            slot = "any" if mark == "as the" else slot or find_slot(part) or "names"
        elif mark == "for" and part:
            slot = slot or find_slot(part)
        role += part
    # "Use PostgreSQL database": the last word says for what
    if not slot and len(picked) > 1 and picked[0].is_name and (slot := find_slot(picked[-1:])):
        picked, role = picked[:-1], [*role, picked[-1]]
    return _build_choice(picked, rejected, role, slot)


def _parse_assignment(words: list[Word]) -> Choice | None:
    """Read "X as Y", "Y: X", "Y is X", "X for Y", and "do Y in X"; "X 作为 Y", "Y 为 X"."""
    pieces = _split_at_marks(words)
    if len(pieces) < 2:
        return None
    first, (mark, second) = pieces[0][1], pieces[1]
    rest = [word for _, part in pieces[2:] for word in part]
    if mark in ("as", "as the"):
        slot = "any" if mark == "as the" else find_slot(second) or "names"
        return _build_choice(first, _NOTHING, second + rest, slot)
    if mark == "is" and len(pieces) == 2:
        return _build_choice(second, _NOTHING, first, find_slot(first))
    if mark == "for":
        return _build_choice(first, _NOTHING, second + rest, "names" if find_slot(second) else "")
    last_mark, last = pieces[-1]
    if mark != "over" and last_mark in ("in", "to") and last and all(word.is_name for word in last):
        return _build_choice(last, _NOTHING, [word for _, part in pieces[:-1] for word in part], "")
    return None


def _build_choice(picked: list[Word], rejected: frozenset[str], role: list[Word], slot: str) -> Choice | None:
    """Return the choice; None where what is picked is nothing, or too long to be a thing."""
    things = [word for word in picked if word.mark == "term"]
    if not 0 < len(things) <= LONGEST_THING:
        return None
    names = all(word.is_name for word in things) and len(things) <= LONGEST_NAME
    return Choice(_collect_items(picked), rejected, frozenset(w.text for w in role if w.mark == "term"), slot, names)


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
    end = next((i for i, word in enumerate(words) if not word.text.isascii() or word.mark == "comma"), len(words))
    if end == len(words):
        return words, []
    return words[:end], words[end:]


def find_slot(words: list[Word]) -> str:
    """Return what the last of *words* takes: "any" one thing, "names" one product, "" several."""
    terms = [word.text for word in words if word.mark == "term"]
    if not terms:
        return ""
    if terms[-1] in SLOTS or " ".join(terms[-2:]) in SLOTS:
        return "any"
    return "names" if terms[-1] in HOLDERS else ""
