"""Addresses: `agent://<who>/<type>/<category>/<id>`, another spelling of a scope, a kind, a tag and an id (ZCLAW-27).

`<who>` is global, a project, me (the user's own knowledge base), an agent, or a scope written out (`agent%2Fclaude`).
`<type>` is preference, knowledge, experience, session, or any kind. `<category>` is a tag or a domain. Each part is
percent-coded, so that 还款 方式 or a tag with a slash has an address. An address with a slash after it names what is
below it. The id alone finds a record: what is between may be left out, or be out of date.
"""

from __future__ import annotations

import re
from typing import NamedTuple
from urllib.parse import quote, unquote

from kb.errors import BadInput, UnknownId
from kb.hosts import HOSTS
from kb.i18n import Message, msg
from kb.index.database import Index
from kb.index.record_ids import find_record
from kb.index.schema import Filter
from kb.records.kinds import BY_NAME, BY_PREFIX, KINDS, find_kind
from kb.records.model import GLOBAL, SCOPE, Candidate, Record, list_field

SCHEME = "agent://"
ME = "me"
"""Who stands for the user's own knowledge base."""
SESSION = "session"
TYPES = {"preference": ("preference",), "knowledge": ("domain-note", "learning"), "experience": ("pitfall", "pattern")}
"""The types that are no kind of their own name: which kinds each has."""
_SPOKEN_TYPES = {"知识": "knowledge", "经验": "experience", "会话": SESSION, "sessions": SESSION}
_MOST_PARTS = 4
_PREFIXES = "|".join(sorted(BY_PREFIX, key=len, reverse=True))
_ID = re.compile(
    rf"(?:(?:{_PREFIXES})[0-9]{{3,9}}|[0-9A-HJKMNP-TV-Z]{{26}}|(?:LR|FR)-[0-9]{{8}}-[0-9]{{3,9}}|DK-.+)\Z",
    re.IGNORECASE,
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f\ufffd\ud800-\udfff]")
_SCOPE = re.compile(SCOPE)
_HALF_CODED = re.compile(r"%(?![0-9A-Fa-f]{2})")


class Address(NamedTuple):
    """What an address names; an empty part wants all."""

    who: str = ""
    type: str = ""
    """preference, knowledge, experience, session, the name of a kind, or with an id whatever was written."""
    category: str = ""
    id: str = ""


class Place(NamedTuple):
    """Where the records of an address are."""

    wanted: Filter
    agent: str = ""
    """The agent that had a hand in them, where the address names one that has no scope of its own."""


def is_address(text: str) -> bool:
    """Return whether *text* is meant as an address."""
    return text.startswith(SCHEME)


# -- text to address and back ---------------------------------------------------------------------


def parse_address(text: str) -> Address:
    """Return what the address *text* names; raise BadInput for what is none, as `agent://x/../y` is."""
    hint = msg("an address is agent://<who>/<type>/<category>/<id>, each part percent-coded")
    rest = text.removeprefix(SCHEME)
    if not is_address(text) or re.search(r"[?#\\]", rest) or _HALF_CODED.search(rest):
        raise BadInput(msg("{text} is not an address", text=text), hint=hint)
    is_folder = rest.endswith("/")
    parts = [_decode_part(part, text) for part in rest.removesuffix("/").split("/")] if rest.strip("/") else []
    if len(parts) > _MOST_PARTS:
        raise BadInput(msg("the address {text} has more than four parts", text=text), hint=hint)
    who, parts = (parts[0], parts[1:]) if parts else ("", [])
    kind = find_type(parts[0]) if parts else ""
    has_id = bool(parts) and not is_folder and (
        _ID.match(parts[-1]) is not None or len(parts) == _MOST_PARTS - 1 or (kind == SESSION and len(parts) > 1)
    )  # fmt: skip
    name = parts.pop() if has_id else ""
    if parts and not kind and not name:
        known = [*TYPES, SESSION, *(row.name for row in KINDS if row.name not in TYPES)]
        raise BadInput(msg("there is no type {name}; there are: {names}", name=parts[0], names=known))
    return Address(who, (kind or parts[0]) if parts else "", parts[1] if len(parts) > 1 else "", name)


def _decode_part(part: str, text: str) -> str:
    decoded = unquote(part)
    if not is_part(decoded):
        raise BadInput(msg("the address {text} has a part that names nothing: “{part}”", text=text, part=part))
    return decoded


def is_part(text: str) -> bool:
    """Return whether *text* can be a part of an address: something to see, and no way up or out of a folder."""
    return bool(text.strip()) and not _CONTROL.search(text) and not {".", ".."} & {*text.split("/")}


def format_address(address: Address) -> str:
    """Return *address* as text; what names no single record ends with a slash."""
    parts = [quote(part, safe="") for part in address if part]
    return SCHEME + "/".join(parts) + ("" if address.id or not parts else "/")


def find_type(word: str) -> str:
    """Return the type that *word* names: one of the four, or the kind of that name, prefix or Chinese label; or ""."""
    low = word.strip().lower()
    row = find_kind(low)
    kinds = (*TYPES, SESSION)
    return low if low in kinds else _SPOKEN_TYPES.get(low, "") or (row.name if row else "")


def list_type_kinds(name: str) -> tuple[str, ...]:
    """Return the kinds of the type *name*; none for sessions, and for what is no type."""
    return TYPES.get(name) or ((name,) if name in BY_NAME else ())


# -- addresses and records ------------------------------------------------------------------------


def build_address(record: Record) -> Address:
    """Return the address of *record* as it is now."""
    own = next((name for name, kinds in TYPES.items() if record.kind in kinds), record.kind)
    category = next(filter(is_part, list_categories(record)), "")
    return Address(name_scope(record.scope), own, category, record.id)


def name_scope(scope: str) -> str:
    """Return who stands for *scope* in an address."""
    name = scope.removeprefix("project/")
    return scope if "/" in name or (name in (ME, GLOBAL) and name != scope) else name


def list_categories(record: Record) -> list[str]:
    """Return the words under which *record* is filed: its domain, then its tags."""
    return [*list_field(record, "domain"), *record.tags]


def resolve_place(index: Index, address: Address) -> Place:
    """Return where the records of *address* are; for `me` in the user's own knowledge base, whose *index* is given."""
    scopes, agent = _resolve_who(index, address.who)
    return Place(Filter(list_type_kinds(address.type), scopes=scopes, category=address.category), agent)


def _resolve_who(index: Index, who: str) -> tuple[tuple[str, ...], str]:
    """Return the scopes that *who* names, or the agent."""
    if who in ("", ME):
        return (), ""
    if who == GLOBAL or "/" in who:
        return (who,), ""
    # what is an agent's own is found where it is named, and is in no count of all
    known = {*index.count_by_column("scope"), *index.count_by_column("scope", Filter(scopes=(f"agent/{who}",)))}
    scope = next((scope for scope in (f"project/{who}", f"agent/{who}", f"group/{who}") if scope in known), "")
    if not scope and who in HOSTS:
        return (), who
    return (scope or f"project/{who}",), ""


def find_addressed(index: Index, address: Address) -> tuple[Record, Message | None]:
    """Return the record that *address* names, and what to say where it stands elsewhere by now; raise UnknownId."""
    place = resolve_place(index, address)
    scope = place.wanted.scopes[0] if place.wanted.scopes else ""
    try:
        record = find_record(index, address.id, scope)
    except UnknownId:
        record = find_record(index, address.id)  # moved to another scope, where only one has the id
    is_there = (
        (not place.wanted.scopes or record.scope in place.wanted.scopes)
        and (not address.type or record.kind in list_type_kinds(address.type))
        and (not address.category or address.category in list_categories(record))
    )
    now = format_address(build_address(record))
    return record, None if is_there else msg("it has moved: {address}", address=now)


# -- writing at an address ------------------------------------------------------------------------


def parse_target(text: str) -> Address:
    """Return the address *text* to write at: of some scope and, where it names one, a kind; raise BadInput."""
    address = parse_address(text)
    if address.id or address.type == SESSION or not address.who:
        hint = msg("name whose it is, a kind, and a tag: agent://shop/decision/payments")
        raise BadInput(msg("nothing can be written at {address}", address=text), hint=hint)
    return address


def place_candidate(index: Index, candidate: Candidate, address: Address) -> Candidate:
    """Return *candidate* with the scope of *address* and its tag; raise BadInput where its kind belongs elsewhere."""
    kinds = list_type_kinds(address.type)
    if kinds and candidate.kind not in kinds:
        said = msg("a {kind} does not belong at {address}", kind=candidate.kind, address=format_address(address))
        raise BadInput(said, hint=msg("there belong: {kinds}", kinds=kinds))
    scopes, agent = _resolve_who(index, address.who)
    scope = GLOBAL if address.who == ME else scopes[0] if scopes else f"agent/{agent}"
    if not _SCOPE.fullmatch(scope):
        raise BadInput(msg("there is no scope {scope}", scope=scope), hint=msg("a scope is global or project/<name>"))
    own = (address.category,) if address.category and address.category not in candidate.tags else ()
    return candidate._replace(scope=scope, tags=(*own, *candidate.tags))
