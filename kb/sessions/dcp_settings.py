"""The settings of pruning (`dcp-config.yaml`): every key with its default, its help and its check."""

from __future__ import annotations

import contextlib
import difflib
import os
from collections.abc import Iterator, Mapping, Sequence

from kb.errors import BadInput, describe_os_error
from kb.files import resolve_within
from kb.i18n import Message, msg
from kb.records.kinds import TREE
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

FILE = "dcp-config.yaml"
_TEMPLATE = "content/templates/dcp-config.yaml"
_MAX_TEMPLATE_CHARACTERS = 200_000
"""Characters of a template, at most."""
_MAX_DEPTH = 6
"""Levels of the file's YAML, at most."""
_CACHE = "dcp.json"
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
    help: str
    choices: tuple[str, ...] = ()
    most: float = 10_000_000

    @property
    def field(self) -> str:
        """The field of `DcpSettings`: the last part of the path, but for the two that would have one name."""
        scopes = {"deduplication.scope": "dedup_scope", "truncation.scope": "truncation_scope"}
        return scopes.get(self.path, self.path.rpartition(".")[2])


KEYS = (
    DcpKey("enabled", "Whether anything is pruned at all."),
    DcpKey("auto_strategies.deduplication", "Of repeated calls keep the newest result only."),
    DcpKey("auto_strategies.supersede_writes", "Drop what a write wrote once the file is read again."),
    DcpKey("auto_strategies.purge_errors", "Drop the inputs of failed calls after some turns."),
    DcpKey("auto_strategies.truncation", "Shorten long search results."),
    DcpKey("deduplication.scope", "The tools whose repeated calls are looked for."),
    DcpKey("deduplication.covered_reads", "Also drop a read that a newer read of the file holds whole."),
    DcpKey("protection.turn_protection", "So many last turns are not pruned."),
    DcpKey("protection.turn_unit", "What a turn is: an agent's step, or a person's prompt.", (STEP, PROMPT)),
    DcpKey("protection.applies_to", "What the last turns protect.", (OUTPUTS, ANSWERS)),
    DcpKey("protection.anchor_protection", "Keep every paragraph that cites an anchor."),
    DcpKey("protection.anchor_prefixes", "The kinds of anchors that protect, by the letters of an id."),
    DcpKey("protection.protected_patterns", "Files whose reads and writes are not pruned."),
    DcpKey("truncation.scope", "The tools whose results are shortened."),
    DcpKey("truncation.grep_max_tokens", "Longest search result, in estimated tokens."),
    DcpKey("truncation.grep_headroom", "Share of the room left that a search result may take.", most=1),
    DcpKey("truncation.glob_max_files", "Longest list of paths."),
    DcpKey("truncation.read_chunk_size", "Lines of a long file that are read at once."),
    DcpKey("ai_assisted.discard_enabled", "Whether droppable content is looked for."),
    DcpKey("ai_assisted.require_confirmation", "Whether a person must say yes to dropping it."),
    DcpKey("error_purge.turns_before_purge", "Turns after which a failed call's input goes."),
    DcpKey("error_purge.keep_error_message", "Whether the error message stays."),
    DcpKey("cost.min_turns", "Shorter sessions are left alone: a changed context is cached anew."),
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
_KNOWN = (*_BY_PATH, *ALSO)
_SEE = msg("every key with its meaning: kb prune config")


# -- loading ---------------------------------------------------------------------------------------


def load_settings(kb: Workspace) -> DcpSettings:
    """Return the settings of *kb*, from a cache while their file is the same: a hook has no time for YAML."""
    path = find_settings_file(kb.root, kb.config.layout)
    try:
        status = os.stat(path)
    except OSError:
        return DcpSettings()
    stamp = [path, status.st_mtime_ns, status.st_size]
    kept = kb.state.load(_CACHE)
    values: dict[str, Any] = kept.get("values", {}) if kept and kept.get("stamp") == stamp else {}
    if set(values) == set(DcpSettings._fields):
        values = {key: tuple(v) if isinstance(v, list) else v for key, v in values.items()}
        return DcpSettings(**values)
    settings = load_settings_file(path)
    kb.state.save({"stamp": stamp, "values": settings._asdict()}, _CACHE)
    return settings


def find_settings_file(root: str, layout: str = "") -> str:
    """Return where the settings under *root* are, or would be: in the layout `project` also those of its tree."""
    path = os.path.join(root, FILE)
    if layout == "project" and not os.path.exists(path):
        with contextlib.suppress(FileNotFoundError):
            tree = resolve_within(os.path.realpath(root), f"{TREE}/{FILE}")
            return tree if os.path.exists(tree) else path
    return path


def load_root_settings(root: str, layout: str = "") -> DcpSettings:
    """Return the settings of pruning under *root*, the defaults without a file; raise BadDcpSettings."""
    path = find_settings_file(root, layout)
    return load_settings_file(path) if root and os.path.exists(path) else DcpSettings()


def load_settings_file(path: str) -> DcpSettings:
    """Return the settings in the file *path*; raise BadDcpSettings naming file, line and the next step."""
    from kb.records.safe_yaml import YamlError, load_yaml  # late: most calls find the settings in the cache

    try:
        with open(path, encoding="utf-8-sig") as file:
            source = file.read()
        values = {key: entry.value for key, entry in load_yaml(source, _MAX_DEPTH).entries.items()}
    except UnicodeDecodeError:
        raise BadDcpSettings(msg("not valid UTF-8"), path=path, hint=msg("save it as UTF-8")) from None
    except OSError as error:
        raise BadDcpSettings(
            msg("cannot be read: {problem}", problem=describe_os_error(error)), path=path, hint=_SEE
        ) from None
    except YamlError as error:
        problem = msg("not valid YAML: {problem}", problem=error.problem)
        raise BadDcpSettings(problem, path=path, line=error.line, hint=_SEE) from None
    return parse_settings(values, source, path)


def parse_settings(values: Mapping[str, Any], source: str = "", path: str = FILE) -> DcpSettings:
    """Return *values*, what the YAML *source* says, as settings; raise BadDcpSettings with file, line and next step."""
    tree = values.get("dcp", {}) if set(values) <= {"dcp"} else values
    given: dict[str, Any] = {}

    def build_error(problem: Message, parts: Sequence[str], hint: Message = _SEE) -> BadDcpSettings:
        return BadDcpSettings(problem, path=path, line=find_line(parts, source), hint=hint)

    if tree is not None and not isinstance(tree, dict):
        raise build_error(msg("{key} must be a mapping, not {value}", key="dcp", value=repr(tree)), ("dcp",))
    leaves = dict(_iter_leaves(tree or {}))
    for parts in leaves:
        if (name := ".".join(parts)) not in _KNOWN:
            near = difflib.get_close_matches(name, _KNOWN, 1)
            hint = msg("did you mean {key}? every key: kb prune config", key=near[0]) if near else _SEE
            raise build_error(msg("there is no key {key}", key=name), parts, hint)
    for parts, value in leaves.items():
        name = ".".join(parts)
        key = _BY_PATH[ALSO.get(name, name)]
        if key.field in given:
            raise build_error(msg("{key} is given twice", key=key.path), parts)
        if wanted := _find_expected(value, getattr(DcpSettings(), key.field), key):
            problem = msg("{key} must be {wanted}, not {value}", key=name, wanted=wanted, value=repr(value))
            raise build_error(problem, parts)
        given[key.field] = tuple(value) if isinstance(value, list) else value
    return DcpSettings(**given)


def _iter_leaves(tree: Mapping[str, Any], above: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every value with its path; what stands where no key does comes as it is."""
    for name, value in tree.items():
        parts = (*above, name)
        path = ".".join(parts)
        if path not in _KNOWN and isinstance(value, dict) and any(key.startswith(path + ".") for key in _KNOWN):
            yield from _iter_leaves(value, parts)
        else:
            yield parts, value


def _find_expected(value: Any, default: Any, key: DcpKey) -> Message | None:
    """Return what *key* must be, where *value* is something else."""
    among = ", ".join(key.choices)
    if isinstance(default, tuple):
        is_list = isinstance(value, list) and all(isinstance(word, str) and word for word in value)
        if is_list and all(word in (key.choices or (word,)) for word in value):
            return None
        return msg("a list of any of {words}", words=among) if among else msg("a list of words")
    if isinstance(default, bool):
        return None if isinstance(value, bool) else msg("true or false")
    if isinstance(default, str):
        return None if value in key.choices else msg("one of {words}", words=among)
    number = int | float if isinstance(default, float) else int
    if isinstance(value, number) and not isinstance(value, bool) and 0 <= value <= key.most:
        return None
    most = f"{key.most:g}" if key.most < 10 else str(int(key.most))
    return msg("a number from {least} to {most}", least=0, most=most)


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
        path = [key for _, key in above]
        path = path[1:] if path[0] == "dcp" and list(parts) != ["dcp"] else path
        if (list(parts[: len(path)]) == path and len(path) > depth) or not best:
            best, depth = number, len(path)
    return best


# -- writing ---------------------------------------------------------------------------------------


def render_settings(settings: DcpSettings, root: str = "") -> str:
    """Return *settings* as `dcp-config.yaml`, every key with its meaning beside it.

    The knowledge base at *root* may have a template of its own for it; raise BadTemplate where that is broken.
    """
    try:
        with open(resolve_within(root, _TEMPLATE), encoding="utf-8", errors="replace") as file:
            source = file.read(_MAX_TEMPLATE_CHARACTERS)
    except OSError:
        return format_settings(settings)
    from kb.sessions.render_forms import render_template

    values = {key.path: _format_yaml(getattr(settings, key.field)) for key in KEYS}
    return render_template(source, {"settings": values, "defaults": format_settings(settings)}, _TEMPLATE)


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


def _format_yaml(value: object) -> str:
    if isinstance(value, tuple):
        return "[" + ", ".join(f'"{word}"' for word in value) + "]"
    return str(value).lower() if isinstance(value, bool) else str(value)
