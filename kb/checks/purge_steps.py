"""The steps that take a secret out of a history, in words and commands; a person runs them."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from kb.i18n import Message, msg
from kb.records.record_paths import INBOX, REJECTED

if TYPE_CHECKING:
    from kb.checks.find_secret import SecretReport
    from kb.workspace import Workspace

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
"""Where a secret of a rule is taken back."""


_COPY = ".before-purge"
_SHARED = (INBOX, REJECTED)
"""What kb shares with a remote beside branches and tags."""
RENAMED = """\
import re
for line in open({replacements!r}, "rb").read().splitlines():
    kind, _, rest = line.partition(b":")
    old = rest.rpartition(b"==>")[0]
    filename = re.sub(old if kind == b"regex" else re.escape(old), b"redacted", filename)
return filename
"""
"""The body of git filter-repo's callback for the names of files."""


def render_steps(kb: Workspace, found: SecretReport, folder: str, *, in_clear: bool, rule: str) -> str:
    """Return, as markdown, what to do in which order about what was *found*."""
    words = kb.localise
    parts = [f"# {words(msg('Remove a secret'))}\n\n{words(msg('None of the commands below has been run.'))}\n"]
    for number, (title, said, commands) in enumerate(_iter_steps(kb, found, folder, in_clear=in_clear, rule=rule), 1):
        text = "\n\n".join(words(one) for one in said)
        shell = "\n\n```sh\n" + "\n".join(commands) + "\n```" if commands else ""
        parts.append(f"## {number}. {words(title)}\n\n{text}{shell}\n")
    return "\n".join(parts)


Step = tuple[Message, list[Message], list[str]]


def _iter_steps(kb: Workspace, found: SecretReport, folder: str, *, in_clear: bool, rule: str) -> Iterator[Step]:
    yield _build_rotate_step(rule)
    if found.files:
        yield (
            msg("Take it out of the files"),
            [msg("Edit these places and commit: {places}", places=", ".join(found.files))],
            [],
        )
    if found.hits or found.named:
        yield _build_freeze_step()
        yield _build_rewrite_step(kb, found, folder, in_clear=in_clear)
    if found.named:
        yield _build_refs_step(folder)
    if found.state or found.inside:
        yield _build_leftovers_step(kb, found)
    if found.hits or found.inside or found.named:
        yield _build_gc_step(kb)
    if found.hits or found.named:
        yield _build_push_step(kb, found)
        yield _build_forks_step()
    yield _build_cleanup_step(kb, folder)


def _build_rotate_step(rule: str) -> Step:
    said = [
        msg("Take the secret back and give out a new one. Whoever has read the repository has it: removing it from "
            "the history does not make it secret again."),
        msg("kb searches this clone only. The host of your agent keeps transcripts of its own, and so may a terminal, "
            "an editor and a backup."),
    ]  # fmt: skip
    if issuer := _ISSUERS.get(rule):
        said.insert(1, msg("Where it was issued: {issuer}", issuer=issuer))
    return msg("Rotate it first"), said, []


def _build_freeze_step() -> Step:
    return (
        msg("Tell everybody who has a clone"),
        [msg("From here on until the last step nobody pushes. What is not pushed yet is pushed now, or is lost work: "
             "every commit behind the first one with the secret gets a new id.")],
        [],
    )  # fmt: skip


def _build_rewrite_step(kb: Workspace, found: SecretReport, folder: str, *, in_clear: bool) -> Step:
    replacements = shlex.quote(os.path.join(folder, "replacements.txt"))
    said = [
        msg("git filter-repo rewrites all refs, those of kb under refs/kb/ too. "
            "Make a copy of the whole folder first."),
        msg("It compares text with text and no hashes, so the file of replacements names the secret in clear. Only you "
            "can read that file; take it away at the end.")
        if in_clear
        else msg("The file of replacements holds no secret: a pattern of fixed length finds it and nothing else here."),
    ]  # fmt: skip
    options = [f"--replace-text {replacements}"]
    if any(hit.kind in ("commit", "tag") for hit in found.hits):
        options.append(f"--replace-message {replacements}")
    if any(hit.kind == "tree" for hit in found.hits):
        said.append(msg("A file's name holds it, too; it is renamed in every commit."))
        options.append(f'--filename-callback "$(cat {shlex.quote(os.path.join(folder, "filenames.py"))})"')
    top = shlex.quote(kb.repository.top)
    commands = [
        "pipx install git-filter-repo",
        f"cp -a {top} {shlex.quote(kb.repository.top + _COPY)}",
        f"cd {top}",
        "git stash list   # " + kb.localise(msg("apply or drop what is stashed first")),
        "git filter-repo --force " + " ".join(options),
    ]
    return msg("Rewrite the history"), said, commands


def _build_refs_step(folder: str) -> Step:
    said = [msg("Their names stand in a file that only you can read. What they held is made anew under another name.")]
    return (
        msg("Take away the refs whose names hold it"),
        said,
        [f"git update-ref --stdin < {shlex.quote(os.path.join(folder, 'refs.txt'))}"],
    )


def _build_leftovers_step(kb: Workspace, found: SecretReport) -> Step:
    said: list[Message] = []
    commands: list[str] = []
    if found.state:
        said.append(msg("What stands below .kb/ is derived or of the moment; look at spooled files before they go."))
        commands += [f"rm -- {shlex.quote(path)}" for path in found.state]
    if found.inside:
        said.append(msg("Files of git's own: {places}. Reflogs go with the next step; settings are edited by hand.",
                        places=", ".join(found.inside)))  # fmt: skip
    return msg("Clear away what else there is"), said, commands


def _build_gc_step(kb: Workspace) -> Step:
    commands = [
        f"cd {shlex.quote(kb.repository.top)}",
        "git reflog expire --expire=now --expire-unreachable=now --all",
        "git gc --prune=now --aggressive",
        f"rm -rf -- {shlex.quote(os.path.join(kb.repository.common_dir, 'filter-repo'))}",
    ]
    return msg("Let git forget the old objects"), [msg("Until then they can be read by their ids.")], commands


def _build_push_step(kb: Workspace, found: SecretReport) -> Step:
    said = [
        msg("git filter-repo has removed the remote origin, so that nothing is pushed by mistake. Affected here: "
            "{refs}", refs=", ".join(found.refs) or "–"),
        msg("A protected branch must take a forced push for as long as this takes."),
        msg("Everybody else makes a new clone. Who merges or rebases an old one onto the new history brings the secret "
            "back."),
    ]  # fmt: skip
    commands = []
    for remote in found.remotes:
        url = kb.localise(msg("URL of {remote}", remote=remote))
        commands += [
            f"git remote add {shlex.quote(remote)} {shlex.quote(f'<{url}>')}",
            f"git push --force --all {shlex.quote(remote)}",
            f"git push --force --tags {shlex.quote(remote)}",
            *(
                f"git push --force {shlex.quote(remote)} '{ref}*:{ref}*'"
                for ref in _SHARED
                if kb.repository.list_refs(f"{ref}*")
            ),
        ]
    return msg("Push it over the old history"), said, commands


def _build_forks_step() -> Step:
    said = [
        msg("Forks keep the old commits: ask their owners, or delete the forks."),
        msg("GitHub and GitLab keep what pull and merge requests have shown, and answer to the old ids from caches: "
            "ask their support to run a garbage collection, and delete the requests that show it."),
        msg("CI caches, artifacts, built wikis, mirrors and backups are cleaned where they are."),
    ]  # fmt: skip
    return msg("What no push reaches"), said, []


def _build_cleanup_step(kb: Workspace, folder: str) -> Step:
    said = [
        msg("The copy and the prepared folder hold the secret: take both away. Then run kb purge-secret again, here "
            "and in a new clone: it must find nothing."),
    ]  # fmt: skip
    commands = [
        f"rm -rf -- {shlex.quote(kb.repository.top + _COPY)}",
        f"rm -r -- {shlex.quote(folder)}",
        "kb purge-secret",
    ]
    return msg("Clean up, and check"), said, commands
