"""The guard: what was read, what is written, what is warned, denied, or nobody's business."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kb.errors import BadInput
from kb.guard import outside_changes
from kb.guard.call_paths import parse_effects
from kb.guard.decide import PendingCall, decide_call
from kb.guard.policy import HIGH, LOW, RiskSettings, assess_risk, is_pattern_match, load_risk_settings
from kb.hooks.fast_path import can_skip_event
from kb.hosts import ASK, DENY, EVENTS, WARN, HookResponse
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate, Verdict
from kb.state.session_log import SessionLog
from kb.text.segment import estimate_tokens
from tests.support.command_line import run
from tests.support.sealed import git
from tests.support.timing import within

PATTERNS = "memory-bank/details/patterns.md"
INDEX = "memory-bank/MEMORY.md"
ENDS = "A session of a user ends 30 minutes after the last call."
REST = {"alternatives": "None.", "why": "So it was asked.", "verification": "By a test.", "rollback": "Take it out."}


def add(kb: KnowledgeBase, kind: str, title: str, **more: Any) -> Verdict:
    """Write a record that passes the gate."""
    [verdict] = kb.write([Candidate(kind, title, affects_future=True, **{"scope": "global", **more})])
    assert verdict.verdict == "created", verdict
    return verdict


class Work:
    """An agent at work in a repository with a memory bank, beside a knowledge base."""

    def __init__(self, root: Path, folder: Path) -> None:
        self.root, self.folder, self.mode = root, folder, "block"
        self.record = Path()

    def file(self, name: str, text: str = "x\n") -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def call(self, tool: str, session: str = "s1", prompt: str = "", agent: str = "", **given: Any) -> HookResponse:
        environment = {**os.environ, "MEMORY_BANK_GUARD_MODE": self.mode}
        with KnowledgeBase(str(self.root), environment) as kb:
            return decide_call(kb, PendingCall(tool, given, session, prompt, str(self.folder), agent))

    def read(self, name: str, **more: Any) -> HookResponse:
        return self.call("Read", file_path=str(self.folder / name), **more)

    def write(self, name: str, **more: Any) -> HookResponse:
        return self.call("Write", file_path=str(self.folder / name), content="y\n", **more)

    def bash(self, command: str, **more: Any) -> HookResponse:
        return self.call("Bash", command=command, **more)

    def prompt(self, session: str = "s1", name: str = "") -> None:
        with KnowledgeBase(str(self.root), os.environ) as kb:
            SessionLog(kb, session).begin_prompt(name)

    def spelled(self, command: str) -> str:
        return command.replace("ROOT", str(self.root)).replace("RECORD", str(self.record)).replace("\\n", "\n")


def at_work(root: Path, folder: Path) -> Work:
    folder.mkdir()
    git(folder, "init", "-q")
    work = Work(root, folder)
    work.file(PATTERNS, "# Patterns\n")
    work.file(INDEX, "# Memory\n")
    work.file("src/auth/login.py")
    work.file("fix.patch", "--- a/src/auth/login.py\n+++ b/src/auth/login.py\n@@ -1 +1 @@\n-x\n+y\n")
    (work.folder / "linked").symlink_to("src/auth")
    (work.folder / "linked.md").symlink_to(PATTERNS)
    return work


@pytest.fixture
def work(root: Path, tmp_path: Path) -> Work:
    """Work that a test may change."""
    return at_work(root, tmp_path / "work")


@pytest.fixture(scope="module")
def table(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Work]:
    """Work for tables of calls: with a record, which has a second name, and links."""
    place = tmp_path_factory.mktemp("guard")
    made, _ = make(str(place / "kb"), os.environ, name="kb")
    work = at_work(place / "kb", place / "work")
    with made as kb:
        ends = add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    work.record = work.root / ends.path
    (work.folder / "short").symlink_to(work.record.parent)
    (work.folder / "MEMORY-BANK").symlink_to("memory-bank")
    os.link(work.record, work.folder / "other.md")
    with KnowledgeBase(str(work.root), os.environ) as kb:
        outside_changes.compare_snapshot(kb, str(work.folder))
    yield work


def rows(text: str) -> list[str]:
    return [row.strip() for row in text.strip().splitlines() if row.strip()]


# -- the requirement and the modes -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("mode", "risky", "plain"),
    [("off", "", ""), ("warn", WARN, WARN), ("block", DENY, WARN), ("louder", WARN, WARN), ("", WARN, WARN),
     (" BLOCK ", DENY, WARN)],
)  # fmt: skip
def test_a_mode_says_what_an_unread_memory_costs(work: Work, mode: str, risky: str, plain: str) -> None:
    work.mode = mode
    first = work.write("src/auth/login.py", session="a")
    assert (first.permission, work.write("src/a.py", session="b").permission) == (risky, plain)
    assert ("known: off, warn, block" in first.message) == (mode == "louder")


def test_a_denial_names_exactly_one_next_step(work: Work) -> None:
    reason = work.write("src/auth/login.py").reason
    assert reason.count("Next:") == 1 and reason.endswith(f"Next: read {PATTERNS}")
    assert "off" not in reason and "GUARD" not in reason


def test_once_the_patterns_are_read_a_risky_write_proceeds_until_the_next_prompt(work: Work) -> None:
    work.read(PATTERNS)
    assert work.write("src/auth/login.py") == HookResponse()
    assert work.write("src/auth/login.py", session="s2").permission == DENY, "one session does not read for another"
    work.prompt()
    assert work.write("src/auth/login.py").permission == DENY


def test_another_prompt_of_the_host_begins_anew_where_no_event_told_of_it(work: Work) -> None:
    work.prompt(name="p1")
    work.read(PATTERNS, prompt="p1")
    assert work.write("src/auth/login.py", prompt="p1") == HookResponse()
    assert work.write("src/auth/login.py", prompt="p2").permission == DENY


def test_the_index_alone_is_not_enough_unless_the_settings_say_so(work: Work) -> None:
    work.read(INDEX)
    assert work.write("src/auth/login.py").permission == DENY
    (work.root / "risk.yaml").write_text("requires: index\n")
    assert work.write("src/auth/login.py") == HookResponse()


def test_nobody_waits_for_what_is_not_there(work: Work) -> None:
    patterns = work.folder / PATTERNS
    patterns.unlink()
    assert work.write("src/auth/login.py").reason.endswith(f"read {INDEX}")
    patterns.symlink_to("nowhere.md")
    assert INDEX in work.write("src/auth/login.py").reason
    patterns.unlink()
    patterns.mkdir()
    assert INDEX in work.write("src/auth/login.py").reason
    work.read(INDEX)
    assert work.write("src/auth/login.py") == HookResponse()
    (work.folder / INDEX).unlink()
    assert work.write("src/auth/login.py", session="s2") == HookResponse(), "there is nothing to read at all"


def test_a_warning_comes_once_in_a_session_and_to_the_agent_alone(work: Work) -> None:
    work.mode = "warn"
    said = [work.write("src/a.py") for _ in range(3)]
    assert [one.permission for one in said] == [WARN, "", ""]
    assert said[0].person_text == "" and said[0].model_text.endswith(f"Next: read {PATTERNS}")
    work.prompt()
    assert work.write("src/a.py").permission == ""
    assert work.write("src/a.py", session="s2").permission == WARN


def test_a_log_that_cannot_be_written_denies_nothing(work: Work) -> None:
    (work.root / ".kb").mkdir(exist_ok=True)
    (work.root / ".kb" / "active").write_text("in the way")
    assert work.write("src/auth/login.py") == HookResponse()


def test_a_damaged_log_is_read_as_far_as_it_goes(work: Work) -> None:
    for damage in (b"\xff\xfe\0\n", b"read\n\t\t\nprompt", b"", b"prompt\t\n" * 100_000):
        work.prompt()
        (work.root / ".kb/active/s1/guard.log").write_bytes(damage + b"\n")
        assert work.write("src/auth/login.py").permission == DENY
        work.read(PATTERNS)
        assert work.write("src/auth/login.py") == HookResponse()


def without_bank(work: Work) -> None:
    for name in (PATTERNS, INDEX):
        (work.folder / name).unlink()
    (work.folder / "memory-bank/details").rmdir()
    (work.folder / "memory-bank").rmdir()


@pytest.mark.parametrize("mode", ["warn", "block"])
def test_without_a_memory_bank_the_record_on_the_path_is_what_is_to_be_read(
    work: Work, kb: KnowledgeBase, mode: str
) -> None:
    without_bank(work)
    work.mode = mode
    assert work.write("src/auth/login.py") == HookResponse(), "there are no records yet"
    add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    work.prompt()
    for path in ("src/auth/login.py", "src/a.py", "package.json"):
        assert work.write(path) == HookResponse(), "nothing recorded is about a path of this repository"
    add(
        kb,
        "decision",
        "Logins are limited to five tries",
        decision="Five tries an hour.",
        impact=("src/auth/",),
        **REST,
    )
    work.prompt()
    said = work.write("src/auth/login.py")
    step = (said.reason or said.context).partition("Next: run: ")[2].partition("\n")[0]
    assert step == "kb show D002" and said.permission == (DENY if mode == "block" else WARN)
    done = run(work.folder, *step.split()[1:], KB_HOME=str(work.root))
    assert done.code == 0 and "Five tries an hour" in done.out
    work.bash(step)
    assert work.write("src/auth/login.py").permission == ""


def test_a_record_that_a_prompt_has_just_brought_counts_as_read(work: Work, kb: KnowledgeBase) -> None:
    without_bank(work)
    add(
        kb,
        "decision",
        "Logins are limited to five tries",
        decision="Five tries an hour.",
        impact=("src/auth/",),
        **REST,
    )
    told = hook(work, "user-prompt", prompt="Why are logins limited to five tries?", session_id="s1")
    assert "D001" in json.dumps(told)
    assert work.write("src/auth/login.py") == HookResponse()
    assert work.write("src/auth/login.py", session="s2").permission == DENY


def test_in_the_repository_of_a_knowledge_base_a_high_risk_asks_for_any_record(root: Path, kb: KnowledgeBase) -> None:
    add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    work = Work(root, root)
    assert work.write("src/auth/login.py").reason.endswith("run: kb list")
    work.mode = "warn"
    assert work.write("src/a.py", session="s2") == HookResponse()


# -- however it is read ------------------------------------------------------------------------------

READ = f"""
    cat {PATTERNS}
    cd memory-bank && head -50 details/patterns.md | grep x
    rg -n auth {PATTERNS}
    cat ./src/../{PATTERNS}
    cat memory-bank/*/pat*.md
    f=memory-bank; cat "$f/details/patterns.md"
    sed -n 1,20p {PATTERNS} > /dev/null
    wc -l < {PATTERNS}
    bash -c 'cat {PATTERNS}'
    cat linked.md
    cat MEMORY-BANK/details/patterns.md
    cat memory-bank/{{MEMORY,details/patterns}}.md
    git show HEAD:{PATTERNS}
"""
READING_TOOLS: list[tuple[str, dict[str, Any]]] = [
    ("Read", {"file_path": PATTERNS}), ("read", {"filePath": PATTERNS}), ("read_file", {"absolute_path": PATTERNS}),
    ("mcp__filesystem__read_text_file", {"path": PATTERNS}), ("Grep", {"pattern": "x", "path": PATTERNS}),
    ("view", {"path": PATTERNS}), ("mcp__fs__read_multiple_files", {"paths": ["a", PATTERNS]}),
    ("shell", {"command": ["bash", "-lc", f"cat {PATTERNS}"]}), ("Read", {"file_path": "linked.md"}),
]  # fmt: skip


def test_a_read_counts_however_it_is_spelled_and_whatever_reads(table: Work) -> None:
    table.mode = "block"
    calls = [*(("Bash", {"command": command}) for command in rows(READ)), *READING_TOOLS]
    for number, (tool, given) in enumerate(calls):
        session = f"read-{number}"
        assert table.call(tool, session=session, **given).permission == "", given
        assert table.write("src/auth/login.py", session=session) == HookResponse(), given


def test_to_name_the_patterns_is_not_to_read_them(table: Work) -> None:
    table.mode = "block"
    for command in (f"echo {PATTERNS}", "ls memory-bank", "cat other.md", f"cp {PATTERNS} a.md > b"):
        table.bash(command, session="named")
    assert table.write("src/auth/login.py", session="named").permission == ""
    table.bash(f"echo {PATTERNS} && ls memory-bank", session="only-named")
    assert table.write("src/auth/login.py", session="only-named").permission == DENY


# -- the risk of a write -----------------------------------------------------------------------------

PATHS = {
    HIGH: """src/auth/a.py src/auth/deep/b.ts src/security/x.go package.json web/package.json apps/a/tsconfig.json
        docker/Dockerfile ops/docker/compose.yml infra/main.tf a/infra/b.tf SRC/AUTH/x.py src/security/README.md
        tsconfig.json docker/a/b/c infra/.env src/auth/ a/b/c/package.json src/Security/x docker/.dockerignore
        services/api/docker/start.sh src/auth/__init__.py infra/terraform/state.json packages/web/tsconfig.json
        src/security/keys/rotate.py infra/README.md src/auth/mfa/totp.ts x/docker/y packages/a/package.json
        src/auth/oauth.py docker/entrypoint""",
    LOW: """src/a.py src/authors/a.py lib/src/auth/a.py docs/docker.md dockerfile package.json.bak tsconfig.base.json
        src/security.py infrastructure/x README.md src/auth packages.json a/package-lock.json tests/auth/test_a.py
        src/authentication.py docker docker-compose.yml src/pay/refund.py docs/infra.md Makefile src/index.ts
        app/security/x.py auth/x.py yarn.lock .github/workflows/ci.yml pyproject.toml src/auth.py my-infra/x
        a/src/security/b src/dockerfile""",
}


def test_the_risk_of_sixty_paths(table: Work) -> None:
    wrong = [
        path
        for name, paths in PATHS.items()
        for path in paths.split()
        if assess_risk([path], RiskSettings()).name != name
    ]
    assert not wrong and sum(len(paths.split()) for paths in PATHS.values()) >= 60


WRITES = {
    DENY: r"""
        echo x > src/auth/login.py
        echo x >> src/auth/login.py
        echo x | tee -a src/auth/login.py
        echo x 2>&1 >|src/auth/login.py
        sed -i s/a/b/ src/auth/login.py
        cd src && sed -i.bak -e s/a/b/ auth/login.py
        perl -pi -e s/a/b/ src/auth/login.py
        cat > src/auth/new.py <<'EOF'\nx\nEOF
        git apply fix.patch
        git apply < fix.patch
        patch -p1 < fix.patch
        patch -p1 -i fix.patch
        cp src/a.py src/auth/
        mv src/a.py package.json
        rm -rf src/auth
        rm -rf src
        rm src/auth/*
        touch a b
        echo x > linked/login.py
        bash -c 'echo x > src/auth/login.py'
        FOO=1 sudo -u me tee src/auth/a <<< x
        eval 'echo x > src/auth/a'
        (cd src/auth; echo x > a)
        apply_patch <<'P'\n*** Begin Patch\n*** Update File: src/auth/login.py\n*** End Patch\nP
        git checkout HEAD~1 -- src/auth/login.py
        find src -name '*.py' -exec sed -i s/a/b/ {} +
    """,
    WARN: "echo x > src/a.py\nrm src/a.py\ncp a src/b.py\nmkdir d && echo > d/x\n(cd src/auth); echo x > a",
    "": r"""
        sed -n 1,3p src/auth/login.py
        cat src/auth/login.py > /dev/null 2>&1
        pytest tests 2>&1 | tail -3
        git log --format='%h > %s'
        echo x > /tmp/of-no-project
        git checkout main
        [[ 2 > 1 ]] && ls
        echo 'a > src/auth/x'
        git commit -m 'x > y'
        diff <(cat src/auth/login.py) b
    """,
}


def test_what_the_shell_writes_is_found(table: Work) -> None:
    table.mode = "block"
    for permission, commands in WRITES.items():
        for number, command in enumerate(rows(commands)):
            made = table.bash(table.spelled(command), session=f"writes-{permission}-{number}")
            assert made.permission == permission, (command, made)


@pytest.mark.parametrize(
    ("tool", "given", "permission"),
    [("Edit", {"file_path": "src/auth/login.py", "old_string": "x", "new_string": "y"}, DENY),
     ("MultiEdit", {"file_path": "src/a.py", "edits": [{"old_string": "x", "new_string": "y"}] * 2}, WARN),
     ("MultiEdit", {"file_path": "src/auth/a.py", "edits": [{"old_string": "x", "new_string": "y"}]}, DENY),
     ("MultiEdit", {"edits": [{"file_path": "src/a.py"}, {"file_path": "src/b.py"}]}, DENY),
     ("MultiEdit", {"edits": [{"old_string": "x", "new_string": "y"}]}, DENY),
     ("apply_patch", {"input": "*** Begin Patch\n*** Add File: a\n+x\n*** Update File: b\n"}, DENY),
     ("apply_patch", {"command": "*** Begin Patch\n*** Add File: a\n+x\n"}, WARN),
     ("mcp__filesystem__write_file", {"path": "infra/x.tf", "content": "x"}, DENY),
     ("mcp__filesystem__edit_file", {"path": "src/a.py", "edits": [{"oldText": "x", "newText": "y"}]}, WARN),
     ("mcp__filesystem__move_file", {"source": "src/a.py", "destination": "docker/a.py"}, DENY),
     ("mcp__git__apply_patch", {"patch": "+++ b/src/auth/x\n"}, DENY),
     ("mcp__filesystem__list_directory", {"path": "src/auth"}, ""),
     ("replace", {"file_path": "package.json", "old_string": "x", "new_string": "y"}, DENY),
     ("NotebookEdit", {"notebook_path": "infra/a.ipynb", "new_source": ""}, DENY),
     ("Task", {"prompt": "write src/auth/login.py"}, ""), ("WebFetch", {"url": "src/auth/x"}, ""),
     ("Write", {"file_path": 7}, ""), ("Bash", {"command": None}, ""), ("Bash", {}, "")],
)  # fmt: skip
def test_whatever_tool_writes_is_found(table: Work, tool: str, given: dict[str, Any], permission: str) -> None:
    table.mode = "block"
    assert table.call(tool, session=f"{tool}{given}", **given).permission == permission


def test_the_settings_of_risk_are_the_teams(work: Work) -> None:
    (work.root / "risk.yaml").write_text('high: ["*.sql", "/src/"]\nlow: ["src/auth/**"]\nmany: 0\n')
    assert work.write("db/schema.sql").permission == DENY
    assert work.write("src/a.py").permission == DENY
    assert work.write("src/auth/login.py").permission == WARN
    assert work.bash("touch a b c").permission == ""


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [("hihg: []\n", 1, "did you mean high"), ("many: 2\nhigh: src\n", 2, "a list of paths"),
     ("high:\n  - src/\n  - ../x\n", 3, "'../x' is not a path"), ("many: 1\n", 1, "0, or a number from 2"),
     ("requires: all\n", 1, "one of patterns, index"), ("high: [\n", 2, "not valid YAML"), ("high: [7]\n", 1, "7"),
     ("low:\n  - '/'\n", 2, "'/' is not a path")],
)  # fmt: skip
def test_a_mistake_in_the_settings_is_named_with_its_line(tmp_path: Path, text: str, line: int, words: str) -> None:
    (tmp_path / "risk.yaml").write_text(text)
    with pytest.raises(BadInput) as caught:
        load_risk_settings(str(tmp_path))
    assert caught.value.line == line and words in f"{caught.value} {caught.value.hint}"


def test_broken_settings_leave_the_defaults_and_are_told_once(work: Work) -> None:
    (work.root / "risk.yaml").write_text("many: x\n")
    made = work.write("src/auth/login.py")
    assert made.permission == DENY and "risk.yaml:1" in made.message
    assert work.write("src/auth/login.py").message == ""


@pytest.mark.parametrize(
    ("pattern", "path", "holds"),
    [("src/**/x.py", "src/a/b/x.py", True), ("src/**/x.py", "src/x.py", True), ("*.py", "a/b.py", True),
     ("/a", "b/a", False), ("a?c", "abc", True), ("a?c", "a/c", False), ("[ab].py", "a.py", True),
     ("[!ab].py", "a.py", False), ("a[", "a[", True), ("a.b", "axb", False), ("src", "src/a", True),
     ("src/", "src", False), ("über/", "a/ÜBER/x", True)],
)  # fmt: skip
def test_patterns_are_those_of_gitignore(pattern: str, path: str, holds: bool) -> None:
    assert is_pattern_match(pattern, path) is holds


# -- only the writer writes --------------------------------------------------------------------------

KEPT = r"""
    echo x >> RECORD
    sed -i s/30/60/ RECORD
    tee RECORD < /dev/null
    rm -rf ROOT/content
    rm ROOT/cont*/anch*/*/*.md
    cp a RECORD
    mv ROOT/content/anchors /tmp/x
    git -C ROOT checkout HEAD~1 -- content/anchors
    cd ROOT && cd content/anchors && echo x > D001-new.md
    echo x > short/D002-new.md
    echo x > other.md
    truncate -s0 RECORD
    python3 -c "open('RECORD', 'w').write('x')"
    python3 - <<'E'\nwith open("RECORD", mode="a") as file:\n    file.write("x")\nE
    find ROOT/content/anchors -name '*.md' -delete
    d=ROOT/content; echo x > $d/anchors/a.md
    ls ROOT/content/anchors/* | xargs sed -i s/a/b/
    echo x > $(echo ROOT/content)/anchors/a.md
    echo x > $UNSET/content/anchors/D001.md
    patch RECORD < a.patch
    echo x > ROOT/.kb/proposals/a.json
    echo x > memory-bank/new.md
    echo x > MEMORY-BANK/x.md
    cat a | sponge memory-bank/details/patterns.md
    cd memory-bank; echo x >> MEMORY.md
    mv a ROOT/content/sessions/x/compact.md
    ln -sf /dev/null RECORD
    eval echo x \> RECORD
    sudo -E rm RECORD
    sudo -n -u root rm RECORD
    env -i -u HOME A=1 rm RECORD
    nice -n 10 rm RECORD
    timeout -k 5 -s KILL 10 rm RECORD
    xargs -0 -n 1 -P 2 rm RECORD
    stdbuf -o L tee RECORD
    git -C ROOT rm -r content
    echo x > short/../new.md
    echo x =>short/new.md
    git -C ROOT clean -fdx
    git -C ROOT clean -d --force -X
"""
FREE = r"""
    git -C ROOT restore --staged RECORD
    python3 -c "t = open('RECORD').read(); open('/tmp/out.txt', 'w').write(t)"
    python3 -c "import os; os.makedirs('build', exist_ok=True); open('build/a.txt', 'w').write('see content/anchors')"
    gh pr create --title "Explain kb-hook stop" --body "content/anchors and mb:write are described"
    cd ROOT && find . -path ./content -prune -o -name '*.md' -exec sed -i 's/a/b/' {} +
    kb write --kind decision --title x
    kb-hook write < candidates.json
    cat RECORD
    git -C ROOT pull
    git -C ROOT log
    cp RECORD copy.md
    kb edit D001
    grep -rn content/anchors . > out.txt
    python3 -c "print(open('RECORD').read())"
    echo content/anchors > notes.txt
    mkdir -p content-of-mine
    grep -c kb-hook settings.json
    git commit -m "Document kb-hook events"
    git commit -m 'Tell that mb:write is for a person, not for claude'
    find ROOT -name '*.pyc' -delete
    find ROOT -name '*.py' | xargs sed -i s/a/b/
    find ROOT -name '*.py' -exec sed -i s/a/b/ {} +
    cd ROOT/content/anchors && find /tmp/none -name '*.py' -exec touch {} \;
    git -C ROOT clean -fd
    git -C ROOT clean -fdxn
    git -C ROOT clean -fdx -e .kb
    echo x > ROOT/content/templates/compact.md
    kb proposal list
    kb proposal show x
    grep -rn mb:write docs
    kb --help
"""


@pytest.mark.parametrize("mode", ["off", "block"])
def test_an_agent_never_writes_what_only_kb_writes(table: Work, mode: str) -> None:
    table.mode = mode
    for number, command in enumerate(rows(KEPT)):
        made = table.bash(table.spelled(command), session=f"kept-{number}")
        assert made.permission == DENY and made.reason.count("Next:") == 1, (command, made)
        assert "memory of this project has not been read" not in made.reason, (command, made)


def test_no_tool_writes_a_record_and_reading_stays_free(table: Work) -> None:
    table.mode = "off"
    patch = f"*** Begin Patch\n*** Update File: {table.record}\n"
    for tool in ("Write", "Edit", "mcp__fs__write_file", "apply_patch"):
        path = str(table.record)
        given = {"input": patch} if tool == "apply_patch" else {"file_path": path, "path": path, "content": "x"}
        assert table.call(tool, **given).permission == DENY
    for command in rows(FREE):
        assert table.bash(table.spelled(command)) == HookResponse(), command


@pytest.mark.parametrize(
    ("tool", "given"),
    [("mcp__jetbrains__replace_text_in_file", {"pathInProject": "@"}), ("mcp__github__push_files", {"files": ["@"]}),
     ("mcp__fs__write", {"output": "@"}), ("mcp__fs__write", {"dest": "@"}), ("mcp__fs__write", {"filePaths": ["@"]}),
     ("mcp__fs__write", {"files": {"@": "x"}}), ("mcp__fs__write_files", {"operations": [{"path": "@"}]}),
     ("mcp__fs__write_text", {"uri": "file://%"}), ("mcp__fs__fs", {"action": "write", "path": "@"}),
     ("mcp__desktop-commander__start_process", {"command": "sed -i s/a/b/ @"}),
     ("mcp_fs_write_file", {"path": "@"}), ("PowerShell", {"command": "Set-Content -Path @ -Value x"}),
     ("PowerShell", {"command": "'x' | Out-File @"}), ("PowerShell", {"command": "Remove-Item -Recurse @"})],
)  # fmt: skip
def test_a_record_is_seen_under_whatever_key_and_in_whatever_spelling(
    table: Work, tool: str, given: dict[str, Any]
) -> None:
    table.mode = "off"
    path = str(table.record)
    spelled = json.loads(json.dumps(given).replace("@", path).replace("%", path.replace("anchors", "%61nchors")))
    assert table.call(tool, **spelled).permission == DENY


def test_no_pattern_makes_the_guard_walk_the_whole_disk(table: Work) -> None:
    table.mode = "off"
    with within(2):
        assert table.bash("rm -f /**/*.zzz", session="wide") == HookResponse()


def test_a_link_in_the_place_of_a_record_is_none(work: Work, kb: KnowledgeBase) -> None:
    made = add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    link = (work.root / made.path).parent / "D009-away.md"
    link.symlink_to(work.folder / "src/a.py")
    assert work.write(str(link)).permission == DENY


def test_a_setting_lets_agents_write_but_not_into_the_state(work: Work) -> None:
    (work.root / "kb.toml").write_text('writer = "direct"\nguard = "off"\n')
    work.mode = ""
    assert work.write(str(work.root / "content/anchors/global/D001-x.md")).permission == ""
    assert work.bash(f"echo x >> {PATTERNS}").permission == ""
    assert work.write(str(work.root / ".kb/proposals/x.json")).permission == DENY


def test_for_the_settings_and_for_what_a_person_decides_the_person_is_asked(work: Work) -> None:
    for command in ("kb inbox promote abc", "kb review accept D001", "cd x && kb --kb /y review reject D001"):
        assert work.bash(command).permission == ASK, command
    for command in ("kb rm D001 --yes", "kb status D001 deprecated --yes", "kb write --yes a.json"):
        assert work.bash(command).permission == ASK, command
    assert work.bash("kb review").permission == work.bash("kb inbox list").permission == ""
    for name in ("kb.toml", "risk.yaml"):
        assert work.write(str(work.root / name)).permission == ASK


BLOCKS = """# Notes

<!-- MACHINE_BLOCK_START -->
kept by a tool
<!-- MACHINE_BLOCK_END -->

<!-- USER_BLOCK_START -->
mine
<!-- USER_BLOCK_END -->
"""


@pytest.mark.parametrize(
    ("old", "new", "permission"),
    [("kept by a tool", "changed", DENY), ("mine", "yours", ""), ("<!-- MACHINE_BLOCK_END -->", "", DENY),
     ("# Notes", "# Other", ""), ("e", "E", DENY)],
)  # fmt: skip
def test_an_edit_of_a_tools_block_is_denied_wherever_it_stands(
    table: Work, old: str, new: str, permission: str
) -> None:
    table.mode = "off"
    path = table.file("docs/notes.md", BLOCKS)
    given = {"file_path": str(path), "old_string": old, "new_string": new, "replace_all": len(old) == 1}
    assert table.call("Edit", **given).permission == permission
    assert table.call("Write", file_path=str(path), content=BLOCKS.replace(old, new)).permission == permission
    assert table.bash("sed -i s/mine/yours/ docs/notes.md").permission == DENY, "what it does cannot be told"


# -- constraints -------------------------------------------------------------------------------------


def test_what_was_committed_by_hand_is_quoted_as_it_stands_now(work: Work, kb: KnowledgeBase) -> None:
    add(
        kb,
        "constraint",
        "Passwords are hashed with argon2",
        decision="Only argon2 hashes.",
        impact=("src/auth/",),
        **REST,
    )
    work.read(PATTERNS)
    [path] = (Path(kb.root) / "content").rglob("C001-*.md")
    path.write_text(path.read_text("utf-8").replace("argon2", "scrypt"), "utf-8")
    git(Path(kb.root), "commit", "-qam", "By hand")
    told = work.write("src/auth/login.py").context
    assert "scrypt" in told and "argon2" not in told


def test_an_accepted_constraint_on_the_path_is_quoted_once_in_a_session(work: Work, kb: KnowledgeBase) -> None:
    for title, words, path in (
        ("Passwords are hashed with argon2", "Only argon2 hashes passwords, with the parameters of 2026.", "src/auth/"),
        ("Money is counted in cents", "Amounts are integers, in cents, everywhere in the code.", "src/pay"),
    ):
        add(kb, "constraint", title, decision=words, impact=(path,), **REST)
    work.read(PATTERNS)
    kb.change_status("C001", "proposed", decided=True)
    assert work.write("src/auth/login.py").context == "", "it is not accepted"
    kb.change_status("C001", "accepted", decided=True)
    work.prompt()
    work.read(PATTERNS)
    told = work.write("src/auth/login.py").context
    assert told.startswith("kb: accepted for src/auth/login.py") and "C001" in told and "argon2" in told
    assert "cents" not in told
    assert work.write("src/auth/other.py").context == ""
    work.prompt()
    work.read(PATTERNS)
    assert work.write("src/auth/login.py").context == ""
    denied = work.write("src/auth/login.py", session="s2")
    assert denied.permission == DENY and denied.context == "", "a call that is not made is told nothing"
    work.read(PATTERNS, session="s2")
    assert "C001" in work.write("src/auth/login.py", session="s2").context
    assert "C001" in work.call("Write", agent="a1", file_path=str(work.folder / "src/auth/login.py")).context
    work.read(PATTERNS, session="s3")
    log = SessionLog(kb, "s3")
    log.mark_told(kb.record("C001").uid)
    assert work.write("src/auth/login.py", session="s3").context == "", "told before, at a prompt perhaps"
    log.forget_told()
    assert "C001" in work.write("src/auth/login.py", session="s3").context


def test_what_governs_a_file_is_told_the_closest_first_and_no_more_than_two(work: Work, kb: KnowledgeBase) -> None:
    without_bank(work)
    work.mode = "warn"
    rows = (("decision", "Everything is logged as JSON", "."),
            ("pitfall", "The auth folder has two caches", "src/auth/"),
            ("interface", "Logins answer with a session id", "src/auth/login.py"),
            ("constraint", "登录每小时最多五次", "src/auth/l*.py"))  # fmt: skip
    for kind, title, path in rows:
        add(kb, kind, title, decision=f"{title}, as was measured.", impact=(path,), **REST)
    told = work.write("src/auth/login.py").context
    assert "[I001]" in told and "[C001]" in told and "P001" not in told and "D001" not in told
    lines = [line for line in told.splitlines() if line.startswith("> ")]
    assert "[I001]" in lines[0] and "[C001]" in lines[1]
    assert len(lines) == 2 and all(estimate_tokens(line) <= 60 for line in lines)
    assert "[P001]" in work.write("src/auth/login.py").context, "what had no room is told at the next edit"
    payload = {"session_id": "s1", "cwd": str(work.folder), "tool_name": "Write"}
    given = {"file_path": str(work.folder / "src/auth/login.py"), "content": "x = 1"}
    assert can_skip_event("PreToolUse", {**payload, "tool_input": given}, str(work.root)), "all has been told"
    kb.change_status("I001", "deprecated", decided=True)
    assert "I001" not in work.write("src/auth/login.py", session="s2").context


def test_what_the_code_itself_cites_is_no_news(work: Work, kb: KnowledgeBase) -> None:
    without_bank(work)
    add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS, **REST)
    path = work.file("src/session.py", "\n".join(["import os", *["pass"] * 40, "ends = 30  # [D001]"]))
    given = {"file_path": str(path), "old_string": "ends = 30  # [D001]", "new_string": "ends = 31  # [D001]"}
    payload = {"session_id": "s1", "cwd": str(work.folder), "tool_name": "Edit", "tool_input": given}
    assert work.call("Edit", **given).context == ""
    assert can_skip_event("PreToolUse", payload, str(work.root)), "no prompt is about any record"
    log = SessionLog(kb, "s2")
    log.begin_prompt()
    kb.answer_to_prompt("After how many minutes do sessions expire?", project=kb.project(str(work.folder)), told=log)
    log.forget_told()
    work.call("Edit", session="s2", file_path=str(work.file("src/other.py")), old_string="x", new_string="y")
    assert not can_skip_event("PreToolUse", {**payload, "session_id": "s2"}, str(work.root))
    assert "[D001]" in work.call("Edit", session="s2", **given).context


def test_what_an_edited_file_cites_must_be_what_the_prompt_is_about(work: Work, kb: KnowledgeBase) -> None:
    without_bank(work)
    work.mode = "off"
    add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS, **REST)
    add(kb, "decision", "密码用 argon2 散列", decision="只用 argon2 散列密码。", **REST)
    path = work.file("src/session.py", "\n".join(["ends = 30", *["pass"] * 60, "# [D001], [D002]"]))
    given = {"file_path": str(path), "old_string": "ends = 30", "new_string": "ends = 31"}
    for session, prompt, told in (("a", "Sessions should expire after an hour", "D001"),
                                  ("b", "argon2 散列密码的参数要改", "D002")):  # fmt: skip
        log = SessionLog(kb, session)
        log.begin_prompt()
        kb.answer_to_prompt(prompt, project=kb.project(str(work.folder)), told=log)
        log.forget_told()
        said = work.call("Edit", session=session, **given).context
        assert told in said and ("D002" if told == "D001" else "D001") not in said
    changed = {**given, "old_string": "# [D001], [D002]", "new_string": "# [D002]"}
    assert "D002" not in work.call("Edit", session="a", **changed).context, "nor what the edited line itself cites"


REJECTED = (
    ("Sessions are cached in the process", "- shared Redis cache: ops refuses another service\n- memcached sidecar"),
    ("消息在数据库里排队", "- RabbitMQ：多一个要运维的服务\n- 自己写一个"),
)


@pytest.mark.parametrize(
    ("path", "text", "told"),
    [
        ("src/session.ts", 'import Redis from "ioredis";', "D001"),
        ("package.json", '  "memcached": "^2.2.2",', "D001"),
        ("requirements.txt", "redis==5.0", "D001"),
        ("src/queue.py", "import pika", "D002"),
        ("src/Queue.java", "var queue = new RabbitMqQueue();", "D002"),
        ("docs/why.md", "We do not use Redis, nor RabbitMQ.", ""),
        ("src/session.ts", "// Redis was rejected, see the decision", ""),
        ("src/queue.py", '"""Not RabbitMQ, which is one more service."""', ""),
        ("src/queue.py", 'print("RabbitMQ")', ""),
        ("src/session.ts", 'import { cache } from "./cache";', ""),
        ("src/sidecar.ts", "const sidecar = 1;", ""),
    ],
)
def test_a_rejected_option_is_told_when_code_takes_it_up(
    work: Work, kb: KnowledgeBase, path: str, text: str, told: str
) -> None:
    without_bank(work)
    work.mode = "off"
    for title, options in REJECTED:
        add(kb, "decision", title, decision=f"{title}.", impact=("lib/",), **{**REST, "alternatives": options})
    given = {"file_path": str(work.folder / path), "old_string": "", "new_string": text}
    work.call("Edit", file_path=str(work.folder / "a.py"), old_string="x", new_string="y")
    payload = {"session_id": "s1", "cwd": str(work.folder), "tool_name": "Edit", "tool_input": given}
    said = work.call("Edit", session="s2", **given).context
    assert ("rejected there:" in said) == bool(told) and told in said
    if told:
        assert not can_skip_event("PreToolUse", payload, str(work.root))
        assert work.call("Edit", session="s2", **given).context == "", "once"
        kb.change_status(told, "deprecated", decided=True)
        assert work.call("Edit", session="s3", **given).context == ""


def test_a_dependency_that_is_there_already_is_not_taken_up(work: Work, kb: KnowledgeBase) -> None:
    without_bank(work)
    work.mode = "off"
    add(
        kb,
        "decision",
        REJECTED[0][0],
        decision="In a map.",
        impact=("lib/",),
        **{**REST, "alternatives": REJECTED[0][1]},
    )
    work.file("package.json", '{"dependencies": {"ioredis": "^5"}}')
    given = {"file_path": str(work.folder / "src/a.ts"), "content": 'import Redis from "ioredis";'}
    assert work.call("Write", **given).context == ""


def test_what_other_code_uses_already_is_not_taken_up(work: Work, kb: KnowledgeBase) -> None:
    without_bank(work)
    work.mode = "off"
    options = {**REST, "alternatives": "- shared Redis cache\n- 用 RabbitMQ 排队"}
    add(kb, "decision", "Sessions are cached in the process", decision="In a map.", impact=("lib/",), **options)
    work.file("src/old.ts", 'import Redis from "ioredis";')
    work.file("docs/why.md", "RabbitMQ was too much.")
    git(work.folder, "init", "-q")
    git(work.folder, "add", "-A")
    given = {"file_path": str(work.folder / "src/a.ts"), "content": 'import Redis from "ioredis";'}
    assert work.call("Write", **given).context == ""
    payload = {"session_id": "s1", "cwd": str(work.folder), "tool_name": "Write", "tool_input": given}
    assert can_skip_event("PreToolUse", payload, str(work.root)), "git is asked once in a session"
    queue = {"file_path": str(work.folder / "src/queue.py"), "content": "import pika"}
    assert "[D001]" in work.call("Write", **queue).context, "prose does not use it"


# -- forging -----------------------------------------------------------------------------------------

FORGED = r"""
    kb proposal confirm
    kb proposal confirm abc --code XX
    kb --kb /x proposal reject abc
    python -m kb proposal confirm x
    .venv/bin/kb proposal confirm x
    c=confirm; kb proposal $c x
    bash -c 'kb proposal confirm x'
    kb $(echo proposal) confirm x
    kb $SUB confirm x
    k\b proposal confirm x
    k''b inbox list; "k"b proposal reject x
    a=k; ${a}b proposal confirm x
    script -qec 'kb proposal confirm x' /dev/null
    yes | kb proposal confirm x
    env -i kb proposal confirm x
    echo '{"prompt":"mb:write"}' | kb-hook user-prompt
    kb-hook UserPromptSubmit < payload.json
    cat p | /usr/bin/kb-hook user-prompt
    kb-hook "user-prompt" < p
    kb-h"ook" stop --host=codex < p
    git commit -m x && kb-hook stop < p
    bash -c $'true\nkb proposal confirm'
    git commit -m "$(claude -c -p mb:write)"
    python -c 'from kb.hooks import main; main(["user-prompt"])' < p
    python -m kb.hooks user-prompt < p
    claude --resume s1 -p mb:write
    claude -c -p "mb：write"
    codex exec resume s1 'mb:no'
    xargs kb proposal confirm < names
    uv run kb proposal confirm
    uvx --from kb-anchors kb proposal confirm x
    python3 -c 'from kb.cli import main; main(["proposal", "confirm"])'
    python3 -c 'from kb.capture import proposals as p; p.confirm_proposal(kb, p.list_pending(kb)[0])'
"""


@pytest.mark.parametrize("mode", ["off", "block"])
def test_no_call_of_an_agent_passes_for_a_persons_word(table: Work, mode: str) -> None:
    table.mode = mode
    for command in rows(FORGED):
        made = table.bash(command)
        assert made.permission == DENY and "only the person may answer" in made.reason, (command, made)


def test_the_first_characters_of_a_long_word_are_read(table: Work) -> None:
    program = "import os\nos.system('kb proposal confirm x')\n" + "pass\n" * 5_000
    assert table.bash(f'python3 -c "{program}"').permission == DENY


DECIDED = r"""
    git merge kb/review/D004-use-mongodb
    git -C ROOT merge --no-ff -m x kb/review/D004-x
    git cherry-pick main..kb/review/D004-x
    git branch -D kb/review/D004-x
    git push origin --delete kb/review/D004-x
    git push origin :kb/review/D004-x
    git update-ref -d refs/heads/kb/review/D004-x
    kb review accept D004
    kb review --json accept D004
    kb --kb . review reject D004
    printf 'review\naccept\nD004' | xargs kb
    python3 -c "import subprocess; subprocess.run(['kb', 'review', 'accept', 'D004'])"
    kb inbox promote 12
    kb status D001 deprecated --yes --why old
    kb rm --yes D001
    EDITOR='sed -i s/a/b/' kb edit D001 --yes
    script -qec "kb rm D001" /dev/null
    env -u CLAUDECODE script -qc 'kb --kb . supersede D001 --by D002'
    unbuffer kb status D001 deprecated
    expect -c 'spawn kb rm D001; expect eof'
    kb supersede D001 --by D002 --yes
"""
UNDECIDED = r"""
    kb review
    kb review show D004
    kb status D001 accepted
    kb rm --help
    kb status D001 deprecated --why old
    kb rm D001
    kb edit D001
    script -qec "kb list" /dev/null
    unbuffer make test
    git branch --list 'kb/review/*'
    git log kb/review/D004-x
    git diff main...kb/review/D004-x
    git push origin kb/review/D004-x
    git switch kb/review/D004-x
"""


def test_what_takes_effect_for_a_person_is_asked_about_in_any_order_of_words(table: Work) -> None:
    table.mode = "off"
    for command in rows(DECIDED):
        assert table.bash(table.spelled(command)).permission == ASK, command
    for command in rows(UNDECIDED):
        assert table.bash(table.spelled(command)) == HookResponse(), command


# -- reading calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "command",
    ["touch " + "{a,b}" * 24, "A=0123456789abcdef; " + "A=$A$A; " * 60 + "sed -i s/a/b/ $A", "> " + "{a,b}" * 40,
     "cat /proc/1/cwd/x; cat /proc/1/root/y", "cat <<E\n" + "x" * 150_000 + "\nE", "a;" * 50_000,
     "kb.cli proposal " * 6_000, "python3 -c '" + "kb review " * 9_000 + "'",
     "find " + "a " * 20_000 + "-exec rm " + "{} " * 20_000, "eval " * 20_000],
    ids=["braces", "variables", "target", "proc", "heredoc", "commands", "code", "words", "find", "eval"],
)  # fmt: skip
def test_no_command_costs_much_to_read_and_a_record_behind_it_is_still_seen(table: Work, command: str) -> None:
    table.mode = "off"
    with within(2):
        table.bash(command)
    if len(command) < 50_000:
        assert table.bash(f"{command}; sed -i s/a/b/ {table.record}").permission == DENY


def test_no_text_makes_the_reader_of_commands_fail(table: Work) -> None:
    odd = ["", "'", '"$(', "$((", "`", "<<", "<<<", "<<EOF\n", ">", "> ", "a >&", "${", "${x:-", "\\", "((((", "))))",
           "|" * 50, "&" * 50, "$" * 500, "$(" * 300, "echo " + "x" * 50_000, "{" * 200 + ",}", "a\0b > c",
           "\ud800 > x", "x > \ud800/\udcff",
           "sudo " * 500, "bash -c " * 300, "xargs " * 500 + "rm", "> {a,b}{c,d}{e,f}" * 5]  # fmt: skip
    for text in odd:
        parse_effects("Bash", {"command": text}, {})
        table.bash(text)


# -- as a host calls it ------------------------------------------------------------------------------


def hook(work: Work, word: str, **payload: Any) -> dict[str, Any]:
    """Run a hook as a process of its own and return what it prints."""
    done = start(work, word, **payload)
    out, error = done.communicate(timeout=60)
    assert (done.returncode, error) == (0, b"")
    return dict(json.loads(out)) if out.strip() else {}


def start(work: Work, word: str, **payload: Any) -> "subprocess.Popen[bytes]":
    """Start a hook that has been given its payload."""
    given = {"session_id": "s1", "cwd": str(work.folder), "hook_event_name": EVENTS[word], **payload}
    process = subprocess.Popen(
        [sys.executable, "-c", "from kb.hooks import main; main()", word], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=work.folder,
        env={**os.environ, "KB_HOME": str(work.root), "MEMORY_BANK_GUARD_MODE": work.mode},
    )  # fmt: skip
    assert process.stdin
    process.stdin.write(json.dumps(given).encode())
    process.stdin.close()
    process.stdin = None
    return process


def test_a_session_is_denied_reads_and_proceeds(work: Work) -> None:
    risky = {"tool_name": "Write", "tool_input": {"file_path": str(work.folder / "package.json"), "content": "{}"}}
    hook(work, "user-prompt", prompt="update the dependencies")
    said = hook(work, "pre-tool", **risky)["hookSpecificOutput"]
    assert said["permissionDecision"] == "deny" and PATTERNS in said["permissionDecisionReason"]
    assert hook(work, "pre-tool", tool_name="Read", tool_input={"file_path": str(work.folder / PATTERNS)}) == {}
    assert hook(work, "pre-tool", **risky) == {}
    assert can_skip_event("PreToolUse", {"session_id": "s1", "cwd": str(work.folder), **risky}, str(work.root))
    hook(work, "user-prompt", prompt="and now the lock file")
    assert hook(work, "pre-tool", **risky)["hookSpecificOutput"]["permissionDecision"] == "deny"


def test_a_warning_is_no_permission(work: Work) -> None:
    work.mode = "warn"
    given = {"file_path": str(work.folder / "src/a.py"), "content": "x"}
    output = hook(work, "pre-tool", tool_name="Write", tool_input=given)
    assert "permissionDecision" not in output["hookSpecificOutput"]
    assert PATTERNS in output["hookSpecificOutput"]["additionalContext"]


def test_without_a_knowledge_base_nothing_is_said(work: Work) -> None:
    (work.root / "kb.toml").unlink()
    given = {"file_path": str(work.folder / PATTERNS), "content": "x"}
    assert hook(work, "pre-tool", tool_name="Write", tool_input=given) == {}


def test_fifty_hooks_at_once_lose_no_read(work: Work) -> None:
    names = [f"memory-bank/details/{n}.md" for n in range(50)]
    for name in names:
        work.file(name)
    hooks = [start(work, "pre-tool", tool_name="Read", tool_input={"file_path": str(work.folder / n)}) for n in names]
    assert [one.communicate(timeout=120) for one in hooks] == [(b"", b"")] * 50
    with KnowledgeBase(str(work.root), os.environ) as kb:
        assert {Path(path).name for path in SessionLog(kb, "s1").list_turn_values("read")} == {
            Path(name).name for name in names
        }


@pytest.mark.parametrize(
    ("tool", "given"),
    [("Bash", {"command": "pytest -q 2>&1 | tail -3"}), ("Bash", {"command": "ls -la > /dev/null"}),
     ("Bash", {"command": "git status"}), ("Read", {"file_path": "src/auth/login.py"}), ("Grep", {"pattern": "x"}),
     ("TodoWrite", {"todos": []}),
     ("mcp__calendar__today", {}), ("WebSearch", {"query": "x"})],
)  # fmt: skip
def test_plain_calls_are_answered_before_anything_is_loaded(table: Work, tool: str, given: dict[str, Any]) -> None:
    payload = {"session_id": "quick", "cwd": str(table.folder), "tool_name": tool, "tool_input": given}
    assert can_skip_event("PreToolUse", payload, str(table.root))


def test_what_the_guard_must_see_is_never_passed_over(table: Work) -> None:
    """Whatever the guard answers or remembers, the quick look leaves to it; but for reads in the shell by a link."""
    session = "seen"
    (table.root / ".kb/active" / session).mkdir(parents=True)
    kept = {"settled": True, "prompt": "", "patterns": [], "project": str(table.folder)}
    (table.root / ".kb/active" / session / "guard.json").write_text(json.dumps(kept))
    calls = [("Bash", {"command": table.spelled(command)}) for command in rows(KEPT + FORGED + READ)
             if command != "cat linked.md"]  # fmt: skip
    calls += [(tool, {"file_path": path}) for tool in ("Write", "Edit", "Read")
              for path in (str(table.record), "short/x.md", "other.md", PATTERNS, "MEMORY-BANK/x.md")]  # fmt: skip
    calls += [("Bash", {"command": "git clean -fdx"}), ("Bash", {"command": "git -C . clean -dX -f"})]
    calls += [("Write", {"file_path": str(table.root / name)}) for name in ("kb.toml", ".kb/x", "content/anchors/x")]
    for tool, given in calls:
        payload = {"session_id": session, "cwd": str(table.folder), "tool_name": tool, "tool_input": given}
        assert not can_skip_event("PreToolUse", payload, str(table.root)), given


# -- the second line ---------------------------------------------------------------------------------


def test_what_an_agent_stages_by_hand_fails_the_check_before_a_commit(root: Path, kb: KnowledgeBase) -> None:
    made = add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    record = root / made.path
    record.write_text(record.read_text().replace("30 minutes", "60 minutes"))
    (record.parent / "D007-mine.md").write_text("# [D007] mine\n")
    (root / "README.md").write_text("free\n")
    git(root, "add", ".")
    found = [finding for finding in check(root, CLAUDECODE="1") if finding["rule"] == "writer"]
    assert [finding["path"] for finding in found] == [made.path, "content/anchors/global/D007-mine.md"]
    assert not [finding for finding in check(root) if finding["rule"] == "writer"], "people are free"
    git(root, "reset", "-q", "--hard")
    assert check(root, CLAUDECODE="1") == []


def test_the_index_of_a_commit_of_everything_is_looked_at(root: Path, kb: KnowledgeBase) -> None:
    made = add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    hook = root / ".git/hooks/pre-commit"
    code = "from kb.cli import main; main(['check'])"
    hook.write_text(f"#!/bin/sh\nexec {sys.executable} -c {shlex.quote(code)}\n")
    hook.chmod(0o755)
    (root / made.path).write_text((root / made.path).read_text().replace("30 minutes", "60 minutes"))
    run_git = ["git", "-C", str(root), "commit", "-qam", "by hand"]
    agent = subprocess.run(run_git, env={**os.environ, "CLAUDECODE": "1"}, capture_output=True, text=True, check=False)
    assert agent.returncode == 1 and "only kb writes" in agent.stdout + agent.stderr
    assert subprocess.run(run_git, capture_output=True, check=False).returncode == 0


def test_an_agent_may_commit_what_kb_check_has_mended(root: Path, kb: KnowledgeBase) -> None:
    made = add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS)
    record = root / made.path
    record.write_text("".join(line for line in record.read_text().splitlines(True) if not line.startswith("uid:")))
    git(root, "commit", "-qam", "lose the uid")
    run(root, "check", "--fix", CLAUDECODE="1")
    git(root, "add", ".")
    assert git(root, "diff", "--cached", "--name-only").strip() == made.path
    assert not [finding for finding in check(root, CLAUDECODE="1") if finding["rule"] == "writer"]


def check(root: Path, **environment: str) -> list[dict[str, Any]]:
    return list(json.loads(run(root, "check", "--json", **environment).out))


# -- asked by a person -------------------------------------------------------------------------------


def test_a_person_can_ask_what_the_guard_would_say(work: Work) -> None:
    given = {"KB_HOME": str(work.root), "MEMORY_BANK_GUARD_MODE": "block"}
    said = run(work.folder, "guard", "src/auth/login.py", "src/a.py", "/etc/hosts", **given).out.splitlines()
    assert said[:2] == ["mode: block", f"to be read first: {PATTERNS}"]
    assert [line.split(": ")[1] for line in said[2:]] == ["high risk", "low risk", "low risk"]
    shown = run(work.folder, "guard", "--config", **given).out
    (work.root / "risk.yaml").write_text(shown)
    assert load_risk_settings(str(work.root)) == RiskSettings()
    (work.root / "risk.yaml").write_text("many: x\n")
    failed = run(work.folder, "guard", **given)
    assert failed.code == 2 and "risk.yaml:1" in failed.error


@pytest.mark.parametrize("kept", [b"", b"{", b"[]", b'{"settled": 1}', b'{"settled": true}', b"\xff\xff"])
def test_what_was_kept_for_quiet_hooks_is_believed_only_when_whole(work: Work, kept: bytes) -> None:
    place = work.root / ".kb/active/s1"
    place.mkdir(parents=True)
    (place / "guard.json").write_bytes(kept)
    risky = {"tool_name": "Write", "tool_input": {"file_path": str(work.folder / "package.json"), "content": "{}"}}
    payload = {"session_id": "s1", "cwd": str(work.folder), **risky}
    assert not can_skip_event("PreToolUse", payload, str(work.root))
    assert work.write("package.json").permission == DENY


# -- on every host -----------------------------------------------------------------------------------

DENIED: dict[str, tuple[str, dict[str, Any], tuple[str, ...]]] = {
    "claude": ("PreToolUse", {"tool_name": "Write", "tool_input": {"file_path": "RECORD", "content": "x"}},
               ("hookSpecificOutput", "permissionDecision")),
    "codex": ("PreToolUse", {"tool_name": "apply_patch", "tool_input": {
        "command": "*** Begin Patch\n*** Update File: RECORD\n@@\n-a\n+b\n*** End Patch\n"}},
        ("hookSpecificOutput", "permissionDecision")),
    "gemini": ("BeforeTool", {"tool_name": "run_shell_command", "tool_input": {"command": "echo x >> RECORD"}},
               ("decision",)),
    "copilot": ("preToolUse", {"toolName": "create", "toolArgs": '{"path": "RECORD", "file_text": "x"}'},
                ("permissionDecision",)),
    "cursor": ("preToolUse", {"tool_name": "Shell", "tool_input": {"command": "sed -i s/a/b/ RECORD"}, "cwd": ""},
               ("permission",)),
    "opencode": ("tool.execute.before", {"tool_name": "edit", "tool_input": {
        "filePath": "RECORD", "oldString": "a", "newString": "b"}}, ("deny",)),
}  # fmt: skip


@pytest.mark.parametrize("host", DENIED)
def test_no_host_lets_its_agent_write_a_record(table: Work, host: str) -> None:
    event, given, place = DENIED[host]
    folder = {"cwd": str(table.folder), "workspace_roots": [str(table.folder)], "session_id": "h", "sessionId": "h"}
    data = json.dumps({"hook_event_name": event, **folder, **given}).replace("RECORD", str(table.record))
    done = subprocess.run(
        [sys.executable, "-c", "from kb.hooks import main; main()", event, "--host", host], input=data.encode(),
        capture_output=True, cwd=table.folder, check=False, env={**os.environ, "KB_HOME": str(table.root)},
    )  # fmt: skip
    said: Any = json.loads(done.stdout)
    for key in place:
        said = said[key]
    assert done.returncode == 0 and (said == "deny" or "only kb writes" in said), done


def test_a_denial_is_said_in_the_language_of_the_knowledge_base(work: Work) -> None:
    (work.root / "kb.toml").write_text('language = "zh"\n')
    assert work.write("src/auth/login.py").reason.endswith(f"下一步：读 {PATTERNS}")
    made = work.bash("rm -rf memory-bank")
    assert made.permission == DENY and "只有它的写入者可以写" in made.reason and "memory-bank" in made.reason


def test_asking_kb_itself_counts_as_reading_and_its_server_may_write(work: Work, kb: KnowledgeBase) -> None:
    for name in (PATTERNS, INDEX):
        (work.folder / name).unlink()
    add(kb, "decision", "Sessions expire after 30 minutes", decision=ENDS, impact=("src/auth/",), **REST)
    tools = ("mcp__kb__hint", "mcp__kb__search", "mcp__plugin_kb_kb__read", "mcp__kb__pack", "mcp_kb_search",
             "mcp_kb_pack", "kb_search", "kb_show", "mcp__plugin_kb_kb__search")  # fmt: skip
    for number, tool in enumerate(tools):
        payload = {"session_id": "s1", "cwd": str(work.folder), "tool_name": tool, "tool_input": {"query": "x"}}
        assert not can_skip_event("PreToolUse", payload, str(work.root)), tool
        assert work.call(tool, session=f"m{number}", query="x") == HookResponse()
        assert work.write("src/auth/login.py", session=f"m{number}").permission == "", tool
    assert work.call("mcp__kb__write", session="w", path="content/anchors/x.md") == HookResponse()
    assert work.write("src/auth/login.py", session="w").permission == DENY
