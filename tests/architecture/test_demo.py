"""The demo does what the README says, on a machine that knows nobody."""

import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from bench import demo
from kb.capture import extract
from kb.records.kinds import verdict_name
from kb.sessions import transcript as transcripts
from tests.support.sealed import git


@pytest.fixture(scope="module", params=["en", "zh"])
def language(request: pytest.FixtureRequest) -> str:
    """The language of the demo."""
    return str(request.param)


@pytest.fixture(scope="module")
def played(language: str, sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demo and what it printed."""
    place = tmp_path_factory.mktemp("play")
    nobody = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    done = subprocess.run(
        [demo.BIN / "python", "-m", "bench.demo", str(place / "demo-kb"), *(["zh"] if language == "zh" else [])],
        env={**nobody, "HOME": str(place)}, cwd=Path(demo.__file__).parent.parent,
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return place / "demo-kb", done.stdout


def test_every_verdict_comes_with_quote_line_and_reason(played: tuple[Path, str], language: str) -> None:
    _, said = played
    words = demo.WORDS[language]
    line = str(words["said"]).partition("{")[0]
    assert (
        said.count(f"     {line}") == said.count(f"     {words['became']} ") == said.count(f"     {words['reason']} ")
    )
    assert said.count(f"     {line}") >= 8
    for verdict in ("created", "held", "conflict"):
        assert f"{words['became']} {verdict_name(verdict).translate(language)}" in said


def test_it_is_told_in_one_language(played: tuple[Path, str], language: str) -> None:
    _, said = played
    if language == "en":
        assert [row for row in said.splitlines() if re.search("[\u3400-\u9fff]", row)] == []
    else:
        ours = [row for row in said.splitlines() if row.startswith("── ")]
        assert len(ours) == 7 and all(re.search("[\u3400-\u9fff]", row) for row in ours)


def test_secrets_are_shown_nowhere(played: tuple[Path, str]) -> None:
    place, said = played
    assert "Winter-2024" not in said
    assert "Winter-2024" not in git(place, "log", "--all", "-p")


def test_it_prints_log_diff_hint_and_wiki(played: tuple[Path, str], language: str) -> None:
    place, said = played
    assert "git log --oneline --all" in said
    assert "-status: accepted\n" in said.replace("  -", "-")
    if language == "zh":
        assert "[C001] 日志里绝不能出现完整卡号" in said.partition("kb hint t1")[2]
    assert str(place / ".kb" / "wiki" / "index.html") in said
    assert (place / ".kb" / "wiki" / "index.html").is_file()


def test_main_is_clean_and_the_contradiction_waits_beside_it(played: tuple[Path, str]) -> None:
    place, _ = played
    assert git(place, "status", "--porcelain") == ""
    (branch,) = git(place, "for-each-ref", "--format=%(refname:short)", "refs/heads/kb/review").splitlines()
    assert "90" in branch
    assert "status: accepted" in git(place, "show", "main:" + _file(place, "D001"))
    assert "status: superseded" in git(place, "show", f"{branch}:" + _file(place, "D001"))


def _file(place: Path, record_id: str) -> str:
    return next(path.relative_to(place).as_posix() for path in place.glob(f"content/anchors/**/{record_id}-*.md"))


def test_a_folder_of_somebody_else_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("years of work")
    with pytest.raises(SystemExit, match="not made by the demo"):
        demo.prepare(tmp_path)
    assert (tmp_path / "thesis.txt").read_text() == "years of work"


def test_a_file_is_not_deleted(tmp_path: Path) -> None:
    (tmp_path / "demo-kb").write_text("a file")
    with pytest.raises(SystemExit, match="not made by the demo"):
        demo.prepare(tmp_path / "demo-kb")


def test_its_own_folder_is_made_anew(tmp_path: Path) -> None:
    first = demo.prepare(tmp_path / "demo-kb")
    (first.top / "left-over").touch()
    demo.prepare(tmp_path / "demo-kb")
    assert sorted(path.name for path in first.top.iterdir()) == [".kb"]


def test_a_promise_that_is_not_kept_stops_the_demo(tmp_path: Path) -> None:
    stage = demo.prepare(tmp_path / "demo-kb")
    archive = stage.top / "content" / "sessions" / "payments-20261121-000000-00000000"
    archive.mkdir(parents=True)
    (archive / "shi-result.json").write_text(json.dumps({"anchors_written": [{"new_id": "D009"}]}))
    with pytest.raises(SystemExit, match="promised"):
        demo.did_the_same(stage, [])


def test_the_transcript_is_whole_and_every_quote_stands_in_it(language: str) -> None:
    data = demo.TRANSCRIPTS[language].read_bytes()
    transcript = transcripts.parse_transcript(data)
    assert transcript.skipped == () and not transcript.unknown
    assert 60 <= data.count(b"\n") <= 120
    spoken = {message.line: "\n".join(message.texts) for message in transcript.messages}
    quotes = [evidence for candidate in extract.extract_candidates(transcript) for evidence in candidate.evidence]
    assert quotes
    assert all(evidence.quote in spoken[evidence.line] for evidence in quotes)
