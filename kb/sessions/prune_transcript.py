"""Prune a transcript: read the settings, make the plan, write a copy, and keep the report. The transcript stays."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from kb.errors import BadInput, UnknownId
from kb.files import resolve_within, write_atomic
from kb.hosts import OPENCODE
from kb.i18n import Message, msg
from kb.sessions import dcp_settings
from kb.sessions.adapters import iter_records
from kb.sessions.dcp_settings import BadDcpSettings, DcpSettings
from kb.sessions.host_input import restore_host_names
from kb.sessions.prune_strategies import Cut, PruneGuards, compute_max_output, rank_lines, shorten_output
from kb.sessions.tool_calls import SessionHistory, read_history
from kb.sessions.usage import WINDOW, ContextUsage, enlarge_window, find_window, read_usage
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import estimate_tokens

if TYPE_CHECKING:
    from typing import Any, BinaryIO

    from kb.config import Config
    from kb.sessions.prune import DiscardProposal, PrunePlan
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
    from kb.sessions import dcp_report, prune
    from kb.sessions.prune import build_plan

    found = prune.propose_discards(session, settings) if wanted.propose else []
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
    from kb.sessions.render_forms import render_template

    return render_template(
        source,
        {"settings": dcp_settings.format_values(settings), "defaults": dcp_settings.format_settings(settings)},
        place,
    )


def format_result(made: PruneResult, language: str, *, explain: bool = False) -> str:
    """Return for people what pruning comes to: the proposals, the report, and with *explain* every cut."""
    from kb.sessions import dcp_report, prune

    parts = [prune.format_table(made.proposals, language)] if made.proposals else []
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


_TAIL = 400_000
"""Bytes of a transcript that tell how full the context is and what was asked last."""
_FULL = 85
"""Percent of the context in use from which its messages are pruned."""
_LOOKED_AT = 5_000
"""Files of a result that are looked at for when they were changed."""


class ToolRewrite(NamedTuple):
    """What a tool is to be given, or is to have answered, in the place of what it was."""

    value: Any
    note: Message


def limit_read(kb: Workspace, given: Mapping[str, Any], lines: int) -> ToolRewrite | None:
    """Return the input of a Read that takes a part of a file of *lines* lines; None where it needs none."""
    settings = load_settings(kb)
    most, first = settings.read_chunk_size, given.get("offset") or 1
    if not (settings.enabled and settings.truncation and most) or not isinstance(first, int) or lines - first < most:
        return None
    note = msg("kb: the file has at least {lines} lines; lines {first} to {last} are read; go on with offset={next}",
               lines=lines, first=first, last=first + most - 1, next=first + most)  # fmt: skip
    return ToolRewrite({**given, "limit": most}, note)


def shorten_result(
    kb: Workspace, tool: str, given: Mapping[str, Any], response: object, *, transcript: str = "", folder: str = ""
) -> ToolRewrite | None:
    """Return the *response* of a search shortened, in the same shape; None where it is short enough (RUYI-37)."""
    settings = load_settings(kb)
    if not (settings.enabled and settings.truncation) or tool not in settings.truncation_scope:
        return None
    usage, asked = _read_usage_and_prompt(kb, transcript)
    search = _ResultShortener(
        settings,
        compute_max_output(usage.left, settings),
        [asked, *_list_texts(given)],
        folder,
        kb.now(),
        settings.glob_max_files if tool == "Glob" else 0,
    )
    if isinstance(response, str):
        short = search.shorten_lines(response)
        return ToolRewrite(short, search.build_note(response, short)) if short != response else None
    if not isinstance(response, dict):
        return None
    changed = dict(response)
    names, content = response.get("filenames"), response.get("content")
    if isinstance(names, list) and all(isinstance(name, str) for name in names) and names:
        kept = search.shorten_paths(names)
        if len(kept) < len(names):
            changed |= {"filenames": kept, "numFiles": len(kept)}
            if "truncated" in response:
                changed["truncated"] = True
    if isinstance(content, str):
        changed["content"] = search.shorten_lines(content)
    return ToolRewrite(changed, search.build_note(response, changed)) if changed != response else None


def plan_live_edits(kb: Workspace, messages: object, *, begun: bool) -> list[dict[str, Any]]:
    """Return what is to be changed in the live *messages* of opencode, each with the numbers of message and part.

    Nothing while less than 85 % of the context is in use (RUYI-45), unless pruning has *begun* in this session: what
    was taken out must not come back with the next call.
    """
    from kb.sessions.prune import build_plan
    from kb.sessions.tool_calls import read_history

    held = [one if isinstance(one, dict) else {} for one in messages] if isinstance(messages, list) else []
    session = read_history(held)
    usage = compute_usage(session, -1.0, kb.config)
    if not begun and usage.percent < _FULL:
        return []
    made = build_plan(session, load_settings(kb), usage)
    return [_build_edit(held[cut.place.line - 1], cut) for cut in made.cuts]


def _build_edit(message: Mapping[str, Any], cut: Cut) -> dict[str, Any]:
    value = cut.value
    if cut.part == "input":
        part = message["parts"][cut.place.block]
        value = restore_host_names(OPENCODE, part.get("tool"), part["state"].get("input"), value)
    return {"message": cut.place.line - 1, "part": cut.place.block, cut.part: value}


class _ResultShortener:
    """What one search result is shortened by."""

    def __init__(
        self, settings: DcpSettings, most: int, words: Sequence[str], folder: str, now: float, rows: int
    ) -> None:
        from kb.sessions.tool_calls import SessionHistory

        self.most, self.words, self.folder, self.now, self.rows = most, words, folder, now, rows
        self.keep = PruneGuards(SessionHistory(), settings).find_anchors

    def shorten_lines(self, text: str) -> str:
        names = [line.partition(":")[0] for line in text.split("\n")[:_LOOKED_AT]]
        return shorten_output(
            text,
            self.most,
            rows=self.rows,
            words=self.words,
            changed=self._read_change_times(names),
            now=self.now,
            keep=self.keep,
        )

    def shorten_paths(self, names: list[str]) -> list[str]:
        sizes = [estimate_tokens(name) + 1 for name in names]
        if (not self.rows or len(names) <= self.rows) and sum(sizes) <= self.most:
            return names
        chosen: list[int] = []
        room = self.most
        for at in rank_lines(names, self.words, self._read_change_times(names), self.now):
            if (self.rows and len(chosen) >= self.rows) or sizes[at] > room:
                break
            chosen.append(at)
            room -= sizes[at]
        return [names[at] for at in sorted(chosen)]

    def _read_change_times(self, names: Sequence[str]) -> dict[str, float]:
        """Return when the files *names* were changed, as far as they are there."""
        found = {}
        for name in dict.fromkeys(names[:_LOOKED_AT]):
            try:
                found[name] = os.stat(os.path.join(self.folder, name)).st_mtime
            except (OSError, ValueError):
                continue
        return found

    def build_note(self, before: object, after: object) -> Message:
        return msg(
            "kb: the result was shortened from about {before} to {after} tokens; narrow the search for the rest",
            before=estimate_tokens(str(before)),
            after=estimate_tokens(str(after)),
        )


def _list_texts(given: Mapping[str, Any]) -> list[str]:
    return [value for value in given.values() if isinstance(value, str)]


def _read_usage_and_prompt(kb: Workspace, transcript: str) -> tuple[ContextUsage, str]:
    """Return how full the context is and what a person asked last, by the end of the *transcript*."""
    from kb.sessions.host_input import read_transcript
    from kb.sessions.transcript import get_prompt, parse_transcript

    usual = kb.config.context_window
    try:
        data = read_transcript(transcript, _TAIL) if transcript else b""
    except BadInput:
        return ContextUsage(window=usual or WINDOW), ""
    prompts = [prompt for message in parse_transcript(data).messages if (prompt := get_prompt(message))]
    return read_usage(data, kb.config.context_windows, usual), prompts[-1] if prompts else ""
