"""The rulings of the guard (MBANK-31, 33, 37, 38), the risk level of a write (MBANK-32), and the file `risk.yaml`.

With `risk.yaml`, next to `kb.toml`, a team defines what is risky in its own code.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence

from kb.errors import BadInput, describe_os_error
from kb.hosts import ASK, DENY, WARN, HookResponse
from kb.i18n import Message, msg
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

OFF, BLOCK = "off", "block"
MODES = (OFF, WARN, BLOCK)
MODE = "MEMORY_BANK_GUARD_MODE"
"""The environment variable for the mode, which overrides `kb.toml`."""
RISK_FILE = "risk.yaml"
HIGH, LOW = "high", "low"
PATTERNS, INDEX = "patterns", "index"
_CACHE = "risk.json"
_MAX_RISK_FILE_CHARACTERS = 100_000
"""Maximum characters of `risk.yaml`."""
_PIECE = regex(r"\*\*/?|\*|\?|\[[^\]/]{1,100}\]|[^*?\[]+|\[")


class GuardMode(NamedTuple):
    """The mode of the guard, and a message on the setting itself."""

    name: str
    notice: Message | None = None


def resolve_mode(word: str | None, configured: str) -> GuardMode:
    """Return the mode from the variable's *word*, or else the *configured* one; an unknown word means warn."""
    if word is None or not word.strip():
        return GuardMode(configured)
    name = word.strip().lower()
    if name in MODES:
        return GuardMode(name)
    known = list(MODES)
    return GuardMode(
        WARN, msg("{variable} is {value}; known: {modes}; using warn", variable=MODE, value=word[:40], modes=known)
    )


# -- rulings -----------------------------------------------------------------------------------------


class Ruling(NamedTuple):
    """A ruling; without a permission there is no response."""

    permission: str = ""
    reason: Message | None = None
    """Why; with the one next step."""

    def translate(self, language: str) -> HookResponse:
        """Return the response for the host: a warning goes to the agent alone, which can act on it."""
        if not self.reason:
            return HookResponse()
        if self.permission == WARN:
            return HookResponse(WARN, context=self.reason.translate(language))
        if self.permission != ASK:
            return HookResponse(self.permission, self.reason.translate(language))
        unasked = msg("{why}. Next: ask the person to do it; this agent program cannot ask for kb", why=self.reason)
        return HookResponse(ASK, self.reason.translate(language), unasked=unasked.translate(language))


def rule_on_unread(mode: str, risk: RiskLevel, step: Message | None) -> Ruling:
    """Rule on a write of *risk* by an agent that has not read the memory; *step*: how to read it, None if it is empty.

    An empty memory is never required, so that no agent gets stuck (MBANK-41).
    """
    if mode == OFF or step is None:
        return Ruling()
    values = {"why": risk.reason, "step": step}
    if mode == BLOCK and risk.name == HIGH:
        message = msg("kb: {why}, and the memory of this project has not been read for this prompt. Next: {step}")
        return Ruling(DENY, message._replace(values=values))
    message = msg("kb: read what is recorded for this project before you go on ({why}). Next: {step}")
    return Ruling(WARN, message._replace(values=values))


_RULINGS: Mapping[str, tuple[str, Message, Message | None]] = {
    # files that only kb writes: denied in every mode (MBANK-37)
    "record": (DENY, msg("{path} contains records, and only kb writes them"), msg("submit it: kb write")),
    "session": (
        DENY,
        msg("{path} contains archived sessions, and only kb writes them"),
        msg("let kb archive it: kb archive"),
    ),
    "state": (DENY, msg("{path} is kb's own state"), msg("ask the person; kb doctor --fix repairs what is broken")),
    "bank": (DENY, msg("{path} is in the memory bank, which only kb may change"), msg("submit it: kb write")),
    "block": (
        DENY,
        msg("{path} has a block that a tool writes, and this would change it"),
        msg("change only what is outside MACHINE_BLOCK_START and MACHINE_BLOCK_END"),
    ),
    # calls that pose as a person's answer (MBANK-25), decide for a person, or change the guard's settings
    "forged": (
        DENY,
        msg("kb: only the person may answer “{words}”. Next: ask the person to answer mb:write or mb:no"),
        None,
    ),
    "decision": (ASK, msg("kb: “{words}” would make a decision that is reserved for a person"), None),
    "settings": (ASK, msg("kb: {path} contains the settings of the knowledge base, including its guard"), None),
}
"""Rulings that do not depend on what an agent has read: permission, reason, and next step if the reason has none."""


def rule_on(what: str, shown: str) -> Ruling:
    """Rule on a call that does *what* (a key of _RULINGS) to the path, or with the words, *shown*."""
    permission, why, step = _RULINGS[what]
    why = why._replace(values={"path": shown, "words": shown[:80]})
    return Ruling(permission, msg("kb: {why}. Next: {step}", why=why, step=step) if step else why)


# -- risk --------------------------------------------------------------------------------------------


class RiskSettings(NamedTuple):
    """Which paths are risky, and what must have been read before writing them."""

    high: tuple[str, ...] = ("/src/auth/", "/src/security/", "package.json", "tsconfig.json", "docker/", "infra/")
    low: tuple[str, ...] = ()
    many: int = 2
    requires: str = PATTERNS


HELP: Mapping[str, str] = {
    "high": "Paths whose change is a high risk, as in .gitignore: a trailing / is a folder, a leading / the top.",
    "low": "Paths that are never a high risk, whatever stands above; many files at once stay one.",
    "many": "So many files written by one call are a high risk; 0: their number never is.",
    "requires": "What must have been read before: patterns (patterns.md), or index (MEMORY.md will do as well).",
}


class RiskLevel(NamedTuple):
    """How risky a write is, and why."""

    name: str
    reason: Message


def assess_risk(paths: Sequence[str], settings: RiskSettings, *, many: bool = False) -> RiskLevel:
    """Return the risk of writing *paths*, relative to the project's root; *many*: there may be more paths."""
    for path in paths:
        pattern = next((one for one in settings.high if is_pattern_match(one, path)), "")
        if pattern and not any(is_pattern_match(one, path) for one in settings.low):
            return RiskLevel(HIGH, msg("{path} is sensitive ({pattern})", path=path, pattern=pattern))
    count = len(set(paths))
    if settings.many and count >= settings.many:
        return RiskLevel(HIGH, msg("{count} files are changed at once", count=count))
    if settings.many and many:
        return RiskLevel(HIGH, msg("more files are changed at once than can be listed"))
    if not paths:
        return RiskLevel(LOW, msg("nothing in the project is changed"))
    return RiskLevel(LOW, msg("{path} is changed", path=paths[0]))


def is_pattern_match(pattern: str, path: str) -> bool:
    """Return whether *pattern*, written as in .gitignore, matches *path* or a folder above it, ignoring case.

    A pattern without an inner slash matches a name at any depth; `docker/` matches a folder at any depth. A path with
    a trailing slash is a folder.
    """
    bare = pattern.strip().removeprefix("./")
    if any(mark in bare for mark in "*?["):
        return _compile_pattern(bare).match(path.lstrip("/")) is not None
    # "src/auth" is a path from the top, "auth" a name anywhere, "auth/" a folder of that name anywhere
    inner, whole = "/" + bare.strip("/").casefold(), "/" + path.lstrip("/").casefold()
    if "/" in bare.rstrip("/"):
        return whole.startswith(inner + "/") or (whole == inner and not bare.endswith("/"))
    return inner + "/" in whole or (whole.endswith(inner) and not bare.endswith("/"))


_COMPILED: dict[str, re.Pattern[str]] = {}


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    if pattern not in _COMPILED:
        inner = "".join(map(_convert_to_regex, _PIECE.findall(pattern.strip("/"))))
        start = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
        end = "/.*" if pattern.endswith("/") else "(?:/.*)?"
        _COMPILED[pattern] = re.compile(start + inner + end + r"\Z", re.IGNORECASE | re.DOTALL)
    return _COMPILED[pattern]


def _convert_to_regex(piece: str) -> str:
    if piece.startswith("[") and len(piece) > 2:
        inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        # "[!ab]" negates, "[a^]" does not
        return "[" + ("^" + inside[1:] if inside[0] in "!^" and len(inside) > 1 else inside.replace("^", "\\^")) + "]"
    return {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece) or re.escape(piece)


# -- risk.yaml ---------------------------------------------------------------------------------------


class BadRiskSettings(BadInput):
    """The risk settings cannot be used."""

    exit_code = 2


def load_risk_settings(root: str) -> RiskSettings:
    """Return the settings in `risk.yaml` under *root*, or the defaults without that file.

    Raise BadRiskSettings with file and line.
    """
    path = os.path.join(root, RISK_FILE)
    if not os.path.exists(path):
        return RiskSettings()
    from kb.records.safe_yaml import YamlError, load_yaml

    try:
        with open(path, encoding="utf-8-sig") as file:
            source = file.read(_MAX_RISK_FILE_CHARACTERS)
        entries = load_yaml(source, 3).entries
    except UnicodeDecodeError:
        raise BadRiskSettings(msg("not valid UTF-8"), path=path, hint=msg("save it as UTF-8")) from None
    except OSError as error:
        raise BadRiskSettings(msg("cannot be read: {problem}", problem=describe_os_error(error)), path=path) from None
    except YamlError as error:
        problem = msg("not valid YAML: {problem}", problem=error.problem)
        raise BadRiskSettings(problem, path=path, line=error.line) from None
    values: dict[str, Any] = {}
    for key, entry in entries.items():
        _validate_setting(key, entry.value, entry.line + 1, source, path)
        values[key] = tuple(entry.value) if isinstance(entry.value, list) else entry.value
    return RiskSettings(**values)


def load_cached_settings(kb: Workspace) -> RiskSettings:
    """Return the settings of *kb*, from a cache while the file is unchanged: YAML is too slow for a hook."""
    try:
        about = os.stat(os.path.join(kb.root, RISK_FILE))
    except OSError:
        return RiskSettings()
    stamp = [about.st_mtime_ns, about.st_size]
    cached = kb.state.load(_CACHE)
    is_known = isinstance(cached, dict) and cached.get("stamp") == stamp
    if is_known and set(cached.get("values", ())) == set(RiskSettings._fields):
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in cached["values"].items()}
        return RiskSettings(**values)
    settings = load_risk_settings(kb.root)
    kb.state.save({"stamp": stamp, "values": settings._asdict()}, _CACHE)
    return settings


def _validate_setting(key: str, value: Any, line: int, source: str, path: str) -> None:
    """Raise BadRiskSettings for an unknown *key* or an invalid *value*; *line* is 1-based."""
    if key not in HELP:
        from difflib import get_close_matches

        near = get_close_matches(key, HELP, 1)
        keys = msg("its keys are: {keys}", keys=list(HELP))
        hint = msg("did you mean {key}?", key=near[0]) if near else keys
        raise BadRiskSettings(msg("there is no key {key}", key=key), path=path, line=line, hint=hint)
    bad = [word for word in value if not _is_valid_pattern(word)] if isinstance(value, list) else []
    if key in ("high", "low"):
        wanted = None if isinstance(value, list) else msg("a list of paths")
    elif key == "many":
        is_number = isinstance(value, int) and not isinstance(value, bool) and (value == 0 or value >= 2)
        wanted = None if is_number else msg("0, or a number from 2")
    else:
        words = f"{PATTERNS}, {INDEX}"
        wanted = None if value in (PATTERNS, INDEX) else msg("one of {words}", words=words)
    if wanted:
        problem = msg("{key} must be {wanted}, not {value}", key=key, wanted=wanted, value=repr(value))
    elif bad:
        problem = msg("{value} is not a path of the project", value=repr(bad[0]))
    else:
        return
    rows = source.splitlines()[line - 1 :]
    below = next((n for n, row in enumerate(rows) if bad and str(bad[0]) and str(bad[0]) in row), 0)
    hint = msg("{key}: {help}", key=key, help=HELP[key])
    raise BadRiskSettings(problem, path=path, line=line + below, hint=hint)


def _is_valid_pattern(word: object) -> bool:
    if not isinstance(word, str) or not word.strip("/ *") or "\n" in word or len(word) > 400:
        return False
    return ".." not in word.split("/") and not word.startswith("~")


def render_default_settings() -> str:
    """Return `risk.yaml` with the defaults, every key with its meaning."""
    rows = []
    for key, value in RiskSettings()._asdict().items():
        shown = "[" + ", ".join(f'"{word}"' for word in value) + "]" if isinstance(value, tuple) else str(value)
        rows += [f"# {HELP[key]}", f"{key}: {shown}"]
    return "\n".join(rows) + "\n"
