"""JSON as bytes for a file, whatever its words: the name of a file can hold what no text in UTF-8 can."""

from __future__ import annotations

import json

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def json_bytes(value: Any, *, indent: int | None = None, sort_keys: bool = False) -> bytes:
    """Return *value* as JSON; half characters (of a name that is not UTF-8) come back from it as they were."""
    try:
        return json.dumps(value, ensure_ascii=False, indent=indent, sort_keys=sort_keys).encode()
    except UnicodeEncodeError:
        return json.dumps(value, indent=indent, sort_keys=sort_keys).encode()
