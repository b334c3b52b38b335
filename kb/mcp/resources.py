"""What the server offers to be read and to begin with: resources under `kb://` and the prompts of the protocol.

Both are text for an agent, so both quote: what a record says stands behind "> ", below the line that says whose it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from kb.context import disclose
from kb.errors import BadInput, UnknownId
from kb.i18n import Message, msg
from kb.index.lookup import name_of
from kb.knowledge_base import Filter, KnowledgeBase
from kb.mcp.tool_functions import BUDGET, within
from kb.records.kinds import KINDS, kind_label, section_label

SCHEME = "kb://"
RECORDS, LISTS, SESSIONS = "records/", "kinds/", "sessions/"
_MOST = 4 * BUDGET
_ROWS = 1000
"""Records of a list, at most; fewer where they take more than _MOST tokens."""
_SECTIONS = frozenset(("context", "decision", "alternatives", "why", "impact", "verification", "rollback"))


class Place(NamedTuple):
    """A resource, or a template of many."""

    uri: str
    name: str
    title: Message
    help: Message


HOME = Place(
    f"{SCHEME}home", "home", msg("The knowledge base"), msg("What it holds: scopes, kinds, reviews; where to go on.")
)
TEMPLATES: tuple[Place, ...] = (
    Place(f"{SCHEME}{RECORDS}{{id}}", "record", msg("A record"), msg("By id (D001), citation (shop:D001) or uid.")),
    Place(f"{SCHEME}{LISTS}{{kind}}", "kind", msg("The records of a kind"), msg("Those in force, by scope and id.")),
    Place(
        f"{SCHEME}{SESSIONS}{{name}}", "session", msg("An archived session"), msg("Its compact form, to go on from.")
    ),
)


def places(language: str) -> list[Place]:
    """Return the resources that are always there: the home, and a list for each kind."""
    lists = [
        Place(
            f"{SCHEME}{LISTS}{kind.name}",
            kind.name,
            msg("{kind}", kind=kind_label(kind.name, language)),
            msg("The records of the kind {kind}.", kind=kind_label(kind.name, language)),
        )
        for kind in KINDS
    ]
    return [HOME, *lists]


def read(kb: KnowledgeBase, folder: str, uri: str) -> str:
    """Return the text of the resource *uri* as markdown; raise UnknownId for none."""
    rest = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    for begin, answer in _READERS.items():
        if rest.startswith(begin) and (name := rest.removeprefix(begin)):
            return answer(kb, folder, name)
    if rest.rstrip("/") == "home":
        return _home(kb, folder)
    known = ", ".join((HOME.uri, *(place.uri for place in TEMPLATES)))
    raise UnknownId(
        msg("there is no resource {uri}", uri=disclose.passage(uri)), hint=msg("there are: {names}", names=known)
    )


def _record(kb: KnowledgeBase, folder: str, name: str) -> str:
    whole = disclose.whole(kb, kb.record(name, scope=kb.project(folder)), budget=_MOST)
    about = [f"[{whole.row.id}] {whole.row.title}", f"{whole.row.scope} · {whole.row.status} · {whole.row.date}"]
    if whole.row.withheld:
        about.append(disclose.passage(kb.words(whole.row.withheld)))
    for part in whole.parts:
        label = section_label(part.name, kb.config.language) if part.name in _SECTIONS else part.name
        about += ["", f"## {label}", "", *part.text.split("\n")]
    if whole.left_out:
        about += ["", kb.words(msg("left out for its length: {names}", names=", ".join(whole.left_out)))]
    return _quoted(kb, about)


def _list(kb: KnowledgeBase, folder: str, name: str) -> str:
    if name not in {kind.name for kind in KINDS}:
        names = ", ".join(kind.name for kind in KINDS)
        raise BadInput(msg("there is no kind {kind}; there are: {kinds}", kind=disclose.passage(name), kinds=names))
    records = kb.records(Filter(kinds=(name,), statuses=("accepted", "proposed")))
    rows = [disclose.row(kb, record) for record in records[:_ROWS]]
    lines = [f"[{row.id}] {row.title} ({row.scope}, {row.status})" for row in rows]
    kept = within(lines, _MOST)
    left = len(records) - len(kept)
    return _quoted(kb, [*kept, *([kb.words(msg("{n} more: ask the tool list", n=left))] if left else [])])


def _session(kb: KnowledgeBase, folder: str, name: str) -> str:
    return _quoted(kb, disclose.passage(kb.session_file(name)).split("\n"))


_READERS: Mapping[str, Callable[[KnowledgeBase, str, str], str]] = {RECORDS: _record, LISTS: _list, SESSIONS: _session}


def _quoted(kb: KnowledgeBase, lines: Sequence[str]) -> str:
    return "\n".join([disclose.frame(kb), "", *(f"> {line}".rstrip() for line in lines)]) + "\n"


def _home(kb: KnowledgeBase, folder: str) -> str:
    home = disclose.home(kb, folder)
    kinds = [
        f"- {kind_label(kind, kb.config.language)}: {n} ({SCHEME}{LISTS}{kind})" for kind, n in home.kinds.items() if n
    ]
    lines = [
        f"# {home.name}", "",
        kb.words(msg("Here holds: {scope}. Open reviews: {n}.", scope=home.scope, n=home.reviews)), "",
        *kinds, "",
        *(f"- {scope}: {n}" for scope, n in home.scopes.items()), "",
        kb.words(msg("Find: the tool search. Read: the tool show, or {uri}.", uri=TEMPLATES[0].uri)),
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


def completions(kb: KnowledgeBase, argument: str, begun: str) -> list[str]:
    """Return what the *argument* of a template may be, of what begins with what the user has *begun* to type."""
    if argument == "kind":
        names = [kind.name for kind in KINDS]
    elif argument == "id":
        names = list(dict.fromkeys(name_of(kb, record) for record in kb.records()))
    else:
        names = [session.name for session in kb.sessions()] if argument == "name" else []
    return [name for name in names if name.casefold().startswith(begun.casefold())]


# -- prompts --------------------------------------------------------------------------------------


class Prompt(NamedTuple):
    """A prompt that a person chooses to begin with."""

    name: str
    title: Message
    help: Message
    arguments: Mapping[str, Message]
    text: Callable[[KnowledgeBase, str, Mapping[str, str]], str]
    required: tuple[str, ...] = ()


def _hint(moment: str) -> Callable[[KnowledgeBase, str, Mapping[str, str]], str]:
    def told(kb: KnowledgeBase, folder: str, given: Mapping[str, str]) -> str:
        text = kb.hint(moment, given.get("keywords", "").split(), project=kb.project(folder)).text
        return f"{disclose.frame(kb)}\n\n{text}"

    return told


def _avatar(kb: KnowledgeBase, folder: str, given: Mapping[str, str]) -> str:
    text = kb.hint_for_avatar(given["avatar"], given["task"], project=kb.project(folder))
    return f"{disclose.frame(kb)}\n\n{text}" if text else kb.words(msg("this role gets no hints"))


_KEYWORDS = {"keywords": msg("What the work is about.")}
_ROLE = {
    "avatar": msg("For the moment avatar: 眼 耳 鼻 舌 身 意, or explorer, architect, reviewer, …"),
    "task": msg("The task in words."),
}
PROMPTS: tuple[Prompt, ...] = (
    Prompt(
        "shi_t1", msg("T1: before the work"), msg("Pitfalls, constraints and patterns to know before a task starts."),
        _KEYWORDS, _hint("t1"),
    ),
    Prompt(
        "shi_t2", msg("T2: once the plan is fixed"),
        msg("Decisions, interfaces and ways back to hold a plan against."),
        _KEYWORDS, _hint("t2"),
    ),
    Prompt(
        "shi_avatar", msg("Hints for a sub-agent"), msg("The hints that a role (眼 耳 鼻 舌 身 意) gets for its task."),
        _ROLE, _avatar, required=("avatar", "task"),
    ),
    Prompt(
        "spawn", msg("Context for a sub-agent"), msg("What the prompt of a sub-agent begins with: hints and its task."),
        _ROLE,
        lambda kb, folder, given: kb.spawn(given["avatar"], given["task"], project=kb.project(folder)),
        required=("avatar", "task"),
    ),
)  # fmt: skip
