"""What a transcript holds that may become records, found by the user's own language model or by rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.capture import extract, llm_extract
from kb.errors import KbError
from kb.records.model import Candidate
from kb.safety import redaction
from kb.sessions import transcript as transcripts
from kb.sessions.render_forms import masked
from kb.sessions.transcript import Transcript
from kb.sessions.transcript_files import read_transcript

if TYPE_CHECKING:
    from kb.workspace import Workspace


def candidates_of(
    kb: Workspace, transcript: Transcript, after: int, session: str, host: str
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates in *transcript*: by KB_LLM_CMD where it is set and answers, else offline."""
    notes: list[str] = []
    found: list[Candidate] | None = None
    if command := kb.environment.get("KB_LLM_CMD"):
        from kb.state.llm_command import ask

        try:
            answer = ask(command, llm_extract.request(transcript, kb.config.language), kb.config.llm_timeout)
            found = [c for c in llm_extract.checked(answer, transcript) if all(e.line > after for e in c.evidence)]
        except KbError as error:
            notes.append(error.translate(kb.config.language))
    if found is None:
        found = extract.candidates(transcript, after)
    return [c._replace(session=session, host=host or c.host) for c in found], notes


def candidates_in(kb: Workspace, path: str) -> list[Candidate]:
    """Return the candidates in the transcript *path*, without secrets; nothing is written."""
    transcript = masked(transcripts.read(read_transcript(path)), kb.config.masking)
    found, _ = candidates_of(kb, transcript, 0, transcript.session_id, "")
    return [redaction.redacted(candidate, kb.config.masking)[0] for candidate in found]
