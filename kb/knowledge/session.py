"""What a session leaves behind: candidates through the gate, the compact form, an archive, and the session index."""

import hashlib
import json
import os
import re
import stat
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kb.errors import BadInput, KbError, UnknownId
from kb.knowledge.names import CONTENT
from kb.knowledge.write import write
from kb.record import GLOBAL, Candidate, Verdict
from kb.sessions import extract, forms, llm
from kb.sessions import transcript as transcripts
from kb.sessions.transcript import Transcript
from kb.text import slugify
from kb.words import say
from kb.writing import redact

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

MAX_TRANSCRIPT = 256_000_000
_MODEL_SEES = 400_000


class Session(NamedTuple):
    """An archived session."""

    name: str
    """The folder under `content/sessions/`: <project>-<timestamp>-<id8>."""
    project: str
    time: str
    """ISO 8601, local."""
    task: str
    session: str
    anchors: int
    """How many records it created."""
    path: str


class Saved(NamedTuple):
    """What saving a session did."""

    session: str
    compact: str
    candidates: tuple[Candidate, ...]
    verdicts: tuple[Verdict, ...]
    archive: str
    """The archive's name; "" where only the extraction was asked for."""
    notes: tuple[str, ...]


def safe_id(session: str) -> str:
    """Return *session* as a file name part: letters, digits, hyphens and underscores, 64 at most, never empty.

    An id that had to be changed gets a mark of its original, so that two never become one.
    """
    plain = re.sub(r"[^A-Za-z0-9_-]", "-", session)[:64].strip("-")
    if plain == session and plain:
        return plain
    return f"{plain[:50] or 'session'}-{hashlib.sha256(session.encode('utf-8', 'replace')).hexdigest()[:8]}"


def read_transcript(path: str) -> bytes:
    """Return the bytes of a transcript; raise BadInput for what is missing, no plain file, or larger than 256 MB."""
    try:
        about = os.stat(path)
        if not stat.S_ISREG(about.st_mode):
            raise BadInput(say("the transcript is not a file"), path=path)
        if about.st_size > MAX_TRANSCRIPT:
            raise BadInput(say("the transcript is larger than {limit} bytes", limit=MAX_TRANSCRIPT), path=path)
        with open(path, "rb") as file:
            return file.read()
    except (OSError, ValueError) as error:
        problem = error.strerror if isinstance(error, OSError) else str(error)
        raise BadInput(say("the transcript cannot be read: {problem}", problem=problem), path=path) from None


def save(
    kb: "KnowledgeBase", path: str, *, session: str = "", folder: str = "", host: str = "", archive: bool = True,
    landing: bool = False,
) -> Saved:  # fmt: skip
    """Extract candidates from the transcript *path*, put them through the gate, and keep what the session was about.

    For the same state of the transcript the second call changes nothing. With *archive* False only what came after
    the last call is extracted, and nothing is archived. *landing* tells that the spool is being emptied already.
    """
    data = read_transcript(path)
    transcript = transcripts.read(data)
    session = session or transcript.session_id or os.path.basename(path).partition(".")[0]
    folder = folder or transcript.cwd
    name = safe_id(session)
    state = hashlib.sha256(data).hexdigest()
    before = kb.state.load("cursors", name + ".json") or {}
    if archive and before.get("archived") == state:
        return _saved_before(kb, session, before)
    after = 0 if archive else int(before.get("line", 0))
    found, notes = candidates_of(kb, transcript, after, session, host)
    compact = compact_of(kb, transcript, found)
    scope = kb.project(folder) if folder and os.path.isdir(folder) else GLOBAL
    shelf = _archive_name(kb, scope, session) if archive else ""
    verdicts = write(
        kb, found, folder=folder if os.path.isdir(folder) else "", subject=f"Archive session {name[:8]}",
        beside=lambda said: _files(kb, shelf, transcript, found, said, compact, folder, session) if shelf else {}, landing=landing,
    )  # fmt: skip
    _keep_active(kb, name, session, scope, folder, compact)
    cursor = {"line": transcript.lines, "time": kb.now(), "archived": state if archive else before.get("archived", "")}
    kb.state.save({**before, **cursor, "archive": shelf or before.get("archive", "")}, "cursors", name + ".json")
    return Saved(session, compact, tuple(found), tuple(verdicts), shelf, tuple(notes))


def due(kb: "KnowledgeBase", session: str) -> bool:
    """Tell whether the last extraction from *session* is long enough ago (`pause`, 30 s by default: ZCLAW-15)."""
    before = kb.state.load("cursors", safe_id(session) + ".json") or {}
    last = float(before.get("time", 0))
    return not last <= kb.now() < last + kb.config.pause


def candidates_of(
    kb: "KnowledgeBase", transcript: Transcript, after: int, session: str, host: str
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates in *transcript*: by KB_LLM_CMD where it is set and answers, else offline."""
    notes: list[str] = []
    found: list[Candidate] | None = None
    if command := kb.environment.get("KB_LLM_CMD"):
        from kb.store.llm import ask

        try:
            answer = ask(command, llm.request(transcript, kb.config.language), kb.config.llm_timeout)
            found = [c for c in llm.checked(answer, transcript) if all(e.line > after for e in c.evidence)]
        except KbError as error:
            notes.append(error.in_language(kb.config.language))
    if found is None:
        found = extract.candidates(transcript, after)
    return [c._replace(session=session, host=host or c.host) for c in found], notes


def compact_of(kb: "KnowledgeBase", transcript: Transcript, found: Sequence[Candidate]) -> str:
    """Return the compact form of *transcript*, with the records it cites and without secrets."""
    from kb.reading.query import cited

    ids = dict.fromkeys(
        ref.id for message in transcript.messages for text in transcripts.said(message) for ref in cited(text)
    )
    known = [record_id for record_id in ids if kb.index.named(record_id)]
    text = forms.compact(
        transcript, anchors=known, candidates=found, language=kb.config.language, limit=kb.config.compact_limit
    )
    return redact.redact(text, kb.config.private_words)[0]


def _archive_name(kb: "KnowledgeBase", scope: str, session: str) -> str:
    project = slugify(scope.removeprefix("project/"))
    return f"{project}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(kb.now()))}-{safe_id(session)[:8].ljust(8, '0')}"


def _files(
    kb: "KnowledgeBase", shelf: str, transcript: Transcript, found: Sequence[Candidate], verdicts: Sequence[Verdict],
    compact: str, folder: str, session: str,
) -> dict[str, bytes]:  # fmt: skip
    """Return the three files of an archive (SHI-04, SHI-05, SHI-06)."""
    when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(kb.now()))
    hui = forms.hui_output(transcript, candidates=found, compact_md=compact, timestamp=when, project_path=folder)
    hui["session_id"] = session
    place = f"{CONTENT}/sessions/{shelf}/"
    return {
        place + "compact.md": compact.encode(),
        place + "hui-output.json": _masked_json(kb, hui),
        place + "shi-result.json": _masked_json(kb, forms.shi_result(verdicts)),
    }


def _masked_json(kb: "KnowledgeBase", value: object) -> bytes:
    def masked(item: Any) -> Any:
        if isinstance(item, str):
            return redact.redact(item, kb.config.private_words)[0]
        if isinstance(item, dict):
            return {key: masked(inner) for key, inner in item.items()}
        return [masked(inner) for inner in item] if isinstance(item, list | tuple) else item

    return json.dumps(masked(value), ensure_ascii=False, indent=1).encode() + b"\n"


def _keep_active(kb: "KnowledgeBase", name: str, session: str, scope: str, folder: str, compact: str) -> None:
    from kb.store.state import write_whole

    when = time.strftime("%Y-%m-%dT%H:%M:%S%z", time.localtime(kb.now()))
    about = {"session_id": session, "project": scope.removeprefix("project/"), "cwd": folder, "timestamp": when}
    kb.state.made()
    write_whole(kb.state.path("active", name, "compact.md"), compact.encode())
    kb.state.save(about, "active", name, "metadata.json")


def active_compact(kb: "KnowledgeBase", session: str) -> str:
    """Return the compact form of a running session, or ""."""
    try:
        with open(kb.state.path("active", safe_id(session), "compact.md"), encoding="utf-8") as file:
            return file.read()
    except OSError:
        return ""


def _saved_before(kb: "KnowledgeBase", session: str, before: dict[str, Any]) -> Saved:
    return Saved(
        session, active_compact(kb, session), (), (), str(before.get("archive", "")), (kb.words(say("saved already")),)
    )


# -- the archive ----------------------------------------------------------------------------------


def sessions(kb: "KnowledgeBase") -> list[Session]:
    """Return the archived sessions, oldest first, and bring the session index (`.kb/sessions.json`) up to them."""
    top = os.path.join(kb.root, CONTENT, "sessions")
    names = sorted(os.listdir(top)) if os.path.isdir(top) else []
    found = [session for name in names if (session := _session(top, name))]
    found.sort(key=lambda session: (session.time, session.name))
    rows = [{**session._asdict(), "status": "archived"} for session in found]
    projects: dict[str, int] = {}
    for session in found:
        projects[session.project] = projects.get(session.project, 0) + 1
    value = {"version": 1, "sessions": rows, "projects": projects}
    if kb.state.load("sessions.json") != value:
        kb.state.save(value, "sessions.json")
    return found


def _session(top: str, name: str) -> Session | None:
    match = re.fullmatch(r"(.+)-(\d{8})-(\d{6})-(.{8})", name)
    try:
        with open(os.path.join(top, name, "hui-output.json"), encoding="utf-8") as file:
            hui = json.load(file)
        with open(os.path.join(top, name, "shi-result.json"), encoding="utf-8") as file:
            shi = json.load(file)
        written = len(shi.get("anchors_written", ()))
        when, task, session = str(hui["timestamp"]), str(hui["context"]["task"]), str(hui["session_id"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
    return (
        Session(name, match.group(1) if match else "", when, task, session, written, f"{CONTENT}/sessions/{name}")
        if match
        else None
    )


def one_session(kb: "KnowledgeBase", name: str) -> Session:
    """Return the archived session whose name begins with, or else contains, *name*; raise UnknownId for none or many."""
    everything = sessions(kb)
    for fits in (str.startswith, str.__contains__):
        named = [session for session in everything if fits(session.name, name)]
        if len(named) == 1:
            return named[0]
        if named:
            choices = ", ".join(session.name for session in named[-10:])
            raise UnknownId(
                say("{id} names several sessions: {choices}", id=name, choices=choices), hint=say("name one of them")
            )
    raise UnknownId(say("there is no session {id}", id=name), hint=say("see: kb session list"))


def session_file(kb: "KnowledgeBase", session: Session, file: str) -> str:
    """Return one file of an archive."""
    with open(os.path.join(kb.root, session.path, file), encoding="utf-8") as opened:
        return opened.read()


def day_named(word: str, now: float) -> str:
    """Return the first ISO day that *word* means at the time *now*; raise BadInput for no such word."""
    ago = {"today": 0, "yesterday": 1, "week": 6, "今天": 0, "昨天": 1, "本周": 6}
    if word in ago:
        return time.strftime("%Y-%m-%d", time.localtime(now - 86_400 * ago[word]))
    if re.fullmatch(r"\d{4}-\d\d-\d\d", word):
        return word
    raise BadInput(say("{word} is no day", word=word), hint=say("use today, yesterday, week or 2026-11-21"))
