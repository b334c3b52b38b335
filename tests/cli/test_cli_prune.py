"""`kb prune` as a person calls it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command_line import run
from tests.support.sessions import Session, numbered

BODY = "\n".join(f"row {n} of a file that is read again and again" for n in range(60))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    session = Session()
    session.call("Write", file_path="/w/b.py", content=BODY)
    session.call("Bash", "Exit code 1", fails=True, command="x" * 400)
    for _ in range(3):
        session.read("/w/app.py", numbered(BODY))
    session.read("/w/b.py", numbered(BODY))
    session.call("Grep", "\n".join(f"/w/f{n}.py:1:row" for n in range(60)), pattern="row")
    session.read("/w/f7.py", "1→row")
    session.idle(10)
    session.write(tmp_path / "t.jsonl")
    return tmp_path / "t.jsonl"


def test_without_a_knowledge_base_the_report_is_printed_and_nothing_is_written(path: Path) -> None:
    before = path.read_bytes()
    ran = run(path.parent, "prune", "t.jsonl")
    assert (ran.code, ran.error) == (0, "") and ran.out.startswith("## DCP report\n")
    assert "| Deduplication | 2 repeated reads |" in ran.out and "| **total** | **4 in all** |" in ran.out
    assert path.read_bytes() == before and [p.name for p in path.parent.iterdir()] == ["t.jsonl"]


def test_out_writes_a_pruned_copy_and_never_over_a_file(path: Path) -> None:
    assert run(path.parent, "prune", "t.jsonl", "--out", "new.jsonl").code == 0
    old, new = path.read_bytes().split(b"\n"), (path.parent / "new.jsonl").read_bytes().split(b"\n")
    assert len(old) == len(new) and sum(a != b for a, b in zip(old, new, strict=True)) == 4
    for name in ("new.jsonl", "t.jsonl"):
        ran = run(path.parent, "prune", "t.jsonl", "--out", name)
        assert ran.code == 1 and name in ran.error and "→" in ran.error
    again = run(path.parent, "prune", "new.jsonl", "--json")
    assert json.loads(again.out)["cuts"] == []
    assert sorted(p.name for p in path.parent.iterdir()) == ["new.jsonl", "t.jsonl"]


def test_a_file_system_without_links_takes_a_copy_too(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def link(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "link", link)
    assert run(path.parent, "prune", "t.jsonl", "--out", "new.jsonl").code == 0
    assert sorted(p.name for p in path.parent.iterdir()) == ["new.jsonl", "t.jsonl"]


def test_out_to_stdout_prints_the_transcript_and_the_report_beside_it(path: Path) -> None:
    ran = run(path.parent, "prune", "--out", "-", "t.jsonl")
    assert len(ran.out.splitlines()) == len(path.read_bytes().splitlines()) and "## DCP report" in ran.error


def test_a_full_disk_behind_stdout_is_named_as_such(path: Path) -> None:
    command = [sys.executable, "-c", "from kb.cli import main; main()", "prune", "--out", "-", "t.jsonl"]
    with open("/dev/full", "wb") as full:
        done = subprocess.run(command, cwd=path.parent, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1 and "cannot be written: No space left" in done.stderr and "read" not in done.stderr


def test_only_some_strategies(path: Path) -> None:
    ran = run(path.parent, "prune", "--only", "dedup,errors", "t.jsonl", "--json")
    assert {cut["strategy"] for cut in json.loads(ran.out)["cuts"]} == {"dedup", "errors"}
    ran = run(path.parent, "prune", "--only", "dedupe", "t.jsonl")
    assert ran.code == 1 and "dedup, supersede, errors, truncate" in ran.error


def test_the_json_has_the_sums_of_its_rows(path: Path) -> None:
    told = json.loads(run(path.parent, "prune", "t.jsonl", "--json").out)
    assert told["saved"] == sum(cut["removed"] - cut["left"] for cut in told["cuts"]) > 0


def test_proposals_are_told_and_the_safe_ones_dropped_unless_a_person_must_say_yes(path: Path, root: Path) -> None:
    ran = run(path.parent, "prune", "t.jsonl", "--propose")
    assert "| 1. turn 7: Grep row | search | what it looked for has been read | ✅ |" in ran.out
    assert "| Discard | 1 dropped |" in ran.out
    (root / "dcp-config.yaml").write_text("dcp:\n  ai_assisted:\n    require_confirmation: true\n")
    ran = run(root, "prune", str(path), "--propose")
    assert "Grep row" in ran.out and "Discard" not in ran.out and "--yes deletes the safe ones" in ran.out
    ran = run(root, "prune", str(path), "--propose", "--yes")
    assert "| Discard | 1 dropped |" in ran.out and "--yes" not in ran.out


def test_a_decision_that_needs_an_anchor_is_told_with_the_command_that_makes_one(tmp_path: Path) -> None:
    session = Session()
    session.step("We decided to use PostgreSQL instead of Redis for the keys of refunds, because both commit at once.")
    session.call("Bash", "ok", command="ls")
    session.idle(12)
    session.write(tmp_path / "t.jsonl")
    ran = run(tmp_path, "prune", "t.jsonl", "--propose")
    assert "make an anchor" in ran.out and "kb archive" in ran.out


def test_a_long_path_is_shown_by_its_end_and_a_search_by_what_it_looked_for(tmp_path: Path) -> None:
    session, folder = Session(), "/home/ada/projects/" + "worktree/" * 8 + "src"
    for _ in range(2):
        session.read(f"{folder}/app.py", numbered(BODY))
        session.call("Grep", "app.py:1: retry\n" * 50, path=folder, pattern="retry")
    session.idle(12)
    session.write(tmp_path / "t.jsonl")
    ran = run(tmp_path, "prune", "t.jsonl", "--explain")
    assert "Read …/" in ran.out and "/src/app.py" in ran.out and "Grep retry" in ran.out


def test_explain_names_every_cut_and_what_it_costs(path: Path) -> None:
    ran = run(path.parent, "prune", "t.jsonl", "--explain")
    assert "line 7, turn 3: Deduplication: Read /w/app.py" in ran.out and "cache" not in ran.out


def test_a_short_session_is_left_alone(tmp_path: Path) -> None:
    Session().write(tmp_path / "t.jsonl")
    ran = run(tmp_path, "prune", "t.jsonl", "--explain")
    assert ran.code == 0 and "Nothing was pruned: the session has 0 turns" in ran.out


def test_how_full_the_context_is_may_be_said(path: Path) -> None:
    ran = run(path.parent, "prune", "t.jsonl", "--percent", "87")
    assert "**Trigger**: context use 87%" in ran.out and "context in use: 87% → 8" in ran.out


@pytest.mark.parametrize("words", [["missing.jsonl"], ["."], ["README.md"]])
def test_what_is_no_transcript_is_named(words: list[str], tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("# Shop\n")
    ran = run(tmp_path, "prune", *words)
    assert ran.code == 1 and words[0] in ran.error


def test_the_settings_are_shown_and_proved(root: Path) -> None:
    ran = run(root, "prune", "config")
    assert "    turn_protection: 4  # " in ran.out
    (root / "dcp-config.yaml").write_text(ran.out.replace("turn_protection: 4", "turn_protection: 6"))
    assert run(root, "prune", "config", "--check").code == 0
    assert "turn_protection: 6" in run(root, "prune", "config").out
    (root / "dcp-config.yaml").write_text("dcp:\n  truncation:\n    glob_max_file: 3\n")
    for ran in (run(root, "prune", "config", "--check"), run(root, "prune", "t.jsonl")):
        assert ran.code == 2 and "dcp-config.yaml:3" in ran.error and "glob_max_files" in ran.error


def test_the_report_is_kept_and_shown_again(root: Path, path: Path) -> None:
    ran = run(root, "修剪报告")
    assert ran.code == 1 and "kb prune --help" in ran.error
    made = run(root, "修剪", str(path))
    assert made.code == 0 and run(root, "修剪报告").out == run(root, "prune", "report").out == made.out


def test_without_a_name_the_session_heard_of_last_is_pruned(root: Path, path: Path) -> None:
    assert "no session is known here" in run(root, "prune").error
    assert run(root, "session", "save", "--transcript", str(path)).code == 0
    assert "| Deduplication | 2 repeated reads |" in run(root, "修剪").out
    assert run(path.parent, "prune").code == 2


def test_in_chinese_the_report_has_its_documented_form(root: Path, path: Path) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    out = run(root, "prune", str(path)).out
    for row in ("## DCP 执行报告", "**执行时间**: ", "**触发原因**: 手动要求", "### 修剪统计",
                "| 策略 | 修剪项 | 节约 Tokens |", "### 保护的内容", "- 最近 4 轮: 保护",
                "### 修剪后状态"):  # fmt: skip
        assert row in out
