"""Commands that explain kb: a command, a topic, all of it as a man page; and the completion of a shell."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import click

from kb import __version__
from kb.cli import options
from kb.cli.prints import pad_text
from kb.i18n import Message, msg
from kb.records.kinds import KINDS, join_section_labels, kind_label
from kb.records.model import Status

_WIDE = 0x2E7F
"""Letters above it take two columns of a terminal."""
_COMPLETION = "_KB_COMPLETE"


@click.command()
@click.argument("words", nargs=-1, metavar="[COMMAND | TOPIC]")
@click.pass_context
def explain_topic(ctx: click.Context, words: tuple[str, ...]) -> int:
    """Explain a command, as --help does, or a topic.

    Topics: context, exit-codes, forms, kinds, past, scopes, statuses, undo, words. `kb help man` prints all of it as a
    man page.
    """
    from kb.cli.group import COMMANDS, run_command_line

    language = options.resolve_language(ctx)
    # a topic comes first: `kb help context` explains which command gives context, and names `kb context --help`
    if len(words) == 1 and words[0] in _TOPICS:
        click.echo("\n".join(_TOPICS[words[0]](language)))
        return 0
    if words and words[0] not in COMMANDS:
        from kb.cli.group import ALIASES, OLD_NAMES

        if words[0] not in ALIASES and words[0] not in OLD_NAMES:
            near = msg("topics: {topics}", topics=sorted(_TOPICS))
            raise options.usage_error(msg("there is no command or topic {name}", name=words[0]), near)
    return run_command_line([*words, "--help"])


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def print_completion(ctx: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands, options, ids and option values.

    bash: put `eval "$(kb completion bash)"` into ~/.bashrc; zsh: the same with zsh into ~/.zshrc; fish: `kb completion
    fish > ~/.config/fish/completions/kb.fish`. zsh and fish show the title beside an id.
    """
    from click.shell_completion import get_completion_class

    script = get_completion_class(shell)
    assert script
    click.echo(script(ctx.find_root().command, {}, "kb", _COMPLETION).source())


# -- topics ------------------------------------------------------------------------------------------


def _pair_lines(rows: dict[str, Message], language: str) -> list[str]:
    width = max(len(name) + sum(ord(letter) > _WIDE for letter in name) for name in rows)
    return [f"{pad_text(name, width)}  {text.translate(language)}" for name, text in rows.items()]


def _explain_kinds(language: str) -> list[str]:
    rows = []
    for kind in KINDS:
        needs = join_section_labels(kind.required, language, kind.name)
        rows.append(f"{kind.prefix:<3} {kind.name:<12} {kind_label(kind.name, language)}: {needs}")
    return [msg("Kinds of records, each with the sections it needs to be complete:").translate(language), *rows]


def _explain_statuses(language: str) -> list[str]:
    rows = {
        Status.PROPOSED: msg("a person or an agent proposed it; sections may be missing"),
        Status.ACCEPTED: msg("in effect: agents are shown it"),
        Status.REJECTED: msg("it was decided against; the file keeps the reasons"),
        Status.DEPRECATED: msg("it no longer applies, and nothing replaces it"),
        Status.SUPERSEDED: msg("another record replaces it"),
    }
    return _pair_lines({str(status): text for status, text in rows.items()}, language)


def _explain_scopes(language: str) -> list[str]:
    rows = {
        "global": msg("applies to every project"),
        "project/NAME": msg("applies to one project: the repository you are in, unless you name another"),
        "group/NAME": msg("applies to the projects that the setting `groups` lists under this name"),
        "agent/NAME": msg("is visible to one agent only"),
    }
    return _pair_lines(rows, language)


def _explain_exit_codes(language: str) -> list[str]:
    said = (
        msg("done"),
        msg("kb could not do it: the message says why"),
        msg("the command line is wrong"),
        msg("not written: refused, or held in the inbox"),
        msg("a review was opened: kb review"),
        msg("a person is needed: at a terminal, or with --yes"),
    )
    return [f"{code}  {text.translate(language)}" for code, text in enumerate(said)]


def _explain_context(language: str) -> list[str]:
    rows = {
        "kb hint": msg("before a task, or once its plan is fixed: titles and reasons, in a few lines"),
        "kb route": msg("which records and files to read before a piece of work"),
        "kb drill": msg("how to find an answer: read a few files, or have a pack made"),
        "kb pack": msg("a question: evidence word for word, what is open, where the code says otherwise"),
        "kb context build": msg("a prompt you are writing: whole records within a budget of tokens"),
        "kb context load": msg("a question: the project's background, and the records closest to it"),
        "kb context usage": msg("how full an agent's context window is"),
        "kb spawn": msg("the task of a sub-agent: what it needs to know first"),
        "kb memory": msg("MEMORY.md and the conventions, for agents that only read files"),
    }
    return [msg("What an agent is given, and for what:").translate(language), *_pair_lines(rows, language)]


def _explain_past(language: str) -> list[str]:
    rows = {
        "kb log": msg("the commits of one record: who, when, which operation; -p with the changes"),
        "kb history": msg("the life of one record, from proposed to superseded"),
        "kb changes": msg("what was decided, replaced and dropped between two commits, for release notes"),
        "kb digest": msg("recent changes and pending work, for people"),
        "kb refs": msg("what one record cites, and what cites it"),
        "kb impact": msg("what to review when one record changes"),
        "kb search --as-of": msg("what was known on a given day; see also kb show --as-of"),
    }
    return [msg("How to look back:").translate(language), *_pair_lines(rows, language)]


def _explain_forms(language: str) -> list[str]:
    rows = {
        "kb compact": msg("the running session, below 500 words, to go on from"),
        "kb expand": msg("the running session in full, to see what happened"),
        "kb form": msg("any session, or a transcript, in one of the three forms"),
        "kb archive": msg("keep a session in all its forms"),
        "kb session": msg("list what is archived"),
        "kb load": msg("print an archived session to go on from"),
        "kb prune": msg("a copy of a transcript without stale content"),
    }
    return [msg("A session, shorter or longer:").translate(language), *_pair_lines(rows, language)]


def _explain_undo(language: str) -> list[str]:
    rows = {
        "git revert COMMIT": msg("the last write, or any other: every call of kb is one commit; the index follows"),
        "git revert -m 1 COMMIT": msg("an accepted review is a merge commit; parent 1 is the state before it"),
        "kb rm ID": msg("a record that no longer applies: it stays readable, and nothing replaces it"),
        "kb supersede OLD --by NEW": msg("a record that a newer one replaces"),
        "kb review reject ID": msg("a review that is still open"),
        "kb inbox drop KEY": msg("a candidate waiting in the inbox"),
        "kb hooks uninstall HOST": msg("the hooks: the settings of the host are put back byte for byte"),
    }
    return [msg("How to take something back:").translate(language), *_pair_lines(rows, language)]


def _explain_words(language: str) -> list[str]:
    pairs = (
        (msg("record"), msg("one markdown file: a decision, a constraint, a pitfall and others, see kb help kinds")),
        (msg("candidate"), msg("what somebody, mostly an agent, wants recorded")),
        (
            msg("gate"),
            msg("the checks on a candidate: is it new, and does it matter later? It is let in, held or refused"),
        ),
        (msg("inbox"), msg("candidates that the gate holds until they are seen again or a person lets them in")),
        (msg("review"), msg("what contradicts an accepted record, on a branch, until a person decides")),
        (msg("proposal"), msg("what a session found and a person is asked about")),
        (msg("host"), msg("the program an agent runs in: Claude Code, Codex and others")),
        (msg("hook"), msg("what a host calls at each moment of a session, so that kb listens and answers")),
        (msg("hint"), msg("the few records an agent is told unasked; T1 before the work, T2 after the plan")),
        (msg("pack"), msg("the evidence on one question, word for word")),
        (msg("seeds, karma"), msg("names for the kinds of records and for what they do: kb alaya")),
        (msg("avatar"), msg("a sub-agent with a role")),
    )
    return _pair_lines({name.translate(language): text for name, text in pairs}, language)


def _render_man_page(language: str) -> list[str]:
    return list(render_man_page(language))


_TOPICS: dict[str, Callable[[str], list[str]]] = {
    "context": _explain_context,
    "exit-codes": _explain_exit_codes,
    "forms": _explain_forms,
    "kinds": _explain_kinds,
    "man": _render_man_page,
    "past": _explain_past,
    "scopes": _explain_scopes,
    "statuses": _explain_statuses,
    "undo": _explain_undo,
    "words": _explain_words,
}


# -- the man page ------------------------------------------------------------------------------------


def render_man_page(language: str = "en") -> Iterator[str]:
    """Yield the lines of the man page kb(1), in roff, from the same table and help texts as --help."""
    from kb.cli.group import GROUPS, command, load_command, translate_command

    root = click.Context(command, info_name="kb")

    def translate(said: Message) -> str:
        return said.translate(language)

    yield f'.TH KB 1 "" "kb {__version__}" "{translate(msg("Commands"))}"'
    yield f".SH {translate(msg('NAME'))}"
    whole = translate_command(command, root, language)
    first, *others = (whole.help or "").split("\n\n")
    yield f"kb \\- {_escape(first.strip().rstrip('.。'))}"
    yield f".SH {translate(msg('SYNOPSIS'))}"
    yield ".B kb\n[\\fB\\-\\-kb\\fR \\fIPATH\\fR] \\fICOMMAND\\fR [\\fIARGS\\fR]"
    yield f".SH {translate(msg('DESCRIPTION'))}"
    yield "\n.PP\n".join(_escape(" ".join(part.split())) for part in others)
    yield from _render_options(whole, root)
    for heading, names in GROUPS:
        yield f".SH {_escape(translate(heading).upper())}"
        for name in names.split():
            made = translate_command(load_command(name), root, language)
            yield from _render_man_command(f"kb {name}", made, click.Context(made, root, info_name=name))
    yield f".SH {translate(msg('EXIT STATUS'))}"
    for line in _explain_exit_codes(language):
        yield f".TP\n.B {line[0]}\n{_escape(line[3:])}"
    yield f".SH {translate(msg('ENVIRONMENT'))}"
    rows = {
        "KB_PAGER, PAGER": msg("the pager for long output at a terminal; empty: none"),
        "NO_COLOR, FORCE_COLOR": msg("no colours; colours even where the output is no terminal"),
        "VISUAL, EDITOR": msg("the editor of kb new and kb edit"),
        "KB_LLM_CMD": msg("a command of yours that asks a language model; kb works without"),
    }
    for name, text in rows.items():
        yield f".TP\n.B {name}\n{_escape(translate(text))}"


def _render_man_command(path: str, command: click.Command, context: click.Context) -> Iterator[str]:
    pieces = " ".join(command.collect_usage_pieces(context))
    yield f".SS {path} {_escape(pieces)}"
    for part in (command.help or "").split("\n\n"):
        # click's backspace: the paragraph keeps its lines
        keeps_lines = part.lstrip().startswith("\b")
        text = _escape(part.replace("\b", "").strip("\n") if keeps_lines else " ".join(part.split()))
        yield f".nf\n{text}\n.fi" if keeps_lines else f"{text}\n.PP"
    yield from _render_options(command, context)
    for name, one in command.commands.items() if isinstance(command, click.Group) else ():
        yield from _render_man_command(f"{path} {name}", one, click.Context(one, context, info_name=name))


def _render_options(command: click.Command, context: click.Context) -> Iterator[str]:
    for param in command.params:
        row = param.get_help_record(context)
        if row and row[1] and "--help" not in param.opts:
            yield f".TP\n.B {_escape(row[0])}\n{_escape(row[1])}"


def _escape(text: str) -> str:
    """Return *text* as roff reads it literally."""
    lines = text.replace("\\", "\\e").replace("-", "\\-").split("\n")
    # a line that begins with a full stop or a quote would be a request
    return "\n".join(f"\\&{line}" if line.startswith((".", "'")) else line for line in lines)
