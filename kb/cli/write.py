"""kb write."""

import sys
from typing import TYPE_CHECKING, Any

import click

from kb.candidate import AREAS, MAX_INPUT
from kb.cli.door import json_option, name_broken, print_json, show_verdicts, usage
from kb.kinds import KINDS
from kb.words import say

if TYPE_CHECKING:
    from kb.record import Candidate

_TEXTS = ("decision", "alternatives", "why", "verification", "rollback")


@click.command(short_help="Hand candidates to the gate.")
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
@click.option("--updates", help="The id of the record whose sections these are.")
@click.option("--reusable/--not-reusable", default=None, help="Useful in other projects.")
@click.option("--affects-future", type=click.Choice(["yes", "no"]), help="Self-check: will it affect a later decision?")
@click.option("--reference", "reference_value", type=click.Choice(["yes", "no"]), help="Self-check: worth looking up?")
@click.option("--prevents-repeat", type=click.Choice(["yes", "no"]), help="Self-check: does it prevent a repeat?")
@click.option("--session", help="The session it comes from.")
@click.option("--host", help="The program that hands it in.")
@click.option("--dry-run", is_flag=True, help="Show every verdict, write nothing.")
@json_option
@click.pass_context
def command(
    ctx: click.Context, /, source: str | None, schema: bool, dry_run: bool, as_json: bool, **given: Any
) -> None:
    """Hand candidates to the gate: from a JSON file, from stdin (-), or from the options.

    \b
    kb write --kind decision --title "Use PostgreSQL for orders" --why "…" --area architecture
    kb write candidates.json
    git log -1 --format=%B | my-extractor | kb write -
    """
    from kb import candidate

    if schema:
        print_json(candidate.SCHEMA)
        return
    if source and any(value not in (None, ()) for value in given.values()):
        raise usage(say("give a file, - for stdin, or --kind and --title"))
    candidates = (
        candidate.parse(_read(source), "stdin" if source == "-" else source) if source else [_from_options(given)]
    )
    _write(ctx, candidates, dry_run, as_json)


def _write(ctx: click.Context, candidates: "list[Candidate]", dry_run: bool, as_json: bool) -> None:
    import os

    from kb.cli.door import with_kb

    @with_kb
    def written(kb: Any) -> None:
        verdicts = kb.write(candidates, folder=os.getcwd(), dry_run=dry_run)
        name_broken(kb)
        show_verdicts(kb, verdicts, as_json=as_json)

    written()


def _read(source: str) -> bytes:
    from kb.errors import BadInput

    try:
        if source == "-":
            data = sys.stdin.buffer.read(MAX_INPUT + 1) if sys.stdin else b""
        else:
            with open(source, "rb") as file:
                data = file.read(MAX_INPUT + 1)
    except OSError as error:
        raise BadInput(say("cannot be read: {problem}", problem=error.strerror), path=source) from None
    if len(data) > MAX_INPUT:
        raise BadInput(say("the input has more than {limit} bytes", limit=MAX_INPUT), path=source)
    return data


def _from_options(given: dict[str, Any]) -> "Candidate":
    from kb import candidate

    if not given["kind"] or not given["title"]:
        raise usage(say("give a file, - for stdin, or --kind and --title"))
    value: dict[str, Any] = {
        key: given[key] for key in ("kind", "title", "scope", "project", "updates", "session", "host") if given[key]
    }
    value |= {key: given[key] for key in _TEXTS if given[key]}
    value |= {key: list(given[key]) for key in ("impact", "tags", "impact_areas", "supersedes", "amends") if given[key]}
    value |= {
        key: given[key] == "yes" for key in ("affects_future", "reference_value", "prevents_repeat") if given[key]
    }
    if given["reusable"] is not None:
        value["reusable"] = given["reusable"]
    for key, name in (("claims", "claims"), ("coexists", "coexists_with")):
        if given[key]:
            value[name] = dict(_pair(item) for item in given[key])
    value.setdefault("host", "cli")
    return candidate.candidates(value, "the options")[0]


def _pair(item: str) -> tuple[str, str]:
    key, sign, value = item.partition("=")
    if not sign or not key.strip():
        raise usage(say("“{item}” is not of the form KEY=VALUE", item=item))
    return key.strip(), value.strip()
