"""Take over the records of other tools: ids, links, statuses, dates, secrets; twice is once; out and in is equal."""

import json
import os
import time
from pathlib import Path

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record, Section, Status
from tests.support.clones import texts_below
from tests.support.command_line import run
from tests.support.sealed import git


def nygard(number: int, title: str, status: str = "Accepted", decision: str = "We will do so.") -> str:
    """Return a decision record as Nygard writes it."""
    return (
        f"# {number}. {title}\n\nDate: 2024-02-{number % 28 + 1:02d}\n\n## Status\n\n{status}\n\n"
        f"## Context\n\nIt came up.\n\n## Decision\n\n{decision}\n\n## Consequences\n\nWe know it.\n"
    )


@pytest.fixture
def adrs(tmp_path: Path) -> Path:
    """Three decision records, of which the third supersedes the second, and a page that is none."""
    folder = tmp_path / "adr"
    folder.mkdir()
    (folder / "0001-keep-records.md").write_text(nygard(1, "Keep records"))
    (folder / "0002-use-mysql.md").write_text(nygard(2, "Use MySQL", "Superseded by [3](0003-use-postgresql.md)"))
    (folder / "0003-use-postgresql.md").write_text(
        nygard(3, "Use PostgreSQL", "Accepted\n\nSupersedes [2](0002-use-mysql.md)")
    )
    (folder / "README.md").write_text("# About our decisions\n")
    return folder


def a(id: str, title: str, **more: object) -> Record:
    """Return a decision as another tool has it."""
    text = Section("decision", "Decision", f"{title}, from now on.")
    return Record(id, "decision", title, sections=(text,))._replace(**more)  # type: ignore[arg-type]


def bring(kb: KnowledgeBase, *records: Record) -> list[tuple[str, str]]:
    """Import *records* and return verdict and id of each."""
    return [(v.verdict, v.id) for v in kb.import_records(records, origin="a test")]


# -- impact ---------------------------------------------------------------------------------------


def test_the_files_of_the_project_that_a_decision_names_are_its_impact(kb: KnowledgeBase, tmp_path: Path) -> None:
    project = tmp_path / "shop"
    folder = project / "docs" / "adr"
    folder.mkdir(parents=True)
    for name in ("src/pay/retry.py", "src/pay/old.py", "docs/pay.md"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).touch()
    git(project, "init", "-q")
    named = "Retries stand in `src/pay/retry.py`, see docs/pay.md and `src/gone.py` and [2](0002-more.md)."
    options = "\n## Considered Options\n\n* keep `src/pay/old.py`\n"
    (folder / "0001-retry.md").write_text(nygard(1, "Retry payments", decision=named) + options)
    (folder / "0002-more.md").write_text(nygard(2, "Use more hosts"))
    assert run(project, "import", "adr", "docs/adr", KB_HOME=kb.root).code == 0
    assert [record.impact for record in kb.records()] == [("src/pay/retry.py",), ()]


# -- ids and links --------------------------------------------------------------------------------


def test_an_id_is_kept_where_it_is_free_and_links_follow_where_not(kb: KnowledgeBase) -> None:
    assert bring(kb, a("D002", "The first of all")) == [("created", "D002")]
    arriving = [
        a("D001", "One"), a("D002", "Two"), a("D003", "Three", supersedes=("D002",), amends=("D001",)),
        a("D004", "Four", coexists_with={"D002": "another shop"}), a("", "Five"), a("D003", "Six"),
    ]  # fmt: skip
    assert bring(kb, *arriving) == [
        ("created", "D001"), ("created", "D005"), ("created", "D003"), ("created", "D004"),
        ("created", "D006"), ("created", "D007"),
    ]  # fmt: skip
    assert kb.record("D003").supersedes == ("D005",)
    assert kb.record("D003").amends == ("D001",)
    assert dict(kb.record("D004").coexists_with) == {"D005": "another shop"}
    assert kb.record("D002").title == "The first of all"


def test_scopes_have_numbers_of_their_own(kb: KnowledgeBase) -> None:
    assert bring(kb, a("D001", "One"), a("D001", "One", scope="project/shop")) == [
        ("created", "D001"),
        ("created", "D001"),
    ]
    assert {record.scope for record in kb.records()} == {"global", "project/shop"}


@pytest.mark.parametrize("id", ["D1", "X001", "../D001", "D001/..", "D" + "9" * 30, "d001", "D001\n", "P001", ""])
def test_an_id_that_is_none_of_ours_is_replaced(kb: KnowledgeBase, id: str) -> None:
    assert bring(kb, a(id, "One")) == [("created", "D001")]
    assert kb.records()[0].path == "content/anchors/global/D001-one.md"


@pytest.mark.parametrize(
    "scope", ["project/../../etc", "project/a/b", "robots/x", "", "project/", "/etc", "project/..", "globals"]
)
def test_a_scope_that_leads_out_of_its_folder_is_refused_and_the_others_go_on(kb: KnowledgeBase, scope: str) -> None:
    assert [word for word, _ in bring(kb, a("D001", "One", scope=scope), a("D002", "Two"))] == ["refused", "created"]
    assert [record.id for record in kb.records()] == ["D002"]


def test_the_number_of_an_unreadable_file_is_taken(kb: KnowledgeBase, root: Path) -> None:
    (root / "content" / "anchors" / "global" / "D001-half.md").write_text("---\nid: D001\n")
    assert bring(kb, a("D001", "One"))[0][1] != "D001"


# -- what is kept ---------------------------------------------------------------------------------


def test_status_date_tags_and_unknown_keys_are_kept(kb: KnowledgeBase) -> None:
    one = a("D001", "One", status=Status.REJECTED, date="2019-03-04", tags=("db",), impact=("src/",), occurrences=3,
            sources=("docs/1.md",), extra={"deciders": ["Ada"]}, user="A note of mine\n")  # fmt: skip
    bring(kb, one)
    kept = kb.record("D001")
    assert kept._replace(uid="", path="") == one._replace(extra={"deciders": ["Ada"]})
    assert kept.uid


def test_secrets_are_masked_wherever_they_stand(kb: KnowledgeBase, root: Path) -> None:
    secret = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    one = a("D001", f"Use the key {secret}", user=f"{secret}\n", extra={"note": [{"key": f"api_key={secret}"}]})
    one = one._replace(sections=(Section("decision", f"Decision {secret}", f"It is {secret}"),))
    (verdict,) = kb.import_records([one], origin="a test")
    assert "stripe-key" in " ".join(verdict.reasons)
    assert secret not in git(root, "log", "-p", "--all")
    assert secret not in str(list((root / "content").rglob("*")))


@pytest.mark.parametrize(
    "more",
    [
        {"impact": ("src/{}/",)}, {"claims": {"stripe.key": "{}"}}, {"claims": {"{}": "used"}}, {"sources": ("{}",)},
        {"coexists_with": {"D009": "it is {}"}}, {"claims": {"database.password": "hunter2Blue77"}},
        {"extra": {"database": {"password": "hunter2Blue77"}}}, {"extra": {"db_password": "hunter2Blue77"}},
    ],
)  # fmt: skip
def test_no_secret_is_in_any_object_of_an_import(kb: KnowledgeBase, root: Path, more: dict[str, object]) -> None:
    secret = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
    filled = json.loads(json.dumps(more).replace("{}", secret))
    filled = {key: tuple(value) if isinstance(value, list) else value for key, value in filled.items()}
    (verdict,) = kb.import_records([a("D001", "One", **filled)], origin="a test")
    assert verdict.verdict == "created" and any("masked" in reason for reason in verdict.reasons)
    kb.close()
    below = texts_below(root)
    assert secret.encode() not in below and b"hunter2Blue77" not in below and b"[redacted:" in below


# -- one commit, once -----------------------------------------------------------------------------


def test_everything_is_one_commit_and_a_second_time_changes_nothing(kb: KnowledgeBase, root: Path) -> None:
    records = [a(f"D{n:03d}", f"Decision number {n}", user="- a # note\n") for n in range(1, 31)]
    records += [a("", "Without a number"), a("D031", "The key sk_live_4eC39HqLyjWDarjtT1zdp7dc")]
    first = bring(kb, *records)
    assert {word for word, _ in first} == {"created"}
    assert git(root, "rev-list", "--count", "HEAD").strip() == "2"
    assert bring(kb, *records) == [("unchanged", id) for _, id in first]
    assert bring(kb, *records[::-1]) == [("unchanged", id) for _, id in first[::-1]]
    assert git(root, "rev-list", "--count", "HEAD").strip() == "2"
    assert git(root, "status", "--porcelain") == ""


def test_two_records_of_one_title_stay_two_and_are_both_known_again(kb: KnowledgeBase) -> None:
    other = a("D002", "One")._replace(sections=(Section("decision", "Decision", "Something else"),))
    assert bring(kb, a("D001", "One"), other) == [("created", "D001"), ("created", "D002")]
    assert bring(kb, a("D001", "One"), other) == [("unchanged", "D001"), ("unchanged", "D002")]


def test_a_dry_run_says_the_same_and_writes_nothing(kb: KnowledgeBase, root: Path) -> None:
    records = [a("D001", "One"), a("", "Two")]
    told = kb.import_records(records, origin="a test", dry_run=True)
    assert kb.records() == []
    assert git(root, "rev-list", "--count", "HEAD").strip() == "1"
    assert bring(kb, *records) == [(v.verdict, v.id) for v in told]


def test_what_was_imported_is_found_at_once(kb: KnowledgeBase) -> None:
    bring(kb, a("D001", "消息队列使用 Kafka"))
    assert [answer.record.id for answer in kb.recall("队列")] == ["D001"]


def test_progress_counts_every_record(kb: KnowledgeBase) -> None:
    seen: list[int] = []
    kb.import_records([a("", f"Decision number {n}") for n in range(5)], origin="a test", progress=seen.append)
    assert seen == [1, 2, 3, 4, 5]


def test_a_thousand_records_take_seconds(kb: KnowledgeBase) -> None:
    records = [a(f"D{n:03d}", f"Decision number {n} about part {n * 7919 % 1000}") for n in range(1, 1001)]
    start = time.monotonic()
    bring(kb, *records)
    assert time.monotonic() - start < 30
    assert len(kb.records()) == 1000


# -- kb import adr --------------------------------------------------------------------------------


def test_adrs_keep_number_date_status_and_links(root: Path, adrs: Path) -> None:
    ran = run(root, "import", "adr", str(adrs), "--json")
    value = json.loads(ran.out)
    assert ran.code == 0
    assert [v["verdict"] for v in value["verdicts"]] == ["created"] * 3
    assert [(s["path"], bool(s["reason"])) for s in value["skipped"]] == [("adr/README.md", True)]
    records = {r["id"]: r for r in json.loads(run(root, "list", "--json").out)}
    assert {id: (r["status"], r["date"]) for id, r in records.items()} == {
        "D001": ("accepted", "2024-02-02"), "D002": ("superseded", "2024-02-03"), "D003": ("accepted", "2024-02-04"),
    }  # fmt: skip
    assert records["D003"]["supersedes"] == ["D002"]
    assert records["D003"]["sources"] == ["adr/0003-use-postgresql.md"]
    assert "superseded" not in run(root, "check").out


def test_bad_files_are_named_and_the_others_go_on(root: Path, adrs: Path) -> None:
    (adrs / "0004-binary.md").write_bytes(b"# 4. A\0B\n")
    (adrs / "0005-latin.md").write_bytes("# 5. Café\n".encode("latin-1"))
    (adrs / "0006-empty.md").write_bytes(b"")
    (adrs / "0007-front.md").write_text("---\na: [\n---\n# 7. Broken front\n")
    (adrs / "0008-large.md").write_bytes(b"# 8. Large\n" + b"x" * 5_000_000)
    os.mkfifo(adrs / "0009-pipe.md")
    os.symlink("/nowhere", adrs / "0010-dangling.md")
    (adrs / ".hidden.md").write_text(nygard(11, "Hidden"))
    (adrs / "note.txt").write_text(nygard(12, "No markdown"))
    ran = run(root, "import", "adr", str(adrs))
    assert ran.code == 0
    assert len(ran.out.splitlines()) == 3
    for name in (
        "0004-binary",
        "0005-latin.md:1",
        "0006-empty",
        "0007-front",
        "0008-large",
        "0009-pipe",
        "0010-dangling",
    ):
        assert f"adr/{name}" in ran.error
    assert "hidden" not in ran.error


def test_a_folder_without_any_record_is_a_failure(root: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert run(root, "import", "adr", str(tmp_path / "empty")).code == 1


def test_a_project_is_named_by_option_or_by_the_folder_one_works_in(root: Path, adrs: Path, tmp_path: Path) -> None:
    run(root, "import", "adr", str(adrs), "--project", "shop")
    assert {r["scope"] for r in json.loads(run(root, "list", "--json").out)} == {"project/shop"}
    code = tmp_path / "billing"
    code.mkdir()
    git(code, "init", "-q")
    run(code, "--kb", str(root), "import", "adr", str(adrs))
    assert {r["scope"] for r in json.loads(run(root, "list", "--json").out)} == {"project/shop", "project/billing"}
    assert run(root, "import", "adr", str(adrs), "--scope", "project/../x").code == 2


# -- kb import wukong, kb export wukong -----------------------------------------------------------

ANCHORS = """# 锚点

## [D001] 使用 JWT 做认证

**状态**: ✅ 生效
**日期**: 2024-01-15

### 决策
接口统一用 JWT 认证

### 影响范围
- `src/auth/`: 登录

---

## [C001] 密码不得明文存储

**状态**: ⚠️ 待验证
**日期**: 2024-01-16

### 决策
密码必须加盐哈希，参见 [D001]

---

## [D002] 会话存放在 Redis

**状态**: ❌ 已废弃
**日期**: 2024-01-17

### 决策
会话存放在 Redis 中
"""


def test_a_single_file_comes_back_byte_for_byte(root: Path, tmp_path: Path) -> None:
    (root / "kb.toml").write_text('language = "zh"\n')
    source, out = tmp_path / "anchors.md", tmp_path / "out.md"
    source.write_text(ANCHORS, encoding="utf-8")
    assert run(root, "import", "wukong", str(source)).code == 0
    assert run(root, "export", "wukong", "-o", str(out)).code == 0
    assert out.read_text(encoding="utf-8") == ANCHORS
    assert run(root, "export", "wukong").out == ANCHORS
    assert all(r["sources"] == [] for r in json.loads(run(root, "list", "--json").out))
    again = json.loads(run(root, "import", "wukong", str(out), "--json").out)
    assert [v["verdict"] for v in again["verdicts"]] == ["unchanged"] * 3


def test_records_of_our_own_come_back_equal_from_an_export(root: Path, tmp_path: Path, empty_kb: Path) -> None:
    for number, scope in ((1, "global"), (2, "project/shop")):
        run(root, "write", "--kind", "decision", "--title", f"Use PostgreSQL for orders of kind {number}", "--decision",
            "Orders live in PostgreSQL\n\n## A heading\n\n```\n## [D009] no anchor\n```", "--why",
            "- one\n- two | three", "--claim", f"orders.store{number}=PostgreSQL", "--tag", "db",
            "--impact", "src/orders/", "--scope", scope, "--area", "architecture")  # fmt: skip
    out = tmp_path / "out.md"
    run(root, "export", "wukong", "-o", str(out))
    (root / ".kb" / "index.db").unlink()
    before = json.loads(run(root, "list", "--json").out)
    import shutil

    fresh = tmp_path / "fresh"
    shutil.copytree(empty_kb, fresh, symlinks=True)
    assert run(fresh, "import", "wukong", str(out)).code == 0
    after = json.loads(run(fresh, "list", "--json").out)
    for record in (*before, *after):
        del record["uid"]
    assert after == before


def test_a_file_that_names_a_scope_outside_is_refused(root: Path, tmp_path: Path) -> None:
    source = tmp_path / "anchors.md"
    source.write_text("## [D001] One\n\n**Scope**: project/../../../out\n\n### Decision\nOne\n")
    assert run(root, "import", "wukong", str(source)).code == 3
    assert not list(tmp_path.rglob("*one.md"))


def test_an_export_that_cannot_be_written_is_said(root: Path, tmp_path: Path) -> None:
    ran = run(root, "export", "wukong", "-o", str(tmp_path))
    assert ran.code == 1
    assert str(tmp_path) in ran.error


def test_a_path_in_the_place_of_a_format_is_answered_with_the_command(root: Path, adrs: Path, tmp_path: Path) -> None:
    ran = run(root, "import", str(adrs))
    assert ran.code == 2 and f"kb import adr {adrs}" in ran.error
    assert f"kb import adr {adrs}/0002-use-mysql.md" in run(root, "import", f"{adrs}/0002-use-mysql.md").error
    (tmp_path / "out.json").write_text("[]")
    assert "kb import json" in run(root, "import", str(tmp_path / "out.json")).error
    (tmp_path / "empty").mkdir()
    assert "kb import adr" not in run(root, "import", str(tmp_path / "empty")).error
    assert "no command nothing" in run(root, "import", "nothing").error
