"""Parse a shell command: the simple commands in it, their arguments, and their redirections.

Not a shell, and not meant to become one: it finds what a person would see at a glance, through quotes, `cd` and
variables. What is only known when it runs is `UNKNOWN`; what really changed is looked at after the call.
"""

from __future__ import annotations

from collections.abc import Mapping

from kb.startup.lazy_regex import DOTALL, regex
from kb.startup.namedtuple import NamedTuple

UNKNOWN = "\0"
"""Replaces the part of a word that is only known when the command runs."""
MAX_SHELL_CHARACTERS = 100_000
"""Characters that are read. What follows them is not told before a call; its files are compared after it."""
_MAX_WORD_CHARACTERS = 8_000
"""Characters of a word, and of the value of a variable: `A=$A$A` doubles with every turn."""
_MAX_COMMANDS = 2_000
"""Simple commands that are looked at."""
_MAX_DEPTH = 8
_ASSIGNMENT = regex(r"([A-Za-z_][A-Za-z0-9_]*)\+?=(.*)", DOTALL)
_KEYWORDS = frozenset("if then else elif do while until ! { } time fi done exec command builtin nohup setsid".split())
_EXPANSION_PATTERN = r"(?P<inside>\$\(|`%s)|(?P<variable>\$(?:\{[^}]{0,80}\}?|[A-Za-z_][A-Za-z0-9_]*|[@*#?!0-9-]))"
_TOKEN = regex(
    r"(?P<nothing>\\\n|\$(?=\")|(?<![^\s;&|()])#[^\n]*)|(?P<gap>[ \t\r]+|\d?[<>]&[\d-])|(?P<single>'[^']*'?)"
    r"|(?P<spelled>\$'(?:[^'\\]|\\[\s\S])*'?)"
    r"|(?P<double>\")|(?P<here>\d?<<-?[ \t]*[\\'\"]?(?P<mark>[\w.-]+)['\"]?)|" + _EXPANSION_PATTERN % r"|[<>]\("
    + r"|(?P<into>(?:\d|&)?>[>|&]?)|(?P<given>\d?<<<)|(?P<source>\d?<>?)|(?P<end>&&|\|\||;;|\|&|[;\n&|()])"
    r"|(?P<escaped>\\[\s\S]?)|(?P<run>[^\s\d'\"\\$`<>|&;()#]+|[\s\S])"
)  # fmt: skip
_QUOTED_TOKEN = regex(_EXPANSION_PATTERN % "" + r"|(?P<escaped>\\[\"\\$`\n])|(?P<run>[^\"\\$`]+|[\s\S])")
_BRACKET = regex(r"\\[\s\S]|'[^']*'|\"(?:[^\"\\]|\\[\s\S])*\"|[()`]")


class ShellCommand(NamedTuple):
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


def parse_commands(text: str, known: Mapping[str, str] | None = None) -> list[ShellCommand]:
    """Return the simple commands in *text*; *known* are variables and their values."""
    return _ShellParser(dict(known or {}), "", 0).read(text[:MAX_SHELL_CHARACTERS])


class _ShellParser:
    """Reads one text; the text of `$(…)` is read by another with the same variables."""

    def __init__(self, known: dict[str, str], folder: str, depth: int) -> None:
        self.known, self.folder, self.depth = known, folder, depth
        self.found: list[ShellCommand] = []
        self.heres: list[str] = []
        """The marks of the here-documents that begin after this line."""
        self.before: tuple[str, ...] = ()
        self.outside: list[str] = []
        """The folders of the brackets around."""
        self.word: str | None = None
        self.words: list[str] = []
        self.files: dict[str, list[str]] = {"into": [], "source": [], "given": []}
        self.target = ""
        """Which of *files* the next word is one of; "" for none."""

    def read(self, text: str) -> list[ShellCommand]:
        """Return the simple commands in *text*."""
        at = 0
        while at < len(text) and len(self.found) < _MAX_COMMANDS:
            found = _TOKEN.match(text, at)
            assert found
            kind, token, at = found.lastgroup or "", found.group(), found.end()
            if kind in ("gap", "here", *self.files):
                self._end_word()
            if kind == "here":
                self.heres.append(found["mark"])
            elif kind in self.files:
                self.target = kind
            elif kind == "single":
                self._append_text(token[1:].removesuffix("'"))
            elif kind == "spelled":
                self._append_text(token[2:].removesuffix("'").replace("\\n", "\n"))
            elif kind == "double":
                self._append_text("")
                while at < len(text) and text[at] != '"':
                    found = _QUOTED_TOKEN.match(text, at)
                    assert found
                    at = self._read_token(found.lastgroup or "", found.group(), text, found.end())
                at += 1
            elif kind == "end":
                self._end_command(token)
                at = self._read_heredocs(text, at) if token == "\n" else at
            else:
                at = self._read_token(kind, token, text, at)
        self._end_command("")
        return self.found

    def _read_token(self, kind: str, token: str, text: str, at: int) -> int:
        """Take what means the same within quotes and without, and return where the next thing stands."""
        if kind == "run":
            self._append_text(token)
        elif kind == "escaped":
            self._append_text(token[1:].replace("\n", ""))
        elif kind == "variable":
            self._append_text(self.known.get(token.strip("${}"), UNKNOWN))
        elif kind == "inside":
            end = _find_closing(text, at, "`" if token == "`" else ")")
            self._append_text(UNKNOWN)
            if self.depth < _MAX_DEPTH:
                self.found += _ShellParser(dict(self.known), self.folder, self.depth + 1).read(text[at:end])
            return end + 1
        return at

    def _append_text(self, piece: str) -> None:
        word = self.word or ""
        self.word = word + piece[: _MAX_WORD_CHARACTERS - len(word)]

    def _end_word(self) -> None:
        """End the word that is being read."""
        word, self.word = self.word, None
        if word is None:
            return
        if self.target:
            self.files[self.target].append(word)
        elif not self.words and (assigned := _ASSIGNMENT.fullmatch(word)):
            self.known[assigned.group(1)] = assigned.group(2)
        elif self.words or word not in _KEYWORDS:
            self.words.append(word)
        self.target = ""

    def _end_command(self, mark: str) -> None:
        """End the command that is being read, by *mark*."""
        self._end_word()
        words, (into, source, given) = tuple(self.words), map(tuple, self.files.values())
        if words or into or source:
            self.found.append(ShellCommand(words, self.folder, into, source, "\n".join(given), self.before))
        if words[:1] in (("cd",), ("pushd",)):
            path = next((word for word in words[1:] if not word.startswith("-")), self.known.get("HOME", UNKNOWN))
            is_whole = path.startswith(("/", "~", UNKNOWN)) or not self.folder
            self.folder = path if is_whole else f"{self.folder}/{path}"
        if mark == "(":  # `(cd sub; rm x); rm y` removes sub/x and y
            self.outside.append(self.folder)
        elif mark == ")" and self.outside:
            self.folder = self.outside.pop()
        self.before = (*self.before, *words) if mark in ("|", "|&") else () if words else self.before
        self.words, self.files, self.target = [], {kind: [] for kind in self.files}, ""

    def _read_heredocs(self, text: str, at: int) -> int:
        """Take the here-documents that begin at *at*, and return what follows them."""
        for mark in self.heres:
            rows = []
            while at < len(text):
                end = text.find("\n", at)
                row, at = (text[at:], len(text)) if end < 0 else (text[at:end], end + 1)
                if row.strip() == mark:
                    break
                rows.append(row)
            if self.found:
                self.found[-1] = self.found[-1]._replace(given="\n".join(rows))
        self.heres = []
        return at


def _find_closing(text: str, at: int, mark: str) -> int:
    """Return where the bracket or backtick *mark* closes what is open at *at*; the end of *text* where it does not."""
    depth = 0
    for found in _BRACKET.finditer(text, at):
        sign = found.group()
        if sign == mark and (mark == "`" or not depth):
            return found.start()
        depth += {"(": 1, ")": -1}.get(sign, 0)
    return len(text)
