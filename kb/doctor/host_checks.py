"""Look whether kb and the agent hosts hear each other: hooks, what failed in them, and the sessions hosts write."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterator
from typing import NamedTuple

from kb.doctor.doctor_finding import FAILED, NOTE, OK, SKIPPED, DoctorFinding, DoctorTarget, require_base
from kb.files import resolve_within
from kb.hooks import codex, install, plugin
from kb.hosts import EVENTS, HOSTS
from kb.i18n import Message, msg
from kb.sessions.known_sessions import count_unknown_records
from kb.state import hook_failures as kept_failures
from kb.state.hook_failures import HookFailure

_LATELY = 86_400
"""Seconds for which a hook that failed, and has not been called again, is taken to fail still."""
_PATIENCE = 30
"""Seconds an installed hook line may take."""
_READING = frozenset({"user-prompt", "subagent-start", "pre-tool", "post-tool", "messages"})
"""Events that change nothing; at others a hook is run where there is no knowledge base."""
_SAMPLE = {"session_id": "kb-doctor", "agent_type": "kb-doctor", "prompt": "does kb answer?", "transcript_path": ""}


def check_hook_failures(place: DoctorTarget) -> DoctorFinding:
    """Look for hooks that failed and have not gone well since; a single failure of long ago is a note."""
    kept = kept_failures.list_failures(place.root) if place.root else []
    if not kept:
        return DoctorFinding(OK, msg("no hook has failed"))
    rows = [row for row in kept if not row.over]
    if not rows:
        said = msg("what failed has gone well since; last {event} at {time}", event=kept[-1].event, time=kept[-1].time)
        return DoctorFinding(OK, said)
    ours = [row for row in rows if not row.by_host]
    is_repeated = len(ours) > len({row.event for row in ours})
    lasts = is_repeated or any(_is_recent(row, place.now()) for row in ours)
    told = ours if lasts else rows
    said = msg(
        "{n} hooks failed, last {event} at {time}: {problem}",
        n=len(told), event=told[-1].event, time=told[-1].time, problem=told[-1].error,
    )  # fmt: skip
    return DoctorFinding(FAILED, said) if lasts else DoctorFinding(NOTE, said, msg("if that is over: kb doctor --fix"))


def _is_recent(failure: HookFailure, now: float) -> bool:
    """Return whether *failure* happened lately; one that does not say when is taken to have."""
    from datetime import datetime

    try:
        return now - datetime.fromisoformat(failure.time).timestamp() < _LATELY
    except (ValueError, OverflowError):
        return True


def clear_failures(place: DoctorTarget) -> None:
    kept_failures.delete_failures(place.root)


def _iter_installed_hooks(place: DoctorTarget) -> Iterator[tuple[str, int, install.Hook]]:
    """Yield the installed hooks with their host and whether a project's settings hold them (1) or the user's (0)."""
    for host in HOSTS:
        for number, path in enumerate(install.list_settings_paths(host, place.folder, place.environment)):
            yield from ((host, number, hook) for hook in install.read_hooks(HOSTS[host], path))


def check_hooks(place: DoctorTarget) -> DoctorFinding:
    """Look which hosts kb is connected to, and at which events it is not."""
    found: dict[str, set[str]] = {}
    for host, _, hook in _iter_installed_hooks(place):
        found.setdefault(host, set()).add(hook.event)
    plugged = plugin.find_claude_plugin(place.folder, place.environment)
    if plugged and "claude" in found:
        said = msg("claude has kb's plugin ({path}) and hooks in its settings: every event comes twice", path=plugged)
        return DoctorFinding(NOTE, said, msg("keep one of them: kb hooks uninstall claude, or /plugin uninstall kb"))
    if plugged and not found:
        return DoctorFinding(OK, msg("claude has kb's plugin: {path}", path=plugged))
    if not found:
        return DoctorFinding(NOTE, msg("no hooks are installed; known hosts: {hosts}", hosts=", ".join(HOSTS)))
    for host, events in found.items():
        if missing := [event for event in HOSTS[host].timeouts if event not in events]:
            said = msg("{host} has no hook at {events}", host=host, events=", ".join(missing))
            return DoctorFinding(NOTE, said, msg("if that is not meant: kb hooks install {host}", host=host))
    paths = install.list_settings_paths("codex", place.folder, place.environment) if "codex" in found else []
    if off := codex.find_disabling_files(paths):
        said = msg("hooks are switched off in {path}", path=off[0])
        return DoctorFinding(NOTE, said, msg("set hooks = true under [features] there"))
    untrusted = dict.fromkeys(event for path in paths for event in codex.find_untrusted_events(path, place.environment))
    if untrusted:
        said = msg("codex does not run kb's hooks at {events}: they are not trusted, or changed since",
                   events=", ".join(untrusted))  # fmt: skip
        return DoctorFinding(NOTE, said, msg("start codex and trust them where it says that hooks need review"))
    return DoctorFinding(
        OK, msg("installed for {hosts}", hosts=", ".join([*found, *(["claude (plugin)"] if plugged else [])]))
    )


class _HookLineRun(NamedTuple):
    """How a hook line went."""

    problem: Message | None
    took: int
    """Milliseconds."""
    said: bool
    """Whether it printed an answer."""


def check_hook_lines(place: DoctorTarget) -> DoctorFinding:
    """Run each installed hook line as a host would, and look whether it ends well, and when, and with what.

    A line that would write something is run where there is no knowledge base.
    """
    lines = {
        h.command: None for _, number, h in _iter_installed_hooks(place) if number == 0 or _is_own_program(h.command)
    }
    if not lines:
        return DoctorFinding(SKIPPED, msg("there is no hook line to run"))
    told = []
    for line in lines:
        done = _run_hook_line(line, place)
        _remove_sample_session(place)
        if done.problem:
            return DoctorFinding(FAILED, done.problem)
        words = shlex.split(line)
        name = f"{words[1]}@{words[3]}" if len(words) > 3 else words[1]
        told.append(f"{name} {done.took} ms{' {…}' if done.said else ''}")
    return DoctorFinding(OK, msg("{n} lines run: {lines}", n=len(lines), lines=", ".join(told)))


def _remove_sample_session(place: DoctorTarget) -> None:
    """Take away what a hook has noted of the session that there is none of."""
    with contextlib.suppress(OSError):
        active = resolve_within(place.root, ".kb/active")
        for name in os.listdir(active):
            if name.startswith(_SAMPLE["session_id"]):  # a host's name may follow
                shutil.rmtree(resolve_within(active, name))
        os.rmdir(active)


def _is_own_program(line: str) -> bool:
    """Return whether a line from a project's settings calls this kb: a project must not make a doctor run a program."""
    return shlex.split(line)[0] == install.find_hook_program()


def _run_hook_line(line: str, place: DoctorTarget) -> _HookLineRun:
    import subprocess

    word = shlex.split(line)[1]
    reads = word in _READING
    payload = {**_SAMPLE, "hook_event_name": EVENTS.get(word, word)}
    with tempfile.TemporaryDirectory() as nowhere:
        home = place.root if reads else nowhere
        began = time.perf_counter()
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", line], input=json.dumps({**payload, "cwd": home}).encode(), capture_output=True,
                env={**place.environment, "KB_HOME": home}, cwd=home, timeout=_PATIENCE, check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return _HookLineRun(msg("{line} takes longer than {n} seconds", line=line, n=_PATIENCE), 0, said=False)
        took = round(1000 * (time.perf_counter() - began))
    if done.returncode:
        words = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return _HookLineRun(
            msg("{line} ends with {code}: {problem}", line=line, code=done.returncode, problem=words), took, said=False
        )
    if done.stdout.strip() and not _is_json_object(done.stdout):
        return _HookLineRun(msg("{line} prints what is no JSON object", line=line), took, said=True)
    return _HookLineRun(None, took, said=done.stdout.strip() not in (b"", b"{}"))


def _is_json_object(data: bytes) -> bool:
    try:
        return isinstance(json.loads(data), dict)
    except ValueError:
        return False


def check_transcripts(place: DoctorTarget) -> DoctorFinding:
    """Count what stands in the sessions of late that kb does not know: hosts change their formats without a word."""
    looked, unknown, skipped = count_unknown_records(require_base(place))
    if not unknown and not skipped:
        return DoctorFinding(OK, msg("{n} sessions of late are read whole", n=looked))
    names = ", ".join(f"{name} ({n}×)" for name, n in sorted(unknown.items(), key=lambda item: -item[1])[:5])
    if not unknown:
        return DoctorFinding(NOTE, msg("{n} lines of the sessions of late cannot be read", n=skipped))
    return DoctorFinding(NOTE, msg("records in the sessions of late that kb does not know: {names}", names=names))
