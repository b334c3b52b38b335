"""How a process of kb begins and ends: what a short one need not do costs a third of a bare start."""

from __future__ import annotations

import atexit
import gc
import os
import sys

from kb.startup.namedtuple import TYPE_CHECKING

if TYPE_CHECKING:
    import signal as signal
    from typing import NoReturn
else:
    try:
        import _signal as signal  # what `signal` adds is enumerations, which take as long to make as two modules of kb
    except ImportError:
        import signal  # noqa: F401

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
