"""The table of tools: a new tool is a function and a row here. Nothing in it knows the SDK.

No tool confirms, accepts, rejects or deletes: those are a person's, and a model that asks for them has been misled.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence

from kb import candidate
from kb.errors import BadInput
from kb.kinds import KINDS, kind_named
from kb.knowledge import Filter, KnowledgeBase
from kb.knowledge.recall import handed
from kb.mcp.schemas import HIT, REVIEW, ROW, VERDICT, WHOLE, choice, flag, listed, number, obj, text, words
from kb.record import Record, Status
from kb.text import tokens
from kb.values import TYPE_CHECKING, NamedTuple
from kb.words import Said, say

if TYPE_CHECKING:
    from typing import Any

    Given = Mapping[str, Any]
    Answer = dict[str, Any]

BUDGET = 4000
"""Estimated tokens of an answer where the caller names no budget."""
MOST = 50_000


class Tool(NamedTuple):
    """One row of the table."""

    name: str
    title: Said
    help: Said
    arguments: Mapping[str, Mapping[str, Any]]
    """Name → JSON Schema; its description may be `Said`."""
    answer: Mapping[str, Any]
    """The JSON Schema of what is answered."""
    call: Callable[[KnowledgeBase, str, Given], Answer]
    """From the knowledge base, the folder of the caller and the arguments."""
    required: tuple[str, ...] = ()
    writes: bool = False
    own: tuple[str, ...] = ()
    """Arguments that the function checks itself."""


def asked(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of what *tool* is asked."""
    return {**obj(tool.arguments), "required": list(tool.required)}


def checked(tool: Tool, given: Given) -> dict[str, Any]:
    """Return the arguments *given*, without those that are null; raise BadInput naming the first that will not do."""
    values = {key: value for key, value in given.items() if value is not None}
    schema = obj({key: row for key, row in tool.arguments.items() if key not in tool.own})
    schema["required"] = [key for key in tool.required if key not in tool.own]
    outer = {key: value for key, value in values.items() if key not in tool.own}
    for problem in candidate.misfits(outer, schema, tool.name):
        raise BadInput(
            problem, hint=say("arguments of {tool}: {names}", tool=tool.name, names=", ".join(tool.arguments))
        )
    return values


# -- what several tools do ------------------------------------------------------------------------


def within(rows: Sequence[Mapping[str, Any]], budget: int) -> list[Mapping[str, Any]]:
    """Return the first of *rows* that together cost at most *budget* estimated tokens; always the first one."""
    kept: list[Mapping[str, Any]] = []
    for row in rows:
        budget -= tokens(json.dumps(row, ensure_ascii=False))
        if kept and budget < 0:
            break
        kept.append(row)
    return kept


def row_of(kb: KnowledgeBase, record: Record) -> Answer:
    """Return *record* for a list."""
    return _spoken(kb, handed.row(kb, record))


def whole_of(kb: KnowledgeBase, record: Record, budget: int, only: str = "") -> Answer:
    """Return *record* with its sections."""
    whole = handed.whole(kb, record, budget=budget, only=only)
    return {
        **_spoken(kb, whole.row),
        "uid": whole.uid,
        "tags": list(whole.tags),
        "impact": list(whole.impact),
        "supersedes": list(whole.supersedes),
        "sections": [part._asdict() for part in whole.parts],
        "left_out": list(whole.left_out),
    }


def _spoken(kb: KnowledgeBase, row: handed.Row) -> Answer:
    return {**row._asdict(), "withheld": handed.passage(kb.words(row.withheld)) if row.withheld else ""}


def _filter(kb: KnowledgeBase, given: Given) -> Filter:
    """Return what the arguments that narrow a list ask for."""
    kind = kind_named(given.get("kind", ""))
    if given.get("kind") and kind is None:
        names = ", ".join(each.name for each in KINDS)
        raise BadInput(say("there is no kind {kind}; there are: {kinds}", kind=given["kind"], kinds=names))
    status, scope = ((given[key],) if given.get(key) else () for key in ("status", "scope"))
    since, until = (kb.day_named(given[key]) if given.get(key) else "" for key in ("since", "until"))
    path = os.path.normpath(given["path"]).replace(os.sep, "/") if given.get("path") else ""
    return Filter(
        (kind.name,) if kind else (), status, scope, given.get("tag", ""), since, until, path
    )  # fmt: skip


def _shortened(total: int, kept: Sequence[object], kb: KnowledgeBase) -> str:
    """Say what is missing of a list, or ""."""
    left = total - len(kept)
    return kb.words(say("{n} more are left out; narrow the question, or raise budget", n=left)) if left else ""


# -- the tools ------------------------------------------------------------------------------------


def search(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer a question with records, best first."""
    wanted, limit = _filter(kb, given), given.get("limit", 10)
    found = kb.recall(given.get("query", ""), wanted=wanted, project=kb.project(folder), limit=limit)
    rows = []
    for answer in found:
        row = row_of(kb, answer.record)
        snippet = "" if row["withheld"] else handed.passage(answer.snippet)
        rows.append({**row, "score": answer.score, "snippet": snippet, "note": handed.passage(kb.words(answer.note))})
    kept = within(rows, given.get("budget", BUDGET))
    return {"frame": handed.frame(kb), "answers": kept, "more": _shortened(len(rows), kept, kb)}


def show(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with one record."""
    record = kb.record(given["id"], scope=given.get("scope") or kb.project(folder))
    only = given.get("section", "")
    whole = whole_of(kb, record, given.get("budget", BUDGET), only)
    if only and not whole["sections"] and not whole["withheld"]:
        names = [section.name for section in record.sections if section.text.strip()]
        raise BadInput(
            say("{id} has no section {section}", id=record.id, section=only),
            hint=say("there are: {names}", names=handed.passage(", ".join(filter(None, names)))),
        )
    return {"frame": handed.frame(kb), "record": whole}


def list_(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the records that a filter wants, by scope and id."""
    records = kb.records(_filter(kb, given))
    begin = given.get("offset", 0)
    page = [row_of(kb, record) for record in records[begin : begin + given.get("limit", 50)]]
    kept = within(page, given.get("budget", BUDGET))
    more = begin + len(kept) < len(records)
    return {
        "frame": handed.frame(kb), "records": kept, "total": len(records),
        **({"next_offset": begin + len(kept)} if more else {}),
    }  # fmt: skip


def hint(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the hint for a moment of work."""
    project = given.get("scope") or kb.project(folder)
    if given["moment"] == "avatar":
        told = kb.hint_for_avatar(given.get("avatar", ""), given.get("task", ""), project=project)
        return {"frame": handed.frame(kb), "text": told, "ids": []}
    keywords = [*given.get("keywords", ()), *([given["task"]] if given.get("task") else ())]
    written = kb.hint(given["moment"], keywords, project=project)
    return {"frame": handed.frame(kb), "text": written.text, "ids": list(written.ids)}


def write(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Hand candidates to the gate and answer with what became of each."""
    candidates = [
        each._replace(host=each.host or "mcp") for each in candidate.candidates(given.get("candidates"), "candidates")
    ]
    verdicts = kb.write(candidates, folder=folder, dry_run=given.get("dry_run", False))
    return {"frame": handed.frame(kb), "verdicts": [_verdict(verdict._asdict()) for verdict in verdicts]}


def _verdict(values: Mapping[str, Any]) -> Answer:
    clean = {key: handed.passage(value) if isinstance(value, str) else value for key, value in values.items()}
    similar = [{**one._asdict(), "title": handed.passage(one.title)} for one in values["similar"]]
    return {**clean, "reasons": [handed.passage(reason) for reason in values["reasons"]], "similar": similar}


def check(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with what is wrong with the records."""
    from kb.knowledge.checkup import checked as looked_at

    found, records = looked_at(kb, below=[path.strip("/") for path in given.get("paths", ())])
    findings = [
        {
            "rule": one.rule, "severity": one.severity, "path": handed.passage(one.path), "line": one.line,
            "message": handed.passage(kb.words(one.message)), "fix": handed.passage(kb.words(one.fix)),
        }
        for one in sorted(found, key=lambda one: one.severity != "error")
    ]  # fmt: skip
    kept = within(findings, given.get("budget", BUDGET))
    errors = sum(one.severity == "error" for one in found)
    return {
        "frame": handed.frame(kb), "records": records, "errors": errors, "warnings": len(found) - errors,
        "findings": kept, "more": _shortened(len(found), kept, kb),
    }  # fmt: skip


def review_list(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the open reviews."""
    from kb.knowledge.review.standing import judged

    rows = [
        {
            "branch": handed.passage(one.branch), "since": one.since, "standing": handed.passage(one.standing),
            "host": handed.passage(one.host), "session": handed.passage(one.session),
            "against": list(one.against), "record": row_of(kb, one.record),
        }
        for one in judged(kb, kb.reviews())
    ]  # fmt: skip
    kept = within(rows, given.get("budget", BUDGET))
    return {"frame": handed.frame(kb), "reviews": kept, "more": _shortened(len(rows), kept, kb)}


def review_show(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with both sides of a review."""
    sides = kb.sides(given["id"])
    budget = given.get("budget", BUDGET) // (1 + len(sides.old))
    return {
        "frame": handed.frame(kb),
        "branch": handed.passage(sides.review.branch),
        "reasons": handed.passage(sides.reasons.partition("\n\nKb-Op: ")[0]),
        "new": whole_of(kb, sides.review.record, budget),
        "old": [whole_of(kb, record, budget) for record in sides.old],
        "next": kb.words(say("a person decides it: kb review show {id}", id=sides.review.record.id)),
    }


# -- the table ------------------------------------------------------------------------------------

_SCOPE = text(say("global or project/<name>; without it, all."))
_HERE = text(say("global or project/<name>; without it, the project of the folder the server works in."))
_BUDGET = number(say("The most estimated tokens of text to answer with."), 100, MOST, BUDGET)
_NARROW: Mapping[str, Mapping[str, Any]] = {
    "kind": text(say("Only this kind: {kinds}.", kinds=", ".join(kind.name for kind in KINDS))),
    "status": choice(say("Only this status."), [str(status) for status in Status]),
    "scope": _SCOPE,
    "tag": text(say("Only with this tag.")),
    "since": text(say("Only from this day on: 2026-11-21, today, yesterday, week.")),
    "until": text(say("Only up to this day.")),
    "path": text(say("Only what governs this file: records that name it or a folder it is in.")),
}
_CANDIDATE = {
    **{key: value for key, value in candidate.SCHEMA.items() if not key.startswith("$")},
    "properties": {**candidate.SCHEMA["properties"], "kind": _NARROW["kind"]},
}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "search",
        say("Find records"),
        say(
            "Find what the team has decided, by words in Chinese or English, best first. Ask before you decide anything"
            " that others may have decided. Then read the records you rely on with show."
        ),
        {
            "query": text(say("What to look for; without it, all that the filters want, the newest first.")),
            **_NARROW,
            "limit": number(say("The most answers."), 1, 50, 10),
            "budget": _BUDGET,
        },
        obj({"frame": text(), "answers": listed(HIT), "more": text()}),
        search,
    ),
    Tool(
        "show",
        say("Read a record"),
        say("Read one record, whole or one section of it. What does not fit is named in left_out: ask for it by name."),
        {
            "id": text(say("D001, shop:D001 of another project, or a uid.")),
            "scope": _HERE,
            "section": text(say("Only this section: decision, why, alternatives, impact, verification, rollback, …")),
            "budget": _BUDGET,
        },
        obj({"frame": text(), "record": WHOLE}),
        show,
        required=("id",),
    ),
    Tool(
        "list",
        say("List records"),
        say("List records by scope and id, all or those that the filters want."),
        {
            **_NARROW,
            "limit": number(say("The most records."), 1, 200, 50),
            "offset": number(say("How many to pass over; an answer's next_offset goes on behind it."), 0, 10**9, 0),
            "budget": _BUDGET,
        },
        obj({"frame": text(), "records": listed(ROW), "total": number(), "next_offset": number()}, ("next_offset",)),
        list_,
    ),
    Tool(
        "hint",
        say("Be reminded"),
        say(
            "What to know before a task starts (t1: pitfalls, constraints, patterns), once its plan is fixed (t2:"
            " decisions, interfaces, ways back), or for a sub-agent's role (avatar). It reminds; it decides nothing."
        ),
        {
            "moment": choice(say("t1, t2 or avatar."), ["t1", "t2", "avatar"]),
            "keywords": words(say("What the work is about.")),
            "task": text(say("The task in words.")),
            "avatar": text(say("For the moment avatar: 眼 耳 鼻 舌 身 意, or explorer, architect, reviewer, …")),
            "scope": _HERE,
        },
        obj({"frame": text(), "text": text(), "ids": listed(text())}),
        hint,
        required=("moment",),
    ),
    Tool(
        "write",
        say("Propose records"),
        say(
            "Hand in what was decided, learnt or agreed, to be kept for the team. Each candidate goes through the gate;"
            " its verdict says what became of it (created, updated, appended, unchanged, conflict, held, refused), why,"
            " and the one next step. A contradiction becomes a review that a person decides."
        ),
        {
            "candidates": {"type": "array", "items": _CANDIDATE, "description": say("One or more candidates.")},
            "dry_run": flag(say("Only judge; write nothing.")),
        },
        obj({"frame": text(), "verdicts": listed(VERDICT)}),
        write,
        required=("candidates",),
        writes=True,
        own=("candidates",),
    ),
    Tool(
        "check",
        say("Check the records"),
        say("What is wrong with the records: files, ids, links, statuses, secrets, what they speak of. Mends nothing."),
        {"paths": words(say("Only these files or folders, relative to the knowledge base.")), "budget": _BUDGET},
        obj({"frame": text(), "records": number(), "errors": number(), "warnings": number(), "more": text(),
             "findings": listed(obj({"rule": text(), "severity": text(), "path": text(), "line": number(),
                                     "message": text(), "fix": text()}))}),
        check,
    ),
    Tool(
        "review_list",
        say("List open reviews"),
        say("The contradictions that wait for a person. Only a person accepts or rejects them; no tool does."),
        {"budget": _BUDGET},
        obj({"frame": text(), "reviews": listed(REVIEW), "more": text()}),
        review_list,
    ),
    Tool(
        "review_show",
        say("Read a review"),
        say("Both sides of an open review and why they contradict."),
        {"id": text(say("The branch of the review, or the id of its new record.")), "budget": _BUDGET},
        obj({"frame": text(), "branch": text(), "reasons": text(), "new": WHOLE, "old": listed(WHOLE), "next": text()}),
        review_show,
        required=("id",),
    ),
)  # fmt: skip

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
