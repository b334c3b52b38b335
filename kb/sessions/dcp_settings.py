"""The settings of pruning (`dcp-config.yaml`): every key with its default, its help and its proof."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

FILE = "dcp-config.yaml"
STEP, PROMPT = "step", "prompt"
OUTPUTS, ANSWERS = "tool_outputs", "assistant_responses"


class BadDcpSettings(BadInput):
    """The settings of pruning cannot be used."""

    exit_code = 2


class DcpSettings(NamedTuple):
    """What may be pruned, and what may not."""

    enabled: bool = True
    deduplication: bool = True
    supersede_writes: bool = True
    purge_errors: bool = True
    truncation: bool = True
    dedup_scope: tuple[str, ...] = ("Read", "Glob", "Grep")
    covered_reads: bool = True
    turn_protection: int = 4
    turn_unit: str = STEP
    applies_to: tuple[str, ...] = (OUTPUTS, ANSWERS)
    anchor_protection: bool = True
    anchor_prefixes: tuple[str, ...] = ("D", "C", "I")
    protected_patterns: tuple[str, ...] = ("*.md", "anchors.md", "requirements.md", "design.md")
    truncation_scope: tuple[str, ...] = ("Grep", "Glob", "WebSearch")
    grep_max_tokens: int = 50_000
    grep_headroom: float = 0.5
    glob_max_files: int = 200
    read_chunk_size: int = 1000
    discard_enabled: bool = True
    require_confirmation: bool = False
    turns_before_purge: int = 4
    keep_error_message: bool = True
    min_turns: int = 10


class DcpKey(NamedTuple):
    """One key of the file."""

    path: str
    field: str
    help: str
    choices: tuple[str, ...] = ()
    most: float = 10_000_000


KEYS = (
    DcpKey("enabled", "enabled", "Whether anything is pruned at all."),
    DcpKey("auto_strategies.deduplication", "deduplication", "Of repeated calls keep the newest result only."),
    DcpKey(
        "auto_strategies.supersede_writes", "supersede_writes", "Drop what a write wrote once the file is read again."
    ),
    DcpKey("auto_strategies.purge_errors", "purge_errors", "Drop the inputs of failed calls after some turns."),
    DcpKey("auto_strategies.truncation", "truncation", "Shorten long search results."),
    DcpKey("deduplication.scope", "dedup_scope", "The tools whose repeated calls are looked for."),
    DcpKey(
        "deduplication.covered_reads", "covered_reads", "Also drop a read that a newer read of the file holds whole."
    ),
    DcpKey("protection.turn_protection", "turn_protection", "So many last turns are not pruned."),
    DcpKey(
        "protection.turn_unit", "turn_unit", "What a turn is: an agent's step, or a person's prompt.", (STEP, PROMPT)
    ),
    DcpKey("protection.applies_to", "applies_to", "What the last turns protect.", (OUTPUTS, ANSWERS)),
    DcpKey("protection.anchor_protection", "anchor_protection", "Keep every paragraph that cites an anchor."),
    DcpKey(
        "protection.anchor_prefixes", "anchor_prefixes", "The kinds of anchors that protect, by the letters of an id."
    ),
    DcpKey("protection.protected_patterns", "protected_patterns", "Files whose reads and writes are not pruned."),
    DcpKey("truncation.scope", "truncation_scope", "The tools whose results are shortened."),
    DcpKey("truncation.grep_max_tokens", "grep_max_tokens", "Longest search result, in estimated tokens."),
    DcpKey("truncation.grep_headroom", "grep_headroom", "Share of the room left that a search result may take.", (), 1),
    DcpKey("truncation.glob_max_files", "glob_max_files", "Longest list of paths."),
    DcpKey("truncation.read_chunk_size", "read_chunk_size", "Lines of a long file that are read at once."),
    DcpKey("ai_assisted.discard_enabled", "discard_enabled", "Whether droppable content is looked for."),
    DcpKey("ai_assisted.require_confirmation", "require_confirmation", "Whether a person must say yes to dropping it."),
    DcpKey("error_purge.turns_before_purge", "turns_before_purge", "Turns after which a failed call's input goes."),
    DcpKey("error_purge.keep_error_message", "keep_error_message", "Whether the error message stays."),
    DcpKey("cost.min_turns", "min_turns", "Shorter sessions are left alone: a changed context is cached anew."),
)
ALSO: Mapping[str, str] = {
    "deduplication.enabled": "auto_strategies.deduplication",
    "supersede_writes.enabled": "auto_strategies.supersede_writes",
    "purge_errors.enabled": "auto_strategies.purge_errors",
    "purge_errors.turns_before_purge": "error_purge.turns_before_purge",
    "purge_errors.keep_error_message": "error_purge.keep_error_message",
    "turn_protection.protected_turns": "protection.turn_protection",
    "turn_protection.applies_to": "protection.applies_to",
}
"""Other places where a key may stand, as older files have it."""
_BY_PATH = {key.path: key for key in KEYS}
_SEE = msg("every key with its meaning: kb prune config")


def parse_settings(values: Mapping[str, Any], source: str = "", path: str = FILE) -> DcpSettings:
    """Return *values*, what the YAML *source* says, as settings; raise BadDcp with file, line and the next step."""
    tree = values.get("dcp", {}) if set(values) <= {"dcp"} else values
    given: dict[str, Any] = {}
    if tree is not None and not isinstance(tree, dict):
        raise _build_error(
            msg("{key} must hold keys, not {value}", key="dcp", value=repr(tree)), ("dcp",), source, path
        )
    for parts, value in _list_leaves(tree or {}, source, path):
        name = ".".join(parts)
        key = _BY_PATH[ALSO.get(name, name)]
        if key.field in given:
            raise _build_error(msg("{key} is given twice", key=key.path), parts, source, path)
        if not _is_valid_value(value, getattr(DcpSettings(), key.field), key):
            wanted = _describe_expected(getattr(DcpSettings(), key.field), key)
            problem = msg("{key} must be {wanted}, not {value}", key=name, wanted=wanted, value=repr(value))
            raise _build_error(problem, parts, source, path)
        given[key.field] = tuple(value) if isinstance(value, list) else value
    return DcpSettings(**given)


def format_settings(settings: DcpSettings | None = None) -> str:
    """Return *settings* (default: the defaults) as `dcp-config.yaml`, every key with its meaning beside it."""
    settings = settings or DcpSettings()
    lines, group = ["dcp:"], ""
    for key in KEYS:
        head, _, name = key.path.rpartition(".")
        if head != group:
            lines.append(f"  {head}:")
            group = head
        lines.append(f"  {'  ' if head else ''}{name}: {_format_yaml(getattr(settings, key.field))}  # {key.help}")
    return "\n".join(lines) + "\n"


def format_values(settings: DcpSettings) -> dict[str, str]:
    """Return *settings* by the paths of their keys, each as it stands in YAML."""
    return {key.path: _format_yaml(getattr(settings, key.field)) for key in KEYS}


def _list_leaves(
    tree: Mapping[str, Any], source: str, path: str, above: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], Any]]:
    """Return every value with its place; raise BadDcp for a key that nobody knows."""
    found: list[tuple[tuple[str, ...], Any]] = []
    known = [*_BY_PATH, *ALSO]
    for name, value in tree.items():
        parts = (*above, name)
        place = ".".join(parts)
        if place in known:
            found.append((parts, value))
        elif isinstance(value, dict) and any(one.startswith(place + ".") for one in known):
            found += _list_leaves(value, source, path, parts)
        else:
            raise _build_error(msg("there is no key {key}", key=place), parts, source, path, _suggest_key(place, known))
    return found


def _suggest_key(place: str, known: Sequence[str]) -> Message:
    near = difflib.get_close_matches(place, known, 1)
    return msg("did you mean {key}? every key: kb prune config", key=near[0]) if near else _SEE


def _is_valid_value(value: Any, default: Any, key: DcpKey) -> bool:
    if isinstance(default, tuple):
        words = isinstance(value, list) and all(isinstance(word, str) and word for word in value)
        return words and all(word in (key.choices or (word,)) for word in value)
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(default, str):
        return value in key.choices
    number = int | float if isinstance(default, float) else int
    return isinstance(value, number) and 0 <= value <= key.most


def _describe_expected(default: Any, key: DcpKey) -> Message:
    if isinstance(default, tuple):
        among = ", ".join(key.choices)
        return msg("a list out of {words}", words=among) if among else msg("a list of words")
    if isinstance(default, bool):
        return msg("true or false")
    if isinstance(default, str):
        return msg("one of {words}", words=", ".join(key.choices))
    most = f"{key.most:g}" if key.most < 10 else str(int(key.most))
    return msg("a number from {least} to {most}", least=0, most=most)


def _build_error(
    problem: Message, parts: Sequence[str], source: str, path: str, hint: Message = _SEE
) -> BadDcpSettings:
    return BadDcpSettings(problem, path=path, line=find_line(parts, source), hint=hint)


def find_line(parts: Sequence[str], source: str) -> int:
    """Return the 1-based line on which the key *parts* of *source* stands, or the nearest key above it; 0 for none."""
    best, depth = 0, 0
    above: list[tuple[int, str]] = []
    for number, row in enumerate(source.splitlines(), 1):
        name, colon, _ = row.strip().partition(":")
        if not colon or name.startswith("#"):
            continue
        indent = len(row) - len(row.lstrip())
        above = [*(one for one in above if one[0] < indent), (indent, name.strip("\"'"))]
        place = [key for _, key in above]
        place = place[1:] if place[0] == "dcp" and list(parts) != ["dcp"] else place
        if (list(parts[: len(place)]) == place and len(place) > depth) or not best:
            best, depth = number, len(place)
    return best


def _format_yaml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{word}"' for word in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
