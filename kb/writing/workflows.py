"""The files that let a host of repositories check a knowledge base, comment on a merge, and publish the wiki."""

from __future__ import annotations

from importlib import resources

from kb import installation

_GITHUB = {".github/workflows/kb.yml": "github-workflow.yml", ".github/workflows/kb-wiki.yml": "github-wiki.yml"}
_GITLAB = {".gitlab/kb-ci.yml": "gitlab-ci.yml", ".gitlab/kb-wiki.yml": "gitlab-wiki.yml"}
_EVERYWHERE = {".pre-commit-config.yaml": "pre-commit-config.yaml"}
_PLACE = b"@REQUIREMENT@"
"""What the templates have where the line for pip stands that installs kb."""


def build_workflows(remote: str = "", requirement: str = "") -> dict[str, bytes]:
    """Return path and content of the files for the host of *remote*, the URL of a repository; GitHub without one.

    They install kb by the line for pip *requirement* (default: where the kb that runs was installed from).
    """
    folder = resources.files("kb.templates").joinpath("ci")
    wanted = {**(_GITLAB if "gitlab" in remote.lower() else _GITHUB), **_EVERYWHERE}
    line = (requirement or installation.find_own_requirement() or installation.UNKNOWN).encode()
    return {path: folder.joinpath(name).read_bytes().replace(_PLACE, line) for path, name in wanted.items()}


def build_placeholder_workflows(remote: str = "") -> dict[str, bytes]:
    """Return those files as they are written where nobody knows where kb is installed from."""
    return build_workflows(remote, installation.UNKNOWN)
