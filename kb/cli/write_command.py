"""Hand candidates to the gate: `kb write`, from a file, from stdin or from options."""

from __future__ import annotations

import click

from kb.cli import plain
from kb.cli.options import has_decided, json_option, open_base, usage_error, yes_option
from kb.cli.prints import print_json
from kb.errors import KbError, NoKnowledgeBase
from kb.i18n import msg
from kb.records.candidate import AREAS
from kb.records.kinds import KINDS
from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase
    from kb.records.model import Candidate

_TEXTS = (
    *("kind", "title", "scope", "project", "updates", "session", "host"),
    *("decision", "alternatives", "why", "verification", "rollback"),
)
_LISTS = ("impact", "tags", "impact_areas", "supersedes", "amends")
_SELF_CHECKS = ("affects_future", "reference_value", "prevents_repeat")


@click.command(short_help="Submit candidates to the gate.")
@click.argument("source", required=False)
@click.option("--schema", is_flag=True, help="Print the JSON schema of a candidate and stop.")
@click.option("--kind", help=f"One of: {', '.join(kind.name for kind in KINDS)} (or the prefix, or 决策…).")
@click.option("--title", help="What was decided about what.")
@click.option("--decision", help="What holds from now on.")
@click.option("--alternatives", help="What else was considered.")
@click.option("--why", help="The reasons.")
@click.option("--impact", multiple=True, help="A path it is about (repeatable).")
@click.option("--verification", help="How to check that it holds.")
@click.option("--rollback", help="How to undo it.")
@click.option("--tag", "tags", multiple=True, help="A tag (repeatable).")
@click.option("--scope", help="global or project/<name> (default: the project you are in).")
@click.option("--project", help="Short for --scope project/<name>.")
@click.option("--area", "impact_areas", multiple=True, type=click.Choice(AREAS), help="What it weighs on (repeatable).")
@click.option("--claim", "claims", multiple=True, metavar="KEY=VALUE", help="A checkable fact (repeatable).")
@click.option("--coexists-with", "coexists", multiple=True, metavar="ID=WHY", help="What it does not contradict.")
@click.option("--supersedes", multiple=True, help="An id it replaces (repeatable).")
@click.option("--amends", multiple=True, help="An id it replaces in part (repeatable).")
@click.option("--updates", help="The id of the record whose sections these are; kind and title are its own.")
@click.option("--reusable/--not-reusable", default=None, help="Useful in other projects.")
@click.option("--affects-future", type=click.Choice(["yes", "no"]), help="Self-check: will it affect a later decision?")
@click.option("--reference", "reference_value", type=click.Choice(["yes", "no"]), help="Self-check: worth looking up?")
@click.option("--prevents-repeat", type=click.Choice(["yes", "no"]), help="Self-check: does it prevent a repeat?")
@click.option("--session", help="The session it comes from.")
@click.option("--host", help="The program that hands it in.")
@click.option("--dry-run", is_flag=True, help="Show every verdict, write nothing.")
@yes_option
@json_option
@click.pass_context
def write(
    ctx: click.Context, /, source: str | None, schema: bool, dry_run: bool, yes: bool, as_json: bool, **given: Any
) -> int:
    """Submit candidates to the gate: from a JSON file, from stdin (-), or from the options.

    \b
    kb write --kind decision --title "Use PostgreSQL for orders" --why "…" --area architecture
    kb write candidates.json
    git log -1 --format=%B | my-extractor | kb write -

    Exit 0: written. 3: something was refused or held. 4: a review was opened.

    Only you take an accepted record out of force (--supersedes, --amends, --updates): from a program, or as JSON, that
    becomes a review.
    """
    from kb.records.candidate import SCHEMA

    if schema:
        print_json(SCHEMA)
        return 0
    if source and any(value not in (None, ()) for value in given.values()):
        raise usage_error(msg("give a file, - for stdin, or --kind and --title"))

    def read_given(kb: KnowledgeBase | None) -> list[Candidate]:
        return plain.read_candidates(source) if source else [_build_candidate(kb, given)]

    try:
        kb = open_base(ctx)
    except NoKnowledgeBase:
        raise
    except KbError as error:
        if dry_run or (given["updates"] and not given["title"]):
            raise
        return plain.spool_candidates(str(ctx.find_root().obj or ""), lambda: read_given(None), error)
    with kb:
        decided = yes or (not source and has_decided(kb))
        return plain.write_candidates(kb, read_given(kb), dry_run=dry_run, as_json=as_json, decided=decided)


def _build_candidate(kb: KnowledgeBase | None, given: dict[str, Any]) -> Candidate:
    from kb.records.candidate import build_candidates

    if kb and given["updates"] and not (given["kind"] and given["title"]):
        record = kb.record(given["updates"], scope=given["scope"] or "")
        known = {"kind": record.kind, "title": record.title, "scope": record.scope}
        given = {**given, **{key: given[key] or value for key, value in known.items()}, "project": None}
    if not given["kind"] or not given["title"]:
        raise usage_error(msg("give a file, - for stdin, or --kind and --title"))
    value: dict[str, Any] = {key: given[key] for key in _TEXTS if given[key]}
    value |= {key: list(given[key]) for key in _LISTS if given[key]}
    value |= {key: given[key] == "yes" for key in _SELF_CHECKS if given[key]}
    if given["reusable"] is not None:
        value["reusable"] = given["reusable"]
    for key, name in (("claims", "claims"), ("coexists", "coexists_with")):
        if given[key]:
            value[name] = dict(_parse_pair(item) for item in given[key])
    value.setdefault("host", "cli")
    return build_candidates(value, "the options")[0]


def _parse_pair(item: str) -> tuple[str, str]:
    key, sign, value = item.partition("=")
    if not sign or not key.strip():
        raise usage_error(msg("“{item}” is not of the form KEY=VALUE", item=item))
    return key.strip(), value.strip()
