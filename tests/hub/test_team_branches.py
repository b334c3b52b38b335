"""Writes: they become a branch in the team's repository with the caller as its author, or a patch; never more."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from starlette.testclient import TestClient

from kb.errors import BadInput
from kb.organisation.hub import Hub
from kb.organisation.team_branches import TeamRepository, propose_candidates
from kb.records.model import Candidate
from tests.hub.conftest import ALPHA, BETA, ORDER, identity
from tests.support.hub_world import build_server, call_in_process, open_hub, write_config, write_team
from tests.support.identity import Issuer, run_issuer
from tests.support.sealed import git

DECISION: dict[str, Any] = {
    "kind": "decision",
    "title": "Use Kafka between order and invoice",
    "decision": "Orders reach invoicing over Kafka.",
    "why": "Invoicing may be down for an hour.",
    "alternatives": "HTTP with retries.",
    "impact": ["src/events.py"],
    "verification": "pytest tests/events",
    "rollback": "Call invoicing over HTTP.",
    "impact_areas": ["architecture"],
}
CONTRARY = {
    **DECISION,
    "title": "Keep card data for 30 days",
    "decision": "Card data is kept for 30 days, not 90 days.",
    "supersedes": ["D001"],
}


class Teams(NamedTuple):
    """Two teams, of whose repositories the hub pushes to alpha's."""

    top: Path
    hub: Hub
    issuer: Issuer
    client: TestClient


@pytest.fixture
def teams(tmp_path: Path) -> Iterator[Teams]:
    for name, records in (("alpha", ALPHA), ("beta", BETA)):
        write_team(tmp_path / name, records)
        git(tmp_path / name, "config", "receive.denyCurrentBranch", "refuse")
    with run_issuer() as issuer:
        tables = identity(issuer) + '[write]\npush = ["alpha"]\n'
        path = write_config(tmp_path, {"alpha": ["a"], "beta": ["b"]}, tables)
        with open_hub(path) as hub, call_in_process(build_server(hub), issuer.make_token(groups=["a", "b"])) as client:
            yield Teams(tmp_path, hub, issuer, client)


def propose(teams: Teams, team: str, *candidates: dict[str, Any], **more: Any) -> Any:
    path = f"/api/v1/repositories/{team}/proposals"
    answer = teams.client.post(path, json={"candidates": list(candidates), **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_what_is_handed_in_becomes_a_branch_with_the_caller_as_author(teams: Teams) -> None:
    before = git(teams.top / "alpha", "rev-parse", "main")
    made = propose(teams, "alpha", DECISION)
    [verdict], [branch] = made["verdicts"], made["branches"]
    assert verdict["verdict"] == "created" and verdict["id"] == "D002" and verdict["scope"] == "global"
    assert branch["name"].startswith("kb/write/D002-use-kafka-") and branch["is_pushed"] and branch["patch"] == ""
    who = git(teams.top / "alpha", "log", "-1", "--format=%an <%ae> by %cn", branch["name"])
    assert who.strip() == "Zoë Chen <zoe@example.com> by kb hub"
    assert git(teams.top / "alpha", "diff", "--name-only", f"main..{branch['name']}").strip() == verdict["path"]
    assert git(teams.top / "alpha", "rev-parse", "main") == before, "a person merges it"


def test_the_index_changes_only_when_the_branch_is_merged_and_fetched(teams: Teams) -> None:
    made = propose(teams, "alpha", DECISION)
    teams.hub.sync(["alpha"])
    assert teams.client.get("/api/v1/search?query=Kafka").json()["answers"] == []
    git(teams.top / "alpha", "merge", "-q", "--no-edit", made["branches"][0]["name"])
    teams.hub.sync(["alpha"])
    assert teams.client.get("/api/v1/search?query=Kafka").json()["answers"][0]["name"] == "alpha:D002"


def test_where_the_hub_may_not_push_it_hands_back_a_patch(teams: Teams, tmp_path: Path) -> None:
    [branch] = propose(teams, "beta", DECISION)["branches"]
    assert not branch["is_pushed"] and branch["patch"].startswith("From ")
    assert git(teams.top / "beta", "branch", "--list", "kb/*") == ""
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(teams.top / "beta"), str(clone))
    subprocess.run(["git", "-C", clone, "am", "-q"], input=branch["patch"].encode(), check=True)
    assert git(clone, "log", "-1", "--format=%an <%ae>").strip() == "Zoë Chen <zoe@example.com>"
    [path] = (clone / "content/anchors/global").glob("D002-*")
    assert "Kafka" in path.read_text("utf-8")


def test_what_contradicts_a_decision_becomes_a_review(teams: Teams) -> None:
    made = propose(teams, "alpha", CONTRARY)
    [verdict], [branch] = made["verdicts"], made["branches"]
    assert verdict["verdict"] == "conflict" and "a person of the team" in verdict["next"]
    assert branch["name"].startswith("kb/review/") and branch["is_pushed"]
    assert "status: superseded" in git(teams.top / "alpha", "diff", f"main..{branch['name']}")


def list_branches(teams: Teams, team: str = "alpha") -> list[str]:
    return git(teams.top / team, "for-each-ref", "--format=%(refname:short)", "refs/heads/kb").split()


def test_a_contradiction_that_is_proposed_twice_has_one_review(teams: Teams) -> None:
    """Two callers, of whom the second knows nothing of the first: the mirror itself has the branch of main alone."""
    [first] = propose(teams, "alpha", CONTRARY)["branches"]
    again = propose(teams, "alpha", CONTRARY)
    assert again["verdicts"][0]["verdict"] == "conflict" and again["verdicts"][0]["branch"] == first["name"]
    [branch] = again["branches"]
    assert (branch["name"], branch["is_new"], branch["is_pushed"]) == (first["name"], False, True)
    assert list_branches(teams) == [first["name"]]
    other = {**CONTRARY, "title": "Keep card data for 7 days", "decision": "Card data is kept for 7 days, not 90 days."}
    [third] = propose(teams, "alpha", other)["branches"]
    assert third["is_new"] and list_branches(teams) == sorted([first["name"], third["name"]])


def test_what_a_second_caller_knows_besides_comes_onto_the_same_review(teams: Teams) -> None:
    [first] = propose(teams, "alpha", {key: value for key, value in CONTRARY.items() if key != "rollback"})["branches"]
    [again] = propose(teams, "alpha", {**CONTRARY, "rollback": "Restore the nightly dump."})["branches"]
    assert again["name"] == first["name"] and not again["is_new"] and again["is_pushed"]
    assert "nightly dump" in git(teams.top / "alpha", "show", again["name"])
    assert list_branches(teams) == [first["name"]]


def test_a_review_that_was_rejected_is_not_opened_again(teams: Teams) -> None:
    [first] = propose(teams, "alpha", CONTRARY)["branches"]
    git(teams.top / "alpha", "update-ref", "refs/kb/rejected/D002", first["name"])
    git(teams.top / "alpha", "branch", "-qD", first["name"])
    made = propose(teams, "alpha", CONTRARY)
    assert made["verdicts"][0]["verdict"] == "refused" and made["branches"] == []


def test_a_record_that_waits_to_be_merged_is_not_proposed_again(teams: Teams) -> None:
    [first] = propose(teams, "alpha", DECISION)["branches"]
    again = propose(teams, "alpha", {**DECISION, "title": "Use Kafka between the order and the invoice"})
    [verdict], [branch] = again["verdicts"], again["branches"]
    assert (verdict["verdict"], verdict["id"], verdict["branch"]) == ("unchanged", "D002", first["name"])
    assert "proposed already" in verdict["reasons"][0] and "merges the branch" in verdict["next"]
    assert (branch["name"], branch["is_new"]) == (first["name"], False)
    assert list_branches(teams) == [first["name"]]
    git(teams.top / "alpha", "merge", "-q", "--no-edit", first["name"])
    teams.hub.sync(["alpha"])
    merged = propose(teams, "alpha", DECISION)
    assert merged["verdicts"][0]["verdict"] == "unchanged" and merged["branches"] == []


def test_a_review_that_is_opened_meanwhile_is_found_by_a_second_look(
    teams: Teams, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both have looked before either has pushed: the second push loses the race and looks again."""
    real, calls = teams.hub.fetch_proposals, 0

    def fetch(name: str) -> None:
        nonlocal calls
        calls += 1
        if calls > 1:
            real(name)

    [first] = propose(teams, "alpha", CONTRARY)["branches"]
    monkeypatch.setattr(teams.hub, "fetch_proposals", fetch)
    [branch] = propose(teams, "alpha", CONTRARY)["branches"]
    assert (calls, branch["name"], branch["is_new"]) == (2, first["name"], False)


def test_judging_alone_makes_nothing(teams: Teams) -> None:
    made = propose(teams, "alpha", DECISION, dry_run=True)
    assert made["verdicts"][0]["verdict"] == "created" and made["branches"] == []
    assert git(teams.top / "alpha", "branch", "--list", "kb/*") == ""


HELD = {"kind": "decision", "title": "Paint the button blue", "decision": "It is blue."}
TOKEN = "ghp_" + "a1B2c3D4e5" * 3 + "f6G7h8"


def test_what_the_gate_holds_is_handed_back_and_kept_nowhere(teams: Teams) -> None:
    made = propose(teams, "alpha", {**HELD, "why": f"The token {TOKEN} said so."})
    [verdict] = made["verdicts"]
    assert verdict["verdict"] == "held" and made["branches"] == [] and verdict["reasons"]
    assert verdict["candidate"]["title"] == HELD["title"] and verdict["candidate"]["scope"] == "global"
    assert TOKEN not in str(made) and "propose_held" in verdict["next"]
    assert git(teams.top / "alpha", "for-each-ref", "refs/kb") == "" and list_branches(teams) == []
    done = {key: DECISION[key] for key in ("why", "alternatives", "impact", "impact_areas")}
    completed = propose(teams, "alpha", {**verdict["candidate"], **done})
    assert completed["verdicts"][0]["verdict"] == "created", "what comes back can be completed and handed in"


def test_what_the_gate_holds_can_be_proposed_with_its_remarks(teams: Teams) -> None:
    made = propose(teams, "alpha", DECISION, HELD, propose_held=True)
    [first, verdict] = made["verdicts"]
    assert [first["verdict"], verdict["verdict"], verdict["candidate"]] == ["created", "created", None]
    [other, branch] = made["branches"]
    assert branch["name"] == verdict["branch"] and branch["name"].startswith("kb/write/") and branch["is_pushed"]
    said = git(teams.top / "alpha", "log", "-1", "--format=%B", branch["name"])
    assert "The gate would have held this:" in said and branch["remarks"] in said and "Kb-Op: " in said
    assert git(teams.top / "alpha", "log", "-1", "--format=%an", branch["name"]).strip() == "Zoë Chen"
    changed = git(teams.top / "alpha", "diff", "--name-only", f"main...{branch['name']}").split()
    assert changed == [verdict["path"]], "what was let through is on a branch of its own"
    assert other["remarks"] == ""


def test_what_gives_orders_waits_on_no_branch(teams: Teams) -> None:
    made = propose(teams, "alpha", {**DECISION, "why": ORDER}, propose_held=True)
    assert made["verdicts"][0]["verdict"] == "held" and made["branches"] == [] and list_branches(teams) == []


def test_a_remote_that_refuses_is_quoted_and_the_patch_handed_back(teams: Teams) -> None:
    hook = teams.top / "alpha/.git/hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho branches are closed on Fridays >&2\nexit 1\n")
    hook.chmod(0o755)
    [branch] = propose(teams, "alpha", DECISION)["branches"]
    assert not branch["is_pushed"] and "closed on Fridays" in branch["problem"] and "Kafka" in branch["patch"]


def test_what_cannot_be_a_candidate_is_refused_in_words(teams: Teams) -> None:
    path = "/api/v1/repositories/alpha/proposals"
    for body in ({"candidates": [{"kind": "decision"}]}, {"candidates": 3}, {}, {"candidates": [DECISION] * 21}, []):
        answer = teams.client.post(path, json=body)
        assert answer.status_code == 400, answer.text
    assert teams.client.post(path, content=b"{" * 100_000).status_code == 400


@pytest.fixture
def mirror(tmp_path: Path) -> TeamRepository:
    """The mirror of a team's repository, made by hand."""
    write_team(tmp_path / "team", ALPHA[:1])
    git(tmp_path, "clone", "-q", "--mirror", str(tmp_path / "team"), str(tmp_path / "mirror.git"))
    return TeamRepository("team", str(tmp_path / "mirror.git"), git(tmp_path / "team", "rev-parse", "main").strip())


CANDIDATE = Candidate(**{key: tuple(value) if isinstance(value, list) else value for key, value in DECISION.items()})


def test_the_name_of_an_author_cannot_leave_its_place(mirror: TeamRepository) -> None:
    author = ("Eve <root@host>\nKb-Op: accepted\0", "eve@example.com>\nx")
    [branch] = propose_candidates(mirror, [CANDIDATE], author, os.environ).branches
    head = branch.patch.partition("\n\n")[0]
    assert 'From: "Eve root@host Kb-Op: accepted" <eve@example.com x>' in head and "\nKb-Op: accepted" not in head


def test_a_malicious_repository_leads_the_gate_nowhere(tmp_path: Path, mirror: TeamRepository) -> None:
    """Links, names that leave the folder, and drivers that run programs: none of them is laid out or run."""
    team, outside = tmp_path / "team", tmp_path / "outside"
    outside.mkdir()
    (team / "content/anchors/global/D050-link.md").symlink_to("/etc/passwd")
    (team / "content/link").symlink_to(outside)
    (team / "content/.gitattributes").write_text("*.md filter=evil diff=evil\n")
    (team / ".gitmodules").write_text('[submodule "x"]\n\tpath = x\n\turl = ext::sh -c "touch pwned"\n')
    git(team, "add", "-A")
    git(team, "commit", "-qm", "Evil")
    git(tmp_path / "mirror.git", "config", "core.fsmonitor", f"touch {outside}/pwned")
    git(tmp_path / "mirror.git", "config", "uploadpack.packObjectsHook", f"touch {outside}/pwned")
    git(tmp_path / "mirror.git", "fetch", "-q", str(team), "+main:main")
    tip = git(team, "rev-parse", "main").strip()
    made = propose_candidates(mirror._replace(tip=tip), [CANDIDATE], ("Zoë", "zoe@example.com"), os.environ)
    assert made.verdicts[0].verdict == "created" and list(outside.iterdir()) == []
    assert "root:" not in made.branches[0].patch


def test_a_tree_that_leaves_its_folder_is_not_laid_out(tmp_path: Path, mirror: TeamRepository) -> None:
    """Path traversal by names that no checkout has: `..` and `.git`."""
    bare = tmp_path / "mirror.git"

    def store_tree(*rows: tuple[str, str, str]) -> str:
        data = b"".join(f"{mode} {name}\0".encode() + bytes.fromhex(oid) for mode, name, oid in rows)
        words = ["git", "-C", bare, "hash-object", "-t", "tree", "-w", "--stdin", "--literally"]
        return subprocess.run(words, input=data, capture_output=True, check=True).stdout.decode().strip()

    blob = git(bare, "rev-parse", f"{mirror.tip}:kb.toml").strip()
    evil = store_tree(("100644", "pwned.md", blob))
    content = store_tree(("40000", "..", evil), ("40000", ".git", evil))
    top = store_tree(("40000", "content", content), ("100644", "kb.toml", blob))
    tip = git(bare, "commit-tree", "-m", "Evil", top).strip()
    author = ("Zoë", "zoe@example.com")
    made = propose_candidates(mirror._replace(tip=tip), [CANDIDATE], author, os.environ, dry_run=True)
    assert made.verdicts and not list(tmp_path.rglob("pwned.md"))


def test_a_repository_that_is_too_large_is_not_laid_out(
    mirror: TeamRepository, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bomb of files or bytes: what is to be written is counted before a byte of it is."""
    monkeypatch.setattr("kb.organisation.team_branches._MAX_FILES", 1)
    write_more = Path(mirror.mirror).parent / "team"
    write_team(write_more, ALPHA)
    git(mirror.mirror, "fetch", "-q", str(write_more), "+main:main")
    tip = git(mirror.mirror, "rev-parse", "main").strip()
    with pytest.raises(BadInput, match="too large"):
        propose_candidates(mirror._replace(tip=tip), [CANDIDATE], ("Zoë", "zoe@example.com"), os.environ)


def test_the_hub_says_nothing_of_its_own_machine(mirror: TeamRepository) -> None:
    environment = {**os.environ, "KB_LLM_CMD": "false", "KB_HUB_DSN": "postgres://secret", "KB_PROJECT": "elsewhere"}
    [branch] = propose_candidates(mirror, [CANDIDATE], ("", ""), environment).branches
    assert "unknown@localhost" in branch.patch and "secret" not in branch.patch and "elsewhere" not in branch.patch
