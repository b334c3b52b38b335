"""MCP resources under `kb://`, and MCP prompts.

Both are text for an agent, so both quote: what a record says is behind "> ", below the line that says whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import NamedTuple
from urllib.parse import unquote

from kb.context import disclose
from kb.errors import BadInput, UnknownId
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import Filter, KnowledgeBase
from kb.mcp.tool_functions import DEFAULT_BUDGET, limit_to_budget
from kb.records.kinds import KINDS, SECTIONS, kind_label, section_label
from kb.safety.quoting import sanitise_text

SCHEME = "kb://"
RECORDS, LISTS, SESSIONS = "records/", "kinds/", "sessions/"
MIME_TYPE = "text/markdown"
_MAX_TOKENS = 4 * DEFAULT_BUDGET
_MAX_ROWS = 1000
"""Records of a list, at most; fewer where they take more than _MAX_TOKENS tokens."""
_SECTIONS = frozenset(section.name for section in SECTIONS) - {"evidence", "additions"}


class McpResource(NamedTuple):
    """A resource, or a template of many."""

    uri: str
    name: str
    title: Message
    help: Message


HOME = McpResource(
    f"{SCHEME}home", "home", msg("The knowledge base"), msg("What it holds: scopes, kinds, reviews; where to go on.")
)
TEMPLATES = (
    McpResource(
        f"{SCHEME}{RECORDS}{{id}}", "record", msg("A record"), msg("By id (D001), citation (shop:D001) or uid.")
    ),
    McpResource(
        f"{SCHEME}{LISTS}{{kind}}", "kind", msg("The records of a kind"), msg("The accepted ones, by scope and id.")
    ),
    McpResource(
        f"{SCHEME}{SESSIONS}{{name}}", "session", msg("An archived session"), msg("Its compact form, to continue from.")
    ),
)


def list_resources(language: str) -> list[McpResource]:
    """Return the resources that are always there: the home, and a list for each kind."""
    found = [HOME]
    for kind in KINDS:
        label = kind_label(kind.name, language)
        about = msg("The records of the kind {kind}.", kind=label)
        found.append(McpResource(f"{SCHEME}{LISTS}{kind.name}", kind.name, msg("{kind}", kind=label), about))
    return found


def read(kb: KnowledgeBase, folder: str, uri: str) -> str:
    """Return the text of the resource *uri* as markdown; raise UnknownId for none."""
    rest = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    part, _, name = rest.partition("/")
    if name and f"{part}/" == RECORDS:
        return _render_record(kb, folder, name)
    if name and f"{part}/" == LISTS:
        return _render_list(kb, name)
    if name and f"{part}/" == SESSIONS:
        return _quote_lines(kb, sanitise_text(kb.session_file(name)).split("\n"))
    if rest.rstrip("/") == "home":
        return _render_home(kb, folder)
    known = msg("there are: {names}", names=", ".join(each.uri for each in (HOME, *TEMPLATES)))
    raise UnknownId(msg("there is no resource {uri}", uri=sanitise_text(uri)), hint=known)


def _render_record(kb: KnowledgeBase, folder: str, name: str) -> str:
    whole = disclose.build_record_view(kb, kb.record(name, scope=kb.project(folder)), budget=_MAX_TOKENS)
    about = [f"[{whole.row.id}] {whole.row.title}", f"{whole.row.scope} · {whole.row.status} · {whole.row.date}"]
    if whole.row.withheld:
        about.append(sanitise_text(kb.localise(whole.row.withheld)))
    for part in whole.parts:
        label = section_label(part.name, kb.config.language, whole.row.kind) if part.name in _SECTIONS else part.name
        about += ["", f"## {label}", "", *part.text.split("\n")]
    if whole.left_out:
        about += ["", kb.localise(msg("left out for its length: {names}", names=", ".join(whole.left_out)))]
    return _quote_lines(kb, about)


def _render_list(kb: KnowledgeBase, name: str) -> str:
    if name not in {kind.name for kind in KINDS}:
        names = ", ".join(kind.name for kind in KINDS)
        raise BadInput(msg("there is no kind {kind}; there are: {kinds}", kind=sanitise_text(name), kinds=names))
    records = kb.records(Filter(kinds=(name,), statuses=("accepted", "proposed")))
    rows = [disclose.build_record_row(kb, record) for record in records[:_MAX_ROWS]]
    lines = [f"[{row.id}] {row.title} ({row.scope}, {row.status})" for row in rows]
    kept = limit_to_budget(lines, _MAX_TOKENS)
    left = len(records) - len(kept)
    return _quote_lines(kb, [*kept, *([kb.localise(msg("{n} more: ask the tool list", n=left))] if left else [])])


def _quote_lines(kb: KnowledgeBase, lines: Sequence[str]) -> str:
    return "\n".join([disclose.render_quote_notice(kb), "", *(f"> {line}".rstrip() for line in lines)]) + "\n"


def _render_home(kb: KnowledgeBase, folder: str) -> str:
    home = disclose.build_overview(kb, folder)
    kinds = [
        f"- {kind_label(kind, kb.config.language)}: {n} ({SCHEME}{LISTS}{kind})" for kind, n in home.kinds.items() if n
    ]
    scopes = [f"- {scope}: {n}" for scope, n in home.scopes.items()]
    holds = kb.localise(msg("Here holds: {scope}. Open reviews: {n}.", scope=home.scope, n=home.reviews))
    find = kb.localise(msg("Find: the tool search. Read: the tool show, or {uri}.", uri=TEMPLATES[0].uri))
    return "\n".join([f"# {home.name}", "", holds, "", *kinds, "", *scopes, "", find]) + "\n"


def complete_argument(kb: KnowledgeBase, argument: str, begun: str) -> list[str]:
    """Return what the *argument* of a template may be, of what begins with what the user has *begun* to type."""
    if argument == "kind":
        names = [kind.name for kind in KINDS]
    elif argument == "id":
        names = list(dict.fromkeys(qualify_name(kb, record) for record in kb.records()))
    else:
        names = [session.name for session in kb.sessions()] if argument == "name" else []
    return [name for name in names if name.casefold().startswith(begun.casefold())]


# -- prompts --------------------------------------------------------------------------------------


class McpPrompt(NamedTuple):
    """A prompt that a person chooses to begin with."""

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
    # some roles get none on purpose; an empty prompt would look like a fault
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
        msg("What the prompt of a sub-agent begins with: hints and its task."),
        _ROLE,
        _render_spawn,
        required=("avatar", "task"),
    ),
)
