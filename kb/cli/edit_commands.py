"""Commands that write and change records: candidates to the gate, status, supersede, confirm, edit."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import click

from kb.cli import options, without_click
from kb.cli.prints import explain_written, format_record_line, print_json, warn
from kb.cli.terminal import ask_to_edit_again, find_editor, open_editor
from kb.errors import BadInput, ConcurrentEdit, KbError, NeedsPerson, NoKnowledgeBase
from kb.i18n import msg
from kb.records.candidate import AREAS
from kb.records.front_matter import decode_record
from kb.records.kinds import KINDS, find_kind, join_section_labels, resolve_section_name
from kb.records.model import LIVE, Candidate, Record, Status, Verdict
from kb.search.addresses import ME, Address, list_type_kinds, parse_target, place_candidate
from kb.similarity.merge_candidate import build_sections, list_required
from kb.writing import edit_text
from kb.writing.gate import BELOW_GATE
from kb.writing.record_template import (
    ASKED_PATHS,
    add_missing_headings,
    build_template,
    drop_unused_headings,
    fill_candidate,
    list_questions,
    parse_template,
)

if TYPE_CHECKING:
    from typing import Any

    from kb.knowledge_base import KnowledgeBase
    from kb.writing.edit_text import EditDraft

_SELF_CHECKS = ["affects_future", "reference_value", "prevents_repeat"]


field_options = options.add_options(
    click.option("--kind", help=f"One of: {', '.join(kind.name for kind in KINDS)} (or its prefix or label)."),
    click.option("--title", help="What was decided about what."),
    click.option("--decision", help="What applies from now on."),
    click.option("--alternatives", help="What else was considered."),
    click.option("--why", help="The reasons."),
    click.option("--impact", multiple=True, help="A path the record concerns (repeatable)."),
    click.option("--verification", help="How to check that it holds."),
    click.option("--rollback", help="How to undo it."),
    click.option("--section", "sections", multiple=True, metavar="NAME=TEXT", help="A section that only its kind has."),
    click.option(
        "--field", "fields", multiple=True, metavar="NAME=VALUE", help="A front matter field that only its kind has."
    ),
    click.option("--tag", "tags", multiple=True, help="A tag (repeatable)."),
    click.option("--scope", help="global or project/<name> (default: the project you are in)."),
    click.option("--project", help="Short for --scope project/<name>."),
    click.option(
        "--area",
        "impact_areas",
        multiple=True,
        type=click.Choice(AREAS),
        help="What it affects: architecture, security, performance, compliance or modules (repeatable).",
    ),
    click.option("--claim", "claims", multiple=True, metavar="KEY=VALUE", help="A checkable fact (repeatable)."),
    click.option("--coexists-with", multiple=True, metavar="ID=WHY", help="A record it does not contradict."),
    click.option("--supersedes", multiple=True, help="The id of a record it replaces (repeatable)."),
    click.option("--amends", multiple=True, help="The id of a record it replaces in part (repeatable)."),
    click.option("--updates", help="The id of the record to update; it keeps its kind and title."),
    click.option("--reusable/--not-reusable", default=None, help="Useful in other projects."),
    click.option(
        "--affects-future", type=click.Choice(["yes", "no"]), help="Self-check: will it affect a later decision?"
    ),
    click.option(
        "--reference", "reference_value", type=click.Choice(["yes", "no"]), help="Self-check: worth looking up?"
    ),
    click.option("--prevents-repeat", type=click.Choice(["yes", "no"]), help="Self-check: does it prevent a repeat?"),
    click.option("--session", help="The session it comes from."),
    click.option("--host", help="The program that submits it."),
)


@click.command()
@click.argument("words", nargs=-1, metavar="[KIND] [TITLE]")
@click.option("--ask", is_flag=True, help="Ask for the sections one by one, without an editor.")
@click.option("--tag", "tags", multiple=True, help="A tag (repeatable).")
@click.option("--supersedes", multiple=True, help="The id of a record it replaces (repeatable).")
@click.option("--amends", multiple=True, help="The id of a record it replaces in part (repeatable).")
@click.option("--scope", default="", help="global or project/<name> (default: the project you are in).")
@options.with_kb
def new_record(kb: KnowledgeBase, words: tuple[str, ...], ask: bool, scope: str, **given: Any) -> list[Verdict]:
    """Write a record yourself: KIND is a decision unless you name another, and TITLE says what was decided about what.

    \b
    kb new "Use PostgreSQL for orders"
    kb new pitfall "The queue drops messages on restart"
    kb new

    $EDITOR opens with a heading and a hint for every section; saving writes the record. Without an editor kb asks. What
    you write passes the gate, and is accepted with what the setting `required` names: a decision and its reasons.
    """
    kind = find_kind(words[0]) if words else None
    title = " ".join(words[1:] if kind else words)
    candidate = Candidate(kind.name if kind else "decision", title, scope=scope, host="cli", **given)
    editor = find_editor(kb.environment)
    if not (options.is_at_terminal() or editor):
        message = msg("there is no terminal to edit in, and $EDITOR names no program")
        raise NeedsPerson(message, hint=msg("from a program: kb write --kind {kind} --title …", kind=candidate.kind))
    is_typed = options.has_decided(kb)
    if ask or not editor:
        return _write_typed(kb, _ask_sections(kb, candidate), is_typed=is_typed)
    place = scope or kb.caller_scope
    opened = build_template(candidate, kb.config.required, kb.config.language, kb.localise, place)
    with _keep_draft(kb, f"new-{candidate.kind}", opened) as draft:
        while True:
            open_editor(draft.path, editor, "kb new")
            try:
                text = decode_record(edit_text.read_draft(draft), os.path.basename(draft.path))
                filled = parse_template(text, candidate, draft.path) if text != opened else None
                if filled:
                    return _write_typed(kb, filled, is_typed=is_typed)
                warn(kb, msg("nothing was written: the template is as it was"))
                return []
            except KbError as error:
                ask_to_edit_again(kb, error, draft.path)


def _ask_sections(kb: KnowledgeBase, candidate: Candidate) -> Candidate:
    """Return *candidate* as a person at a terminal has completed it, one section after the other."""
    title = candidate.title or click.prompt(kb.localise(msg("Title: what was decided about what")), err=True)
    texts = {"tags": ", ".join(candidate.tags)}
    for question in list_questions(candidate.kind, kb.config.required, kb.config.language, kb.localise):
        if not texts.get(question.name):
            hint = kb.localise(ASKED_PATHS) if question.name == "impact" else question.hint
            # the prompt ends with a colon of its own
            leave = "" if question.is_needed else kb.localise(msg("; Enter: leave it out, kb edit adds it later"))
            asked = f"{question.label} ({hint.rstrip('.。')}{leave})"
            # an empty answer leaves a section out, but not one without which the record stays proposed
            texts[question.name] = click.prompt(
                asked, default=None if question.is_needed else "", show_default=False, err=True
            )
    texts["impact"] = re.sub("[,，、]", "\n", texts["impact"])
    return fill_candidate(candidate, title, texts)


def _write_typed(kb: KnowledgeBase, candidate: Candidate, *, is_typed: bool) -> list[Verdict]:
    """Write what a person wrote; raise KbError with the reasons where it is refused, so that it can be corrected."""
    verdicts = kb.write([candidate], folder=os.getcwd(), decided=is_typed, typed=is_typed)
    if verdicts[0].verdict == "refused":
        reasons = "; ".join(verdicts[0].reasons)
        raise KbError(msg("not written: {reasons}", reasons=reasons), hint=verdicts[0].next)
    if kb.localise(BELOW_GATE) in verdicts[0].reasons:
        # the gate's own remedy names options of kb write
        given = {section.name for section in build_sections(candidate)}
        lacking = [name for name in list_required(candidate.kind, kb.config.required) if name not in given]
        said = msg("without a terminal it passes the gate like what a program writes")
        sections = join_section_labels(lacking, kb.config.language, candidate.kind)
        missing = [msg("not given: {sections}", sections=sections)] if lacking else []
        remedy = msg("at a terminal: kb new; or accept it as it is: kb inbox promote {held}", held=verdicts[0].id)
        why = (*verdicts[0].reasons, *map(kb.localise, (*missing, said)))
        return [verdicts[0]._replace(reasons=why, next=kb.localise(remedy))]
    return [explain_written(kb, one) for one in verdicts]


@click.command()
@click.argument("source", required=False)
@click.option("--schema", is_flag=True, help="Print the JSON schema of a candidate and stop.")
@field_options
@click.option(
    "--at", "place", default="", metavar="ADDRESS", help="agent://<who>/<type>/<tag>: its scope, kind and tag."
)
@click.option("--dry-run", is_flag=True, help="Show every verdict without writing anything.")
@options.yes_option
@options.json_option
@click.pass_context
def write(
    ctx: click.Context,
    /,
    source: str | None,
    schema: bool,
    place: str,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    **given: Any,
) -> int:
    """Submit candidates to the gate: from a JSON file, from stdin (-), or from the options.

    \b
    kb write --kind decision --title "Use PostgreSQL for orders" --why "…" --area architecture
    kb write candidates.json
    git log -1 --format=%B | my-extractor | kb write -
    my-extractor | kb write - --session 1b9d6bcd

    Exit 0: written. 3: something was refused or held. 4: a review was opened.

    With --session, the quotes of every candidate are looked up in that session: where they all stand there word for
    word, that is a ground for the gate, and a candidate with another quote is held.

    Only a person takes an accepted record out of force (--supersedes, --amends, --updates): from a program, or as JSON,
    this becomes a review.
    """
    if schema:
        from kb.records.candidate import SCHEMA

        print_json(SCHEMA)
        return 0
    address = parse_target(place) if place else None
    if address and not source:
        given["kind"] = given["kind"] or (list_type_kinds(address.type) or ("",))[0]
    if source and any(value not in (None, ()) for key, value in given.items() if key not in ("session", "host")):
        raise options.usage_error(msg("give a file, - for stdin, or --kind and --title"))
    try:
        kb = options.open_base(ctx)
    except KbError as error:
        # an update without a title takes it from the record, which cannot be read now: there is nothing to keep
        if isinstance(error, NoKnowledgeBase) or dry_run or (given["updates"] and not given["title"]):
            raise
        base_path: str = ctx.find_root().obj or ""
        return without_click.spool_candidates(base_path, lambda: _read_given(None, source, given, address), error)
    with kb, kb.own() if address and address.who == ME else nullcontext(kb) as base:
        # a file is a program's work even at a terminal: nobody has seen what is in it
        is_typed = not source and options.has_decided(kb)
        about = {"decided": yes or is_typed, "typed": is_typed and not given["session"], "dry_run": dry_run}
        return without_click.write_candidates(base, _read_given(base, source, given, address), as_json=as_json, **about)


def _read_given(
    kb: KnowledgeBase | None, source: str | None, given: dict[str, Any], address: Address | None
) -> list[Candidate]:
    """Return the candidates of the file *source*, or of the options *given*, at *address* where there is one."""
    read = without_click.read_candidates(source) if source else [_build_candidate(kb, given)]
    if kb and address:
        read = [place_candidate(kb.sync_index(), one, address) for one in read]
    session, host = given["session"] or "", given["host"] or ""
    return [one._replace(session=one.session or session, host=one.host or host) for one in read]


def _build_candidate(kb: KnowledgeBase | None, given: dict[str, Any]) -> Candidate:
    """Return what the options give; with --updates, kind, title and scope are those of the record."""
    from kb.records.candidate import build_candidates

    # without a knowledge base (its settings are broken) the candidate is kept as it was given
    if kb and given["updates"] and not (given["kind"] and given["title"]):
        record = kb.record(given["updates"], scope=given["scope"] or "")
        known = {"kind": record.kind, "title": record.title, "scope": record.scope}
        given = {**given, **{key: given[key] or value for key, value in known.items()}, "project": None}
    if not given["kind"] or not given["title"]:
        raise options.usage_error(msg("give a file, - for stdin, or --kind and --title"))
    options.resolve_kind(given["kind"])  # an unknown one is a wrong command line, as it is for search and list
    value: dict[str, Any] = {"host": "cli"}
    for key, said in given.items():
        # an option that was not given says nothing; --not-reusable is False and says something
        if said in (None, "", ()):
            continue
        if key in ("claims", "coexists_with", "sections"):
            value[key] = dict(map(_parse_pair, said))
        elif key == "fields":
            value[key] = _parse_fields(said)
        elif key in _SELF_CHECKS:
            value[key] = said == "yes"
        else:
            value[key] = list(said) if isinstance(said, tuple) else said
    if (kind := find_kind(given["kind"])) and (named := value.get("sections")):
        # 步骤 and “Steps” mean `steps`, as they do above a section of a record
        value["sections"] = {resolve_section_name(key, kind.name) or key: text for key, text in named.items()}
    return build_candidates(value, kb.localise(msg("the options")) if kb else "the options")[0]


def _parse_fields(said: Iterable[str]) -> dict[str, Any]:
    """Return the values of `--field`, each of the type that the table of kinds gives it; a list is given item by item.

    A name no kind has is left to the check of the candidate, which says what there is.
    """
    from kb.records.candidate import FIELDS

    values: dict[str, Any] = {}
    for name, text in map(_parse_pair, said):
        kind = FIELDS.get(name, {}).get("type")
        number = re.fullmatch(r"\d{1,9}(\.\d{1,9})?", text) if kind == "number" else None
        values[name] = [*values.get(name, ()), text] if kind == "array" else float(text) if number else text
    return values


def _parse_pair(item: str) -> tuple[str, str]:
    key, sign, value = item.partition("=")
    if not sign or not key.strip():
        raise options.usage_error(msg("“{item}” is not of the form KEY=VALUE", item=item))
    return key.strip(), value.strip()


@click.command()
@options.id_argument
@click.argument("status", type=options.status_choice)
@click.option("--why", default="", help="The reason; it goes into the record and the commit.")
@options.decision_options
def change_status(kb: KnowledgeBase, name: str, status: str, why: str, scope: str, yes: bool) -> list[Verdict]:
    """Change the status of a record, where the table of transitions allows it.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    return [kb.change_status(name, status, why=why, scope=scope, decided=options.has_decided(kb, yes=yes))]


@click.command()
@click.argument("names", metavar="ID…", nargs=-1, required=True, shell_complete=options.complete_id)
@click.option("--why", default="", help="The reason.")
@options.decision_options
def deprecate_records(kb: KnowledgeBase, names: tuple[str, ...], why: str, scope: str, yes: bool) -> list[Verdict]:
    """Mark records as deprecated. The files stay, so that old decisions can be looked up; no number is reused.

    \b
    kb rm D007 --why "the export is gone"
    kb rm agent://cat --why "cat is retired"

    ID is also an address, agent://<who>/<type>/<tag>: all that `kb list` shows there and that is in force. Several
    records are one commit, which git revert takes back.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    from kb.writing.edit import deprecate_records as deprecate

    kb.sync_index()
    found = {record.path: record for name in names for record in _list_named(kb, name, scope)}
    decided = options.has_decided(kb, yes=yes)
    if decided and not (yes or why) and any(record.status == Status.ACCEPTED for record in found.values()):
        why = options.ask_for_reason(kb)
    if decided and not yes and len(found) > 1:
        for record in found.values():
            click.echo(format_record_line(kb, record), err=True)
        click.confirm(kb.localise(msg("deprecate these {n} records?", n=len(found))), abort=True, err=True)
    return deprecate(kb, list(found.values()), why=why, decided=decided)


def _list_named(kb: KnowledgeBase, name: str, scope: str) -> list[Record]:
    """Return the record that *name* means, or the live ones of a scope's address."""
    from kb.search.addresses import find_addressed, is_address, parse_address, resolve_place

    if not is_address(name):
        return [kb.record(name, scope=scope)]
    address = parse_address(name)
    if address.id:
        return [find_addressed(kb.index, address)[0]]
    place = resolve_place(kb.index, address)
    if not place.wanted.scopes:  # the records of a host or of a person are in the scopes of others
        raise BadInput(msg("{address} is no scope of this knowledge base", address=name))
    if found := kb.records(place.wanted._replace(statuses=tuple(LIVE))):
        return found
    raise BadInput(msg("nothing is in force at {address}", address=name))


@click.command()
@click.argument("old")
@click.option("--by", "new", required=True, help="The id of the record that replaces it.")
@click.option("--in-part", is_flag=True, help="Only in part: the old one stays in force for the rest.")
@options.decision_options
def supersede_record(kb: KnowledgeBase, old: str, new: str, in_part: bool, scope: str, yes: bool) -> list[Verdict]:
    """Replace a record by a newer one; both ends are written in one commit.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    return [kb.supersede(old, by=new, in_part=in_part, scope=scope, decided=options.has_decided(kb, yes=yes))]


@click.command()
@options.record_options
def confirm_record(kb: KnowledgeBase, name: str, scope: str) -> list[Verdict]:
    """Mark a record as confirmed today; `kb check` counts its age from then on."""
    return [kb.confirm(name, scope=scope)]


@click.command()
@options.id_argument
@options.scope_option
@options.yes_option
@options.with_kb
def edit_record(kb: KnowledgeBase, name: str, scope: str, yes: bool) -> list[Verdict]:
    """Edit a record in $EDITOR; it is checked on saving and opened again at the error.

    What others commit meanwhile is kept. Your text is stored under .kb/edits/ until it is committed.

    Taking an accepted record out of force is a person's decision: from a program it becomes a review.
    """
    record = kb.record(name, scope=scope)
    editor = find_editor(kb.environment)
    if not (options.is_at_terminal() or editor):
        message = msg("there is no terminal to edit in, and $EDITOR names no program")
        hint = msg("from a program: kb write --updates {id}; see: kb write --help", id=record.scoped_id)
        raise NeedsPerson(message, hint=hint)
    kept = edit_text.find_kept_draft(kb, record.uid)
    for path in (draft.path for draft in edit_text.list_abandoned_drafts(kb) if draft != kept):
        if os.path.basename(path).startswith((f"{record.id}.", f"{record.id}-")):
            left = msg(
                "text typed earlier was never committed: {path}; copy what is still right, then delete it", path=path
            )
            warn(kb, left)
    if kept:
        warn(kb, msg("this is what you wrote before: {path}; empty it to begin with the record again", path=kept.path))
    decided = options.has_decided(kb, yes=yes)
    with _keep_draft(kb, record.id, kept.opened if kept else kb.text(record), record.uid, kept) as draft:
        return [_edit_until_valid(kb, record, draft, editor or "vi", decided=decided, is_kept=bool(kept))]


@contextmanager
def _keep_draft(
    kb: KnowledgeBase, name: str, opened: str, uid: str = "", kept: EditDraft | None = None
) -> Iterator[EditDraft]:
    """Give a file with the text *opened*, or *kept* with what was made of it, to an editor.

    After an error what was typed stays there, and is named.
    """
    draft = kept or edit_text.create_draft(kb, name, opened, uid)
    try:
        yield draft
    except BaseException:  # Ctrl-C too; a file in which nothing was typed goes
        if edit_text.read_draft(draft) in (opened.encode(), b""):
            edit_text.close_draft(draft)
        else:
            edit_text.close_draft(draft, keep=True)
            warn(kb, msg("what you wrote is kept in {path}", path=draft.path))
        raise
    edit_text.close_draft(draft)


def _edit_until_valid(
    kb: KnowledgeBase, record: Record, draft: EditDraft, editor: str, *, decided: bool, is_kept: bool
) -> Verdict:
    """Let the person edit *draft*, which may be *is_kept* from before, until it can be committed or they stop."""
    # what the tip had when a kept one was opened is looked for in history
    base, committed = draft.opened, None if is_kept else kb.repository.read_blob("HEAD", record.path)
    shown, added = add_missing_headings(base, record, kb.config.required, kb.localise, kb.config.language)
    edit_text.reopen_draft(kb, draft)
    if not is_kept:
        edit_text.write_draft(draft.path, shown)
    while True:
        open_editor(draft.path, editor, f"kb edit {record.scoped_id}")
        try:
            text = decode_record(edit_text.read_draft(draft), os.path.basename(draft.path))
            text = drop_unused_headings(text, added)
            # an emptied file is no record: as in git commit, it means "never mind"
            if text in (base, ""):
                same = (record.title, record.kind, record.id, record.uid, record.scope, record.path, str(record.status))
                return Verdict("unchanged", *same)
            return kb.replace_text(record, text, opened=base, committed=committed, decided=decided)
        except KbError as error:
            if isinstance(error, ConcurrentEdit) and error.marked:
                # the draft shows both sides between markers now; the next try is compared with what it was made from
                edit_text.write_draft(draft.path, error.marked.decode())
                base, committed = error.seen.decode(), error.committed
                edit_text.reopen_draft(kb, draft._replace(opened=base))
            ask_to_edit_again(kb, error, draft.path)
