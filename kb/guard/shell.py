"""Parse a shell command: the simple commands in it, their arguments, and their redirections.

This is not a shell: it finds what a person would see at a glance, with quotes, `cd` and variables. Values known only
at run time are `UNKNOWN`; actual changes are detected after the call.
"""

from __future__ import annotations

from collections.abc import Mapping

from kb.startup.lazy_regex import DOTALL, regex
from kb.startup.namedtuple import NamedTuple

UNKNOWN = "\0"
"""Replaces the part of a word that is only known when the command runs."""
MAX_SHELL_CHARACTERS = 100_000
"""Maximum characters to parse; effects of the rest are only detected after the call."""
_MAX_WORD_CHARACTERS = 8_000
"""Characters of a word, and of the value of a variable: `A=$A$A` doubles with every turn."""
_MAX_COMMANDS = 2_000
"""Maximum number of simple commands to parse."""
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
    """The folder it runs in, after `cd`; "" for the folder of the call."""
    writes: tuple[str, ...] = ()
    """Files its output is redirected to."""
    reads: tuple[str, ...] = ()
    """Files its input is redirected from."""
    given: str = ""
    """Text on its stdin."""
    before: tuple[str, ...] = ()
    """The words of the command piped into it."""


def parse_commands(text: str, known: Mapping[str, str] | None = None) -> list[ShellCommand]:
    """Return the simple commands in *text*; *known* are variables and their values."""
    return _ShellParser(dict(known or {}), "", 0).read(text[:MAX_SHELL_CHARACTERS])


class _ShellParser:
    """Parses one text; `$(…)` is parsed by another parser with the same variables."""

    def __init__(self, known: dict[str, str], folder: str, depth: int) -> None:
        self.known, self.folder, self.depth = known, folder, depth
        self.found: list[ShellCommand] = []
        self.heres: list[str] = []
        """The delimiters of the here-documents that begin after this line."""
        self.before: tuple[str, ...] = ()
        self.outside: list[str] = []
        """The folders to return to after each closing bracket."""
        self.word: str | None = None
        self.words: list[str] = []
        self.files: dict[str, list[str]] = {"into": [], "source": [], "given": []}
        self.target = ""
        """The redirection that the next word belongs to, or ""."""

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
        """Handle a token that means the same inside and outside of quotes; return the offset after it."""
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
        """End the current word."""
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
        """End the current command at *mark*."""
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
        """Read the here-documents that begin at *at*; return the offset after them."""
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
    """Return the offset of the bracket or backtick *mark* that closes the one at *at*, or the end of *text*."""
    depth = 0
    for found in _BRACKET.finditer(text, at):
        sign = found.group()
        if sign == mark and (mark == "`" or not depth):
            return found.start()
        depth += {"(": 1, ")": -1}.get(sign, 0)
    return len(text)
