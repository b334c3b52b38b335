"""Prune a transcript: read the settings, make the plan, write a copy, and keep the report. The transcript stays."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

from kb.errors import BadInput, UnknownId
from kb.files import resolve_within, write_atomic
from kb.i18n import Message, msg
from kb.sessions import dcp_settings
from kb.sessions.adapters import iter_records
from kb.sessions.dcp_settings import BadDcpSettings, DcpSettings
from kb.sessions.tool_calls import SessionHistory, read_history
from kb.sessions.usage import ContextUsage, enlarge_window, find_window
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from kb.config import Config
    from kb.sessions.discard import DiscardProposal
    from kb.sessions.prune import PrunePlan
    from kb.workspace import Workspace

REPORT = "dcp-report.md"
_DEPTH = 6
_CACHE = "dcp.json"
_LARGEST = 200_000
"""Characters of a template, at most."""


class PruneRequest(NamedTuple):
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


class PruneResult(NamedTuple):
    """What pruning comes to."""

    plan: PrunePlan
    proposals: tuple[DiscardProposal, ...]
    dropped: bool
    """Whether the safe ones of the proposals are among the cuts."""
    report: str


# -- settings --------------------------------------------------------------------------------------


def load_root_settings(root: str) -> DcpSettings:
    """Return the settings in `dcp-config.yaml` under *root*, the defaults without one; raise BadDcp."""
    path = os.path.join(root, dcp_settings.FILE)
    return load_settings_file(path) if root and os.path.exists(path) else DcpSettings()


def load_settings_file(path: str) -> DcpSettings:
    """Return the settings in the file *path*; raise BadDcp naming file, line and the next step."""
    return dcp_settings.parse_settings(*_load_yaml(path), path)


def _load_yaml(path: str) -> tuple[dict[str, Any], str]:
    from kb.records.safe_yaml import YamlError, load_yaml

    see = msg("every key with its meaning: kb prune config")
    try:
        with open(path, encoding="utf-8-sig") as file:
            source = file.read()
    except UnicodeDecodeError:
        raise BadDcpSettings(msg("not valid UTF-8"), path=path, hint=msg("save it as UTF-8")) from None
    except OSError as error:
        raise BadDcpSettings(msg("cannot be read: {problem}", problem=error.strerror), path=path, hint=see) from None
    try:
        return {key: entry.value for key, entry in load_yaml(source, _DEPTH).entries.items()}, source
    except YamlError as error:
        problem = msg("not valid YAML: {problem}", problem=error.problem)
        raise BadDcpSettings(problem, path=path, line=error.line, hint=see) from None


def load_settings(kb: Workspace) -> DcpSettings:
    """Return the settings of *kb*, from a cache while their file is the same: a hook has no time for YAML."""
    try:
        about = os.stat(os.path.join(kb.root, dcp_settings.FILE))
    except OSError:
        return DcpSettings()
    stamp = [about.st_mtime_ns, about.st_size]
    kept = kb.state.load(_CACHE)
    if (
        isinstance(kept, dict)
        and kept.get("stamp") == stamp
        and set(kept.get("values", ())) == set(DcpSettings._fields)
    ):
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in kept["values"].items()}
        return DcpSettings(**values)
    settings = load_root_settings(kb.root)
    kb.state.save({"stamp": stamp, "values": settings._asdict()}, _CACHE)
    return settings


# -- pruning ---------------------------------------------------------------------------------------


def prune(
    path: str, settings: DcpSettings, wanted: PruneRequest, *, config: Config | None = None, now: float = 0.0,
    out: Iterable[BinaryIO] = (),
) -> PruneResult:  # fmt: skip
    """Return what pruning the transcript *path* comes to, and write the pruned lines to *out*, where there is one."""
    with _open_transcript(path) as file:
        session = read_history(iter_records(file))
        if session.host and out:
            raise BadInput(msg("a session of {host} can be pruned on paper only", host=session.host),
                           path=path, hint=msg("leave --out away"))  # fmt: skip
        made = prune_history(session, settings, wanted, config=config, now=now)
        for target in out:
            from kb.sessions.prune import prune_lines

            file.seek(0)
            target.writelines(prune_lines(file, made.plan.cuts))
    return made


def prune_history(
    session: SessionHistory,
    settings: DcpSettings,
    wanted: PruneRequest,
    *,
    config: Config | None = None,
    now: float = 0.0,
) -> PruneResult:
    """Return what pruning *session* comes to. *now* is the time for the report, in seconds since 1970."""
    from kb.sessions import dcp_report, discard
    from kb.sessions.prune import build_plan

    found = discard.propose_discards(session, settings) if wanted.propose else []
    dropped = bool(found) and (wanted.confirmed or not settings.require_confirmation)
    more = [one.cut for one in found if one.is_safe] if dropped else []
    made = build_plan(session, settings, compute_usage(session, wanted.percent, config), only=wanted.only, more=more)
    text = dcp_report.format_report(
        made, when=time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now or time.time())), trigger=wanted.trigger,
        protected_turns=settings.turn_protection, language=config.language if config else "en",
    )  # fmt: skip
    return PruneResult(made, tuple(found), dropped and made.idle is None, text)


def compute_usage(session: SessionHistory, percent: float, config: Config | None) -> ContextUsage:
    """Return how full the context of *session* is: as the caller says (*percent*, -1 for nothing), or the host."""
    usual, windows = (config.context_window, config.context_windows) if config else (0, ())
    window = enlarge_window(find_window(session.model, windows, usual), session.tokens)
    return ContextUsage(session.tokens, window.tokens, session.model, given=percent, is_known=window.is_known)


@contextmanager
def _open_transcript(path: str) -> Iterator[BinaryIO]:
    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise BadInput(msg("the transcript is not a file"), path=path)
        with open(path, "rb") as file:
            yield file
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(msg("the transcript cannot be read: {problem}", problem=problem), path=path) from None


def write_copy(path: str, target: str, settings: DcpSettings, wanted: PruneRequest, **more: Any) -> PruneResult:
    """Write the transcript *path*, pruned, to *target*, whole or not at all; raise BadInput where a file is there."""
    if os.path.lexists(target):
        raise BadInput(msg("this file is there already"), path=target, hint=msg("give --out another name"))
    beside = f"{target}.{os.getpid()}.part"
    try:
        with open(beside, "xb") as file:
            made = prune(path, settings, wanted, out=(file,), **more)
        _publish_file(beside, target)
    except FileExistsError:
        raise BadInput(msg("this file is there already"), path=target, hint=msg("give --out another name")) from None
    except OSError as error:
        raise BadInput(msg("cannot be written: {problem}", problem=error.strerror), path=target) from None
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
    return made


def _publish_file(beside: str, target: str) -> None:
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


def save_report(kb: Workspace, text: str, session: str = "") -> str:
    """Keep the report of a pruning, as the newest of all and as that of a running *session*; return its place."""
    from kb.records.record_paths import sanitise_session_id

    kb.state.ensure_folder()
    place = kb.state.path(REPORT)
    write_atomic(place, text.encode("utf-8", "replace"))
    if session:
        place = kb.state.path("active", sanitise_session_id(session), REPORT)
        write_atomic(place, text.encode("utf-8", "replace"))
    return place


def build_archive_report(kb: Workspace, path: str) -> str:
    """Return the report that goes into the archive of the transcript *path*; "" where nothing can be pruned."""
    wanted = PruneRequest(trigger=msg("before archiving"))
    made = prune(path, load_settings(kb), wanted, config=kb.config, now=kb.now())
    return made.report if made.plan.cuts else ""


def load_last_report(kb: Workspace) -> str:
    """Return the newest report; raise UnknownId where nothing was pruned yet."""
    try:
        with open(kb.state.path(REPORT), encoding="utf-8") as file:
            return file.read()
    except OSError:
        raise UnknownId(msg("nothing was pruned yet"), hint=msg("see: kb prune --help")) from None


def find_latest_transcript(kb: Workspace) -> str:
    """Return the transcript of the session that kb heard of last; raise UnknownId for none."""
    from kb.sessions.active_sessions import find_latest_session

    return find_latest_session(kb).transcript


def render_settings(settings: DcpSettings, root: str = "") -> str:
    """Return *settings* as `dcp-config.yaml`, every key with its meaning beside it.

    The knowledge base at *root* may have a template of its own for it; raise BadTemplate where that is broken.
    """
    place = "content/templates/dcp-config.yaml"
    try:
        with open(resolve_within(root, place), encoding="utf-8", errors="replace") as file:
            source = file.read(_LARGEST)
    except OSError:
        return dcp_settings.format_settings(settings)
    from kb.sessions.template_render import render_template

    return render_template(
        source,
        {"settings": dcp_settings.format_values(settings), "defaults": dcp_settings.format_settings(settings)},
        place,
    )


def format_result(made: PruneResult, language: str, *, explain: bool = False) -> str:
    """Return for people what pruning comes to: the proposals, the report, and with *explain* every cut."""
    from kb.sessions import dcp_report, discard

    parts = [discard.format_table(made.proposals, language)] if made.proposals else []
    return "\n".join([*parts, made.report, *([dcp_report.explain_plan(made.plan, language) + "\n"] if explain else [])])


def parse_strategies(words: Sequence[str]) -> tuple[str, ...]:
    """Return the strategies that *words* name, each one or several with commas; raise BadInput for another word."""
    from kb.sessions.prune_strategies import AUTOMATIC, TRUNCATE

    known = (*AUTOMATIC, TRUNCATE)
    named = [part.strip() for word in words for part in word.split(",") if part.strip()]
    for word in named:
        if word not in known:
            among = ", ".join(known)
            raise BadInput(msg("there is no strategy {name}; there are: {known}", name=word, known=among))
    return tuple(named)
