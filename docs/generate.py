"""`python -m docs.generate`: write the pages of docs/ that are made from the code.

Made from the code: commands.md from the command line itself, configuration.md from `kb.config`, kinds.md from the
table of kinds, candidates.md from the JSON schema, rooms.md from the first lines of the modules, requirements.md from
requirements.tsv, the man page kb.1 from the command line as well; and the texts of the wiki in both languages, for its
visitors.
`--check` names the stale ones and exits 1. The catalogue of messages is `python -m docs.messages`.
"""

import ast
import csv
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, NamedTuple

import click

import kb
from docs import messages, packaging
from kb.cli.group import ALIASES, COMMANDS, GROUPS, OLD_NAMES, load_command, name_hosts, translate_command
from kb.cli.help_commands import render_man_page
from kb.config import CHOICES, HELP, Config
from kb.i18n import load_translations
from kb.records.candidate import FIELDS, SCHEMA
from kb.records.kinds import BY_PREFIX, COMMON_FIELDS, KARMA, KINDS, SECTIONS, list_fields
from kb.records.model import TRANSITIONS
from kb.writing.edit import format_status_label

FOLDER = Path(__file__).parent
TOP = FOLDER.parent
PACKAGE = Path(kb.__file__).parent
NOTE = "<!-- Made by `make docs`; do not edit. -->\n"


def write_page(name: str) -> str:
    """Return the generated page that is named so in `PAGES`."""
    return NOTE + "\n" + "\n".join(PAGES[name]()).rstrip() + "\n"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield a markdown table and the empty line behind it."""
    for cells in (head, ["---"] * len(head), *rows):
        yield (
            "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ").replace("<", "&lt;") for cell in cells) + " |"
        )
    yield ""


# commands


def commands_page() -> Iterator[str]:
    """Yield the page about every command."""
    top = import_module("kb.cli.group").command
    yield "# Commands\n"
    yield from told(top.help)
    yield from table(["option of `kb` itself", "meaning"], list(options(top)))
    yield from table(["command", "what it does"], [(f"[`kb {n}`](#kb-{n})", line) for n, (_, line) in COMMANDS.items()])
    aliases = ", ".join(f"`kb {word}` = `kb {name}`" for word, name in ALIASES.items())
    yield f"Other names: {aliases}.\n"
    for path, command in commands():
        yield from section(path, command)


def chinese_commands_page() -> Iterator[str]:
    """Yield the page about every command in Chinese, from the same table and the catalogue."""
    root = click.Context(import_module("kb.cli.group").command, info_name="kb")
    translate = load_translations("zh").gettext
    yield "# 命令\n"
    yield "由 `make docs` 根据命令的帮助生成；在中文知识库里，`kb 命令 --help` 也这样显示。"
    yield "[English](../commands.md)\n"
    for heading, names in GROUPS:
        yield f"## {translate(heading.template)}\n"
        rows = [(f"[`kb {name}`](#kb-{name})", translate(COMMANDS[name][1])) for name in names.split()]
        yield from table(["命令", "作用"], rows)
    aliases = "、".join(f"`kb {word}` = `kb {name}`" for word, name in ALIASES.items())
    yield f"别名：{aliases}。\n"
    for path, command in commands(lambda name: translate_command(load_command(name), root, "zh")):
        yield from section(path, command, ("选项", "含义"))


def commands(load: Callable[[str], click.Command] = load_command) -> Iterator[tuple[str, click.Command]]:
    """Yield every command, as *load* gives it, with what one types to call it; a group before its own."""
    for name in COMMANDS:
        command = load(name)
        yield f"kb {name}", command
        if isinstance(command, click.Group):
            yield from ((f"kb {name} {own}", one) for own, one in command.commands.items())


def section(path: str, command: click.Command, heads: Sequence[str] = ("option", "meaning")) -> Iterator[str]:
    """Yield the part about one command; *heads*: of its table of options."""
    yield f"{'##' if path.count(' ') == 1 else '###'} {path}\n"
    yield f"```text\n{path}{usage(command)}\n```\n"
    yield from told(command.help)
    rows = list(options(command))
    if rows:
        yield from table(heads, rows)


def usage(command: click.Command) -> str:
    """Return what stands behind the name of *command*."""
    words = ["[OPTIONS]"] if any(isinstance(p, click.Option) for p in command.params) else []
    for argument in (p for p in command.params if isinstance(p, click.Argument)):
        shown = argument.metavar or choices(argument.type) or str(argument.name).upper()
        shown = shown.removesuffix("...").strip("[]")
        words.append((shown if argument.required else f"[{shown}]") + ("…" if argument.nargs == -1 else ""))
    if isinstance(command, click.Group):
        words.append("COMMAND" if not command.invoke_without_command else "[COMMAND]")
    return "".join(f" {word}" for word in words)


def choices(kind: click.ParamType) -> str:
    """Return the words of a choice, or ""."""
    return "|".join(str(word) for word in kind.choices) if isinstance(kind, click.Choice) else ""


def told(text: str | None) -> Iterator[str]:
    """Yield the paragraphs of a help text; those that keep their lines are code."""
    for paragraph in name_hosts(cleandoc(text or "")).split("\n\n"):
        if paragraph.startswith("\b"):
            yield "```sh\n" + paragraph.removeprefix("\b").strip("\n") + "\n```\n"
        else:
            yield " ".join(paragraph.split()) + "\n"


def options(command: click.Command) -> Iterator[tuple[str, str]]:
    """Yield the options of *command* with their meaning."""
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            names = ", ".join(f"`{name}`" for name in (*option.opts, *option.secondary_opts))
            value = "" if option.is_flag or option.count else option.metavar or choices(option.type) or "…"
            default = f" Default: `{option.default}`." if option.show_default else ""
            yield names + (f" `{value}`" if value else ""), (option.help or "") + default


OLD_SYSTEMS = {
    "zclaw": "ZCLAW's memory: about 74 commands of its desktop program. 30 have names; of its intelligence modules the "
    "source gives only the numbers of their commands, so each module is one row.",
    "sman": "SMAN's SharedMemoryManager: its 13 functions.",
}


def old_names_page() -> Iterator[str]:
    """Yield the page about the names that commands have in older systems."""
    yield "# Old names\n"
    yield "kb does what these systems set out to do. Their names work: `kb memory_search WORDS` is `kb search WORDS`,"
    yield "and `kb viking_grep --help` explains `kb search --regex`. `kb commands --map zclaw` prints this table.\n"
    for system, about in OLD_SYSTEMS.items():
        yield f"## {system}\n"
        yield f"{about}\n"
        rows = [
            (f"`{name}`", f"`kb {old.command}`" if old.command else "–", old.note.translate("en") if old.note else "")
            for name, old in OLD_NAMES.items()
            if old.system == system
        ]
        yield from table(["there", "here", "note"], rows)


# settings, kinds, candidates


def configuration_page() -> Iterator[str]:
    """Yield the page about kb.toml and the environment."""
    yield "# Configuration\n"
    yield "`kb.toml` stands at the root of a knowledge base, and makes a folder one. Every setting may be left out.\n"
    rows = [
        (f"`{key}`", f"`{shown(default)}`", HELP[key] + one_of(CHOICES.get(key, ())))
        for key, default in Config()._asdict().items()
    ]
    yield from table(["setting", "default", "meaning"], rows)
    yield "`kb config` prints the same with the values that hold where you are.\n"
    yield "## Environment\n"
    yield from table(["variable", "meaning"], [(f"`{name}`", text) for name, text in ENVIRONMENT.items()])


ENVIRONMENT: Mapping[str, str] = {
    "KB_HOME": "The knowledge base to use, before the one around the current folder.",
    "KB_AGENT": "The agent who asks: its own scope, `agent/<id>`, is open to it alone (default: the host program).",
    "KB_OWN": "`off` keeps your own knowledge base (`~/.kb`) out, as the MCP server does over HTTP, where others ask.",
    "KB_PROJECT": "The project the work belongs to, before the one the repository names.",
    "KB_LLM_CMD": "A command that reads a request as JSON on stdin and prints candidates as JSON; it extracts in the "
    "place of the rules. Without it, or when it fails, extraction is offline.",
    "KB_HUB_DSN": "The PostgreSQL database of a hub, `postgresql://…`. Without it the hub keeps one SQLite "
    "file per repository.",
    "KB_HUB_URL": "Where `kb search --org` asks, over https or on this machine. No `kb.toml` can say it.",
    "KB_HUB_TOKEN": "The token for the hub.",
    "KB_HUB_TOKEN_FILE": "A file that has it, in place of the token itself.",
    "KB_HUB_TOKEN_COMMAND": "A command that prints it, such as `gh auth token`, in place of a file.",
    "KB_HUB_METRICS_TOKEN": "At a hub: the token that opens its metrics; with `_FILE` behind it, a file that has it.",
    "KB_EMBED_URL": "Where an embedder is served (`…/v1`, OpenAI's interface), over https or on this machine, for the "
    'setting `embedder = "http"`.',
    "KB_EMBED_MODEL": "The name of its model; one of the e5 family gets the prefixes it wants.",
    "KB_EMBED_KEY": "Its key, where it wants one.",
    "KB_EMBED_CMD": 'An embedder as a command, one line of JSON in, one out, for `embedder = "command"`.',
    "KB_RERANK_URL": 'Where a reranker is served (`/rerank` is appended), for the setting `reranker = "http"`.',
    "KB_RERANK_MODEL": "The name of its model.",
    "KB_RERANK_KEY": "Its key, where it wants one.",
    "KB_RERANK_CMD": 'A reranker as a command, one line of JSON in, one out, for `reranker = "command"`.',
    "KB_PAGER": "The pager for long output at a terminal, before `PAGER` (default: less); empty: none.",
    "NO_COLOR": "Any value: no colours at a terminal. `FORCE_COLOR`: colours elsewhere, too.",
    "EDITOR": "The editor of `kb new` and `kb edit`.",
}


def one_of(words: Sequence[str]) -> str:
    """Return the sentence that names the *words* a setting may have, or ""."""
    return f" One of: {', '.join(words)}." if words else ""


def shown(value: object) -> str:
    """Return *value* as one writes it in TOML."""
    return "[]" if value == () else f'"{value}"' if isinstance(value, str) else str(value)


def kinds_page() -> Iterator[str]:
    """Yield the page about kinds, sections and statuses."""
    yield "# Kinds, sections and statuses\n"
    rows = [
        (f"`{k.prefix}`", f"{k.en} {k.zh}", f"`{k.name}`", k.karma, k.category, k.hint.upper(), sections(k.required))
        for k in KINDS
    ]
    yield from table(["id", "kind", "name", "karma", "category", "hint", "without these only proposed"], rows)
    yield "A starting session is told every " + " and ".join(k.en.lower() for k in KINDS if k.always) + " in force.\n"
    yield from table(["deed", "what becomes of it"], [(f"{d.zh} {d.name}", HANDLED[d.handling]) for d in KARMA])
    yield "## Sections\n"
    yield "A heading is known by any of these words, in any case, alone or as `Decision (决策)`.\n"
    yield from table(
        ["section", "written in English", "in Chinese", "also read"],
        [(f"`{s.name}`", s.en, s.zh, ", ".join(s.aliases)) for s in SECTIONS if s.is_shared],
    )
    yield "## What a kind has of its own\n"
    yield "A candidate gives them as `sections` and `fields`; `kb write` with `--section` and `--field`.\n"
    own = (one for one in SECTIONS if not one.is_shared)
    holders = {one.name: [kind.en for kind in KINDS if one.name in kind.sections] for one in SECTIONS}
    yield from table(
        ["section", "of", "written in English", "in Chinese", "also read"],
        [(f"`{s.name}`", ", ".join(holders[s.name]), s.en, s.zh, ", ".join(s.aliases)) for s in own],
    )
    yield from table(
        ["heading of its own", "of", "in Chinese", "is its"],
        [(s.en, kind.en, s.zh, f"`{s.name}`") for kind in KINDS for s in kind.labels],
    )
    fields = dict.fromkeys(field for kind in KINDS for field in list_fields(kind.name))
    yield from table(
        ["field", "of", "type", "meaning"],
        [
            (
                f"`{f.name}`",
                "any kind" if f in COMMON_FIELDS else ", ".join(k.en for k in KINDS if f in k.fields),
                typed(FIELDS[f.name]),
                f.description,
            )
            for f in fields
        ],
    )
    yield from table(
        ["kind", "is told with its first sentence", "falls silent"],
        [(k.en, "yes" if k.answers else "no", SILENCERS[k.silenced_by]) for k in KINDS if k.answers or k.silenced_by],
    )
    yield "## Statuses\n"
    yield from table(
        ["status", "shown as", "what may follow"],
        [
            (f"`{status}`", format_status_label(status), ", ".join(f"`{after}`" for after in sorted(to)))
            for status, to in TRANSITIONS.items()
        ],
    )


SILENCERS: Mapping[str, str] = {
    "": "when it is no longer in force",
    "sources": "when a file it is about is gone, or half of its lines are others",
    "fix": "when `fixed_by` names a commit",
}

HANDLED: Mapping[str, str] = {
    "distil": "It becomes a record.",
    "session": "It stays with the session.",
    "pitfall": "It becomes a pitfall, to be dealt with.",
}


def sections(names: Sequence[str]) -> str:
    """Return *names*, or what stands for all six ADR fields."""
    adr = BY_PREFIX["D"].required
    return "all six ADR sections" if tuple(names) == adr else ", ".join(names)


def candidates_page() -> Iterator[str]:
    """Yield the page about the JSON a tool hands to the gate."""
    yield "# Candidates\n"
    yield "Any tool may hand candidates to the gate: one JSON object or a list of them, on stdin or in a file.\n"
    yield "```sh\nmy-tool | kb write -\nkb write candidates.json --dry-run\nkb write --schema\n```\n"
    yield "A field nobody knows, a wrong type, or a field given twice: the whole input is refused, with its place.\n"
    required = SCHEMA["required"]
    rows = [
        (
            f"`{name}`" + (" (required)" if name in required else ""),
            typed(field),
            field.get("description", MEANINGS.get(name, "")),
        )
        for name, field in SCHEMA["properties"].items()
    ]
    yield from table(["field", "type", "meaning"], rows)


MEANINGS: Mapping[str, str] = {
    "tags": "Words to find it by.",
    "impact_areas": "What it weighs on: each is a ground for the gate.",
    "confidence": "How sure the tool is; below 0.5 the words of the text are no ground.",
    "evidence": "Where it comes from: verbatim quotes with source, line and time.",
}


def typed(field: Mapping[str, Any]) -> str:
    """Return the type of a schema's *field* in a few words."""
    if "enum" in field:
        return "one of " + ", ".join(f"`{word}`" for word in field["enum"])
    kind = field["type"] if isinstance(field["type"], str) else field["type"][0]
    if kind == "array":
        return "list of " + (typed(field["items"]) if "enum" in field["items"] else field["items"]["type"] + "s")
    if kind == "object":
        return "map" if "properties" in field else "map of strings"
    if field.get("format") == "date":
        return "day"
    return f"{kind} 0–1" if "maximum" in field else kind


# the door


# rooms


def rooms_page() -> Iterator[str]:
    """Yield the page about every room and module of the package."""
    yield "# Rooms"
    yield ""
    yield "Every room of `kb/` with its modules, each in its own words. The whole: [Architecture](architecture.md)."
    yield ""
    yield "## The top"
    yield ""
    yield from table(
        ("module", "what it does"), [(f"`{path.name}`", summary(path)) for path in sorted(PACKAGE.glob("*.py"))]
    )
    for room in sorted(path.parent for path in PACKAGE.glob("*/__init__.py")):
        yield f"## {room.name}"
        yield ""
        yield summary(room / "__init__.py")
        yield ""
        modules = sorted(path for path in room.rglob("*.py") if path != room / "__init__.py")
        rows = [(f"`{path.relative_to(room).as_posix()}`", summary(path)) for path in modules]
        yield from table(("module", "what it does"), rows) if rows else ()


def summary(path: Path) -> str:
    """Return the first paragraph of a module's docstring on one line."""
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return " ".join(text.partition("\n\n")[0].split())


# requirements

VERDICTS = ("built", "otherwise", "not built")


class Requirement(NamedTuple):
    """A row of requirements.tsv; its proof names tests, stories and calls, `; ` between them."""

    id: str
    verdict: str
    asks: str
    proof: str
    note: str


def read_requirements() -> list[Requirement]:
    """Return the rows of requirements.tsv in their order; raise TypeError where one has not five cells."""
    with Path(__file__).with_name("requirements.tsv").open(encoding="utf-8", newline="") as rows:
        return [Requirement(*cells) for cells in csv.reader(rows, delimiter="\t", quoting=csv.QUOTE_NONE)][1:]


def requirements_page() -> Iterator[str]:
    """Yield the page about what was asked of kb and what proves it."""
    rows = read_requirements()
    groups = list(dict.fromkeys(row.id.partition("-")[0] for row in rows))
    yield "# Requirements\n"
    yield "What was asked of kb, row by row, and the test or the command that proves it."
    yield "**Otherwise** means built in another way than asked; the last column says how.\n"
    counted = {group: Counter(row.verdict for row in rows if row.id.startswith(f"{group}-")) for group in groups}
    yield from table(
        ["group", *VERDICTS],
        [(f"[{group}](#{group.lower()})", *(str(counts[v]) for v in VERDICTS)) for group, counts in counted.items()],
    )
    for group in groups:
        yield f"## {group}\n"
        yield from table(
            ["row", "asks for", "proof", "verdict", "how or why"],
            [(r.id, r.asks, code(r.proof), r.verdict, r.note) for r in rows if r.id.startswith(f"{group}-")],
        )


def code(proof: str) -> str:
    """Return the parts of *proof* as code."""
    return ", ".join(f"`{part}`" for part in proof.split(" ; ") if part)


PAGES: dict[str, Callable[[], Iterator[str]]] = {
    "commands.md": commands_page,
    "zh/commands.md": chinese_commands_page,
    "configuration.md": configuration_page,
    "kinds.md": kinds_page,
    "candidates.md": candidates_page,
    "rooms.md": rooms_page,
    "old-names.md": old_names_page,
    "requirements.md": requirements_page,
}
"""File name → what yields the lines of the generated page."""


def main(arguments: Sequence[str]) -> int:
    """Write the pages, or check them, and return the exit code."""
    if arguments not in ([], ["--check"]):
        print("usage: python -m docs.generate [--check]", file=sys.stderr)
        return 2
    made = {f"docs/{name}": (FOLDER / name, text) for name, text in zip(PAGES, map(write_page, PAGES), strict=True)}
    made["docs/kb.1"] = (FOLDER / "kb.1", "\n".join(render_man_page()) + "\n")
    made["kb/wiki/assets/kb-words.js"] = (messages.SCRIPT, messages.write_script())
    made |= {name: (TOP / name, text) for name, text in packaging.files().items()}
    stale = {name: (path, text) for name, (path, text) in made.items() if _text(path) != text}
    for name, (path, text) in stale.items():
        print(f"{name} is stale" if arguments else name)
        if not arguments:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
    return 1 if arguments and stale else 0


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
