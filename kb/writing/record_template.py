"""The template a person fills in to write a record: all headings of its kind, with a hint below each."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.records.blocks import MACHINE_END
from kb.records.kinds import ADR_SECTIONS, BY_NAME, kind_label, list_section_names, resolve_section_name, section_label
from kb.records.model import Candidate, Record
from kb.similarity.merge_candidate import list_required
from kb.text.markdown_scan import MarkdownLine, scan_markdown
from kb.text.segment import detect_newline

Localise = Callable[[Message | str], str]

HINTS = {
    "decision": msg("What applies from now on."),
    "why": msg("The reasons."),
    "when": msg("When it applies."),
    "steps": msg("The steps, one per line."),
    "alternatives": msg("What else was considered, and why it was not chosen."),
    "solution": msg("How to fix it."),
    "outcome": msg("The result of the fix."),
    "explored": msg("Where the answer was found."),
    "impact": msg("The paths the record concerns, one per line: src/orders/"),
    "verification": msg("How to check that it holds: a command, or what to look at."),
    "rollback": msg("How to undo it."),
}
"""Canonical section name → hint on what to write there."""
ASKED_PATHS = msg("the paths the record concerns, separated by commas: src/orders/, src/pay.py")
"""The hint for the impact, where it is entered on one line."""
_OWN_HINTS = {
    ("pitfall", "decision"): msg("What you see when it goes wrong."),
    ("pitfall", "why"): msg("What causes it."),
    ("learning", "decision"): msg("The answer; the title is the question."),
    ("checklist", "decision"): msg("What the checklist is for, then its items: - [ ] …"),
}
_TAGS = {"tags", "tag", "标签"}
_FOLLOWING = re.compile(f"(?m)^(?:#|{MACHINE_END})")
_IMPACT_MARK = re.compile(r"[-*+]\s+")


class Question(NamedTuple):
    """One section that a person is asked for."""

    name: str
    """Its canonical name, or "tags"."""
    label: str
    hint: str
    is_needed: bool = False


def list_questions(kind: str, required: Collection[str], language: str, localise: Localise) -> list[Question]:
    """Return the sections that a person is asked for in a record of *kind*, the required ones first.

    *required*: the setting of that name.
    """
    needed = list_required(kind, required)
    ordered = sorted(list_section_names(kind), key=lambda name: name not in needed)
    hints = {name: localise(_OWN_HINTS.get((kind, name)) or HINTS[name]) for name in ordered}
    asked = [Question(name, section_label(name, language, kind), hints[name], name in needed) for name in ordered]
    tags = Question("tags", localise(msg("Tags")), localise(msg("Words to find it by, separated by commas.")))
    return [*asked, tags]


def _format_heading(question: Question, localise: Localise) -> list[str]:
    """Return the lines that ask *question* in a template: its heading and its hint."""
    needed = f" ({localise(msg('needed'))})" if question.is_needed else ""
    return [f"## {question.label}", f"<!-- {question.hint}{needed} -->"]


def build_template(
    candidate: Candidate, required: Collection[str], language: str, localise: Localise, place: str
) -> str:
    """Return the template for *candidate*, with the title and tags it has already.

    *required*: the setting of that name; *place*: the scope of the new record.
    """
    about = {"kind": kind_label(candidate.kind, language).lower(), "scope": place}
    first = msg("A new {kind} in {scope}. Save and close to write it; without a title nothing is written.", **about)
    rest = localise(msg("Headings without text and comments like this one are dropped."))
    lines = [f"# {candidate.title}", "", f"<!-- {localise(first)}", f"     {rest} -->", ""]
    for question in list_questions(candidate.kind, required, language, localise):
        text = ", ".join(candidate.tags) if question.name == "tags" else ""
        lines += [*_format_heading(question, localise), text, ""]
    return "\n".join(lines)


def parse_template(text: str, candidate: Candidate, path: str) -> Candidate | None:
    """Return *candidate* with the person's text, or None if nothing was written.

    Raise BadInput, with the line, for a heading that is no section of its kind.
    """
    title, texts = _read_sections(text, candidate.kind, path)
    if not title and not any(texts.values()):
        return None
    if not title:
        raise BadInput(msg("it has no title"), path=path, line=1, hint=msg("write it after the # of the first line"))
    return fill_candidate(candidate, title, texts)


def fill_candidate(candidate: Candidate, title: str, texts: Mapping[str, str]) -> Candidate:
    """Return *candidate* with the *title* and the *texts* (question name → text) a person entered."""
    tags = [tag.strip() for tag in re.split(r"[,，、\n]", texts.get("tags", ""))]
    paths = [_IMPACT_MARK.sub("", line.strip(), count=1).strip("` ") for line in texts.get("impact", "").split("\n")]
    own = {name: texts[name] for name in BY_NAME[candidate.kind].sections if texts.get(name)}
    shared: dict[str, Any] = {name: texts[name] for name in ADR_SECTIONS if name != "impact" and texts.get(name)}
    lists: dict[str, Any] = {"tags": tuple(filter(None, tags)), "impact": tuple(filter(None, paths))}
    return candidate._replace(title=" ".join(title.split()), sections=own, **lists, **shared)


def _read_sections(text: str, kind: str, path: str) -> tuple[str, dict[str, str]]:
    """Return the title, and canonical name → text of every section, without comments."""
    title, name = "", ""
    sections: dict[str, list[str]] = {}
    for number, line in _skip_comments(text):
        level = len(line.text) - len(line.text.lstrip("#")) if line.kind == "heading" else 0
        if level == 1 and not title:
            title = line.body
        elif level == 2:
            name = "tags" if line.body.lower() in _TAGS else resolve_section_name(line.body, kind)
            if name not in ("tags", *list_section_names(kind)):
                why = msg("the heading “{heading}” means no section of this kind", heading=line.body)
                hint = msg("use one of the template's, or ### for a heading within a section")
                raise BadInput(why, path=path, line=number, hint=hint)
            sections.setdefault(name, [])
        elif name or line.text.strip():
            # text above the first heading is the decision, because every record has one
            sections.setdefault(name or "decision", []).append(line.text)
    return title, {name: "\n".join(lines).strip() for name, lines in sections.items()}


def _skip_comments(text: str) -> Iterator[tuple[int, MarkdownLine]]:
    """Yield number (1-based) and line, without comments that begin a line; code is never a comment."""
    is_comment = False
    for number, line in enumerate(scan_markdown(text), 1):
        if line.kind != "code" and line.kind != "fence" and line.text.lstrip().startswith("<!--"):
            is_comment = True
        if not is_comment:
            yield number, line
        if is_comment and "-->" in line.text:
            is_comment = False


# -- a record that is edited -----------------------------------------------------------------------


def add_missing_headings(
    text: str, record: Record, required: Collection[str], localise: Localise, language: str
) -> tuple[str, list[str]]:
    """Return the file *text* of *record* with headings for its missing sections, and the list of these additions.

    They are at the end of the MACHINE block, each with its hint; `drop_unused_headings` removes them again.
    """
    if record.kind not in BY_NAME or text.count(f"\n{MACHINE_END}") != 1:
        return text, []
    newline = detect_newline(text)
    added = []
    for question in list_questions(record.kind, required, language, localise):
        if question.name != "tags" and not record.section(question.name).strip():
            added.append(newline.join(["", *_format_heading(question, localise), ""]))
    at = text.index(MACHINE_END)
    return text[:at] + "".join(added) + text[at:], added


def drop_unused_headings(text: str, added: Sequence[str]) -> str:
    """Return *text* without the hints, and without those of the headings *added* that have no text below."""
    for addition in reversed(added):
        head, found, tail = text.partition(addition)
        following = _FOLLOWING.search(tail)
        if not found or not following:
            continue
        newline, rest = detect_newline(text), tail[following.start() :]
        if tail[: following.start()].strip():
            text = head + newline.join([*addition.split(newline)[:2], "", ""]) + tail
        else:
            text = head + (newline if rest.startswith("#") else "") + rest
    return text
