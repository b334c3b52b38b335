"""The functions of the MCP tools, and the resources under `kb://` and `agent://`.

A tool's function takes the knowledge base, the caller's folder and validated arguments. Record texts go through
`kb.context.disclose`; `tool_table.call_tool` adds the line that they are data. Resources quote record texts behind
"> ", below a line with their origin.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from kb.context import disclose
from kb.context.disclose import RecordRow
from kb.context.give_hints import log_given_records, note_questions
from kb.errors import BadInput, UnknownId
from kb.i18n import Message, msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records import candidate
from kb.records.kinds import KINDS, SECTIONS, find_kind, kind_label, section_label
from kb.records.model import Record, Verdict
from kb.records.short_form import render_abstract, render_overview
from kb.safety.injection import reveal_hidden
from kb.safety.quoting import sanitise_text
from kb.search import addresses
from kb.text.segment import estimate_tokens

T = TypeVar("T")
Given = Mapping[str, Any]
Answer = dict[str, Any]

DEFAULT_BUDGET = 4000
"""Default budget of an answer, in estimated tokens."""
_ENVELOPE = 50
"""Estimated tokens around the rows of an answer: the line that they are data, and the counts."""


# -- what several tools do ------------------------------------------------------------------------


def limit_to_budget(rows: Sequence[T], budget: int) -> list[T]:
    """Return the first of *rows*, JSON values, that fit into *budget*, but at least one."""
    kept: list[T] = []
    budget -= _ENVELOPE
    for row in rows:
        # always keep the first: an empty list would mean that nothing was found
        budget -= estimate_tokens(json.dumps(row, ensure_ascii=False)) + 1
        if kept and budget < 0:
            break
        kept.append(row)
    return kept


def _fit_rows(kb: KnowledgeBase, key: str, rows: Sequence[object], given: Given) -> Answer:
    """Return the first of *rows* that fit into the budget under *key*, and the number left out, or "", under "more"."""
    fitting = limit_to_budget(rows, given.get("budget", DEFAULT_BUDGET))
    omitted = len(rows) - len(fitting)
    more = msg("{n} more are left out; narrow the question, or raise budget", n=omitted)
    return {key: fitting, "more": kb.localise(more) if omitted else ""}


def _build_row(kb: KnowledgeBase, record: Record) -> Answer:
    return _translate_row(kb, disclose.build_record_row(kb, record))


def _translate_row(kb: KnowledgeBase, row: RecordRow) -> Answer:
    return {**row._asdict(), "withheld": sanitise_text(kb.localise(row.withheld)) if row.withheld else ""}


def _build_whole_record(kb: KnowledgeBase, record: Record, budget: int, only: str = "") -> Answer:
    whole = disclose.build_record_view(kb, record, budget=budget, only=only)
    lists = {key: list(getattr(whole, key)) for key in ("tags", "impact", "supersedes")}
    parts = {"sections": [part._asdict() for part in whole.parts], "left_out": list(whole.left_out)}
    return {**_translate_row(kb, whole.row), "uid": whole.uid, **lists, **parts}


def _parse_filter(kb: KnowledgeBase, given: Given) -> Filter:
    """Return the filter in the arguments of a list."""
    kind = find_kind(given.get("kind", ""))
    if given.get("kind") and kind is None:
        names = [each.name for each in KINDS]
        raise BadInput(msg("there is no kind {kind}; there are: {kinds}", kind=given["kind"], kinds=names))
    status, scope = ((given[key],) if given.get(key) else () for key in ("status", "scope"))
    since, until = (kb.day_named(given[key]) if given.get(key) else "" for key in ("since", "until"))
    path = os.path.normpath(given["path"]).replace(os.sep, "/") if given.get("path") else ""
    return Filter((kind.name,) if kind else (), status, scope, given.get("tag", ""), since, until, path)


# -- the tools ------------------------------------------------------------------------------------


@contextmanager
def _open_under(kb: KnowledgeBase, given: Given) -> Iterator[tuple[KnowledgeBase, Filter]]:
    """Yield the knowledge base and the filter of the requested records, under an address if given."""
    wanted = _parse_filter(kb, given)
    if not given.get("under"):
        yield kb, wanted
        return
    address = addresses.parse_address(given["under"])
    with kb.own() if address.who == addresses.ME else nullcontext(kb) as base:
        below = addresses.resolve_place(base.sync_index(), address).wanted
        own = {key: getattr(wanted, key) or getattr(below, key) for key in ("kinds", "scopes", "category")}
        yield base, wanted._replace(**own)


def _render_level(kb: KnowledgeBase, record: Record, row: Answer, level: int | None) -> Answer:
    """Return *row* with the text of *record* at *level*, unless its text is withheld."""
    if level is None or row["withheld"]:
        return row
    text = render_overview(record, kb.config.language) if level else render_abstract(record)
    return {**row, "text": sanitise_text(text)}


def search_records(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the records that answer a question, best first."""
    with _open_under(kb, given) as (base, wanted):
        return _search_records(base, folder, given, wanted)


def _search_records(kb: KnowledgeBase, folder: str, given: Given, wanted: Filter) -> Answer:
    limit = given.get("limit", 10)
    from kb.search import answer as search

    kb.start_scan()
    result = search.search_records(kb, given.get("query", ""), wanted=wanted, project=kb.project(folder), limit=limit)
    note_questions(kb, [given.get("query", "")], scope=kb.project(folder))
    rows = []
    for answer in result.answers:
        row = _render_level(kb, answer.record, _build_row(kb, answer.record), given.get("level"))
        snippet = "" if row["withheld"] else sanitise_text(answer.snippet)
        rows.append({**row, "score": answer.score, "snippet": snippet, "note": sanitise_text(kb.localise(answer.note))})
    notes = {"elsewhere": sanitise_text(kb.localise(result.elsewhere))} if result.elsewhere else {}
    return {**_fit_rows(kb, "answers", rows, given), **notes}


def show_record(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return one record."""
    if addresses.is_address(given["id"]):
        return _show_addressed(kb, folder, given)
    record = kb.record(given["id"], scope=given.get("scope") or kb.project(folder))
    only, level = given.get("section", ""), given.get("level", 2)
    if level < 2:
        whole = _build_whole_record(kb, record, 0)
        log_given_records(kb, "show", [record])
        return {"record": _render_level(kb, record, {**whole, "sections": [], "left_out": []}, level)}
    whole = _build_whole_record(kb, record, given.get("budget", DEFAULT_BUDGET), only)
    if only and not whole["sections"] and not whole["withheld"]:
        names = [section.name for section in record.sections if section.text.strip()]
        there = msg("there are: {names}", names=sanitise_text(", ".join(filter(None, names))))
        raise BadInput(msg("{id} has no section {section}", id=record.id, section=only), hint=there)
    log_given_records(kb, "show", [record])
    return {"record": whole}


def _show_addressed(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the record at an address, with a note if it has moved."""
    address = addresses.parse_address(given["id"])
    if not address.id:
        raise BadInput(
            msg("{address} names no single record", address=given["id"]), hint=msg("use the tool list, with under")
        )
    with kb.own() if address.who == addresses.ME else nullcontext(kb) as base:
        record, moved = addresses.find_addressed(base.sync_index(), address)
        shown = show_record(base, folder, {**given, "id": record.uid or record.id, "scope": record.scope})
        return {**shown, **({"note": sanitise_text(base.localise(moved))} if moved else {})}


def list_records(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the records that match a filter, by scope and id."""
    begin = given.get("offset", 0)
    with _open_under(kb, given) as (base, wanted):
        records = base.records(wanted)
        page = [
            _render_level(base, record, _build_row(base, record), given.get("level"))
            for record in records[begin : begin + given.get("limit", 50)]
        ]
    fitting = limit_to_budget(page, given.get("budget", DEFAULT_BUDGET))
    end = begin + len(fitting)
    return {"records": fitting, "total": len(records), **({"next_offset": end} if end < len(records) else {})}


def get_hint(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the hint for a moment of work."""
    project = given.get("scope") or kb.project(folder)
    if given["moment"] == "avatar":
        text = kb.hint_for_avatar(given.get("avatar", ""), given.get("task", ""), project=project)
        return {"text": text, "ids": []}
    task = given.get("task", "")
    written = kb.hint(given["moment"], given.get("keywords", ()), task=task, project=project)
    return {"text": written.text, "ids": list(written.ids)}


def write_candidates(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Submit candidates to the gate and return their verdicts."""
    try:
        candidates = candidate.build_candidates(given.get("candidates"), "candidates")
    except BadInput as error:
        if error.hint == candidate.SEE_FORM:  # the agent has no docs at hand, but it has the tool's own schema
            error.hint = msg("the form of a candidate: the input schema of this tool, at candidates")
        raise
    candidates = [each._replace(host=each.host or "mcp") for each in candidates]
    verdicts = kb.write(candidates, folder=folder, dry_run=given.get("dry_run", False))
    return {"verdicts": [_format_verdict(kb, verdict) for verdict in verdicts]}


def _format_verdict(kb: KnowledgeBase, verdict: Verdict) -> Answer:
    values = {**verdict._asdict(), "id": qualify_name(kb, verdict) if verdict.verdict != "held" else verdict.id}
    clean = {key: sanitise_text(value) if isinstance(value, str) else value for key, value in values.items()}
    similar = [
        {**one._asdict(), "id": qualify_name(kb, one), "title": sanitise_text(one.title)} for one in verdict.similar
    ]
    return {**clean, "reasons": [sanitise_text(reason) for reason in verdict.reasons], "similar": similar}


def check_records(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the findings of a check of the records."""
    from kb.checks.run_checks import run_check

    found, records, _ = run_check(kb, below=[path.strip("/") for path in given.get("paths", ())])
    findings = [
        {
            **{"rule": one.rule, "severity": one.severity, "path": sanitise_text(one.path), "line": one.line},
            **{key: sanitise_text(kb.localise(said)) for key, said in (("message", one.message), ("fix", one.fix))},
        }
        for one in sorted(found, key=lambda one: one.severity != "error")
    ]
    errors = sum(one.severity == "error" for one in found)
    counts = {"records": records, "errors": errors, "warnings": len(found) - errors}
    return {**counts, **_fit_rows(kb, "findings", findings, given)}


def list_reviews(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the open reviews."""
    from kb.sync.decide_review import assess_reviews

    rows = [
        {
            "branch": sanitise_text(one.branch),
            "since": one.since,
            **{key: sanitise_text(getattr(one, key)) for key in ("standing", "host", "session")},
            **{"against": list(one.against), "record": _build_row(kb, one.record)},
        }
        for one in assess_reviews(kb, kb.reviews())
    ]
    return _fit_rows(kb, "reviews", rows, given)


def show_review(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return both sides of a review."""
    sides = kb.sides(given["id"])
    # each side gets the same share: a long old record must not hide the new one
    budget = given.get("budget", DEFAULT_BUDGET) // (1 + len(sides.old))
    return {
        "branch": sanitise_text(sides.review.branch),
        "reasons": sanitise_text(sides.reasons.partition("\n\nKb-Op: ")[0]),
        "new": _build_whole_record(kb, sides.review.record, budget),
        "old": [_build_whole_record(kb, record, budget) for record in sides.old],
        "next": kb.localise(msg("a person decides it: kb review show {id}", id=sides.review.record.scoped_id)),
    }


def get_context(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return the records on a question, whole or short, as one text."""
    project = given.get("scope") or kb.project(folder)
    left = room = given.get("budget", DEFAULT_BUDGET) - _ENVELOPE
    while True:
        made = kb.context(given["query"], budget=left, project=project)
        # the answer also lists the records in the text, and JSON writes some characters as two
        records = [{"id": one.record.id, "scope": one.record.scope, "form": one.form} for one in made.shown]
        excess = estimate_tokens(json.dumps([made.text, records], ensure_ascii=False)) - room
        if min(excess, left) <= 0:
            break
        left = max(left - excess, 0)
    log_given_records(kb, "context", [one.record for one in made.shown])
    note_questions(kb, [given["query"]], scope=project)
    return {"text": made.text, "records": records, "tokens": made.tokens, "left": made.left}


def get_pack(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Return evidence on a question; quotes are verbatim, except that hidden characters are shown."""
    made = _sanitise_values(kb.pack(given["question"], folder=folder))
    note_questions(kb, [given["question"]], scope=kb.project(folder))
    pack, omitted = _fit_pack(made, given.get("budget", DEFAULT_BUDGET))
    more = msg("{n} more are left out; narrow the question, or raise budget", n=omitted)
    return {"pack": pack, "more": kb.localise(more) if omitted else ""}


_PACK_ORDER = ("conflicts", "evidence", "summary", "open_questions", "needs_review", "withheld")
"""The lists of a pack, in the reverse order of dropping; the best piece of evidence is always kept."""


def _fit_pack(pack: Answer, budget: int) -> tuple[Answer, int]:
    """Return *pack* cut to *budget* estimated tokens, and the number of dropped rows."""
    rows = [("evidence", row) for row in pack["evidence"][:1]]
    rows += [(key, row) for key in _PACK_ORDER for row in pack[key][1 if key == "evidence" else 0 :]]
    kept: Answer = {key: [] if key in _PACK_ORDER else value for key, value in pack.items()}
    budget -= estimate_tokens(json.dumps(kept, ensure_ascii=False)) + _ENVELOPE
    dropped = 0
    for number, (key, row) in enumerate(rows):
        cost = estimate_tokens(json.dumps(row, ensure_ascii=False)) + 1
        if cost <= budget or not number:
            kept[key].append(row)
            budget -= cost
        else:
            dropped += 1
    return kept, dropped


def _sanitise_values(value: Any, key: str = "") -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _sanitise_values(inner, name) for name, inner in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_sanitise_values(inner, key) for inner in value]
    # a quote is verbatim evidence: only hidden characters are shown ("pay\u200bment" → "pay<U+200B>ment")
    return (reveal_hidden if key == "quote" else sanitise_text)(value) if isinstance(value, str) else value


# -- resources ------------------------------------------------------------------------------------

SCHEME, MIME_TYPE = "kb://", "text/markdown"
RECORDS, LISTS, SESSIONS = "records/", "kinds/", "sessions/"
_MAX_TOKENS = 4 * DEFAULT_BUDGET
_MAX_ROWS = 1000
"""Maximum number of records in a list; fewer if they take more than _MAX_TOKENS tokens."""
_SECTIONS = frozenset(section.name for section in SECTIONS) - {"evidence", "additions"}


class McpResource(NamedTuple):
    """A resource, or a template of many."""

    uri: str
    name: str
    title: Message
    help: Message


HOME = McpResource(
    f"{SCHEME}home",
    "home",
    msg("The knowledge base"),
    msg("Its contents: scopes, kinds, reviews; and where to continue."),
)
TEMPLATES = (
    McpResource(
        f"{SCHEME}{RECORDS}{{id}}", "record", msg("A record"), msg("By id (D001), citation (shop:D001) or uid.")
    ),
    McpResource(
        f"{SCHEME}{LISTS}{{kind}}", "kind", msg("The records of a kind"), msg("The accepted records, by scope and id.")
    ),
    McpResource(
        f"{SCHEME}{SESSIONS}{{name}}", "session", msg("An archived session"), msg("Its compact form, to continue from.")
    ),
    McpResource(
        f"{addresses.SCHEME}{{who}}/{{type}}/{{category}}/{{record}}",
        "address",
        msg("Records by address"),
        msg("A record, or what is below an address; all parts but the first may be left out."),
    ),
)


def list_resources(language: str) -> list[McpResource]:
    """Return the fixed resources: the home page, and a list for each kind."""
    resources = [HOME]
    for kind in KINDS:
        label = kind_label(kind.name, language)
        about = msg("The records of the kind {kind}.", kind=label)
        resources.append(McpResource(f"{SCHEME}{LISTS}{kind.name}", kind.name, msg("{kind}", kind=label), about))
    return resources


def read_resource(kb: KnowledgeBase, folder: str, uri: str) -> str:
    """Return the text of the resource *uri* as markdown; raise UnknownId if there is none."""
    if addresses.is_address(uri):
        return _render_addressed(kb, folder, addresses.parse_address(uri))
    rest = unquote(uri.removeprefix(SCHEME)) if uri.startswith(SCHEME) else ""
    part, _, name = rest.partition("/")
    if name and f"{part}/" == RECORDS:
        return _render_record(kb, folder, name)
    if name and f"{part}/" == LISTS:
        return _render_kind(kb, name)
    if name and f"{part}/" == SESSIONS:
        return _quote_lines(kb, sanitise_text(kb.session_file(name)).split("\n"))
    if rest.rstrip("/") == "home":
        return _render_home(kb, folder)
    known = msg("there are: {names}", names=[each.uri for each in (HOME, *TEMPLATES)])
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
        about += ["", kb.localise(msg("left out because of its length: {names}", names=whole.left_out))]
    return _quote_lines(kb, about)


def _render_addressed(kb: KnowledgeBase, folder: str, address: addresses.Address) -> str:
    """Return the resource at *address*: a record, a session, or the list of the records under it."""
    with kb.own() if address.who == addresses.ME else nullcontext(kb) as base:
        if address.type == addresses.SESSION:
            return _quote_lines(base, sanitise_text(base.session_file(address.id)).split("\n"))
        if address.id:
            record, _ = addresses.find_addressed(base.sync_index(), address)
            return _render_record(base, folder, record.uid or record.id)
        return _render_list(base, addresses.resolve_place(base.sync_index(), address).wanted)


def _render_kind(kb: KnowledgeBase, name: str) -> str:
    if name not in {kind.name for kind in KINDS}:
        names = [kind.name for kind in KINDS]
        raise BadInput(msg("there is no kind {kind}; there are: {kinds}", kind=sanitise_text(name), kinds=names))
    return _render_list(kb, Filter(kinds=(name,)))


def _render_list(kb: KnowledgeBase, wanted: Filter) -> str:
    records = kb.records(wanted._replace(statuses=("accepted", "proposed")))
    rows = (disclose.build_record_row(kb, record) for record in records[:_MAX_ROWS])
    lines = [f"[{row.id}] {row.title} ({row.scope}, {row.status})" for row in rows]
    fitting = limit_to_budget(lines, _MAX_TOKENS)
    omitted = len(records) - len(fitting)
    more = [kb.localise(msg("{n} more: ask the tool list", n=omitted))] if omitted else []
    return _quote_lines(kb, [*fitting, *more])


def _quote_lines(kb: KnowledgeBase, lines: Sequence[str]) -> str:
    return "\n".join([disclose.render_quote_notice(kb), "", *(f"> {line}".rstrip() for line in lines)]) + "\n"


def _render_home(kb: KnowledgeBase, folder: str) -> str:
    home = disclose.build_overview(kb, folder)
    kinds = [
        f"- {kind_label(kind, kb.config.language)}: {n} ({SCHEME}{LISTS}{kind})" for kind, n in home.kinds.items() if n
    ]
    scopes = [f"- {scope}: {n}" for scope, n in home.scopes.items()]
    holds = kb.localise(msg("Scope here: {scope}. Open reviews: {n}.", scope=home.scope, n=home.reviews))
    find = kb.localise(msg("Find: the tool search. Read: the tool show, or {uri}.", uri=TEMPLATES[0].uri))
    return "\n".join([f"# {home.name}", "", holds, "", *kinds, "", *scopes, "", find]) + "\n"


def complete_argument(kb: KnowledgeBase, argument: str, begun: str) -> list[str]:
    """Return the possible values of the template *argument* that begin with the typed text *begun*."""
    if argument == "kind":
        names = [kind.name for kind in KINDS]
    elif argument == "id":
        names = list(dict.fromkeys(qualify_name(kb, record) for record in kb.records()))
    else:
        names = [session.name for session in kb.sessions()] if argument == "name" else []
    return [name for name in names if name.casefold().startswith(begun.casefold())]
