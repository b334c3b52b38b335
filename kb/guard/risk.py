"""How risky a write is (MBANK-32), and `risk.yaml`, by which a team says so for its own code."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

FILE = "risk.yaml"
HIGH, LOW = "high", "low"
PATTERNS, INDEX = "patterns", "index"


class BadRiskSettings(BadInput):
    """The settings of risk cannot be used."""

    exit_code = 2


class RiskSettings(NamedTuple):
    """What counts as risky, and what must have been read before."""

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
_SEE = msg("its keys are: {keys}", keys=", ".join(HELP))


class RiskLevel(NamedTuple):
    """How risky a write is, and why."""

    name: str
    reason: Message


def assess_risk(paths: Sequence[str], settings: RiskSettings, *, many: bool = False) -> RiskLevel:
    """Return how risky writing *paths*, relative to the project's root, is; *many*: more than can be told."""
    for path in paths:
        pattern = next((one for one in settings.high if is_pattern_match(one, path)), "")
        if pattern and not any(is_pattern_match(one, path) for one in settings.low):
            return RiskLevel(HIGH, msg("{path} is sensitive ({pattern})", path=path, pattern=pattern))
    count = len(set(paths))
    if settings.many and count >= settings.many:
        return RiskLevel(HIGH, msg("{count} files are changed at once", count=count))
    if settings.many and many:
        return RiskLevel(HIGH, msg("more files are changed at once than can be told"))
    if not paths:
        return RiskLevel(LOW, msg("nothing of the project is changed"))
    return RiskLevel(LOW, msg("{path} is changed", path=paths[0]))


def is_pattern_match(pattern: str, path: str) -> bool:
    """Return whether *pattern*, written as in .gitignore, means *path* or a folder above it; case makes no difference.

    A pattern without a slash inside means a name at any depth; `docker/` a folder of that name at any depth. A path
    that ends with a slash is a folder.
    """
    bare = pattern.strip().removeprefix("./")
    if any(mark in bare for mark in "*?["):
        return _compile_pattern(bare).match(path.lstrip("/")) is not None
    inner, whole = "/" + bare.strip("/").casefold(), "/" + path.lstrip("/").casefold()
    if "/" in bare.rstrip("/"):
        return whole.startswith(inner + "/") or (whole == inner and not bare.endswith("/"))
    return inner + "/" in whole or (whole.endswith(inner) and not bare.endswith("/"))


_KNOWN: dict[str, re.Pattern[str]] = {}


def _compile_pattern(pattern: str) -> re.Pattern[str]:
    if pattern not in _KNOWN:
        inner = "".join(
            map(_convert_to_regex, re.findall(r"\*\*/?|\*|\?|\[[^\]/]{1,100}\]|[^*?\[]+|\[", pattern.strip("/")))
        )
        start = "" if "/" in pattern.rstrip("/") else "(?:.*/)?"
        end = "/.*" if pattern.endswith("/") else "(?:/.*)?"
        _KNOWN[pattern] = re.compile(start + inner + end + r"\Z", re.IGNORECASE | re.DOTALL)
    return _KNOWN[pattern]


def _convert_to_regex(piece: str) -> str:
    if piece.startswith("[") and len(piece) > 2:
        inside = piece[1:-1].replace("\\", "\\\\").replace("[", "\\[")
        return "[" + ("^" + inside[1:] if inside[0] in "!^" and len(inside) > 1 else inside.replace("^", "\\^")) + "]"
    return {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}.get(piece) or re.escape(piece)


# -- risk.yaml ---------------------------------------------------------------------------------------


def parse_risk_settings(
    values: Mapping[str, Any], lines: Mapping[str, int], source: str = "", path: str = FILE
) -> RiskSettings:
    """Return *values*, what the YAML *source* says with its keys on *lines* (1-based), as settings; raise BadRisk."""
    defaults = RiskSettings()._asdict()
    for key, value in values.items():
        line = lines.get(key, 0)
        if key not in defaults:
            near = difflib.get_close_matches(key, defaults, 1)
            hint = msg("did you mean {key}?", key=near[0]) if near else _SEE
            raise BadRiskSettings(msg("there is no key {key}", key=key), path=path, line=line, hint=hint)
        if problem := _find_problem(key, value):
            at = line + _find_bad_row(value, source.splitlines()[line - 1 :]) if line else 0
            raise BadRiskSettings(problem, path=path, line=at, hint=msg("{key}: {help}", key=key, help=HELP[key]))
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    return RiskSettings(**given)


def _find_problem(key: str, value: Any) -> Message | None:
    if key in ("high", "low"):
        if not isinstance(value, list):
            return msg("{key} must be {wanted}, not {value}", key=key, wanted=msg("a list of paths"), value=repr(value))
        bad = [word for word in value if not _is_valid_pattern(word)]
        return msg("{value} is no path of the project", value=repr(bad[0])) if bad else None
    if key == "many" and not (isinstance(value, int) and not isinstance(value, bool) and (value == 0 or value >= 2)):
        return msg("{key} must be {wanted}, not {value}", key=key, wanted=msg("0, or a number from 2"),
                   value=repr(value))  # fmt: skip
    if key == "requires" and value not in (PATTERNS, INDEX):
        return msg("{key} must be {wanted}, not {value}", key=key,
                   wanted=msg("one of {words}", words=f"{PATTERNS}, {INDEX}"), value=repr(value))  # fmt: skip
    return None


def _is_valid_pattern(word: object) -> bool:
    if not isinstance(word, str) or not word.strip("/ *") or "\n" in word or len(word) > 400:
        return False
    return ".." not in word.split("/") and not word.startswith("~")


def _find_bad_row(value: Any, rows: Sequence[str]) -> int:
    """Return how many rows below its key the first bad item of a list stands; 0 for other values."""
    bad = next((word for word in value if not _is_valid_pattern(word)), None) if isinstance(value, list) else None
    shown = str(bad if bad is not None else "")
    return next((n for n, row in enumerate(rows) if shown and shown in row), 0)


def render_defaults() -> str:
    """Return `risk.yaml` with the defaults, every key with its meaning."""
    rows = []
    for key, value in RiskSettings()._asdict().items():
        shown = "[" + ", ".join(f'"{word}"' for word in value) + "]" if isinstance(value, tuple) else str(value)
        rows += [f"# {HELP[key]}", f"{key}: {shown}"]
    return "\n".join(rows) + "\n"
