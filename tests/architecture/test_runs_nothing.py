"""What a record says is never run: every start of a program has a place and a purpose, and traps stay untouched."""

import ast
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest

import kb
from kb.hosts import EVENTS
from kb.knowledge_base import KnowledgeBase
from tests.support.clones import decision, one
from tests.support.command_line import run
from tests.support.sealed import git

ROOT = Path(kb.__file__).parent
STARTS = {
    "git.git_process": "git, with lists of arguments and settings of kb's own",
    "state.json_clients": "KB_LLM_CMD, KB_EMBED_CMD and others, which the user's environment names",
    "doctor.base_checks": "the hook line that kb itself has installed",
    "hooks": "imports the module of a host from the table of hosts",
    "hooks.foreign_hooks": "imports the module of a host from the table of hosts",
    "__init__": "imports the module of a name from the table of names",
    "cli.setup_commands": "the browser of a person who asks to see the wiki that is served (--open)",
    "cli.terminal": "the person's own pager ($KB_PAGER, $PAGER, less) and editor ($VISUAL, $EDITOR), at a terminal",
    "wiki.build": "the module of the builder that --builder names from a table of two",
    "cli.group": "imports the module of a command from the table of commands",
    "checks.run_verification": "the commands of a Verification section, on a person's word",
    "hub": "further processes of the hub itself (processes in hub.toml)",
    "hub.code_hosts": "nothing; it names the type of the pipe between these processes",
}
"""Every module that can start a program or make code of data, and what for. A new one is a line here, and a reason."""

SHELLS = {
    "writing.init_base": "the line of the merge driver that kb writes, tried on a record of its own",
    "doctor.base_checks": "the hook line that kb itself has installed",
    "checks.run_verification": "the commands of a Verification section, on a person's word",
}
"""Every module that names a shell."""

SHELL_NAMES = {"sh", "bash", "zsh", "dash", "cmd", "cmd.exe", "powershell"}
MAKERS = {
    "subprocess", "pty", "multiprocessing", "runpy", "ctypes", "pickle", "shelve", "marshal", "webbrowser", "code",
    "codeop",
}  # fmt: skip
CALLS = {"eval", "exec", "compile", "__import__", "import_module"}
METHODS = {
    "system", "popen", "startfile", "fork", "forkpty", "launch", "import_module", "spawnl", "spawnle", "spawnlp",
    "spawnv", "spawnve", "spawnvp", "posix_spawn", "posix_spawnp", "execl", "execle", "execlp", "execv", "execve",
    "execvp", "execvpe", "create_subprocess_exec", "create_subprocess_shell", "unsafe_load", "full_load",
}  # fmt: skip


def starts(tree: ast.AST) -> Iterator[str]:
    """Yield what in a module can start a program or make code of data."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.partition(".")[0] in MAKERS)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.partition(".")[0] in MAKERS:
            yield node.module
        elif isinstance(node, ast.Call):
            called = node.func
            if isinstance(called, ast.Name) and called.id in CALLS:
                yield called.id
            elif isinstance(called, ast.Attribute) and (called.attr in METHODS or ast.unparse(called) == "click.edit"):
                yield ast.unparse(called)
            yield from ("shell=True" for keyword in node.keywords if keyword.arg == "shell")


@pytest.mark.parametrize(
    "code",
    [
        "import subprocess", "from subprocess import run", "os.system(x)", "os.execvp(a, b)", "eval(x)",
        "import_module(x)", "run(x, shell=y)", "click.edit(x)", "asyncio.create_subprocess_shell(x)",
    ],
)  # fmt: skip
def test_a_start_is_seen(code: str) -> None:
    assert list(starts(ast.parse(code)))


def modules(has: Callable[[ast.AST], bool], words: Iterable[str]) -> set[str]:
    """Return the modules of kb, without its name, whose code *has* something that is written with one of *words*."""
    texts = ((path, path.read_text("utf-8")) for path in ROOT.rglob("*.py"))
    files = (path for path, text in texts if any(word in text for word in words) and has(ast.parse(text)))
    names = (".".join(path.relative_to(ROOT).with_suffix("").parts) for path in files)
    return {name.removesuffix(".__init__") for name in names}


def test_every_start_of_a_program_has_a_purpose() -> None:
    assert modules(lambda tree: any(starts(tree)), MAKERS | CALLS | METHODS | {"shell", "click"}) == set(STARTS)


def names_a_shell(tree: ast.AST) -> bool:
    """Return whether a module has the beginning of a command for a shell: `["sh", "-c", …]`."""
    lists = [[ast.unparse(element) for element in n.elts] for n in ast.walk(tree) if isinstance(n, ast.List)]
    return any("'-c'" in words and words[0].rpartition("/")[2].strip("'") in SHELL_NAMES for words in lists)


def test_a_shell_is_given_nothing_but_what_a_person_has_agreed_to() -> None:
    assert modules(names_a_shell, ["-c"]) == set(SHELLS)


def test_only_the_command_verify_reaches_what_runs() -> None:
    assert modules(lambda tree: "kb.checks.run_verification" in ast.unparse(tree), ["verify"]) == {"cli.check_commands"}


# -- traps ----------------------------------------------------------------------------------------


@pytest.fixture
def trap(kb: KnowledgeBase, tmp_path: Path) -> Path:
    """The place where a mark appears as soon as anything runs what a record says."""
    mark = tmp_path / "ran"
    call = f"touch {mark}"
    texts = (
        f"`{call}` $({call}) ; {call} | {call} && {call}\n\n```sh\n{call}\n```\n\n```console\n$ {call}\n```\n\n"
        f"$ {call}\n\n!!python/object/apply:os.system ['{call}']\n\n{{{{ ''.__class__ }}}} {{% include '{mark}' %}}\n\n"
        f'--8<-- "{mark}"\n[x](`{call}`) <img src=x onerror="{call}"> ${{{call}}} %({call})s'
    )
    fields = dict.fromkeys(("decision", "alternatives", "why", "verification", "rollback"), texts)
    for number in range(3):
        said = f"{decision(number).decision} {texts}"
        wild = decision(number, **(fields | {"decision": said}), tags=(f"$({call})",))
        one(kb, wild._replace(title=f"{wild.title} `{call}`" if number else wild.title, impact=(f"$({call})",)))
    assert len(kb.records()) == 3
    return mark


def test_no_command_runs_what_a_record_says(kb: KnowledgeBase, root: Path, trap: Path, tmp_path: Path) -> None:
    for line in (
        "list", "show D001", "show D001 --json", "show D001 --short", "search FastAPI", "hint t1", "hint t2 -k FastAPI",
        "hint avatar --avatar 身 --task FastAPI", "spawn --avatar 身 --task FastAPI", "log D001", "history D001",
        "refs D001", "check", "check --fix", "check --format github", "inbox", "review", "export wukong",
        "session list",
        "alaya seeds", "confirm D001", "verify D001", "verify D001 --json", "verify D001 --run", "doctor",
        "config",
    ):  # fmt: skip
        assert run(root, *line.split()).code in (0, 1, 2, 5), line
    assert run(root, "wiki", "build", "-o", str(tmp_path / "site"), "--no-strict").code == 0
    assert run(root, "import", "adr", "content/anchors", "--dry-run").code in (0, 1, 3)
    assert not trap.exists()


def test_no_hook_runs_what_a_record_or_a_session_says(
    kb: KnowledgeBase, root: Path, trap: Path, tmp_path: Path
) -> None:
    said = f"We decided to use Redis as the cache because `touch {trap}` $(touch {trap}). Verification: `touch {trap}`"
    session = tmp_path / "session.jsonl"
    rows = [{"type": "user", "message": {"role": "user", "content": said}, "sessionId": "s9", "cwd": str(root)}]
    rows += [{"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": said}]}}]
    session.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    for word in EVENTS:
        payload = {
            "session_id": "s9", "transcript_path": str(session), "cwd": str(root), "hook_event_name": EVENTS[word],
            "prompt": "Gateway deadlines?", "agent_type": "身", "source": "compact",
        }  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", "from kb.hooks import main; main()", word],
            input=json.dumps(payload).encode(),
            env={**os.environ, "KB_HOME": str(root)}, cwd=root, capture_output=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
    assert not trap.exists()
    assert git(root, "status", "--porcelain", "--untracked-files=no") == ""


def test_the_trap_works(kb: KnowledgeBase, root: Path, trap: Path) -> None:
    run(root, "verify", "D001", "--run", "--yes")
    assert trap.exists()
