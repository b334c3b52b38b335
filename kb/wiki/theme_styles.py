"""Make the styles of the site light: what the pages of the wiki never show needs no rules, and no page waits for it."""

from __future__ import annotations

import re
from collections.abc import Iterator

UNUSED = (
    "admonition annotate author banner consent critic feedback footnote giscus grid highlighttable keys lightbox"
    " linenos mermaid pagination post profile select social source tabbed tabs tag task-list"
    " tooltip tooltip2 twemoji version"
).split()
"""Parts of Material for MkDocs that are no part of a wiki: classes .md-<name>, .md-<name>__… and .<name>…; nor are the
colours other than that of assets/mkdocs.json."""

_NAMES = "|".join(UNUSED)
_UNUSED_CLASS = re.compile(rf"\.(?:md-)?(?:{_NAMES})(?=[_:.>+~ \[-]|\d*\Z)|\.(?:tabbed|admonition|task-list|footnote)-")
_OTHER_COLOUR = re.compile(r"\[data-md-color-(?:primary|accent)=(?!teal\])")
_UNUSED_VALUE = re.compile(rf"--md-(?:{_NAMES}|tasklist|footnotes)[\w-]*:(?:[^;\"']|\"[^\"]*\"|'[^']*')*;?")
_INSIDE = re.compile(r"\([^()]*\)")
_COMMENT = re.compile(r"/\*(?:[^*]|\*(?!/))*\*/")
_SPACE = re.compile(r"\s+")


def trim_theme_styles(text: str) -> str:
    """Return the styles *text* of the theme without the rules for what a wiki never shows."""
    return "".join(_iter_rules(text))


def shrink_styles(text: str) -> str:
    """Return the styles *text* without comments and line ends."""
    return _SPACE.sub(" ", _COMMENT.sub("", text)).strip() + "\n"


def _iter_rules(text: str) -> Iterator[str]:
    for head, body in _split_blocks(text):
        if not body:
            yield head
        elif head.lstrip().startswith("@"):
            is_group = head.lstrip().startswith(("@media", "@supports"))
            inner = "".join(_iter_rules(body)) if is_group else body
            if inner:
                yield f"{head}{{{inner}}}"
        else:
            kept = [selector for selector in _split_selectors(head) if not _is_unused(selector)]
            rules = _UNUSED_VALUE.sub("", body)
            if kept and rules:
                yield f"{','.join(kept)}{{{rules}}}"


def _split_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield each block as what stands before its brace and what stands between; a statement without has no body."""
    depth, start, opened, quote = 0, 0, 0, ""
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote and text[at - 1] != "\\" else quote
        elif sign in "\"'":
            quote = sign
        elif sign == "{":
            opened = opened if depth else at
            depth += 1
        elif sign == "}":
            depth -= 1
            if not depth:
                yield text[start:opened], text[opened + 1 : at]
                start = at + 1
        elif sign == ";" and not depth:
            yield text[start : at + 1], ""
            start = at + 1


def _split_selectors(head: str) -> Iterator[str]:
    depth, start = 0, 0
    for at, sign in enumerate(head):
        depth += (sign in "([") - (sign in ")]")
        if sign == "," and not depth:
            yield head[start:at]
            start = at + 1
    yield head[start:]


def _is_unused(selector: str) -> bool:
    """Return whether *selector* needs a part that no page has; what stands in brackets is one choice of several."""
    before = ""
    while before != selector:
        before, selector = selector, _INSIDE.sub("", selector)
    return _UNUSED_CLASS.search(selector) is not None or _OTHER_COLOUR.search(selector) is not None
