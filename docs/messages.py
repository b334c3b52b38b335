"""`python -m docs.messages`: bring the Chinese catalogue in step with what kb says, and compile it.

Extracted are the literal templates of every `msg(…)` call, in Python and in the wiki's templates, the help of every
command by paragraphs, what each setting means, and those of click's own words that kb shows. `--check` changes nothing,
names what is untranslated, unused or has other placeholders, and exits 1.
"""

import ast
import json
import string
import sys
from collections.abc import Iterator, Sequence
from importlib import import_module
from io import BytesIO
from pathlib import Path

import click
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from jinja2 import Environment, nodes

import kb
from kb.cli.group import COMMANDS, load_command, split_paragraphs
from kb.config import HELP
from kb.records.kinds import KINDS, SECTIONS

PACKAGE = Path(kb.__file__).parent
CATALOGUE = PACKAGE / "locale" / "zh" / "LC_MESSAGES" / "kb.po"
SCRIPT = PACKAGE / "wiki" / "assets" / "kb-words.js"
CLICK = (
    "Usage:", "Options", "Commands", "Other names", "Show this message and exit.", "Show the version and exit.",
    "default: {default}", "required",
)  # fmt: skip
"""click's own words that a reader of kb's help sees, and a heading like its own."""
REASONS = ("checks", "similarity", "writing")
"""The rooms whose messages stand on the pages as text: why a candidate waits, why a review is open, what is wrong."""
THEME = {
    "Search": "搜索",
    "Table of contents": "目录",
    "Back to top": "回到页面顶部",
    "Type to start searching": "键入以开始搜索",
    "Initializing search": "正在初始化搜索引擎",
    "No matching documents": "没有找到符合条件的结果",
    "Light": "浅色",
    "Dark": "深色",
    "Filter this page": "筛选本页",
    "Skip to content": "跳转至",
    "Made with": "构建工具：",
    "Missing": "缺少",
    "1 matching document": "找到 1 个符合条件的结果",
    "{number} matching documents": "找到 {number} 个符合条件的结果",
}
"""What the theme says on every page, and kb.js itself."""

FORMAT = "python-brace-format"
"""The flag of a message into which values are put; help is shown as it stands."""

Id = str | tuple[str, str]
"""A template, or its singular and plural."""


# -- what kb says -----------------------------------------------------------------------------------


def find_calls(source: str) -> Iterator[ast.Call]:
    """Yield every call of the function `msg` in *source*; a method of that name is something else."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and node.args and getattr(node.func, "id", "") == "msg":
            yield node


def read_templates(call: ast.Call) -> list[Id] | None:
    """Return the templates that *call* may be of; None where the source does not tell."""
    texts = read_literals(call.args[0])
    plural = read_literals(call.args[1]) if len(call.args) > 1 else None
    if texts is None or len(call.args) > 2 or (len(call.args) == 2 and (plural is None or len(texts) != 1)):
        return None
    return [(texts[0], plural[0])] if plural else [*texts]


def read_literals(node: ast.expr) -> list[str] | None:
    """Return the strings that *node* may be: a literal or a choice between literals; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [node.value]
    if isinstance(node, ast.IfExp):
        sides = read_literals(node.body), read_literals(node.orelse)
        return None if None in sides else [text for side in sides if side for text in side]
    return None


def find_template_texts(source: str) -> Iterator[Id]:
    """Yield the text, or its two forms, of each call of `msg` in the wiki template *source*; fail unless literal."""
    for call in Environment().parse(source).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "msg":
            texts = [str(argument.as_const()) for argument in call.args]
            yield (texts[0], texts[1]) if len(texts) > 1 else texts[0]


def find_unreadable() -> list[str]:
    """Return the places of calls whose template the source does not tell."""
    return [
        f"{path.relative_to(PACKAGE.parent)}:{call.lineno}"
        for path in sorted(PACKAGE.rglob("*.py"))
        for call in find_calls(path.read_text(encoding="utf-8"))
        if read_templates(call) is None
    ]


def find_commands() -> Iterator[click.Command]:
    """Yield `kb` and every command, those below a group after it."""
    yield import_module("kb.cli.group").command
    for name in COMMANDS:
        command = load_command(name)
        yield command
        if isinstance(command, click.Group):
            yield from command.commands.values()


def extract() -> Catalog:
    """Return everything kb says as a catalogue without translations, each message with the files that say it."""
    found = Catalog(locale="zh", domain="kb", fuzzy=False, header_comment="# What kb says, in Chinese.")
    for path in sorted(PACKAGE.rglob("*.py")):
        for call in find_calls(path.read_text(encoding="utf-8")):
            for text in read_templates(call) or ():
                if text:
                    _add(found, text, path, FORMAT)
    for path in sorted(PACKAGE.rglob("*.html")):
        for text in find_template_texts(path.read_text(encoding="utf-8")):
            _add(found, text, path, FORMAT)
    for command in find_commands():
        path = (
            Path(sys.modules[command.callback.__module__].__file__ or "") if command.callback else Path(click.__file__)
        )
        helps = (command.help, command.short_help, *(p.help for p in command.params if isinstance(p, click.Option)))
        for part in (part for text in helps for part in split_paragraphs(text or "")):
            _add(found, part, path)
    for _, line in COMMANDS.values():
        _add(found, line, PACKAGE / "cli" / "__init__.py")
    for text in HELP.values():
        _add(found, text, PACKAGE / "config.py")
    for text in CLICK:
        _add(found, text, Path(click.__file__))
    return found


def _add(catalogue: Catalog, text: Id, path: Path, *flags: str) -> None:
    """Add *text*, said in *path*, to *catalogue*."""
    place = path.relative_to(PACKAGE.parent).as_posix() if path.is_relative_to(PACKAGE) else path.parent.name
    message = catalogue.add(text, flags=flags)
    if (place, None) not in message.locations:
        message.locations.append((place, None))


# -- the catalogue ----------------------------------------------------------------------------------


def read_catalogue() -> Catalog:
    """Return the catalogue as it is in the file."""
    with CATALOGUE.open("rb") as file:
        return read_po(file, locale="zh", domain="kb")


def update() -> Catalog:
    """Return the catalogue with what kb says now: new messages untranslated, unused ones gone."""
    made, known = extract(), read_catalogue()
    for message in made:
        old = known.get(get_singular(message)) if message.id else None
        if old is not None and old.string:
            message.string = old.string
    return made


def get_singular(message: Message) -> str:
    """Return the template that code looks *message* up by."""
    return message.id if isinstance(message.id, str) else message.id[0]


def find_faults(catalogue: Catalog) -> list[str]:
    """Return what is wrong with the translations of *catalogue*, each with the files that say the message."""
    faults = []
    for message in (message for message in catalogue if message.id):
        ids = (message.id,) if isinstance(message.id, str) else message.id
        texts = message.string if isinstance(message.string, tuple) else (message.string or "",)
        wrong = ""
        if not all(texts):
            wrong = "not translated"
        elif FORMAT in message.flags and any(find_placeholders(text) != find_placeholders(ids[-1]) for text in texts):
            wrong = "other placeholders"
        if wrong:
            faults.append(f"{', '.join(place for place, _ in message.locations)}: {wrong}: {ids[0]!r}")
    return faults


def find_placeholders(template: str) -> frozenset[str]:
    """Return the names of the values that *template* takes."""
    return frozenset(name for _, name, _, _ in string.Formatter().parse(template) if name is not None)


_LEFT_OUT = tuple(
    f'"{field}'
    for field in ("Project-Id", "Report", "POT-Creation", "PO-Revision", "Last-Tr", "Language-T", "Generated")
)
"""How the lines of the head begin that say when and by whom it was written."""


def to_text(catalogue: Catalog) -> str:
    """Return *catalogue* as the text of its file, which changes with its messages only, not where code moves."""
    for message in catalogue:
        message.flags.discard("python-format")  # a per cent sign is no placeholder of ours
    out = BytesIO()
    write_po(out, catalogue, width=110, sort_output=True, no_location=True)
    lines = out.getvalue().decode("utf-8").splitlines(keepends=True)
    return "".join(line for line in lines if not line.startswith(_LEFT_OUT))


def compile_catalogue() -> None:
    """Write the compiled catalogue beside its source."""
    with CATALOGUE.with_suffix(".mo").open("wb") as file:
        write_mo(file, read_catalogue())


# -- the wiki's visitor changes the language --------------------------------------------------------


def write_script() -> str:
    """Return the script by which a page of the wiki is shown in the other language: kb/wiki/assets/kb-words.js.

    It holds whole texts, and templates with their placeholders; first English, then Chinese. Of two English texts for
    one Chinese text the later one holds: the labels of kinds and sections come last.
    """
    catalogue = read_catalogue()
    chinese_by_text = {text: found for message in catalogue if message.id for text, found in _iter_forms(message)}
    pairs = {text: found for text in _find_shown() if (found := chinese_by_text.get(text))} | THEME
    pairs |= {
        english: chinese
        for text in [text for text in pairs if "|" in text]
        for english, chinese in zip(text.split("|"), pairs[text].split("|"), strict=True)
    }
    labels = {one.en: one.zh for one in (*SECTIONS, *KINDS)}
    words = sorted(pair for pair in pairs.items() if not find_placeholders(pair[0]) and pair[0] not in labels)
    forms = [pair for pair in pairs.items() if find_placeholders(pair[0]) and all(map(_is_distinct, pair))]
    data = {"whole": [*words, *labels.items()], "forms": sorted(forms, key=lambda pair: (-len(pair[0]), pair))}
    return f'kbData("words",{json.dumps(data, ensure_ascii=False, separators=(",", ":"))});\n'


def _iter_forms(message: Message) -> Iterator[tuple[str, str]]:
    """Yield the English forms of *message*, one or both, with the one Chinese text for them."""
    texts = (message.id,) if isinstance(message.id, str) else message.id
    translated = message.string if isinstance(message.string, str) else message.string[0]
    for text in texts:
        yield text, translated


def _find_shown() -> Iterator[str]:
    """Yield the texts on the wiki's pages, plural forms too: its own, and the reasons and findings that it shows."""
    for path in sorted((PACKAGE / "wiki" / "templates").glob("*.html")):
        for text in find_template_texts(path.read_text(encoding="utf-8")):
            yield from (text,) if isinstance(text, str) else text
    rooms = [path for room in ("wiki", *REASONS) for path in sorted((PACKAGE / room).glob("*.py"))]
    for path in (*rooms, PACKAGE / "history" / "timeline.py"):
        if path.name not in ("build.py", "mkdocs_plugin.py"):
            for call in find_calls(path.read_text(encoding="utf-8")):
                for text in read_templates(call) or ():
                    yield from (text,) if isinstance(text, str) else text


def _is_distinct(template: str) -> bool:
    """Return whether *template* has so many letters beside its values that it cannot be mistaken for another text."""
    for name in find_placeholders(template):
        template = template.replace(f"{{{name}}}", "")
    return sum(character.isalpha() for character in template) > 1


def main(arguments: Sequence[str]) -> int:
    """Update the catalogue, or check it, and return the exit code."""
    if arguments not in ([], ["--check"], ["--compile"]):
        print("usage: python -m docs.messages [--check | --compile]", file=sys.stderr)
        return 2
    if arguments != ["--compile"]:
        made = update()
        text = to_text(made)
        if arguments and text != CATALOGUE.read_text(encoding="utf-8"):
            print(f"{CATALOGUE.name} is not what kb says now: python -m docs.messages")
            return 1
        faults = find_faults(made)
        print("\n".join(faults), end="\n" if faults else "")
        if arguments:
            return 1 if faults else 0
        CATALOGUE.write_text(text, encoding="utf-8")
    compile_catalogue()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
