"""The only YAML reader: python-frontmatter's handler on libyaml, for untrusted files.

The parser's events are checked one by one before any value is built: no aliases, anchors, tags, merges or duplicate
keys, and limited depth. Keys are text. Plain words mean what YAML 1.2 says (`no`, `on`, `12:30` are text). A number is
one only if Python would write it the same way, so that `str` restores what is in the file.
"""

from __future__ import annotations

import math
import re
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import yaml
from frontmatter.default_handlers import YAMLHandler

if TYPE_CHECKING:
    from typing import Any

_Base: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_STRANGE = "[^\t\n\r -~\u00a0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_LINE_END = re.compile(r"\r\n|\n|\r")
_MEANINGS: dict[str, Any] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE"), True),
    **dict.fromkeys(("false", "False", "FALSE"), False),
    ".inf": math.inf,
    "-.inf": -math.inf,
    ".nan": math.nan,
}


class YamlError(Exception):
    """The source is not YAML that kb accepts; *line* is 1-based within the source."""

    def __init__(self, problem: str, line: int) -> None:
        super().__init__(problem)
        self.problem = problem
        self.line = line


class YamlEntry(NamedTuple):
    """A top-level key with its value and their positions; lines and columns are 0-based."""

    value: Any
    line: int
    column: int
    key_end: int
    """The column after the key; -1 if it ends on another line than it begins."""
    last: int
    """The last line of the value; for a block scalar the empty lines after it count."""
    value_end: int
    """The column after the value on its last line; -1 for a block scalar."""
    keeps: bool
    """Whether the value is a block scalar that includes the empty lines after it."""


class YamlFrontMatter(NamedTuple):
    """The top-level entries of a source; *braces*: whether they are written as one flow mapping."""

    entries: dict[str, YamlEntry]
    braces: bool = False


class _Loader(_Base):  # type: ignore[misc]
    """A loader that builds a `YamlFrontMatter`."""

    def __init__(self, stream: str, max_depth: int) -> None:
        super().__init__(stream)
        self.left = max_depth
        self.end: tuple[int, int, bool] = (0, 0, False)

    def get_single_data(self) -> YamlFrontMatter:
        """Return the only document of the stream."""
        event = self._next_event()
        while isinstance(event, yaml.StreamStartEvent | yaml.DocumentStartEvent):
            event = self._next_event()
        front = YamlFrontMatter({}) if isinstance(event, yaml.StreamEndEvent) else self._load_front_matter(event)
        while not isinstance(event, yaml.StreamEndEvent):
            event = self._next_event()
            if isinstance(event, yaml.DocumentStartEvent):
                raise YamlError("there is more than one document", _event_line(event))
        return front

    def _load_front_matter(self, event: Any) -> YamlFrontMatter:
        if isinstance(event, yaml.ScalarEvent) and self._load_value(event) is None:
            return YamlFrontMatter({})
        if not isinstance(event, yaml.MappingStartEvent):
            raise YamlError("not a mapping of keys to values", _event_line(event))
        self.left -= 1
        entries: dict[str, YamlEntry] = {}
        while not isinstance(key := self._next_event(), yaml.MappingEndEvent):
            name = self._load_key(key, entries)
            value = self._load_value(self._next_event())
            began, ended = key.start_mark, key.end_mark
            key_end = ended.column if ended.line == began.line else -1
            entries[name] = YamlEntry(value, began.line, began.column, key_end, *self.end)
        behind: Any = key.end_mark
        return YamlFrontMatter(_trim_overlaps(entries, behind.line + (behind.column > 0)), bool(event.flow_style))

    def _load_value(self, event: Any) -> Any:
        if isinstance(event, yaml.ScalarEvent):
            return self._load_scalar(event)
        if self.left == 0:
            raise YamlError("nested too deep", _event_line(event))
        self.left -= 1
        items: list[Any] = []
        mapping: dict[str, Any] = {}
        is_list = isinstance(event, yaml.SequenceStartEvent)
        while not isinstance(event := self._next_event(), yaml.SequenceEndEvent | yaml.MappingEndEvent):
            if is_list:
                items.append(self._load_value(event))
            else:
                key = self._load_key(event, mapping)
                mapping[key] = self._load_value(self._next_event())
        # A flow collection ends with its bracket; a block collection ends with its last item.
        closing: Any = event
        start, mark = closing.start_mark, closing.end_mark
        if (start.line, start.column) != (mark.line, mark.column):
            self.end = (mark.line, mark.column, False)
        self.left += 1
        return items if is_list else mapping

    def _load_key(self, event: Any, taken: dict[str, Any]) -> str:
        if not isinstance(event, yaml.ScalarEvent):
            raise YamlError("a key must be one word", _event_line(event))
        key = str(event.value)
        if key in taken:
            raise YamlError(f"the key {key} stands here twice", _event_line(event))
        return key

    def _load_scalar(self, event: Any) -> Any:
        value, mark = event.value, event.end_mark
        if event.style and event.style in "|>":
            last_row = value.rstrip("\n").rpartition("\n")[2]
            keeps = value.endswith("\n\n") or (value != "" and not last_row.strip())
            self.end = (max(event.start_mark.line, mark.line - (mark.column == 0)), -1, keeps)
        else:
            self.end = (mark.line, mark.column, False)
        return _resolve_plain_word(value) if event.implicit[0] else value

    def _next_event(self) -> Any:
        event = self.get_event()
        if getattr(event, "anchor", None) is not None:
            what = "aliases" if isinstance(event, yaml.AliasEvent) else "anchors"
            raise YamlError(f"{what} are not allowed", _event_line(event))
        if getattr(event, "tag", None) is not None:
            raise YamlError("tags are not allowed", _event_line(event))
        return event


def _trim_overlaps(entries: dict[str, YamlEntry], end: int) -> dict[str, YamlEntry]:
    """Return *entries* cut so that none reaches into the next one or past *end*, the line after the last.

    For a missing value (`? key`) the parser reports the position where it notices: the next token.
    """
    following = [*(entry.line for entry in entries.values()), end][1:]
    for (name, entry), line in zip(entries.items(), following, strict=True):
        if entry.last >= line > entry.line:
            entries[name] = entry._replace(last=line - 1, value_end=-1)
    return entries


def load_yaml(source: str, max_depth: int) -> YamlFrontMatter:
    """Return the entries of *source*; raise YamlError, with a line, if it is not YAML or not allowed."""
    # printable text is never refused; compiling the pattern takes longer than reading most sources
    if not source.replace("\n", "").isprintable() and (strange := re.search(_STRANGE, source)):
        line = len(_LINE_END.findall(source, 0, strange.start())) + 1
        raise YamlError(f"the character U+{ord(strange.group()):04X} cannot stand here as it is", line)
    try:
        front: Any = YAMLHandler().load(source, Loader=partial(_Loader, max_depth=max_depth))
    except yaml.YAMLError as error:
        problem = str(getattr(error, "problem", None) or "not YAML")
        # newer releases of libyaml have a depth limit of their own, which applies before events can be counted
        problem = "nested too deep" if "nesting depth" in problem else problem
        raise YamlError(problem, _find_error_line(error, source)) from None
    return YamlFrontMatter(*front)


def _resolve_plain_word(word: str) -> Any:
    """Return the value of a plain *word*."""
    if word in _MEANINGS:
        return _MEANINGS[word]
    if word[0] not in "-0123456789":
        return word
    # `1.0` and `12` are numbers; `007`, `1_000` and `1.10` stay text because Python would write them differently.
    try:
        number = float(word) if "." in word else int(word)
    except ValueError:
        return word
    return number if repr(number) == word or ("e" in word and repr(number) == word.replace(".0e", "e")) else word


def _find_error_line(error: yaml.YAMLError, source: str) -> int:
    """Return the line to look at: the start of an unclosed construct, else where the parser failed."""
    mark, began = getattr(error, "problem_mark", None), getattr(error, "context_mark", None)
    if mark and began and mark.line >= len(_LINE_END.findall(source)):
        mark = began
    return int(mark.line) + 1 if mark else 1


def _event_line(event: Any) -> int:
    return int(event.start_mark.line) + 1
