"""Fill in the document that tells a person how to take a secret out of a history; nothing of it is run here."""

from __future__ import annotations

import os
import re
import shlex
from itertools import count
from typing import TYPE_CHECKING

from kb.i18n import msg
from kb.records.record_paths import INBOX, REJECTED
from kb.sessions.render_forms import render_template
from kb.templates import FOLDER

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


def render_steps(kb: Workspace, found: SecretReport, folder: str, *, in_clear: bool, rule: str) -> str:
    """Return, as markdown, what to do in which order about what was *found*.

    *folder* holds what was prepared, with the secret *in_clear* or not; *rule* is the one that knows such a secret.
    """
    top, quote = kb.repository.top, shlex.quote
    kinds = {hit.kind for hit in found.hits}
    replacements = quote(os.path.join(folder, "replacements.txt"))
    filters = [f"--replace-text {replacements}"]
    if kinds & {"commit", "tag"}:
        filters.append(f"--replace-message {replacements}")
    if "tree" in kinds:
        filters.append(f'--filename-callback "$(cat {quote(os.path.join(folder, "filenames.py"))})"')
    urls = {remote: kb.localise(msg("URL of {remote}", remote=remote)) for remote in found.remotes}
    values = {
        "issuer": _ISSUERS.get(rule, ""),
        "files": found.files,
        "in_history": bool(found.hits or found.named),
        "in_clear": in_clear,
        "in_file_names": "tree" in kinds,
        "in_ref_names": bool(found.named),
        "top": quote(top),
        "copy": quote(f"{top}.before-purge"),
        "filters": " ".join(filters),
        "refs_file": quote(os.path.join(folder, "refs.txt")),
        "state": [quote(path) for path in found.state],
        "inside": found.inside,
        "filter_repo": quote(os.path.join(kb.repository.common_dir, "filter-repo")),
        "refs": found.refs,
        "remotes": [{"quoted": quote(remote), "url": quote(f"<{url}>")} for remote, url in urls.items()],
        # what kb shares with a remote beside branches and tags
        "shared": [ref for ref in (INBOX, REJECTED) if kb.repository.list_refs(f"{ref}*")],
        "folder": quote(folder),
    }
    path = os.path.join(FOLDER, "purge", f"steps.{kb.config.language}.md")
    with open(path, encoding="utf-8") as file:
        text = render_template(file.read(), values, path)
    numbers = count(1)
    return re.sub(r"(?m)^## ", lambda _: f"## {next(numbers)}. ", text)
