"""Write kb's instructions for agents: a protocol block in AGENTS.md or CLAUDE.md, and a skill.

The block is between two markers; the first one says how many line ends were put before it and whether the file was
made for it, so that taking it out gives back every byte around it. A skill's file ends with the sum of what is above:
one that somebody has edited is neither replaced nor removed.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from kb.errors import BadInput
from kb.hooks.settings_file import FIX_AND_RETRY, SettingsEdit, decode_text, encode_text, read_settings
from kb.hosts import CLAUDE, resolve_settings_path, resolve_user_folder
from kb.i18n import Message, msg
from kb.templates import FOLDER
from kb.text.segment import find_line_number

VERSION = "memory-bank/v1"
"""The version of the protocol that kb ships."""
SKILL = "kb"
_REFERENCES = ("reader.md", "writer.md", "learn.md", "memory-reader-prompt.md")
SKILL_FILES = ("SKILL.md", *(f"references/{name}" for name in _REFERENCES))
NAMES = ("AGENTS.md", "CLAUDE.md", "GEMINI.md")
"""Files that hosts read; the block goes into those that are there, else into the first."""

_PART = "agents"
_BEGIN = re.compile(r"(?m)^<!-- kb:begin protocol_version: (\S+); gap: (\d)(; made)? -->[ \t]*$")
_END = re.compile(r"(?m)^<!-- kb:end -->[ \t]*$")
_CHECKSUM_LINE = re.compile(rb"\n<!-- kb:sum ([0-9a-f]{12}) -->\n\Z")
_VERSION_IN_SKILL = re.compile(r"(?m)^[ \t]*protocol_version:[ \t]*(\S+)[ \t]*$")
_IMPORT = re.compile(r"(?m)^@(?:\./)?AGENTS\.md[ \t]*$")


class AgentFileState(NamedTuple):
    """What one file holds of kb."""

    path: str
    part: str
    """protocol or skill."""
    state: str
    """current, stale (of another kb), edited (by somebody) or absent."""
    version: str = ""
    """The version of the protocol it speaks of."""


class _ProtocolBlock(NamedTuple):
    start: int
    end: int
    gap: int
    version: str
    is_made: bool


# -- where -----------------------------------------------------------------------------------------


def find_protocol_files(folder: str, environment: Mapping[str, str], names: Sequence[str] = ()) -> list[str]:
    """Return the files for the block: *names*, or those of hosts that are in *folder* ("": the user's own).

    A file that is a link to another, or that takes AGENTS.md in, needs no block of its own.
    """
    if not folder:
        settings = resolve_user_folder(CLAUDE.hooks, environment)
        return [os.path.join(settings, name) for name in names or ("CLAUDE.md",)]
    paths = [os.path.join(folder, name) for name in names or NAMES]
    if names:
        return paths
    found: dict[str, str] = {}
    for path in paths:
        if os.path.isfile(path):
            found.setdefault(os.path.realpath(path), path)
    kept = list(found.values()) or paths[:1]
    if paths[0] not in kept:
        return kept
    texts = {path: (read_settings(path) or b"").decode("utf-8", "replace") for path in kept}
    return [path for path in kept if path == paths[0] or "kb:begin" in texts[path] or not _IMPORT.search(texts[path])]


def resolve_skill_folder(folder: str, environment: Mapping[str, str], place: str = "") -> str:
    """Return the folder of the skill in the project at *folder* ("": the user's own); *place*: of all skills there."""
    if place:
        return os.path.join(folder, place, SKILL)
    settings = os.path.dirname(resolve_settings_path(CLAUDE.hooks, folder, environment))
    return os.path.join(settings, "skills", SKILL)


# -- the block -------------------------------------------------------------------------------------


def load_protocol(language: str) -> str:
    """Return the text of the protocol in *language*."""
    return _read_template(language, "protocol.md")


def _read_template(language: str, name: str) -> str:
    with open(os.path.join(FOLDER, "agents", "zh" if language == "zh" else "en", name), encoding="utf-8") as file:
        return file.read()


def plan_block_install(path: str, language: str) -> SettingsEdit:
    """Return what putting the protocol block into *path* changes; where it stands already, it is brought up to date."""
    before = read_settings(path)
    text = decode_text(before or b"", path)
    block = _find_block(text, path)
    end = _detect_line_end(text)
    if block is None:
        # an empty line before the block; how many line ends that took is noted in its first marker
        gap = 0 if not text or text.endswith(end * 2) else 1 if text.endswith(end) else 2
        after = text + end * gap + _render_block(language, end, gap, is_made=before is None)
    else:
        new = _render_block(language, end, block.gap, is_made=block.is_made)
        after = text[: block.start] + new + text[block.end :]
    return SettingsEdit(path, before, encode_text(after, before), _PART)


def plan_block_removal(path: str) -> SettingsEdit:
    """Return what taking the protocol block out of *path* changes: what surrounds it stays byte for byte."""
    before = read_settings(path)
    text = decode_text(before or b"", path)
    block = _find_block(text, path)
    if before is None or block is None:
        return SettingsEdit(path, before, before, _PART)
    head = text[: block.start].removesuffix(_detect_line_end(text) * block.gap)
    rest = head + text[block.end :]
    return SettingsEdit(path, before, None if block.is_made and not rest else encode_text(rest, before), _PART)


def _render_block(language: str, end: str, gap: int, *, is_made: bool) -> str:
    begin = f"<!-- kb:begin protocol_version: {VERSION}; gap: {gap}{'; made' if is_made else ''} -->"
    return "\n".join((begin, load_protocol(language).rstrip("\n"), "<!-- kb:end -->", "")).replace("\n", end)


def _detect_line_end(text: str) -> str:
    """Return the line end of most lines of *text*.

    Of most, not of the first: a file that ends with a lone carriage return would get another one with the block.
    """
    return "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"


def _find_block(text: str, path: str) -> _ProtocolBlock | None:
    """Return where kb's block is in *text*; raise BadInput where its markers are not one pair."""
    if "kb:begin" not in text and "kb:end" not in text:
        return None
    plain = text.replace("\r\n", " \n")  # of the same length, so that positions hold
    begins, ends = [*_BEGIN.finditer(plain)], [*_END.finditer(plain)]
    if not begins and not ends:
        return None
    if len(begins) != 1 or len(ends) != 1 or begins[0].start() > ends[0].start():
        line = find_line_number(plain, (begins + ends)[-1].start())
        problem = msg("kb's block lacks its start or end marker, or appears twice")
        raise BadInput(problem, path=path, line=line, hint=FIX_AND_RETRY)
    begin, stop = begins[0], ends[0].end()
    stop += plain[stop : stop + 1] == "\n"
    return _ProtocolBlock(begin.start(), stop, int(begin.group(2)), begin.group(1), bool(begin.group(3)))


# -- the skill -------------------------------------------------------------------------------------


def render_skill(language: str) -> dict[str, bytes]:
    """Return the files of the skill in *language*, by their names in its folder."""
    return seal_files({name: _read_template(language, name) for name in SKILL_FILES})


def seal_files(texts: Mapping[str, str]) -> dict[str, bytes]:
    """Return files of kb's making by their names, each with the sum of what is above as its last line."""
    contents = {name: text.encode() for name, text in texts.items()}
    return {name: data + f"\n<!-- kb:sum {_compute_checksum(data)} -->\n".encode() for name, data in contents.items()}


def _compute_checksum(data: bytes) -> str:
    return sha256(data).hexdigest()[:12]


def _compare_files(folder: str, files: Mapping[str, bytes]) -> list[tuple[SettingsEdit, str]]:
    """Return for each of *files* in *folder* what would write it again, and its state (see AgentFileState)."""
    found = []
    for name, data in files.items():
        path = os.path.join(folder, *name.split("/"))
        before = read_settings(path)
        # whatever version of kb wrote it, its last line has the sum of what is above
        seal = _CHECKSUM_LINE.search(before or b"")
        if before is None or before == data:
            state = "absent" if before is None else "current"
        else:
            is_own = seal and seal.group(1).decode() == _compute_checksum(before[: seal.start()])
            state = "stale" if is_own else "edited"
        found.append((SettingsEdit(path, before, data, _PART), state))
    return found


def plan_skill_install(folder: str, files: Mapping[str, bytes]) -> tuple[list[SettingsEdit], list[str]]:
    """Return what writing the *files* of a skill into *folder* changes, and those left as somebody made them."""
    found = _compare_files(folder, files)
    kept = [change.path for change, state in found if state == "edited"]
    return [change for change, state in found if state != "edited"], kept


def plan_skill_removal(folder: str, names: Iterable[str]) -> tuple[list[SettingsEdit], list[str]]:
    """Return what removing the files *names* of a skill from *folder* changes, and those somebody has edited."""
    found = _compare_files(folder, dict.fromkeys(names, b""))
    kept = [change.path for change, state in found if state == "edited"]
    return [change._replace(after=None) for change, state in found if state in ("current", "stale")], kept


def remove_empty_folders(folder: str) -> None:
    """Remove the folders of the skill that are empty."""
    for each in (os.path.join(folder, "references"), folder):
        if os.path.isdir(each) and not os.path.islink(each) and not os.listdir(each):
            os.rmdir(each)


# -- what stands where -----------------------------------------------------------------------------


def inspect_files(files: Iterable[str], folder: str, language: str) -> list[AgentFileState]:
    """Return what the *files* for the block, and the skill's *folder*, hold of kb."""
    found = []
    for path in files:
        change = plan_block_install(path, language)
        block = _find_block(decode_text(change.before or b"", path), path)
        state = "absent" if block is None else "stale" if change.has_changes else "current"
        found.append(AgentFileState(path, "protocol", state, block.version if block else ""))
    for change, state in _compare_files(folder, render_skill(language)):
        text = (change.before or b"").decode("utf-8", "replace")
        version = _VERSION_IN_SKILL.search(text) if change.path.endswith("SKILL.md") else None
        found.append(AgentFileState(change.path, "skill", state, version.group(1) if version else ""))
    return found


def find_version_drift(found: Sequence[AgentFileState]) -> list[Message]:
    """Return where block and skill speak of different versions of the protocol; the block holds."""
    blocks = {one.version for one in found if one.part == "protocol" and one.version}
    skills = {one.version for one in found if one.part == "skill" and one.version}
    drift = [
        msg("drift: the block says {one}, the skill {other}; the block wins: kb agents install", one=one, other=other)
        for one in sorted(blocks)
        for other in sorted(skills)
        if one != other
    ]
    return drift + [
        msg("drift: {one} is not the protocol of this kb ({version})", one=one, version=VERSION)
        for one in sorted(blocks | skills)
        if one != VERSION
    ]
