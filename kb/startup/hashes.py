"""SHA-1 and SHA-256 without OpenSSL, which `hashlib` loads at once: a fifth of a bare start, for a few kilobytes."""

from __future__ import annotations

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    from hashlib import sha1, sha256
else:
    try:
        from _sha1 import sha1
    except ImportError:
        from hashlib import sha1
    try:
        from _sha256 import sha256
    except ImportError:
        # since Python 3.12 all of SHA-2 is one module
        try:
            from _sha2 import sha256
        except ImportError:
            from hashlib import sha256

__all__ = ["sha1", "sha256"]
