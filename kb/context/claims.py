"""Check the claims of records against a project's files: paths, symbols, versions, ports, names of variables.

A claim is checked only where the files can answer: a version where a manifest names it, a port where ports are set.
Lines that say something is gone, and what a record only weighed (alternatives, the way back), claim nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import NamedTuple

from kb.context.manifests import collect_requirements
from kb.records.kinds import resolve_section_name

_WEIGHED_SECTIONS = frozenset({"alternatives", "rollback", "evidence"})
_GONE = re.compile(
    r"\b(?:no longer|not|never|don't|removed?|deleted?|drop(?:ped)?|replaced?|instead of|formerly|used to|was|were|"
    r"deprecated|without|e\.g|for example|for instance|such as)\b|"
    r"不再|不用|不要|禁止|删除|移除|弃用|取代|替换|改为|以前|曾|例如|比如|而非|避免",
    re.IGNORECASE,
)
_HEADING = re.compile(r"#{1,6}[ \t]+(.*)")
_TICKED = re.compile(r"`([^`\n]+)`")
_PATH = re.compile(r"(?<![\w/.:@~-])(?:\./)?((?:[\w.@+-]+/)+[\w.@+-]*[\w*]\.[A-Za-z][\w]{0,7})(?![\w/])")
_URL = re.compile(r"(?<![\w+.-])[\w+.-]++://\S+")
_TICKED_PATH = re.compile(
    r"(?:\./)?((?:[\w.@+-]+/)+[\w.@+*-]*|[\w-]+\.(?:py|js|ts|tsx|go|rs|java|c|h|cpp|rb|sh|sql|toml|ya?ml|json))"
)
_LINE_NUMBER = re.compile(r":\d+(?:-\d+)?$|#L\d+.*$")
_CALL = re.compile(r"(?:[A-Za-z_][\w]*(?:\.|::|->|#))*([A-Za-z_]\w{2,})\([^()`]*\)")
_NAMED_SYMBOL = re.compile(
    r"(?:\b(?:function|method|class|struct|interface|type)|函数|方法|类|接口)[ \t]*`([A-Za-z_][\w.]{2,})`",
    re.IGNORECASE,
)
_VERSION = re.compile(
    r"(?<![\w./+-])([A-Za-z](?:[\w.+-]{0,99}[A-Za-z+])?)[ \t]{0,9}(==|>=|<=|~=|≥|≤|\^|~|@|=|版本|version)?[ \t]{0,9}v?"
    r"([0-9]+(?:\.[0-9]+){0,3})(\+)?(?![\w.:%]|\.[0-9])",
    re.IGNORECASE,
)
_PORT = re.compile(
    r"(?:\bports?|端口)(?:号)?[^\d\n]{0,12}?([1-9][0-9]{1,4})(?!\d|\.\d)|([1-9][0-9]{1,4})[ \t]*(?:端口|\bport\b)|"
    r"(?:localhost|127\.0\.0\.1|0\.0\.0\.0):([1-9][0-9]{1,4})(?!\d)",
    re.IGNORECASE,
)
_ENV = re.compile(r"(?<![\w.])\$?\{?([A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+)\}?(?:=([^\s`\"'，。；,;]+))?")
_ENV_WORD = re.compile(r"\benv(?:ironment)?\b|\bexport\b|环境变量|变量|\$\{?[A-Z]", re.IGNORECASE)

_PORTS = (
    re.compile(r"(?i)port\w{0,40}[\"']?\]?\)?\s{0,20}(?:[:=,]|\|\|)\s{0,20}[\"']?(?:\d+:)?([1-9][0-9]{1,4})(?!\d)"),
    re.compile(r"(?i)\bEXPOSE\s+([1-9][0-9]{1,4})"),
    re.compile(r"(?<![\d.:])[\"']?([1-9][0-9]{1,4}):[1-9][0-9]{1,4}[\"']?\s*$", re.MULTILINE),
    re.compile(r"(?<![\d.:])[\"']?[1-9][0-9]{1,4}:([1-9][0-9]{1,4})[\"']?\s*$", re.MULTILINE),
    re.compile(
        r"(?i)(?:--port[ =]|-p[ ]|localhost:|127\.0\.0\.1:|0\.0\.0\.0:|\.listen\(\s*|[\"']:)([1-9][0-9]{1,4})(?!\d)"
    ),
)
_NAMES = {"postgresql": "postgres", "node.js": "node", "nodejs": "node", "golang": "go", "vue.js": "vue"}
_PROSE_SUFFIXES = (".md", ".rst", ".txt", ".adoc")
_NON_CODE_FILES = frozenset(
    {".gitignore", ".gitattributes", "LICENSE", "mkdocs.yml"}
)  # a repository of records has these too


class Claim(NamedTuple):
    """Something a record says that the files can answer."""

    kind: str  # path, symbol, version, port or env
    said: str
    line: int  # 1-based, in the record's file; 0 for a path of its front
    name: str = ""
    value: str = ""


class ClaimMismatch(NamedTuple):
    """What the files say to a claim that they do not bear out."""

    claim: Claim
    found: str  # what is there instead; "" for nothing
    is_sure: bool = True  # False where the files cannot answer: a person has to look


class ProjectTree:
    """The files of a project: all their names, and the texts that may be read."""

    def __init__(self, files: Iterable[str], texts: Mapping[str, str]) -> None:
        """Take names and texts, both by paths with forward slashes."""
        self.files = frozenset(files)
        self.texts = texts
        self.code = {
            path: text
            for path, text in texts.items()
            if not path.endswith(_PROSE_SUFFIXES) and path not in _NON_CODE_FILES
        }

    @cached_property
    def folders(self) -> frozenset[str]:
        """The folders that hold a file."""
        return frozenset(file[:at] for file in self.files for at in range(len(file)) if file[at] == "/")

    @cached_property
    def ports(self) -> frozenset[str]:
        """The ports that any file configures."""
        return frozenset(port for text in self.code.values() for pattern in _PORTS for port in pattern.findall(text))

    @cached_property
    def versions(self) -> dict[str, tuple[str, str]]:
        """The requirements of the manifests, see `collect_requirements`."""
        return collect_requirements(self.texts)

    def has_path(self, path: str) -> bool:
        """Return whether *path*, from the project's root or from a folder in it, is a file or folder."""
        bare = path.rstrip("/")
        if "*" in bare:
            pattern = re.compile(".*".join(re.escape(part) for part in re.split(r"\*+/?", bare)) + "$")
            return any(pattern.search(file) for file in self.files)
        known = self.files | self.folders
        return bare in known or any(one.endswith(f"/{bare}") for one in known)

    def has_word(self, word: str) -> bool:
        """Return whether *word* stands by itself in any text that is not prose."""
        pattern = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)")
        return any(word in text and pattern.search(text) for text in self.code.values())


# -- what is claimed ------------------------------------------------------------------------------


def extract_claims(text: str, impact: Iterable[str] = ()) -> list[Claim]:
    """Return what the file *text* of a record, whose front names *impact*, claims."""
    found = [Claim("path", path, 0, path) for path in impact if "://" not in path and not path.startswith(("/", "~"))]
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if heading := _HEADING.match(line):
            section = resolve_section_name(heading.group(1))
        elif section and section not in _WEIGHED_SECTIONS and not _GONE.search(line):
            found += _extract_line_claims(line, number, impact=section == "impact")
    seen: dict[tuple[str, str, str], Claim] = {}
    for claim in found:
        seen.setdefault((claim.kind, claim.name, claim.value), claim)
    return list(seen.values())


def _extract_line_claims(line: str, number: int, *, impact: bool) -> Iterator[Claim]:
    ticked = _TICKED.findall(line)
    bare = [_LINE_NUMBER.sub("", each.strip()) for each in ticked]
    paths = [match.group(1) for each in bare if (match := _TICKED_PATH.fullmatch(each))]
    paths += _PATH.findall(_URL.sub(" ", _TICKED.sub(" ", line)))
    yield from (Claim("path", path, number, path) for path in dict.fromkeys(paths) if not path.startswith("../"))
    for name in [m.group(1) for t in ticked if (m := _CALL.fullmatch(t.strip()))] + _NAMED_SYMBOL.findall(line):
        yield Claim("symbol", name, number, name.rpartition(".")[2])
    for name, operator, version, more in _VERSION.findall(line):
        said = f"{name} {operator}{version}{more}".replace("  ", " ")
        yield Claim("version", said, number, name, (">=" if more or operator in (">=", "≥") else "") + version)
    for groups in _PORT.findall(line):
        port = next(filter(None, groups))
        yield Claim("port", f"port {port}", number, port)
    if impact:
        return
    # HTTP_OK in a sentence is a word; in code, or beside “environment” / 环境变量, it is a variable.
    spoken = _ENV_WORD.search(line)
    for name, value in _ENV.findall(line if spoken else " ".join(ticked)):
        yield Claim("env", f"{name}={value}" if value else name, number, name, value)


# -- what the files answer ------------------------------------------------------------------------


def find_mismatches(claims: Iterable[Claim], tree: ProjectTree) -> Iterator[ClaimMismatch]:
    """Yield for each of *claims* that *tree* does not bear out what it says instead."""
    for claim in claims:
        if mismatch := _CHECKS[claim.kind](claim, tree):
            yield mismatch


def _check_path(claim: Claim, tree: ProjectTree) -> ClaimMismatch | None:
    path = _LINE_NUMBER.sub("", claim.name)
    if tree.has_path(path) or (path.startswith(".") and path.partition("/")[0] not in tree.folders):
        return None  # what a program makes at work is in no tree
    moved = sorted(file for file in tree.files if file.rpartition("/")[2] == path.rpartition("/")[2])
    return ClaimMismatch(claim, moved[0] if len(moved) == 1 else "")


def _check_version(claim: Claim, tree: ProjectTree) -> ClaimMismatch | None:
    name = claim.name.lower().replace("_", "-")
    known = tree.versions.get(name) or tree.versions.get(_NAMES.get(name, name))
    if known is None or _is_compatible_version(claim.value, *known):
        return None
    return ClaimMismatch(claim, f"{claim.name} {known[0]}{known[1]}")


def _check_port(claim: Claim, tree: ProjectTree) -> ClaimMismatch | None:
    if claim.name in tree.ports or any(re.search(rf"(?<!\d){claim.name}(?!\d)", t) for t in tree.code.values()):
        return None
    return ClaimMismatch(claim, ", ".join(sorted(tree.ports, key=int)[:5]), is_sure=bool(tree.ports))


def _check_word(claim: Claim, tree: ProjectTree) -> ClaimMismatch | None:
    return None if tree.has_word(claim.name) else ClaimMismatch(claim, "", is_sure=bool(tree.code))


def _check_env(claim: Claim, tree: ProjectTree) -> ClaimMismatch | None:
    pattern = re.compile(rf"(?m)(?<!\w){claim.name}[\"']?\s*[:=]\s*[\"']?([^\s\"'#,;]+)")
    values = {value.rstrip(".)") for text in tree.code.values() for value in pattern.findall(text)}
    # What a program fills in (`$(…)`, `{…}`) may be any value.
    if not claim.value or not values or claim.value.rstrip(".)") in values or any(v[:1] in "$(<{" for v in values):
        return _check_word(claim, tree)
    return ClaimMismatch(claim, ", ".join(sorted(values)[:3]))


_CHECKS = {
    "path": _check_path,
    "symbol": _check_word,
    "version": _check_version,
    "port": _check_port,
    "env": _check_env,
}


def _is_compatible_version(claimed: str, operator: str, version: str) -> bool:
    """Return whether a record that says *claimed* ("3.11" or ">=3.11") and a manifest can both be right."""
    said, least = (tuple(int(part) for part in each.lstrip(">=").split(".")) for each in (claimed, version))
    # “Python 3” and “==3.11.4” agree: only the parts that both name are compared.
    size = min(len(said), len(least))
    if said[:size] == least[:size]:
        return True
    if claimed.startswith(">="):
        return least >= said
    if operator in ("^", "~", "~="):
        return said > least and said[0] == least[0] and (operator == "^" or said[:2] == least[:2] or len(least) < 3)
    return said > least if operator == ">=" else said < least if operator == "<=" else False
