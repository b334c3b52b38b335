"""Change a settings file of another program: only kb's part of it, whole or not at all, and so that it can be undone.

What the file was before is kept in the user's state folder, so that taking kb's part out gives back its bytes when
nobody has changed it since.
"""

from __future__ import annotations

import codecs
import contextlib
import hashlib
import json
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from kb.errors import BadInput, describe_os_error
from kb.files import json_bytes, remove_file
from kb.hooks.text_edit import strip_comments
from kb.i18n import msg
from kb.paths import state_home

FIX_AND_RETRY = msg("fix the file and try again; nothing was changed")


class SettingsEdit(NamedTuple):
    """What is to become of a settings file."""

    path: str
    before: bytes | None
    """None where there is no file."""
    after: bytes | None
    """None where there is to be none."""
    part: str
    """Which part of it is kb's ("hooks"): each is remembered by itself."""
    origin: bytes | None = None
    """What the file was, or would have been, without kb's part."""
    stands: bool = False
    """Whether kb's part is in it afterwards."""

    @property
    def has_changes(self) -> bool:
        """Whether anything changes."""
        return self.before != self.after


def read_settings(path: str) -> bytes | None:
    """Return the bytes of the file *path*, None where there is none; raise BadInput where it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise BadInput(msg("cannot be read: {problem}", problem=describe_os_error(error)), path=path) from None


def decode_text(data: bytes, path: str) -> str:
    """Return *data* as text without a byte order mark; raise BadInput where it is not UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BadInput(msg("not valid UTF-8"), path=path, line=line, hint=FIX_AND_RETRY) from None


def parse_json_object(data: bytes, path: str, *, comments: bool = False) -> tuple[str, dict[str, Any]]:
    """Return *data* as text and the object it holds, none for blank text; raise BadInput for anything else.

    *comments*: what the program reads may have comments and a comma at the end of a list.
    """
    text = decode_text(data, path)
    if not text.strip():
        return text, {}
    try:
        settings = json.loads(strip_comments(text) if comments else text)
    except json.JSONDecodeError as error:
        problem = msg("not valid JSON: {problem}", problem=error.msg)
        raise BadInput(problem, path=path, line=error.lineno, hint=FIX_AND_RETRY) from None
    except RecursionError:
        raise BadInput(
            msg("not valid JSON: {problem}", problem="nested too deep"), path=path, hint=FIX_AND_RETRY
        ) from None
    if not isinstance(settings, dict):
        raise BadInput(msg("the settings are not a JSON object"), path=path, line=1, hint=FIX_AND_RETRY)
    return text, settings


def encode_text(text: str, before: bytes | None) -> bytes:
    """Return *text* as bytes, with a byte order mark where *before* had one."""
    return (codecs.BOM_UTF8 if (before or b"").startswith(codecs.BOM_UTF8) else b"") + text.encode()


def find_project_root(folder: str) -> str:
    """Return the top of the git work tree around *folder*, or *folder* where there is none."""
    top = os.path.abspath(folder)
    while not os.path.exists(os.path.join(top, ".git")):
        if top == os.path.dirname(top):
            return os.path.abspath(folder)
        top = os.path.dirname(top)
    return top


def find_own_program(name: str) -> str:
    """Return the program *name* that belongs to the running Python, or the bare name where it has none."""
    beside = os.path.join(os.path.dirname(sys.executable), name)
    return beside if os.path.exists(beside) else name


def apply_edit(change: SettingsEdit, environment: Mapping[str, str]) -> None:
    """Write what *change* says, whole or not at all; links are followed and permissions kept.

    Raises BadInput for a link that leads out of a project: it came with the repository. A user's own may lead anywhere.
    """
    path = os.path.realpath(change.path)
    if _is_outside_project(change.path, path, environment.get("HOME", "")):
        hint = msg("it leads to {path}", path=path)
        raise BadInput(msg("{path} leads outside the project", path=change.path), hint=hint)
    if change.after is None:
        os.unlink(path)
        _remove_made_folders(os.path.dirname(path), environment)
    else:
        _make_folders(os.path.dirname(path), environment)
        _write_atomically(path, change.after, None if change.before is None else os.stat(path).st_mode & 0o7777)
    backup = _resolve_backup_path(change.path, change.part, environment)
    if change.after is None or not change.stands:
        remove_file(backup)
        return
    before = None if change.origin is None else change.origin.decode()
    after = hashlib.sha256(change.after).hexdigest()
    _write_private(backup, {"path": os.path.realpath(change.path), "after": after, "before": before})


def _is_outside_project(path: str, real: str, home: str) -> bool:
    folder = os.path.dirname(os.path.abspath(path))
    while os.path.islink(folder) or not os.path.exists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return False
        folder = os.path.dirname(folder)
    top = os.path.realpath(folder)
    # a home that is a repository itself (dotfiles) holds the user's own settings, and they may lead anywhere
    return top != os.path.realpath(home) and not real.startswith(top + os.sep)


def _write_atomically(path: str, data: bytes, rights: int | None) -> None:
    """Write a file whole or not at all, with these *rights* from its first byte on: settings may hold secrets."""
    # beside the file, as a file can only be put in its place whole on the same disk
    beside = f"{path}.kb-{os.getpid()}"
    try:
        with open(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, rights or 0o666), "wb") as file:
            if rights is not None:
                os.chmod(beside, rights)
            file.write(data)
        os.replace(beside, path)
    except BaseException:
        remove_file(beside)
        raise


def _write_private(path: str, value: object) -> None:
    """Write *value* as JSON for no one else to read."""
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    _write_atomically(path, json_bytes(value), 0o600)


# -- what kb has made, and what was there before -----------------------------------------------------


def _make_folders(folder: str, environment: Mapping[str, str]) -> None:
    """Make *folder* with what is missing above it, and remember which of them kb has made."""
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        folder = os.path.dirname(folder)
    if missing:
        os.makedirs(missing[0], exist_ok=True)
        path, made = _load_made_folders(environment)
        _write_private(path, sorted(made | set(missing)))


def _remove_made_folders(folder: str, environment: Mapping[str, str]) -> None:
    """Remove *folder* and those above it as long as they are empty and kb has made them."""
    path, made = _load_made_folders(environment)
    left = set(made)
    with contextlib.suppress(OSError):  # somebody else keeps something there
        while folder in left:
            os.rmdir(folder)
            left.remove(folder)
            folder = os.path.dirname(folder)
    if left and left != made:
        _write_private(path, sorted(left))
    elif not left:
        remove_file(path)


def _load_made_folders(environment: Mapping[str, str]) -> tuple[str, set[str]]:
    """Return the file that names the folders kb has made for settings, and these."""
    path = os.path.join(state_home(environment), "made-folders.json")
    with contextlib.suppress(OSError, ValueError, TypeError), open(path, "rb") as file:
        return path, set(map(str, json.load(file)))
    return path, set()


def _resolve_backup_path(path: str, part: str, environment: Mapping[str, str]) -> str:
    """Return the file that keeps what *path* was before: in the user's state folder, for no one else to read."""
    mark = hashlib.sha256(os.fsencode(os.path.realpath(path))).hexdigest()[:16]
    return os.path.join(state_home(environment), part, f"{mark}.json")


def find_origin(
    path: str, part: str, now: bytes | None, environment: Mapping[str, str], remove: Callable[[str], str]
) -> bytes | None:
    """Return what *path*, which is *now* so, was before kb wrote its *part*; None where it was not there.

    Where somebody has changed it since, that is what *remove* leaves of its text.
    """
    with (
        contextlib.suppress(OSError, ValueError, KeyError, TypeError),
        open(_resolve_backup_path(path, part, environment), encoding="utf-8", newline="") as file,
    ):
        kept = json.load(file)
        before = kept["before"]
        # an unchanged file is known by its sum: then its comments and layout come back as well
        if now is not None and kept["after"] == hashlib.sha256(now).hexdigest():
            return None if before is None else str(before).encode()
    return None if now is None else encode_text(remove(decode_text(now, path)), now)
