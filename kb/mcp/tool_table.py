"""The tables of MCP tools and prompts: a new tool is a function in `tool_functions` and a row here. No SDK.

No tool confirms, accepts, rejects or deletes: only a person may, and a model that wants to has been misled.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
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
"""The largest budget a caller may request."""


class Tool(NamedTuple):
    """One row of the table."""

    name: str
    title: Message
    help: Message
    arguments: Mapping[str, Schema]
    """Name → JSON Schema; its description may be a Message."""
    answer: Schema
    """The JSON Schema of the answer."""
    call: Callable[[KnowledgeBase, str, Given], Answer]
    """Takes the knowledge base, the folder of the caller and the arguments."""
    required: tuple[str, ...] = ()
    writes: bool = False
    own: tuple[str, ...] = ()
    """Arguments that the function validates itself."""


def build_input_schema(tool: Tool) -> dict[str, Any]:
    """Return the JSON Schema of the arguments of *tool*."""
    return {**_object(tool.arguments), "required": list(tool.required)}


def call_tool(tool: Tool, kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the answer of *tool*, which begins with the line that the rest is data."""
    return {"frame": disclose.render_quote_notice(kb), **tool.call(kb, folder, given)}


def validate_arguments(tool: Tool, given: Given) -> dict[str, Any]:
    """Return the arguments *given* without nulls; raise BadInput with the first invalid one."""
    # many clients send null for omitted arguments
    values = {key: value for key, value in given.items() if value is not None}
    schema = _object({key: row for key, row in tool.arguments.items() if key not in tool.own})
    schema["required"] = [key for key in tool.required if key not in tool.own]
    outer = {key: value for key, value in values.items() if key not in tool.own}
    for problem in candidate.find_schema_errors(outer, schema, tool.name):
        known = msg("arguments of {tool}: {names}", tool=tool.name, names=tool.arguments)
        raise BadInput(problem, hint=known)
    return values


# -- the forms of what is asked and answered, as JSON Schema --------------------------------------


def _form(kind: str, help: Message | None = None, **limits: Any) -> dict[str, Any]:
    """Return the schema of a value of *kind* within *limits*."""
    return {"type": kind, **limits, **({} if help is None else {"description": help})}


def _text(help: Message, **limits: Any) -> dict[str, Any]:
    return _form("string", help, **limits)


def _number(help: Message, least: int, most: int, default: int) -> dict[str, Any]:
    return _form("integer", help, minimum=least, maximum=most, default=default)


def _object(parts: Mapping[str, Schema], maybe: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of an object with *parts*; those in *maybe* are optional."""
    required = [name for name in parts if name not in maybe]
    return {"type": "object", "properties": dict(parts), "required": required, "additionalProperties": False}


def _list(parts: Mapping[str, Schema], maybe: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of a list of objects with *parts*; those in *maybe* are optional."""
    return _form("array", items=_object(parts, maybe))


def _answer(parts: Mapping[str, Schema], maybe: Sequence[str] = ()) -> dict[str, Any]:
    """Return the schema of an answer, which begins with the line that the rest is data."""
    return _object({"frame": _TEXT, **parts}, maybe)


def _texts(names: str) -> dict[str, Schema]:
    """Return the schemas of the text properties *names*."""
    return dict.fromkeys(names.split(), _TEXT)


def translate_schema(schema: Any, translate: Callable[[Message], str]) -> Any:
    """Return *schema* with translated descriptions."""
    if isinstance(schema, Message):
        return translate(schema)
    if isinstance(schema, Mapping):
        return {key: translate_schema(value, translate) for key, value in schema.items()}
    return [translate_schema(value, translate) for value in schema] if isinstance(schema, list) else schema


def _drop_dialect(schema: Schema) -> dict[str, Any]:
    """Return *schema* without "$schema", to embed it in another schema."""
    return {key: value for key, value in schema.items() if not key.startswith("$")}


_TEXT, _NUMBER = _form("string"), _form("integer", minimum=0)
_SCORE, _TEXT_LIST = _form("number"), _form("array", items=_TEXT)
_ROW = _texts("id scope kind status title date path withheld")
_LISTED = {**_ROW, "text": _TEXT}
_HIT = {**_ROW, "score": _SCORE, **_texts("snippet note text")}
_WHOLE = {
    **_ROW,
    "uid": _TEXT,
    **dict.fromkeys(("tags", "impact", "supersedes"), _TEXT_LIST),
    "sections": _list(_texts("name text")),
    "left_out": _TEXT_LIST,
    "text": _TEXT,
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
    msg("The maximum number of estimated tokens in the answer."), 100, MAX_BUDGET, tool_functions.DEFAULT_BUDGET
)
_FILTER_FIELDS: Mapping[str, Mapping[str, Any]] = {
    "kind": _text(msg("Only this kind: {kinds}.", kinds=[kind.name for kind in KINDS])),
    "status": _text(msg("Only this status."), enum=[str(status) for status in Status]),
    "scope": _text(msg("global or project/<name>; without it, all.")),
    "tag": _text(msg("Only with this tag.")),
    "since": _text(msg("Only from this day on: 2026-11-21, today, yesterday, week.")),
    "until": _text(msg("Only up to this day.")),
    "path": _text(msg("Only what governs this file: records that name it or a folder it is in.")),
}
_LEVEL = msg("0: one line of each, in text; 1: how each section begins.")
_LEVEL_FIELD = _form("integer", _LEVEL, minimum=0, maximum=1)
_PLACE_FIELDS = {
    "under": _text(msg("Only below this address: agent://<who>/<type>/<tag>; me: the user's own knowledge base.")),
    "level": _LEVEL_FIELD,
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
            **_PLACE_FIELDS,
            "limit": _number(msg("The maximum number of answers."), 1, 50, 10),
            "budget": _BUDGET,
        },
        _answer({"answers": _list(_HIT, maybe=("text",)), "more": _TEXT, "elsewhere": _TEXT}, maybe=("elsewhere",)),
        tool_functions.search_records,
    ),
    Tool(
        "show",
        msg("Read a record"),
        msg(
            "Read one record, in full or one section of it. What does not fit is named in left_out: ask for it by name."
        ),
        {
            "id": _text(msg("D001, shop:D001 of another project, a uid, or agent://<who>/<type>/<tag>/<id>.")),
            "scope": _SCOPE_FIELD,
            "level": _number(msg("0: one line of it, in text; 1: how each section begins; 2: the whole."), 0, 2, 2),
            "section": _text(msg("Only this section: decision, why, alternatives, impact, verification, rollback, …")),
            "budget": _BUDGET,
        },
        _answer({"record": _object(_WHOLE, maybe=("text",)), "note": _TEXT}, maybe=("note",)),
        tool_functions.show_record,
        required=("id",),
    ),
    Tool(
        "list",
        msg("List records"),
        msg("List records by scope and id: all of them, or those the filters select."),
        {
            **_FILTER_FIELDS,
            **_PLACE_FIELDS,
            "limit": _number(msg("The maximum number of records."), 1, 200, 50),
            "offset": _number(msg("How many to skip; an answer's next_offset continues after it."), 0, 10**9, 0),
            "budget": _BUDGET,
        },
        _answer(
            {"records": _list({**_ROW, "text": _TEXT}, maybe=("text",)), "total": _NUMBER, "next_offset": _NUMBER},
            ("next_offset",),
        ),
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
            "Submit what was decided, learnt or agreed, so that the team keeps it. Each candidate passes the "
            "gate; its verdict says what became of it (created, updated, appended, unchanged, conflict, held, "
            "refused), why, and the one next step. A contradiction becomes a review that a person decides."
        ),
        {
            "candidates": {"type": "array", "items": _CANDIDATE, "description": msg("One or more candidates.")},
            "dry_run": _form("boolean", msg("Judge the candidates without writing anything."), default=False),
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
            "What is wrong with the records: files, ids, links, statuses, secrets, paths they refer to. Changes "
            "nothing."
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
        _answer(
            {
                "branch": _TEXT,
                "reasons": _TEXT,
                "new": _object(_WHOLE, ("text",)),
                "old": _list(_WHOLE, ("text",)),
                "next": _TEXT,
            }
        ),
        tool_functions.show_review,
        required=("id",),
    ),
)

BY_NAME: Mapping[str, Tool] = {tool.name: tool for tool in TOOLS}


# -- prompts --------------------------------------------------------------------------------------


class McpPrompt(NamedTuple):
    """A prompt that a person can select."""

    name: str
    title: Message
    help: Message
    arguments: Mapping[str, Message]
    text: Callable[[KnowledgeBase, str, Mapping[str, str]], str]
    required: tuple[str, ...] = ()


def _render_hint(moment: str, kb: KnowledgeBase, folder: str, given: Mapping[str, str]) -> str:
    project = kb.project(folder)
    if moment == "avatar":
        text = kb.hint_for_avatar(given["avatar"], given["task"], project=project)
    else:
        text = kb.hint(moment, given.get("keywords", "").split(), project=project).text
    # some roles get no records on purpose; an empty prompt would look like an error
    if moment == "avatar" and not text:
        return kb.localise(msg("this role gets no hints"))
    return f"{disclose.render_quote_notice(kb)}\n\n{text}"


def _render_spawn(kb: KnowledgeBase, folder: str, given: Mapping[str, str]) -> str:
    return kb.spawn(given["avatar"], given["task"], project=kb.project(folder))


_KEYWORDS = {"keywords": msg("What the work is about.")}
_ROLE = {
    "avatar": msg("For the moment avatar: 眼 耳 鼻 舌 身 意, or explorer, architect, reviewer, …"),
    "task": msg("The task in words."),
}
PROMPTS: tuple[McpPrompt, ...] = (
    McpPrompt(
        "shi_t1",
        msg("T1: before the work"),
        msg("Pitfalls, constraints and patterns to know before a task starts."),
        _KEYWORDS,
        partial(_render_hint, "t1"),
    ),
    McpPrompt(
        "shi_t2",
        msg("T2: once the plan is fixed"),
        msg("Decisions, interfaces and rollbacks to check a plan against."),
        _KEYWORDS,
        partial(_render_hint, "t2"),
    ),
    McpPrompt(
        "shi_avatar",
        msg("Hints for a sub-agent"),
        msg("The hints that a role (眼 耳 鼻 舌 身 意) gets for its task."),
        _ROLE,
        partial(_render_hint, "avatar"),
        required=("avatar", "task"),
    ),
    McpPrompt(
        "spawn",
        msg("Context for a sub-agent"),
        msg("The beginning of a sub-agent's prompt: hints and its task."),
        _ROLE,
        _render_spawn,
        required=("avatar", "task"),
    ),
)
