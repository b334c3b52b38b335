"""The schema of the front matter, by which editors check it, and `kb check` are of one mind."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from kb.checks import file_rules, lifecycle_rules
from kb.checks.check_context import CheckSurroundings, RecordSource, load_check_context
from kb.config import Config
from kb.knowledge_base import KnowledgeBase
from kb.records.front_matter import format_entry, parse_front_matter
from kb.records.kinds import KINDS, list_fields
from kb.records.record_file import SHAPES
from tests.support.clones import FASTAPI, one
from tests.support.command_line import run
from tests.support.sealed import git

OURS = sorted(Path(__file__).parents[2].glob("content/anchors/**/*.md"))
SCHEMA = file_rules.build_front_matter_schema()
VALIDATOR = Draft202012Validator(SCHEMA, format_checker=FormatChecker())
RULES = (
    file_rules.check_readable,
    file_rules.check_kinds,
    file_rules.check_fields,
    file_rules.check_ids,
    file_rules.check_date_format,
    file_rules.check_folders,
    lifecycle_rules.check_statuses,
)
BODY = (
    "<!-- MACHINE_BLOCK_START -->\n# [D001] T\n<!-- MACHINE_BLOCK_END -->\n"
    "<!-- USER_BLOCK_START -->\n<!-- USER_BLOCK_END -->\n"
)
WORDS = (
    "x 决策 D001 d001 D01 P001 D1234 accepted Accepted 生效 global project/shop project/商店 project/ project/-a "
    "project/con team/x 2026-11-20 2026-02-30 2026-1-2 20261120 yesterday decision pitfall CODE_STRUCTURE"
).split()
LISTS = ([], ["a"], ["a", 1], ["a", ["b"]], [["a"]], [None], {}, {"a": "b"}, {"a": 1}, {"a": ["b"]})
ODD: tuple[Any, ...] = (None, "", " ", "project/a b", 0, 1, -1, 1.5, True, False, *LISTS, *WORDS)


def has_error(front: Mapping[str, Any]) -> bool:
    """Return whether `kb check` finds an error in this front matter, wherever its file is."""
    rows = "".join(f"{format_entry(key, value)}\n" for key, value in front.items())
    source = RecordSource("content/anchors/global/D001-x.md", f"---\n{rows}---\n{BODY}".encode())
    context = load_check_context([source], CheckSurroundings(today="2026-11-22"), Config())
    findings = (finding for rule in RULES for finding in rule(context))
    return any(one.severity == "error" and one.rule not in ("folder", "file-name") for one in findings)


def is_valid(front: Mapping[str, Any]) -> bool:
    """Return whether the schema takes this front matter, as YAML hands it over."""
    rows = "".join(f"{format_entry(key, value)}\n" for key, value in front.items())
    return bool(VALIDATOR.is_valid(parse_front_matter(f"---\n{rows}---\n{BODY}")))


def build_front(kind: str) -> dict[str, Any]:
    """Return a front matter of *kind* in which nothing is wrong."""
    prefix = next(row.prefix for row in KINDS if row.name == kind)
    about = {"id": f"{prefix}001", "uid": "01M80AZH5CB7FJX6PXXA08EAZG", "kind": kind, "title": "Use Redis"}
    return {**about, "status": "accepted", "scope": "global", "date": "2026-11-20"}


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    assert set(SCHEMA["properties"]) == set(SHAPES)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem[:4])
def test_our_own_records_are_valid(path: Path) -> None:
    assert list(VALIDATOR.iter_errors(parse_front_matter(path.read_text("utf-8")))) == []


@pytest.mark.parametrize("kind", [kind.name for kind in KINDS])
def test_what_is_refused_here_is_refused_there(kind: str) -> None:
    good = build_front(kind)
    assert is_valid(good) and not has_error(good)
    for key in (*SHAPES, *(field.name for field in list_fields(kind)), "owner"):
        for value in ODD:
            front = {**good, key: value}
            assert is_valid(front) != has_error(front), (key, value)
        without = {name: value for name, value in good.items() if name != key}
        assert is_valid(without) != has_error(without), f"without {key}"


def test_several_mistakes_at_once() -> None:
    chance = random.Random(7)
    keys = [*SHAPES, *(field.name for kind in KINDS for field in kind.fields)]
    for _ in range(400):
        front = build_front(chance.choice(KINDS).name) | {chance.choice(keys): chance.choice(ODD) for _ in range(2)}
        assert is_valid(front) != has_error(front), front


def test_what_kb_writes_is_valid(kb: KnowledgeBase, root: Path) -> None:
    one(kb, FASTAPI)
    paths = list(root.glob("content/anchors/**/*.md"))
    assert paths and all(is_valid(parse_front_matter(path.read_text("utf-8"))) for path in paths)


def test_the_comment_of_an_editor_stays(kb: KnowledgeBase, root: Path) -> None:
    """By `# yaml-language-server: $schema=…` a language server of YAML knows which schema a front matter has."""
    one(kb, FASTAPI)
    (path,) = root.glob("content/anchors/global/*.md")
    comment = "# yaml-language-server: $schema=../../../record.schema.json\n"
    path.write_text(path.read_text("utf-8").replace("---\n", f"---\n{comment}", 1), "utf-8")
    git(root, "commit", "-qam", "Name the schema")
    before = run(root, "check").out
    assert run(root, "confirm", "D001").code == 0
    assert comment in path.read_text("utf-8") and "confirmed:" in path.read_text("utf-8")
    assert run(root, "check").out == before == ""


def test_kb_check_prints_the_schema(tmp_path: Path) -> None:
    assert json.loads(run(tmp_path, "check", "--schema").out) == json.loads(json.dumps(SCHEMA))
