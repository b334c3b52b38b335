"""The views of SMAN: project_map.json, the three levels of memory, and its ids as other names."""

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from kb.index.record_ids import format_sman_id
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from tests.support.command_line import run

PROJECT_KEYS = {
    "path", "lastAnalyzed", "projectMd5", "analysisStatus", "mdFiles", "evolutionStatus", "learningRecordIndex",
    "failureRecordIndex", "domainKnowledgeIndex", "lastEvolutionTime",
}  # fmt: skip
EVOLUTION_KEYS = {
    "isEnabled", "currentPhase", "consecutiveErrors", "lastError", "backoffUntil", "questionsGeneratedToday",
    "lastResetDate", "totalQuestionsExplored",
}  # fmt: skip
LEARNING_KEYS = {
    "id", "projectKey", "createdAt", "question", "questionType", "answer", "explorationPath", "confidence",
    "sourceFiles", "relatedRecords", "tags", "domain", "metadata",
}  # fmt: skip
FAILURE_KEYS = {
    "id", "projectKey", "operationType", "operation", "error", "context", "timestamp", "retryCount", "status",
    "avoidStrategy",
}  # fmt: skip


@pytest.fixture
def filled(root: Path, kb: KnowledgeBase) -> Path:
    def say(kind: str, title: str, text: str, scope: str, **more: object) -> Candidate:
        one = Candidate(kind, title, text, why="It was measured.", scope=scope, affects_future=True)
        return one._replace(reference_value=True, impact_areas=("architecture",), **more)

    said = [
        say("learning", "还款方式有哪些类型？", "还款方式包括等额本息、等额本金与先息后本。", "project/loan",
            fields={"domain": "还款", "question_type": "BUSINESS_LOGIC", "confidence": 0.9}, impact=("src/Type.java",),
            sections={"explored": "- Grep repayment\n- Read Type.java"}),
        say("learning", "How are fees rounded?", "Fees are rounded half up, see [L001].", "project/loan"),
        say("pitfall", "Pika is missing", "The worker stops with ModuleNotFoundError.", "project/loan",
            sections={"solution": "pip install pika"}),
        say("pitfall", "The build hangs at linking", "The linker waits for memory.", "project/loan"),
        say("domain-note", "还款领域知识", "还款是借款人按计划偿还本金与利息。", "project/loan", tags=("本金",)),
        say("pattern", "Retry with a back-off", "A failed call is tried again after 1, 2 and 4 s.", "project/loan"),
        say("pattern", "Retry with a back-off", "A failed call is tried again, later each time.", "project/shop"),
        say("pattern", "One commit for one thought", "Commits are small and have one subject.", "global",
            sections={"when": "Every change"}),
    ]  # fmt: skip
    assert {one.verdict for one in kb.write(said)} == {"created"}
    return root


def test_the_project_map_has_the_keys_and_ids_of_its_form(filled: Path, kb: KnowledgeBase) -> None:
    made = json.loads(run(filled, "export", "sman").out)
    assert made["version"] == "2.0.0" and set(made) == {"version", "lastUpdate", "projects"}
    loan = made["projects"]["loan"]
    assert set(loan) == PROJECT_KEYS and set(loan["evolutionStatus"]) == EVOLUTION_KEYS
    day = kb.today().replace("-", "")
    assert loan["learningRecordIndex"] == [f"lr-{day}-001", f"lr-{day}-002"]
    assert loan["failureRecordIndex"] == [f"fr-{day}-001", f"fr-{day}-002"]
    assert loan["domainKnowledgeIndex"] == ["dk-还款领域知识"]
    assert loan["analysisStatus"] == {} and loan["evolutionStatus"]["isEnabled"] is False
    assert set(made["projects"]) == {"loan", "shop"} and made == json.loads(run(filled, "export", "sman").out)


def test_files_a_record_is_about_come_with_what_they_hold(filled: Path, tmp_path: Path) -> None:
    project = tmp_path / "loan"
    (project / "src").mkdir(parents=True)
    (project / "src" / "Type.java").write_text("enum Type {}\n")
    subprocess.run(["git", "init", "-q", project], check=True)
    made = json.loads(run(project, "export", "sman", KB_HOME=str(filled), KB_PROJECT="loan").out)["projects"]["loan"]
    assert made["mdFiles"] == {"src/Type.java": hashlib.md5(b"enum Type {}\n").hexdigest()}
    assert made["path"] == str(project)


def test_the_files_of_the_memory_are_written(filled: Path, tmp_path: Path) -> None:
    out = tmp_path / "sman"
    assert run(filled, "export", "sman", "-o", str(out)).code == 0
    first, second = (json.loads(path.read_text()) for path in sorted((out / "memory/learning/loan").iterdir()))
    assert set(first) == LEARNING_KEYS and first["question"] == "还款方式有哪些类型？" and first["domain"] == "还款"
    assert (
        first["questionType"] == "BUSINESS_LOGIC"
        and first["confidence"] == 0.9
        and second["relatedRecords"] == [first["id"]]
    )
    assert first["explorationPath"] == ["Grep repayment", "Read Type.java"]
    cured, open_one = (json.loads(path.read_text()) for path in sorted((out / "memory/failures/loan").iterdir()))
    assert set(cured) == FAILURE_KEYS and cured["status"] == "RECOVERED"
    assert cured["avoidStrategy"] == "pip install pika"
    assert open_one["status"] == "PENDING" and open_one["avoidStrategy"] is None
    assert json.loads((out / "memory/domain/loan/还款领域知识.json").read_text())["keyConcepts"][0]["name"] == "本金"
    shared = json.loads((out / "memory/global/patterns.json").read_text())
    assert [(one["occurrences"], one["exampleProjects"]) for one in shared] == [(2, ["loan", "shop"])]
    practices = json.loads((out / "memory/global/best_practices.json").read_text())
    assert [one["applicableScenarios"] for one in practices] == [["Every change"]]


def test_the_tree_shows_three_levels(filled: Path) -> None:
    done = run(filled, "memory", "tree")
    assert done.code == 0 and not (filled / "memory-bank").exists()
    rows = done.out.splitlines()
    assert rows[0] == "global: 1 best practices, 1 patterns of several projects" and "project loan" in rows
    assert "  domain knowledge (1): dk-还款领域知识" in rows and rows[-1] == "sessions: 0 running, 0 archived"
    made = json.loads(run(filled, "memory", "tree", "--json").out)
    assert set(made) == {"global", "projects", "sessions"} and len(made["projects"]["loan"]["learningRecordIds"]) == 2


def test_its_ids_are_taken_wherever_an_id_is(filled: Path, kb: KnowledgeBase) -> None:
    named = {format_sman_id(one): one for one in kb.records() if format_sman_id(one)}
    assert len(named) == 5
    for name, record in named.items():
        for written in (name, name.upper(), f"loan:{name}", f"agent://loan/{name}"):
            assert run(filled, "show", written, KB_PROJECT="loan").out == (filled / record.path).read_text(), written
    first = next(name for name in named if name.startswith("lr-"))
    for words in (("log",), ("history",), ("refs",), ("impact",), ("confirm",)):
        assert run(filled, *words, first, KB_PROJECT="loan").code == 0, words
    assert run(filled, "show", "lr-20200101-001").code == 1
    assert run(filled, "show", "dk-nothing").code == 1
