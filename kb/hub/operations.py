"""The operations of the hub: one table, from which REST, its OpenAPI description and the MCP tools are built.

Every function takes a `HubCall` with the repositories its caller may read. An unreadable repository is handled like a
missing one, with the same answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kb.errors import BadInput, UnknownId
from kb.hub.callers import READ, WRITE, HubCaller
from kb.hub.operation_forms import (
    BRANCH,
    CANDIDATE,
    FEED,
    FILTERS,
    FLAG,
    HIT,
    NUMBER,
    PAGING,
    PROJECT,
    RECORD_ID,
    REPORT,
    REPOSITORY,
    ROW,
    TEXT,
    VERDICT,
    WHOLE_RECORD,
    Schema,
    build_form,
    build_limit_form,
    build_list_form,
    build_object_form,
)
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.organisation.across_bases import select_concerning
from kb.organisation.hub import Hub
from kb.organisation.org_values import AcrossLink, AcrossPair, OrgRecord, RecordPage
from kb.organisation.team_branches import MAX_CANDIDATES, locate_team, propose_candidates
from kb.records import candidate, record_file
from kb.records.model import Candidate, Record, Verdict
from kb.safety.quoting import quote_record, sanitise_text

Given = Mapping[str, Any]
Answer = dict[str, Any]

MAX_SEARCH = 50
MAX_QUERY = 2_000
"""Maximum characters of a question; anything longer is pasted text."""
NO_RECORD = msg("there is no such record, or you may not read it")
NO_REPOSITORY = msg("there is no such repository, or you may not read it")


class HubCall(NamedTuple):
    """One call: its hub, its caller, and how to answer."""

    hub: Hub
    caller: HubCaller
    environment: Mapping[str, str]
    language: str = "en"
    is_quoted: bool = False
    """Whether an agent reads the answer: then hidden characters are shown, and texts that give orders are withheld."""
    push: frozenset[str] = frozenset()
    """The repositories that the hub may push to."""


class Operation(NamedTuple):
    """One row of the table."""

    name: str
    method: str
    path: str
    title: Message
    help: Message
    arguments: Mapping[str, Schema]
    """Name → JSON Schema, including arguments in the path."""
    answer: Schema
    call: Callable[[HubCall, Given], Answer]
    required: tuple[str, ...] = ()
    scope: str = READ
    is_tool: bool = True
    """Whether it is an MCP tool too."""
    own: tuple[str, ...] = ()
    """Arguments that the function validates itself."""
    has_markdown: bool = False
    """Whether REST can also answer in markdown, on request by `format`."""

    @property
    def in_path(self) -> tuple[str, ...]:
        """The arguments in the path."""
        return tuple(name for name in self.arguments if f"{{{name}}}" in self.path)


# -- what is answered -------------------------------------------------------------------------------


def _build_row(call: HubCall, repo: str, record: Record) -> Answer:
    """Return the row of *record* for a list."""
    withheld = ""
    if call.is_quoted:
        quoted = quote_record(record, msg("(a title that is not handed on)").translate(call.language))
        record = quoted.record
        withheld = sanitise_text(quoted.warning.translate(call.language)) if quoted.warning else ""
    row = {
        "repository": repo,
        "name": f"{repo}:{record.id}",
        **{key: str(getattr(record, key)) for key in ("id", "uid", "scope", "kind", "status", "title", "date", "path")},
        "tags": list(record.tags),
        "withheld": withheld,
    }
    cleaned: Answer = _clean(call, row)
    return cleaned


def _clean(call: HubCall, values: Any) -> Any:
    """Return *values* for the caller; for an agent, with hidden characters and tags made visible."""
    if not call.is_quoted:
        return values
    if isinstance(values, Mapping):
        return {key: _clean(call, value) for key, value in values.items()}
    if isinstance(values, list):
        return [_clean(call, value) for value in values]
    return sanitise_text(values) if isinstance(values, str) else values


def _narrow(call: HubCall, given: Given) -> frozenset[str]:
    """Return the requested repositories; an unreadable one is left out like a missing one."""
    name = given.get("repository")
    return call.caller.readable if name is None else call.caller.readable & {name}


def _build_filter(given: Given) -> Filter:
    lists = ((given[key],) if given.get(key) else () for key in ("kind", "status", "scope"))
    kinds, statuses, scopes = lists
    return Filter(kinds, statuses, scopes, *(given.get(key, "") for key in ("tag", "since", "until", "path")))


def search_records(call: HubCall, given: Given) -> Answer:
    """Return the records of all readable repositories that answer a question, best first."""
    answer = call.hub.search(
        given["query"],
        _narrow(call, given),
        _build_filter(given),
        given.get("limit", 10),
        given.get("project", ""),
        call.caller.readable,
    )
    answers = []
    for hit in answer.hits:
        row = _build_row(call, hit.repo, hit.record)
        snippet = "" if row["withheld"] else _clean(call, hit.snippet)
        answers.append({**row, "score": hit.score, "snippet": snippet, "whole": hit.whole, "told": hit.told})
    return {"answers": answers, "repositories": dict(sorted(answer.scopes.items())), "exact": answer.is_exact}


def list_records(call: HubCall, given: Given) -> Answer:
    """Return a page of the records that match a filter."""
    page = _load_page(call, given, _build_filter(given))
    return {"records": [_build_row(call, one.repo, one.record) for one in page.records], "next": page.next}


def _load_page(call: HubCall, given: Given, wanted: Filter) -> RecordPage:
    """Return the page requested by *given*; raise UnknownId for an invalid `after`."""
    try:
        return call.hub.list_records(_narrow(call, given), wanted, given.get("limit", 100), given.get("after", ""))
    except BadInput:
        if not given.get("after"):
            raise
        raise UnknownId(msg("no page ended there; begin again, without after")) from None


def load_record(call: HubCall, given: Given) -> OrgRecord:
    """Return the record named by *given*; raise UnknownId."""
    record = call.hub.load(given["repository"], given["id"], call.caller.readable)
    if record is None:
        raise UnknownId(NO_RECORD)
    return record


def show_record(call: HubCall, given: Given) -> Answer:
    """Return one whole record."""
    loaded = load_record(call, given)
    record = loaded.record
    row = _build_row(call, loaded.repo, record)
    if row["withheld"]:
        record = record._replace(sections=(), user="", impact=(), supersedes=(), amends=())
    sections = [{"name": part.name, "heading": part.heading, "text": part.text} for part in record.sections]
    lists = {key: list(getattr(record, key)) for key in ("impact", "supersedes", "amends")}
    return {"record": {**row, **_clean(call, {**lists, "sections": sections, "user": record.user})}}


def render_markdown(call: HubCall, given: Given) -> str:
    """Return one whole record as a file."""
    return record_file.render(load_record(call, given).record, call.language)


def list_repositories(call: HubCall, given: Given) -> Answer:
    """Return the readable repositories with their record counts."""
    counts = call.hub.count(call.caller.readable)
    return {"repositories": [{"name": name, "records": counts[name]} for name in sorted(counts)]}


def compare_bases(call: HubCall, given: Given) -> Answer:
    """Return contradictions, duplicates and links between the readable repositories, or between one and the others.

    Raise UnknownId if that one is not readable.
    """
    name = given.get("repository", "")
    if name and not _narrow(call, given):
        raise UnknownId(NO_REPOSITORY)
    report = call.hub.compare_bases(call.caller.readable)
    report = select_concerning(report, name) if name else report
    wikis = {repo: one.wiki_url for repo, one in call.hub.load_settings(call.caller.readable).items()}
    return {
        "repository": name,
        "contradictions": [_build_pair(call, pair, wikis) for pair in report.contradictions],
        "duplicates": [_build_pair(call, pair, wikis) for pair in report.duplicates],
        "links": [_build_link(call, link, wikis) for link in report.links],
        "compared": report.compared,
    }


def _build_pair(call: HubCall, pair: AcrossPair, wikis: Mapping[str, str]) -> Answer:
    reason = pair.reason.translate(call.language) if isinstance(pair.reason, Message) else pair.reason
    one, other = (_build_named(call, each, wikis) for each in (pair.one, pair.other))
    return {"one": one, "other": other, "reason": _clean(call, reason), "score": pair.score}


def _build_link(call: HubCall, link: AcrossLink, wikis: Mapping[str, str]) -> Answer:
    found = _build_named(call, link.found, wikis) if link.found else None
    record = _build_named(call, link.record, wikis)
    return {"record": record, "relation": link.relation, "target": _clean(call, link.target), "found": found}


def _build_named(call: HubCall, one: OrgRecord, wikis: Mapping[str, str]) -> Answer:
    """Return the row of a record with the URL of its page in its team's wiki, or ""."""
    top = wikis.get(one.repo, "").rstrip("/")
    uid = one.record.uid if one.record.uid.isalnum() else ""
    page = f"{top}/r/{uid}/" if uid else f"{top}/"
    return {**_build_row(call, one.repo, one.record), "wiki": page if top else ""}


def feed_records(call: HubCall, given: Given) -> Answer:
    """Return a page of records for the index of a portal: title, text and location of each."""
    page = _load_page(call, given, Filter())
    documents = []
    for one in page.records:
        record = one.record
        text = "\n\n".join(part.text.strip() for part in record.sections if part.text.strip())
        location = f"/api/v1/repositories/{one.repo}/records/{record.uid or record.id}?format=markdown"
        documents.append({**_build_row(call, one.repo, record), "text": text, "location": location})
    return {"documents": documents, "next": page.next}


def feed_repository(call: HubCall, given: Given) -> Answer:
    """Return a page of the records of one repository; raise UnknownId if it is not readable."""
    if not _narrow(call, given):
        raise UnknownId(NO_REPOSITORY)
    return feed_records(call, given)


def write_candidates(call: HubCall, given: Given) -> Answer:
    """Submit candidates to the gate of a team's knowledge base; admitted ones go onto branches."""
    if not _narrow(call, given):
        raise UnknownId(NO_REPOSITORY)
    handed_in = candidate.build_candidates(given["candidates"], "candidates")
    # sessions and quotes can only be checked on the machine of the caller, not here
    own = [each._replace(host="hub", session="", evidence=()) for each in handed_in]
    team = locate_team(call.hub, given["repository"], call.environment, can_push=given["repository"] in call.push)
    author = (call.caller.name, call.caller.email)
    dry_run, with_held = (given.get(key, False) for key in ("dry_run", "propose_held"))
    made = propose_candidates(team, own, author, call.environment, dry_run=dry_run, with_held=with_held)
    branches = [_clean(call, branch._asdict()) for branch in made.branches]
    verdicts = [_build_verdict(call, *pair) for pair in zip(made.verdicts, made.held, strict=True)]
    return {"verdicts": verdicts, "branches": branches}


_NEXT_STEPS: Mapping[str, Message] = {
    "held": msg(
        "the hub holds no candidates: add what the reasons ask for and submit it again, or submit it with "
        "propose_held, and a person of the team decides"
    ),
    "conflict": msg("a person of the team decides it, in the review"),
}
_WAITING = msg("a person of the team merges the branch; nothing more is needed")
"""The next step after writing through the hub, where the usual kb commands need a clone."""


def _build_verdict(call: HubCall, verdict: Verdict, held: Candidate | None) -> Answer:
    step = _WAITING if verdict.verdict == "unchanged" and verdict.branch else _NEXT_STEPS.get(verdict.verdict)
    values = {key: getattr(verdict, key) for key in ("verdict", "title", "kind", "id", "uid", "scope", "path")}
    similar = [{"id": one.id, "scope": one.scope, "title": one.title} for one in verdict.similar]
    details = {
        "reasons": list(verdict.reasons),
        "next": step.translate(call.language) if step else "",
        "similar": similar,
    }
    shown = candidate.candidate_to_json(held._replace(host="")) if held else None
    more = {"status": str(verdict.status), **details, "branch": verdict.branch, "candidate": shown}
    answer: Answer = _clean(call, {**values, **more})
    return answer


def validate_arguments(operation: Operation, given: Given) -> dict[str, Any]:
    """Return the arguments *given* without nulls; raise BadInput with the first invalid one."""
    values = {key: value for key, value in given.items() if value is not None}
    known = {key: row for key, row in operation.arguments.items() if key not in operation.own}
    schema = {**build_object_form(known), "required": [key for key in operation.required if key not in operation.own]}
    outer = {key: value for key, value in values.items() if key not in operation.own}
    hint = msg("arguments of {tool}: {names}", tool=operation.name, names=", ".join(operation.arguments))
    for problem in candidate.find_schema_errors(outer, schema, operation.name):
        raise BadInput(problem, hint=hint)
    for key, value in outer.items():
        most = known[key].get("maxLength")
        if most and len(value) > most:
            raise BadInput(msg("the field {key} is longer than {n} characters", key=key, n=most), hint=hint)
        if isinstance(value, str) and len(value) < known[key].get("minLength", 0):
            raise BadInput(msg("the field {key} is empty", key=key), hint=hint)
        pattern = known[key].get("pattern", "")
        if pattern and not re.match(pattern.removesuffix("$") + r"\Z", value):
            raise BadInput(msg("the field {key} has letters that it cannot have", key=key), hint=hint)
    if missing := [key for key in operation.own if key in operation.required and key not in values]:
        raise BadInput(msg("the field {key} is missing or no text", key=missing[0]), hint=hint)
    return values


OPERATIONS: tuple[Operation, ...] = (
    Operation(
        "search",
        "GET",
        "/api/v1/search",
        msg("Search all repositories"),
        msg("Find records of all teams that you may read, by words in Chinese or English, the best first."),
        {
            "query": build_form("string", msg("What to look for."), minLength=1, maxLength=MAX_QUERY),
            **FILTERS,
            "project": PROJECT,
            "limit": build_limit_form(MAX_SEARCH, 10),
        },
        build_object_form(
            {
                "answers": build_list_form(HIT),
                "repositories": {"type": "object", "additionalProperties": NUMBER},
                "exact": FLAG,
            }
        ),
        search_records,
        required=("query",),
    ),
    Operation(
        "list",
        "GET",
        "/api/v1/records",
        msg("List records"),
        msg("List the records the filters select, by repository and path, page by page."),
        {**FILTERS, **PAGING},
        build_object_form({"records": build_list_form(ROW), "next": TEXT}),
        list_records,
    ),
    Operation(
        "show",
        "GET",
        "/api/v1/repositories/{repository}/records/{id}",
        msg("Read a record"),
        msg("Read one record in full."),
        {"repository": REPOSITORY, "id": RECORD_ID},
        build_object_form({"record": build_object_form(WHOLE_RECORD)}),
        show_record,
        required=("repository", "id"),
        has_markdown=True,
    ),
    Operation(
        "repositories",
        "GET",
        "/api/v1/repositories",
        msg("List repositories"),
        msg("List the repositories that you may read, with how many records each has."),
        {},
        build_object_form({"repositories": build_list_form({"name": TEXT, "records": NUMBER})}),
        list_repositories,
    ),
    Operation(
        "compare",
        "GET",
        "/api/v1/compare",
        msg("Compare the teams"),
        msg(
            "Where accepted records of different repositories contradict each other, say the same, or replace each"
            " other. The teams decide about it; the hub decides nothing."
        ),
        {"repository": {**REPOSITORY, "description": msg("Only what concerns this repository.")}},
        build_object_form(REPORT),
        compare_bases,
    ),
    Operation(
        "write",
        "POST",
        "/api/v1/repositories/{repository}/proposals",
        msg("Propose records to a team"),
        msg(
            "Submit what was decided or learnt. It passes the gate of the team's knowledge base and goes to a "
            "branch in their repository, or comes back as a patch; the hub keeps nothing, and a person merges it."
        ),
        {
            "repository": REPOSITORY,
            "candidates": {"type": "array", "items": CANDIDATE, "minItems": 1, "maxItems": MAX_CANDIDATES},
            "dry_run": build_form("boolean", msg("Judge the candidates without writing anything."), default=False),
            "propose_held": build_form(
                "boolean",
                msg("Open a branch also for what the gate holds, with its remarks: a person of the team decides."),
                default=False,
            ),
        },
        build_object_form({"verdicts": build_list_form(VERDICT), "branches": build_list_form(BRANCH)}),
        write_candidates,
        required=("repository", "candidates"),
        scope=WRITE,
        own=("candidates",),
    ),
    Operation(
        "feed",
        "GET",
        "/api/v1/records.json",
        msg("Feed a portal"),
        msg("Title, text and place of all records that you may read, page by page, for the search index of a portal."),
        PAGING,
        FEED,
        feed_records,
        is_tool=False,
    ),
    Operation(
        "feed_repository",
        "GET",
        "/api/v1/repositories/{repository}/records.json",
        msg("Feed a portal with one repository"),
        msg("The same for one repository."),
        {"repository": REPOSITORY, **PAGING},
        FEED,
        feed_repository,
        required=("repository",),
        is_tool=False,
    ),
)
"""All REST operations; those with `is_tool` are also MCP tools."""

TOOLS: Mapping[str, Operation] = {one.name: one for one in OPERATIONS if one.is_tool}
