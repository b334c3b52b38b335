"""Find a committed secret, and print the commands that remove it from the history; nothing is removed here.

The report masks the secret, also in names that contain it. The prepared files contain it in clear text only if no
pattern of fixed length matches exactly this secret.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Iterable, Iterator
from itertools import count, pairwise
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import quote

from kb.errors import BadInput
from kb.git.git_process import parse_batch
from kb.i18n import msg
from kb.records.kinds import INBOX, REJECTED
from kb.safety import redaction
from kb.sessions.render_forms import render_template
from kb.templates import FOLDER

if TYPE_CHECKING:
    from kb.workspace import Workspace


MIN_SECRET_CHARACTERS = 6
"""Shortest secret to search for; anything shorter would match ordinary words."""
MASK = "[redacted:purged]"
_BATCH_BYTES = 32_000_000
"""Bytes of objects read from git in one call."""
_COMMITS = 100
"""Commits passed to git in one call."""
_ISSUED = re.compile(r"[A-Za-z][A-Za-z0-9]{1,11}(?:[-_][a-z0-9]{2,8})?[-_.]|AKIA|ASIA|AIza|LTAI|AKID")
"""Public prefixes of issued tokens; they are not secret."""
_RENAME = """\
import re
for line in open({replacements!r}, "rb").read().splitlines():
    kind, _, rest = line.partition(b":")
    old = rest.rpartition(b"==>")[0]
    filename = re.sub(old if kind == b"regex" else re.escape(old), b"redacted", filename)
return filename
"""
"""Body of the callback with which git filter-repo renames files."""
_ISSUERS = {
    "aws-access-key": "AWS IAM → Users → Security credentials",
    "aws-secret-key": "AWS IAM → Users → Security credentials",
    "github-token": "https://github.com/settings/tokens",
    "gitlab-token": "GitLab → Preferences → Access tokens",
    "slack-token": "https://api.slack.com/apps",
    "google-key": "https://console.cloud.google.com/apis/credentials",
    "stripe-key": "https://dashboard.stripe.com/apikeys",
    "anthropic-key": "https://console.anthropic.com/settings/keys",
    "openai-key": "https://platform.openai.com/api-keys",
    "npm-token": "https://www.npmjs.com/settings/~/tokens",
    "pypi-token": "https://pypi.org/manage/account/token/",
    "huggingface-token": "https://huggingface.co/settings/tokens",
    "aliyun-key": "https://ram.console.aliyun.com/manage/ak",
    "tencent-key": "https://console.cloud.tencent.com/cam/capi",
}
"""Rule → where a secret that it recognises is revoked."""


class SecretHit(NamedTuple):
    """A git object that contains the secret."""

    kind: str
    """blob (a file), commit (its message), tag (its message) or tree (a file name)."""
    oid: str
    commits: tuple[str, ...] = ()
    """The commits that introduced it."""
    path: str = ""


class SecretReport(NamedTuple):
    """Where the secret was found."""

    files: tuple[str, ...]
    """Lines of files in the work tree, `path:line`."""
    state: tuple[str, ...]
    """Files below `.kb/` and in the user's state folder."""
    hits: tuple[SecretHit, ...]
    refs: tuple[str, ...]
    """Refs from which one of the hits can be reached."""
    named: tuple[str, ...]
    """Refs whose own name contains it, masked."""
    inside: tuple[str, ...]
    """Other files of git: reflogs, messages, settings."""
    remotes: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return any(self[:6])


class SecretQuery(NamedTuple):
    """A secret, and the encodings in which it may be written."""

    literals: tuple[bytes, ...]
    pattern: str = ""
    """A regular expression of fixed length that can replace the secret, or ""."""

    def is_found_in(self, data: bytes) -> bool:
        """Return whether *data* contains the secret in one of its encodings."""
        return any(literal in data for literal in self.literals)

    def mask_secret(self, text: str) -> str:
        """Return *text* with the secret masked."""
        data = text.encode("utf-8", "surrogateescape")
        for literal in self.literals:
            data = data.replace(literal, MASK.encode())
        return data.decode("utf-8", "replace")


class PurgePlan(NamedTuple):
    """The prepared folder and the steps for a person to run."""

    folder: str
    in_clear: bool
    """Whether one of its files contains the secret in clear text."""
    steps: str
    """What to do, in order, as Markdown."""


def parse_secret(secret: str) -> SecretQuery:
    """Return the query for *secret*; raise BadInput if it is too short."""
    lines = [line.strip() for line in secret.strip().splitlines()]
    wanted = (
        lines
        if len(lines) == 1
        else [line for line in lines if len(line) >= 2 * MIN_SECRET_CHARACTERS and "-----" not in line]
    )
    if not wanted or len(wanted[0]) < MIN_SECRET_CHARACTERS:
        raise BadInput(
            msg("the secret is shorter than {count} characters", count=MIN_SECRET_CHARACTERS),
            hint=msg("search the history: git log -S"),
        )
    forms = [
        form
        for line in wanted
        for form in (line, json.dumps(line)[1:-1], json.dumps(line, ensure_ascii=False)[1:-1], quote(line, ""))
    ]
    literals = tuple(dict.fromkeys(form.encode("utf-8", "surrogateescape") for form in forms))
    return SecretQuery(literals, _build_token_pattern(wanted[0]) if len(literals) == 1 else "")


def _build_token_pattern(secret: str) -> str:
    """Return a pattern for a token: its public prefix and the number of characters after it, or ""."""
    head = found[0] if (found := _ISSUED.match(secret)) else ""
    tail = secret[len(head) :]
    if len(tail) < 16 or not re.fullmatch(r"[A-Za-z0-9_-]+", tail):
        return ""
    sign = "[A-Za-z0-9]" if tail.isalnum() else "[A-Za-z0-9_-]"
    return rf"(?<![A-Za-z0-9_-]){re.escape(head)}{sign}{{{len(tail)}}}(?![A-Za-z0-9_-])"


# -- finding --------------------------------------------------------------------------------------


def locate_secret(kb: Workspace, wanted: SecretQuery) -> tuple[SecretReport, bool]:
    """Return where the secret is, and whether its pattern matches all its places and nothing else in the history."""
    repository = kb.repository
    pattern = re.compile(wanted.pattern.encode()) if wanted.pattern else None
    is_exact = pattern is not None
    objects: list[tuple[str, str]] = []
    for kind, oid, data in _iter_objects(kb):
        if wanted.is_found_in(data):
            objects.append((kind, oid))
        if pattern and is_exact:
            is_exact = pattern.findall(data) == [wanted.literals[0]] * data.count(wanted.literals[0])
    brought = _find_introductions(kb, {oid for kind, oid in objects if kind == "blob"})
    brought |= {oid: ([oid], "") for kind, oid in objects if kind == "commit"}
    hits: list[SecretHit] = []
    for kind, oid in objects:
        commits, path = brought.get(oid, ([], ""))
        hits.append(SecretHit(kind, oid, tuple(commits), wanted.mask_secret(path)))
    urls = repository.git("config", "--get-regexp", r"^remote\..*\.url$", check=False).decode().split()[::2]
    # state files of kb, and files that this command prepared before
    state = [*_walk_files(kb.state.folder, set()), *kb.state.list_spooled(), *kb.state.list_quarantined()]
    report = SecretReport(
        tuple(_find_in_work_tree(kb, wanted)),
        _find_in_files(wanted, state),
        tuple(hits),
        tuple(map(wanted.mask_secret, _find_refs(kb, hits))),
        tuple(map(wanted.mask_secret, _find_ref_names(kb, wanted))),
        _find_in_files(wanted, _walk_files(repository.common_dir, {"objects", "refs"}), by_name=False),
        tuple(key.removeprefix("remote.").removesuffix(".url") for key in urls),
    )
    return report, is_exact


def _iter_objects(kb: Workspace) -> Iterator[tuple[str, str, bytes]]:
    """Yield kind, id and bytes of every object, reachable or not."""
    form = "--batch-check=%(objecttype) %(objectname) %(objectsize)"
    rows = kb.repository.git("cat-file", "--batch-all-objects", form).decode().splitlines()
    chunks: list[str] = [""]
    size = 0
    for row in rows:
        _, oid, length = row.split(" ")
        if size > _BATCH_BYTES:
            chunks.append("")
            size = 0
        chunks[-1] += f"{oid}\n"
        size += int(length)
    for chunk in filter(None, chunks):
        out = kb.repository.git("cat-file", "--batch", stdin=chunk.encode())
        yield from ((kind, oid, data) for oid, kind, data in parse_batch(out) if data is not None)


def _find_introductions(kb: Workspace, blobs: set[str]) -> dict[str, tuple[list[str], str]]:
    """Return for each blob the commits that introduced it, oldest last, and its path; reflogs are searched too."""
    if not blobs:
        return {}
    options = ("--all", "--reflog", "-m", "--root", "--raw", "--no-abbrev", "--no-renames", "-z", "--format=%x01%H")
    output = kb.repository.git("log", *options)
    introductions: dict[str, tuple[list[str], str]] = {}
    for part in output.decode("utf-8", "surrogateescape").split("\x01")[1:]:
        commit, *rows = [row for row in re.split(r"[\0\n]", part) if row]
        for row, path in pairwise(rows):
            fields = row.split(" ")  # ":100644 100644 <old> <new> M", then the path
            if row.startswith(":") and len(fields) == 5 and fields[3] in blobs:
                commits, _ = introductions.setdefault(fields[3], ([], path))
                if commit not in commits:
                    commits.append(commit)
    return introductions


def _find_refs(kb: Workspace, hits: Iterable[SecretHit]) -> list[str]:
    """Return the refs that contain a commit among *hits* or are one of its tags."""
    commits = list(dict.fromkeys(commit for hit in hits for commit in hit.commits))
    tags = {hit.oid for hit in hits if hit.kind == "tag"}
    rows = (row.split(" ") for row in kb.repository.list_refs("refs", form="%(objectname) %(refname)"))
    refs = {row[1] for row in rows if row[0] in tags}
    for start in range(0, len(commits), _COMMITS):
        asked = [f"--contains={commit}" for commit in commits[start : start + _COMMITS]]
        refs |= set(kb.repository.list_refs(*asked))
    return sorted(refs)


def _find_ref_names(kb: Workspace, wanted: SecretQuery) -> list[str]:
    return [name for name in kb.repository.list_refs("refs") if wanted.is_found_in(name.encode())]


def _find_in_work_tree(kb: Workspace, wanted: SecretQuery) -> Iterator[str]:
    for path in _walk_files(kb.repository.top, {".git", ".kb"}):
        name = wanted.mask_secret(os.path.relpath(path, kb.repository.top))
        if wanted.is_found_in(os.fsencode(path)):
            yield name
        data = _read_content(path)
        lines = data.split(b"\n") if wanted.is_found_in(data) else []
        yield from (f"{name}:{number}" for number, line in enumerate(lines, 1) if wanted.is_found_in(line))


def _find_in_files(wanted: SecretQuery, paths: Iterable[str], *, by_name: bool = True) -> tuple[str, ...]:
    """Return those of *paths* whose content, or *by_name* whose name, contains the secret."""
    return tuple(
        wanted.mask_secret(path)
        for path in dict.fromkeys(paths)
        if wanted.is_found_in(_read_content(path)) or (by_name and wanted.is_found_in(os.fsencode(path)))
    )


def _walk_files(top: str, without: set[str]) -> Iterator[str]:
    for folder, folders, names in os.walk(top):
        folders[:] = sorted(name for name in folders if name not in without)
        yield from (os.path.join(folder, name) for name in sorted(names))


def _read_content(path: str) -> bytes:
    try:
        if os.path.isfile(path):
            with open(path, "rb") as file:
                return file.read()
    except OSError:
        pass
    return b""


# -- preparing ------------------------------------------------------------------------------------


def prepare_purge(kb: Workspace, secret: str, wanted: SecretQuery, report: SecretReport, *, alone: bool) -> PurgePlan:
    """Write the files that rewrite the history into a folder only its owner can read; run nothing.

    *alone*: the pattern of *wanted* matches only the secret, so no file contains it in clear text.
    """
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(kb.now()))
    kb.state.ensure_folder()
    folder = kb.state.path("purge", stamp)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    os.chmod(kb.state.path("purge"), 0o700)

    def write_private(name: str, text: str) -> None:
        path = os.path.join(folder, name)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "surrogateescape"))

    literals = [f"literal:{one.decode('utf-8', 'surrogateescape')}" for one in wanted.literals]
    lines = [f"regex:{wanted.pattern}"] if alone else literals
    write_private("replacements.txt", "".join(f"{line}==>{MASK}\n" for line in lines))
    if names := _find_ref_names(kb, wanted):
        write_private("refs.txt", "".join(f"delete {name}\n" for name in names))
    if any(hit.kind == "tree" for hit in report.hits):
        write_private("filenames.py", _RENAME.format(replacements=os.path.join(folder, "replacements.txt")))
    rule = next((rule for _, rule in redaction.locate_secrets(secret)), "")
    text = _render_steps(kb, report, folder, in_clear=not alone, rule=rule)
    write_private("steps.md", text)
    return PurgePlan(folder, not alone or bool(report.named), text)


def _render_steps(kb: Workspace, report: SecretReport, folder: str, *, in_clear: bool, rule: str) -> str:
    """Return, as Markdown, the steps to remove what was *report*, in order.

    *folder* has the prepared files, *in_clear* if they contain the secret; *rule* is the rule that recognises it.
    """
    top, quoted = kb.repository.top, shlex.quote
    kinds = {hit.kind for hit in report.hits}
    replacements = quoted(os.path.join(folder, "replacements.txt"))
    filters = [f"--replace-text {replacements}"]
    if kinds & {"commit", "tag"}:
        filters.append(f"--replace-message {replacements}")
    if "tree" in kinds:
        filters.append(f'--filename-callback "$(cat {quoted(os.path.join(folder, "filenames.py"))})"')
    urls = {remote: kb.localise(msg("URL of {remote}", remote=remote)) for remote in report.remotes}
    values = {
        "issuer": _ISSUERS.get(rule, ""),
        "files": report.files,
        "in_history": bool(report.hits or report.named),
        "in_clear": in_clear,
        "in_file_names": "tree" in kinds,
        "in_ref_names": bool(report.named),
        "top": quoted(top),
        "copy": quoted(f"{top}.before-purge"),
        "filters": " ".join(filters),
        "refs_file": quoted(os.path.join(folder, "refs.txt")),
        "state": [quoted(path) for path in report.state],
        "inside": report.inside,
        "filter_repo": quoted(os.path.join(kb.repository.common_dir, "filter-repo")),
        "refs": report.refs,
        "remotes": [{"quoted": quoted(remote), "url": quoted(f"<{url}>")} for remote, url in urls.items()],
        # refs that kb shares with a remote beside branches and tags
        "shared": [ref for ref in (INBOX, REJECTED) if kb.repository.list_refs(f"{ref}*")],
        "folder": quoted(folder),
    }
    path = os.path.join(FOLDER, "purge", f"steps.{kb.config.language}.md")
    with open(path, encoding="utf-8") as file:
        text = render_template(file.read(), values, path)
    numbers = count(1)
    return re.sub(r"(?m)^## ", lambda _: f"## {next(numbers)}. ", text)
