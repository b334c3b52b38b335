"""Turn AsciiDoc and reStructuredText into the markdown that decision records are read from (see `adr`).

What matters for a record is kept: headings, fields, lists, links to other records, code, quotes, tables. What the other
language can say beyond that (includes, substitutions of text elsewhere, roles) is left as its words.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from kb.text.segment import split_lines

ASCIIDOC = (".adoc", ".asciidoc", ".asc")
RESTRUCTURED = (".rst",)
SUFFIXES = (".md", ".markdown", *ASCIIDOC, *RESTRUCTURED)
"""Of the files that can be decision records."""


def convert_markup(text: str, path: str) -> str:
    """Return the *text* of the file *path* as markdown; what is markdown already comes back as it is."""
    name = path.lower()
    if not name.endswith((*ASCIIDOC, *RESTRUCTURED)):
        return text
    rows = [line.rstrip() for line in split_lines(text.removeprefix("\ufeff").replace("\r\n", "\n").expandtabs(4))]
    convert = _convert_asciidoc if name.endswith(ASCIIDOC) else _convert_restructured
    return "\n".join(convert(rows)) + "\n"


# -- AsciiDoc -------------------------------------------------------------------------------------

_A_ATTRIBUTE = re.compile(r":([A-Za-z][\w-]{0,40}):(?:[ \t]+(.*))?$")
_A_TECHNICAL = re.compile(
    r"toc|sect|icons?|source|experimental|imagesdir|doctype|lang|compat|idprefix|idseparator|stem|nofooter|page-|url-|uri-"
    r"|xrefstyle|hide|figure|table-|linkattrs|showtitle|description|keywords|data-uri|linkcss|css|stylesheet|outfilesuffix"
)
_A_HEADING = re.compile(r"(={1,6})[ \t]+(\S.*)$")
_A_FENCE = re.compile(r"(-{4,}|\.{4,}|`{3,}|~{3,})(\w*)$")
_A_MARK = re.compile(r"(?:={4,}|\*{4,}|_{4,}|--|\+|<{3,})$")
_A_LINE = re.compile(r"\[(?:[\[#.%\"\w][^\[\]]*\]?)?\]$|(?:ifdef|ifndef|ifeval|endif|include|toc)::")
_A_SOURCE = re.compile(r"\[(?:source)?(?:,[ \t]*+|\]|$)([\w+-]{0,20})")
_A_ITEM = re.compile(r"[ \t]*(\*{1,5}|-|\.{1,5})[ \t]+(\S.*)$")
_A_TERM = re.compile(r"[ \t]*(\S[^\n]{0,80}?):{2,4}(?:[ \t]+(.*))?$")
_A_NOTE = re.compile(r"(NOTE|TIP|IMPORTANT|WARNING|CAUTION):[ \t]+(.*)$")
_A_REVISION = re.compile(r"v?\d[\w.]{0,12},[ \t]*(\d[^:]{3,30})(?::.*)?$")
_A_LINK = re.compile(
    r"(?:link:|xref:)([^\s\[\]]{1,300})\[([^\[\]]{0,300})\]|(https?://[^\s\[\]<>]{1,500})\[([^\[\]]{1,300})\]"
)
_A_CROSS = re.compile(r"<<([^<>,\n]{1,200})(?:,([^<>\n]{1,200}))?>>")
_A_BOLD = re.compile(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300})(?<=[^\s*])\*(?![\w*])")
_FIELD_LINE = re.compile(r"[*-]?[ \t]*\**[^\W\d_][\w -]{0,30}\**:|[*-][ \t]")
_A_VALUE = re.compile(r"\{([a-z][\w-]{0,40})\}")


def _convert_asciidoc(rows: list[str]) -> Iterator[str]:
    """Yield the lines of an AsciiDoc file as markdown."""
    header, number, values = _read_asciidoc_header(rows)
    yield from header
    fence, language, is_quote = "", "", False
    while number < len(rows):
        row = rows[number]
        number += 1
        if fence:
            is_end = row == fence
            yield "```" if is_end else row
            fence = "" if is_end else fence
            continue
        if row.startswith("////"):
            number = next((n + 1 for n in range(number, len(rows)) if rows[n] == row), len(rows))
            continue
        if row.startswith("//"):
            continue
        if attribute := _A_ATTRIBUTE.match(row):
            values[attribute[1].lower()] = attribute[2] or ""
            continue
        if row == "|===":
            end = next((n for n in range(number, len(rows)) if rows[n] == "|==="), len(rows))
            above = rows[number - 2] if number > 1 else ""
            yield from _convert_table(rows[number:end], above, values)
            number = end + 1
            continue
        if found := _A_FENCE.match(row):
            fence = found[1]
            yield f"```{found[2] or language}"
            language = ""
            continue
        if row == "____":
            is_quote = not is_quote
            yield ""
            continue
        if source := _A_SOURCE.match(row):
            language = source[1]
            continue
        if _A_MARK.match(row) or _A_LINE.match(row):
            yield ""
            continue
        line = _convert_asciidoc_line(row, values)
        yield f"> {line}" if is_quote else line
    if fence:
        yield "```"


def _read_asciidoc_header(rows: list[str]) -> tuple[list[str], int, dict[str, str]]:
    """Return the title and the fields of a file as markdown, where its text begins, and its attributes.

    Attributes stand before or behind the title, up to an empty line; the lines of author and revision follow it.
    """
    title, fields, values = "", [], {}
    number = 0
    while number < len(rows):
        row = rows[number]
        attribute = _A_ATTRIBUTE.match(row)
        heading = _A_HEADING.match(row)
        if attribute:
            name, value = attribute[1].lower(), attribute[2] or ""
            values[name] = value
            if value and not _A_TECHNICAL.match(name):
                fields.append(f"- {name}: {_convert_asciidoc_words(value, values)}")
        elif heading and len(heading[1]) == 1 and not title:
            title = f"# {_convert_asciidoc_words(heading[2], values)}"
        elif revision := _A_REVISION.match(row):
            fields.append(f"- date: {revision[1]}")
        elif title and not row and number + 1 < len(rows) and _A_ATTRIBUTE.match(rows[number + 1]):
            pass  # further attributes, apart from the title
        elif title and (not row or row.startswith("[")):
            break
        elif row and not row.startswith("//") and (not title or heading or _FIELD_LINE.match(row)):
            break  # no header: text begins at once
        number += 1
    return [title, "", *fields, ""], number, values


def _convert_asciidoc_line(row: str, values: Mapping[str, str]) -> str:
    """Return one line of text: a heading, an item, a note, or words."""
    words = _convert_asciidoc_words(row, values)
    if heading := _A_HEADING.match(words):
        return f"{'#' * len(heading[1])} {heading[2]}"
    if item := _A_ITEM.match(words):
        indent = "  " * (len(item[1]) - 1)
        return f"{indent}1. {item[2]}" if item[1][0] == "." else f"{indent}- {item[2]}"
    if note := _A_NOTE.match(words):
        return f"> **{note[1].capitalize()}:** {note[2]}"
    if words.startswith("image::") and words.endswith("]"):
        target, _, name = words.removeprefix("image::").removesuffix("]").partition("[")
        return f"![{name.partition(',')[0]}]({target})"
    if (term := _A_TERM.match(words)) and "://" not in term[1]:
        return f"- **{term[1]}:** {term[2] or ''}".rstrip()
    if len(words) > 1 and words[0] == "." and words[1].isalpha():
        return f"**{words[1:]}**"
    return words


def _convert_asciidoc_words(text: str, values: Mapping[str, str]) -> str:
    """Return the links, emphasis and attributes of *text* as markdown has them."""
    text = _A_VALUE.sub(lambda match: values.get(match[1], match.group()), text)

    def write_link(match: re.Match[str]) -> str:
        target = match[1] or match[3]
        name = (match[2] if match[1] else match[4]).partition(",window=")[0].removesuffix("^")
        return f"[{name or _strip_module(target)}]({_strip_module(target)})"

    def write_cross(match: re.Match[str]) -> str:
        target = match[1].strip()
        name = (match[2] or target).strip()
        return (
            f"[{name}]({_strip_module(target.removesuffix('#'))})" if re.search(r"\.\w{2,8}(?:#|$)", target) else name
        )

    text = _A_CROSS.sub(write_cross, _A_LINK.sub(write_link, text))
    return _A_BOLD.sub(r"**\1**", text)


def _strip_module(target: str) -> str:
    """Return the path of an Antora reference such as `adr:page$0001-docs.adoc`; a URL as it is."""
    return target if "://" in target else target.rpartition("$")[2]


_A_CELL = re.compile(r"(?:^|(?<=\s))(?:\d{1,3}[+*])?[.<^>\w]{0,4}\|")
_A_COLUMNS = re.compile(r"cols=\"?([^\"\]]{1,200})")


def _convert_table(rows: list[str], above: str, values: Mapping[str, str]) -> Iterator[str]:
    """Yield a table of AsciiDoc as markdown; *above* is the line before it, which may say how many columns it has."""
    cells: list[str] = []
    width = 0
    for row in rows:
        pieces = _A_CELL.split(row)
        if cells and pieces[0].strip():
            cells[-1] = f"{cells[-1]} {pieces[0].strip()}".strip()
        cells += [_convert_asciidoc_words(piece.strip(), values) for piece in pieces[1:]]
        width = width or (len(pieces) - 1 if len(pieces) > 2 else 0)
    if columns := _A_COLUMNS.search(above):
        stated = re.fullmatch(r"(\d{1,2})\*.*", columns[1])
        width = int(stated[1]) if stated else len(columns[1].split(","))
    width = max(1, width or len(cells))
    for start in range(0, len(cells), width):
        yield "| " + " | ".join(cells[start : start + width]) + " |"
        if start == 0:
            yield "|" + "---|" * width
    yield ""


# -- reStructuredText -----------------------------------------------------------------------------

_R_RULE = re.compile(r"([=\-~^\"'`#*+.:_<>])\1{2,}$")
_R_FIELD = re.compile(r":([^\W\d_][\w .()/-]{0,40}):(?:[ ]+(.*))?$")
_R_DIRECTIVE = re.compile(r"([ ]*)\.\.[ ]+(?:\|[^|]{1,60}\|[ ]+)?([\w-]{1,40})::(?:[ ]*(.*))?$")
_R_TARGET = re.compile(r"\.\.[ ]+_(`[^`]{1,200}`|[^:`]{1,200}):(?:[ ]+(\S.*))?$")
_R_COMMENT = re.compile(r"([ ]*)\.\.(?:[ ]|$)")
_R_ITEM = re.compile(r"([ ]*)(?:[*+•-]|(\(?(?:#|\d{1,4}|[a-zA-Z])[.)]))[ ]+(\S.*)$")
_R_LINK = re.compile(r"`([^`<>]{0,300}?)[ ]*<([^`<>\s]{1,500})>`_{1,2}")
_R_NAMED = re.compile(r"`([^`\n]{1,200})`_{1,2}(?!\w)")
_R_ROLE = re.compile(r":(?:\w{1,20}:)?(doc|ref|download|term|numref|any|file|abbr|command):`([^`\n]{1,300})`")
_R_CODE = ("code-block", "code", "sourcecode", "literalinclude", "parsed-literal", "mermaid", "uml", "graphviz", "math")
_R_NOTES = (
    "note",
    "warning",
    "important",
    "tip",
    "caution",
    "attention",
    "hint",
    "admonition",
    "seealso",
    "deprecated",
)
_R_GRID = re.compile(r"\+(?:[-=]{1,300}\+)+$")


_Read = tuple[int, Iterable[str]]
"""The row that comes next, and what was read as markdown."""


def _convert_restructured(rows: list[str]) -> Iterator[str]:
    """Yield the lines of a reStructuredText file as markdown."""
    targets = {
        match[1].strip("`").lower(): match[2].strip()
        for row in rows
        if (match := _R_TARGET.match(row.strip())) and match[2]
    }
    ranks: list[str] = []
    number = 0
    while number < len(rows):
        found = _read_title(rows, number, ranks, targets) or _read_explicit(rows, number, targets)
        number, lines = found or _read_words(rows, number, targets)
        yield from lines


def _read_title(rows: list[str], number: int, ranks: list[str], targets: Mapping[str, str]) -> _Read | None:
    """Return the title that begins at a row, over a rule or between two, or the rule that is none; None for others."""
    row, below = rows[number], rows[number + 1] if number + 1 < len(rows) else ""
    after = rows[number + 2] if number + 2 < len(rows) else ""
    before_blank = number == 0 or not rows[number - 1].strip()
    if _R_RULE.match(row):
        if below.strip() and after == row:
            return number + 3, [_write_heading(ranks, row[0] * 2, below.strip(), targets)]
        return number + 1, ["" if before_blank else row]
    is_paragraph = row.strip() and not row.startswith(" ") and not _R_GRID.match(row)
    if is_paragraph and before_blank and (under := _R_RULE.match(below)) and len(below) + 2 >= len(row):
        return number + 2, [_write_heading(ranks, under[1], row.strip(), targets)]
    return None


def _read_explicit(rows: list[str], number: int, targets: Mapping[str, str]) -> _Read | None:
    """Return what a row with a mark of its own begins: a target, directive, comment, field, or the rule of a table."""
    row = rows[number]
    if _R_TARGET.match(row.strip()):
        return number + 1, []
    if directive := _R_DIRECTIVE.match(row):
        number, lines = _read_indented(rows, number + 1, len(directive[1]))
        return number, _write_directive(directive[2].lower(), directive[3] or "", lines, targets)
    if comment := _R_COMMENT.match(row):
        return _read_indented(rows, number + 1, len(comment[1]))[0], []
    if field := _R_FIELD.match(row):
        number, lines = _read_indented(rows, number + 1, 0, is_near=True)
        value = " ".join([field[2] or "", *(line.strip() for line in lines)]).strip()
        return number, [f"- {field[1]}: {_convert_restructured_words(value, targets)}"]
    if _R_GRID.match(row):
        return number + 1, ["|" + "---|" * (row.count("+") - 1)] if "=" in row else []
    return None


def _read_words(rows: list[str], number: int, targets: Mapping[str, str]) -> _Read:
    """Return a row of text, and where it ends with two colons, the code below it."""
    row = rows[number]
    if not row.endswith("::") or row.lstrip().startswith(".."):
        return number + 1, [_convert_restructured_line(row, targets)]
    said = row[:-1] if row.strip() != "::" and row[-3] != " " else row[:-2].rstrip()
    end, lines = _read_indented(rows, number + 1, len(row) - len(row.lstrip()))
    written = [_convert_restructured_line(said, targets)]
    return (end, [*written, "", "```", *_dedent(lines), "```", ""]) if any(lines) else (number + 1, written)


def _write_heading(ranks: list[str], mark: str, title: str, targets: Mapping[str, str]) -> str:
    """Return a heading; its rank is the place of its *mark* among those of the file, which *ranks* collects."""
    if mark not in ranks:
        ranks.append(mark)
    return f"{'#' * min(6, ranks.index(mark) + 1)} {_convert_restructured_words(title, targets)}"


def _read_indented(rows: list[str], start: int, indent: int, *, is_near: bool = False) -> tuple[int, list[str]]:
    """Return where the block that is deeper than *indent* ends, and its lines; *is_near*: up to an empty line."""
    end = start
    while end < len(rows):
        row = rows[end]
        if (row.strip() and len(row) - len(row.lstrip()) <= indent) or (is_near and not row.strip()):
            break
        end += 1
    return end, rows[start:end]


def _dedent(lines: list[str]) -> list[str]:
    depth = min((len(line) - len(line.lstrip()) for line in lines if line.strip()), default=0)
    while lines and not lines[0].strip():
        lines = lines[1:]
    while lines and not lines[-1].strip():
        lines = lines[:-1]
    return [line[depth:] for line in lines]


def _write_directive(name: str, said: str, lines: list[str], targets: Mapping[str, str]) -> Iterator[str]:
    """Yield what a directive shows: code, a note, a picture, or its text; contents and the like show nothing."""
    body = _dedent(lines)
    while body and _R_FIELD.match(body[0]):  # its options
        body = body[1:]
    if name in _R_CODE:
        yield from ("", f"```{said if said.isalnum() else ''}", *_dedent(body), "```", "")
    elif name in _R_NOTES:
        words = [said, *body] if said else body
        yield ""
        yield f"> **{name.capitalize()}:**"
        yield from (f"> {_convert_restructured_line(line, targets)}".rstrip() for line in words)
        yield ""
    elif name in ("image", "figure"):
        yield f"![]({said})"
    elif name == "list-table":
        cells = [re.sub(r"^(?:\* )?[ ]*- ?", "", line) for line in body]
        starts = [line.startswith("* -") for line in body]
        table: list[list[str]] = []
        for is_row, cell in zip(starts, cells, strict=True):
            if is_row or not table:
                table.append([])
            table[-1].append(_convert_restructured_words(cell.strip(), targets))
        for at, row in enumerate(table):
            yield "| " + " | ".join(filter(None, row)) + " |"
            if at == 0:
                yield "|" + "---|" * len(row)
        yield ""
    elif name in ("versionadded", "versionchanged", "rubric", "topic", "container", "epigraph"):
        yield from (_convert_restructured_line(line, targets) for line in (said, *body))


def _convert_restructured_line(row: str, targets: Mapping[str, str]) -> str:
    words = _convert_restructured_words(row, targets)
    if item := _R_ITEM.match(words):
        is_count = item[2] and (item[2].strip("().").isdigit() or "#" in item[2])
        return f"{item[1]}{'1.' if is_count else '-'} {item[3]}" if is_count or not item[2] else words
    return words.removeprefix("| ") if words.startswith("| ") and not words.endswith("|") else words


def _convert_restructured_words(text: str, targets: Mapping[str, str]) -> str:
    """Return the links, roles and code of *text* as markdown has them."""
    if "`" not in text:
        return text

    def write_role(match: re.Match[str]) -> str:
        name, _, target = match[2].rstrip(">").partition("<")
        path = (target or name).strip()
        if match[1] not in ("doc", "download"):
            return name.strip()
        file = path if match[1] == "download" or re.search(r"\.\w{2,5}$", path) else f"{path}.rst"
        return f"[{name.strip()}]({file})"

    def write_named(match: re.Match[str]) -> str:
        url = targets.get(match[1].lower(), "")
        return f"[{match[1]}]({url})" if url else match[1]

    def write_link(match: re.Match[str]) -> str:
        url = targets.get(match[2].rstrip("_").lower(), match[2]) if match[2].endswith("_") else match[2]
        return f"[{match[1] or url}]({url})"

    pieces = text.split("``")  # what stands between two pairs is code
    for at in range(0, len(pieces), 2):
        piece = _R_LINK.sub(write_link, _R_ROLE.sub(write_role, pieces[at]))
        pieces[at] = _R_NAMED.sub(write_named, piece)
    return "`".join(pieces)
