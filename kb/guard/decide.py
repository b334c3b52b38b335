"""What the guard says to a tool call: one look at the call, one at the session, one ruling."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from kb.errors import BadInput
from kb.guard import policy
from kb.guard.call_paths import touched
from kb.guard.call_targets import Grounds, grounds, in_project, inside, is_telling, meant, real_path, whose
from kb.guard.file_access import Call, Place
from kb.guard.machine_blocks import changes_block
from kb.guard.response import DENY, WARN, Decision, joined
from kb.guard.risk import FILE as RISK_FILE
from kb.guard.risk import HIGH, PATTERNS, Level, Risk, level, text_of
from kb.i18n import Message, msg
from kb.index.lookup import name_of
from kb.index.schema import Filter
from kb.records.model import GLOBAL, Record, Status
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.state.session_log import NOTICED, QUOTED, READ, Log

if TYPE_CHECKING:
    from typing import Any

    from kb.workspace import Workspace

_ASKED_ABOUT = 20
"""Paths of one call for which constraints are looked up."""


class Seen(NamedTuple):
    """A tool call, as a host tells of it before it is made."""

    tool: str
    given: Mapping[str, Any]
    session: str = ""
    prompt: str = ""
    """What the host calls the prompt that it is made for; "" where it does not say."""
    folder: str = ""


def ruled(kb: Workspace, seen: Seen) -> Decision:
    """Return what the guard says to the call *seen*, and remember what it reads of the memory."""
    call = touched(seen.tool, seen.given, _variables(kb, seen))
    ground = grounds(kb, seen.folder)
    log = Log(kb, seen.session)
    if seen.prompt and not log.is_prompt(seen.prompt):
        log.begin(seen.prompt)
    _remember(call, ground, log)
    refused = _refused(kb, seen, call, ground)
    if refused.permission == DENY or not (call.writes or call.many):
        return refused
    paths = [path + "/" if place.whole and os.path.isdir(path) else path
             for place in call.writes for path in meant(place, ground)]  # fmt: skip
    written = in_project(paths, ground)
    if not written and not call.many:
        return refused
    many = call.many or any(path.endswith("/") for path in written)
    return joined(refused, *_looked_at(kb, written, ground, log, many=many))


def _variables(kb: Workspace, seen: Seen) -> dict[str, str]:
    known = {name: value for name in ("HOME", "USER", "TMPDIR", "KB_HOME") if (value := kb.environment.get(name))}
    return {**known, "PWD": seen.folder or kb.root}


# -- what was read -----------------------------------------------------------------------------------


def _remember(call: Call, ground: Grounds, log: Log) -> None:
    """Remember what *call* reads of the memory, by its real path (MBANK-30)."""
    for place in call.reads:
        for path in meant(place, ground):
            real = real_path(path)
            if any(inside(real, top) for top in ground.memory):
                log.add(READ, real)
    for word in call.asked:
        if word != "proposal":
            log.add(READ, f"kb {word}")


def _wanted(kb: Workspace, ground: Grounds, settings: Risk) -> list[str]:
    """Return the files of the memory bank of which one must have been read; none where there are none to read."""
    if not ground.bank:
        return []
    patterns = [os.path.join(ground.bank, *parts) for parts in (("details", "patterns.md"), ("patterns.md",))]
    index = [os.path.join(ground.bank, "MEMORY.md")]
    there = [[path for path in group if os.path.isfile(path) and os.access(path, os.R_OK)]
             for group in (patterns, index)]  # fmt: skip
    return there[0] or there[1] if settings.requires == PATTERNS else [*there[0], *there[1]]


def _step(
    kb: Workspace, ground: Grounds, settings: Risk, log: Log, paths: Sequence[str], *, is_high: bool
) -> Message | None:
    """Return how the memory is to be read; None where it has been, or where nothing in it is about the call."""
    reads = log.here(READ)
    if wanted := _wanted(kb, ground, settings):
        if any(inside(real_path(path), read) for path in wanted for read in reads if os.path.isfile(read)):
            return None
        return msg("read {path}", path=_short(wanted[0], ground))
    if reads:
        return None
    project = kb.project(ground.folder)
    if record := _governing(kb, project, paths):
        return msg("run: {command}", command=f"kb show {name_of(kb, record)}")
    is_own = inside(kb.root, ground.project)
    scopes = [project, GLOBAL] if is_own else [project] if project != GLOBAL else []
    if is_high and scopes and kb.fresh(thorough=False).titles(scopes, 1):
        return msg("run: {command}", command="kb list")
    return None


def _governing(kb: Workspace, project: str, paths: Sequence[str]) -> Record | None:
    """Return an accepted record whose impact names one of *paths*, or a folder above; None for none."""
    scopes = tuple({project, GLOBAL})
    for path in paths[:_ASKED_ABOUT]:
        wanted = Filter(scopes=scopes, statuses=(Status.ACCEPTED,), path=path.rstrip("/"))
        if found := kb.fresh(thorough=False).records(wanted):
            return found[0]
    return None


def _short(path: str, ground: Grounds) -> str:
    return os.path.relpath(path, ground.project) if inside(path, ground.project) else path


class Standing(NamedTuple):
    """How the guard stands in a folder."""

    mode: str
    notice: Message | None
    read: tuple[str, ...]
    """What must have been read, any of these files; () for any record."""
    risks: tuple[tuple[str, Level], ...]
    """The paths that were asked about, each with its risk."""


def standing(kb: Workspace, folder: str, paths: Sequence[str] = ()) -> Standing:
    """Return how the guard stands in *folder*, and what it thinks of writing each of *paths*; raise BadRisk."""
    from kb.guard.risk_settings import settings_at

    settings, ground = settings_at(kb.root), grounds(kb, folder)
    mode = policy.mode_of(kb.environment.get(policy.MODE), kb.config.guard)
    read = tuple(_short(path, ground) for path in _wanted(kb, ground, settings))
    there = [(path, in_project([os.path.join(ground.folder, path)], ground)) for path in paths]
    return Standing(mode.name, mode.notice, read, tuple((path, level(inside, settings)) for path, inside in there))


def settings_text() -> str:
    """Return `risk.yaml` with the defaults, every key with its meaning."""
    return text_of()


# -- who may write -----------------------------------------------------------------------------------


def _refused(kb: Workspace, seen: Seen, call: Call, ground: Grounds) -> Decision:
    """Return the refusal of what only kb, or only a person, may do (MBANK-25, 37)."""
    language = kb.config.language
    if call.forges:
        return policy.forged(call.forges).translate(language)
    is_free = kb.config.writer == "direct"
    for place in call.writes:
        if is_telling(place) and not is_free:
            return policy.kept(place.path.replace("\0", "…"), "record").translate(language)
        for path in meant(place, ground):
            what = whose(path, ground, whole=place.whole)
            if what and not (is_free and what != "state") and not _takes_back(kb, place, path):
                return policy.kept(_short(path, ground), what).translate(language)
            if not what and not is_free and changes_block(path, seen.tool, seen.given):
                return policy.kept(_short(path, ground), "block").translate(language)
    if call.decides:
        return policy.decides(call.decides).translate(language)
    return _settings_asked(kb, call, ground)


def _takes_back(kb: Workspace, place: Place, path: str) -> bool:
    """Return whether the write to *path* is what kb itself asks for after a change outside kb."""
    if not place.back:
        return False
    from kb.guard.outside_changes import may_be_taken_back

    return may_be_taken_back(kb, real_path(path), place.back)


def _settings_asked(kb: Workspace, call: Call, ground: Grounds) -> Decision:
    from kb.config import FILE

    own = {os.path.join(kb.root, name) for name in (FILE, RISK_FILE)}
    for place in call.writes:
        for path in meant(place, ground):
            if real_path(path) in own:
                return policy.settings(os.path.basename(path)).translate(kb.config.language)
    return Decision()


# -- what should have been read, and what holds --------------------------------------------------------


def _looked_at(kb: Workspace, written: Sequence[str], ground: Grounds, log: Log, *, many: bool) -> list[Decision]:
    """Return what is said of writing the paths *written*: what should have been read, and the constraints on them."""
    kept = log.quiet()
    patterns = kept.get("patterns", []) if kept.get("project") == ground.project else [""]
    if kept.get("settled") is True and not any(_may_be_about(path, patterns) for path in written):
        return []  # it has spoken for this prompt
    language = kb.config.language
    mode = policy.mode_of(kb.environment.get(policy.MODE), kb.config.guard)
    try:
        from kb.guard.risk_settings import settings_of_kb

        settings, trouble = settings_of_kb(kb), None
    except BadInput as error:
        settings, trouble = Risk(), error
    said = []
    if not log.ever(NOTICED):
        notices = [kb.words(mode.notice)] if mode.notice else []
        notices += [f"kb: {trouble.translate(language)}"] if trouble else []
        if notices:
            log.add(NOTICED)
            said.append(Decision(message="\n".join(notices)))
    risk = level(written, settings, many=many)
    is_asked = mode.name != policy.OFF and log.session
    step = _step(kb, ground, settings, log, written, is_high=risk.name == HIGH) if is_asked else None
    key = step.translate("en") if step else ""
    is_first = not log.here(WARN) and key not in log.ever(WARN)
    ruling = policy.unread(mode.name, risk, step)
    if ruling.permission and not log.add(ruling.permission, key):
        ruling = policy.Words()
    if ruling.permission == DENY or (ruling.permission and is_first):
        said.append(ruling.translate(language))
    constraints = _constraints(kb, ground)
    patterns = sorted({_literal(path) for path in kb.fresh(thorough=False).impacts(constraints)})
    said.append(_quoted(kb, constraints, [path for path in written if _may_be_about(path, patterns)], log))
    settled = step is None or mode.name != policy.BLOCK
    log.keep_quiet({"settled": settled, "prompt": log.prompt, "patterns": patterns, "project": ground.project})
    return said


def _constraints(kb: Workspace, ground: Grounds) -> Filter:
    """Return what asks for the accepted constraints of the project."""
    project = kb.project(ground.folder)
    return Filter(kinds=("constraint",), scopes=tuple({project, GLOBAL}), statuses=(Status.ACCEPTED,))


def _quoted(kb: Workspace, constraints: Filter, written: Sequence[str], log: Log) -> Decision:
    """Quote the constraints on what is written, each once in a session."""
    known = set(log.ever(QUOTED))
    on_paths = [
        (path, kb.index.records(constraints._replace(path=path.rstrip("/")))) for path in written[:_ASKED_ABOUT]
    ]
    found = {record.uid: record for _, records in on_paths for record in records if record.uid not in known}
    if not found:
        return Decision()
    from kb.context.hints import prompt_hint

    hint = prompt_hint(list(found.values()), kb.config)
    for record in hint.shown:
        log.add(QUOTED, record.uid)
    about = next(path for path, records in on_paths if any(record.uid in found for record in records))
    head = kb.words(msg("kb: what holds for {path}:", path=about))
    return Decision(context=f"{head}\n{hint.text}") if hint.text else Decision()


def _may_be_about(path: str, patterns: Sequence[str]) -> bool:
    return path.casefold().startswith(tuple(patterns))


def _literal(path: str) -> str:
    """Return the beginning of an impact path that no wildcard stands in, in small letters."""
    return _WILD.split(path, maxsplit=1)[0].rstrip("/").casefold()


_WILD = regex(r"[*?\[]")
