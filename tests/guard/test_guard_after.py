"""The guard after a call: what really changed in the files that only kb writes, and what is done about it."""

import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from kb.guard import set_aside
from kb.hooks.events import handle_event
from kb.hooks.fast_path import can_skip_event
from kb.hosts import HookResponse
from kb.knowledge_base import KnowledgeBase, make
from kb.state import record_stamps
from tests.guard.test_guard import ENDS, REST, add
from tests.support.sealed import Clock, git

WORDS = "PostgreSQL keeps the orders."


class Agent:
    """An agent with a shell, in a repository with a knowledge base in it."""

    def __init__(self, folder: Path, mode: str) -> None:
        self.folder, self.mode = folder, mode
        self.record = Path()

    def environment(self) -> dict[str, str]:
        return {**os.environ, "MEMORY_BANK_GUARD_MODE": self.mode}

    def hook(self, event: str, command: str = "", session: str = "s1", **more: Any) -> HookResponse:
        payload = {"session_id": session, "cwd": str(self.folder), "tool_name": "Bash",
                   "tool_input": {"command": command}, "tool_response": "", **more}  # fmt: skip
        if can_skip_event(event, payload, str(self.folder)):
            return HookResponse()
        before = dict(os.environ)
        os.environ.update(self.environment())
        try:
            return handle_event(event, payload, str(self.folder))
        finally:
            os.environ.clear()
            os.environ.update(before)

    def run(self, command: str) -> None:
        quick = {**os.environ, "FILTER_BRANCH_SQUELCH_WARNING": "1"}  # else it waits ten seconds to be read
        subprocess.run(["bash", "-c", command], cwd=self.folder, env=quick, capture_output=True, check=False)

    def does(self, command: str, session: str = "s1") -> HookResponse:
        """Make a call as a host does; what is said before it is not looked at."""
        self.hook("PreToolUse", command, session)
        self.run(command)
        return self.hook("PostToolUse", command, session)

    def text(self) -> str:
        return self.record.read_text(encoding="utf-8")

    def branches(self) -> list[str]:
        return [row.strip("* ") for row in git(self.folder, "branch", "--list", "kb/review/*").splitlines()]


@pytest.fixture(scope="module")
def shop(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Agent:
    """A repository with a knowledge base and one record, to be copied."""
    folder = tmp_path_factory.mktemp("base") / "shop"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "README.md").write_text("PostgreSQL\n")
    (folder / "notes.md").write_text("PostgreSQL\n")
    (folder / "memory-bank").mkdir()
    (folder / "memory-bank/MEMORY.md").write_text("PostgreSQL\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Begin")
    made, _ = make(str(folder), os.environ, inside=True)
    agent = Agent(folder, "off")
    with made as kb:
        agent.record = folder / add(kb, "decision", "Use PostgreSQL for orders", decision=WORDS, **REST).path
    return agent


def agent_in(shop: Agent, folder: Path, mode: str) -> Agent:
    """Return an agent at work in a copy of *shop*, which has read the memory there."""
    shutil.copytree(shop.folder, folder, symlinks=True)
    agent = Agent(folder, mode)
    agent.record = folder / shop.record.relative_to(shop.folder)
    agent.does("cat memory-bank/MEMORY.md")
    return agent


@pytest.fixture
def warned(shop: Agent, tmp_path: Path) -> Agent:
    return agent_in(shop, tmp_path / "shop", "warn")


@pytest.fixture
def blocked(shop: Agent, tmp_path: Path) -> Agent:
    return agent_in(shop, tmp_path / "shop", "block")


REPLACE = "git ls-files '*.md' | xargs sed -i s/PostgreSQL/MySQL/g"


def test_a_change_that_no_command_line_tells_is_named_once_and_left(warned: Agent) -> None:
    said = warned.does(REPLACE)
    assert warned.record.name in said.context and "kb write" in said.context and said.message == ""
    assert "MySQL" in warned.text()
    assert warned.does("true") == HookResponse(), "once for a change"
    assert warned.does(f"git restore {warned.record}") == HookResponse(), "what was named may be taken back"


def test_a_change_is_set_aside_whole_and_the_files_are_as_they_were(blocked: Agent) -> None:
    before = blocked.text()
    said = blocked.does(REPLACE)
    assert blocked.text() == before and (blocked.folder / "README.md").read_text() == "MySQL\n"
    [branch] = blocked.branches()
    assert branch in said.context and branch in said.message
    assert "MySQL" in git(blocked.folder, "show", f"{branch}:{blocked.record.relative_to(blocked.folder)}")
    assert "MySQL" in git(blocked.folder, "show", f"{branch}:memory-bank/MEMORY.md")
    assert git(blocked.folder, "status", "--short", "content", "memory-bank") == ""
    with KnowledgeBase(str(blocked.folder), os.environ) as kb:
        [review] = kb.reviews()
        assert review.branch == branch and review.against == ("D001",)
        assert "MySQL" in kb.sides(branch).diff
        assert kb.accept(branch).verdict in ("created", "updated")
    assert "MySQL" in blocked.text()


@pytest.mark.parametrize(
    "command",
    ["rm -r $(ls -d cont*)", "git rm -rq $(ls -d cont*)", "mv cont* elsewhere",
     "for f in $(git ls-files '*.md'); do ln -sf /etc/hostname $f; done", "git ls-files -z '*.md' | xargs -0 gzip",
     REPLACE + " && git commit -qam 'Rename the database'",
     REPLACE + " && git commit -qa --amend --no-edit",
     "git ls-files '*.md' | xargs sed -i s/PostgreSQL/MySQL/g && git add -A"],
    ids=["rm", "git rm", "mv", "link", "gzip", "commit", "amend", "stage"],
)  # fmt: skip
def test_records_come_back_whatever_was_done_to_them(blocked: Agent, command: str) -> None:
    before = blocked.text()
    assert blocked.does(command).context
    assert blocked.text() == before and not blocked.record.is_symlink()
    assert len(blocked.branches()) == 1


LATER = r"""
    find content -name 'D*.md' -delete
    for f in content/anchors/global/D*; do echo x > $f; done
    env -S 'rm -f' RECORD
    cp -t content/anchors/global README.md notes.md
    install -m 644 notes.md RECORD
    echo x > $'\x63ontent/anchors/global/D009-x.md'
    dd if=notes.md of=RECORD status=none
    sort -o RECORD notes.md
    git archive -o x.tar HEAD; rm RECORD.bak; printf x | dd of=RECORD; tar xf x.tar README.md
    a=(README.md RECORD); sed -i s/PostgreSQL/MySQL/ "${a[@]}"
    x() { sed -i s/PostgreSQL/MySQL/ $1; }; x RECORD
    f=${F:-RECORD}; echo x >> ${f%.md}.md
    export f=RECORD && awk -i inplace '{print "x" $0}' $f || gzip -f $f
    python3 -c "import pathlib; pathlib.Path('RECORD').write_text('x')"
    ls content/anchors/*/D* | while read -r f; do echo x > "$f"; done
"""


def test_what_the_reader_of_commands_passes_over_is_found_after(blocked: Agent) -> None:
    before, path = blocked.text(), str(blocked.record.relative_to(blocked.folder))
    passed = [row.strip().replace("RECORD", path) for row in LATER.strip().splitlines()]
    for command in passed:
        blocked.hook("PreToolUse", command)
        blocked.run(command)
        assert "restored" in blocked.hook("PostToolUse", command).context, command
        assert blocked.text() == before, command
    assert len(blocked.branches()) == len(passed)


REWRITE = "git filter-branch -f --tree-filter 'sed -i s/PostgreSQL/MySQL/ cont*/*/*/*.md' HEAD~1..HEAD"


def began(agent: Agent) -> None:
    """Let the call that runs have begun in the second in which the last commit was made."""
    made = int(git(agent.folder, "log", "-1", "--format=%at"))
    os.utime(agent.folder / ".kb/guard/running-s1", ns=(made * 10**9,) * 2)


def test_a_rewritten_commit_is_seen_that_was_about_something_else(blocked: Agent) -> None:
    """The rewritten commit keeps its time, and no earlier commit of that time has touched the record."""
    (blocked.folder / "notes.md").write_text("More\n")
    git(blocked.folder, "commit", "-qam", "Write more notes", "--date=2026-11-21T10:00:00Z")
    before = blocked.text()
    assert "restored" in blocked.does(REWRITE).context and blocked.text() == before


@pytest.mark.parametrize("command", [REWRITE, REPLACE + " && git commit -qa --amend --no-edit"])
def test_a_commit_of_kb_is_seen_that_is_rewritten_in_the_second_in_which_it_was_made(
    blocked: Agent, command: str
) -> None:
    before = blocked.text()
    blocked.hook("PreToolUse", command)
    began(blocked)
    blocked.run(command)
    assert "restored" in blocked.hook("PostToolUse", command).context and blocked.text() == before


@pytest.mark.parametrize(
    "commit",
    ["git commit -qam x --date=2020-01-01T00:00:00Z",
     "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git commit -qam x --date=2020-01-01T00:00:00Z",
     "git commit -qam x --trailer Kb-Op=update"],
    ids=["author", "both", "trailer"],
)  # fmt: skip
def test_a_commit_is_the_agents_whatever_it_says_of_itself(blocked: Agent, commit: str) -> None:
    before = blocked.text()
    assert "restored" in blocked.does(f"{REPLACE} && {commit}").context and blocked.text() == before


def test_kb_writing_and_git_committing_in_one_second_of_one_call_is_no_change(blocked: Agent) -> None:
    command = "kb status D001 deprecated && git commit -qam Notes"
    blocked.hook("PreToolUse", command)
    began(blocked)
    with KnowledgeBase(str(blocked.folder), os.environ) as kb:
        kb.change_status("D001", "deprecated", decided=True)
    blocked.run("echo x >> notes.md; git commit -qam Notes")
    assert blocked.hook("PostToolUse", command) == HookResponse()


def test_a_file_that_an_agent_has_made_among_records_goes_and_is_kept(blocked: Agent) -> None:
    blocked.does("d=$(ls -d cont*); echo new > $d/anchors/global/D002-new.md")
    assert not (blocked.record.parent / "D002-new.md").exists()
    assert git(blocked.folder, "show", f"{blocked.branches()[0]}:content/anchors/global/D002-new.md") == "new\n"


def test_a_secret_stays_off_the_branch_and_the_whole_text_in_the_clone(blocked: Agent) -> None:
    token = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
    said = blocked.does(f"for f in $(git ls-files content | grep D001); do echo 'key {token}' >> $f; done")
    [branch] = blocked.branches()
    path = blocked.record.relative_to(blocked.folder)
    assert token not in git(blocked.folder, "show", f"{branch}:{path}")
    [kept] = git(blocked.folder, "for-each-ref", "--format=%(refname)", "refs/kb/kept").split()
    assert kept in said.context and token in git(blocked.folder, "show", f"{kept}:{path}")


@pytest.mark.parametrize(
    "command",
    [REPLACE + " && git commit -qam x", REPLACE + " && git commit -qa --amend --no-edit",
     "git rm -rq $(ls -d cont*) && git commit -qm x", "cp notes.md $(ls -d cont*)/anchors/new.md && git add . && "
     "git commit -qm x", "git mv $(ls $(ls -d cont*)/*/*/D*) $(ls -d cont*)/anchors/global/D9.md && git commit -qm x"],
    ids=["commit", "amend", "rm", "new", "mv"],
)  # fmt: skip
def test_the_command_is_named_that_undoes_what_was_committed(blocked: Agent, command: str) -> None:
    """The files are put back, the commit is not taken back: until it is undone, git shows records as edited."""
    begin = git(blocked.folder, "rev-parse", "HEAD:content/anchors").strip()
    said = blocked.does(command)
    assert git(blocked.folder, "status", "--short", "content") != ""
    step = said.message.partition("Next, to undo that: ")[2]
    assert step and step in said.context and step.count("\n") == 0
    assert blocked.does(step) == HookResponse(), "the agent may do so itself"
    assert git(blocked.folder, "rev-parse", "HEAD:content/anchors").strip() == begin
    assert git(blocked.folder, "status", "--short", "content/anchors") == ""
    assert "a commit holds" not in blocked.does("sed -i s/keeps/has/ cont*/*/*/D*").message, "the files alone"


def test_undoing_what_was_committed_leaves_a_persons_uncommitted_text(blocked: Agent) -> None:
    blocked.record.write_text(blocked.text() + "\nWritten by a person.\n")
    mine = blocked.text()
    step = blocked.does(REPLACE + " && git commit -qam x").message.partition("Next, to undo that: ")[2]
    assert blocked.text() == mine and blocked.does(step) == HookResponse() and blocked.text() == mine
    path = blocked.record.relative_to(blocked.folder)
    assert "by a person" not in git(blocked.folder, "show", f"HEAD:{path}")
    assert git(blocked.folder, "status", "--short", "content") == f" M {path}\n"


def test_copies_of_uncommitted_text_that_nothing_needs_go_after_ninety_days(blocked: Agent) -> None:
    copies = blocked.folder / ".kb/guard/copies"
    for line in ("First.", "Second."):
        blocked.record.write_text(blocked.text() + f"\n{line}\n")
        blocked.does("true")
    first, second = sorted(copies.iterdir(), key=lambda path: path.stat().st_size)
    for path in (first, second):
        os.utime(path, (time.time() - 91 * 86_400,) * 2)
    blocked.record.write_text(blocked.text() + "\nThird.\n")
    blocked.does("true")
    assert not first.exists() and not second.exists() and len(list(copies.iterdir())) == 1


def test_what_was_kept_goes_after_ninety_days_when_more_is_kept(blocked: Agent, clock: Clock) -> None:
    with KnowledgeBase(str(blocked.folder), os.environ, clock) as kb:
        first = set_aside.save_to_kept_ref(kb, {"a.md": b"first"})
        clock.seconds += 60 * 86_400
        second = set_aside.save_to_kept_ref(kb, {"a.md": b"second"})
        assert kb.repository.list_refs("refs/kb/kept/") == [first, second]
        clock.seconds += 31 * 86_400
        third = set_aside.save_to_kept_ref(kb, {"a.md": b"third"})
        assert kb.repository.list_refs("refs/kb/kept/") == [second, third]


def test_a_persons_uncommitted_text_is_what_is_put_back(blocked: Agent) -> None:
    blocked.record.write_text(blocked.text() + "\nWritten by a person.\n")
    mine = blocked.text()
    blocked.does(REPLACE)
    assert blocked.text() == mine


@pytest.mark.parametrize("mode", ["warn", "block"])
@pytest.mark.parametrize(
    "command", ["git checkout -- .", "git checkout .", "git restore .", "git restore content", "git reset -q --hard",
                "git stash -q"],
)  # fmt: skip
def test_text_that_git_throws_away_is_kept_and_comes_back_by_the_command_that_is_named(
    shop: Agent, tmp_path: Path, mode: str, command: str
) -> None:
    agent = agent_in(shop, tmp_path / "shop", mode)
    agent.record.write_text(agent.text() + "\nWritten by a person.\n")
    mine = agent.text()
    said = agent.does(command)
    assert said.message and said.message in said.context
    agent.run(said.message.partition("Restore it with: ")[2])
    assert agent.text() == mine


def test_what_is_stashed_and_popped_is_no_change(warned: Agent) -> None:
    warned.record.write_text(warned.text() + "\nWritten by a person.\n")
    assert warned.does("git stash -q").context
    assert warned.does("git stash pop -q") == HookResponse()
    assert warned.does("git stash -q; git stash pop -q") == HookResponse()


@pytest.mark.parametrize("command", ["git checkout -q HEAD~1", "git reset -q --hard HEAD~1", "git switch -q -d HEAD~1"])
def test_a_record_that_another_commit_has_not_is_named_and_git_keeps_its_way(blocked: Agent, command: str) -> None:
    said = blocked.does(command)
    assert blocked.record.name in said.context and "are gone" in said.context and not blocked.branches()
    assert not blocked.record.exists()


def test_a_moved_head_is_no_change(blocked: Agent) -> None:
    for command in ("git switch -qc topic", "echo x > a.txt; git add a.txt; git commit -qm A", "git switch -q main",
                    "git merge -q --no-edit topic", "git commit -q --allow-empty -m E", "git rebase -q HEAD~1",
                    "git commit -q --amend -m F"):  # fmt: skip
        assert blocked.does(command) == HookResponse(), command


def test_what_kb_itself_or_a_remote_brings_is_no_change(blocked: Agent, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(blocked.folder), "other")
    with KnowledgeBase(str(tmp_path / "other"), os.environ) as kb:
        add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    pulled = f"git pull -q --no-rebase --no-edit {tmp_path / 'other'} main"
    assert blocked.does(pulled) == HookResponse()
    assert len(list(blocked.record.parent.glob("D*.md"))) == 2
    blocked.hook("PreToolUse", "kb write -")
    with KnowledgeBase(str(blocked.folder), os.environ) as kb:
        add(
            kb, "constraint", "Amounts are integer cents everywhere", decision="Amounts are integers, in cents.", **REST
        )
    assert blocked.hook("PostToolUse", "kb write -") == HookResponse()
    assert len(list(blocked.record.parent.glob("*.md"))) == 3


def test_a_colleagues_commit_by_hand_is_no_change_whatever_way_it_comes(blocked: Agent, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(blocked.folder), "other")
    path = blocked.record.relative_to(blocked.folder)
    (tmp_path / "other" / path).write_text(blocked.text() + "\nBy a colleague.\n")
    git(tmp_path / "other", "commit", "-qam", "Add a line", "--date=2020-01-01T00:00:00Z")
    assert blocked.does(f"git pull -q --no-rebase --no-edit {tmp_path / 'other'} main") == HookResponse()
    assert "By a colleague" in blocked.text() and not blocked.branches()


@pytest.mark.parametrize("by_kb", [True, False])
@pytest.mark.parametrize(
    "command",
    ["git pull -q --rebase THEIRS main", "git pull -q --no-rebase --no-edit THEIRS main",
     "git fetch -q THEIRS main && git rebase -q --apply FETCH_HEAD",
     "git fetch -q THEIRS main && git switch -qd FETCH_HEAD && git cherry-pick main"],
    ids=["rebase", "merge", "apply", "pick"],
)  # fmt: skip
def test_two_changes_of_one_record_that_git_brings_together_are_no_change(
    blocked: Agent, tmp_path: Path, command: str, by_kb: bool
) -> None:
    blocked.record.write_text(blocked.text().replace("\n## ", "\n\n\n\n\n## "))
    git(blocked.folder, "commit", "-qam", "Set blank lines")
    git(tmp_path, "clone", "-q", str(blocked.folder), "other")
    path = blocked.record.relative_to(blocked.folder)
    (tmp_path / "other" / path).write_text(blocked.text().rstrip() + " By a colleague.\n")
    git(tmp_path / "other", "commit", "-qam", "Add a line", "--date=2020-01-01T00:00:00Z")
    blocked.record.write_text(blocked.text().replace(" orders\n", " all orders\n", 1))
    trailer = "\n\nKb-Op: update" if by_kb else ""
    git(blocked.folder, "commit", "-qam", "Say more" + trailer, "--date=2026-11-20T00:00:00Z")
    blocked.does("true")
    assert blocked.does(command.replace("THEIRS", str(tmp_path / "other"))) == HookResponse()
    assert "By a colleague" in blocked.text() and " all orders" in blocked.text() and not blocked.branches()


def test_a_commit_of_an_agent_that_git_rebases_in_the_same_call_is_its_own(blocked: Agent, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(blocked.folder), "other")
    (tmp_path / "other/new.md").write_text("New\n")
    git(tmp_path / "other", "add", ".")
    git(tmp_path / "other", "commit", "-qm", "Add a file")
    before = blocked.text()
    command = f"unset GIT_AUTHOR_DATE GIT_COMMITTER_DATE; {REPLACE} && git commit -qam x && git pull -q --rebase "
    assert "restored" in blocked.does(command + str(tmp_path / "other") + " main").context
    assert blocked.text() == before and (blocked.folder / "new.md").exists()


def test_what_an_agent_puts_into_a_commit_while_git_rebases_is_its_own(blocked: Agent) -> None:
    before = blocked.text()
    (blocked.folder / "notes.md").write_text("More\n")
    git(blocked.folder, "commit", "-qam", "Write more notes", "--date=2026-11-20T00:00:00Z")
    said = blocked.does(f'git rebase -q --exec "{REPLACE}; git commit -qa --amend --no-edit" HEAD~1')
    assert "restored" in said.context and blocked.text() == before


def test_what_a_person_changes_between_two_calls_is_theirs(blocked: Agent) -> None:
    blocked.does("true")
    blocked.record.write_text(blocked.text() + "\nWritten by a person.\n")
    mine = blocked.text()
    assert blocked.does("true") == HookResponse() and blocked.does("make test") == HookResponse()
    assert blocked.text() == mine and not blocked.branches()


@pytest.mark.parametrize("mode", ["warn", "block"])
@pytest.mark.parametrize(
    "command",
    [
        "python3 - <<E\nopen('kb' + '.toml', 'a').write('guard = \"off\"')\nE",
        "python3 -c \"open('risk' + '.yaml','w')\"",
    ],
)
def test_settings_are_put_back_however_they_were_changed(shop: Agent, tmp_path: Path, mode: str, command: str) -> None:
    agent = agent_in(shop, tmp_path / "shop", mode)
    before = (agent.folder / "kb.toml").read_text()
    said = agent.does(command)
    assert (agent.folder / "kb.toml").read_text() == before and not (agent.folder / "risk.yaml").exists()
    assert "ask the person" in said.context and len(agent.branches()) == 1


def test_settings_that_a_person_was_asked_about_stay_as_the_call_left_them(blocked: Agent) -> None:
    command = "echo '# mine' >> kb.toml"
    assert blocked.hook("PreToolUse", command).permission == "ask"
    blocked.run(command)
    assert blocked.hook("PostToolUse", command) == HookResponse()
    assert (blocked.folder / "kb.toml").read_text().endswith("# mine\n")


def test_a_call_that_no_event_ended_is_looked_at_with_the_next(blocked: Agent) -> None:
    before = blocked.text()
    blocked.hook("PreToolUse", REPLACE)
    blocked.run(REPLACE)
    assert blocked.branches() == []
    assert "restored" in blocked.hook("PreToolUse", "true").context and blocked.text() == before
    blocked.hook("PreToolUse", REPLACE)
    blocked.run(REPLACE)
    said = blocked.hook("Stop", transcript_path="")
    assert "restored" in said.message and blocked.text() == before
    assert "restored" in blocked.hook("UserPromptSubmit", prompt="go on").context, "the agent hears it as well"


def test_off_and_direct_compare_nothing(shop: Agent, tmp_path: Path) -> None:
    agent = agent_in(shop, tmp_path / "shop", "off")
    assert agent.does(REPLACE) == HookResponse() and "MySQL" in agent.text()
    agent.mode = "block"
    (agent.folder / "kb.toml").write_text('writer = "direct"\n')
    agent.does("true")
    assert agent.does(REPLACE.replace("PostgreSQL", "MySQL").replace("MySQL/g", "Oracle/g")) == HookResponse()
    assert "Oracle" in agent.text()


def test_in_a_large_base_every_file_is_looked_at_by_the_end_of_the_turn(
    blocked: Agent, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record_stamps, "MOST", 1)
    for number in range(5):
        blocked.record.with_name(f"D10{number}-more.md").write_text(blocked.text())
    git(blocked.folder, "add", ".")
    git(blocked.folder, "commit", "-qm", "More")
    blocked.does("true")
    blocked.hook("PreToolUse", "make format")
    with blocked.record.open("r+") as file:  # in place: no folder shows it
        file.write("+")
    told = blocked.hook("PostToolUse", "make format").context  # by chance
    told += blocked.hook("Stop", transcript_path="").message
    told += blocked.hook("UserPromptSubmit", prompt="go on").context
    assert blocked.record.name in told


def test_that_the_state_of_kb_was_deleted_is_told(blocked: Agent) -> None:
    said = blocked.does("python3 -c \"import shutil; shutil.rmtree('.' + 'kb')\"")
    assert "deleted" in said.context and said.message == said.context
    assert blocked.does("true") == HookResponse()


def large_base(folder: Path, number: int) -> None:
    """Keep a snapshot of *number* files that are not there, as it says."""
    (folder / ".kb/guard").mkdir(parents=True)
    (folder / ".kb/clone").touch()
    (folder / "content").mkdir()
    folders = {"content": record_stamps.FileStamp(record_stamps.compute_stamp(str(folder / "content")))}
    files = {f"content/{n}.md": record_stamps.FileStamp(record_stamps.GONE) for n in range(number)}
    made = record_stamps.GuardSnapshot("", "", "block", "kb", folders, files)
    Path(record_stamps.get_snapshot_file(str(folder))).write_bytes(record_stamps.encode_snapshot(str(folder), made))


def test_in_a_large_base_a_call_looks_at_a_part_and_in_time_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_base(tmp_path, 2_000)
    looks: list[str | bytes] = []
    real = os.lstat

    def counted(path: str | bytes) -> os.stat_result:
        looks.append(path)
        return real(path)

    monkeypatch.setattr(os, "lstat", counted)
    for _ in range(100):
        assert record_stamps.is_unchanged(str(tmp_path), "")
    assert len(looks) == 100 * (1 + record_stamps.MOST)
    assert len(set(looks)) == 2_001, "in time every file is looked at"


@pytest.mark.parametrize("number", [0, 1, record_stamps.MOST - 1, record_stamps.MOST, record_stamps.MOST + 1])
def test_up_to_so_many_files_every_one_is_looked_at(
    tmp_path: Path, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    large_base(tmp_path, number)
    assert record_stamps.is_unchanged(str(tmp_path), "")
    monkeypatch.setattr(record_stamps, "_BLOCK", 1_000)
    if number:
        (tmp_path / f"content/{number // 2}.md").symlink_to("x")
        row = record_stamps.compute_stamp(str(tmp_path / "content"))
        file = Path(record_stamps.get_snapshot_file(str(tmp_path)))
        loaded = record_stamps.load_snapshot(str(tmp_path))
        assert loaded
        made = loaded._replace(folders={"content": record_stamps.FileStamp(row)})
        file.write_bytes(record_stamps.encode_snapshot(str(tmp_path), made))
        assert any(
            not record_stamps.is_unchanged(str(tmp_path), "") for _ in range(1 if number <= record_stamps.MOST else 100)
        )


def test_the_cost_of_a_look_does_not_grow_with_the_records(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Told by the bytes that are read: the snapshot of 10,000 records has more than a megabyte."""
    large_base(tmp_path, 30_000)
    read: list[bytes] = []
    real_read, real_part = os.read, os.pread
    monkeypatch.setattr(os, "read", lambda *given: read.append(real_read(*given)) or read[-1])
    monkeypatch.setattr(os, "pread", lambda *given: read.append(real_part(*given)) or read[-1])
    for _ in range(10):
        assert record_stamps.is_unchanged(str(tmp_path), "")
    assert 0 < sum(map(len, read)) < 10 * 300_000 < 10 * os.path.getsize(record_stamps.get_snapshot_file(str(tmp_path)))


def test_a_snapshot_of_another_clone_is_not_believed(blocked: Agent) -> None:
    file = Path(record_stamps.get_snapshot_file(str(blocked.folder)))
    file.write_bytes(b"1" + file.read_bytes())
    assert record_stamps.load_snapshot(str(blocked.folder)) is None
    assert not record_stamps.is_unchanged(str(blocked.folder), str(blocked.folder))
    blocked.does("true")
    assert record_stamps.is_unchanged(str(blocked.folder), str(blocked.folder))


def test_a_look_that_fails_stops_nobody_and_is_kept_for_doctor(blocked: Agent) -> None:
    blocked.hook("PreToolUse", REPLACE)
    blocked.run(REPLACE)
    (blocked.folder / ".git/HEAD").rename(blocked.folder / ".git/HEAD.away")
    assert blocked.hook("PostToolUse", REPLACE) == HookResponse()
    (blocked.folder / ".git/HEAD.away").rename(blocked.folder / ".git/HEAD")
    kept = [json.loads(row) for row in (blocked.folder / ".kb/log").read_text().splitlines()]
    assert any("guard" in row["event"] for row in kept)
