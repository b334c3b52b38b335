"""Find what a sentence mentions: paths, rejected alternatives, and its subject without the introductory words.

Word patterns run on text whose code spans are blanked (`blank_code`), so that identifiers do not count as words.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable

from kb.startup.lazy_regex import regex
from kb.text.segment import one_line

_CODE = regex(r"`[^`\n]*`")
_WORDS_OF_PATH = r"(?<![\w/.:@~-])(?:/|\./)?[\w.@-]+(?:/[\w.@-]+)*"
_PATH = regex(_WORDS_OF_PATH + r"(?![\w/])")
_NAMED = regex(_WORDS_OF_PATH + r"/?(?!\w)")
_EXTENSION = regex(r"\.[A-Za-z][A-Za-z0-9]{0,9}(?::\d+)?$")
_URL = regex(r"(?<!\w)\w++://\S+")
_DOCUMENT = regex(
    r"\.(?:md|mdx|rst|adoc|txt|png|jpe?g|svg|gif|puml|drawio|pdf)$|(?:^|/)(?:docs?|adrs?)/$", re.IGNORECASE
)
_INSTEAD = regex(
    r"(?i)(?:\b(?:instead of|rather than)\s+|而不是|而非|代替|替代|取代"
    r"|\b(?:cho(?:ose|se|sen|osing)|prefer\w{0,3}|pick\w{0,3}|select\w{0,3}|favou?r\w{0,3}|opt\w{0,3}|adopt\w{0,3}"
    r"|us(?:e|es|ed|ing)|keep\w{0,3}|kept|stor(?:e|es|ed|ing))\b[^.;。；]{1,80}?\bover\s+"
    r"(?!(?:the )?(?:time|https?|tcp|tls|network|wire|internet|years?|course|next|last)\b|\d))"
    r"\s*+(?!(?:for|in|on|at|to|of|by|with|from)\s)(?P<other>[^,，。；;()（）]{1,120}?)"
    r"(?=[,，。；;()（）]|\s(?:because|since|for|so|to|as|due|given|in order)\b|因为|由于|[.!]?\s{0,9}$)"
)
"""A rejected alternative: “chose Postgres over MySQL”, “用 Redis 而不是 Memcached”; not “over HTTP”, “over time”,
“rather than for a name”."""

_ADVERBS = r"(?:(?:also|already|finally|deliberately|explicitly|therefore|ultimately|both|all|jointly|then|now)\s+)*"
_TITLE_LEAD = regex(
    r"^\W*(?:(?:so|therefore|thus|hence|finally|ultimately|in the end|as agreed|after [^,]{0,40}),?\s{1,9}){0,3}"
    r"(?:(?:we|i|the team)(?:'ve|’ve| have|'d|’d| had)?\s+" + _ADVERBS + r"(?:"
    r"(?P<not>(?:decided|chose|opted|agreed|elected)\s+(?:not to|to not)\s+)"
    r"|(?P<bare>(?:decided|chose|opted|agreed|elected)\s+to\s+|(?:decided|agreed)\s+that\s+)"
    r"|(?P<use>(?:decided on|went with|settled on|opted for|standardi[sz]ed on)\s+)"
    r"|(?P<verb>adopted|chose|picked|rejected|selected|switched|moved)\s+)"
    r"|(?P<passive>(?:it (?:was|has been|is)\s+" + _ADVERBS + r"(?:decided|agreed)\s+(?:to|that)"
    r"|the decision (?:is|was) (?:to|that))\s+))",
    re.IGNORECASE,
)
_TITLE_LEAD_ZH = regex(
    r"^[^\w`]*(?:(?:所以|因此|于是|最终|最后|经过?[^，,]{0,20}(?:讨论|对比|评估|权衡)(?:之后|后)?)[，,]?\s*)*"
    r"(?:(?:我们|团队|大家|咱们|我)(?:已经|已|都|最终|最后|一致|现在|共同)*"
    r"(?:(?:决定|约定|商定|同意)(?:了)?[，,:：]?|(?=(?:选择|选定|选用|采用|改用|弃用|放弃|统一|不再)))"
    r"|(?:已经|已|最终|最后|一致)*(?:决定(?!性|权|因素|论|于)|约定|商定)(?:了)?[，,:：]?)\s*(?=\S)"
)
_PRESENT = {
    "adopted": "Adopt",
    "chose": "Choose",
    "picked": "Choose",
    "rejected": "Reject",
    "selected": "Choose",
    "switched": "Switch",
    "moved": "Move",
}
_GERUND = regex(r"\w+ing\b")


_LEADS = (
    *("decid", "decision", "chose", "opted", "agreed", "elected", "went with", "settled", "standardi", "adopted"),
    *("rejected", "switched", "moved", "picked", "selected", "我", "咱们", "团队", "大家", "决定", "约定", "商定"),
)
_OTHERS = ("instead of", "rather than", "over", "而不是", "而非", "代替", "替代", "取代")


def remove_title_lead(title: str) -> str:
    """Return *title* without its introduction: “We've decided to use Redis” → “Use Redis”, 我们决定用缓存 → 用缓存.

    “Chose X” becomes “Use X”, “decided against X” becomes “Do not X”. A title that is only an introduction stays.
    """
    plain = title.lower()
    if not any(word in plain for word in _LEADS):  # most titles need neither of the two long patterns
        return title
    match = _TITLE_LEAD.match(title)
    if match is None:
        match = _TITLE_LEAD_ZH.match(title)
        rest = re.sub(r"^(选择|选定|选用|采用|改用|弃用|放弃)了", r"\1", title[match.end() :]) if match else ""
        return rest if len(rest) > 3 else title
    rest = title[match.end() :]
    # "opted for batching requests": an activity, not a tool to use
    lead = "Do not " if match["not"] else "Use " if match["use"] and not _GERUND.match(rest) else ""
    lead = f"{_PRESENT[match['verb'].lower()]} " if match["verb"] else lead
    if len(rest.split()) < 2 and not lead:
        return title
    return lead + rest if lead else rest[:1].upper() + rest[1:]


def blank_code(text: str) -> str:
    """Return *text* with the contents of its code spans blanked, at the same length."""
    if "`" not in text:
        return text
    return _CODE.sub(lambda match: "`" + "x" * (len(match.group()) - 2) + "`", text)


def strip_markdown(text: str) -> str:
    """Return *text* on one line without Markdown emphasis and the final full stop."""
    line = one_line(re.sub(r"\*\*|__", "", text) if "**" in text or "__" in text else text)
    return line.strip(" \t*").rstrip("。.；;，,：:").strip()


def remove_code(text: str) -> str:
    """Return *text* with each code span replaced by a space."""
    return _CODE.sub(" ", text)


def find_paths(text: str, cwd: str = "", known: Iterable[str] = ()) -> tuple[str, ...]:
    """Return up to eight file paths named in *text*, relative to *cwd*.

    A path has an extension and a slash, or is the name of exactly one of the *known* paths; URLs do not count.
    """
    by_name: dict[str, set[str]] = {}
    for path in known:
        by_name.setdefault(path.rpartition("/")[2], set()).add(path)
    paths: list[str] = []
    for match in _PATH.finditer(_URL.sub(" ", text)):
        path = make_relative(match.group().rstrip("."), cwd)
        named = by_name.get(path, set())
        if "/" not in path and len(named) == 1:
            path = next(iter(named))
        if (
            path
            and "/" in path
            and not path.startswith(("/", "../", ".git/"))
            and _EXTENSION.search(path)
            and path not in paths
        ):
            paths.append(path)
    return tuple(paths[:8])


def find_existing_paths(text: str, list_files: Callable[[], Iterable[str]], folder: str = "") -> tuple[str, ...]:
    """Return up to eight files and folders of the project that *text* names, as paths from the project's top.

    *list_files* returns every file from the project's top; it is called only if *text* may have a path. A name is a
    path from the top, one from *folder* (`../src/pay.py` in a document), the end of exactly one path, or the name
    of exactly one file. Documents and images are links, not subjects of a record.
    """
    names = [match.group().rstrip(".") for match in _NAMED.finditer(_URL.sub(" ", text))]
    names = [re.sub(r":\d+$", "", name) for name in names if "/" in name or _EXTENSION.search(name)]
    if not names:
        return ()
    by_name: dict[str, list[str]] = {}
    folders: set[str] = set()
    for file in list_files():
        by_name.setdefault(file.rpartition("/")[2], []).append(file)
        folders.update(file[:at] for at, letter in enumerate(file) if letter == "/")
    paths: dict[str, None] = {}
    for name in names:
        plain = posixpath.normpath(posixpath.join(folder, name) if name.startswith(("./", "../")) else name).lstrip("/")
        among = by_name.get(plain.rpartition("/")[2], [])
        ends = [file for file in among if file == plain or file.endswith("/" + plain)]
        if plain in folders and "/" in plain:
            paths[plain + "/"] = None
        elif exact := [file for file in ends if file == plain] or (ends if len(ends) == 1 else []):
            paths[exact[0]] = None
    return tuple(path for path in paths if not is_document(path))[:8]


def find_missing_paths(paths: Iterable[str], list_files: Callable[[], Iterable[str]]) -> list[str]:
    """Return those of *paths* that are neither a file nor a folder of the project, except patterns and URLs.

    *list_files* returns every file from the project's top; if it returns none, nothing is reported as missing.
    """
    plain = {path: posixpath.normpath(path.replace("\\", "/")) for path in paths if not re.search(r"[*?\[]|://", path)}
    known = [file + "/" for file in list_files()] if plain else []
    return [path for path, bare in plain.items() if known and bare != "." and not _begins_any(f"{bare}/", known)]


def _begins_any(start: str, files: Iterable[str]) -> bool:
    return any(file.startswith(start) for file in files)


def is_document(path: str) -> bool:
    """Return whether *path* is prose or an image: decisions are written in such files, not about them."""
    return _DOCUMENT.search(path) is not None


def make_relative(path: str, cwd: str) -> str:
    """Return *path* relative to *cwd* with forward slashes if it is below *cwd*, otherwise unchanged."""
    path, root = path.replace("\\", "/"), cwd.replace("\\", "/").rstrip("/")
    if root and path.startswith(root + "/"):
        return path[len(root) + 1 :]
    return path.removeprefix("./")


def find_alternative(sentence: str) -> str:
    """Return what *sentence* says was rejected ("over Flask", "而不是 MySQL"), or ""."""
    plain = sentence.lower()
    match = _INSTEAD.search(blank_code(sentence)) if any(word in plain for word in _OTHERS) else None
    return strip_markdown(sentence[slice(*match.span("other"))]) if match else ""
