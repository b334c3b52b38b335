"""The files that let a host of repositories check a knowledge base, comment on a merge, and publish the wiki."""

from __future__ import annotations

from importlib import resources

_GITHUB = {".github/workflows/kb.yml": "github-workflow.yml", ".github/workflows/kb-wiki.yml": "github-wiki.yml"}
_GITLAB = {".gitlab/kb-ci.yml": "gitlab-ci.yml", ".gitlab/kb-wiki.yml": "gitlab-wiki.yml"}
_EVERYWHERE = {".pre-commit-config.yaml": "pre-commit-config.yaml"}


def workflows(remote: str = "") -> dict[str, bytes]:
    """Return path and content of the files for the host of *remote*, the URL of a repository; GitHub without one."""
    folder = resources.files("kb.templates").joinpath("ci")
    wanted = {**(_GITLAB if "gitlab" in remote.lower() else _GITHUB), **_EVERYWHERE}
    return {path: folder.joinpath(name).read_bytes() for path, name in wanted.items()}
