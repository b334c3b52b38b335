"""Read the front matter of foreign decision records: YAML with slips, TOML, keys of any usual name, relations."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from kb.adr.adr_fields import name_field, parse_status
from kb.adr.adr_links import read_label
from kb.adr.adr_text import AdrLink, iter_references
from kb.errors import BadRecord
from kb.i18n import Message, msg
from kb.records.front_matter import find_front_matter, parse_front_matter

_LICENCE = re.compile(r"\A(?:<!--[^>]{0,500}-->\s{0,9}){1,9}(?=---\n)")
"""Comments that stand before the front matter, such as a notice of the licence."""

_TOML = re.compile(r"\A\ufeff?\+\+\+[ \t]*\r?\n((?:(?!\+\+\+)[^\n]*\n){0,200})\+\+\+[ \t]*(?=\r?\n)")
_TOML_ROW = re.compile(r"(?m)^([A-Za-z][\w-]{0,60})[ \t]{0,20}=[ \t]{0,20}(?=[\w\"'\[])")


def _write_yaml(match: re.Match[str]) -> str:
    """Return a front matter in TOML as one in YAML, its tables left out."""
    rows = (line for line in match[1].splitlines() if _TOML_ROW.match(line))
    return "\n".join(("---", *(_TOML_ROW.sub(r"\1: ", row) for row in rows), "---"))


def expose_front_matter(text: str) -> str:
    """Return *text* with its front matter at its very start, as YAML."""
    return _TOML.sub(_write_yaml, _LICENCE.sub("", text, count=1), count=1)


_OWN_NAMES = frozenset(
    {
        "adr",
        "madr",
        "decision",
        "decision_record",
        "architecture_decision",
        "record",
        "rfc",
        "proposal",
        "document",
        "doc",
    }
    | {"metadata", "meta", "info", "header", "properties", "lifecycle", "dct", "dc", "决策", "元数据", "metadaten"}
)
"""Keys whose mapping speaks of the record itself; `author: {status: active}` does not."""


def lift_decision_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the front matter with what it says of the decision under the names that are looked for.

    `adr: {status: accepted}` is a mapping of the record's own fields, `decision_status` is what `status` says of the
    page where both stand, and RFCs have a `state`.
    """
    lifted: dict[str, Any] = {}
    for key, value in values.items():
        name = str(key).lower() if str(key).lower() in ("status", "date", "title", "tags") else str(key)
        if isinstance(value, Mapping) and name in ("status", "date"):  # `status: {value: accepted, since: 2024-05-06}`
            own = next((key for key in ("value", "current", "state", "name", "status", "date") if key in value), None)
            lifted |= {str(inner): said for inner, said in value.items() if inner != own}
            value = value.get(own) if own else (None if any(map(name_field, map(str, value))) else value)
        lifted.setdefault(name, value)
    for name, nested in values.items():
        if isinstance(nested, Mapping) and str(name).lower().replace("-", "_") in _OWN_NAMES:
            for key, value in nested.items():
                lifted.setdefault(str(key), value)
    for key in ("decision_status", "decision-status", "adr_status", "adr-status", "state"):
        said = lifted.get(key)
        if isinstance(said, str) and parse_status(said).certain and (key != "state" or "status" not in lifted):
            lifted["status"] = lifted.pop(key)
            break
    return lifted


_KEY_AND_TEXT = re.compile(
    r"(?<![\w -])([A-Za-z][\w -]{0,40}):[ \t]++((?:[^\s\"'\[{|>#&!]|\[[^\]\r\n]*+\](?=[ \t]*[^\s#]))[^\r\n]*+)(\r?\n)"
)
"""A key and a value that begins as plain text: no quote, block, list or mapping, though perhaps `[Spike] …`."""


def parse_plain_front_matter(text: str, path: str, notes: list[Message]) -> Mapping[str, Any]:
    """Return the front matter of *text*; where it is not valid YAML, *notes* say so.

    People write `title: Guards: what they stop` without quotes, which YAML takes for two mappings in one line. Such
    values are read as the text they were meant to be; what stays unreadable raises BadRecord.
    """
    try:
        return parse_front_matter(text, path)
    except BadRecord as error:
        span = find_front_matter(text)
        if span is None:
            raise
        rows = text[span.start : span.end].splitlines(keepends=True)
        for number, row in enumerate(rows):
            if match := _KEY_AND_TEXT.fullmatch(row):
                value = match[2].rstrip().replace("'", "''")
                rows[number] = f"{match[1]}: '{value}'{match[3]}"
        try:
            values = parse_front_matter(text[: span.start] + "".join(rows) + text[span.end :], path)
        except BadRecord:
            raise error from None
        notes.append(msg("line {line} is not valid YAML; its value is read as plain text", line=error.line))
        return values


# -- relations --------------------------------------------------------------------------------------

_RELATION_LISTS = frozenset({"relations", "relationships", "links", "related", "references"})


def find_front_matter_links(values: Mapping[str, Any]) -> tuple[AdrLink, ...]:
    """Return the links in front matter: one reference or a list under a key, or items that name their kind.

    `superseded-by: 9`, `supersededInPartBy: [ADR-9]`, `ersetzt: ADR-3`, `relations: {supersedes: [3]}`,
    `links: [{type: supersedes, target: ADR-3}]`.
    """
    found: list[AdrLink] = []
    for key, value in values.items():
        words = re.sub(r"(?<=[a-z])(?=[A-Z])|[-_]", " ", str(key)).lower()  # supersededBy
        items = value if isinstance(value, list) else [value]
        if words in _RELATION_LISTS:
            mappings = [item for item in items if isinstance(item, Mapping)]
            found += [link for item in mappings for link in _find_item_links(item)]
        elif (said := read_label(words)) and not said.is_open:
            targets = [target for item in items if item is not None for target in _list_targets(str(item).strip())]
            found += [said._replace(target=target) for target in targets]
    return tuple(found)


def _list_targets(text: str) -> list[str]:
    """Return the records that the value *text* of a key names."""
    targets = [reference.target for reference in iter_references(text)]
    return targets or [word for word in re.split(r"[,;\s]+", text) if re.search(r"\d|-", word)]


def _find_item_links(item: Mapping[str, Any]) -> tuple[AdrLink, ...]:
    """Return the links in one *item* of a list of relations: its kind and target, or keys of its own."""
    kind = next((item[key] for key in ("type", "relation", "rel", "kind") if key in item), "")
    target = next((item[key] for key in ("target", "id", "ref", "adr", "path", "to") if key in item), "")
    return find_front_matter_links({str(kind): target} if kind else item)
