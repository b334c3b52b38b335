"""Prune a transcript: read the settings, make the plan, write a copy, and keep the report. The transcript stays."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from kb.errors import BadInput, UnknownId
from kb.files import within, write_whole
from kb.i18n import Message, msg
from kb.sessions import dcp_settings
from kb.sessions.adapters import in_lines
from kb.sessions.dcp_settings import BadDcp, Dcp
from kb.sessions.model_windows import enlarge, find_window
from kb.sessions.tool_calls import History, history
from kb.sessions.usage import Usage
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from kb.config import Config
    from kb.sessions.discard import Proposal
    from kb.sessions.prune import Plan
    from kb.workspace import Workspace

REPORT = "dcp-report.md"
_DEPTH = 6
_CACHE = "dcp.json"
_LARGEST = 200_000
"""Characters of a template, at most."""


class Wanted(NamedTuple):
    """What a caller asks for."""

    only: tuple[str, ...] = ()
    """The strategies to use; () for those that are switched on."""
    propose: bool = False
    """Whether droppable content is looked for as well."""
    confirmed: bool = False
    """Whether a person said yes to dropping what is safe to drop."""
    percent: float = -1.0
    """How full the context is, where the caller knows better than the transcript."""
    trigger: Message = msg("asked for")


class Pruned(NamedTuple):
    """What pruning comes to."""

    plan: Plan
    proposals: tuple[Proposal, ...]
    dropped: bool
    """Whether the safe ones of the proposals are among the cuts."""
    report: str


# -- settings --------------------------------------------------------------------------------------


def settings_at(root: str) -> Dcp:
    """Return the settings in `dcp-config.yaml` under *root*, the defaults without one; raise BadDcp."""
    path = os.path.join(root, dcp_settings.FILE)
    return settings_in(path) if root and os.path.exists(path) else Dcp()


def settings_in(path: str) -> Dcp:
    """Return the settings in the file *path*; raise BadDcp naming file, line and the next step."""
    return dcp_settings.settings_of(*_yaml(path), path)


def _yaml(path: str) -> tuple[dict[str, Any], str]:
    from kb.records.safe_yaml import YamlError, load

    see = msg("every key with its meaning: kb prune config")
    try:
        with open(path, encoding="utf-8-sig") as file:
            source = file.read()
    except UnicodeDecodeError:
        raise BadDcp(msg("not valid UTF-8"), path=path, hint=msg("save it as UTF-8")) from None
    except OSError as error:
        raise BadDcp(msg("cannot be read: {problem}", problem=error.strerror), path=path, hint=see) from None
    try:
        return {key: entry.value for key, entry in load(source, _DEPTH).entries.items()}, source
    except YamlError as error:
        problem = msg("not valid YAML: {problem}", problem=error.problem)
        raise BadDcp(problem, path=path, line=error.line, hint=see) from None


def settings_of_kb(kb: Workspace) -> Dcp:
    """Return the settings of *kb*, from a cache while their file is the same: a hook has no time for YAML."""
    try:
        about = os.stat(os.path.join(kb.root, dcp_settings.FILE))
    except OSError:
        return Dcp()
    stamp = [about.st_mtime_ns, about.st_size]
    kept = kb.state.load(_CACHE)
    if isinstance(kept, dict) and kept.get("stamp") == stamp and set(kept.get("values", ())) == set(Dcp._fields):
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in kept["values"].items()}
        return Dcp(**values)
    settings = settings_at(kb.root)
    kb.state.save({"stamp": stamp, "values": settings._asdict()}, _CACHE)
    return settings


# -- pruning ---------------------------------------------------------------------------------------


def prune(
    path: str, settings: Dcp, wanted: Wanted, *, config: Config | None = None, now: float = 0.0,
    out: Iterable[BinaryIO] = (),
) -> Pruned:  # fmt: skip
    """Return what pruning the transcript *path* comes to, and write the pruned lines to *out*, where there is one."""
    with _opened(path) as file:
        session = history(in_lines(file))
        if session.host and out:
            raise BadInput(msg("a session of {host} can be pruned on paper only", host=session.host),
                           path=path, hint=msg("leave --out away"))  # fmt: skip
        made = of_history(session, settings, wanted, config=config, now=now)
        for target in out:
            from kb.sessions.prune import pruned_lines

            file.seek(0)
            target.writelines(pruned_lines(file, made.plan.cuts))
    return made


def of_history(
    session: History, settings: Dcp, wanted: Wanted, *, config: Config | None = None, now: float = 0.0
) -> Pruned:
    """Return what pruning *session* comes to. *now* is the time for the report, in seconds since 1970."""
    from kb.sessions import dcp_report, discard
    from kb.sessions.prune import plan

    found = discard.proposals(session, settings) if wanted.propose else []
    dropped = bool(found) and (wanted.confirmed or not settings.require_confirmation)
    more = [one.cut for one in found if one.is_safe] if dropped else []
    made = plan(session, settings, usage_of(session, wanted.percent, config), only=wanted.only, more=more)
    text = dcp_report.report(
        made, when=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now or time.time())), trigger=wanted.trigger,
        protected_turns=settings.turn_protection, language=config.language if config else "en",
    )  # fmt: skip
    return Pruned(made, tuple(found), dropped and made.idle is None, text)


def usage_of(session: History, percent: float, config: Config | None) -> Usage:
    """Return how full the context of *session* is: as the caller says (*percent*, -1 for nothing), or the host."""
    usual, windows = (config.context_window, config.context_windows) if config else (0, ())
    window = enlarge(find_window(session.model, windows, usual), session.tokens)
    return Usage(session.tokens, window.tokens, session.model, given=percent, is_known=window.is_known)


@contextmanager
def _opened(path: str) -> Iterator[BinaryIO]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise BadInput(msg("the transcript is not a file"), path=path)
        with open(path, "rb") as file:
            yield file
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(msg("the transcript cannot be read: {problem}", problem=problem), path=path) from None


def write_copy(path: str, target: str, settings: Dcp, wanted: Wanted, **more: Any) -> Pruned:
    """Write the transcript *path*, pruned, to *target*, whole or not at all; raise BadInput where a file is there."""
    if os.path.lexists(target):
        raise BadInput(msg("this file is there already"), path=target, hint=msg("give --out another name"))
    beside = f"{target}.{os.getpid()}.part"
    try:
        with open(beside, "xb") as file:
            made = prune(path, settings, wanted, out=(file,), **more)
        _put(beside, target)
    except FileExistsError:
        raise BadInput(msg("this file is there already"), path=target, hint=msg("give --out another name")) from None
    except OSError as error:
        raise BadInput(msg("cannot be written: {problem}", problem=error.strerror), path=target) from None
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
    return made


def _put(beside: str, target: str) -> None:
    """Give the file *beside* the name *target*; raise FileExistsError where that is taken."""
    try:
        os.link(beside, target)
    except FileExistsError:
        raise
    except OSError:  # a file system without links
        if os.path.lexists(target):
            raise FileExistsError(target) from None
        os.rename(beside, target)


# -- the report ------------------------------------------------------------------------------------


def keep_report(kb: Workspace, text: str, session: str = "") -> str:
    """Keep the report of a pruning, as the newest of all and as that of a running *session*; return its place."""
    from kb.records.record_paths import safe_id

    kb.state.made()
    place = kb.state.path(REPORT)
    write_whole(place, text.encode("utf-8", "replace"))
    if session:
        place = kb.state.path("active", safe_id(session), REPORT)
        write_whole(place, text.encode("utf-8", "replace"))
    return place


def report_before_archiving(kb: Workspace, path: str) -> str:
    """Return the report that goes into the archive of the transcript *path*; "" where nothing can be pruned."""
    wanted = Wanted(trigger=msg("before archiving"))
    made = prune(path, settings_of_kb(kb), wanted, config=kb.config, now=kb.now())
    return made.report if made.plan.cuts else ""


def last_report(kb: Workspace) -> str:
    """Return the newest report; raise UnknownId where nothing was pruned yet."""
    try:
        with open(kb.state.path(REPORT), encoding="utf-8") as file:
            return file.read()
    except OSError:
        raise UnknownId(msg("nothing was pruned yet"), hint=msg("see: kb prune --help")) from None


def latest_transcript(kb: Workspace) -> str:
    """Return the transcript of the session that kb heard of last; raise UnknownId for none."""
    from kb.sessions.active_sessions import latest

    return latest(kb).transcript


def settings_text(settings: Dcp, root: str = "") -> str:
    """Return *settings* as `dcp-config.yaml`, every key with its meaning beside it.

    The knowledge base at *root* may have a template of its own for it; raise BadTemplate where that is broken.
    """
    place = "content/templates/dcp-config.yaml"
    try:
        with open(within(root, place), encoding="utf-8", errors="replace") as file:
            source = file.read(_LARGEST)
    except OSError:
        return dcp_settings.text_of(settings)
    from kb.sessions.template_render import rendered

    return rendered(
        source, {"settings": dcp_settings.values_of(settings), "defaults": dcp_settings.text_of(settings)}, place
    )


def told(made: Pruned, language: str, *, explain: bool = False) -> str:
    """Return for people what pruning comes to: the proposals, the report, and with *explain* every cut."""
    from kb.sessions import dcp_report, discard

    parts = [discard.table(made.proposals, language)] if made.proposals else []
    return "\n".join([*parts, made.report, *([dcp_report.explained(made.plan, language) + "\n"] if explain else [])])


def strategies_named(words: Sequence[str]) -> tuple[str, ...]:
    """Return the strategies that *words* name, each one or several with commas; raise BadInput for another word."""
    from kb.sessions.prune_strategies import AUTOMATIC, TRUNCATE

    known = (*AUTOMATIC, TRUNCATE)
    named = [part.strip() for word in words for part in word.split(",") if part.strip()]
    for word in named:
        if word not in known:
            among = ", ".join(known)
            raise BadInput(msg("there is no strategy {name}; there are: {known}", name=word, known=among))
    return tuple(named)
