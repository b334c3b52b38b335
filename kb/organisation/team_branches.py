"""Write to a team's repository: through the gate in a temporary clone of its mirror, onto a branch of its own.

The hub stores no records. A submitted candidate becomes a commit by its author, on a branch that is pushed to the
team's repository, or is returned as a patch. A person merges it there, and the hub fetches it like any other commit.
If the same has been proposed already, the answer is its branch.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import NamedTuple

from kb.adr.adopted import list_record_files
from kb.capture.submit import submit
from kb.config import FILE, load
from kb.errors import BadInput, BadRecord, Busy, GitFailed, KbError, NoDecision, NoKnowledgeBase
from kb.git.commit_message import add_remarks
from kb.git.git_process import add_git_settings, run, scrub_environment
from kb.git.objects import is_unsafe_path
from kb.git.remote import CURRENT, RACED, SENT, RefUpdate, RemoteUnreachable, push_refs
from kb.git.repository import Repository
from kb.i18n import msg
from kb.organisation.hub import Hub
from kb.organisation.hub_config import hide_password
from kb.organisation.mirrors import PROPOSALS, WRITES, Mirror, MirrorAddress, resolve_address
from kb.records.kinds import CONTENT, REVIEWS
from kb.records.model import Candidate, Record, Verdict
from kb.safety.redaction import redact_candidate
from kb.similarity.duplicates import find_duplicate
from kb.state.project import OWN_BASE
from kb.text.segment import one_line, slugify
from kb.workspace import Workspace
from kb.writing.pipeline import promote
from kb.writing.quality import hold_injection, parse_candidate

MAX_CANDIDATES = 20
"""Maximum number of candidates per call."""
_MAX_FILES = 200_000
_MAX_BYTES = 1_000_000_000
"""Limit of bytes of the record files checked out for the gate."""
_MAX_WAITING = 200
"""Newest branches with new records to compare a candidate with."""
_BATCH = 500
_NAME_LIMIT = 100
"""Maximum characters of an author's name or address."""
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
    """The location of a team's knowledge base for the hub."""

    name: str
    mirror: str
    """The folder of the bare mirror."""
    tip: str
    """The commit the hub serves."""
    root: str = ""
    """The folder of the knowledge base in the repository; "" for the top."""
    remote: MirrorAddress | None = None
    """The address to push branches to, or None to return a patch."""
    refresh: Callable[[], None] | None = None
    """Fetches the proposal branches; raises KbError."""


class TeamBranch(NamedTuple):
    """A branch with submitted candidates."""

    name: str
    commit: str
    is_pushed: bool
    patch: str
    """A patch for `git am`, or "" if the branch was pushed."""
    problem: str = ""
    """The remote's message why it could not be pushed."""
    is_new: bool = True
    """False: the same was already proposed, on this branch."""
    remarks: str = ""
    """Why the gate would have held it, for the text of the pull request and its commit."""


class TeamProposal(NamedTuple):
    """The result of submitting candidates to a team."""

    verdicts: tuple[Verdict, ...]
    branches: tuple[TeamBranch, ...]
    held: tuple[Candidate | None, ...] = ()
    """For each verdict "held", the candidate with masked secrets; the hub does not store it."""


class OpenWrite(NamedTuple):
    """A record on a branch that a person has not merged yet."""

    branch: str
    tip: str
    record: Record


class _Raced(Exception):
    """Another process has pushed a branch of the same name meanwhile."""


def locate_team(hub: Hub, name: str, environment: Mapping[str, str], *, can_push: bool = False) -> TeamRepository:
    """Return the location of the repository *name*; raise Busy if it has not been fetched yet.

    With *can_push*, branches are pushed to its remote, with the token in *environment*.
    """
    one = next(one for one in hub.config.repositories if one.name == name)
    tip = next((status.indexed for status in hub.status() if status.name == name), "")
    if not tip:
        raise Busy(msg("{name} has not been fetched yet", name=name), hint=msg("try again in a moment"))
    remote = resolve_address(hub.config, one, environment) if can_push else None
    mirror = Mirror(hub.config, one, environment).path
    return TeamRepository(name, mirror, tip, one.folder.strip("/"), remote, lambda: hub.fetch_proposals(name))


def propose_candidates(
    team: TeamRepository,
    candidates: Sequence[Candidate],
    author: tuple[str, str],
    environment: Mapping[str, str],
    *,
    dry_run: bool = False,
    with_held: bool = False,
) -> TeamProposal:
    """Submit *candidates* to the gate of a team's knowledge base and put the admitted ones onto branches.

    *author*: name and e-mail address. With *dry_run* nothing is built or pushed. *with_held*: held candidates get
    branches of their own, with the gate's remarks.
    """
    if len(candidates) > MAX_CANDIDATES:
        raise BadInput(msg("{n} candidates at once are too many", n=len(candidates)), hint=msg("send fewer"))
    for is_last in (False, True):
        if team.refresh:
            with suppress(KbError):  # without its remote, use the last fetched state
                team.refresh()
        call = _Call(team, author, environment, dry_run, with_held, takes_other_name=is_last or not team.refresh)
        try:
            return call.propose(candidates)
        except _Raced:
            continue
    raise AssertionError("the last try takes another name")


class _Call(NamedTuple):
    """One attempt to propose candidates."""

    team: TeamRepository
    author: tuple[str, str]
    environment: Mapping[str, str]
    dry_run: bool
    with_held: bool
    takes_other_name: bool
    """Whether a branch gets another name if its name is taken; otherwise that is a lost race."""

    def propose(self, candidates: Sequence[Candidate]) -> TeamProposal:
        """Propose *candidates* and return the result; raise _Raced."""
        verdicts: dict[int, Verdict] = {}
        held: dict[int, Candidate] = {}
        with lay_out_clone(self.team, self.author, self.environment) as kb:
            waiting = _list_open_writes(kb, self.team.tip)
            for number, candidate in enumerate(candidates):
                if same := _find_waiting(kb, candidate, waiting):
                    verdicts[number] = _build_waiting_verdict(kb, same)
            remaining = [number for number in range(len(candidates)) if number not in verdicts]
            found, branches = self._submit(kb, [candidates[number] for number in remaining], waiting)
            verdicts.update(zip(remaining, found, strict=True))
            for number in remaining:
                if verdicts[number].verdict == "held":
                    held[number] = _read_candidate(kb, candidates[number])
        for one in waiting:
            if any(verdict.branch == one.branch for verdict in verdicts.values()) and one.branch not in branches:
                branches[one.branch] = TeamBranch(one.branch, one.tip, True, "", is_new=False)
        if held and self.with_held and not self.dry_run:
            for number, (verdict, branch) in self._propose_held(held).items():
                verdicts[number] = verdict
                branches[branch.name] = branch
        numbers = range(len(candidates))
        candidates_held = tuple(held.get(number) if verdicts[number].verdict == "held" else None for number in numbers)
        return TeamProposal(tuple(verdicts[number] for number in numbers), tuple(branches.values()), candidates_held)

    def _submit(
        self, kb: Workspace, candidates: Sequence[Candidate], waiting: Sequence[OpenWrite]
    ) -> tuple[list[Verdict], dict[str, TeamBranch]]:
        """Return the verdicts on *candidates*, and the branches with them, by name."""
        before = {ref: kb.repository.resolve_ref(ref) for ref in kb.repository.list_refs(REVIEWS.rstrip("/"))}
        verdicts = submit(kb, candidates, folder=kb.root, dry_run=self.dry_run) if candidates else []
        branches: dict[str, TeamBranch] = {}
        if (tip := kb.repository.head().oid) != self.team.tip:
            changes = _list_changes(kb, self.team.tip, tip)
            same = next((one for one in waiting if _list_changes(kb, self.team.tip, one.tip) == changes), None)
            if same:
                branches[same.branch] = TeamBranch(same.branch, same.tip, True, "", is_new=False)
                verdicts = [one._replace(branch=same.branch) if one.commit == tip else one for one in verdicts]
            else:
                name = _name_branch(verdicts, tip)
                branches[name] = self._publish(kb, name, tip)
        for ref in kb.repository.list_refs(REVIEWS.rstrip("/")):
            name, old, now = ref.removeprefix("refs/heads/"), before.get(ref, ""), kb.repository.resolve_ref(ref)
            if now != old:
                made = self._publish(kb, name, now, old)
                branches[made.name] = made
            elif any(verdict.branch == name for verdict in verdicts):
                branches[name] = TeamBranch(name, now, True, "", is_new=False)
        return list(verdicts), branches

    def _publish(self, kb: Workspace, name: str, tip: str, old: str = "") -> TeamBranch:
        """Push the commit *tip* as the branch *name*, now at *old*; make a patch if that fails."""
        pushed = problem = ""
        if self.team.remote:
            pushed, problem = self._push(kb, self.team.remote, name, tip)
        patch = "" if pushed else _render_patch(kb.repository, old or self.team.tip, tip)
        return TeamBranch(pushed or name, tip, bool(pushed), patch, problem, is_new=not old)

    def _push(self, kb: Workspace, remote: MirrorAddress, name: str, tip: str) -> tuple[str, str]:
        """Return the name of the pushed branch, or "" and why it was not pushed; raise _Raced."""
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
            if not self.takes_other_name:
                raise _Raced(name)
        return "", problem

    def _propose_held(self, held: Mapping[int, Candidate]) -> dict[int, tuple[Verdict, TeamBranch]]:
        """Return position → verdict and branch of the *held* candidates, without those that stay held.

        Each is written as if promoted from the inbox, in a clone of its own, so that a team can merge one and not the
        other. Texts that give orders to an agent or hide something get no branch.
        """
        done: dict[int, tuple[Verdict, TeamBranch]] = {}
        for number, candidate in held.items():
            with lay_out_clone(self.team, self.author, self.environment) as kb:
                if any(hold_injection(parse_candidate(candidate, []), kb.config)):
                    continue
                [first] = submit(kb, [candidate], folder=kb.root)
                if first.verdict != "held":
                    continue
                verdict = promote(kb, first.id)
                if not verdict.commit or verdict.verdict == "held":
                    continue
                remarks = "\n".join(f"- {reason}" for reason in first.reasons)
                name = verdict.branch or _name_branch([verdict], verdict.commit)
                tip = _amend_remarks(kb, verdict.commit, kb.localise(msg("The gate would have held this:")), remarks)
                branch = self._publish(kb, name, tip)._replace(remarks=remarks)
                done[number] = (verdict._replace(branch=branch.name, commit=tip), branch)
        return done


def _name_branch(verdicts: Sequence[Verdict], tip: str) -> str:
    """Return a unique branch name: two callers who write the same record number at once get different ones."""
    first = next((verdict for verdict in verdicts if verdict.commit and verdict.verdict != "held"), None)
    words = f"{first.id}-{slugify(first.title)[:60].strip('-')}" if first else "records"
    return f"{WRITES.removeprefix('refs/heads/')}{words}-{tip[:8]}"


def _amend_remarks(kb: Workspace, commit: str, head: str, remarks: str) -> str:
    """Return a commit like *commit* whose message has *remarks* before its trailers."""
    message = kb.repository.git("log", "-1", "--format=%B", commit).decode("utf-8", "replace")
    parents = [
        word for one in kb.repository.git("log", "-1", "--format=%P", commit).decode().split() for word in ("-p", one)
    ]
    text = add_remarks(message, head, remarks).encode()
    return kb.repository.git("commit-tree", *parents, f"{commit}^{{tree}}", stdin=text).decode().strip()


def _render_patch(repository: Repository, base: str, tip: str) -> str:
    """Return the commits from *base* to *tip* as one mailbox, for `git am`."""
    out = repository.git("log", *_PATCH_FORMAT, tip, f"^{base}", "--")
    return out.decode("utf-8", "replace")


# -- what is proposed there already -----------------------------------------------------------------


def _list_open_writes(kb: Workspace, tip: str) -> list[OpenWrite]:
    """Return the new records on branches that are not merged into *tip*, the newest branches first."""
    form = "%(objectname) %(refname)"
    where = (f"--no-merged={tip}", "--sort=-committerdate", f"--count={_MAX_WAITING}", WRITES.rstrip("/"))
    asked: list[tuple[str, str, str]] = []
    for row in kb.repository.list_refs(*where, form=form):
        oid, _, ref = row.partition(" ")
        for line in _list_changes(kb, tip, oid):
            path = kb.repository.to_kb_path(line.partition("\t")[2])
            if kb.files.is_record_path(path):
                asked.append((ref.removeprefix("refs/heads/"), oid, path))
    there = kb.repository.read_blobs([(oid, path) for _, oid, path in asked])
    writes = []
    for (branch, oid, path), data in zip(asked, there, strict=True):
        with suppress(BadRecord, NoDecision):
            writes.append(OpenWrite(branch, oid, kb.files.read(data or b"", path)))
    return writes


def _list_changes(kb: Workspace, base: str, tip: str) -> list[str]:
    """Return the raw diff lines from *base* to *tip*, one per file."""
    words = ("diff", "--raw", "-z", "--no-abbrev", "--no-renames", "--no-ext-diff", f"{base}...{tip}", "--")
    parts = kb.repository.git(*words).decode("utf-8", "surrogateescape").split("\0")
    return sorted(f"{meta}\t{path}" for meta, path in zip(parts[::2], parts[1::2], strict=False))


def _read_candidate(kb: Workspace, candidate: Candidate) -> Candidate:
    """Return *candidate* as the gate reads it: with masked secrets and its resolved scope."""
    return redact_candidate(candidate, kb.config.masking)[0]._replace(scope=candidate.scope or kb.project(kb.root))


def _find_waiting(kb: Workspace, candidate: Candidate, waiting: Sequence[OpenWrite]) -> OpenWrite | None:
    """Return the unmerged new record with the same statement as *candidate*, or None."""
    read = _read_candidate(kb, candidate)
    new = [one for one in waiting if one.record.scope == read.scope and one.record.kind == read.kind]
    new = [one for one in new if not os.path.exists(os.path.join(kb.root, *one.record.path.split("/")))]
    match = find_duplicate(read, [one.record for one in new], kb.config.title_similarity) if new else None
    return next((one for one in new if match and one.record is match.record), None)


def _build_waiting_verdict(kb: Workspace, one: OpenWrite) -> Verdict:
    record = one.record
    reason = kb.localise(msg("it is proposed already, on the branch {branch}", branch=one.branch))
    about = {key: getattr(record, key) for key in ("title", "kind", "id", "uid", "scope", "path", "status")}
    return Verdict("unchanged", **about, reasons=(reason,), branch=one.branch)


# -- the clone --------------------------------------------------------------------------------------


@contextmanager
def lay_out_clone(team: TeamRepository, author: tuple[str, str], environment: Mapping[str, str]) -> Iterator[Workspace]:
    """Yield the knowledge base of *team* in a temporary clone that borrows the objects of the mirror.

    Only the records and their settings are checked out, so the size of the rest does not matter.
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
    """Return the environment of the clone: the author's name, and nothing of the hub's own settings."""
    own = {key: value for key, value in environment.items() if not key.startswith("KB_")}
    name, email = (_clean_identity(value) for value in author)
    mine = {"GIT_COMMITTER_NAME": "kb hub", "GIT_COMMITTER_EMAIL": "kb-hub@localhost", OWN_BASE: "off"}
    return {**own, **mine, "GIT_AUTHOR_NAME": name or "unknown", "GIT_AUTHOR_EMAIL": email or "unknown@localhost"}


def _clean_identity(value: str) -> str:
    """Return a name or address in git's format: on one line, without angle brackets."""
    shown = "".join(letter for letter in one_line(value) if letter.isprintable() and letter not in "<>\\")
    return shown[:_NAME_LIMIT].strip(" .,:;'\"")


def _copy_refs(team: TeamRepository, bare: Repository, environment: Mapping[str, str]) -> None:
    """Copy the refs of open and rejected proposals into the clone, so that they are not proposed again."""
    form = "--format=%(objectname) %(refname)"
    where = [one.rstrip("/") for one in PROPOSALS]
    words = ["git", f"--git-dir={team.mirror}", "for-each-ref", form, *where]
    output = run(words, scrub_environment(environment))
    rows = (row.split(" ", 1) for row in output.out.decode("utf-8", "replace").splitlines())
    lines = "".join(f"create {ref}\0{oid}\0" for oid, ref in rows)
    bare.git("update-ref", "-z", "--stdin", stdin=lines.encode())


def _lay_out_files(bare: Repository, tip: str, where: Sequence[str]) -> int:
    """Write the regular files at or under the paths *where* to the work tree and git's index; return their number."""
    out = bare.git("ls-tree", "-r", "-l", "-z", "--full-tree", tip, "--", *where)
    rows = []
    size = 0
    for row in out.decode("utf-8", "surrogateescape").split("\0"):
        meta, _, path = row.partition("\t")
        words = meta.split()
        # a link would lead the gate elsewhere, and a name like ".git" into git's folder
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
