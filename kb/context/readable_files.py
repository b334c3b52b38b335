"""Which of a project's files may be read to answer a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from fnmatch import translate
from functools import lru_cache

NEVER = (
    ".env", ".env.*", "*.env", "*.pem", "*.key", "*.p12", "*.pfx", "*.jks", "*.keystore", "*.kdbx", "*.ppk",
    "*.asc", "*.gpg", "id_rsa*", "id_dsa*", "id_ecdsa*", "id_ed25519*", "*secret*", "*credential*", "*password*",
    ".netrc", ".pgpass", ".npmrc", ".pypirc", ".htpasswd", "*.tfstate", "*.tfvars", "kubeconfig", ".git", ".ssh",
    ".aws", ".gnupg", ".kube", ".docker",
)  # fmt: skip
"""Names of files and folders that are never read, whatever is allowed; in any case."""

SAMPLES = (".env.example", ".env.sample", ".env.template", ".env.dist", "*.tfvars.example")
"""Files whose names say that they hold no secret."""


def build_read_filter(
    allow: Sequence[str] = (), deny: Sequence[str] = (), *, never: Sequence[str] = NEVER
) -> Callable[[str], bool]:
    """Return the test whether the file at a path (forward slashes) may be read: allowed, and denied by nothing."""
    allowed, denied, secret, samples = map(_compile_globs, (tuple(allow), tuple(deny), tuple(never), SAMPLES))

    def is_readable(path: str) -> bool:
        parts = path.split("/")
        ways = [path, *parts, *("/".join(parts[: n + 1]) for n in range(1, len(parts) - 1))]
        if any(denied(way) for way in ways) or (allow and not any(allowed(way) for way in ways)):
            return False
        is_sample = samples(parts[-1])
        return not any(secret(part) for part in (parts[:-1] if is_sample else parts))

    return is_readable


@lru_cache(maxsize=64)
def _compile_globs(globs: tuple[str, ...]) -> Callable[[str], object]:
    if not globs:
        return lambda _: None
    return re.compile("|".join(translate(glob.replace("**/", "*")) for glob in globs), re.IGNORECASE).match
