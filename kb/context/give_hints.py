"""The way out, unasked: what an agent is told at a prompt, a start, a task: query → index → rank → budget → form."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence

from kb.context import hints, relevance
from kb.context.hints import AVATARS as AVATARS
from kb.context.hints import Hint
from kb.context.hints import is_avatar as is_avatar
from kb.index.lookup import named_for
from kb.index.schema import Filter
from kb.records.kinds import KINDS
from kb.records.model import GLOBAL, LIVE, Record, Reference, recency
from kb.records.record_paths import TREE, openable
from kb.search import query as queries
from kb.search import query_terms, rank
from kb.search.intent import IDENTITY, STRATEGIES, is_about_the_asker
from kb.search.rank import Asked, Hit
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple
from kb.text.segment import one_line

if TYPE_CHECKING:
    from kb.workspace import Workspace

USES = "uses.jsonl"
"""What was handed to agents: one line with time, moment and uids for each time (`.kb/`, local to the clone)."""
_PROBED = 40
_LONGEST_IDENTITY = 80
"""Characters of a prompt that can be nothing but a question for the person who asks."""

# -- hints ----------------------------------------------------------------------------------------


def hint(kb: Workspace, moment: str, keywords: Sequence[str], *, task: str = "", project: str = GLOBAL) -> Hint:
    """Return the hint for *moment* ("t1" or "t2"): the records that hold one of *keywords*, and those about *task*.

    Without either, the newest records.
    """
    wanted = _wanted((moment,), project)
    words = [word for word in keywords if word.strip()]

    def found() -> list[Record]:
        if words or task.strip():
            held = _holding(kb, words, wanted, project) if words else []
            about = _about_task(kb, task, (moment,), project) if task.strip() else []
            return list({record.path: record for record in (*held, *about)}.values())
        newest = kb.fresh(thorough=False).records(wanted)
        return sorted(newest, key=recency, reverse=True)

    return _written(kb, moment, _current(kb, found), project)


def _holding(kb: Workspace, words: Sequence[str], wanted: Filter, project: str) -> list[Record]:
    """Return the records *wanted* that hold one of *words*, best first."""
    about = rank.asked(" ".join(words))
    hits = _ranked(kb, about, wanted, project)
    named = {hit.record.path for hit in hits if rank.is_named(hit.record, about, project)}
    held = {hit.record.path for hit in relevance.holding(hits, words)}
    return [hit.record for hit in hits if hit.record.path in held | named]


def hint_for_task(kb: Workspace, moment: str, task: str, *, project: str = GLOBAL) -> Hint:
    """Return the hint for *moment* with the records that are about *task*: none, mostly, where it is about others."""
    return _written(kb, moment, _current(kb, lambda: _about_task(kb, task, (moment,), project)), project)


def _about_task(kb: Workspace, task: str, moments: Sequence[str], project: str) -> list[Record]:
    """Return the records about *task* of the kinds that are told at *moments*, best first."""
    wanted = _wanted(moments, project)
    if not wanted.kinds:
        return []
    about = rank.asked(task)
    hits = _ranked(kb, about, wanted, project)
    frequency, total = _frequency(kb, task, project)
    told = relevance.worth_telling(hits, about, scope=project, frequency=frequency, total=total)
    return [hit.record for hit in told]


def _wanted(moments: Sequence[str], project: str) -> Filter:
    return Filter(kinds=tuple(kind.name for kind in KINDS if kind.hint in moments), scopes=_scopes(project))


def _written(kb: Workspace, moment: str, records: Sequence[Record], project: str) -> Hint:
    written = (hints.t1 if moment == "t1" else hints.t2)(named_for(kb.index, records, project), kb.config)
    remember(kb, moment, written.shown)
    return written


def hint_for_avatar(kb: Workspace, avatar: str, task: str, *, project: str = GLOBAL, quiet: bool = False) -> str:
    """Return the hints of all moments that *avatar* gets for *task*; "" for one that gets none (SHI-38).

    *quiet*, for a host that hands it on unasked: nothing is said of nothing, and above it stands whose words it is.
    """
    given = [hint_for_task(kb, moment, task, project=project) for moment in hints.moments(avatar)]
    told = [each.text for each in given if each.shown]
    nothing = [] if quiet else [each.text for each in given[:1]]
    text = "\n\n".join(told or nothing)
    return hints.framed(text, kb.config) if quiet else text


def answer_to_prompt(kb: Workspace, prompt: str, *, project: str = GLOBAL, folder: str = "") -> str:
    """Return the few records that *prompt* is really about, framed as quoted data; mostly "".

    Their files are named as they are opened from *folder*.
    """
    found = _current(kb, lambda: _about(kb, prompt, project))
    about = [record._replace(path=openable(kb.root, record.path, folder)) for record in found]
    written = hints.prompt_hint(named_for(kb.index, about, project), kb.config)
    remember(kb, "prompt", written.shown)
    return written.text


def _current(kb: Workspace, found: Callable[[], list[Record]]) -> list[Record]:
    """Return what is *found*; where a file of it was edited in place, what is found once the index knows that."""
    records = found()
    if all(kb.index.is_current(record.path) for record in records):
        return records
    kb.fresh()
    return found()


def _about(kb: Workspace, prompt: str, project: str) -> list[Record]:
    """Return the records that *prompt* is really about, best first, as many as a hint holds.

    A prompt that asks for the person who asks is answered with their preferences, as a search for it is.
    """
    if len(prompt) <= _LONGEST_IDENTITY and is_about_the_asker(one_line(prompt)):
        wanted = Filter(kinds=STRATEGIES[IDENTITY].kinds, scopes=_scopes(project), statuses=tuple(LIVE))
        return sorted(kb.fresh(thorough=False).records(wanted), key=recency, reverse=True)
    about = rank.asked(prompt)
    if not about.references and not queries.subjects(prompt):
        return []
    hits = _ranked(kb, about, Filter(scopes=_scopes(project)), project)
    frequency, total = _frequency(kb, prompt, project)
    best = rank.relevant(hits, about, scope=project, frequency=frequency, total=total)
    return list({hit.record.path: hit.record for hit in best}.values())


def _ranked(kb: Workspace, about: Asked, wanted: Filter, project: str) -> list[Hit]:
    """Return the records *wanted* that share a term with *about* or are named in it, best first."""
    index = kb.fresh(thorough=False)
    terms = index.postings.known(query_terms.asked(about.text, queries.MAX_TERMS))
    rows = index.postings.best(terms, wanted)[:_PROBED]
    found = index.at([row.n for row in rows])
    hits = [Hit(found[row.n], row.score) for row in rows]
    named = (record for each in about.references for record in index.named(each.id))
    hits += [Hit(record) for record in named if not wanted.kinds or record.kind in wanted.kinds]
    return rank.ranked(hits, about, scope=project)


def _frequency(kb: Workspace, text: str, project: str) -> tuple[dict[str, int], int]:
    """Return in how many records each subject of *text* stands, and how many records there are."""
    index = kb.index
    return index.postings.frequencies(queries.subjects(text)), index.count(Filter(scopes=_scopes(project)))


def start_of_session(kb: Workspace, session: str, *, source: str, project: str = GLOBAL) -> str:
    """Return what a starting session is told: after a compaction its compact form, then what always holds."""
    from kb.records.record_paths import REVIEWS
    from kb.sessions.active_sessions import active_compact

    index = kb.fresh(thorough=False)
    scopes = _scopes(project)
    live = Filter(scopes=scopes, statuses=tuple(LIVE))
    holding = live._replace(kinds=tuple(kind.name for kind in KINDS if kind.always))
    always = named_for(index, index.records(holding, hints.most_at_start(kb.config)), project)
    tallied = index.tallies("kind", live)
    counts = {kind.name: tallied.get(kind.name, 0) for kind in KINDS}
    compact = active_compact(kb, session) if source in ("compact", "resume") else ""
    reviews = len(kb.repository.refs(REVIEWS.rstrip("/")))
    written = hints.start_context(compact, always, kb.config, counts=counts, reviews=reviews)
    remember(kb, "start", written.shown)
    return written.text


def spawn(
    kb: Workspace, avatar: str, task: str, *, session: str = "", project: str = GLOBAL, style: str = "shi"
) -> str:
    """Return what the prompt of a sub-agent begins with: in the layout of SHI, or (*style* "ruyi") of RUYI.

    Without a *session* it is the one that runs and was heard of last.
    """
    from kb.records.record_paths import safe_id
    from kb.sessions.active_sessions import active_compact, heard_of, of_project

    known = of_project(kb, heard_of(kb), project) if not session else ()
    session = session or next((heard.session for heard in known if _runs(kb, heard.session)), "")
    compact = active_compact(kb, session) if session else ""
    pointer = kb.state.path("active", safe_id(session), "compact.md") if compact else ""
    if style != "ruyi":
        told = hint_for_avatar(kb, avatar, task, project=project)
        return hints.spawn(compact, told, task, pointer, language=kb.config.language)
    about = _current(kb, lambda: _about_task(kb, task, hints.moments(avatar), project))
    listed = hints.anchors(named_for(kb.index, about, project), kb.config)
    remember(kb, "spawn", listed.shown)
    normal = os.path.join(kb.root, TREE, "current", "normal.md")
    whole = normal if os.path.isfile(normal) else pointer
    return hints.spawn(compact, listed.text, task, whole, language=kb.config.language, style=style)


def _runs(kb: Workspace, session: str) -> bool:
    from kb.records.record_paths import safe_id

    return os.path.isfile(kb.state.path("active", safe_id(session), "compact.md"))


def _scopes(project: str) -> tuple[str, ...]:
    return (GLOBAL,) if project == GLOBAL else (project, GLOBAL)


# -- what was used --------------------------------------------------------------------------------


class Use(NamedTuple):
    """A record was of use."""

    stage: str
    """matured: handed to an agent; fruited: cited by a session that was archived."""
    time: str
    cause: str


def remember(kb: Workspace, moment: str, records: Sequence[Record]) -> None:
    """Note which records an agent was given; a state folder that cannot be written is no reason to be silent."""
    if not records:
        return
    row = {"time": _iso(kb.now()), "moment": moment, "uids": [record.uid for record in records]}
    try:
        kb.state.made()
        with open(kb.state.path(USES), "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    except OSError:
        return


def uses(kb: Workspace, record: Record) -> list[Use]:
    """Return when *record* first matched a task, and which archived sessions cite it.

    A session that wrote the record itself has not used it yet, and an id means the record that the session's own
    project has under it.
    """
    from kb.sessions.session_archive import scope_of_session, session_file, sessions, written_in

    given = _given(kb, record.uid)
    found = [Use("matured", given[0][0], f"{given[0][1]} (×{len(given)})")] if given else []
    for session in sessions(kb):
        with contextlib.suppress(OSError):
            scope = scope_of_session(kb, session)
            cites = any(
                _means(kb, each, record, scope) for each in queries.cited(session_file(kb, session, "compact.md"))
            )
            if cites and record.id not in written_in(kb, session):
                found.append(Use("fruited", session.time, session.name))
    return found


def _means(kb: Workspace, reference: Reference, record: Record, scope: str) -> bool:
    """Return whether *reference*, said in a session of *scope*, means *record*."""
    if reference.id != record.id:
        return False
    if reference.project:
        return record.scope in (reference.project, f"project/{reference.project}")
    if record.scope == GLOBAL and scope != GLOBAL:
        return not any(one.scope == scope for one in kb.index.named(record.id))
    return record.scope == scope


def _given(kb: Workspace, uid: str) -> list[tuple[str, str]]:
    """Return time and moment of every hand-over of the record *uid*; a damaged line is passed over."""
    found = []
    with contextlib.suppress(OSError), open(kb.state.path(USES), encoding="utf-8", errors="replace") as file:
        for line in file:
            if uid and uid in line:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    row = json.loads(line)
                    found.append((str(row["time"]), str(row["moment"])))
    return found


def _iso(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))
