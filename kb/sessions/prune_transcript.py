"""Prune a session: a transcript on disk (as a copy, with a report), live messages, or a tool's call before it is made.

The transcript itself is never changed.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import accumulate

from kb.errors import BadInput, UnknownId, describe_os_error
from kb.files import write_atomic
from kb.hosts import OPENCODE
from kb.i18n import Message, msg
from kb.sessions.dcp_settings import DcpSettings, load_settings
from kb.sessions.host_input import read_transcript, restore_host_names
from kb.sessions.host_records import iter_file_records
from kb.sessions.prune_strategies import STRATEGIES, PruneSession, rank_lines
from kb.sessions.transcript import Transcript, list_prompts, parse_records, parse_transcript
from kb.sessions.usage import ContextUsage, enlarge_window, find_window, read_usage
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from kb.config import Config
    from kb.sessions.prune import DiscardProposal, PrunePlan
    from kb.workspace import Workspace

REPORT = "dcp-report.md"
_TAIL_BYTES = 400_000
"""Bytes of a transcript that tell how full the context is and what was asked last."""
_PRUNE_PERCENT = 85
"""Percent of the context in use from which its messages are pruned."""
_MAX_DATED_FILES = 5_000
"""Files of a result that are looked at for when they were changed."""


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


# -- a transcript on disk --------------------------------------------------------------------------


def prune(
    path: str,
    settings: DcpSettings,
    wanted: PruneRequest,
    *,
    config: Config | None = None,
    now: float = 0.0,
    out: BinaryIO | None = None,
    out_path: str = "",
) -> PruneResult:
    """Return what pruning the transcript *path* comes to, and write the pruned lines to *out*, if there is one.

    *now* is the time for the report, in seconds since 1970; *out_path* names *out* in the error when it is full.
    """
    from kb.sessions.dcp_report import format_report
    from kb.sessions.prune import build_plan, propose_discards, prune_lines

    with _open_transcript(path) as file:
        session = parse_records(iter_file_records(file))
        if not session.messages and os.fstat(file.fileno()).st_size:
            problem = msg("holds no message of a session")
            raise BadInput(
                problem, path=path, hint=msg("name a transcript, the JSONL file in which a host keeps a session")
            )
        if session.host and out:
            problem = msg("a session of {host} can only be reported on, not pruned", host=session.host)
            raise BadInput(problem, path=path, hint=msg("omit --out"))
        found = propose_discards(session, settings) if wanted.propose else []
        dropped = bool(found) and (wanted.confirmed or not settings.require_confirmation)
        more = [one.cut for one in found if one.is_safe] if dropped else []
        usage = _compute_usage(session, wanted.percent, config)
        plan = build_plan(session, settings, usage, only=wanted.only, more=more)
        if out:
            file.seek(0)
            try:
                out.writelines(prune_lines(file, plan.cuts))
                out.flush()
            except BrokenPipeError:  # the reader of a pipe has what it wanted
                raise
            except OSError as error:
                raise BadInput(
                    msg("cannot be written: {problem}", problem=describe_os_error(error)), path=out_path
                ) from None
    when = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(now or time.time()))
    language = config.language if config else "en"
    turns = settings.turn_protection
    report = format_report(plan, when=when, trigger=wanted.trigger, protected_turns=turns, language=language)
    return PruneResult(plan, tuple(found), dropped and plan.idle is None, report)


def _compute_usage(session: Transcript, percent: float, config: Config | None) -> ContextUsage:
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
    taken = BadInput(msg("this file already exists"), path=target, hint=msg("give --out another name"))
    if os.path.lexists(target):
        raise taken
    beside = f"{target}.{os.getpid()}.part"
    try:
        with open(beside, "xb") as file:
            made = prune(path, settings, wanted, out=file, out_path=target, **more)
        try:
            os.link(beside, target)
        except FileExistsError:
            raise
        except OSError:  # a file system without links
            if os.path.lexists(target):
                raise taken from None
            os.rename(beside, target)
    except FileExistsError:
        raise taken from None
    except OSError as error:
        raise BadInput(msg("cannot be written: {problem}", problem=describe_os_error(error)), path=target) from None
    finally:
        if os.path.exists(beside):
            os.unlink(beside)
    return made


# -- the report ------------------------------------------------------------------------------------


def save_report(kb: Workspace, text: str, session: str = "") -> str:
    """Keep the report of a pruning, as the newest of all and as that of a running *session*; return its path."""
    from kb.records.kinds import sanitise_session_id
    from kb.sessions.active_sessions import save_current_form

    kb.state.ensure_folder()
    paths = [kb.state.path(REPORT)]
    if session:
        paths.append(kb.state.path("active", sanitise_session_id(session), REPORT))
    for path in paths:
        write_atomic(path, text.encode("utf-8", "replace"))
    save_current_form(kb, REPORT.removesuffix(".md"), text)
    return paths[-1]


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


def format_result(made: PruneResult, language: str, *, explain: bool = False) -> str:
    """Return for people what pruning comes to: the proposals, the report, and with *explain* every cut."""
    from kb.sessions.dcp_report import explain_plan
    from kb.sessions.prune import format_proposals

    parts = [format_proposals(made.proposals, language)] if made.proposals else []
    if made.proposals and not made.plan.idle:
        parts += [f"{row.translate(language)}\n" for row in _iter_next_steps(made)]
    return "\n".join([*parts, made.report, *([explain_plan(made.plan, language) + "\n"] if explain else [])])


def _iter_next_steps(made: PruneResult) -> Iterator[Message]:
    """Yield what a person does next with the proposals, as far as it is not done."""
    safe = [one for one in made.proposals if one.is_safe]
    if safe and not made.dropped:
        yield msg("nothing was deleted yet; --yes deletes the safe ones")
    if len(safe) < len(made.proposals):
        yield msg("what needs an anchor stays; kb archive with this transcript, or kb write, makes one")


def parse_strategies(words: Sequence[str]) -> tuple[str, ...]:
    """Return the strategies that *words* name, each one or several with commas; raise BadInput for another word."""
    named = [part.strip() for word in words for part in word.split(",") if part.strip()]
    for word in named:
        if word not in STRATEGIES:
            among = list(STRATEGIES)
            raise BadInput(msg("there is no strategy {name}; there are: {known}", name=word, known=among))
    return tuple(named)


# -- live messages ---------------------------------------------------------------------------------


def plan_live_edits(kb: Workspace, messages: object, *, begun: bool) -> list[dict[str, Any]]:
    """Return what is to be changed in the live *messages* of opencode, each with the numbers of message and part.

    Nothing while less than 85 % of the context is in use (RUYI-45), unless pruning has *begun* in this session: what
    was taken out must not come back with the next call.
    """
    from kb.sessions.prune import build_plan

    rows = [one if isinstance(one, dict) else {} for one in messages] if isinstance(messages, list) else []
    session = parse_records(rows)
    usage = _compute_usage(session, -1.0, kb.config)
    # each call to the model sends all messages again: once cut, they must be cut in every call
    if not begun and usage.percent < _PRUNE_PERCENT:
        return []
    edits = []
    for cut in build_plan(session, load_settings(kb), usage).cuts:
        message, value = cut.place.line - 1, cut.value
        if cut.part == "input":
            part = rows[message]["parts"][cut.place.block]
            value = restore_host_names(OPENCODE, part.get("tool"), part["state"].get("input"), value)
        edits.append({"message": message, "part": cut.place.block, cut.part: value})
    return edits


# -- a call before it is made, a result before it is read ------------------------------------------


class ToolRewrite(NamedTuple):
    """What a tool is to be given, or is to have answered, in place of what it was."""

    value: Any
    note: Message


def limit_read(kb: Workspace, given: Mapping[str, Any], lines: int) -> ToolRewrite | None:
    """Return the input of a Read that takes a part of a file of *lines* lines; None where it needs none."""
    settings = load_settings(kb)
    # an agent that names an offset reads on from there
    most, first = settings.read_chunk_size, given.get("offset") or 1
    if not (settings.enabled and settings.truncation and most) or not isinstance(first, int) or lines - first < most:
        return None
    shown = {"lines": lines, "first": first, "last": first + most - 1, "next": first + most}
    note = msg(
        "kb: the file has at least {lines} lines; lines {first} to {last} are read; go on with offset={next}", **shown
    )
    return ToolRewrite({**given, "limit": most}, note)


def shorten_result(
    kb: Workspace, tool: str, given: Mapping[str, Any], response: object, *, transcript: str = "", folder: str = ""
) -> ToolRewrite | None:
    """Return the *response* of a search shortened, in the same shape; None where it is short enough (RUYI-37)."""
    settings = load_settings(kb)
    if not (settings.enabled and settings.truncation) or tool not in settings.truncation_scope:
        return None
    session, prompt = _read_session_end(kb, transcript, settings)
    words, rows = [prompt, *(value for value in given.values() if isinstance(value, str))], session.get_most_rows(tool)

    def shorten_lines(text: str) -> str:
        times = _read_change_times(folder, [line.partition(":")[0] for line in text.split("\n")])
        return session.shorten_result(text, rows, words, changed=times, now=kb.now())

    changed = response
    if isinstance(response, str):
        changed = shorten_lines(response)
    elif isinstance(response, dict):
        changed = dict(response)
        names, content = response.get("filenames"), response.get("content")
        if isinstance(names, list) and all(isinstance(name, str) for name in names):
            kept = _select_paths(
                names, session.most, rows, lambda: rank_lines(names, words, _read_change_times(folder, names), kb.now())
            )
            if len(kept) < len(names):
                changed |= {"filenames": kept, "numFiles": len(kept)}
                changed |= {"truncated": True} if "truncated" in response else {}
        if isinstance(content, str):
            changed["content"] = shorten_lines(content)
    if changed == response:
        return None
    sizes = {"before": estimate_tokens(str(response)), "after": estimate_tokens(str(changed))}
    note = msg(
        "kb: the result was shortened from about {before} to {after} tokens; narrow the search for the rest", **sizes
    )
    return ToolRewrite(changed, note)


def _select_paths(names: list[str], most: int, rows: int, rank: Callable[[], list[int]]) -> list[str]:
    """Return the first of *names* by their *rank* that fit into *most* tokens and, unless *rows* is 0, *rows* lines."""
    sizes = [estimate_tokens(name) + 1 for name in names]
    if (not rows or len(names) <= rows) and sum(sizes) <= most:
        return names
    order = rank()
    totals = accumulate(sizes[at] for at in order)
    fitting = [at for at, total in zip(order, totals, strict=True) if total <= most]
    return [names[at] for at in sorted(fitting[: rows or None])]


def _read_change_times(folder: str, names: Sequence[str]) -> dict[str, float]:
    """Return when the files *names* were changed, as far as they are there."""
    found = {}
    for name in dict.fromkeys(names[:_MAX_DATED_FILES]):
        with suppress(OSError, ValueError):
            found[name] = os.stat(os.path.join(folder, name)).st_mtime
    return found


def _read_session_end(kb: Workspace, transcript: str, settings: DcpSettings) -> tuple[PruneSession, str]:
    """Return the end of the session in *transcript*, which may be missing, and what a person asked last."""
    data = b""
    with suppress(BadInput):
        data = read_transcript(transcript, _TAIL_BYTES) if transcript else b""
    session, usage = parse_transcript(data), read_usage(data, kb.config.context_windows, kb.config.context_window)
    return PruneSession(session, settings, usage), "".join(list_prompts(session)[-1:])
