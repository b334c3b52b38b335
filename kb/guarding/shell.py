"""Read a shell command: the simple commands in it, what they are given, and where their output goes.

Not a shell: what is only known when it runs (`$(…)`, a variable nobody has set) is `UNKNOWN` in a word. It is read for
what it may touch, so that a quote, a `cd` or a variable does not hide a path.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from kb.patterns import DOTALL, regex
from kb.values import NamedTuple

UNKNOWN = "\0"
"""Stands in a word for what is only known when the command runs."""
MOST = 100_000
"""Characters that are read. What stands behind them is not told before a call; its files are compared after it."""
_LONGEST = 8_000
"""Characters of a word, and of the value of a variable: `A=$A$A` doubles with every turn."""
_MANY = 2_000
"""Simple commands that are looked at."""
_DEEP = 8
_NAME = regex(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNED = regex(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", DOTALL)
_KEYWORDS = frozenset({"if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "(", ")", "time", "fi",
                       "done", "coproc", "exec", "command", "builtin", "nohup", "setsid", "function"})  # fmt: skip
_ENDS = ("&&", "||", ";;", ";", "\n", "&", "|&", "|", "(", ")")
_OUT = regex(r"(?:\d*|&)>(?:>|\||&(?!\d|-))?")
_DUPLICATED = regex(r"\d*[<>]&(?:\d+|-)")
_SPELLED = regex(r"\\(?:x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{1,4})|U([0-9a-fA-F]{1,8})|([0-7]{1,3})|([\s\S]))")
_HERE = regex(r"\d*<<(-?)[ \t]*(\\?)(['\"]?)([^\s'\"<>|;&()]+)\3")


class Command(NamedTuple):
    """One simple command."""

    words: tuple[str, ...]
    folder: str = ""
    """Where it runs, as `cd` before it said; "" for where the call runs."""
    writes: tuple[str, ...] = ()
    """Files that its output is sent to."""
    reads: tuple[str, ...] = ()
    """Files that its input comes from."""
    given: str = ""
    """Text that it is given on its input."""
    before: tuple[str, ...] = ()
    """The words of the command whose output it is given."""


def commands(text: str, known: Mapping[str, str] | None = None) -> list[Command]:
    """Return the simple commands in *text*; *known* are variables and their values."""
    reader = _Reader(dict(known or {}), "", 0)
    reader.read(text[:MOST])
    return reader.found


class _Reader:
    """Reads one text; what stands in `$(…)` is read by another with the same variables."""

    def __init__(self, known: dict[str, str], folder: str, depth: int) -> None:
        self.known, self.folder, self.depth = known, folder, depth
        self.found: list[Command] = []
        self._clear()
        self._before: tuple[str, ...] = ()
        self._outside: list[str] = []

    def _clear(self) -> None:
        self.words: list[str] = []
        self.writes: list[str] = []
        self.inputs: list[str] = []
        self.given = ""
        self.word: str | None = None
        self.target = ""

    def read(self, text: str) -> None:
        """Read *text* to its end."""
        at = 0
        self._heres: list[str] = []
        while at < len(text) and len(self.found) < _MANY:
            at = self._step(text, at)
        self._end("")

    def _step(self, text: str, at: int) -> int:
        """Take what stands at *at* and return where the next thing stands."""
        sign = text[at]
        if sign in " \t\r":
            self._close()
            return at + 1
        if sign == "#" and self.word is None:
            end = text.find("\n", at)
            return len(text) if end < 0 else end
        if sign == "\\":
            if text[at + 1 : at + 2] != "\n":
                self._add(text[at + 1 : at + 2])
            return at + 2
        if sign in "'\"":
            return self._quoted(text, at)
        if text.startswith("$'", at):
            return self._spelled(text, at + 2)
        if sign == "$" or sign == "`":
            return self._expanded(text, at)
        if sign in "<>" or (sign in "&0123456789" and self.word is None and _OUT.match(text, at)):
            return self._redirected(text, at)
        if self.word is None and (here := _HERE.match(text, at)):
            return self._here(here)
        for mark in _ENDS:
            if text.startswith(mark, at):
                self._end(mark)
                return self._behind(text, at + len(mark)) if mark == "\n" else at + len(mark)
        self._add(sign)
        return at + 1

    def _add(self, piece: str) -> None:
        word = self.word or ""
        self.word = word + piece if len(word) + len(piece) <= _LONGEST else word

    def _close(self) -> None:
        """End the word that is being read."""
        if self.word is None:
            return
        word, self.word = self.word, None
        if self.target == ">":
            self.writes.append(word)
        elif self.target == "<":
            self.inputs.append(word)
        elif self.target == "<<<":
            self.given = word
        elif not self.words and (assigned := _ASSIGNED.fullmatch(word)):
            self.known[assigned.group(1)] = assigned.group(2)
        elif not (not self.words and word in _KEYWORDS):
            self.words.append(word)
        self.target = ""

    def _end(self, by: str) -> None:
        """End the command that is being read."""
        self._close()
        words = tuple(self.words)
        if words[:1] in (("for",), ("select",)) and len(words) > 3:
            self.known[words[1]] = words[3]
            words = ()
        elif words[:1] in (("export",), ("local",), ("declare",), ("readonly",)):
            for word in words[1:]:
                if assigned := _ASSIGNED.fullmatch(word):
                    self.known[assigned.group(1)] = assigned.group(2)
        if words or self.writes or self.inputs:
            self.found.append(Command(words, self.folder, tuple(self.writes), tuple(self.inputs), self.given,
                                      self._before))  # fmt: skip
        if words[:1] in (("cd",), ("pushd",)):
            named = [word for word in words[1:] if not word.startswith("-")]
            self.folder = _joined(self.folder, named[0] if named else self.known.get("HOME", UNKNOWN))
        if by == "(":
            self._outside.append(self.folder)
        elif by == ")" and self._outside:
            self.folder = self._outside.pop()
        if by in ("|", "|&"):
            self._before = (*self._before, *words)
        elif words:
            self._before = ()
        self._clear()

    def _quoted(self, text: str, at: int) -> int:
        mark = text[at]
        self._add("")
        at += 1
        while at < len(text) and text[at] != mark:
            if mark == '"' and text[at] == "\\" and text[at + 1 : at + 2] in ('"', "\\", "$", "`", "\n"):
                self._add(text[at + 1] if text[at + 1] != "\n" else "")
                at += 2
            elif mark == '"' and text[at] in "$`":
                at = self._expanded(text, at)
            else:
                self._add(text[at])
                at += 1
        return at + 1

    def _spelled(self, text: str, at: int) -> int:
        """Take what stands in `$'…'`, where characters may be told by their numbers."""
        end = at
        while end < len(text) and text[end] != "'":
            end += 2 if text[end] == "\\" else 1
        self._add(_SPELLED.sub(_character, text[at:end]))
        return end + 1

    def _expanded(self, text: str, at: int) -> int:
        """Take a `$` or a backtick: a variable that is known, or something unknown; commands inside are read."""
        if text[at] == "`":
            return self._inside(text, at + 1, _closing(text, at + 1, "`"))
        if text.startswith("$((", at):
            self._add(UNKNOWN)
            return _closing(text, at + 2, ")") + 1
        if text.startswith("$(", at):
            return self._inside(text, at + 2, _closing(text, at + 2, ")"))
        if text.startswith("$'", at) or text.startswith('$"', at):
            return at + 1
        if text.startswith("${", at):
            end = _closing(text, at + 2, "}")
            self._add(self._value(text[at + 2 : end]))
            return end + 1
        if name := _NAME.match(text, at + 1):
            self._add(self.known.get(name.group(), UNKNOWN))
            return name.end()
        self._add(UNKNOWN if text[at + 1 : at + 2] in "@*#?-!0123456789" else "$")
        return at + 2 if text[at + 1 : at + 2] in "@*#?-!0123456789" else at + 1

    def _value(self, inside: str) -> str:
        name = _NAME.match(inside)
        if not name:
            return UNKNOWN
        if name.group() in self.known and name.end() == len(inside):
            return self.known[name.group()]
        rest = inside[name.end() :]
        default = rest[2:] if rest[:2] in (":-", ":=") else ""
        return self.known.get(name.group(), default or UNKNOWN) if default else UNKNOWN

    def _inside(self, text: str, start: int, end: int) -> int:
        """Read the commands between *start* and *end*: what they print is not known."""
        self._add(UNKNOWN)
        if self.depth < _DEEP:
            inner = _Reader(dict(self.known), self.folder, self.depth + 1)
            inner.read(text[start:end])
            self.found += inner.found
            if len(inner.found) == 1 and inner.found[0].words[:1] in (("echo",), ("printf",)) and self.word:
                self.word = self.word[: -len(UNKNOWN)] + " ".join(inner.found[0].words[1:])
        return end + 1

    def _redirected(self, text: str, at: int) -> int:
        if double := _DUPLICATED.match(text, at):
            self._close()
            return double.end()
        if text[at + 1 : at + 2] == "(" and text[at] in "<>":
            return self._inside(text, at + 2, _closing(text, at + 2, ")"))
        if self.word is not None and not self.word.isdigit():
            self._close()
        self.word = None
        if text.startswith("<<<", at):
            self.target = "<<<"
            return at + 3
        if here := _HERE.match(text, at):
            return self._here(here)
        out = _OUT.match(text, at)
        self.target = ">" if out else "<"
        return out.end() if out else at + (2 if text.startswith("<>", at) else 1)

    def _here(self, here: re.Match[str]) -> int:
        self._close()
        self._heres.append(here.group(4))
        return here.end()

    def _behind(self, text: str, at: int) -> int:
        """Take the here-documents that begin at *at*, and return what stands behind them."""
        for mark in self._heres:
            rows = []
            while at < len(text):
                end = text.find("\n", at)
                row, at = (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)
                if row.strip() == mark:
                    break
                rows.append(row)
            if self.found:
                self.found[-1] = self.found[-1]._replace(given="\n".join(rows))
        self._heres = []
        return at


def _character(spelled: re.Match[str]) -> str:
    *hexadecimal, octal, sign = spelled.groups()
    if sign:
        return {"n": "\n", "r": "\r", "t": "\t"}.get(sign, sign)
    number = int(octal, 8) if octal else int(next(filter(None, hexadecimal)), 16)
    return chr(number) if number < 0x110000 else UNKNOWN


def _closing(text: str, at: int, mark: str) -> int:
    """Return where the bracket or backtick *mark* closes what is open at *at*; the end of *text* where it does not."""
    opening = {")": "(", "}": "{"}.get(mark, "")
    depth, quote = 0, ""
    while at < len(text):
        sign = text[at]
        if sign == "\\":
            at += 1
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "'\"" and mark != "`":
            quote = sign
        elif sign == mark and not depth:
            return at
        elif sign == mark:
            depth -= 1
        elif sign == opening:
            depth += 1
        at += 1
    return len(text)


def _joined(folder: str, path: str) -> str:
    """Return *path* as seen from *folder*."""
    return path if path.startswith(("/", "~", UNKNOWN)) or not folder else f"{folder}/{path}"
