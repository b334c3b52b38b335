"""What the tools do: each takes the knowledge base, the folder of the caller and checked arguments, and answers values.

A text that somebody wrote comes through `handed`, and every answer begins with the line that says it is data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from kb.context import disclose
from kb.errors import BadInput
from kb.i18n import msg
from kb.index.lookup import name_of
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records import candidate
from kb.records.kinds import KINDS, kind_named
from kb.records.model import Candidate, Record, Verdict
from kb.safety.injection import visible
from kb.text.segment import tokens

if TYPE_CHECKING:
    from typing import Any, TypeVar

    T = TypeVar("T")
    Given = Mapping[str, Any]
    Answer = dict[str, Any]

BUDGET = 4000
"""Estimated tokens of an answer where the caller names no budget."""


# -- what several tools do ------------------------------------------------------------------------


def within(rows: Sequence[T], budget: int) -> list[T]:
    """Return the first of *rows*, values for JSON, that cost at most *budget* estimated tokens; one at least."""
    kept: list[T] = []
    for row in rows:
        budget -= tokens(json.dumps(row, ensure_ascii=False))
        if kept and budget < 0:
            break
        kept.append(row)
    return kept


def row_of(kb: KnowledgeBase, record: Record) -> Answer:
    """Return *record* for a list."""
    return _spoken(kb, disclose.row(kb, record))


def whole_of(kb: KnowledgeBase, record: Record, budget: int, only: str = "") -> Answer:
    """Return *record* with its sections."""
    whole = disclose.whole(kb, record, budget=budget, only=only)
    return {
        **_spoken(kb, whole.row),
        "uid": whole.uid,
        "tags": list(whole.tags),
        "impact": list(whole.impact),
        "supersedes": list(whole.supersedes),
        "sections": [part._asdict() for part in whole.parts],
        "left_out": list(whole.left_out),
    }


def _spoken(kb: KnowledgeBase, row: disclose.Row) -> Answer:
    return {**row._asdict(), "withheld": disclose.passage(kb.words(row.withheld)) if row.withheld else ""}


def _filter(kb: KnowledgeBase, given: Given) -> Filter:
    """Return what the arguments that narrow a list ask for."""
    kind = kind_named(given.get("kind", ""))
    if given.get("kind") and kind is None:
        names = ", ".join(each.name for each in KINDS)
        raise BadInput(msg("there is no kind {kind}; there are: {kinds}", kind=given["kind"], kinds=names))
    status, scope = ((given[key],) if given.get(key) else () for key in ("status", "scope"))
    since, until = (kb.day_named(given[key]) if given.get(key) else "" for key in ("since", "until"))
    path = os.path.normpath(given["path"]).replace(os.sep, "/") if given.get("path") else ""
    return Filter(
        (kind.name,) if kind else (), status, scope, given.get("tag", ""), since, until, path
    )  # fmt: skip


def _shortened(total: int, kept: Sequence[object], kb: KnowledgeBase) -> str:
    """Say what is missing of a list, or ""."""
    left = total - len(kept)
    return kb.words(msg("{n} more are left out; narrow the question, or raise budget", n=left)) if left else ""


# -- the tools ------------------------------------------------------------------------------------


def search(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer a question with records, best first."""
    wanted, limit = _filter(kb, given), given.get("limit", 10)
    found = kb.recall(given.get("query", ""), wanted=wanted, project=kb.project(folder), limit=limit)
    rows = []
    for answer in found:
        row = row_of(kb, answer.record)
        snippet = "" if row["withheld"] else disclose.passage(answer.snippet)
        rows.append({**row, "score": answer.score, "snippet": snippet, "note": disclose.passage(kb.words(answer.note))})
    kept = within(rows, given.get("budget", BUDGET))
    return {"frame": disclose.frame(kb), "answers": kept, "more": _shortened(len(rows), kept, kb)}


def show(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with one record."""
    record = kb.record(given["id"], scope=given.get("scope") or kb.project(folder))
    only = given.get("section", "")
    whole = whole_of(kb, record, given.get("budget", BUDGET), only)
    if only and not whole["sections"] and not whole["withheld"]:
        names = [section.name for section in record.sections if section.text.strip()]
        raise BadInput(
            msg("{id} has no section {section}", id=record.id, section=only),
            hint=msg("there are: {names}", names=disclose.passage(", ".join(filter(None, names)))),
        )
    disclose.remember(kb, "show", [record])
    return {"frame": disclose.frame(kb), "record": whole}


def list_(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the records that a filter wants, by scope and id."""
    records = kb.records(_filter(kb, given))
    begin = given.get("offset", 0)
    page = [row_of(kb, record) for record in records[begin : begin + given.get("limit", 50)]]
    kept = within(page, given.get("budget", BUDGET))
    more = begin + len(kept) < len(records)
    return {
        "frame": disclose.frame(kb), "records": kept, "total": len(records),
        **({"next_offset": begin + len(kept)} if more else {}),
    }  # fmt: skip


def hint(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the hint for a moment of work."""
    project = given.get("scope") or kb.project(folder)
    if given["moment"] == "avatar":
        told = kb.hint_for_avatar(given.get("avatar", ""), given.get("task", ""), project=project)
        return {"frame": disclose.frame(kb), "text": told, "ids": []}
    task = given.get("task", "")
    written = kb.hint(given["moment"], given.get("keywords", ()), task=task, project=project)
    return {"frame": disclose.frame(kb), "text": written.text, "ids": list(written.ids)}


def write(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Hand candidates to the gate and answer with what became of each."""
    candidates = [each._replace(host=each.host or "mcp") for each in _candidates(given.get("candidates"))]
    verdicts = kb.write(candidates, folder=folder, dry_run=given.get("dry_run", False))
    return {"frame": disclose.frame(kb), "verdicts": [_verdict(kb, verdict) for verdict in verdicts]}


def _candidates(value: object) -> list[Candidate]:
    """Return the candidates in *value*; an error points at the tool's own schema, which the agent has before it."""
    try:
        return candidate.candidates(value, "candidates")
    except BadInput as error:
        if error.hint == candidate.SEE_FORM:
            error.hint = msg("the form of a candidate: the input schema of this tool, at candidates")
        raise


def _verdict(kb: KnowledgeBase, verdict: Verdict) -> Answer:
    values = {**verdict._asdict(), "id": name_of(kb, verdict) if verdict.verdict != "held" else verdict.id}
    clean = {key: disclose.passage(value) if isinstance(value, str) else value for key, value in values.items()}
    similar = [
        {**one._asdict(), "id": name_of(kb, one), "title": disclose.passage(one.title)} for one in verdict.similar
    ]
    return {**clean, "reasons": [disclose.passage(reason) for reason in verdict.reasons], "similar": similar}


def check(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with what is wrong with the records."""
    from kb.checks.collect_checks import checked as looked_at

    found, records, _ = looked_at(kb, below=[path.strip("/") for path in given.get("paths", ())])
    findings = [
        {
            "rule": one.rule, "severity": one.severity, "path": disclose.passage(one.path), "line": one.line,
            "message": disclose.passage(kb.words(one.message)), "fix": disclose.passage(kb.words(one.fix)),
        }
        for one in sorted(found, key=lambda one: one.severity != "error")
    ]  # fmt: skip
    kept = within(findings, given.get("budget", BUDGET))
    errors = sum(one.severity == "error" for one in found)
    return {
        "frame": disclose.frame(kb), "records": records, "errors": errors, "warnings": len(found) - errors,
        "findings": kept, "more": _shortened(len(found), kept, kb),
    }  # fmt: skip


def review_list(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the open reviews."""
    from kb.sync.mergeability import judged

    rows = [
        {
            "branch": disclose.passage(one.branch), "since": one.since, "standing": disclose.passage(one.standing),
            "host": disclose.passage(one.host), "session": disclose.passage(one.session),
            "against": list(one.against), "record": row_of(kb, one.record),
        }
        for one in judged(kb, kb.reviews())
    ]  # fmt: skip
    kept = within(rows, given.get("budget", BUDGET))
    return {"frame": disclose.frame(kb), "reviews": kept, "more": _shortened(len(rows), kept, kb)}


def review_show(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with both sides of a review."""
    sides = kb.sides(given["id"])
    budget = given.get("budget", BUDGET) // (1 + len(sides.old))
    return {
        "frame": disclose.frame(kb),
        "branch": disclose.passage(sides.review.branch),
        "reasons": disclose.passage(sides.reasons.partition("\n\nKb-Op: ")[0]),
        "new": whole_of(kb, sides.review.record, budget),
        "old": [whole_of(kb, record, budget) for record in sides.old],
        "next": kb.words(msg("a person decides it: kb review show {id}", id=sides.review.record.scoped_id)),
    }


def context(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer with the records that a question is about, whole or short, as one text."""
    project = given.get("scope") or kb.project(folder)
    made = kb.context(given["query"], budget=given.get("budget", BUDGET), project=project)
    disclose.remember(kb, "context", [one.record for one in made.shown])
    records = [{"id": one.record.id, "scope": one.record.scope, "form": one.form} for one in made.shown]
    return {
        "frame": disclose.frame(kb), "text": made.text, "records": records, "tokens": made.tokens, "left": made.left,
    }  # fmt: skip


def pack(kb: KnowledgeBase, folder: str, given: Given) -> Answer:
    """Answer a question with evidence; quotes stay word for word, but for what hides in them."""
    made = _values(kb.pack(given["question"], folder=folder))
    evidence = within(made["evidence"], given.get("budget", BUDGET))
    more = _shortened(len(made["evidence"]), evidence, kb)
    return {"frame": disclose.frame(kb), "pack": {**made, "evidence": evidence}, "more": more}


def _values(value: Any, key: str = "") -> Any:
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return {name: _values(inner, name) for name, inner in value._asdict().items()}
    if isinstance(value, list | tuple):
        return [_values(inner, key) for inner in value]
    return (visible if key == "quote" else disclose.passage)(value) if isinstance(value, str) else value
