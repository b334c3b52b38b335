"""Time travel: what git's history knows of the records is answered as if it were today."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kb.cli.history_commands import iter_digest_lines
from kb.errors import BadInput, UnknownId
from kb.history import snapshot
from kb.history.dependents import find_dependents
from kb.history.snapshot import build_change_log, build_digest, search_history
from kb.history.timeline import find_agent_paths
from kb.knowledge_base import Filter, KnowledgeBase
from kb.records import record_file
from kb.records.model import Candidate, Record, Section
from tests.support.command_line import run
from tests.support.sealed import git

NOW = 1_795_219_200.0  # 2026-11-21
MYSQL = Candidate(
    "decision", "Use MySQL for orders", "Orders are stored in MySQL 8.", "None.", "The team knows it.",
    ("src/orders.py",), "make test", "Restore the dump.", reusable=True, host="claude", claims={"orders.db": "MySQL"},
)  # fmt: skip
POSTGRES = MYSQL._replace(
    title="PostgreSQL keeps the ledger", decision="The ledger is kept in PostgreSQL 16.", host="codex", claims={},
    why="It needs transactions over tables.",
)  # fmt: skip
LAG = Candidate(
    "pitfall", "A replica shows old orders", "A read right after a write misses it, see [D002].",
    why="The replica is a second late.", reusable=True, claims={"orders.db": "MySQL"}, host="claude",
)  # fmt: skip


def on(day: str, place: Path) -> KnowledgeBase:
    """Open the knowledge base as of noon of a *day*, for commits as well."""
    stamp = f"{day}T12:00:00Z"
    environment = {**os.environ, "GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    return KnowledgeBase(str(place), environment, lambda: NOW)


@pytest.fixture(scope="module")
def told(empty_kb: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A knowledge base with a year behind it; nobody writes to it."""
    place = tmp_path_factory.mktemp("past") / "kb"
    shutil.copytree(empty_kb, place, symlinks=True)
    with on("2026-02-10", place) as kb:
        assert kb.write([MYSQL], folder=str(place))[0].id == "D001"
        git(place, "tag", "v1")
    with on("2026-05-05", place) as kb:
        assert kb.write([POSTGRES], folder=str(place), decided=True)[0].id == "D002"
        kb.supersede("D001", by="D002", decided=True)
    with on("2026-08-01", place) as kb:
        assert kb.write([LAG], folder=str(place))[0].id == "P001"
        git(place, "tag", "v2")
        kb.change_status("P001", "deprecated", why="No replica any more.", decided=True)
    path = next((place / "content/anchors/global").glob("D002-*.md"))
    path.write_text(path.read_text().replace("over tables", "over several tables"))
    (place / "src").mkdir()
    (place / "src/orders.py").write_text("db = 1  # why: [D002]\n# kb:D0021 is another; kb:D002 is not\n")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "By hand", "--author", "Ann <ann@example.com>")
    return place


@pytest.fixture
def kb(told: Path, tmp_path: Path) -> Iterator[KnowledgeBase]:
    """A copy of it that a test may change."""
    shutil.copytree(told, tmp_path / "kb", symlinks=True)
    with KnowledgeBase(str(tmp_path / "kb"), os.environ, lambda: NOW) as opened:
        yield opened


def titles(kb: KnowledgeBase, query: str, revision: str, **more: str) -> list[str]:
    """Return the ids that answer *query* as of *revision*."""
    commit = snapshot.resolve_revision(kb, revision) if revision else ""
    found = search_history(kb, query, wanted=Filter(), project="global", limit=10, commit=commit, **more)
    return [answer.record.id for answer in found.answers]


# -- searching ------------------------------------------------------------------------------------


def test_search_answers_as_it_did_then(told: Path, tmp_path: Path) -> None:
    for revision in ("v1", "v2", "HEAD", "HEAD~1"):
        clone = tmp_path / revision
        git(told, "clone", "-q", str(told), str(clone))
        git(clone, "checkout", "-q", git(told, "rev-parse", revision).strip())
        with KnowledgeBase(str(clone), os.environ) as then, KnowledgeBase(str(told), os.environ) as now:
            for query in ("orders", "MySQL", "PostgreSQL ledger", "replica", "team", "nothing of this"):
                expected = then.recall(query)
                commit = snapshot.resolve_revision(now, revision)
                assert (
                    search_history(now, query, wanted=Filter(), project="global", limit=10, commit=commit).answers
                    == expected
                )


def test_search_of_the_past_keeps_to_filters(kb: KnowledgeBase) -> None:
    commit = snapshot.resolve_revision(kb, "v2")
    found = search_history(kb, "", wanted=Filter(kinds=("pitfall",)), project="global", limit=10, commit=commit)
    assert [(one.record.id, one.record.status) for one in found.answers] == [("P001", "accepted")]


RECORDS = st.dictionaries(
    st.sampled_from(["D001-a", "D002-b", "P003-c", "D004-d"]),
    st.sampled_from(["alpha", "beta", "伽马", "", None]),  # "" is a file that is no record
    max_size=4,
)


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(RECORDS, min_size=2, max_size=4))
def test_every_state_of_a_history_comes_back_whatever_stands_in_the_checkout(
    empty_kb: Path, tmp_path_factory: pytest.TempPathFactory, states: list[dict[str, str | None]]
) -> None:
    place = tmp_path_factory.mktemp("states") / "kb"
    shutil.copytree(empty_kb, place, symlinks=True)
    folder = place / "content/anchors/global"
    expected = {}
    for number, state in enumerate(states):  # the last one stays uncommitted
        for path in folder.glob("*.md"):
            path.unlink()
        for stem, word in state.items():
            (folder / f"{stem}.md").write_text(record(stem, word) if word else "no record")
        if number + 1 < len(states):
            git(place, "add", "-A")
            git(place, "commit", "-q", "--allow-empty", "-m", str(number))
            expected[git(place, "rev-parse", "HEAD").strip()] = {s: w for s, w in state.items() if w}
    with KnowledgeBase(str(place), os.environ) as kb:
        for commit, wanted in (*expected.items(), *expected.items()):
            index = snapshot.open_index_at(kb, commit)
            assert {r.path.rpartition("/")[2][:-3]: r.section("decision") for r in index.records()} == wanted
            found = search_history(kb, "alpha", wanted=Filter(), project="global", limit=9, commit=commit).answers
            said = {stem for stem, word in wanted.items() if word == "alpha"}
            assert {one.record.path.rpartition("/")[2][:-3] for one in found} == said
            index.close()
        assert {r.section("decision") for r in kb.records()} == {w for w in states[-1].values() if w}


def record(stem: str, word: str) -> str:
    """Return a record file that says *word*."""
    record_id = stem.partition("-")[0]
    kind = "pitfall" if stem.startswith("P") else "decision"
    made = Record(record_id, kind, f"Title {stem}", status="accepted", uid=f"01{stem.upper():0<24}", date="2026-01-01")
    return record_file.render(made._replace(sections=(Section("decision", "Decision", word),)), "en")


def test_an_index_of_the_past_is_made_once_and_a_few_are_kept(kb: KnowledgeBase) -> None:
    folder = Path(kb.state.folder)

    def kept() -> dict[str, int]:
        return {path.name: path.stat().st_ino for path in folder.glob("past-*.db")}

    for path in folder.glob("past-*"):
        path.unlink()
    assert titles(kb, "orders", "v1") == ["D001"]
    first = kept()
    assert titles(kb, "orders", "v1") == ["D001"] and kept() == first and len(first) == 1
    [name] = first
    (folder / name).write_bytes(b"no index")
    assert titles(kb, "orders", "v1") == ["D001"] and list(kept()) == [name]
    shutil.copy(folder / "index.db", folder / name)
    assert titles(kb, "orders", "v1") == ["D001"]
    path = next(Path(kb.root, "content/anchors/global").glob("D002-*.md"))
    for number in range(snapshot.MAX_SNAPSHOTS + 2):
        path.write_text(path.read_text().replace("several", f"several {number}"))
        git(kb.root, "commit", "-qam", f"Edit {number}")
        titles(kb, "orders", "HEAD")
    assert len(kept()) == snapshot.MAX_SNAPSHOTS and not list(folder.glob("past-*.*.db"))
    assert [record.id for record in kb.records()] == ["D001", "D002", "P001"]


def test_days_mean_the_end_of_the_day_and_revisions_any_commit(kb: KnowledgeBase) -> None:
    v1, head = snapshot.resolve_revision(kb, "v1"), snapshot.resolve_revision(kb, "HEAD")
    assert (
        snapshot.find_last_commit_of_day(kb, "2026-02-10") == snapshot.find_last_commit_of_day(kb, "2026-05-04") == v1
    )
    assert snapshot.find_last_commit_of_day(kb, "2030-01-01") == snapshot.find_last_commit_of_day(kb, "today") == head
    assert (
        snapshot.find_commit_before_day(kb, "2026-05-05") == v1
        and snapshot.find_commit_before_day(kb, "2020-01-01") == ""
    )
    assert snapshot.find_commit_before_day(kb, "1970-01-01") == snapshot.find_commit_before_day(kb, "0001-01-01") == ""
    assert snapshot.resolve_range(kb, "v1..v2") == (v1, snapshot.resolve_revision(kb, "v2"))
    assert (
        snapshot.resolve_range(kb, "v1")
        == snapshot.resolve_range(kb, "v1..")
        == snapshot.resolve_range(kb, "v1...HEAD")
        == (v1, head)
    )
    for name in ("nope", "", "--all", "-1", "HEAD~999", "v1:content"):
        with pytest.raises(BadInput, match="git does not know"):
            snapshot.resolve_revision(kb, name)
    for day in ("2026-02-30", "someday"):
        with pytest.raises(BadInput, match="is not a day"):
            snapshot.find_last_commit_of_day(kb, day)
    with pytest.raises(BadInput, match="nothing was committed yet on 1960-01-01"):
        snapshot.find_last_commit_of_day(kb, "1960-01-01")
    with pytest.raises(BadInput, match="nothing was committed yet on 2020-01-01"):
        snapshot.find_last_commit_of_day(kb, "2020-01-01")


def test_show_prints_the_file_as_it_stood(told: Path) -> None:
    then = run(told, "show", "D001", "--at", "v1").out
    assert then == git(told, "show", "v1:content/anchors/global/D001-use-mysql-for-orders.md")
    assert "status: accepted" in then and "status: superseded" in run(told, "show", "D001").out
    assert json.loads(run(told, "show", "D001", "--as-of", "2026-03-01", "--json").out)["status"] == "accepted"
    later = run(told, "show", "D002", "--at", "v1")
    assert later.code == 1 and "there is no record D002" in later.error
    assert run(told, "show", "D001", "--at", "v1", "--as-of", "today").code == 2


def test_an_agent_is_known_by_what_it_handed_in_or_by_its_commits(kb: KnowledgeBase) -> None:
    assert sorted(titles(kb, "orders", "", agent="claude")) == ["D001", "P001"]
    assert titles(kb, "PostgreSQL", "", agent="Codex") == ["D002"] == titles(kb, "ledger", "", agent="Ann")
    assert titles(kb, "orders", "v1", agent="claude") == ["D001"] and titles(kb, "orders", "", agent="nobody") == []
    git(kb.root, "mv", "content/anchors/global/D001-use-mysql-for-orders.md", "content/anchors/global/D001-other.md")
    git(kb.root, "commit", "-qm", "Rename")
    assert {Path(path).name for path in find_agent_paths(kb, "claude")} >= {
        "D001-other.md",
        "D001-use-mysql-for-orders.md",
    }


# -- what became of them --------------------------------------------------------------------------


def test_changes_tell_what_became_of_every_record(kb: KnowledgeBase) -> None:
    v1, v2, head = (snapshot.resolve_revision(kb, name) for name in ("v1", "v2", "HEAD"))

    def became(older: str, newer: str) -> list[tuple[str, str]]:
        return [(entry.what, entry.record.id) for entry in build_change_log(kb, older, newer).entries]

    assert became("", v1) == [("decided", "D001")]
    assert became(v1, v2) == [("decided", "D002"), ("decided", "P001"), ("superseded", "D001")]
    assert became(v2, head) == [("deprecated", "P001"), ("edited", "D002")]
    assert became(head, head) == []
    assert became(v2, v1) == [("reopened", "D001"), ("removed", "D002"), ("removed", "P001")]
    [superseded] = [entry for entry in build_change_log(kb, v1, v2).entries if entry.what == "superseded"]
    assert [one.id for one in superseded.by] == ["D002"]


def test_changes_are_markdown_that_shows_and_does_nothing_else(kb: KnowledgeBase) -> None:
    path = next(Path(kb.root, "content/anchors/global").glob("D002-*.md"))
    path.write_text(path.read_text().replace("PostgreSQL keeps the ledger", "<script>@all ![x](http://evil) `y"))
    git(kb.root, "commit", "-qam", "Edit")
    out = run(Path(kb.root), "changes", "v1..").out
    assert "<script>" not in out and "@all" not in out and "![x]" not in out
    assert "**Decided (1)**" in out and "**Superseded (1)**" in out
    values = json.loads(run(Path(kb.root), "changes", "v1..", "--json").out)
    assert {(row["what"], row["id"]) for row in values["changes"]} >= {("superseded", "D001")}


def test_a_digest_tells_what_happened_and_what_waits(kb: KnowledgeBase) -> None:
    first = build_digest(kb, "2026-07-01")
    assert [(e.what, e.record.id) for e in first.changes.entries] == [("deprecated", "P001"), ("edited", "D002")]
    assert not first.reviews and not first.unused and first.counted_from == ""
    kb.hint("t2", ["ledger"])
    path = next(Path(kb.root, "content/anchors/global").glob("D002-*.md"))
    path.write_text(path.read_text().replace("date: 2026-11-21", "date: 2026-01-01"))
    other = MYSQL._replace(title="Ledger in SQLite", decision="The ledger is kept in SQLite.", claims={})
    [verdict] = kb.write([other], folder=kb.root)
    assert verdict.verdict == "conflict"
    later = build_digest(kb, "2026-11-01")
    assert [review.record.title for review in later.reviews] == ["Ledger in SQLite"]
    assert later.counted_from == "2026-11-21" and "D002" not in [record.id for record in later.unused]
    git(Path(kb.root), "update-ref", "-d", "refs/kb/uses")
    Path(kb.state.path("told", "unnamed")).write_text(f"{kb.record('D001').uid}\t1795200000\nno uid\n")
    assert [record.id for record in build_digest(kb, "2026-11-01").unused] == ["D002"]
    shown = list(iter_digest_lines(kb, build_digest(kb, "2026-11-01")))
    assert "Unused (1)" in shown and any("PostgreSQL keeps the ledger" in line for line in shown)
    assert "Decided (1)" in run(Path(kb.root), "digest", "--since", "2026-01-01").out
    values = json.loads(run(Path(kb.root), "digest", "--since", "2026-01-01", "--json").out)
    assert values["since"] == "2026-01-01" and values["counted_from"] == "2026-11-20"


def test_a_digest_says_why_a_record_ended_and_counts_what_is_too_many(kb: KnowledgeBase) -> None:
    place = Path(kb.root)
    told = run(place, "digest", "--since", "2026-07-01").out
    assert "A replica shows old orders (global) — No replica any more." in told
    words = "lathe harbour violin glacier orchard compass kettle lantern meadow parsnip quarry walnut".split()
    pitfalls = [LAG._replace(title=f"The {word} rusts", decision=f"Oil every {word}.", claims={}) for word in words]
    assert {verdict.verdict for verdict in kb.write(pitfalls, folder=kb.root)} == {"created"}
    out = run(place, "digest", "--since", "2026-11-20").out
    assert "Decided (12)" in out and out.count(" rusts (global) — ") == 10 and "- … and 2 more" in out


def test_an_impact_names_records_code_and_files(kb: KnowledgeBase) -> None:
    found = find_dependents(kb, "D002")
    assert {(one.relation, one.record.id) for one in found.records} == {("cited by", "P001"), ("supersedes", "D001")}
    code = [(Path(place.path).name, place.line) for place in found.places if place.kind == "code"]
    assert code == [("orders.py", 1), ("orders.py", 2)]
    old = {(one.relation, one.record.id) for one in find_dependents(kb, "D001").records}
    assert ("superseded by", "D002") in old and ("same files", "D002") in old
    with pytest.raises(UnknownId):
        find_dependents(kb, "D999")


def test_code_in_a_project_that_names_a_record_is_found(kb: KnowledgeBase, tmp_path: Path) -> None:
    work = tmp_path / "shop"
    (work / "src").mkdir(parents=True)
    subprocess.run(["git", "init", "-q", str(work)], check=True)
    (work / "src/a.py").write_text("x = 1\n\n# kb:D001 says why\n")
    (work / "b.bin").write_bytes(b"\0[D001]")
    git(work, "add", "-A")
    [made] = kb.write([MYSQL._replace(title="Orders of the shop use Redis", impact=("src/a.py",))], folder=str(work))
    assert made.scope == "project/shop" and made.id == "D001"
    places = find_dependents(kb, "shop:D001").places
    assert [(place.kind, os.path.relpath(place.path, work), place.line) for place in places] == [
        ("code", "src/a.py", 3), ("file", "src/a.py", 0),
    ]  # fmt: skip
