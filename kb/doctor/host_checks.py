"""Check the connection with agent programs: hooks, their failures, transcripts, and the model command."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime

from kb.doctor.doctor_finding import FAILED, NOTE, OK, SKIPPED, DoctorFinding, DoctorTarget
from kb.files import resolve_within
from kb.hooks import codex, install, plugin
from kb.hosts import EVENTS, HOSTS
from kb.i18n import Message, msg
from kb.sessions.known_sessions import count_unknown_records
from kb.state.hook_failures import HookFailure, delete_failures, list_failures

_RECENT_FAILURE_SECONDS = 86_400
"""Seconds for which a hook that failed, and has not been called again, is taken to fail still."""
_HOOK_TIMEOUT_SECONDS = 30
"""Seconds an installed hook line may take."""
_READING_EVENTS = frozenset({"user-prompt", "subagent-start", "pre-tool", "post-tool", "messages"})
"""Events that change nothing; at others a hook is run where there is no knowledge base."""
_SAMPLE_PAYLOAD = {
    "session_id": "kb-doctor",
    "agent_type": "kb-doctor",
    "prompt": "does kb answer?",
    "transcript_path": "",
}


def check_hook_failures(target: DoctorTarget) -> DoctorFinding:
    """Look for hooks that failed and have not gone well since; a single failure of long ago is a note."""
    failures = list_failures(target.root) if target.root else []
    if not failures:
        return DoctorFinding(OK, msg("no hook has failed"))
    rows = [row for row in failures if not row.over]
    if not rows:
        last = {"event": failures[-1].event, "time": failures[-1].time}
        return DoctorFinding(OK, msg("what failed has succeeded since; last {event} at {time}", **last))
    ours = [row for row in rows if not row.by_host]
    # one event that failed once a week ago was an accident; twice, or today, it may go on
    is_repeated = len(ours) > len({row.event for row in ours})
    lasts = is_repeated or any(_is_recent(row, target.now()) for row in ours)
    named = ours if lasts else rows
    values = {"n": len(named), "event": named[-1].event, "time": named[-1].time, "problem": named[-1].error}
    message = msg("{n} hooks failed, last {event} at {time}: {problem}", **values)
    return (
        DoctorFinding(FAILED, message)
        if lasts
        else DoctorFinding(NOTE, message, msg("if that is over: kb doctor --fix"))
    )


def _is_recent(failure: HookFailure, now: float) -> bool:
    """Return whether *failure* happened lately; one that does not say when is taken to have."""
    try:
        return now - datetime.fromisoformat(failure.time).timestamp() < _RECENT_FAILURE_SECONDS
    except (ValueError, OverflowError):
        return True


def clear_failures(target: DoctorTarget) -> None:
    """Forget the failures."""
    delete_failures(target.root)


def _iter_installed_hooks(target: DoctorTarget) -> Iterator[tuple[str, int, install.Hook]]:
    """Yield the installed hooks with their host and whether a project's settings hold them (1) or the user's (0)."""
    for host in HOSTS:
        for number, path in enumerate(install.list_settings_paths(host, target.folder, target.environment)):
            yield from ((host, number, hook) for hook in install.read_hooks(HOSTS[host], path))


def check_hooks(target: DoctorTarget) -> DoctorFinding:
    """Check which hosts kb is connected to, and at which events it is not."""
    found: dict[str, set[str]] = {}
    for host, _, hook in _iter_installed_hooks(target):
        found.setdefault(host, set()).add(hook.event)
    plugged = plugin.find_claude_plugin(target.folder, target.environment)
    if plugged and "claude" in found:
        message = msg(
            "claude has kb's plugin ({path}) and hooks in its settings: every event comes twice", path=plugged
        )
        return DoctorFinding(NOTE, message, msg("keep one of them: kb hooks uninstall claude, or /plugin uninstall kb"))
    if plugged and not found:
        return DoctorFinding(OK, msg("claude has kb's plugin: {path}", path=plugged))
    if not found:
        return DoctorFinding(NOTE, msg("no hooks are installed; known hosts: {hosts}", hosts=", ".join(HOSTS)))
    for host, connected in found.items():
        if missing := [event for event in HOSTS[host].timeouts if event not in connected]:
            message = msg("{host} has no hook at {events}", host=host, events=", ".join(missing))
            return DoctorFinding(NOTE, message, msg("if that is not meant: kb hooks install {host}", host=host))
    paths = install.list_settings_paths("codex", target.folder, target.environment) if "codex" in found else []
    if off := codex.find_disabling_files(paths):
        message = msg("hooks are disabled in {path}", path=off[0])
        return DoctorFinding(NOTE, message, msg("set hooks = true under [features] there"))
    events = (event for path in paths for event in codex.find_untrusted_events(path, target.environment))
    if untrusted := ", ".join(dict.fromkeys(events)):
        message = msg(
            "codex does not run kb's hooks at {events}: they are not trusted, or have changed since", events=untrusted
        )
        return DoctorFinding(NOTE, message, msg("start codex and trust them where it says that hooks need review"))
    hosts = [*found, *(["claude (plugin)"] if plugged else [])]
    return DoctorFinding(OK, msg("installed for {hosts}", hosts=", ".join(hosts)))


def check_hook_lines(target: DoctorTarget) -> DoctorFinding:
    """Run each installed hook line as a host would, and report whether it ends well, how fast, and with what.

    A line that would write something is run where there is no knowledge base. Of a project's settings only lines that
    call this kb are run: a project must not make a doctor run a program.
    """
    own = install.find_hook_program()
    installed = _iter_installed_hooks(target)
    lines = [hook.command for _, number, hook in installed if number == 0 or shlex.split(hook.command)[0] == own]
    if not lines:
        return DoctorFinding(SKIPPED, msg("there is no hook line to run"))
    results = []
    for line in dict.fromkeys(lines):
        problem, result = _run_hook_line(line, target)
        _remove_sample_session(target)
        if problem:
            return DoctorFinding(FAILED, problem)
        results.append(result)
    return DoctorFinding(OK, msg("{n} lines run: {lines}", n=len(results), lines=", ".join(results)))


def _remove_sample_session(target: DoctorTarget) -> None:
    """Remove what a hook has noted of the sample session."""
    with contextlib.suppress(OSError):
        active = resolve_within(target.root, ".kb/active")
        for name in os.listdir(active):
            if name.startswith(_SAMPLE_PAYLOAD["session_id"]):  # a host's name may follow
                shutil.rmtree(resolve_within(active, name))
        os.rmdir(active)


def _run_hook_line(line: str, target: DoctorTarget) -> tuple[Message | None, str]:
    """Return what is wrong with *line*, and else its name, how long it took, and `{…}` where it printed an answer."""
    words = shlex.split(line)
    with tempfile.TemporaryDirectory() as nowhere:
        # a session-end that is tried out must archive nothing in the real knowledge base
        home = target.root if words[1] in _READING_EVENTS else nowhere
        payload = {**_SAMPLE_PAYLOAD, "hook_event_name": EVENTS.get(words[1], words[1]), "cwd": home}
        environment = {**target.environment, "KB_HOME": home}
        data = json.dumps(payload).encode()
        began = time.perf_counter()
        try:
            done = subprocess.run(
                ["/bin/sh", "-c", line],
                input=data,
                capture_output=True,
                env=environment,
                cwd=home,
                timeout=_HOOK_TIMEOUT_SECONDS,
            )
        except subprocess.TimeoutExpired:
            return msg("{line} takes longer than {n} seconds", line=line, n=_HOOK_TIMEOUT_SECONDS), ""
        took = round(1000 * (time.perf_counter() - began))
    if done.returncode:
        problem = done.stderr.decode("utf-8", "replace").strip().rpartition("\n")[2]
        return msg("{line} ends with {code}: {problem}", line=line, code=done.returncode, problem=problem), ""
    try:
        answer = json.loads(done.stdout.strip() or b"{}")
    except ValueError:
        answer = None
    if not isinstance(answer, dict):
        return msg("{line} prints something other than a JSON object", line=line), ""
    name = f"{words[1]}@{words[3]}" if len(words) > 3 else words[1]
    return None, f"{name} {took} ms{' {…}' if answer else ''}"


def check_transcripts(target: DoctorTarget) -> DoctorFinding:
    """Count the records in recent sessions that kb does not know: hosts change their formats without a word."""
    sessions, unknown, skipped = count_unknown_records(target.base)
    if not unknown and not skipped:
        return DoctorFinding(OK, msg("{n} recent sessions are fully readable", n=sessions))
    names = ", ".join(f"{name} ({n}×)" for name, n in sorted(unknown.items(), key=lambda item: -item[1])[:5])
    if not unknown:
        return DoctorFinding(NOTE, msg("{n} lines of recent sessions cannot be read", n=skipped))
    return DoctorFinding(NOTE, msg("record types unknown to kb in recent sessions: {names}", names=names))


def check_llm_command(target: DoctorTarget) -> DoctorFinding:
    """Check that the user's language model command is there."""
    command = target.environment.get("KB_LLM_CMD", "")
    if not command:
        return DoctorFinding(OK, msg("KB_LLM_CMD is not set; extraction works offline"))
    try:
        words = shlex.split(command)
    except ValueError as error:
        return DoctorFinding(FAILED, msg("KB_LLM_CMD cannot be read: {problem}", problem=error))
    if not words or not shutil.which(words[0], path=target.environment.get("PATH")):
        return DoctorFinding(FAILED, msg("KB_LLM_CMD names no program: {command}", command=command))
    return DoctorFinding(OK, msg("{command}", command=command))
