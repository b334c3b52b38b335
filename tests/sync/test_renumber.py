"""New numbers for records that are merged already, and the texts that speak of them."""

import json
from pathlib import Path

import pytest

from kb.errors import NeedsPerson, UnknownId
from kb.knowledge_base import KnowledgeBase
from kb.merge.renumbering import IdRenaming, find_text_scope, rename_path, update_citations, update_references
from kb.sync.repair import renumber_records
from tests.support.clones import seen
from tests.support.command_line import run
from tests.support.sealed import git
from tests.support.team import FIXTURES, Team, by_hand, ids, log, thought, written

base, team = FIXTURES


def twins(team: Team, *, squash: bool = False) -> KnowledgeBase:
    """Return a clone in which git alone has merged two lines that both took D001, as the button of a code host does."""
    ann, bob = team.clone("ann"), team.clone("bob")
    written(ann, thought(1), thought(2, "As [D001] says."))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bob, "now", lambda: ann.now() + 86_400)
        written(bob, thought(3, scope="global"))
        written(
            bob, thought(4, "如 [global:D001] 所说，不是 `[D001]`。", scope="project/店铺"), thought(5, "See [D001].")
        )
    git(ann.root, "fetch", "-q", bob.root, "main")
    git(ann.root, "merge", "-q", *(["--squash"] if squash else ["--no-edit"]), "FETCH_HEAD")
    if squash:
        by_hand(ann, "Take it (#1)")
    return ann


@pytest.mark.parametrize("squash", [False, True], ids=["merge", "squash"])
def test_the_younger_gives_way_and_history_tells_who_is_meant(team: Team, squash: bool) -> None:
    kb = twins(team, squash=squash)
    assert any(finding.rule == "duplicate-id" for finding in kb.check())
    head = git(kb.root, "rev-parse", "HEAD").strip()
    done = renumber_records(kb)
    assert sorted((one.old, one.new, one.title) for one in done.renumbered) == [
        ("D001", "D003", thought(3).title), ("D002", "D004", thought(5).title),
    ]  # fmt: skip
    texts = {record.title: kb.text(record) for record in kb.records()}
    assert "As [D001] says." in texts[thought(2).title] and "aliases: [D001]" in texts[thought(3).title]
    assert "如 [global:D003] 所说，不是 `[D001]`。" in texts[thought(4).title]
    assert "See [D003]." in texts[thought(5).title]
    assert log(kb, "%H", "HEAD^") == [head] or git(kb.root, "rev-parse", "HEAD^").strip() == head
    assert git(kb.root, "log", "-1", "--format=%(trailers:key=Kb-Op,valueonly)").strip() == "renumbered"
    assert [f for f in kb.check() if f.severity == "error"] == [] and git(kb.root, "status", "--porcelain") == ""
    assert renumber_records(kb).renumbered == () and git(kb.root, "rev-parse", "HEAD^").strip() == head


def test_links_by_the_old_number_lead_on(team: Team) -> None:
    kb = team.clone("ann")
    written(kb, thought(1), thought(2))
    for old, new in (("D001", "D101"), ("D002", "D102")):
        path = Path(kb.root, kb.record(old).path)
        text = path.read_text("utf-8").replace(f"id: {old}\n", f"id: {new}\naliases: [{old}]\n")
        path.write_text(text.replace(f"# [{old}]", f"# [{new}]"), "utf-8")
    written(kb, thought(3, "As [D001] says."))
    citing = next(record.id for record in kb.records() if record.title == thought(3).title)
    told = [(link.relation, link.outward, link.name, link.title) for link in kb.refs(citing)]
    assert ("cites", True, "D001", thought(1).title) in told
    assert [(link.outward, link.title) for link in kb.refs("D101")] == [(False, thought(3).title)]
    assert [link for link in kb.refs("D102") if link.relation == "cites"] == []


def test_a_dry_run_changes_nothing(team: Team) -> None:
    kb = twins(team)
    head, before = git(kb.root, "rev-parse", "HEAD"), seen(Path(kb.root))
    assert (
        len(renumber_records(kb, dry_run=True).renumbered) == 2
        and len(renumber_records(kb, dry_run=True).followed) == 2
    )
    assert git(kb.root, "rev-parse", "HEAD") == head and seen(Path(kb.root)) == before
    assert {one.new for one in renumber_records(kb).renumbered} == {"D003", "D004"}


def test_only_one_scope_or_one_number(team: Team) -> None:
    kb = twins(team)
    assert renumber_records(kb, scope="project/店铺").renumbered == ()
    (one,) = renumber_records(kb, "D002").renumbered
    assert (one.title, one.new) == (thought(5).title, "D003")
    assert [one.old for one in renumber_records(kb, scope="global").renumbered] == ["D001"]


def test_what_is_not_clear_stays_and_is_named(team: Team) -> None:
    kb = twins(team)
    written(kb, thought(7, "Both say [D001]."))
    done = renumber_records(kb, "D001")
    (unclear,) = done.unclear
    assert unclear == (kb.record(ids(kb)[thought(7).title]).path, "D001")
    assert "Both say [D001]." in kb.text(kb.record(ids(kb)[thought(7).title]))


def test_one_record_by_name(kb: KnowledgeBase, root: Path) -> None:
    written(kb, thought(1), thought(2, "See [D001]."), thought(3, "And [D001].", supersedes=("D001",)))
    ran = run(root, "renumber", "[D001]")
    assert ran.code == 0 and f"[D001] is [D004] now: {thought(1).title}" in ran.out and "citations follow" in ran.error
    assert kb.record("D001").id == "D004", "by its alias"
    assert kb.record("D003").supersedes == ("D004",) and "See [D004]." in kb.text(kb.record("D002"))
    again = json.loads(run(root, "renumber", "D004", "--json").out)
    assert [one["new"] for one in again["renumbered"]] == ["D005"]
    assert "aliases: [D001, D004]" in kb.text(kb.record("D005"))
    assert run(root, "renumber", "D009").code == 1 and "没有" not in run(root, "renumber").out
    with pytest.raises(UnknownId):
        renumber_records(kb, "D002", scope="project/shop")
    (root / "kb.toml").write_text('language = "zh"\n')
    assert "没有重复的编号" in run(root, "renumber").out
    assert [f for f in kb.check() if f.severity == "error"] == []


def test_a_persons_edit_of_the_record_is_in_the_way(kb: KnowledgeBase, root: Path) -> None:
    written(kb, thought(1), thought(2))
    path = root / kb.record("D001").path
    path.write_text(path.read_text().replace("<!-- USER_BLOCK_START -->\n", "<!-- USER_BLOCK_START -->\nmine\n"))
    before = seen(root)
    with pytest.raises(NeedsPerson, match="not committed"):
        renumber_records(kb, "D001")
    assert seen(root) == before and "mine" in path.read_text()


# -- texts ----------------------------------------------------------------------------------------

CITED = [
    ("[D001]", "[D9]"), ("见[D001]。", "见[D9]。"), ("[shop:D001] [D001]", "[shop:D8] [D9]"),
    ("`[D001]` [D001] `` [D001] ``", "`[D001]` [D9] `` [D001] ``"), ("[D001](x) [D001]", "[D001](x) [D9]"),
    ("[D001][D001]", "[D9][D9]"), ("\\[D001] [D001]", "\\[D001] [D9]"), ("[D0011] [D01]", "[D0011] [D01]"),
    ("```\n[D001]\n```\n[D001]\n", "```\n[D001]\n```\n[D9]\n"), ("    [D001]\n\n[D001]\n", "    [D001]\n\n[D9]\n"),
    ("# [D001] Title\n\n[D001]\r\n", "# [D001] Title\n\n[D9]\r\n"), ("[D001]: x\n\n[D001]", "[D001]: x\n\n[D9]"),
    ("![D001] and [D001]", "![D001] and [D9]"), ("---\nid: D001\n---\n[D001]", "---\nid: D001\n---\n[D9]"), ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "wanted"), CITED)
def test_citations_and_nothing_else(text: str, wanted: str) -> None:
    new = {("", "D001"): "D9", ("shop", "D001"): "D8"}
    assert update_citations(text, lambda project, record_id: new.get((project, record_id), "")) == wanted


def test_what_a_commit_says_follows() -> None:
    ids = {("global", "D002"): "D005", ("global", "D001"): "D004"}
    renaming = IdRenaming(ids, {"content/anchors/global/D002-a.md": "content/x/D005-a.md"})
    words = "Replace\n\nKb-Op: review\nKb-Path: content/anchors/global/D002-a.md\nKb-Against: D001,D003\n"
    assert (
        renaming.map_message(words) == "Replace\n\nKb-Op: review\nKb-Path: content/x/D005-a.md\nKb-Against: D004,D003\n"
    )
    assert renaming.map_message("Kb-Against: D001\n") == "Kb-Against: D001\n", "of which scope is not said"
    assert rename_path("a/D001-统一.md", "D012") == "a/D012-统一.md"


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ("content/anchors/global/D001-a.md", "global"), ("content/anchors/projects/店铺/D001-a.md", "project/店铺"),
        ("content/sessions/my-shop-20261121-101010-abcdef12/compact.md", "project/my-shop"),
        ("content/sessions/global-20261121-101010-abcdef12/compact.md", "global"), ("docs/anchors/global/D001.md", ""),
        ("content/anchors/projects/shop/project.json", ""), ("content/sessions/shop/compact.md", ""),
    ],
)  # fmt: skip
def test_from_where_a_text_speaks(path: str, scope: str) -> None:
    assert find_text_scope(path) == scope


def test_what_the_front_refers_to_follows_and_the_rest_stays() -> None:
    text = (
        "---\r\nid: D001\r\nsupersedes: [D001, D002] # old ones\r\namends: shop:D001\r\n"
        "coexists_with: {D001: both hold}\r\nmine: [D001]\r\n---\r\nbody\r\n"
    )
    wanted = text.replace("[D001, D002]", "[D009, D002]").replace("shop:D001", "shop:D008", 1).replace("{D001", "{D009")
    new = {("", "D001"): "D009", ("shop", "D001"): "D008"}
    found = update_references(text, "x.md", lambda project, record_id: new.get((project, record_id), ""), None)
    assert found.replace('"shop:D008"', "shop:D008") == wanted
