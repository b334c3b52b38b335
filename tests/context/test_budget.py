"""A session in so many tokens, and the functions for Python programs."""

import os
from pathlib import Path

import pytest

from kb.capture.prompt_commands import compress_session
from kb.errors import BadInput
from kb.knowledge_base import KnowledgeBase
from kb.memories import estimate_content_tokens, extract_and_store_memories, extract_session_memories
from kb.text.segment import estimate_tokens
from tests.support.command_line import run
from tests.support.talk import EN, ZH, add, transcript


@pytest.fixture
def path(kb: KnowledgeBase, tmp_path: Path) -> str:
    """A long session that cites what it has decided."""
    path = transcript(tmp_path / "t.jsonl", ZH, EN, *[f"Step {n}: wrote module {n} of the shop." for n in range(80)])
    kb.save_session(path, session="s-1", folder=str(tmp_path))
    cited = [record.id for record in kb.records()]
    add(path, f"This follows {' and '.join(f'[{name}]' for name in cited)}.")
    return path


def test_a_summary_fits_its_budget_and_keeps_every_anchor(kb: KnowledgeBase, path: str) -> None:
    ids = [record.id for record in kb.records()]
    sizes = []
    for budget in (100_000, 3000, 1000, 500, 300, 200):
        text = compress_session(kb, path, budget).text
        assert estimate_tokens(text) <= budget and all(f"[{name}]" in text for name in ids) and len(ids) == 2
        sizes.append(estimate_tokens(text))
    assert sizes == sorted(sizes, reverse=True) and sizes[0] > 2 * sizes[-1]
    with pytest.raises(BadInput) as error:
        compress_session(kb, path, 5)
    assert "tokens" in str(error.value) and kb.config.compact_limit > 60


def test_the_command_prints_it(kb: KnowledgeBase, path: str) -> None:
    done = run(Path(kb.root), "compact", path, "--budget", "300")
    assert done.code == 0 and 0 < estimate_tokens(done.out) <= 300 and "Sanitizer" in done.out
    assert run(Path(kb.root), "compact", path, "--budget", "3").code == 1


def test_python_programs_take_memories(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_HOME", str(root))
    path = transcript(tmp_path / "t.jsonl", ZH, EN)
    found = extract_session_memories(path)
    assert {one["kind"] for one in found} == {"decision"} and len(found) == 2
    with KnowledgeBase(str(root), os.environ) as kb:
        assert kb.records() == []
    assert [one["verdict"] for one in extract_and_store_memories(path, str(tmp_path))] == ["created", "created"]
    assert estimate_content_tokens(ZH) == estimate_tokens(ZH) > 10 > estimate_content_tokens("two words")
