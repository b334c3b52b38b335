"""Adopted folders: decision records that stay where another tool keeps them, read and written in its form."""

import os
from pathlib import Path
from typing import NamedTuple

import pytest

from kb.adr.adr_file import read_adr
from kb.adr.adr_style import edit_lines, remove_statements, set_status
from kb.errors import KbError
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Status, Verdict
from tests.support.command_line import run
from tests.support.sealed import DATA, Clock, git


class Style(NamedTuple):
    """A folder as a tool has written it (`files/`), and what kb is to write beside it (`new.md`)."""

    folder: str
    ids: list[str]
    new: str
    """The file of a new decision."""
    old: str
    """The file that it replaces."""
    superseded: str
    """The line by which that file then says so."""
    statement: str
    """The line by which the new one says so."""


STYLES = {
    "adr-tools": Style(
        "doc/adr",
        ["D001", "D002"],
        "0003-use-kafka-for-orders.md",
        "0002-use-a-queue.md",
        "Superseded by [3. Use Kafka for orders](0003-use-kafka-for-orders.md)",
        "Supersedes [2. Use a queue](0002-use-a-queue.md)",
    ),
    "madr2": Style(
        "docs/adr",
        ["D007"],
        "0008-use-kafka-for-orders.md",
        "0007-use-a-queue.md",
        "* Status: superseded by [ADR-0008](0008-use-kafka-for-orders.md)",
        "- Supersedes [ADR-0007](0007-use-a-queue.md)",
    ),
    "madr4": Style(
        "docs/decisions",
        ["D001", "D002", "D003"],
        "0004-use-kafka-for-orders.md",
        "0003-use-redis.md",
        'status: "superseded by [ADR-0004](0004-use-kafka-for-orders.md)"',
        "- Supersedes [ADR-0003](0003-use-redis.md)",
    ),
    "log4brains": Style(
        "docs/adr",
        ["D240203739"],
        "20261121-use-kafka-for-orders.md",
        "20240203-use-a-queue.md",
        "- Status: superseded by [Use Kafka for orders](20261121-use-kafka-for-orders.md)",
        "- Supersedes [Use a queue](20240203-use-a-queue.md)",
    ),
    "chinese": Style(
        "docs/adr",
        ["D001"],
        "0002-use-kafka-for-orders.md",
        "0001-消息队列.md",
        "| 状态 | 已被 [ADR-0002](0002-use-kafka-for-orders.md) 取代 |",
        "- 取代 [ADR-0001](0001-消息队列.md)",
    ),
    "home-grown": Style(
        ".decisions",
        ["D007", "D008"],
        "adr-009.md",
        "adr-007.md",
        "**Status**: Superseded by [ADR-009](adr-009.md), Amended by [ADR-008](adr-008.md)",
        "- Supersedes [ADR-007](adr-007.md)",
    ),
}


KAFKA = Candidate(
    "decision",
    "Use Kafka for orders",
    decision="Orders go through Kafka topics.",
    why="The list loses orders under load.",
    alternatives="RabbitMQ keeps no log.",
    impact=("src",),
    verification="kcat lists the topics.",
    rollback="Point the producers back.",
    impact_areas=("architecture",),
)


def list_files(name: str) -> dict[str, str]:
    """Return name and text of the files that the folder of the style *name* has."""
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((DATA / "adopt" / name / "files").iterdir())}


def list_golden(name: str) -> str:
    """Return the text of the new decision in the style *name*."""
    return (DATA / "adopt" / name / "new.md").read_text(encoding="utf-8")


@pytest.fixture(params=STYLES)
def name(request: pytest.FixtureRequest) -> str:
    """The name of a style."""
    return str(request.param)


@pytest.fixture
def style(name: str) -> Style:
    """A folder in one of the forms."""
    return STYLES[name]


def make_repository(place: Path, name: str = "adr-tools") -> Path:
    """Return a repository that has the records of the style *name*, committed."""
    folder = place / "shop" / STYLES[name].folder
    folder.mkdir(parents=True)
    git(place / "shop", "init", "-q", "-b", "main")
    for file, text in list_files(name).items():
        (folder / file).write_text(text, encoding="utf-8")
    git(place / "shop", "add", "-A")
    git(place / "shop", "commit", "-qm", "Decisions")
    return place / "shop"


@pytest.fixture
def shop(tmp_path: Path, name: str, style: Style) -> Path:
    """A repository whose records are adopted."""
    root = make_repository(tmp_path, name)
    said = run(root, "init", "--adopt", style.folder, "--language", "en")
    assert said.code == 0, said.error
    return root


def open_base(root: Path) -> KnowledgeBase:
    return KnowledgeBase(str(root), os.environ, Clock(), folder=str(root))


def write(root: Path) -> Verdict:
    """Write a new decision in the repository *root*."""
    with open_base(root) as kb:
        (verdict,) = kb.write([KAFKA], folder=str(root))
    return verdict


def read(root: Path, style: Style, name: str) -> str:
    return (root / style.folder / name).read_text(encoding="utf-8")


def changed_lines(before: str, after: str) -> tuple[list[str], list[str]]:
    """Return the lines that are gone and those that are new, empty ones left out."""
    old, new = before.splitlines(), after.splitlines()
    return [line for line in old if line and line not in new], [line for line in new if line and line not in old]


def test_adopting_moves_nothing_and_knows_every_record(shop: Path, name: str, style: Style) -> None:
    assert git(shop, "status", "--porcelain") == ""
    assert {file: read(shop, style, file) for file in list_files(name)} == list_files(name)
    with open_base(shop) as kb:
        records = kb.records()
        assert [record.id for record in records] == style.ids
        assert {record.scope for record in records} == {"project/shop"}
        assert all(kb.text(record) == list_files(name)[record.path.rpartition("/")[2]] for record in records)
        assert [finding for finding in kb.check() if finding.severity == "error"] == []


def test_a_new_decision_looks_like_the_newest_one(shop: Path, name: str, style: Style) -> None:
    verdict = write(shop)
    assert verdict.verdict == "created", verdict.reasons
    assert read(shop, style, style.new) == list_golden(name)
    assert git(shop, "status", "--porcelain") == ""
    with open_base(shop) as kb:
        record = next(one for one in kb.records() if one.path.endswith(style.new))
        assert (record.status, record.date, record.title) == ("accepted", "2026-11-21", "Use Kafka for orders")
        assert [finding for finding in kb.check() if finding.severity == "error"] == []


def test_replacing_changes_the_lines_on_it_and_can_be_undone(shop: Path, name: str, style: Style) -> None:
    write(shop)
    before = read(shop, style, style.old)
    with open_base(shop) as kb:
        ids = {record.path.rpartition("/")[2]: record.id for record in kb.records()}
        old, new = ids[style.old], ids[style.new]
        kb.supersede(old, by=new, decided=True)
        gone, came = changed_lines(before, read(shop, style, style.old))
        assert (len(gone), came) == (1, [style.superseded])
        assert changed_lines(list_golden(name), read(shop, style, style.new))[0] == []
        assert style.statement.lstrip("- ") in read(shop, style, style.new)
        assert kb.record(old).status == Status.SUPERSEDED
        assert kb.record(new).supersedes == (old,)
        assert [finding for finding in kb.check() if finding.severity == "error"] == []
        kb.change_status(old, "accepted", why="it was right", decided=True)
        assert (kb.record(old).status, kb.record(new).supersedes) == (Status.ACCEPTED, ())
        assert changed_lines(read(shop, style, style.old), before)[1] in ([], gone)
        kb.change_status(old, "deprecated", why="gone", decided=True)
        assert kb.record(old).status == Status.DEPRECATED
    assert git(shop, "status", "--porcelain") == ""


def test_a_record_that_another_tool_writes_or_edits_is_seen(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr")
    later = list_files("adr-tools")["0002-use-a-queue.md"].replace("# 2. Use a queue", "# 3. Use Kafka")
    (root / "doc/adr/0003-use-kafka.md").write_text(later.replace("Accepted", "Accepted\n\nSupersedes ADR-0002"))
    with open_base(root) as kb:
        assert [(record.id, str(record.status)) for record in kb.records()] == [
            ("D001", "accepted"),
            ("D002", "superseded"),
            ("D003", "accepted"),
        ]
        (root / "doc/adr/0003-use-kafka.md").unlink()
        assert [(record.id, str(record.status)) for record in kb.records()] == [
            ("D001", "accepted"),
            ("D002", "accepted"),
        ]


def test_the_setting_that_adopts_is_followed(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr", "--name", "shop")
    settings = (root / "kb.toml").read_text("utf-8")
    (row,) = [line for line in settings.splitlines() if line.startswith("adopt = ")]
    with open_base(root) as kb:
        before = kb.records()
        assert before
    (root / "kb.toml").write_text(settings.replace(row, 'adopt = ["doc/adr: project/pay"]'))
    with open_base(root) as kb:
        assert {record.scope for record in kb.records()} == {"project/pay"}
    (root / "kb.toml").write_text(settings.replace(row, ""))
    with open_base(root) as kb:
        assert kb.records() == []
    (root / "kb.toml").write_text(settings)
    with open_base(root) as kb:
        assert kb.records() == before


def test_the_impact_that_kb_writes_is_read_back(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    (root / "src").mkdir()
    (root / "src/pay.py").write_text("")
    git(root, "add", "-A")
    run(root, "init", "--adopt", "doc/adr")
    candidate = KAFKA._replace(impact=("src/", "src/later/", "src"))
    with open_base(root) as kb:
        (verdict,) = kb.write([candidate], folder=str(root))
        assert kb.record(verdict.id).impact == ("src/", "src/later/", "src")
    assert KAFKA.title in run(root, "list", "src/").out


def test_ids_stay_whatever_is_written_later(tmp_path: Path) -> None:
    root = make_repository(tmp_path, "log4brains")
    run(root, "init", "--adopt", "docs/adr")
    text = list_files("log4brains")["20240203-use-a-queue.md"]
    for name in ("20240203-another.md", "20230101-before.md", "no-number.md"):
        (root / "docs/adr" / name).write_text(text)
    with open_base(root) as kb:
        ids = [record.id for record in kb.records()]
        assert STYLES["log4brains"].ids[0] in ids
        assert len(set(ids)) == 4


def test_of_two_files_with_one_number_each_has_an_id(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    twin = list_files("adr-tools")["0002-use-a-queue.md"].replace("Use a queue", "Use a cache")
    (root / "doc/adr/0002-use-a-cache.md").write_text(twin)
    run(root, "init", "--adopt", "doc/adr")
    with open_base(root) as kb:
        assert kb.record("D002").title == "Use a cache"
        assert len({record.id for record in kb.records()}) == 3
        assert [finding.rule for finding in kb.check()] == ["number"]


def test_links_between_adopted_records_are_citations(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr")
    assert "cites" in run(root, "refs", "D002").out
    assert "D001" in run(root, "refs", "D002").out


def test_the_past_and_the_history_know_adopted_records(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr")
    with open_base(root) as kb:
        write(root)
        kb.supersede("D002", by="D003", decided=True)
    assert "superseded" not in run(root, "show", "D002", "--at", "HEAD~1", "--json").out
    assert len(run(root, "log", "D002").out.splitlines()) >= 2


def test_an_existing_base_adopts_a_folder_and_refuses_numbers_it_has(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    assert run(root, "init", "--here").code == 0
    write(root)
    said = run(root, "init", "--adopt", "doc/adr")
    assert said.code == 1
    assert "D001" in said.error
    assert run(root, "init", "--adopt", "doc/adr: project/old").code == 0
    assert git(root, "status", "--porcelain") == ""
    assert 'adopt = ["doc/adr: project/old"]' in (root / "kb.toml").read_text()
    with open_base(root) as kb:
        assert {record.scope for record in kb.records()} == {"project/shop", "project/old"}


def test_two_folders_are_adopted_each_with_its_scope(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    (root / "pay/docs/adr").mkdir(parents=True)
    (root / "pay/docs/adr/0001-retry.md").write_text(list_files("adr-tools")["0001-record-decisions.md"])
    assert run(root, "init", "--adopt", "doc/adr", "--adopt", "pay/docs/adr: project/pay").code == 0
    with open_base(root) as kb:
        assert kb.record("pay:D001").path == "pay/docs/adr/0001-retry.md"
        assert kb.record("D001").path == "doc/adr/0001-record-decisions.md"


@pytest.mark.parametrize("folder", ["..", "content/anchors", "missing"])
def test_what_is_no_folder_of_records_is_not_adopted(tmp_path: Path, folder: str) -> None:
    root = make_repository(tmp_path)
    assert run(root, "init", "--adopt", folder).code == 1
    assert not (root / "kb.toml").exists()


def test_what_the_form_has_no_place_for_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr")
    said = run(root, "confirm", "D001")
    assert said.code == 1
    assert "doc/adr" in said.error
    assert git(root, "status", "--porcelain") == ""


def test_a_decision_that_is_there_already_is_not_written_into_the_file(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr")
    write(root)
    text = read(root, STYLES["adr-tools"], STYLES["adr-tools"].new)
    assert write(root).verdict == "unchanged"
    assert read(root, STYLES["adr-tools"], STYLES["adr-tools"].new) == text


def test_the_wiki_has_a_page_for_each_adopted_record(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr")
    assert run(root, "wiki", "build", "--strict", "-o", str(tmp_path / "site")).code == 0
    page = (tmp_path / "site/anchors/projects/shop/D002.html").read_text(encoding="utf-8")
    assert "Redis lists." in page
    assert 'href="D001.html"' in page, "a link to a file leads to the page of its record"


def test_a_review_is_in_the_form_of_the_folder(shop: Path, name: str, style: Style) -> None:
    """Who may not decide that a record is replaced opens a review, and its branch has what another tool can read."""
    with open_base(shop) as kb:
        old = next(record.id for record in kb.records() if record.path.endswith(style.old))
        (verdict,) = kb.write([KAFKA._replace(supersedes=(old,))], folder=str(shop))
        assert verdict.verdict == "conflict"
        assert {file: read(shop, style, file) for file in list_files(name)} == list_files(name)
        kb.accept(verdict.id)
        assert style.superseded in read(shop, style, style.old).splitlines()
        new = read(shop, style, style.new)
        assert changed_lines(list_golden(name), new)[0] == []
        assert style.statement.lstrip("- ") in new
        assert [finding for finding in kb.check() if finding.severity == "error"] == []
        assert kb.record(old).status == Status.SUPERSEDED
    assert git(shop, "status", "--porcelain") == ""


def test_two_people_edit_an_adopted_record_at_once(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    run(root, "init", "--adopt", "doc/adr")
    with open_base(root) as kb:
        record = kb.record("D002")
        opened = kb.text(record)
        kb.change_status("D002", "deprecated", why="gone", decided=True)
        kb.replace_text(record, opened.replace("Redis lists", "Redis streams"), opened=opened)
        text = kb.text(record)
        assert "Redis streams" in text
        assert "Deprecated" in text
        with pytest.raises(KbError):
            kb.replace_text(record, "Nothing is decided here.\n", opened=text)
    assert git(root, "status", "--porcelain") == ""


def test_line_ends_and_order_of_a_file_stay() -> None:
    text = "# 2. Queue\r\n\r\n## Status\r\n\r\nAccepted\r\n\r\n## Decision\r\n\r\nRedis.\r\n"
    made = edit_lines(text, lambda plain: set_status(plain, "Rejected"))
    assert made == text.replace("Accepted", "Rejected")
    assert edit_lines(made, lambda plain: set_status(plain, "Accepted")) == text


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("# Q\n\n## Decision\n\nRedis.\n", "accepted"),
        ("---\ntags: [a]\n---\n# Q\n\n## Decision\n\nRedis.\n", "accepted"),
        ("# Q\n\n## Status\n\n<!-- one of: proposed, accepted -->\n\n## Decision\n\nRedis.\n", "accepted"),
        ("# Q\n\n## Status\n\n> proposed or accepted\n\nProposed\n\n## Decision\n\nRedis.\n", "accepted"),
    ],
)
def test_a_status_is_written_where_it_is_read(text: str, status: str) -> None:
    made = set_status(text, status)
    assert read_adr(made, "0001-q.md").record.status == status
    assert [line for line in text.splitlines() if line and line not in made.splitlines()] in ([], ["Proposed"])


def test_a_line_that_says_more_than_what_is_to_go_stays() -> None:
    text = "# Q\n\n## Status\n\nAccepted\n\nSupersedes ADR-3 and ADR-4\n\n## Decision\n\nRedis.\n"
    assert remove_statements(text, lambda relation, target: target == "3") == (text, True)
    made, is_left = remove_statements(text, lambda relation, target: relation == "supersedes")
    assert ("Supersedes" in made, is_left) == (False, False)


def test_a_status_that_shares_its_line_or_section_with_other_fields_is_set_alone():
    shared = "# 1. X\n\n**Status:** Accepted | **Date:** 2024-03-05\n\n## Context\n\nx\n"
    assert set_status(shared, "Rejected") == shared.replace("Accepted", "Rejected")
    listed = "# 1. X\n\n## Status\n\n- **Date**: 2024-03-05\n- **Status**: Accepted\n\n## Context\n\nx\n"
    assert set_status(listed, "Rejected") == listed.replace("Accepted", "Rejected")


# -- what is said ------------------------------------------------------------------------------------


def test_init_says_what_was_found_committed_and_comes_next(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    said = run(root, "init", "--adopt", "doc/adr").error
    assert "doc/adr: 2 decisions adopted (project/shop)" in said
    assert said.splitlines()[-2:] == ["committed: 5 files", "next: kb wiki serve --open"]


def test_a_new_decision_is_the_only_file_of_its_commit(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    assert run(root, "init", "--adopt", "doc/adr").code == 0
    written = run(root, "write", "--kind", "decision", "--title", KAFKA.title, "--decision", KAFKA.decision,
                  "--why", KAFKA.why, "--area", "architecture")  # fmt: skip
    assert written.code == 0, written.error
    # what that form has no heading for is neither missed nor to be completed by a command that would be refused
    assert "not given" not in written.error and "complete it" not in written.error
    changed = git(root, "show", "--name-only", "--format=", "HEAD").split()
    assert changed == ["doc/adr/0003-use-kafka-for-orders.md"]
    # a record of another kind goes into the folders of kb, where it is marked whose they are
    pitfall = run(root, "write", "--kind", "pitfall", "--title", "The queue drops messages on restart",
                  "--why", "Nothing is on disk.", "--area", "architecture")  # fmt: skip
    assert pitfall.code == 0, pitfall.error
    assert "project.json" in git(root, "show", "--name-only", "--format=", "HEAD")


def test_git_ignores_the_wiki_that_was_built(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    assert run(root, "init", "--adopt", "doc/adr").code == 0
    first, second = run(root, "wiki", "build"), run(root, "wiki", "build")
    assert (first.code, second.code) == (0, 0), first.error
    assert "git ignores the folder site in this clone" in first.error and "git ignores" not in second.error
    assert git(root, "status", "--porcelain") == "" and not (root / ".gitignore").exists()
    assert not (root / "site" / ".gitignore").exists()  # what publishes the folder would heed it


def test_a_wiki_elsewhere_or_in_git_changes_no_exclusion(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    assert run(root, "init", "--adopt", "doc/adr").code == 0
    exclude = root / ".git" / "info" / "exclude"
    before = exclude.read_bytes() if exclude.exists() else b""
    assert run(root, "wiki", "build", "-o", str(tmp_path / "out")).code == 0
    (root / "pages").mkdir()
    assert run(root, "wiki", "build", "-o", str(tmp_path / "out")).code == 0
    (root / ".gitignore").write_text("pages/\n", "utf-8")
    assert run(root, "wiki", "build", "-o", "pages").code == 0
    assert (exclude.read_bytes() if exclude.exists() else b"") == before


def test_front_matter_that_is_no_yaml_stops_neither_check_nor_wiki(tmp_path: Path) -> None:
    root = make_repository(tmp_path)
    slip = "---\ntitle: Paths: use \\ on Windows\nstatus: accepted\n---\n\n# Paths\n\n## Decision\n\nUse them.\n"
    (root / "doc/adr/0009-paths.md").write_text(slip, "utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "A slip")
    assert run(root, "init", "--adopt", "doc/adr").code == 0
    checked, made = run(root, "check"), run(root, "wiki", "build")
    assert checked.code == 0 and "cannot be read" not in checked.error, checked.error
    assert made.code == 0, made.error
