"""Read golden files: cases of `title`, `.`, input, `.`, expected, `.`."""

import re
from pathlib import Path

_CASE = re.compile(r"(?ms)^(?P<title>[^\n]+)\n\.\n(?P<given>.*?)^\.\n(?P<expected>.*?)^\.\n")


def golden(name: str) -> list[tuple[str, str, str]]:
    """Return the cases (title, input, expected) of the golden file *name*."""
    text = (Path(__file__).parent / "golden" / f"{name}.txt").read_text(encoding="utf-8")
    cases = [(match["title"], match["given"], match["expected"]) for match in _CASE.finditer(text)]
    assert len(cases) == len(re.findall(r"(?m)^\.$", text)) // 3, name
    return cases
