"""Commands that give context to an agent: hints, packs, routes, contexts within a budget, MEMORY.md."""

from __future__ import annotations

import os

import click

from kb.cli import options
from kb.cli.options import Answer
from kb.cli.prints import print_json, suggest_search, warn, warn_empty_result
from kb.context.give_hints import note_questions
from kb.context.hint_text import AVATARS, ROLES, is_avatar
from kb.context.pack import SCHEMA, dump_yaml
from kb.i18n import Message, msg
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records.model import LIVE
from kb.text.segment import count_words, estimate_tokens

_ADVICE = {
    "roomy": msg("the expanded form fits"),
    "normal": msg("the normal form fits"),
    "reminder": msg("the compact form fits; there is room left, no need to rush"),
    "prune": msg("time to prune: kb prune"),
    "archive": msg("time to archive: kb archive"),
}
"""Band of use → what it calls for."""
_LIGHTS = {"yellow": "⚠️ ", "orange": "🟠 ", "red": "🔴 "}
_NOTHING = msg("nothing recorded is about this")

_MOMENTS = ("t1", "t2", "avatar")


def _parse_moment(context: click.Context, argument: click.Parameter, value: str) -> str:
    """Return *value* where it is a moment; raise UsageError, which names what a person with a file wants."""
    if value not in _MOMENTS:
        is_path = "/" in value or "." in value or os.path.exists(value)
        hint = msg("what governs a file: kb list {path}", path=value) if is_path else None
        raise options.usage_error(msg("MOMENT must be one of: {choices}", choices=list(_MOMENTS)), hint)
    return value


def _complete_moment(context: click.Context, argument: click.Parameter, beginning: str) -> list[str]:
    return [moment for moment in _MOMENTS if moment.startswith(beginning)]


query_option = click.option("-q", "--query", required=True, help="What the work is about.")
words_argument = click.argument("words", nargs=-1, required=True)


@click.command()
@click.argument("moment", metavar="MOMENT", callback=_parse_moment, shell_complete=_complete_moment)
@click.option(
    "-k", "--keyword", "keywords", multiple=True, help="Only records that hold this word, as a whole (repeatable)."
)
@click.option("--avatar", default="", help="For the moment avatar: its role, as in kb spawn.")
@click.option("--task", default="", help="The task in words: records that are about it.")
@click.option("--cwd", default="", help="A folder of the project (default: here).")
@options.with_json
def print_hint(kb: KnowledgeBase, moment: str, keywords: tuple[str, ...], avatar: str, task: str, cwd: str) -> Answer:
    """Print what an agent is told at a MOMENT of its work.

    MOMENT is t1 (before the work: pitfalls, constraints, patterns), t2 (after the plan: decisions) or avatar (the start
    of a sub-agent). What governs a file: kb list FILE.
    """
    project = kb.project(cwd or os.getcwd())
    if moment == "avatar":
        _require_known_avatar(avatar)
        text = kb.hint_for_avatar(avatar, task, project=project)
        return Answer({"text": text, "ids": [], "warnings": []}, [text] if text else [])
    if avatar:
        raise options.usage_error(msg("--avatar is for the moment avatar: kb hint avatar --avatar {name}", name=avatar))
    hint = kb.hint(moment, keywords, task=task, project=project)
    elsewhere = _list_elsewhere(kb, " ".join((*keywords, task)), len(hint.ids))
    warnings = [*(kb.localise(warning) for warning in hint.warnings), *elsewhere]
    data = {"text": hint.text, "ids": list(hint.ids), "warnings": warnings}
    return Answer(data, [hint.text] if hint.text else [], warnings)


def _list_elsewhere(kb: KnowledgeBase, text: str, shown: int) -> list[str]:
    """Return, where nothing is *shown*, that records of other projects match *text*; [] where none do."""
    from kb.search.answer import count_elsewhere
    from kb.search.query import parse_query

    project = kb.project(os.getcwd())
    wanted = Filter(scopes=kb.own_scopes(project), statuses=tuple(LIVE))
    found = "" if shown else count_elsewhere(kb.sync_index(thorough=False), parse_query(text), wanted, project)
    return [kb.localise(found)] if found else []


@click.command()
@click.option(
    "--avatar",
    default="implementer",
    show_default=True,
    help="Its role: explorer, analyst, reviewer, tester, implementer or architect.",
)
@click.option("--task", required=True, help="Its task.")
@click.option(
    "--session",
    default="",
    help="The calling session, by how its id begins (default: the latest running one of this project).",
)
@click.option(
    "--style",
    type=click.Choice(["shi", "ruyi"]),
    default="shi",
    show_default=True,
    help="shi: hints by moment; ruyi: one list of anchors.",
)
@options.with_kb
def spawn(kb: KnowledgeBase, avatar: str, task: str, session: str, style: str) -> Answer:
    """Print compact form, hints, task and a pointer to more: what a sub-agent's prompt begins with."""
    from kb.sessions.session_archive import find_running_session

    _require_known_avatar(avatar)
    session = find_running_session(kb, session) if session else ""
    return Answer(None, [kb.spawn(avatar, task, session=session, project=kb.project(os.getcwd()), style=style)])


def _require_known_avatar(avatar: str) -> None:
    """Raise UsageError where *avatar* is none that gets, or knowingly gets no, hints."""
    if not is_avatar(avatar):
        known = ", ".join(AVATARS if options.resolve_language() == "zh" else ROLES)
        raise options.usage_error(msg("there is no avatar {name}; there are: {names}", name=avatar or "–", names=known))


@click.command()
@words_argument
@options.with_json
def route_work(kb: KnowledgeBase, words: tuple[str, ...]) -> Answer:
    """Show what to read before a piece of work; nothing for small talk and unrelated requests.

    The same words always lead to the same files: records about them, the conventions when unsure and in five situations
    (choosing a technology, creating a module, architecture, shared code, refactoring), and the kinds that help.
    """
    from kb.context import build_routes

    found = build_routes.route(kb, " ".join(words), project=kb.project(os.getcwd()))
    if not found.reads:
        return Answer(found, [build_routes.NONE])
    notes = []
    # the route names the conventions whether they are there or not, so that the same words lead to the same files
    if not os.path.exists(os.path.join(kb.root, build_routes.CONVENTIONS)):
        notes.append(msg("{path} is not written yet: kb memory", path=build_routes.CONVENTIONS))
    return Answer(found, (f"{read.path}  ({read.why})" for read in found.reads), notes)


@click.command()
@words_argument
@options.with_json
def drill_down(kb: KnowledgeBase, words: tuple[str, ...]) -> Answer:
    """Show how to find an answer: the one to three files to read, or that there is too much to read.

    For more than 3 files or 300 lines use `kb pack`. An answer cites its sources.
    """
    from kb.context import build_routes

    plan = build_routes.drill(kb, " ".join(words), project=kb.project(os.getcwd()))
    if plan.mode == "none":
        where = msg("for what is missing and where to look: {command}", command=plan.escalate)
        return Answer(plan, [_NOTHING, where])
    files = [
        f"{file.path}  [{file.id}] {file.title}  ({kb.localise(msg('lines: {n}', n=file.lines))})"
        for file in plan.files
    ]
    if plan.mode == "direct":
        further = msg("if they do not answer: {command}", command=plan.escalate)
    else:
        values = {"n": plan.further, "command": plan.escalate}
        further = msg("{n} more files are about this; make a pack: {command}", **values)
    # without a file the form of a citation is shown, for callers that find the answer elsewhere
    cite = ", ".join(f"[{file.id}]" for file in plan.files) or "[ID]"
    return Answer(plan, [*files, further, msg("cite what you answer from: {ids}", ids=cite)])


@click.command()
@click.argument("words", nargs=-1)
@click.option("--schema", is_flag=True, help="Print the JSON schema of a pack.")
@click.option("--check", type=click.Path(), default="", help="Check a pack that an agent wrote, JSON or YAML.")
@options.with_json
def make_pack(kb: KnowledgeBase, words: tuple[str, ...], schema: bool, check: str) -> Answer | int:
    """Answer a question with evidence: verbatim quotes, what is not known, where the code disagrees.

    YAML, or JSON with --json. Nothing is invented: what no record says is an open question with where to look. The code
    is asked about paths, symbols, versions of manifests, ports and names of variables; the rest is left to a person.
    """
    from kb.context.build_pack import find_pack_problems

    if schema:
        print_json(SCHEMA)
        return 0
    if check:
        with open(check, encoding="utf-8", errors="replace") as file:
            problems = find_pack_problems(kb, file.read(), check)
        for problem in problems:
            click.echo(problem)
        return 1 if problems else 0
    if not words:
        raise options.usage_error(msg("give a question"))
    made = kb.pack(" ".join(words), folder=os.getcwd())
    note_questions(kb, [" ".join(words)], scope=kb.project(os.getcwd()))
    return Answer(made, text=dump_yaml(made))


@click.group()
def context() -> None:
    """Build what an agent is given to work with, or show how full its context is."""


@context.command("build", short_help="Print the records that answer a question, within a budget.")
@query_option
@click.option(
    "--budget", type=click.IntRange(min=0), default=1500, show_default=True, help="The maximum number of tokens."
)
@click.option("--kind", default="", help="Only this kind.")
@options.with_json
def build_context(kb: KnowledgeBase, query: str, budget: int, kind: str) -> Answer:
    """Print the records that answer a question, within a budget of tokens: whole ones or their short forms.

    The best come first, none is cut, and the budget is never exceeded. If no record is about the question, nothing is
    printed.
    """
    made = kb.context(query, budget=budget, wanted=Filter(options.resolve_kind(kind)), project=kb.project(os.getcwd()))
    note_questions(kb, [query], scope=kb.project(os.getcwd()))
    warnings = [kb.localise(warning) for warning in made.warnings]
    shown = [
        {"id": one.record.id, "scope": one.record.scope, "path": one.record.path, "form": one.form}
        for one in made.shown
    ]
    notes = [*warnings]
    if made.left:
        notes.append(kb.localise(msg("records that did not fit: {n}", n=made.left)))
    elif not made.shown:
        notes += [kb.localise(_NOTHING), f"    → {kb.localise(suggest_search(kb))}"]
    notes += _list_elsewhere(kb, query, len(made.shown))
    data = {**made._asdict(), "shown": shown, "warnings": warnings}
    return Answer(data, [made.text] if made.text else [], notes)


@context.command("load", short_help="Print background, related records and domain knowledge.")
@query_option
@click.option(
    "--budget", type=click.IntRange(min=0), default=1500, show_default=True, help="The maximum number of tokens."
)
@click.option(
    "-k",
    "most",
    type=click.IntRange(1, 50),
    default=5,
    show_default=True,
    help="The maximum number of related records.",
)
@click.option("--list", "as_list", is_flag=True, help="Only the answers, as a numbered list.")
@options.with_json
def print_background(kb: KnowledgeBase, query: str, budget: int, most: int, as_list: bool) -> Answer:
    """Print what an agent reads before it answers: the project's background, related records, domain knowledge.

    Relevance is the share of the question that a record covers.
    """
    from kb.context.build_context import load_knowledge, render_numbered_list, render_summary

    loaded = load_knowledge(kb, query, project=kb.project(os.getcwd()), most=most, folder=os.getcwd())
    note_questions(kb, [query], scope=kb.project(os.getcwd()))
    if not loaded.answers:
        warn_empty_result(kb, _NOTHING, hint=suggest_search(kb))
    for note in _list_elsewhere(kb, query, len(loaded.answers)):
        warn(kb, note)
    background = {"project": loaded.project, "stack": loaded.stack, "domains": loaded.domains}
    data = {**background, "related": loaded.related, "knowledge": loaded.domain_notes}
    if as_list:
        return Answer(data, render_numbered_list(loaded.answers[:most]))
    made = render_summary(loaded, budget)
    return Answer(data, filter(None, [made.translate(kb.config.language)]), made.omitted)


@context.command("tokens", short_help="Estimate the tokens of a text.")
@click.argument("file", default="-", type=click.Path())
@options.json_option
def print_token_estimate(file: str, as_json: bool) -> None:
    """Estimate the tokens of FILE, or of stdin, and count its words and CJK characters."""
    with click.open_file(file, encoding="utf-8", errors="replace") as opened:
        text = opened.read()
    counted = {"tokens": estimate_tokens(text), "count": count_words(text)}
    if as_json:
        print_json(counted)
    else:
        click.echo(
            msg("{tokens} tokens, {count} words and CJK characters", **counted).translate(options.resolve_language())
        )


@context.command("usage", short_help="Show how full the context is.")
@options.path_argument
@options.percent_option("How full the context is, if already known.")
@click.option("--model", default="", help="The model, for the size of its context (see context_windows).")
@options.with_json
def show_context_usage(kb: KnowledgeBase, transcript: str | None, percent: float, model: str) -> Answer:
    """Show how full the context is, by the usage fields of TRANSCRIPT, and what to do about it.

    Below 50% the expanded form, from 50% the normal one, from 70% the compact one and a reminder, from 85% pruning,
    above 95% an archive. Without TRANSCRIPT, the last session of this project.
    """
    from kb.capture import usage_alerts
    from kb.sessions.session_archive import find_latest_transcript

    path = "" if percent >= 0 else transcript or find_latest_transcript(kb)
    used, band = usage_alerts.measure_band(kb, path, percent=percent, model=model)
    size = {"percent": used.percent, "tokens": used.tokens, "window": used.window, "window_known": used.is_known}
    rest = {"model": used.model, "left": used.left, "band": band.name, "light": band.light, "form": band.form}
    # where --percent gave the figure, no tokens are known
    of = f" ({used.tokens:,} / {used.window:,})" if used.tokens else ""
    line = f"{_LIGHTS.get(band.light, '')}{used.percent:.1f}%{of}: {kb.localise(_ADVICE[band.name])}"
    unknown = msg(
        "the context window of {model} is unknown, so no light is shown; set context_window or context_windows "
        "in kb.toml",
        model=used.model or "?",
    )
    return Answer({**size, **rest}, [line], [unknown] if used.tokens and not used.is_known else [])


@click.command()
@click.argument("view", type=click.Choice(["tree"]), required=False)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 if a file is not up to date.")
@click.option("--force", is_flag=True, help="Overwrite a MACHINE block even if somebody has edited it.")
@options.with_json
def write_memory(kb: KnowledgeBase, view: str | None, check: bool, force: bool) -> Answer:
    """Rewrite memory-bank/MEMORY.md and memory-bank/details/patterns.md, for agents that read files.

    With tree, write nothing: show the three levels of memory (global, project, session), as SMAN names them.

    MEMORY.md has routing rules, the drill-down protocol, write safety and at most 8 quick answers. The text of the
    USER block stays; a second run changes nothing. content/templates/memory.md and patterns.md replace the templates.
    """
    from kb.context import memory_md

    if view:
        return _show_memory_levels(kb)
    pages = memory_md.build_pages(kb, force=force) if check else memory_md.write(kb, force=force)
    stale = msg("not up to date") if check else msg("written")
    lines = [f"{page.path}  {kb.localise(stale if page.is_stale else msg('up to date'))}" for page in pages]
    return Answer(
        [{"path": page.path, "stale": page.is_stale} for page in pages],
        lines,
        [note for page in pages for note in page.notes],
        code=1 if check and any(page.is_stale for page in pages) else 0,
        has_notes_with_json=True,
    )


def _show_memory_levels(kb: KnowledgeBase) -> Answer:
    """Return the three levels of memory: as values, and each level with what it has."""
    from kb.importers.sman import build_memory_levels

    sessions = [(one.name, one.project, one.time) for one in kb.sessions()]
    made = build_memory_levels(kb.records(), sessions)
    top = made["global"]
    lines: list[Message | str] = [
        msg("global: {n} best practices, {m} patterns of several projects",
            n=len(top["bestPractices"]), m=len(top["crossProjectPatterns"])),
    ]  # fmt: skip
    lines += [f"  {one['id']} {one['title']}" for one in top["bestPractices"]]
    for name, memory in made["projects"].items():
        rows = (
            (msg("domain knowledge"), [one["id"] for one in memory["domainKnowledge"]]),
            (msg("learning records"), memory["learningRecordIds"]),
            (msg("failures"), memory["failureRecordIds"]),
            (msg("code patterns"), [one["patternType"] for one in memory["codePatterns"]]),
        )
        lines.append(msg("project {name}", name=name))
        lines += [msg("  {label} ({n}): {ids}", label=label, n=len(own), ids=own) for label, own in rows if own]
    active = kb.state.path("active")
    running = len(os.listdir(active)) if os.path.isdir(active) else 0
    lines.append(msg("sessions: {n} running, {m} archived", n=running, m=len(sessions)))
    return Answer(made, lines)
