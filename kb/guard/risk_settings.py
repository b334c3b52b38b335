"""`risk.yaml` beside `kb.toml`: read once, and from a cache while it is the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kb.guard.risk import FILE, BadRisk, Risk, settings_of
from kb.i18n import msg

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_CACHE = "risk.json"
_LARGEST = 100_000


def settings_at(root: str) -> Risk:
    """Return the settings in `risk.yaml` under *root*, the defaults without one; raise BadRisk with file and line."""
    path = os.path.join(root, FILE)
    if not os.path.exists(path):
        return Risk()
    from kb.records.safe_yaml import YamlError, load

    try:
        with open(path, encoding="utf-8-sig") as file:
            source = file.read(_LARGEST)
    except UnicodeDecodeError:
        raise BadRisk(msg("not valid UTF-8"), path=path, hint=msg("save it as UTF-8")) from None
    except OSError as error:
        raise BadRisk(msg("cannot be read: {problem}", problem=error.strerror), path=path) from None
    try:
        entries = load(source, 3).entries
    except YamlError as error:
        raise BadRisk(msg("not valid YAML: {problem}", problem=error.problem), path=path, line=error.line) from None
    values = {key: entry.value for key, entry in entries.items()}
    return settings_of(values, {key: entry.line + 1 for key, entry in entries.items()}, source, path)


def settings_of_kb(kb: Workspace) -> Risk:
    """Return the settings of *kb*: a hook has no time for YAML."""
    try:
        about = os.stat(os.path.join(kb.root, FILE))
    except OSError:
        return Risk()
    stamp = [about.st_mtime_ns, about.st_size]
    kept = kb.state.load(_CACHE)
    if isinstance(kept, dict) and kept.get("stamp") == stamp and set(kept.get("values", ())) == set(Risk._fields):
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in kept["values"].items()}
        return Risk(**values)
    settings = settings_at(kb.root)
    kb.state.save({"stamp": stamp, "values": settings._asdict()}, _CACHE)
    return settings
