"""`kb export json` and `kb import json`: what one knowledge base prints, another reads back byte for byte."""

import contextlib
import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.errors import BadInput, BadRecord
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from kb.writing.bulk_import import parse_exported
from tests.support.command_line import run


@pytest.fixture
def filled(root: Path, kb: KnowledgeBase) -> Path:
    """Records of all sorts: with links, additions, unknown keys, notes of a person, a new title, CRLF."""
    said = [
        Candidate("decision", "Use PostgreSQL for orders", "PostgreSQL 16 stores orders.", "MySQL.", "It was measured.",
                  ("src/a.py",), "Read it.", "Undo it.", claims={"db": "PostgreSQL"}, scope="global"),
        Candidate("domain-note", "还款方式有三种", "还款方式包括等额本息等，见 [global:D001]。", scope="project/loan",
                  tags=("还款 方式", "a: b")),
        Candidate("learning", "How are fees rounded?", "Fees are rounded half up.", scope="project/loan",
                  fields={"domain": "fees", "confidence": 0.8, "asked": ["Which way do fees round?"]}),
        Candidate("pitfall", "Pika is missing", "The worker stops with ModuleNotFoundError.", why="No pika.",
                  sections={"solution": "pip install pika"}, scope="project/shop"),
    ]  # fmt: skip
    for one in said:
        whole = one._replace(affects_future=True, reference_value=True, impact_areas=("architecture",))
        assert kb.write([whole])[0].verdict == "created"
    note = next((root / "content/anchors/projects/loan").glob("DN001-*"))
    text = note.read_text().replace(
        "<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nask Li\u200b first\u2028then \x7f Wang\n"
    )
    note.write_text(text.replace("status: accepted\n", "status: accepted\nreviewed_by: [Li, Wang]  # twice\n"))
    other = next((root / "content/anchors/projects/shop").glob("P001-*"))
    other.write_bytes(other.read_bytes().replace(b"\n", b"\r\n"))
    other.rename(other.with_name("P001-an-older-title.md"))
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", "commit", "-qm", "By hand"], cwd=root, check=True)
    return root


def read_records(root: Path) -> dict[str, bytes]:
    return {str(path.relative_to(root)): path.read_bytes() for path in (root / "content/anchors").rglob("*.md")}


def count_commits(root: Path) -> int:
    return int(subprocess.run(["git", "rev-list", "--count", "HEAD"], cwd=root, capture_output=True, check=True).stdout)


def test_an_empty_base_gets_the_same_files_and_a_second_time_nothing(
    filled: Path, empty_kb: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(empty_kb, other)
    (other / "kb.toml").write_text('language = "zh"\n')
    subprocess.run(["git", "commit", "-qam", "zh"], cwd=other, check=True)
    exported = run(filled, "export", "json").out
    assert run(other, "import", "json", "-", stdin=exported.encode()).code == 0
    assert read_records(other) == read_records(filled) and len(read_records(other)) == 4
    before = count_commits(other)
    assert run(other, "import", "json", "-", stdin=exported.encode()).code == 0
    assert count_commits(other) == before and read_records(other) == read_records(filled)
    assert run(other, "export", "json").out == exported
    assert run(other, "check").code == run(filled, "check").code


def test_what_is_here_in_another_version_stays(filled: Path, tmp_path: Path) -> None:
    file = tmp_path / "records.json"
    assert run(filled, "export", "json", "-o", str(file)).code == 0
    assert run(filled, "status", "D001", "deprecated", "--why", "It is done with.", "--yes").code == 0
    before = read_records(filled)
    done = run(filled, "import", "json", str(file))
    assert done.code == 0 and done.error.count("another version of it exists here and was kept") == 1
    assert read_records(filled) == before


def test_ids_that_are_taken_are_replaced_and_secrets_masked(
    filled: Path, root: Path, empty_kb: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    shutil.copytree(empty_kb, other)
    with KnowledgeBase(str(other), os.environ) as kb:
        one = Candidate("decision", "Use Kafka for events", "Kafka carries all events.", "RabbitMQ.", "Measured.",
                        ("src/b.py",), "Read.", "Undo.", scope="global", impact_areas=("architecture",))  # fmt: skip
        assert kb.write([one])[0].id == "D001"
    rows = json.loads(run(filled, "export", "json").out)
    rows[0]["text"] = rows[0]["text"].replace("It was measured.", "It has AKIAIOSFODNN7EXAMQLE in it.")
    done = run(other, "import", "json", "-", stdin=json.dumps(rows).encode())
    assert done.code == 0 and "its id D001 is in use here; it was renumbered to D002" in done.error
    assert "masked: " in done.error
    files = read_records(other)
    assert len(files) == 5 and not any(b"AKIAIOSFODNN7EXAMQLE" in data for data in files.values())


def test_records_can_be_written_by_hand(root: Path) -> None:
    sections = [{"name": "decision", "heading": "Decision", "text": "Fees are in cents."}]
    rows = [{"kind": "domain-note", "title": "Fees", "tags": ["fees"], "sections": sections, "status": "accepted"}]
    assert run(root, "import", "json", "-", stdin=json.dumps(rows).encode()).code == 0
    assert "Fees are in cents." in run(root, "show", "DN001").out
    assert run(root, "import", "json", "-", "--project", "loan", stdin=json.dumps(rows).encode()).code == 0
    assert run(root, "list", "agent://loan").out.startswith("loan:DN001")


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[1]", b"[{}]", b'[{"kind": "decision"}]', b'[{"kind": 1, "title": "x"}]', b"\xff", b"[" * 9999,
     b'[{"kind": "decision", "title": "x", "id": 7}]', b'[{"kind": "decision", "title": "x", "sections": [1]}]',
     b'[{"kind": "decision", "title": "x", "tags": {"a": 1}}]', b'[{"text": "no front matter"}]'],
)  # fmt: skip
def test_what_is_no_export_is_refused_with_its_place(root: Path, data: bytes) -> None:
    done = run(root, "import", "json", "-", stdin=data)
    assert done.code == 1 and "stdin" in done.error and "Traceback" not in done.error


@given(
    rows=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=9),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["kind", "title", "id", "text", "path", "sections", "tags", "uid"]), inner
            )
        ),
        max_leaves=12,
    )
)
def test_any_json_is_read_or_refused(rows: object) -> None:
    with contextlib.suppress(BadInput, BadRecord):
        parse_exported(json.dumps(rows).encode(), "x")


def test_a_path_leads_nowhere_else(filled: Path, empty_kb: Path, tmp_path: Path) -> None:
    rows = json.loads(run(filled, "export", "json").out)
    for row, path in zip(
        rows, ("../../D001-x.md", "content/anchors/global/D001-../x.md", "/etc/D001-x.md", 7), strict=True
    ):
        row["path"] = path
    other = tmp_path / "other"
    shutil.copytree(empty_kb, other)
    done = run(other, "import", "json", "-", stdin=json.dumps(rows[:3]).encode())
    assert done.code == 0
    assert all(
        path.startswith(("content/anchors/global/", "content/anchors/projects/")) for path in read_records(other)
    )
    assert not list(tmp_path.glob("D001*")) and len(read_records(other)) == 3
