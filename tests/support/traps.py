"""Traps: programs that leave a mark when they are run, and the places in which a repository can name them."""

import os
import shlex
import subprocess
from pathlib import Path

from tests.support.sealed import git

RECORD = "content/anchors/global/D001-use-fastapi-as-the-backend-framework.md"


class Trap:
    """A program that leaves a mark when it is run, and the settings that name it."""

    def __init__(self, root: Path, place: Path) -> None:
        self.root = root
        self.place = place
        place.mkdir()
        self._mark = place / "was run"
        self.program = self._made("trap", "")
        self.filter = self._made("filter", "cat")

    def _made(self, name: str, command: str) -> Path:
        path = self.place / name
        path.write_text(f'#!/bin/sh\necho "$0 $*" >> {shlex.quote(str(self._mark))}\n{command}\n')
        path.chmod(0o755)
        return path

    def setting(self, key: str, value: str | None = None) -> None:
        """Set *key* in the repository's own configuration, to the program unless *value* is given."""
        git(self.root, "config", key, str(self.program) if value is None else value)

    def hooks(self, folder: Path) -> None:
        """Put every hook there is in *folder*."""
        folder.mkdir(parents=True, exist_ok=True)
        names = (
            "pre-commit prepare-commit-msg commit-msg post-commit post-checkout post-merge pre-push pre-auto-gc "
            "post-rewrite post-index-change reference-transaction fsmonitor-watchman sendemail-validate"
        )
        for name in names.split():
            (folder / name).symlink_to(self.program)

    def attribute(self, line: str, *, committed: bool = True) -> None:
        """Add *line* to the attributes of the repository."""
        path = self.root / ".gitattributes"
        path.write_text((path.read_text() if path.exists() else "") + line + "\n")
        if committed:
            git(self.root, "-c", "core.hooksPath=/dev/null", "add", ".gitattributes")
            git(self.root, "-c", "core.hooksPath=/dev/null", "commit", "-qm", "Attributes")

    def was_run(self) -> str:
        """Return how the program has been called since this was asked last."""
        calls = self._mark.read_text() if self._mark.exists() else ""
        self._mark.unlink(missing_ok=True)
        return calls

    def works(self, *arguments: str, without: str = "", **environment: str) -> None:
        """Prove that the trap works: git itself, called like this, runs the program."""
        own = {key: value for key, value in os.environ.items() if key != without} | {"GIT_TERMINAL_PROMPT": "0"}
        command = ["git", "-C", str(self.root), *arguments]
        subprocess.run(
            command, capture_output=True, env={**own, **environment}, stdin=subprocess.DEVNULL, timeout=20, check=False
        )
        assert self.was_run(), f"git {shlex.join(arguments)} does not run it: the trap proves nothing"


QUIET = (
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "filter.trap.clean=", "-c",
    "filter.trap.process=",
)  # fmt: skip
"""How the test itself calls git where a trap is laid."""


def fsmonitor(trap: Trap) -> None:
    trap.setting("core.fsmonitor")
    trap.works("status")


def own_hooks(trap: Trap) -> None:
    trap.hooks(trap.root / ".git" / "hooks")
    trap.works("update-ref", "refs/x/y", "HEAD")


def hooks_path(trap: Trap) -> None:
    trap.hooks(trap.place / "hooks")
    trap.setting("core.hooksPath", str(trap.place / "hooks"))
    trap.works("commit", "-q", "--allow-empty", "-m", "x")


def tracked_hooks(trap: Trap) -> None:
    trap.hooks(trap.root / "hooks")
    trap.setting("core.hooksPath", "hooks")
    trap.works("update-ref", "refs/x/y", "HEAD")


def filters(trap: Trap) -> None:
    """Filters of files that are not kb's: nothing to refuse, nothing to run."""
    (trap.root / "code.txt").write_text("x\n")
    trap.attribute("*.txt filter=trap")
    git(trap.root, "add", "code.txt")
    git(trap.root, "commit", "-qm", "Code")
    for name in ("clean", "smudge", "process"):
        trap.setting(f"filter.trap.{name}", str(trap.filter))
    (trap.root / "code.txt").touch()
    trap.works("add", "--renormalize", "code.txt")


def external_diff(trap: Trap) -> None:
    git(trap.root, "commit", "-q", "--allow-empty", "-m", "x")
    trap.setting("diff.external")
    (trap.root / "kb.toml").write_text((trap.root / "kb.toml").read_text() + "\n")
    trap.works("diff")
    git(trap.root, "checkout", "--", "kb.toml")


def diff_command(trap: Trap) -> None:
    trap.attribute("*.md diff=trap\n*.toml diff=trap")
    trap.setting("diff.trap.command")
    (trap.root / "kb.toml").write_text((trap.root / "kb.toml").read_text() + "\n")
    trap.works("diff")
    git(trap.root, "checkout", "--", "kb.toml")


def textconv(trap: Trap) -> None:
    trap.attribute("*.md diff=trap\n*.toml diff=trap")
    trap.setting("diff.trap.textconv")
    (trap.root / "kb.toml").write_text((trap.root / "kb.toml").read_text() + "\n")
    trap.works("diff")
    git(trap.root, "checkout", "--", "kb.toml")


def diff_in_submodules(trap: Trap) -> None:
    """A difference of submodules can be shown by git in each, where other settings hold."""
    inner = submodule_of(trap)
    for subject in "yz":
        (inner / "file").write_text(subject)
        git(inner, "add", "file")
        git(inner, "commit", "-qm", subject)
        git(trap.root, "commit", "-qam", "Moved")
    git(inner, "config", "diff.external", str(trap.program))
    trap.setting("diff.submodule", "diff")
    trap.works("diff", "HEAD~1")


def submodule_of(trap: Trap) -> Path:
    """Return a submodule in the knowledge base."""
    inner = trap.root / "inner"
    git(trap.root, "init", "-q", "-b", "main", str(inner))
    git(inner, "commit", "-q", "--allow-empty", "-m", "x")
    (trap.root / ".gitmodules").write_text('[submodule "inner"]\n\tpath = inner\n\turl = ../inner\n')
    git(trap.root, "-c", "advice.addEmbeddedRepo=false", "add", ".gitmodules", "inner")
    git(trap.root, "submodule", "--quiet", "absorbgitdirs", "inner")
    git(trap.root, "commit", "-qm", "A submodule")
    return inner


def conflicting(trap: Trap) -> None:
    """Make two branches that change one file."""
    for branch, text in (("side", "a\n"), ("main", "b\n")):
        git(trap.root, "switch", "-q", *(["-c"] if branch == "side" else []), branch)
        (trap.root / "both.toml").write_text(text)
        git(trap.root, "add", "both.toml")
        git(trap.root, "commit", "-qm", branch)


def merge_driver(trap: Trap) -> None:
    (trap.root / ".git" / "info").mkdir(exist_ok=True)
    (trap.root / ".git" / "info" / "attributes").write_text("* merge=trap\n")
    trap.setting("merge.trap.driver", f"{shlex.quote(str(trap.program))} %A %O %B")
    conflicting(trap)
    trap.works("merge-tree", "--write-tree", "main", "side")


def own_merge_driver(trap: Trap) -> None:
    """Something else under the name of kb's own."""
    trap.attribute("* merge=kb")
    own = git(trap.root, "config", "merge.kb.driver").rstrip("\n")
    trap.setting("merge.kb.driver", own.replace("; [ -x", f"; {shlex.quote(str(trap.program))} %A </dev/null; [ -x", 1))
    conflicting(trap)
    trap.works("merge-tree", "--write-tree", "main", "side")


def verified_signatures(trap: Trap) -> None:
    """A log that shows signatures verifies them."""
    trap.setting("gpg.program")
    trap.setting("log.showSignature", "true")
    signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END PGP SIGNATURE-----"
    words = git(trap.root, "cat-file", "commit", "HEAD").replace("\n\n", f"\n{signature}\n\n", 1)
    command = ["git", "-C", str(trap.root), "hash-object", "-t", "commit", "-w", "--stdin"]
    signed = subprocess.run(command, input=words, capture_output=True, text=True, check=True).stdout.strip()
    git(trap.root, "reset", "-q", "--hard", signed)
    trap.works("log", "-1")


def commands_of_trailers(trap: Trap) -> None:
    for name in ("command", "cmd"):
        trap.setting(f"trailer.kb-op.{name}")
        trap.setting("trailer.kb-op.ifmissing", "add")
    trap.works("interpret-trailers", "--trailer", "kb-op=x", "kb.toml")


def alias(trap: Trap) -> None:
    for name in ("x", "status", "log", "diff", "cat-file", "update-ref", "update-index", "commit-tree", "merge-tree"):
        trap.setting(f"alias.{name}", f"!{shlex.quote(str(trap.program))}")
    trap.works("x")


def editor(trap: Trap) -> None:
    for key in ("core.editor", "sequence.editor"):
        trap.setting(key)
    trap.works("commit", "--allow-empty", without="GIT_EDITOR")


def pager(trap: Trap) -> None:
    for key in ("core.pager", "pager.log", "pager.diff", "pager.status", "pager.config"):
        trap.setting(key)
    command = shlex.join(["git", "-C", str(trap.root), "log", "-1"])
    subprocess.run(["script", "-qec", command, "/dev/null"], capture_output=True, stdin=subprocess.DEVNULL, check=False)
    assert trap.was_run()


def included(trap: Trap, key: str) -> None:
    filters(trap)
    for name in ("clean", "smudge", "process"):
        git(trap.root, "config", "--unset", f"filter.trap.{name}")
    git(trap.root, "add", "code.txt")
    (trap.root / "settings").write_text(
        f'[core]\n\tfsmonitor = "{trap.program}"\n[filter "trap"]\n\tclean = "{trap.filter}"\n'
    )
    trap.setting(key, "../settings")
    trap.works("status")
    (trap.root / "code.txt").touch()


def include(trap: Trap) -> None:
    """A file of the repository that its configuration includes: whoever pushes decides what it says."""
    included(trap, "include.path")


def included_on_condition(trap: Trap) -> None:
    included(trap, "includeIf.gitdir:**.path")


def settings_of_the_worktree(trap: Trap) -> None:
    trap.setting("extensions.worktreeConfig", "true")
    git(trap.root, "config", "--worktree", "core.fsmonitor", str(trap.program))
    trap.works("status")


TRAPS = [
    fsmonitor, own_hooks, hooks_path, tracked_hooks, filters, external_diff, diff_command, diff_in_submodules, textconv,
    merge_driver, own_merge_driver, verified_signatures, commands_of_trailers, alias, editor, pager, include,
    included_on_condition, settings_of_the_worktree,
]  # fmt: skip


def users_own(trap: Trap, **settings: str) -> dict[str, str]:
    """Return an environment in which *settings* ("section__name") are the user's own."""
    path = trap.place / "user"
    for key, value in settings.items():
        command = ["git", "config", "--file", str(path), key.replace("__", "."), value]
        subprocess.run(command, check=True)
    return {**os.environ, "GIT_CONFIG_GLOBAL": str(path)}
