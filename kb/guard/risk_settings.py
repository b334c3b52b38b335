"""`risk.yaml` beside `kb.toml`: read once, and from a cache while it is the same."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kb.guard.risk import FILE, BadRiskSettings, RiskSettings, parse_risk_settings
from kb.i18n import msg

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_CACHE = "risk.json"
_LARGEST = 100_000


def load_risk_settings(root: str) -> RiskSettings:
    """Return the settings in `risk.yaml` under *root*, the defaults without one; raise BadRisk with file and line."""
    path = os.path.join(root, FILE)
    if not os.path.exists(path):
        return RiskSettings()
    from kb.records.safe_yaml import YamlError, load_yaml

    try:
        with open(path, encoding="utf-8-sig") as file:
            source = file.read(_LARGEST)
    except UnicodeDecodeError:
        raise BadRiskSettings(msg("not valid UTF-8"), path=path, hint=msg("save it as UTF-8")) from None
    except OSError as error:
        raise BadRiskSettings(msg("cannot be read: {problem}", problem=error.strerror), path=path) from None
    try:
        entries = load_yaml(source, 3).entries
    except YamlError as error:
        raise BadRiskSettings(
            msg("not valid YAML: {problem}", problem=error.problem), path=path, line=error.line
        ) from None
    values = {key: entry.value for key, entry in entries.items()}
    return parse_risk_settings(values, {key: entry.line + 1 for key, entry in entries.items()}, source, path)


def load_cached_settings(kb: Workspace) -> RiskSettings:
    """Return the settings of *kb*: a hook has no time for YAML."""
    try:
        about = os.stat(os.path.join(kb.root, FILE))
    except OSError:
        return RiskSettings()
    stamp = [about.st_mtime_ns, about.st_size]
    kept = kb.state.load(_CACHE)
    if (
        isinstance(kept, dict)
        and kept.get("stamp") == stamp
        and set(kept.get("values", ())) == set(RiskSettings._fields)
    ):
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in kept["values"].items()}
        return RiskSettings(**values)
    settings = load_risk_settings(kb.root)
    kb.state.save({"stamp": stamp, "values": settings._asdict()}, _CACHE)
    return settings
