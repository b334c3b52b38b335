"""What a transcript holds that may become records, found by the user's own language model or by rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kb.capture import extract, llm_extract
from kb.errors import KbError
from kb.records.model import Candidate
from kb.safety import redaction
from kb.sessions import transcript as transcripts
from kb.sessions.host_input import read_transcript
from kb.sessions.render_forms import mask_transcript
from kb.sessions.transcript import Transcript

if TYPE_CHECKING:
    from kb.workspace import Workspace


def find_candidates(
    kb: Workspace, transcript: Transcript, after: int, session: str, host: str
) -> tuple[list[Candidate], list[str]]:
    """Return the candidates in *transcript*: by KB_LLM_CMD where it is set and answers, else offline."""
    notes: list[str] = []
    found: list[Candidate] | None = None
    if command := kb.environment.get("KB_LLM_CMD"):
        from kb.state.json_process import run_llm_command

        try:
            answer = run_llm_command(
                command, llm_extract.build_request(transcript, kb.config.language), kb.config.llm_timeout
            )
            found = [c for c in llm_extract.parse_answer(answer, transcript) if all(e.line > after for e in c.evidence)]
        except KbError as error:
            notes.append(error.translate(kb.config.language))
    if found is None:
        found = extract.extract_candidates(transcript, after)
    return [c._replace(session=session, host=host or c.host) for c in found], notes


def find_candidates_in_file(kb: Workspace, path: str) -> list[Candidate]:
    """Return the candidates in the transcript *path*, without secrets; nothing is written."""
    transcript = mask_transcript(transcripts.parse_transcript(read_transcript(path)), kb.config.masking)
    found, _ = find_candidates(kb, transcript, 0, transcript.session_id, "")
    return [redaction.redact_candidate(candidate, kb.config.masking)[0] for candidate in found]
