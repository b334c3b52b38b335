"""Bundles of the Open Knowledge Format: what is written conforms, and is read back."""

import re
from pathlib import Path

import pytest
import yaml

from kb.errors import BadInput
from kb.importers.notes import read_note
from kb.importers.okf import build_bundle, read_concept
from kb.records.model import Record, Section
from tests.support.command_line import run

RECORDS = (
    Record(
        "D001", "decision", "Keep orders in PostgreSQL: 16", scope="project/shop", status="accepted", date="2026-05-01",
        uid="01M809RBY0GFXYA8PVSSB7PRSJ", tags=("storage",), impact=("src/orders/",), confirmed="2026-06-01",
        sources=("claude/abc",), extra={"valid_until": "2027-01-01", "original_author": "Ann Lee"},
        sections=(Section("decision", "Decision", "Orders live in PostgreSQL, see [C001] and [D009]."),
                  Section("why", "Why", "Transactions.")),
        user="Ask Bob.",
    ),
    Record("C001", "constraint", "金额一律用整数分", status="superseded", date="2026-05-02",
           sections=(Section("decision", "决策", "金额一律用整数分。"),)),
)  # fmt: skip
INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def split(text: str) -> tuple[dict[str, object], str]:
    """Return the front matter of *text*, each value as it is written, and the body."""
    head, _, body = text.removeprefix("---\n").partition("\n---\n")
    return yaml.load(head, yaml.BaseLoader), body


def check_conformance(files: dict[str, str]) -> None:
    """Fail where *files* is no bundle that conforms with OKF 0.2 (§11), or breaks what §5 to §9 ask of a producer."""
    for path, text in files.items():
        name = path.rpartition("/")[2]
        if name == "index.md":
            front, body = split(text) if path == "index.md" else ({}, text)
            assert not front or front == {"okf_version": "0.2"}
            assert all(re.fullmatch(r"# .+|\* \[.+\]\(.+\)( - .+)?|", row) for row in body.strip().splitlines()), path
            continue
        if name == "log.md":
            days = re.findall(r"^## (.+)$", text, re.MULTILINE)
            assert days == sorted(days, reverse=True) and all(re.fullmatch(r"\d{4}-\d\d-\d\d", day) for day in days)
            continue
        front, body = split(text)
        assert front["type"] and body.strip()
        assert front.get("status", "stable") in ("draft", "stable", "deprecated")
        for key in ("generated", "verified"):
            if event := front.get(key):
                assert re.fullmatch(r"human:\S+|process:\S+|\S+/\S+", event["by"]) and INSTANT.fullmatch(event["at"])
        assert INSTANT.fullmatch(front.get("stale_after", "2026-01-01T00:00:00Z"))
        assert all(source["resource"] for source in front.get("sources", ()))
        for target in re.findall(r"\]\(/([^)]+)\)", body):
            assert target in files, f"{path} links to {target}"


def test_a_bundle_conforms() -> None:
    files = build_bundle(RECORDS, "en")
    check_conformance(files)
    assert {path for path in files if path.endswith("index.md")} == {
        "index.md", "project/index.md", "project/shop/index.md", "global/index.md"
    }  # fmt: skip


def test_a_concept_says_who_made_it_and_whether_it_holds() -> None:
    files = build_bundle(RECORDS, "en")
    (path,) = (path for path in files if "d001" in path)
    front, body = split(files[path])
    assert front["type"] == "Decision" and front["title"] == "Keep orders in PostgreSQL: 16"
    assert (front["status"], front["stale_after"]) == ("stable", "2027-01-01T00:00:00Z")
    assert front["generated"] == {"by": "claude/abc", "at": "2026-05-01T00:00:00Z"}
    assert front["verified"] == {"by": "human:ann-lee", "at": "2026-06-01T00:00:00Z"}
    assert "[C001](/global/" in body and "[D009]." in body and "Ask Bob." in body
    (old,) = (text for path, text in files.items() if "c001" in path)
    assert split(old)[0]["status"] == "deprecated"


def test_what_is_written_is_read_back() -> None:
    files = build_bundle(RECORDS, "en")
    (path,) = (path for path in files if "d001" in path)
    made = read_concept(read_note(files[path], path))
    assert (made.kind, made.title, made.tags, made.impact) == (
        "decision", "Keep orders in PostgreSQL: 16", ("storage",), ("src/orders/",)
    )  # fmt: skip
    assert made.why == "Transactions." and made.decision.startswith("Orders live in PostgreSQL")


def test_a_concept_of_somebody_else() -> None:
    text = "---\ntype: Policy\ntitle: Margin standard\ntags: [finance]\n---\n\n# Rule\n\nUse all four.\n"
    made = read_concept(read_note(text, "policies/margin.md"))
    assert (made.kind, made.title) == ("constraint", "Margin standard") and "Use all four." in made.decision
    with pytest.raises(BadInput, match="BigQuery Table"):
        read_concept(read_note("---\ntype: BigQuery Table\n---\nRows.\n", "tables/orders.md"))
    with pytest.raises(BadInput, match="no type"):
        read_concept(read_note("Rows.\n", "tables/orders.md"))


def test_the_commands(root: Path, tmp_path: Path) -> None:
    rule = ["--kind", "decision", "--title", "Orders live in PostgreSQL", "--decision", "Orders live in PostgreSQL 16."]
    assert run(root, "write", *rule, "--why", "Transactions.", "--area", "architecture").code == 0
    assert run(root, "export", "okf", "-o", str(tmp_path / "okf")).code == 0
    files = {p.relative_to(tmp_path / "okf").as_posix(): p.read_text("utf-8") for p in (tmp_path / "okf").rglob("*.md")}
    check_conformance(files)
    ran = run(root, "import", "okf", str(tmp_path / "okf"))
    assert (ran.code, ran.out, ran.error) == (1, "", "imported: 0, unchanged: 0, no record: 0\n")
    assert run(tmp_path, "init", "other").code == 0
    assert "created" in run(tmp_path / "other", "import", "okf", str(tmp_path / "okf")).out
