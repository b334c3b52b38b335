"""What kb prints hides nothing, turns no line and drives no terminal, whoever wrote it; JSON reads back equal."""

import json
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from tests.support.clones import FASTAPI, one
from tests.support.command_line import run

WILD = "a\u202eb \u200b\u200b \x1b[2J \U000e0041 p\u0430ypal 👩\u200d💻 می\u200cخواهم"
SHOWN = "a⟨U+202E⟩b ⟨U+200B U+200B⟩ ⟨U+001B⟩[2J ⟨U+E0041⟩ p\u0430ypal 👩\u200d💻 می\u200cخواهم"


@pytest.fixture
def wild(kb: KnowledgeBase, root: Path) -> Path:
    """A record in whose text characters hide."""
    path = root / one(kb, FASTAPI).path
    text = (
        path.read_text("utf-8").replace("The backend uses FastAPI.", WILD).replace("id: D001", 'id: D001\nx: "\\u202e"')
    )
    path.write_text(text, "utf-8")
    kb.close()
    run(root, "list")
    return root


@pytest.mark.parametrize(
    "line", ["show D001", "search FastAPI", "check", "export wukong", "log D001 -p", "hint t2", "doctor"]
)
def test_what_is_printed_hides_nothing(wild: Path, line: str) -> None:
    done = run(wild, *line.split())
    assert not set(done.out + done.error) & set("\u202e\u200b\x1b\U000e0041\r")


def test_what_is_ordinary_stays(wild: Path) -> None:
    assert SHOWN in run(wild, "show", "D001").out


def test_json_reads_back_equal(wild: Path) -> None:
    shown = run(wild, "show", "D001", "--json").out
    assert not set(shown) & set("\u202e\u200b\x1b\U000e0041")
    assert WILD in json.dumps(json.loads(shown), ensure_ascii=False).replace("\\u001b", "\x1b")
