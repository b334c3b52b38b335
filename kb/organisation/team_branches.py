"""Write to a team's repository: through the gate in a temporary clone of its mirror, onto a branch of its own.

The hub keeps no records. What somebody hands in becomes a commit with them as its author, on a branch that is pushed
to the team's repository, or is handed back as a patch; a person merges it there, and the hub fetches it like any other.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from kb.adr.adopted import list_record_files
from kb.capture.submit import submit
from kb.config import FILE, load
from kb.errors import BadInput, Busy, GitFailed, NoKnowledgeBase
from kb.git.git_process import add_git_settings, run, scrub_environment
from kb.git.objects import is_unsafe_path
from kb.git.remote import CURRENT, RACED, SENT, RefUpdate, RemoteUnreachable, push_refs
from kb.git.repository import Repository
from kb.i18n import msg
from kb.organisation.hub import Hub
from kb.organisation.hub_config import hide_password
from kb.organisation.mirrors import Mirror, MirrorAddress, resolve_address
from kb.records.kinds import CONTENT, REJECTED, REVIEWS
from kb.records.model import Candidate, Verdict
from kb.state.project import OWN_BASE
from kb.text.segment import one_line, slugify
from kb.workspace import Workspace

MAX_CANDIDATES = 20
"""Candidates of one call, at most."""
_MAX_FILES = 200_000
_MAX_BYTES = 1_000_000_000
"""Files of records, and bytes of them, that are laid out for the gate, at most."""
_BATCH = 500
_NAME_LIMIT = 100
"""Characters of an author's name or address."""
_PATCH_FORMAT = (
    "--format=mboxrd",
    "--patch",
    "--binary",
    "--full-index",
    "--no-color",
    "--no-renames",
    "--reverse",
    "--first-parent",
    "--src-prefix=a/",
    "--dst-prefix=b/",
)
_PLAIN_MODES = frozenset({"100644", "100755"})


class TeamRepository(NamedTuple):
    """Where a team's knowledge base is, as the hub knows it."""

    name: str
    mirror: str
    """The folder of the bare mirror."""
    tip: str
    """The commit that is served."""
    root: str = ""
    """The folder of the knowledge base in the repository; "": its top."""
    remote: MirrorAddress | None = None
    """Where branches are pushed to; None: nowhere, and a patch is handed back."""


class TeamBranch(NamedTuple):
    """A branch with what was handed in."""

    name: str
    commit: str
    is_pushed: bool
    patch: str
    """What `git am` takes; "" where the branch has been pushed."""
    problem: str = ""
    """Why it could not be pushed, in the words of the remote."""


class TeamProposal(NamedTuple):
    """What became of candidates that were handed in for a team."""

    verdicts: tuple[Verdict, ...]
    branches: tuple[TeamBranch, ...]


def locate_team(hub: Hub, name: str, environment: Mapping[str, str], *, can_push: bool = False) -> TeamRepository:
    """Return where the repository *name* is; raise Busy where it has not been fetched yet.

    With *can_push*, branches go to where it is fetched from, with the token that *environment* has for it.
    """
    one = next(one for one in hub.config.repositories if one.name == name)
    tip = next((status.indexed for status in hub.status() if status.name == name), "")
    if not tip:
        raise Busy(msg("{name} has not been fetched yet", name=name), hint=msg("try again in a moment"))
    remote = resolve_address(hub.config, one, environment) if can_push else None
    return TeamRepository(name, Mirror(hub.config, one, environment).path, tip, one.folder.strip("/"), remote)


def propose_candidates(
    team: TeamRepository,
    candidates: Sequence[Candidate],
    author: tuple[str, str],
    environment: Mapping[str, str],
    *,
    dry_run: bool = False,
) -> TeamProposal:
    """Hand *candidates* to the gate of a team's knowledge base and put what it lets through onto branches.

    *author*: name and e-mail address. With *dry_run* nothing is built and nothing is pushed.
    """
    if len(candidates) > MAX_CANDIDATES:
        raise BadInput(msg("{n} candidates at once are too many", n=len(candidates)), hint=msg("send fewer"))
    with lay_out_clone(team, author, environment) as kb:
        before = {ref: _resolve(kb, ref) for ref in kb.repository.list_refs(REVIEWS.rstrip("/"))}
        verdicts = submit(kb, candidates, folder=kb.root, dry_run=dry_run)
        tips = {}
        if (tip := kb.repository.head().oid) != team.tip:
            tips[_name_branch(verdicts, tip)] = tip
        for ref in kb.repository.list_refs(REVIEWS.rstrip("/")):
            if (found := _resolve(kb, ref)) != before.get(ref, ""):
                tips[ref.removeprefix("refs/heads/")] = found
        return TeamProposal(tuple(verdicts), tuple(_publish_branches(kb, team, tips)))


def _resolve(kb: Workspace, ref: str) -> str:
    return kb.repository.resolve_ref(ref)


def _name_branch(verdicts: Sequence[Verdict], tip: str) -> str:
    """Return the name of a branch that nobody else has: two who write the same number at once each get their own."""
    first = next((verdict for verdict in verdicts if verdict.commit and verdict.verdict != "held"), None)
    words = f"{first.id}-{slugify(first.title)[:60].strip('-')}" if first else "records"
    return f"kb/write/{words}-{tip[:8]}"


def _publish_branches(kb: Workspace, team: TeamRepository, tips: Mapping[str, str]) -> Iterator[TeamBranch]:
    for name, tip in tips.items():
        pushed, problem = _push_branch(kb, team.remote, name, tip) if team.remote else ("", "")
        patch = "" if pushed else _render_patch(kb.repository, team.tip, tip)
        yield TeamBranch(pushed or name, tip, bool(pushed), patch, problem)


def _push_branch(kb: Workspace, remote: MirrorAddress, name: str, tip: str) -> tuple[str, str]:
    """Push the commit *tip* as the branch *name*; return the name it got, "" for none, and why it got none.

    A review of somebody else may have the name: the mirror knows no branch but the one that is served.
    """
    told = add_git_settings({**kb.environment, "GIT_ALLOW_PROTOCOL": remote.protocols}, remote.settings)
    repository = Repository(kb.root, told)
    problem = ""
    for free in (name, f"{name}-{tip[:8]}"):
        try:
            [result] = push_refs(repository, remote.url, [RefUpdate(f"refs/heads/{free}", tip)])
        except (RemoteUnreachable, GitFailed) as error:
            return "", hide_password(str(error))
        if result.outcome in (SENT, CURRENT):
            return free, ""
        problem = hide_password(result.reason)
        if result.outcome != RACED:
            break
    return "", problem


def _render_patch(repository: Repository, base: str, tip: str) -> str:
    """Return the commits from *base* to *tip* as one mailbox, for `git am`."""
    out = repository.git("log", *_PATCH_FORMAT, tip, f"^{base}", "--")
    return out.decode("utf-8", "replace")


# -- the clone --------------------------------------------------------------------------------------


@contextmanager
def lay_out_clone(team: TeamRepository, author: tuple[str, str], environment: Mapping[str, str]) -> Iterator[Workspace]:
    """Give the knowledge base of *team* in a clone that goes away; it borrows the objects of the mirror.

    Only the records and their settings are laid out: whatever else the repository has, its size does not matter.
    """
    own = _build_environment(author, environment)
    with tempfile.TemporaryDirectory(prefix="kb-hub-") as top:
        output = run(["git", "init", "-q", "-b", "main", top], scrub_environment(own))
        if output.code:
            raise GitFailed(msg("git {command} failed: {problem}", command="init", problem=output.error.strip()))
        alternates = os.path.join(top, ".git", "objects", "info", "alternates")
        with open(alternates, "w", encoding="utf-8") as file:
            file.write(os.path.join(os.path.realpath(team.mirror), "objects") + "\n")
        bare = Repository(top, own)
        bare.git("update-ref", "refs/heads/main", team.tip)
        _copy_refs(team, bare, own)
        root = os.path.join(top, *team.root.split("/")) if team.root else top
        prefix = f"{team.root}/" if team.root else ""
        if not _lay_out_files(bare, team.tip, [prefix + FILE]):
            raise NoKnowledgeBase(msg("{name} has no knowledge base", name=team.name))
        tops = [CONTENT, *list_record_files(load(root)).list_tops()]
        _lay_out_files(bare, team.tip, [prefix + each for each in tops])
        with Workspace(root, own, folder=root) as kb:
            yield kb


def _build_environment(author: tuple[str, str], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of the clone: the author's name, and nothing that speaks of the hub's own work."""
    kept = {key: value for key, value in environment.items() if not key.startswith("KB_")}
    name, email = (_clean_identity(value) for value in author)
    mine = {"GIT_COMMITTER_NAME": "kb hub", "GIT_COMMITTER_EMAIL": "kb-hub@localhost", OWN_BASE: "off"}
    return {**kept, **mine, "GIT_AUTHOR_NAME": name or "unknown", "GIT_AUTHOR_EMAIL": email or "unknown@localhost"}


def _clean_identity(value: str) -> str:
    """Return a name or address as git keeps it: on one line, without the marks between the two."""
    shown = "".join(letter for letter in one_line(value) if letter.isprintable() and letter not in "<>\\")
    return shown[:_NAME_LIMIT].strip(" .,:;'\"")


def _copy_refs(team: TeamRepository, bare: Repository, environment: Mapping[str, str]) -> None:
    """Let the clone see the open and the rejected reviews of the mirror: what stands there is not proposed again."""
    form = "--format=%(objectname) %(refname)"
    where = [REVIEWS.rstrip("/"), REJECTED.rstrip("/")]
    words = ["git", f"--git-dir={team.mirror}", "for-each-ref", form, *where]
    output = run(words, scrub_environment(environment))
    rows = (row.split(" ", 1) for row in output.out.decode("utf-8", "replace").splitlines())
    lines = "".join(f"create {ref}\0{oid}\0" for oid, ref in rows)
    bare.git("update-ref", "-z", "--stdin", stdin=lines.encode())


def _lay_out_files(bare: Repository, tip: str, where: Sequence[str]) -> int:
    """Write the plain files at or below the paths *where* into the work tree and git's index; return how many."""
    out = bare.git("ls-tree", "-r", "-l", "-z", "--full-tree", tip, "--", *where)
    rows = []
    size = 0
    for row in out.decode("utf-8", "surrogateescape").split("\0"):
        meta, _, path = row.partition("\t")
        words = meta.split()
        # a link would lead the gate elsewhere, and a name like ".git" into git's own folder
        if len(words) != 4 or words[0] not in _PLAIN_MODES or is_unsafe_path(path) or "\n" in path:
            continue
        size += int(words[3]) if words[3].isdigit() else 0
        rows.append((words[0], words[2], path))
        if len(rows) > _MAX_FILES or size > _MAX_BYTES:
            raise BadInput(msg("the knowledge base is too large to write to over the hub"))
    index = "".join(f"{mode} {oid}\t{path}\0" for mode, oid, path in rows)
    bare.git("update-index", "-z", "--index-info", stdin=index.encode("utf-8", "surrogateescape"))
    for at in range(0, len(rows), _BATCH):
        paths = [path for _, _, path in rows[at : at + _BATCH]]
        for path, data in bare.read_files(tip, paths).items():
            name = os.path.join(bare.top, *path.split("/"))
            os.makedirs(os.path.dirname(name), exist_ok=True)
            with open(name, "xb") as file:
                file.write(data or b"")
    return len(rows)
