"""The forms of a session: what is known of it, written by the template of the knowledge base or the built-in one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from kb.errors import BadInput
from kb.files import resolve_within
from kb.i18n import msg
from kb.records.kinds import section_label
from kb.records.model import Candidate, Section
from kb.records.record_paths import TEMPLATES
from kb.safety import redaction
from kb.sessions import forms
from kb.sessions import transcript as transcripts
from kb.sessions.facts import SessionProgress, find_progress
from kb.sessions.form_lint import FormProblem, find_problems
from kb.sessions.forms import COMPACT, FORMS, NORMAL, SITUATIONS
from kb.sessions.template_render import BadTemplate, render_template
from kb.sessions.transcript import Transcript, TranscriptMessage
from kb.state import hook_failures
from kb.templates import FOLDER
from kb.text.segment import count_words

if TYPE_CHECKING:
    from kb.config import Masking
    from kb.workspace import Workspace

__all__ = ["FORMS", "SITUATIONS"]

_LARGEST = 200_000
"""Bytes of a template, at most."""
_SHORTEST = 60
"""Below so many 字 no compact form says anything; masks that need more room than that are let out."""
_SHOWN = 4000
"""Characters of a tool's answer that a form may show a line of."""
_TASKS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})
"""Tools that keep a session's list of tasks."""


class FormFacts(NamedTuple):
    """What a form says of a session besides its transcript."""

    found: tuple[Candidate, ...] = ()
    made: tuple[str, ...] = ()
    """The ids of the records it wrote."""
    ids: Mapping[str, str] = {}
    """Ids of records by the titles of what became them."""
    now: SessionProgress | None = None
    """Where the session stands, where that was found out already."""


class RenderedForm(NamedTuple):
    """A form of a session."""

    text: str
    notes: tuple[str, ...] = ()
    """What a person should know of it."""


# -- templates -------------------------------------------------------------------------------------


class FormWriter:
    """Writes one form: by the template of the knowledge base, or where that is broken by the built-in one."""

    def __init__(self, kb: Workspace, form: str) -> None:
        """Read the templates of *form*; that of the knowledge base in its language goes before that for all."""
        language = "zh" if kb.config.language == "zh" else "en"
        self._sources = [*_load_own_templates(kb.root, f"{TEMPLATES}/{language}/{form}.md", f"{TEMPLATES}/{form}.md")]
        with open(os.path.join(FOLDER, language, f"{form}.md"), encoding="utf-8") as file:
            self._sources.append((f"kb/templates/{language}/{form}.md", file.read()))
        self.broken: list[BadInput] = []

    def __call__(self, values: Mapping[str, object]) -> str:
        """Return the form filled with *values*."""
        while len(self._sources) > 1:
            try:
                return self._render_source(values)
            except BadInput as error:
                self.broken.append(error)
                del self._sources[0]
        return self._render_source(values)

    def _render_source(self, values: Mapping[str, object]) -> str:
        path, source = self._sources[0]
        if len(source) > _LARGEST:
            raise BadTemplate(msg("the template is larger than {limit} characters", limit=_LARGEST), path=path)
        return render_template(source, values, path)

    def report_broken(self, kb: Workspace) -> tuple[str, ...]:
        """Return what is wrong with the templates that were passed over, and keep it for `kb doctor`."""
        used = msg("the built-in template is used instead")
        told = []
        for error in self.broken:
            hook_failures.save_failure(
                kb.root,
                kb.environment,
                hook_failures.HookFailure(hook_failures.format_time(kb.now()), "template", str(error)),
            )
            told.append(f"{error.translate(kb.config.language)} — {kb.localise(used)}")
        return tuple(told)


def _load_own_templates(root: str, *places: str) -> list[tuple[str, str]]:
    """Return the templates that the knowledge base has at *places*."""
    found = []
    for place in places:
        try:
            with open(resolve_within(root, place), encoding="utf-8", errors="replace") as file:
                found.append((place, file.read(_LARGEST + 1)))
        except OSError:
            continue
    return found


# -- forms -----------------------------------------------------------------------------------------


def render_compact_form(
    kb: Workspace, transcript: Transcript, found: Sequence[Candidate], made: Sequence[str] = (),
    now: SessionProgress | None = None,
) -> str:  # fmt: skip
    """Return the compact form of *transcript*, with the records *made* and cited in it, and without secrets.

    *now* is where the session stands, where that was found out already: it takes a look at all that was said.
    """
    return render_form(kb, COMPACT, transcript, FormFacts(tuple(found), tuple(made), now=now)).text


def render_form(kb: Workspace, form: str, transcript: Transcript, known: FormFacts) -> RenderedForm:
    """Return *form* of the *transcript*, which is masked already, and its notes; masked again as a whole."""
    write = FormWriter(kb, form)
    ids = _list_cited_ids(kb, transcript, known.made)
    if form == COMPACT:
        now = known.now or find_progress(transcript)
        limit = longest = min(kb.config.compact_limit, forms.LIMIT)
        while True:
            text = forms.render_compact(transcript, write=write, anchors=ids, candidates=known.found,
                                 language=kb.config.language, limit=limit, now=now)  # fmt: skip
            clean = redaction.redact_text(text, kb.config.masking)[0]
            if count_words(clean) <= longest or limit < _SHORTEST:
                return RenderedForm(clean, write.report_broken(kb))
            limit -= count_words(clean) - longest
    notes: list[str] = []
    if form == NORMAL:
        text = forms.render_normal(
            transcript, write=write, anchors=_format_references(kb, ids), candidates=known.found, ids=known.ids,
            language=kb.config.language,
        )  # fmt: skip
    else:
        plates = FormWriter(kb, "anchor")
        whole = _render_records(kb, ids, plates)
        notes += plates.report_broken(kb)
        text = forms.render_expanded(transcript, write=write, anchors=whole, candidates=known.found, ids=known.ids)
    clean = redaction.redact_text(text, kb.config.masking)[0]
    notes += write.report_broken(kb)
    if form == NORMAL and not forms.NORMAL_LEAST <= count_words(clean) <= forms.NORMAL_LIMIT:
        size = msg("the normal form has {size} words; it should have {least} to {most}", size=count_words(clean),
                   least=forms.NORMAL_LEAST, most=forms.NORMAL_LIMIT)  # fmt: skip
        notes.append(kb.localise(size))
    return RenderedForm(clean, tuple(notes))


def lint_form(text: str) -> tuple[str, list[FormProblem]]:
    """Return which form *text* is and what is wrong with it."""
    return find_problems(text)


def _list_cited_ids(kb: Workspace, transcript: Transcript, made: Sequence[str]) -> list[str]:
    """Return the ids of the records *made*, then of those that the session cites and that are there."""
    from kb.search.query import find_references

    texts = (text for message in transcript.messages for text in transcripts.get_own_texts(message))
    ids = dict.fromkeys(ref.id for text in texts for ref in find_references(text))
    return list(dict.fromkeys((*made, *(name for name in ids if kb.index.find_by_id(name)))))


def _format_references(kb: Workspace, ids: Sequence[str]) -> list[str]:
    return [f"[{name}] {record[0].title}" if (record := kb.index.find_by_id(name)) else f"[{name}]" for name in ids]


def _render_records(kb: Workspace, ids: Sequence[str], write: FormWriter) -> list[str]:
    """Return the records *ids* in full, each written by the template for anchors."""
    from kb.writing.edit import format_status_label

    return [
        write({
            "id": record.id, "title": record.title, "scope": record.scope, "date": record.date,
            "status": format_status_label(record.status),
            "sections": [
                {"label": _get_label(section, kb.config.language), "text": section.text.strip()}
                for section in record.sections if section.text.strip()
            ],
        }).strip()
        for record in (one for name in ids for one in kb.index.find_by_id(name)[:1])
    ]  # fmt: skip


def _get_label(section: Section, language: str) -> str:
    return section_label(section.name, language) if section.name else section.heading


def mask_transcript(transcript: Transcript, masking: Masking, *, everything: bool = False) -> Transcript:
    """Return *transcript* without secrets in what titles, quotes and forms are cut from.

    Half a token is no longer known as one, so what is said and what stands in task lists is masked before it is cut;
    *everything*: what tools are given and answer as well.
    """

    def mask_message(message: TranscriptMessage) -> TranscriptMessage:
        return message._replace(
            texts=tuple(redaction.redact_text(text, masking)[0] for text in message.texts),
            calls=tuple(
                call._replace(input=redaction.redact_json(call.input, masking))
                if everything or call.name in _TASKS
                else call
                for call in message.calls
            ),
            results=tuple(
                result._replace(text=redaction.redact_text(result.text[:_SHOWN], masking)[0])
                for result in message.results
            )
            if everything
            else message.results,
        )

    return transcript._replace(messages=tuple(map(mask_message, transcript.messages)))
