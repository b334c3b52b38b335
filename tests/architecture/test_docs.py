"""The docs say what the code does: pages are fresh, commands explain themselves, examples parse, links lead on."""

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
import yaml

from docs import generate, messages
from kb.cli.group import ALIASES, COMMANDS
from kb.cli.group import command as top
from kb.config import HELP, Config
from kb.hosts import EVENTS
from tests.architecture.test_layers import DOORS, FEATURES, PLACES, PLATFORM, VALUES

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"(?<!!)\[[^\[\]]*\]\(([^()\s]+)\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def shown(page: Path) -> str:
    """Return how a page is called in messages."""
    return page.relative_to(ROOT).as_posix()


def outside_code(text: str) -> str:
    """Return *text* without code blocks and code marks."""
    return re.sub(r"`[^`\n]*`", "", FENCE.sub("", text))


def examples(program: str) -> Iterator[tuple[str, list[str]]]:
    """Yield every call of *program* in the shell blocks of the docs, with its page."""
    for page in PAGES:
        for language, block in FENCE.findall(page.read_text(encoding="utf-8")):
            rows = block.splitlines() if language == "sh" else re.findall(r"^\$ (.*)", block, re.MULTILINE)
            for row in rows:
                for call in row.split("|"):
                    words = shlex.split(call, comments=True)
                    if words[:1] == [program]:
                        yield shown(page), words[1:]


RECORDS = [example for example in examples("kb") if example[1][:2] == ["write", "--kind"] and "…" not in example[1]]


@pytest.mark.parametrize("name", generate.PAGES)
def test_a_generated_page_is_fresh(name: str) -> None:
    page = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert page == generate.write_page(name), "run: make docs"


def test_the_picture_of_the_architecture_is_the_house() -> None:
    """Its rows are the floors from the top down, in any order within one; every module it names exists."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    picture = FENCE.findall(page)[0][1].partition("\n\n")[0]
    rows = [re.sub(r"^ [a-z]+ ", "", row).split() for row in picture.splitlines()]
    floors = (DOORS, ["knowledge_base"], FEATURES, ["workspace"], PLACES, VALUES, PLATFORM)
    assert [set(row) for row in rows] == [set(floor) for floor in floors]
    named = re.findall(r"`([a-z_]+/(?:[a-z_]+\.py)?)`", page)
    assert named and [name for name in named if not (ROOT / "kb" / name).exists()] == []


def test_the_words_of_the_wiki_are_fresh() -> None:
    assert messages.SCRIPT.read_text("utf-8") == messages.write_script(), "run: make docs"


@pytest.mark.parametrize(("path", "command"), list(generate.commands()))
def test_every_command_and_option_explains_itself(path: str, command: click.Command) -> None:
    assert command.help and command.help.strip().split("\n\n")[0].endswith("."), path
    assert command.short_help and command.short_help.endswith("."), path
    silent = [p.opts for p in command.params if isinstance(p, click.Option) and not p.help]
    assert not silent, path


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_commands_says_what_the_command_says(name: str) -> None:
    command = top.get_command(click.Context(top), name)
    assert command is not None
    assert command.short_help == COMMANDS[name][1]


def test_every_setting_is_explained() -> None:
    assert list(HELP) == list(Config._fields)


@pytest.mark.parametrize("name", generate.ENVIRONMENT)
def test_every_variable_in_the_docs_is_read_somewhere(name: str) -> None:
    sources = [p.read_text(encoding="utf-8") for p in (ROOT / "kb").rglob("*.py")]
    assert name == "EDITOR" or any(f'"{name}"' in source for source in sources)


def test_every_variable_that_is_read_is_in_the_docs() -> None:
    sources = "".join(p.read_text(encoding="utf-8") for p in (ROOT / "kb").rglob("*.py"))
    assert set(re.findall(r'"(KB_[A-Z_]+)"', sources)) <= set(generate.ENVIRONMENT)


@pytest.mark.parametrize("page", PAGES, ids=shown)
def test_every_link_leads_somewhere(page: Path) -> None:
    targets = [link.partition("#")[0] for link in LINK.findall(outside_code(page.read_text(encoding="utf-8")))]
    dead = [link for link in targets if link and "://" not in link and not (page.parent / link).exists()]
    assert dead == []


@pytest.mark.parametrize(("page", "words"), list(examples("kb")))
def test_every_example_of_a_command_parses(page: str, words: list[str]) -> None:
    parse_call(page, words)


def parse_call(page: str, words: list[str]) -> None:
    """Parse the *words* of a call of kb, and fail where a command or an option of them is not there."""
    command: click.Command = top
    context = click.Context(top, info_name="kb", **top.context_settings)  # a command keeps what help it first had
    words = [*ALIASES.get(words[0], words[0]).split(), *words[1:]]
    while isinstance(command, click.Group) and words and not (command is not top and words[0].startswith("-")):
        _, found, words = command.resolve_command(context, words)
        assert found is not None, f"{page}: kb {' '.join(words)}"
        command = found
    command.make_context(command.name, list(words), parent=context, resilient_parsing=False)


def test_every_message_names_commands_that_exist() -> None:
    """In both languages: “kb review push --remote NAME” in a message is a command of the group `review`."""
    dead = []
    for message in messages.read_catalogue():
        texts = [text for part in (message.id, message.string) for text in ([part] if isinstance(part, str) else part)]
        for name, sub in re.findall(r"(?<![\w-])kb ([a-z-]+) ([a-z][a-z-]+)", "\n".join(texts)):
            group = top.get_command(click.Context(top), name) if name in COMMANDS else None
            if isinstance(group, click.Group) and sub not in group.commands:
                dead.append(f"kb {name} {sub}")
    assert dead == []


@pytest.mark.parametrize(("page", "words"), RECORDS)
def test_every_example_of_a_record_passes_the_gate(page: str, words: list[str], root: Path) -> None:
    done = subprocess.run([BIN / "kb", *words, "--json"], cwd=root, capture_output=True, text=True, check=False)
    assert [verdict["verdict"] for verdict in json.loads(done.stdout)] == ["created"], f"{page}: {done.stdout}"


@pytest.mark.parametrize(("page", "words"), list(examples("kb-hook")))
def test_every_example_of_a_hook_names_an_event(page: str, words: list[str]) -> None:
    assert words[0] in {*EVENTS, "write"}, page


def test_every_row_of_the_requirements_has_its_verdict_and_its_reason() -> None:
    rows = generate.read_requirements()
    counted = Counter(row.id.partition("-")[0] for row in rows)
    assert counted == {"SHI": 44, "RUYI": 55, "SMAN": 41, "MBANK": 44, "ZCLAW": 61}
    assert [row.id for row in rows] == [
        f"{group}-{n:02}" for group, size in counted.items() for n in range(1, size + 1)
    ]
    assert {row.verdict for row in rows} <= set(generate.VERDICTS)
    assert [row.id for row in rows if not row.asks] == []
    assert [row.id for row in rows if row.verdict != "built" and not row.note] == []


@pytest.mark.parametrize("row", [row for row in generate.read_requirements() if row.verdict != "not built"], ids=str)
def test_what_proves_a_requirement_is_there(row: generate.Requirement) -> None:
    assert row.proof, row.id
    for part in row.proof.split(" ; "):
        program, *words = shlex.split(part)
        if program == "kb":
            parse_call(row.id, words)
        elif program == "python":
            assert words[0] == "-m" and (ROOT / f"{words[1].replace('.', '/')}.py").is_file(), part
        else:
            path, _, name = part.partition("::")
            source = (ROOT / path).read_text(encoding="utf-8")
            assert not name or re.search(rf"^ *(?:async )?def {name}\(", source, re.MULTILINE), part


def test_the_examples_are_found() -> None:
    assert len(list(examples("kb"))) > 20


def list_paths(entry: dict[str, object]) -> Iterator[str]:
    """Yield the pages of an entry of the navigation, and of those below it."""
    for value in entry.values():
        if isinstance(value, list):
            yield from (path for one in value for path in list_paths(one))
        else:
            yield str(value)


def test_every_page_is_in_the_navigation() -> None:
    class Loader(yaml.SafeLoader):
        """Reads what mkdocs reads."""

    nav = yaml.load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"), Loader)["nav"]
    named = {path for entry in nav for path in list_paths(entry)}
    assert named == {p.relative_to(ROOT / "docs").as_posix() for p in PAGES if (ROOT / "docs") in p.parents}


def test_a_stale_page_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(generate, "FOLDER", tmp_path)
    few = ("commands.md", "kinds.md")  # that each of the others is fresh is a test of its own
    monkeypatch.setattr(generate, "PAGES", {name: generate.PAGES[name] for name in few})
    assert generate.main(["--check"]) == 1
    assert "commands.md is stale" in capsys.readouterr().out
    assert generate.main([]) == 0
    assert generate.main(["--check"]) == 0
