"""The table of MCP tools: a new tool is a function in `tool_functions` and a row here. Independent of the SDK.

No tool confirms, accepts, rejects or deletes: those are a person's, and a model that asks for them has been misled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from kb.context import disclose
from kb.context.pack import SCHEMA
from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.knowledge_base import KnowledgeBase
from kb.mcp import tool_functions
from kb.mcp.tool_functions import Answer, Given
from kb.records import candidate
from kb.records.kinds import KINDS
from kb.records.model import Status

Schema = Mapping[str, Any]

MAX_BUDGET = 50_000
"""The largest budget that may be asked for."""


class Tool(NamedTuple):
    """One row of the table."""

    name: str
    title: Message
    help: Message
    arguments: Mapping[str, Schema]
    """Name → JSON Schema; its description may be a Message."""
    answer: Schema
    """The JSON Schema of what is answered."""
    call: Callable[[KnowledgeBase, str, Given], Answer]
    """From the knowledge base, the folder of the caller and the arguments."""
    required: tuple[str, ...] = ()
    writes: bool = False
    own: tuple[str, ...] = ()
    """Arguments that the function checks itself."""


def build_input_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of what *tool* is asked."""
    return {**_object(tool.arguments), "required": list(tool.required)}


def call_tool(tool: Tool, kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the answer of *tool*; it begins with the line that says that the rest is data."""
    return {"frame": disclose.render_quote_notice(kb), **tool.call(kb, folder, given)}


def validate_arguments(tool: Tool, given: Given) -> dict[str, Any]:
    """Return the arguments *given*, without those that are null; raise BadInput naming the first that will not do."""
    # many clients send null for what they leave out
    values = {key: value for key, value in given.items() if value is not None}
    schema = _object({key: row for key, row in tool.arguments.items() if key not in tool.own})
    schema["required"] = [key for key in tool.required if key not in tool.own]
    outer = {key: value for key, value in values.items() if key not in tool.own}
    for problem in candidate.find_schema_errors(outer, schema, tool.name):
        known = msg("arguments of {tool}: {names}", tool=tool.name, names=", ".join(tool.arguments))
        raise BadInput(problem, hint=known)
    return values


# -- the forms of what is asked and answered, as JSON Schema --------------------------------------


def _form(kind: str, help: Message | None = None, **limits: Any) -> dict[str, Any]:
    """Return the form of a value of *kind* within *limits*."""
    return {"type": kind, **limits, **({} if help is None else {"description": help})}


def _text(help: Message, **limits: Any) -> dict[str, Any]:
    return _form("string", help, **limits)


def _number(help: Message, least: int, most: int, default: int) -> dict[str, Any]:
    return _form("integer", help, minimum=least, maximum=most, default=default)


def _object(parts: Mapping[str, Schema], maybe: Sequence[str] = ()) -> dict[str, Any]:
    """Return the form of an object with *parts*; those in *maybe* may be missing."""
    required = [name for name in parts if name not in maybe]
    return {"type": "object", "properties": dict(parts), "required": required, "additionalProperties": False}


def _list(parts: Mapping[str, Schema]) -> dict[str, Any]:
    """Return the form of a list of objects with *parts*."""
    return _form("array", items=_object(parts))


def _answer(parts: Mapping[str, Schema], maybe: Sequence[str] = ()) -> dict[str, Any]:
    """Return the form of an answer; it begins with the line that says that the rest is data."""
    return _object({"frame": _TEXT, **parts}, maybe)


def _texts(names: str) -> dict[str, Schema]:
    """Return the parts of an object that are texts, by their *names*."""
    return dict.fromkeys(names.split(), _TEXT)


def translate_schema(schema: Any, translate: Callable[[Message], str]) -> Any:
    """Return *schema* with its descriptions as *translate* puts them."""
    if isinstance(schema, Message):
        return translate(schema)
    if isinstance(schema, Mapping):
        return {key: translate_schema(value, translate) for key, value in schema.items()}
    return [translate_schema(value, translate) for value in schema] if isinstance(schema, list) else schema


def _drop_dialect(schema: Schema) -> dict[str, Any]:
    """Return *schema* as a part of another one, which names the dialect for both."""
    return {key: value for key, value in schema.items() if not key.startswith("$")}


_TEXT, _NUMBER = _form("string"), _form("integer", minimum=0)
_SCORE, _TEXT_LIST = _form("number"), _form("array", items=_TEXT)
_ROW = _texts("id scope kind status title date path withheld")
_HIT = {**_ROW, "score": _SCORE, **_texts("snippet note")}
_WHOLE = {
    **_ROW,
    "uid": _TEXT,
    **dict.fromkeys(("tags", "impact", "supersedes"), _TEXT_LIST),
    "sections": _list(_texts("name text")),
    "left_out": _TEXT_LIST,
}
_REVIEW = {**_texts("branch since standing host session"), "against": _TEXT_LIST, "record": _object(_ROW)}
_VERDICT = {
    **_texts("verdict title kind id uid scope path status"),
    "reasons": _TEXT_LIST,
    "next": _TEXT,
    "similar": _list({**_texts("id scope title"), "score": _SCORE}),
    **_texts("branch commit"),
    "spooled": _form("boolean"),
}
_FINDING = {**_texts("rule severity path message fix"), "line": _NUMBER}

# -- the table ------------------------------------------------------------------------------------

_SCOPE_FIELD = _text(msg("global or project/<name>; without it, the project of the folder the server works in."))
_BUDGET = _number(
    msg("The most estimated tokens of text to answer with."), 100, MAX_BUDGET, tool_functions.DEFAULT_BUDGET
)
_FILTER_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "kind": _text(msg("Only this kind: {kinds}.", kinds=", ".join(kind.name for kind in KINDS))),
    "status": _text(msg("Only this status."), enum=[str(status) for status in Status]),
    "scope": _text(msg("global or project/<name>; without it, all.")),
    "tag": _text(msg("Only with this tag.")),
    "since": _text(msg("Only from this day on: 2026-11-21, today, yesterday, week.")),
    "until": _text(msg("Only up to this day.")),
    "path": _text(msg("Only what governs this file: records that name it or a folder it is in.")),
}
_CANDIDATE = {
    **_drop_dialect(candidate.SCHEMA),
    "properties": {**candidate.SCHEMA["properties"], "kind": _FILTER_FIELDS["kind"]},
}

TOOLS: tuple[Tool, ...] = (
    Tool(
        "search",
        msg("Find records"),
        msg(
            "Find what the team has decided, by words in Chinese or English, best first. Ask before you decide anything"
            " that others may have decided. Then read the records you rely on with show."
        ),
        {
            "query": _text(msg("What to look for; without it, all that the filters want, the newest first.")),
            **_FILTER_FIELDS,
            "limit": _number(msg("The most answers."), 1, 50, 10),
            "budget": _BUDGET,
        },
        _answer({"answers": _list(_HIT), "more": _TEXT, "elsewhere": _TEXT}, maybe=("elsewhere",)),
        tool_functions.search_records,
    ),
    Tool(
        "show",
        msg("Read a record"),
        msg("Read one record, whole or one section of it. What does not fit is named in left_out: ask for it by name."),
        {
            "id": _text(msg("D001, shop:D001 of another project, or a uid.")),
            "scope": _SCOPE_FIELD,
            "section": _text(msg("Only this section: decision, why, alternatives, impact, verification, rollback, …")),
            "budget": _BUDGET,
        },
        _answer({"record": _object(_WHOLE)}),
        tool_functions.show_record,
        required=("id",),
    ),
    Tool(
        "list",
        msg("List records"),
        msg("List records by scope and id, all or those that the filters want."),
        {
            **_FILTER_FIELDS,
            "limit": _number(msg("The most records."), 1, 200, 50),
            "offset": _number(msg("How many to skip; an answer's next_offset continues after it."), 0, 10**9, 0),
            "budget": _BUDGET,
        },
        _answer({"records": _list(_ROW), "total": _NUMBER, "next_offset": _NUMBER}, ("next_offset",)),
        tool_functions.list_records,
    ),
    Tool(
        "hint",
        msg("Be reminded"),
        msg(
            "What to know before a task starts (t1: pitfalls, constraints, patterns), once its plan is fixed (t2:"
            " decisions, interfaces, ways back), or for a sub-agent's role (avatar). It reminds; it decides nothing."
        ),
        {
            "moment": _text(msg("t1, t2 or avatar."), enum=["t1", "t2", "avatar"]),
            "keywords": _form("array", msg("What the work is about."), items=_TEXT),
            "task": _text(msg("The task in words.")),
            "avatar": _text(msg("For the moment avatar: 眼 耳 鼻 舌 身 意, or explorer, architect, reviewer, …")),
            "scope": _SCOPE_FIELD,
        },
        _answer({"text": _TEXT, "ids": _TEXT_LIST}),
        tool_functions.get_hint,
        required=("moment",),
    ),
    Tool(
        "context",
        msg("Get what a task needs"),
        msg("The records that a question or task is about, whole or in short, as one text in a budget; often none."),
        {"query": _text(msg("What the work is about.")), "scope": _SCOPE_FIELD, "budget": _BUDGET},
        _answer({"text": _TEXT, "tokens": _NUMBER, "left": _NUMBER, "records": _list(_texts("id scope form"))}),
        tool_functions.get_context,
        required=("query",),
    ),
    Tool(
        "pack",
        msg("Answer with evidence"),
        msg(
            "What is known about a question: a summary, verbatim quotes with file and commit, what is not known "
            "and where to look, and where records and code disagree."
        ),
        {"question": _text(msg("The question in words.")), "budget": _BUDGET},
        _answer({"more": _TEXT, "pack": _drop_dialect(SCHEMA)}),
        tool_functions.get_pack,
        required=("question",),
    ),
    Tool(
        "write",
        msg("Propose records"),
        msg(
            "Hand in what was decided, learnt or agreed, to be kept for the team. Each candidate goes through the gate;"
            " its verdict says what became of it (created, updated, appended, unchanged, conflict, held, refused), why,"
            " and the one next step. A contradiction becomes a review that a person decides."
        ),
        {
            "candidates": {"type": "array", "items": _CANDIDATE, "description": msg("One or more candidates.")},
            "dry_run": _form("boolean", msg("Only judge; write nothing."), default=False),
        },
        _answer({"verdicts": _list(_VERDICT)}),
        tool_functions.write_candidates,
        required=("candidates",),
        writes=True,
        own=("candidates",),
    ),
    Tool(
        "check",
        msg("Check the records"),
        msg(
            "What is wrong with the records: files, ids, links, statuses, secrets, paths they refer to. Fixes nothing."
        ),
        {
            "paths": _form("array", msg("Only these files or folders, relative to the knowledge base."), items=_TEXT),
            "budget": _BUDGET,
        },
        _answer(
            {"records": _NUMBER, "errors": _NUMBER, "warnings": _NUMBER, "more": _TEXT, "findings": _list(_FINDING)}
        ),
        tool_functions.check_records,
    ),
    Tool(
        "review_list",
        msg("List open reviews"),
        msg("The contradictions that wait for a person. Only a person accepts or rejects them; no tool does."),
        {"budget": _BUDGET},
        _answer({"reviews": _list(_REVIEW), "more": _TEXT}),
        tool_functions.list_reviews,
    ),
    Tool(
        "review_show",
        msg("Read a review"),
        msg("Both sides of an open review and why they contradict."),
        {"id": _text(msg("The branch of the review, or the id of its new record.")), "budget": _BUDGET},
        _answer({"branch": _TEXT, "reasons": _TEXT, "new": _object(_WHOLE), "old": _list(_WHOLE), "next": _TEXT}),
        tool_functions.show_review,
        required=("id",),
    ),
)

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}
