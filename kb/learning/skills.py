"""Make agent skills (agentskills.io) of accepted patterns and checklists that have steps, and check them.

A skill is a view of a record: rendered by a template, withdrawn when its record goes. What is not accepted yet stands
on its review branch and makes no file.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadRecord, GitFailed, UnknownId
from kb.git.revisions import list_file_commits
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.learning.uses import load_uses
from kb.records.front_matter import parse_front_matter
from kb.records.kinds import BY_NAME
from kb.records.model import LIVE, Record, Status
from kb.safety.injection import find_instruction
from kb.safety.redaction import redact_text
from kb.search.rank import find_dormant
from kb.sessions.render_forms import FormWriter
from kb.similarity.duplicates import compute_similarity
from kb.text.segment import clip, count_characters, first_sentence, one_line, split_lines

if TYPE_CHECKING:
    from kb.workspace import Workspace

MAX_SKILLS = 10
"""Skills that are published at most, the most used: their descriptions are in the context of every session."""
MAX_NAME, MAX_DESCRIPTION = 64, 1024
"""Characters of a name and of a description, by the specification of Agent Skills."""
REFERENCE = "references/records.md"
_MIN_BODY = 100  # 字 below which a body says nothing that its description does not
_MIN_STEPS = 2
_MAX_LIKENESS = 0.8  # likeness of two names or descriptions from which an agent may take one skill for the other
_MAX_PITFALLS = 5
_KINDS = tuple(kind.name for kind in BY_NAME.values() if "steps" in kind.sections)
_ITEM = re.compile(r"\s{0,3}(?:[-*+]|\d{1,3}[.)、])\s+(\S.*)")
_CODE = re.compile(r"`([^`\n]+)`")
_FENCE = re.compile(r"\s*(?:```|~~~)")
_WORD = re.compile(r"[a-z0-9]+")


class Skill(NamedTuple):
    """A record as a skill."""

    name: str
    description: str
    record: Record
    uses: int
    files: Mapping[str, str]
    """The texts of its files by their names in its folder."""


class SkillReport(NamedTuple):
    """What the gate says of a skill (ZCLAW-50)."""

    name: str
    passed: bool
    issues: tuple[Message, ...]
    confidence: float
    """The share of its steps that name a command or a path that exists."""


# -- which -----------------------------------------------------------------------------------------


def list_skills(kb: Workspace, project: str) -> list[Skill]:
    """Return the skills of *project*, the most used first: accepted records with steps, none dormant."""
    wanted = Filter(kinds=_KINDS, statuses=(Status.ACCEPTED,), scopes=kb.own_scopes(project))
    records = [record for record in kb.records(wanted) if record.section("steps").strip()]
    dormant = find_dormant(kb.index, records, kb.today)
    records = [record for record in records if record.path not in dormant]
    used = _count_uses(kb)
    records.sort(key=lambda record: (-used[record.uid], record.date, record.uid))
    names: dict[str, Record] = {}
    for record in records:
        names.setdefault(_choose_name(record), record)
    return [_build_skill(kb, name, record, used[record.uid]) for name, record in names.items()]


def list_waiting(kb: Workspace, project: str) -> list[Record]:
    """Return what would be a skill once it is accepted: no file is made of it before."""
    wanted = Filter(kinds=_KINDS, statuses=(Status.PROPOSED,), scopes=kb.own_scopes(project))
    return [record for record in kb.records(wanted) if record.section("steps").strip()]


def find_skill(kb: Workspace, project: str, name: str) -> Skill:
    """Return the skill *name*, or of the record with that id; raise UnknownId."""
    for skill in list_skills(kb, project):
        if name in (skill.name, skill.record.id):
            return skill
    raise UnknownId(msg("there is no skill {name}", name=name), hint=msg("see: kb skill list"))


def _count_uses(kb: Workspace) -> Counter[str]:
    """Return in how many sessions each record was used, by uid."""
    return Counter({uid: uses.count("used") for uid, uses in load_uses(kb).items()})


def _choose_name(record: Record) -> str:
    """Return the name of the skill: the one its record gives, else of the words of its title, else of its id.

    Letters, digits and single hyphens. “Release a version” is release-a-version; 发布版本 becomes m001.
    """
    given = str(record.extra.get("skill") or record.title).lower()
    words = _WORD.findall(given if given.isascii() else "") or [record.id.lower()]
    return "-".join(words)[:MAX_NAME].strip("-")


# -- its text --------------------------------------------------------------------------------------


_WHEN_LEAD = re.compile(r"^(?:use (?:it|this) )?when(?:ever)?\s+", re.IGNORECASE)


def _build_skill(kb: Workspace, name: str, record: Record, uses: int) -> Skill:
    when, what = one_line(record.section("when")), first_sentence(record.section("decision"), 300)
    lead = record.title if what.startswith(record.title) or not what else f"{record.title}. {what}"
    # “when a version is to be released” is what people write under “When to use”
    use_when = msg("Use when {situation}", situation=_WHEN_LEAD.sub("", when, count=1)).translate(kb.config.language)
    description = clip(" ".join((lead.rstrip(".。") + ".", *([use_when] if when else []))), MAX_DESCRIPTION)
    pitfalls = _find_pitfalls(kb, record)
    values = {
        "name": name,
        "description": json.dumps(description, ensure_ascii=False),
        "uid": record.uid,
        "commit": _find_commit(kb, record),
        "title": record.title,
        "summary": record.section("decision").strip(),
        "when": record.section("when").strip(),
        "steps": record.section("steps").strip(),
        "why": record.section("why").strip(),
        "verification": record.section("verification").strip(),
        "pitfalls": [_describe_pitfall(pitfall) for pitfall in pitfalls],
        "reference": REFERENCE,
        "records": [
            {"id": one.id, "title": one.title, "scope": one.scope, "quote": _quote(one)} for one in (record, *pitfalls)
        ],
    }
    files = {"SKILL.md": FormWriter(kb, "skill")(values), REFERENCE: FormWriter(kb, "skill-records")(values)}
    return Skill(name, description, record, uses, files)


def _quote(record: Record) -> str:
    """Return the evidence of *record*, else what it says, as a quotation."""
    text = record.section("evidence").strip() or record.section("decision").strip()
    return "\n".join(f"> {row}".rstrip() for row in split_lines(text)) if not text.startswith(">") else text


def _find_commit(kb: Workspace, record: Record) -> str:
    try:
        commits = list_file_commits(kb.repository, record.path)
    except GitFailed:
        return ""
    return commits[-1].commit[:12] if commits else ""


def _find_pitfalls(kb: Workspace, record: Record) -> list[Record]:
    """Return the live pitfalls about one of the files that *record* is about."""
    wanted = Filter(kinds=("pitfall",), statuses=tuple(LIVE))
    among = kb.index.find_by_facet("impact", record.impact, wanted) if record.impact else []
    found = {one.uid: one for _, _, one in among if one.scope in (record.scope, "global")}
    return list(found.values())[:_MAX_PITFALLS]


def _describe_pitfall(pitfall: Record) -> str:
    cure = one_line(pitfall.section("solution") or pitfall.section("why"))
    return f"{pitfall.title}: {clip(cure, 300)} [{pitfall.id}]" if cure else f"{pitfall.title} [{pitfall.id}]"


# -- the gate --------------------------------------------------------------------------------------


def check_skill(skill: Skill, installed: Mapping[str, str], folder: str) -> SkillReport:
    """Return what is wrong with *skill*; *installed*: name → description of every other skill that agents have.

    A step counts as proved where it names a command in a code span or block, or a path that exists in *folder*.
    """
    text = "\n".join(skill.files.values())
    steps = split_steps(skill.record.section("steps"))
    proved = [step for step in steps if _is_proved(step, folder)]
    issues = list(_iter_wording_issues(skill, text, installed))
    if len(steps) < _MIN_STEPS:
        issues.append(msg("it has {n} steps, at least {least} are a procedure", n=len(steps), least=_MIN_STEPS))
    for step in steps:
        if step not in proved:
            issues.append(msg("the step “{step}” names no command and no existing path", step=clip(one_line(step), 80)))
    return SkillReport(skill.name, not issues, tuple(issues), round(len(proved) / max(len(steps), 1), 2))


def _iter_wording_issues(skill: Skill, text: str, installed: Mapping[str, str]) -> Iterable[Message]:
    if count_characters(text.partition("\n# ")[2]) < _MIN_BODY:
        yield msg("its body is shorter than {least} characters", least=_MIN_BODY)
    if not skill.record.section("when").strip():
        yield msg("it does not say when to use it (section When to use)")
    for name, description in installed.items():
        likeness = max(compute_similarity(skill.name, name), compute_similarity(skill.description, description))
        if likeness > _MAX_LIKENESS:
            yield msg("it is too similar to the installed skill {name}", name=name)
    if threat := find_instruction(text):
        yield msg("it gives instructions to an agent: {problem}", problem=threat.problem)
    if masks := redact_text(text)[1]:
        yield msg("it contains text that must not be published: {rules}", rules=sorted({m.rule for m in masks}))


def split_steps(text: str) -> list[str]:
    """Return the steps in a Steps section: its list items, each with the lines that belong to it."""
    steps: list[str] = []
    is_code = False
    for row in split_lines(text):
        match = None if is_code else _ITEM.match(row)
        is_code ^= bool(_FENCE.match(row))
        if match:
            steps.append(match[1])
        elif steps:
            steps[-1] += "\n" + row
    return steps


def _is_proved(step: str, folder: str) -> bool:
    """Return whether *step* names a command, or a path that exists in *folder*."""
    if any(_FENCE.match(row) for row in step.splitlines()):
        return True
    spans = _CODE.findall(step)
    paths = [word.strip(".,;:，。；：()（）") for word in step.replace("`", " ").split()]
    is_there = any("/" in path and os.path.exists(os.path.join(folder, path)) for path in paths)
    return is_there or any(" " in span.strip() or os.path.exists(os.path.join(folder, span)) for span in spans)


# -- what is installed -----------------------------------------------------------------------------


def read_installed(place: str) -> dict[str, Mapping[str, object]]:
    """Return the front matter of every skill in the folder *place*, by the name of its folder."""
    found: dict[str, Mapping[str, object]] = {}
    for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
        try:
            with open(os.path.join(place, name, "SKILL.md"), encoding="utf-8", errors="replace") as file:
                found[name] = parse_front_matter(file.read())
        except (OSError, BadRecord):
            continue
    return found


def list_others(installed: Mapping[str, Mapping[str, object]], skill: Skill) -> dict[str, str]:
    """Return name → description of the *installed* skills but for *skill* itself, whatever it was called before."""
    return {
        name: str(front.get("description", ""))
        for name, front in installed.items()
        if name != skill.name and read_uid(front) != skill.record.uid
    }


def read_uid(front: Mapping[str, object]) -> str:
    """Return the uid of the record that a skill with this *front* was made of; "" for one that kb has not made."""
    metadata = front.get("metadata")
    return str(metadata.get("kb_uid", "")) if isinstance(metadata, Mapping) else ""


def choose_published(
    skills: Sequence[Skill], installed: Mapping[str, Mapping[str, object]], folder: str
) -> list[Skill]:
    """Return those of *skills*, the most used first, that pass the gate: at most MAX_SKILLS."""
    passed = [skill for skill in skills if check_skill(skill, list_others(installed, skill), folder).passed]
    return passed[:MAX_SKILLS]
