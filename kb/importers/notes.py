"""Read what other tools remember as candidates: notes of people and agents, rules for agents, and commit trailers.

Every format is a row of `FORMATS`: a function from one text to the candidates in it. What they make goes through the
gate: nothing here decides that anything is worth keeping.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from kb.capture.extract import word_sentence
from kb.errors import BadInput
from kb.i18n import msg
from kb.records.front_matter import find_body_start, find_front_matter, parse_front_matter
from kb.records.kinds import BY_NAME, find_kind, resolve_section_name
from kb.records.model import Candidate, Evidence
from kb.sessions.transcript import HUMAN
from kb.text.markdown_scan import scan_markdown
from kb.text.segment import first_sentence, one_line

if TYPE_CHECKING:
    from typing import Any


class Note(NamedTuple):
    """A markdown note: its front matter, and its text by headings."""

    name: str
    """Its path, as the person named it."""
    front: Mapping[str, Any]
    sections: tuple[tuple[str, str], ...]
    """Heading and text; the text before the first heading is under ""."""
    heading: str = ""
    """Its first heading of the first level."""

    @property
    def title(self) -> str:
        """Its title: of the front matter, its first heading, or its file name."""
        stem = re.sub(r"\.\w+$", "", self.name.rpartition("/")[2])
        return one_line(str(self.front.get("title") or self.heading or re.sub(r"[-_]+", " ", stem)))


# What other tools call a kind, besides kb's own names and labels.
_KIND_WORDS = {
    word: kind
    for kind, words in {
        "decision": "adr choice design 决定",
        "constraint": "rule requirement convention policy standard 规则",
        "pitfall": "problem issue gotcha bug bugfix 坑",
        "domain-note": "fact tech domain reference 知识",
        "pattern": "practice best-practice technique how-to playbook",
        "learning": "insight discovery til",
        "preference": "feedback",
        "interface": "api contract",
    }.items()
    for word in words.split()
}
_WIKI_LINK = re.compile(r"!?\[\[(?:[^\[\]|]{0,200}\|)?([^\[\]|]{1,200})\]\]")
_INLINE_TAG = re.compile(r"(?<![\w#&/])#([^\W\d][\w/-]*)")
_TAG_LINE = re.compile(r"^(?:#[^\W\d][\w/-]*\s*)+$", re.MULTILINE)


def read_note(text: str, name: str) -> Note:
    """Return the note in *text*; raise BadRecord where its front matter is no YAML."""
    front = parse_front_matter(text, name) if find_front_matter(text) else {}
    sections: list[tuple[str, list[str]]] = [("", [])]
    top = ""
    for line in scan_markdown(text[find_body_start(text) :]):
        if line.kind == "heading":
            sections.append((line.body, []))
            top = top or (line.body if re.match(r"\s*#\s", line.text) else "")
        else:
            sections[-1][1].append(line.text)
    return Note(name, front, tuple((heading, "\n".join(rows).strip()) for heading, rows in sections), top)


def map_kind(*words: object) -> str:
    """Return the kind that the first of *words* to name one means; "" where none does."""
    for word in words:
        said = str(word or "").strip().lower().removeprefix("#")
        for form in (said, said.removesuffix("s"), said.rpartition("/")[2]):
            if row := find_kind(form):
                return row.name
            if form in _KIND_WORDS:
                return _KIND_WORDS[form]
    return ""


def _list_words(value: object) -> tuple[str, ...]:
    words = value if isinstance(value, list) else str(value or "").split(",")
    return tuple(dict.fromkeys(word for one in words if (word := str(one).strip().removeprefix("#"))))


# -- Obsidian, and any folder of notes ---------------------------------------------------------------


def read_obsidian_note(text: str, name: str) -> Iterator[Candidate]:
    """Yield the candidate in a note of a vault that says its kind: in its front matter, by a tag, or by its folder.

    Raise BadInput for one that does not: most notes of a vault are no records.
    """
    note = read_note(text, name)
    tags = (*_list_words(note.front.get("tags")), *_INLINE_TAG.findall(text[find_body_start(text) :]))
    named = (note.front.get(key) for key in ("kind", "type", "category", "class"))
    kind = map_kind(*named, *tags, *reversed(name.split("/")[:-1]))
    if not kind:
        raise BadInput(msg("no kind: give it one in its front matter, such as type: decision"), path=name)
    yield read_sections(note, kind, tuple(tag for tag in dict.fromkeys(tags) if not map_kind(tag)))


def read_sections(note: Note, kind: str, tags: tuple[str, ...]) -> Candidate:
    """Return *note* as a candidate: what is under a heading that kb knows goes there, the rest into the text."""
    known: dict[str, str] = {}
    rest = []
    for heading, text in note.sections:
        body = _WIKI_LINK.sub(r"\1", _TAG_LINE.sub("", text)).strip()
        name = resolve_section_name(heading, kind) if heading else ""
        if name and body:
            known[name] = f"{known[name]}\n\n{body}" if name in known else body
        elif body:
            rest.append(f"{heading}\n\n{body}" if heading and heading != note.title else body)
    if rest:
        known["decision"] = "\n\n".join(filter(None, (known.get("decision", ""), *rest)))
    quote = first_sentence(known.get("decision") or next(iter(known.values()), note.title), 400)
    return _with_sections(Candidate(kind, note.title, tags=tags, evidence=(Evidence(quote, note.name),)), known)


def _with_sections(candidate: Candidate, sections: Mapping[str, str]) -> Candidate:
    own = {"decision", "alternatives", "why", "verification", "rollback"}
    fields: dict[str, Any] = {name: text for name, text in sections.items() if name in own}
    if impact := sections.get("impact"):
        fields["impact"] = tuple(re.findall(r"(?<![\w.@-])[\w.@-]++(?:/[\w.@-]++)++/?", impact))
    allowed = {*BY_NAME[candidate.kind].sections}
    fields["sections"] = {name: text for name, text in sections.items() if name in allowed and name not in own}
    return candidate._replace(**fields)


# -- basic-memory ------------------------------------------------------------------------------------

_OBSERVATION = re.compile(r"^[-*+]\s+\[(?P<category>[^\[\]()]{2,40})\]\s+(?P<text>.+)$")
_CONTEXT = re.compile(r"(?<!\s)\s*+\(([^()]{1,300})\)\s*+$")


def read_basic_memory_note(text: str, name: str) -> Iterator[Candidate]:
    """Yield the observations of a note whose category is a kind: `- [decision] text #tag (context)`."""
    note = read_note(text, name)
    for number, row in enumerate(text.splitlines(), 1):
        match = _OBSERVATION.match(row.strip())
        if not match or not (kind := map_kind(match["category"])):
            continue
        said, context = match["text"], ""
        if found := _CONTEXT.search(said):
            said, context = said[: found.start()], found[1]
        tags = tuple(dict.fromkeys((*_INLINE_TAG.findall(said), *_list_words(note.front.get("tags")))))
        said = one_line(_WIKI_LINK.sub(r"\1", _INLINE_TAG.sub("", said)))
        evidence = (Evidence(row.strip(), name, number, ""),)
        why = f"{context[:1].upper()}{context[1:]}." if context else ""
        yield Candidate(kind, first_sentence(said).rstrip(".。"), said, why=why, tags=tags, evidence=evidence)


# -- Claude Code -------------------------------------------------------------------------------------

_WHY = re.compile(r"^\*\*(?:Why|Reason|原因|理由)[:：]?\*\*[:：]?\s*", re.IGNORECASE)
_APPLY = re.compile(r"^\*\*(?:How to apply|如何应用|怎么用)[:：]?\*\*[:：]?\s*", re.IGNORECASE)
# An item of a list that begins like an order is a rule by where it stands: “Use pnpm, not npm.”, “不要用 npm。”
_ORDER = re.compile(
    r"(?:\*\*)?(?:(?:always|never|do not|don['’]t|avoid|prefer|use|keep|ensure|write|put|must)\b"
    r"|请?(?:始终|总是|永远|不要|不得|禁止|避免|优先|必须|统一|只用|一律|使用|保持))",
    re.IGNORECASE,
)
ABOUT_PERSON = "user"
"""The type of a memory that is about the person: it belongs into that person's own base."""


def read_claude_memory(text: str, name: str) -> Iterator[Candidate]:
    """Yield the candidate in a file of Claude Code's auto memory; its index, MEMORY.md, holds none.

    Its front matter has name, description and a type (user, feedback, project or reference), at the top or under
    `metadata`. Undocumented, and read so by others (docs.rs/claude-wrapper, 0.14).
    """
    note = read_note(text, name)
    if not note.front:
        return
    metadata = note.front.get("metadata")
    type_ = str(note.front.get("type") or (metadata.get("type") if isinstance(metadata, dict) else "") or "project")
    kind = {"feedback": "preference", ABOUT_PERSON: "preference", "reference": "domain-note"}.get(type_, "domain-note")
    said: list[str] = []
    why = ""
    for part in "\n\n".join(text for _, text in note.sections if text).split("\n\n"):
        if match := _WHY.match(part):
            why = part[match.end() :].strip()
        elif match := _APPLY.match(part):
            said.append(part[match.end() :].strip())
        elif part.strip():
            said.append(part.strip())
    body = _WIKI_LINK.sub(r"\1", "\n\n".join(said))
    title = one_line(str(note.front.get("description") or "")) or first_sentence(body) or note.title
    evidence = (Evidence(first_sentence(body, 400), name, 0, ""),)
    yield Candidate(kind, title, body, why=why, evidence=evidence, tags=(type_,) if type_ == ABOUT_PERSON else ())


def read_agent_rules(text: str, name: str) -> Iterator[Candidate]:
    """Yield the rules of a CLAUDE.md, AGENTS.md or rules file: list items and sentences that lay something down.

    They are read as a person's words in a session are; commands, descriptions and what kb wrote itself are left out.
    """
    inside_kb = False
    for number, line in enumerate(scan_markdown(text), 1):
        marker = line.text.strip().lower()
        if marker.startswith("<!-- kb:"):
            inside_kb = "begin" in marker or "start" in marker
        if inside_kb or line.kind not in ("text", "item"):
            continue
        said = one_line(line.body)
        candidate = word_sentence(said, HUMAN) if said else None
        if not candidate and line.kind == "item" and _ORDER.match(said):
            candidate = Candidate("constraint", first_sentence(said).rstrip(".。"), decision=said)
        if candidate:
            yield candidate._replace(evidence=(Evidence(said, name, number),))


# -- claude-mem --------------------------------------------------------------------------------------

_OBSERVED = {"decision": "decision", "bugfix": "pitfall", "discovery": "learning"}
"""Type of an observation → kind; a feature, a change and a refactoring say what was done, not what holds."""


def read_claude_mem(text: str, name: str) -> Iterator[Candidate]:
    """Yield the observations of an export of claude-mem (scripts/export-memories) that are of a kind kb keeps."""
    try:
        data = json.loads(text)
        rows = data["observations"] if isinstance(data, dict) else data
        rows = [row for row in rows if isinstance(row, dict)]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise BadInput(msg("not a claude-mem export: it has no list of observations"), path=name) from None
    for row in rows:
        kind = _OBSERVED.get(str(row.get("type")))
        body = str(row.get("narrative") or row.get("text") or row.get("subtitle") or "").strip()
        if not kind or not body:
            continue
        title = one_line(str(row.get("title") or "")) or first_sentence(body)
        files = {*_list_json(row.get("files_modified")), *_list_json(row.get("files_read"))}
        facts = "\n".join(f"- {fact}" for fact in _list_json(row.get("facts")))
        evidence = (Evidence(first_sentence(body, 400), name, 0, str(row.get("created_at") or "")),)
        yield Candidate(
            kind,
            title,
            f"{body}\n\n{facts}" if facts else body,
            impact=tuple(sorted(path for path in files if not path.startswith(("/", "~")))),
            tags=tuple(_list_json(row.get("concepts")))[:5],
            evidence=evidence,
        )


def _list_json(value: object) -> list[str]:
    """Return the texts of a list, which may come as JSON in a text."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return []
    return [str(one) for one in value] if isinstance(value, list) else []


# -- trailers of commits -----------------------------------------------------------------------------

_TRAILERS = {
    trailer: name
    for name, trailers in {
        "limit": "constraint limit directive warn",
        "rejected": "rejected ruled-out",
        "verified": "tested verified",
        "undo": "reversibility undo",
    }.items()
    for trailer in trailers.split()
}
"""Trailer → what it says: those of Lore (arXiv 2603.15566) and of commitlore (its AGENTS.md, v1)."""
TRAILER_PATTERN = "^(Constraint|Limit|Rejected|Ruled-out|Directive|Warn): "
"""What `git log -E --grep` finds the commits by that `read_commit` reads."""
_TRAILER = re.compile(r"^([A-Z][A-Za-z-]+): +(.+(?:\n[ \t]+.+)*)", re.MULTILINE)


def read_commit(message: str, commit: str, paths: tuple[str, ...], time: str) -> Candidate | None:
    """Return the decision that the trailers of a commit's *message* tell; None for a commit without any.

    The subject is the title and the body the reason; *paths* are what it changed.
    """
    found: dict[str, list[str]] = {}
    subject, _, rest = message.partition("\n")
    body, _, block = rest.strip().rpartition("\n\n")
    for key, value in _TRAILER.findall(block or rest.strip()):
        if name := _TRAILERS.get(key.lower()):
            found.setdefault(name, []).append(one_line(value))
    if not {"rejected", "limit"} & found.keys():
        return None
    rejected = [_format_rejected(one) for one in found.get("rejected", ())]
    limits = "\n".join(f"- {one}" for one in found.get("limit", ()))
    return Candidate(
        "decision",
        one_line(subject),
        decision="\n\n".join(filter(None, (one_line(subject), limits))),
        alternatives="\n".join(rejected),
        why=body.strip(),
        impact=paths,
        verification="\n".join(found.get("verified", ())),
        rollback="\n".join(found.get("undo", ())),
        evidence=(Evidence(block.strip() or rest.strip(), f"commit {commit[:10]}", 0, time),),
    )


def _format_rejected(text: str) -> str:
    """Return a rejected option as a list item; commitlore puts the reason after a bar."""
    what, _, why = (part.strip() for part in text.partition("|"))
    return f"- {what}: {why}" if why else f"- {what}"


class NoteFormat(NamedTuple):
    """A row of the table of formats."""

    name: str
    read: Callable[[str, str], Iterator[Candidate]]
    suffixes: tuple[str, ...] = (".md", ".markdown")


FORMATS = {
    row.name: row
    for row in (
        NoteFormat("obsidian", read_obsidian_note),
        NoteFormat("basic-memory", read_basic_memory_note),
        NoteFormat("claude-memory", read_claude_memory),
        NoteFormat("rules", read_agent_rules),
        NoteFormat("claude-mem", read_claude_mem, (".json",)),
    )
}
"""Every format of notes by its name; a new one is a function and a row."""
