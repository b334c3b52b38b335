"""Functions behind the MCP tools: each takes the knowledge base, the caller's folder and checked arguments.

A text that somebody wrote comes through `kb.context.disclose`; the line that says it is data is put before by
`tools.call_tool`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from kb.context import disclose
from kb.context.disclose import RecordRow
from kb.context.give_hints import log_given_records
from kb.errors import BadInput
from kb.i18n import msg
from kb.index.record_ids import qualify_name
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records import candidate
from kb.records.kinds import KINDS, find_kind
from kb.records.model import Record, Verdict
from kb.safety.injection import reveal_hidden
from kb.safety.quoting import sanitise_text
from kb.text.segment import estimate_tokens

T = TypeVar("T")
Given = Mapping[str, Any]
Answer = dict[str, Any]

DEFAULT_BUDGET = 4000
"""Estimated tokens of an answer where the caller names no budget."""


# -- what several tools do ------------------------------------------------------------------------


def limit_to_budget(rows: Sequence[T], budget: int) -> list[T]:
    """Return the first of *rows*, values for JSON, that cost at most *budget* estimated tokens; one at least."""
    kept: list[T] = []
    for row in rows:
        # the first is kept whatever it costs: an empty list would say that nothing was found
        budget -= estimate_tokens(json.dumps(row, ensure_ascii=False))
        if kept and budget < 0:
            break
        kept.append(row)
    return kept


def _fit_rows(kb: KnowledgeBase, key: str, rows: Sequence[object], given: Given) -> Answer:
    """Return as *key* the first of *rows*, within the budget asked for, and as "more" how many are missing, or ""."""
    kept = limit_to_budget(rows, given.get("budget", DEFAULT_BUDGET))
    left = len(rows) - len(kept)
    more = msg("{n} more are left out; narrow the question, or raise budget", n=left)
    return {key: kept, "more": kb.localise(more) if left else ""}


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
    """Return what the arguments that narrow a list ask for."""
    kind = find_kind(given.get("kind", ""))
    if given.get("kind") and kind is None:
        names = ", ".join(each.name for each in KINDS)
        raise BadInput(msg("there is no kind {kind}; there are: {kinds}", kind=given["kind"], kinds=names))
    status, scope = ((given[key],) if given.get(key) else () for key in ("status", "scope"))
    since, until = (kb.day_named(given[key]) if given.get(key) else "" for key in ("since", "until"))
    path = os.path.normpath(given["path"]).replace(os.sep, "/") if given.get("path") else ""
    return Filter((kind.name,) if kind else (), status, scope, given.get("tag", ""), since, until, path)


# -- the tools ------------------------------------------------------------------------------------


def search_records(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer a question with records, best first."""
    wanted, limit = _parse_filter(kb, given), given.get("limit", 10)
    from kb.search import answer as search

    kb.start_scan()
    found = search.search_records(kb, given.get("query", ""), wanted=wanted, project=kb.project(folder), limit=limit)
    rows = []
    for answer in found.answers:
        row = _build_row(kb, answer.record)
        snippet = "" if row["withheld"] else sanitise_text(answer.snippet)
        rows.append({**row, "score": answer.score, "snippet": snippet, "note": sanitise_text(kb.localise(answer.note))})
    said = {"elsewhere": sanitise_text(kb.localise(found.elsewhere))} if found.elsewhere else {}
    return {**_fit_rows(kb, "answers", rows, given), **said}


def show_record(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with one record."""
    record = kb.record(given["id"], scope=given.get("scope") or kb.project(folder))
    only = given.get("section", "")
    whole = _build_whole_record(kb, record, given.get("budget", DEFAULT_BUDGET), only)
    if only and not whole["sections"] and not whole["withheld"]:
        names = [section.name for section in record.sections if section.text.strip()]
        there = msg("there are: {names}", names=sanitise_text(", ".join(filter(None, names))))
        raise BadInput(msg("{id} has no section {section}", id=record.id, section=only), hint=there)
    log_given_records(kb, "show", [record])
    return {"record": whole}


def list_records(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the records that a filter wants, by scope and id."""
    records = kb.records(_parse_filter(kb, given))
    begin = given.get("offset", 0)
    page = [_build_row(kb, record) for record in records[begin : begin + given.get("limit", 50)]]
    kept = limit_to_budget(page, given.get("budget", DEFAULT_BUDGET))
    end = begin + len(kept)
    return {"records": kept, "total": len(records), **({"next_offset": end} if end < len(records) else {})}


def get_hint(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the hint for a moment of work."""
    project = given.get("scope") or kb.project(folder)
    if given["moment"] == "avatar":
        text = kb.hint_for_avatar(given.get("avatar", ""), given.get("task", ""), project=project)
        return {"text": text, "ids": []}
    task = given.get("task", "")
    written = kb.hint(given["moment"], given.get("keywords", ()), task=task, project=project)
    return {"text": written.text, "ids": list(written.ids)}


def write_candidates(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Hand candidates to the gate and answer with what became of each."""
    try:
        candidates = candidate.build_candidates(given.get("candidates"), "candidates")
    except BadInput as error:
        if error.hint == candidate.SEE_FORM:  # the agent has no docs before it, but it has the tool's own schema
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
    """Answer with what is wrong with the records."""
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
    """Answer with the open reviews."""
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
    """Answer with both sides of a review."""
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
    """Answer with the records that a question is about, whole or short, as one text."""
    project = given.get("scope") or kb.project(folder)
    made = kb.context(given["query"], budget=given.get("budget", DEFAULT_BUDGET), project=project)
    log_given_records(kb, "context", [one.record for one in made.shown])
    records = [{"id": one.record.id, "scope": one.record.scope, "form": one.form} for one in made.shown]
    return {"text": made.text, "records": records, "tokens": made.tokens, "left": made.left}


def get_pack(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer a question with evidence; quotes stay word for word, but for what hides in them."""
    made = _sanitise_values(kb.pack(given["question"], folder=folder))
    fitted = _fit_rows(kb, "evidence", made["evidence"], given)
    return {"pack": {**made, "evidence": fitted["evidence"]}, "more": fitted["more"]}


def _sanitise_values(value: Any, key: str = "") -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _sanitise_values(inner, name) for name, inner in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_sanitise_values(inner, key) for inner in value]
    # a quote is evidence, word for word: only what hides in it is shown ("pay\u200bment" → "pay<U+200B>ment")
    return (reveal_hidden if key == "quote" else sanitise_text)(value) if isinstance(value, str) else value
