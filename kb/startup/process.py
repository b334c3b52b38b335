"""What a short process of kb does without: OpenSSL for its hashes, the garbage collector, and taking itself apart.

`hashlib` loads OpenSSL at once: a fifth of a bare start, for a few kilobytes. What a process need not do as it ends
costs a third of a bare start.
"""

from __future__ import annotations

import atexit
import gc
import os
import sys

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    import signal as signal
    from hashlib import sha1 as sha1
    from hashlib import sha256 as sha256
    from typing import NoReturn
else:
    try:
        import _signal as signal  # what `signal` adds is enumerations, which take as long to make as two modules of kb
    except ImportError:
        import signal  # noqa: F401
    try:
        from _sha1 import sha1
    except ImportError:
        from hashlib import sha1  # noqa: F401
    try:
        from _sha256 import sha256
    except ImportError:
        # since Python 3.12 all of SHA-2 is one module
        try:
            from _sha2 import sha256
        except ImportError:
            from hashlib import sha256  # noqa: F401

_OBJECTS = 100_000
"""New objects between two searches for garbage; a hook makes fewer, a long import is searched as ever."""


def delay_gc() -> None:
    """Let a short process end before the garbage collector first runs."""
    gc.set_threshold(_OBJECTS, 20, 50)


def exit_process(code: int) -> NoReturn:
    """End the process with *code*: what was printed and registered is done, nothing is taken apart.

    A reader that has gone away (`| head`) is no failure of what was done.
    """
    # the system frees the memory of a process faster than Python takes its objects apart
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream:  # none where the caller has closed it
                stream.flush()
        except (OSError, ValueError):
            code = code or 1
    os._exit(code)
