"""The way out, unasked: what an agent is told at a prompt, a start, a task: query → index → rank → budget → form."""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Callable, Sequence

from kb.context import hint_text, relevance
from kb.context.hint_text import AVATARS as AVATARS
from kb.context.hint_text import Hint
from kb.context.hint_text import is_avatar as is_avatar
from kb.index.record_ids import qualify_record_ids
from kb.index.schema import Filter
from kb.records.kinds import KINDS
from kb.records.model import GLOBAL, LIVE, Record, Reference, recency_key
from kb.records.record_paths import TREE, resolve_openable_path
from kb.search import query as queries
from kb.search import query_terms, rank
from kb.search.intent import IDENTITY, STRATEGIES, is_identity_question
from kb.search.rank import ParsedQuery, SearchHit
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


def build_hint(kb: Workspace, moment: str, keywords: Sequence[str], *, task: str = "", project: str = GLOBAL) -> Hint:
    """Return the hint for *moment* ("t1" or "t2"): the records that hold one of *keywords*, and those about *task*.

    Without either, the newest records.
    """
    wanted = _build_filter((moment,), project)
    words = [word for word in keywords if word.strip()]

    def find_records() -> list[Record]:
        if words or task.strip():
            held = _find_keyword_records(kb, words, wanted, project) if words else []
            about = _find_task_records(kb, task, (moment,), project) if task.strip() else []
            return list({record.path: record for record in (*held, *about)}.values())
        newest = kb.sync_index(thorough=False).records(wanted)
        return sorted(newest, key=recency_key, reverse=True)

    return _render_hint(kb, moment, _find_current(kb, find_records), project)


def _find_keyword_records(kb: Workspace, words: Sequence[str], wanted: Filter, project: str) -> list[Record]:
    """Return the records *wanted* that hold one of *words*, best first."""
    about = rank.parse_query(" ".join(words))
    hits = _rank_records(kb, about, wanted, project)
    named = {hit.record.path for hit in hits if rank.is_named(hit.record, about, project)}
    held = {hit.record.path for hit in relevance.filter_keyword_hits(hits, words)}
    return [hit.record for hit in hits if hit.record.path in held | named]


def build_task_hint(kb: Workspace, moment: str, task: str, *, project: str = GLOBAL) -> Hint:
    """Return the hint for *moment* with the records that are about *task*: none, mostly, where it is about others."""
    return _render_hint(
        kb, moment, _find_current(kb, lambda: _find_task_records(kb, task, (moment,), project)), project
    )


def _find_task_records(kb: Workspace, task: str, moments: Sequence[str], project: str) -> list[Record]:
    """Return the records about *task* of the kinds that are told at *moments*, best first."""
    wanted = _build_filter(moments, project)
    if not wanted.kinds:
        return []
    about = rank.parse_query(task)
    hits = _rank_records(kb, about, wanted, project)
    frequency, total = _count_frequencies(kb, task, project)
    told = relevance.filter_task_hits(hits, about, scope=project, frequency=frequency, total=total)
    return [hit.record for hit in told]


def _build_filter(moments: Sequence[str], project: str) -> Filter:
    return Filter(kinds=tuple(kind.name for kind in KINDS if kind.hint in moments), scopes=_list_scopes(project))


def _render_hint(kb: Workspace, moment: str, records: Sequence[Record], project: str) -> Hint:
    written = (hint_text.render_t1 if moment == "t1" else hint_text.render_t2)(
        qualify_record_ids(kb.index, records, project), kb.config
    )
    log_given_records(kb, moment, written.shown)
    return written


def build_avatar_hint(kb: Workspace, avatar: str, task: str, *, project: str = GLOBAL, quiet: bool = False) -> str:
    """Return the hints of all moments that *avatar* gets for *task*; "" for one that gets none (SHI-38).

    *quiet*, for a host that hands it on unasked: nothing is said of nothing, and above it stands whose words it is.
    """
    given = [build_task_hint(kb, moment, task, project=project) for moment in hint_text.list_moments(avatar)]
    told = [each.text for each in given if each.shown]
    nothing = [] if quiet else [each.text for each in given[:1]]
    text = "\n\n".join(told or nothing)
    return hint_text.add_quote_notice(text, kb.config) if quiet else text


def build_prompt_hint(kb: Workspace, prompt: str, *, project: str = GLOBAL, folder: str = "") -> str:
    """Return the few records that *prompt* is really about, framed as quoted data; mostly "".

    Their files are named as they are opened from *folder*.
    """
    found = _find_current(kb, lambda: _find_prompt_records(kb, prompt, project))
    about = [record._replace(path=resolve_openable_path(kb.root, record.path, folder)) for record in found]
    written = hint_text.render_prompt_hint(qualify_record_ids(kb.index, about, project), kb.config)
    log_given_records(kb, "prompt", written.shown)
    return written.text


def _find_current(kb: Workspace, found: Callable[[], list[Record]]) -> list[Record]:
    """Return what is *found*; where a file of it was edited in place, what is found once the index knows that."""
    records = found()
    if all(kb.index.is_current(record.path) for record in records):
        return records
    kb.sync_index()
    return found()


def _find_prompt_records(kb: Workspace, prompt: str, project: str) -> list[Record]:
    """Return the records that *prompt* is really about, best first, as many as a hint holds.

    A prompt that asks for the person who asks is answered with their preferences, as a search for it is.
    """
    if len(prompt) <= _LONGEST_IDENTITY and is_identity_question(one_line(prompt)):
        wanted = Filter(kinds=STRATEGIES[IDENTITY].kinds, scopes=_list_scopes(project), statuses=tuple(LIVE))
        return sorted(kb.sync_index(thorough=False).records(wanted), key=recency_key, reverse=True)
    about = rank.parse_query(prompt)
    if not about.references and not queries.extract_subjects(prompt):
        return []
    hits = _rank_records(kb, about, Filter(scopes=_list_scopes(project)), project)
    frequency, total = _count_frequencies(kb, prompt, project)
    best = rank.filter_relevant(hits, about, scope=project, frequency=frequency, total=total)
    return list({hit.record.path: hit.record for hit in best}.values())


def _rank_records(kb: Workspace, about: ParsedQuery, wanted: Filter, project: str) -> list[SearchHit]:
    """Return the records *wanted* that share a term with *about* or are named in it, best first."""
    index = kb.sync_index(thorough=False)
    terms = index.postings.find_known_terms(query_terms.weigh_query_terms(about.text, queries.MAX_TERMS))
    rows = index.postings.rank_rows(terms, wanted)[:_PROBED]
    found = index.load_rows([row.n for row in rows])
    hits = [SearchHit(found[row.n], row.score) for row in rows]
    named = (record for each in about.references for record in index.find_by_id(each.id))
    hits += [SearchHit(record) for record in named if not wanted.kinds or record.kind in wanted.kinds]
    return rank.rank_hits(hits, about, scope=project)


def _count_frequencies(kb: Workspace, text: str, project: str) -> tuple[dict[str, int], int]:
    """Return in how many records each subject of *text* stands, and how many records there are."""
    index = kb.index
    return index.postings.count_frequencies(queries.extract_subjects(text)), index.count(
        Filter(scopes=_list_scopes(project))
    )


def build_start_context(kb: Workspace, session: str, *, source: str, project: str = GLOBAL) -> str:
    """Return what a starting session is told: after a compaction its compact form, then what always holds."""
    from kb.records.record_paths import REVIEWS
    from kb.sessions.active_sessions import load_compact

    index = kb.sync_index(thorough=False)
    scopes = _list_scopes(project)
    live = Filter(scopes=scopes, statuses=tuple(LIVE))
    holding = live._replace(kinds=tuple(kind.name for kind in KINDS if kind.always))
    always = qualify_record_ids(index, index.records(holding, hint_text.get_start_limit(kb.config)), project)
    tallied = index.count_by_column("kind", live)
    counts = {kind.name: tallied.get(kind.name, 0) for kind in KINDS}
    compact = load_compact(kb, session) if source in ("compact", "resume") else ""
    reviews = len(kb.repository.list_refs(REVIEWS.rstrip("/")))
    written = hint_text.render_start_context(compact, always, kb.config, counts=counts, reviews=reviews)
    log_given_records(kb, "start", written.shown)
    return written.text


def build_spawn_prompt(
    kb: Workspace, avatar: str, task: str, *, session: str = "", project: str = GLOBAL, style: str = "shi"
) -> str:
    """Return what the prompt of a sub-agent begins with: in the layout of SHI, or (*style* "ruyi") of RUYI.

    Without a *session* it is the one that runs and was heard of last.
    """
    from kb.records.record_paths import sanitise_session_id
    from kb.sessions.active_sessions import iter_project_sessions, list_known_sessions, load_compact

    known = iter_project_sessions(kb, list_known_sessions(kb), project) if not session else ()
    session = session or next((heard.session for heard in known if _has_compact_form(kb, heard.session)), "")
    compact = load_compact(kb, session) if session else ""
    pointer = kb.state.path("active", sanitise_session_id(session), "compact.md") if compact else ""
    if style != "ruyi":
        told = build_avatar_hint(kb, avatar, task, project=project)
        return hint_text.render_spawn_prompt(compact, told, task, pointer, language=kb.config.language)
    about = _find_current(kb, lambda: _find_task_records(kb, task, hint_text.list_moments(avatar), project))
    listed = hint_text.render_anchors(qualify_record_ids(kb.index, about, project), kb.config)
    log_given_records(kb, "spawn", listed.shown)
    normal = os.path.join(kb.root, TREE, "current", "normal.md")
    whole = normal if os.path.isfile(normal) else pointer
    return hint_text.render_spawn_prompt(compact, listed.text, task, whole, language=kb.config.language, style=style)


def _has_compact_form(kb: Workspace, session: str) -> bool:
    from kb.records.record_paths import sanitise_session_id

    return os.path.isfile(kb.state.path("active", sanitise_session_id(session), "compact.md"))


def _list_scopes(project: str) -> tuple[str, ...]:
    return (GLOBAL,) if project == GLOBAL else (project, GLOBAL)


# -- what was used --------------------------------------------------------------------------------


class RecordUse(NamedTuple):
    """A record was of use."""

    stage: str
    """matured: handed to an agent; fruited: cited by a session that was archived."""
    time: str
    cause: str


def log_given_records(kb: Workspace, moment: str, records: Sequence[Record]) -> None:
    """Note which records an agent was given; a state folder that cannot be written is no reason to be silent."""
    if not records:
        return
    row = {"time": _format_time(kb.now()), "moment": moment, "uids": [record.uid for record in records]}
    try:
        kb.state.ensure_folder()
        with open(kb.state.path(USES), "a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    except OSError:
        return


def list_uses(kb: Workspace, record: Record) -> list[RecordUse]:
    """Return when *record* first matched a task, and which archived sessions cite it.

    A session that wrote the record itself has not used it yet, and an id means the record that the session's own
    project has under it.
    """
    from kb.sessions.session_archive import find_session_scope, list_sessions, list_written_ids, read_session_file

    given = _read_uses(kb, record.uid)
    found = [RecordUse("matured", given[0][0], f"{given[0][1]} (×{len(given)})")] if given else []
    for session in list_sessions(kb):
        with contextlib.suppress(OSError):
            scope = find_session_scope(kb, session)
            cites = any(
                _is_reference_to(kb, each, record, scope)
                for each in queries.find_references(read_session_file(kb, session, "compact.md"))
            )
            if cites and record.id not in list_written_ids(kb, session):
                found.append(RecordUse("fruited", session.time, session.name))
    return found


def _is_reference_to(kb: Workspace, reference: Reference, record: Record, scope: str) -> bool:
    """Return whether *reference*, said in a session of *scope*, means *record*."""
    if reference.id != record.id:
        return False
    if reference.project:
        return record.scope in (reference.project, f"project/{reference.project}")
    if record.scope == GLOBAL and scope != GLOBAL:
        return not any(one.scope == scope for one in kb.index.find_by_id(record.id))
    return record.scope == scope


def _read_uses(kb: Workspace, uid: str) -> list[tuple[str, str]]:
    """Return time and moment of every hand-over of the record *uid*; a damaged line is passed over."""
    found = []
    with contextlib.suppress(OSError), open(kb.state.path(USES), encoding="utf-8", errors="replace") as file:
        for line in file:
            if uid and uid in line:
                with contextlib.suppress(ValueError, KeyError, TypeError):
                    row = json.loads(line)
                    found.append((str(row["time"]), str(row["moment"])))
    return found


def _format_time(seconds: float) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(seconds))
