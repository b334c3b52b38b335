"""Render the forms and reports of a session, by the templates of the knowledge base or the built-in ones.

The home of Jinja. Nobody vouches for a template, so it can call nothing: it may loop over what it is given, choose, set
and join; it sees no functions but its own macros, no methods, no arithmetic that grows without bound, and few filters.
"""

from __future__ import annotations

import contextlib
import os
import traceback
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from kb.errors import BadInput
from kb.files import resolve_within
from kb.i18n import msg
from kb.records.candidate import candidate_to_json
from kb.records.kinds import TEMPLATES, TREE, section_label
from kb.records.model import Candidate, Verdict
from kb.safety import redaction
from kb.safety.redaction import mask_private_remarks
from kb.sessions import forms
from kb.sessions.forms import COMPACT, NORMAL, FormFacts
from kb.sessions.handed_text import AGENT_TOOLS, find_task
from kb.sessions.host_records import PersonAnswer
from kb.sessions.progress import find_progress
from kb.sessions.trackers import SessionProgress
from kb.sessions.transcript import HUMAN, Transcript, TranscriptMessage, get_own_texts
from kb.state import state_folder
from kb.templates import FOLDER
from kb.text.segment import count_words, first_sentence

if TYPE_CHECKING:
    from kb.config import Masking
    from kb.workspace import Workspace

_MAX_TEMPLATE_CHARACTERS = 200_000
"""Characters of a template, at most."""
_MAX_RENDERED_CHARACTERS = 4_000_000
"""Characters of a text that is rendered, at most."""
_MIN_COMPACT_WORDS = 60
"""Below so many 字 no compact form says anything; masks that need more room than that are let out."""
_MAX_ANSWER_CHARACTERS = 4000
"""Characters of a tool's answer that a form may show a line of."""
_TASKS = frozenset({"TodoWrite", "TaskCreate", "TaskUpdate"})
"""Tools that keep a session's list of tasks."""
_FILTERS = frozenset(
    "default d first last length count join lower upper title trim unique sort reverse list string int map"
    " select reject selectattr rejectattr groupby".split()
)
_REPORTS: Mapping[str, str] = {
    "created": "anchors_written",
    "refused": "anchors_skipped",
    "updated": "anchors_merged",
    "appended": "anchors_merged",
    "unchanged": "anchors_duplicated",
    "held": "anchors_held",
    "conflict": "anchors_conflict",
}
"""Which list of `shi-result.json` a verdict goes to."""


class RenderedForm(NamedTuple):
    """A form of a session."""

    text: str
    notes: tuple[str, ...] = ()
    """What a person should know of it."""


# -- templates -------------------------------------------------------------------------------------


class BadTemplate(BadInput):
    """A template cannot be used; *path* and *line* tell where."""


def render_template(source: str, values: Mapping[str, Any], path: str) -> str:
    """Return the template *source*, which is in the file *path*, filled with *values*; raise BadTemplate."""
    from jinja2 import TemplateError, TemplateSyntaxError

    hint = msg("fix the template, or remove it to use the built-in one")
    try:
        template = _compile_template(source)
        parts, size = [], 0
        for part in template.generate(values):
            parts.append(part)
            size += len(part)
            if size > _MAX_RENDERED_CHARACTERS:
                problem = msg("the template writes more than {limit} characters", limit=_MAX_RENDERED_CHARACTERS)
                raise BadTemplate(problem, path=path, hint=hint)
        return "".join(parts)
    except TemplateSyntaxError as error:
        problem = msg("the template cannot be read: {problem}", problem=error.message or "")
        raise BadTemplate(problem, path=path, line=error.lineno, hint=hint) from None
    except (TemplateError, ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        problem = msg("the template cannot be filled: {problem}", problem=error)
        frames = traceback.extract_tb(error.__traceback__)
        lines = [frame.lineno or 0 for frame in frames if frame.filename == "<template>"]
        raise BadTemplate(problem, path=path, line=[0, *lines][-1], hint=hint) from None


@lru_cache(maxsize=16)
def _compile_template(source: str) -> Any:
    """Return the template *source*; saving one session renders each of its few templates several times."""
    return _create_environment().from_string(source)


@cache
def _create_environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.runtime import Macro
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    # a template can come with a clone: it gets no method, no large product, nothing that runs
    class Environment(ImmutableSandboxedEnvironment):
        intercepted_binops = frozenset({"*", "**", "%", "//"})

        def is_safe_callable(self, obj: Any) -> bool:
            return isinstance(obj, Macro)

        def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
            return not callable(value) and super().is_safe_attribute(obj, attr, value)

        def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
            if not all(isinstance(side, int | float) and abs(side) < 1_000_000 for side in (left, right)):
                raise TypeError(f"{operator} is for small numbers")
            return super().call_binop(context, operator, left, right)

    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined, autoescape=False
    )
    # without these a template could loop over range(10**9)
    environment.globals.clear()
    environment.filters = {name: filter_ for name, filter_ in environment.filters.items() if name in _FILTERS}
    environment.filters["cell"] = lambda value: " ".join(str(value).replace("|", "\\|").split())
    return environment


class FormWriter:
    """Writes one form: by the template of the knowledge base, or where that is broken by the built-in one."""

    def __init__(self, kb: Workspace, form: str) -> None:
        """Read the templates of *form*: the knowledge base's for its language, its one for all, the built-in one.

        In the layout of one project, a template of its tree is used where `content/` has none.
        """
        language = "zh" if kb.config.language == "zh" else "en"
        self._sources: list[tuple[str, str]] = []
        tree = [f"{TREE}/templates/{form}.md"] if kb.config.layout == "project" else []
        for path in (f"{TEMPLATES}/{language}/{form}.md", f"{TEMPLATES}/{form}.md", *tree):
            with (
                contextlib.suppress(OSError),
                open(resolve_within(kb.root, path), encoding="utf-8", errors="replace") as file,
            ):
                self._sources.append((path, file.read(_MAX_TEMPLATE_CHARACTERS + 1)))
        with open(os.path.join(FOLDER, language, f"{form}.md"), encoding="utf-8") as file:
            self._sources.append((f"kb/templates/{language}/{form}.md", file.read()))
        self.broken: list[BadInput] = []

    def __call__(self, values: Mapping[str, object]) -> str:
        """Return the form filled with *values*."""
        while True:
            path, source = self._sources[0]
            try:
                if len(source) > _MAX_TEMPLATE_CHARACTERS:
                    raise BadTemplate(
                        msg("the template is larger than {limit} characters", limit=_MAX_TEMPLATE_CHARACTERS), path=path
                    )
                return render_template(source, values, path)
            except BadInput as error:
                if len(self._sources) == 1:
                    raise
                self.broken.append(error)
                del self._sources[0]

    def report_broken(self, kb: Workspace) -> tuple[str, ...]:
        """Return what is wrong with the templates that were passed over, and keep it for `kb doctor`."""
        used = kb.localise(msg("the built-in template is used instead"))
        for error in self.broken:
            failure = state_folder.HookFailure(state_folder.format_time(kb.now()), "template", str(error))
            state_folder.save_failure(kb.root, kb.environment, failure)
        return tuple(f"{error.translate(kb.config.language)} — {used}" for error in self.broken)


# -- forms -----------------------------------------------------------------------------------------


def render_form(kb: Workspace, form: str, transcript: Transcript, known: FormFacts) -> RenderedForm:
    """Return *form* of the *transcript*, which is masked already, and its notes; masked again as a whole.

    It cites the records that were made, then those that the session names and that are there.
    """
    from kb.search.query import find_references

    write, language = FormWriter(kb, form), kb.config.language
    texts = (text for message in transcript.messages for text in get_own_texts(message))
    named = dict.fromkeys(ref.id for text in texts for ref in find_references(text))
    ids = [*dict.fromkeys((*known.made, *(name for name in named if kb.index.find_by_id(name))))]
    notes: list[str] = []
    if form == COMPACT:
        text = _render_compact(kb, transcript, known, [f"[{name}]" for name in ids], write)
        return RenderedForm(text, write.report_broken(kb))
    if form == NORMAL:
        records = {name: kb.index.find_by_id(name) for name in ids}
        cited = [f"[{name}] {found[0].title}" if found else f"[{name}]" for name, found in records.items()]
        text = forms.render_normal(transcript, known, cited, write, language=language)
    else:
        anchor_writer = FormWriter(kb, "anchor")
        whole = _render_records(kb, ids, anchor_writer)
        notes += anchor_writer.report_broken(kb)
        text = forms.render_expanded(transcript, known, whole, write)
    clean = redaction.redact_text(text, kb.config.masking)[0]
    notes += write.report_broken(kb)
    if form == NORMAL and (problem := forms.check_normal_size(count_words(clean))):
        notes.append(kb.localise(problem))
    return RenderedForm(clean, tuple(notes))


def _render_compact(
    kb: Workspace, transcript: Transcript, known: FormFacts, anchors: Sequence[str], write: FormWriter
) -> str:
    """Return the compact form without secrets; where masks make it too long, it is written again with less room."""
    known = known._replace(now=known.now or find_progress(transcript, kb.config.language))
    limit = longest = min(kb.config.compact_limit, forms.LIMIT)
    while True:
        text = forms.render_compact(transcript, known, anchors, write, language=kb.config.language, limit=limit)
        clean = redaction.redact_text(text, kb.config.masking)[0]
        if count_words(clean) <= longest or limit < _MIN_COMPACT_WORDS:
            return clean
        # a mask may be longer than what it hides: “hunter2” → “[REDACTED]”
        limit -= count_words(clean) - longest


def _render_records(kb: Workspace, ids: Sequence[str], write: FormWriter) -> list[str]:
    """Return the records *ids* in full, each written by the template for anchors."""
    from kb.writing.edit import format_status_label

    texts = []
    for record in (one for name in ids for one in kb.index.find_by_id(name)[:1]):
        filled = [section for section in record.sections if section.text.strip()]
        labels = [
            section_label(one.name, kb.config.language, record.kind) if one.name else one.heading for one in filled
        ]
        sections = [{"label": label, "text": one.text.strip()} for label, one in zip(labels, filled, strict=True)]
        about = {"id": record.id, "title": record.title, "scope": record.scope, "date": record.date}
        status = format_status_label(record.status)
        texts.append(write({**about, "status": status, "sections": sections}).strip())
    return texts


def mask_transcript(transcript: Transcript, masking: Masking, *, everything: bool = False) -> Transcript:
    """Return *transcript* without secrets in what titles, quotes and forms are cut from.

    Half a token is not recognised as one, so texts and task lists are masked before anything is cut; with *everything*
    the inputs and results of tools as well.
    """

    calls = (call for message in transcript.messages for call in message.calls)
    agents = {call.id for call in calls if call.name in AGENT_TOOLS}  # their results are what an agent says

    def mask_message(message: TranscriptMessage) -> TranscriptMessage:
        calls = [
            call._replace(input=redaction.redact_json(call.input, masking))
            if everything or call.name in _TASKS
            else call
            for call in message.calls
        ]
        results = tuple(
            one._replace(text=redaction.redact_text(one.text, masking)[0]) if one.id in agents else one
            for one in message.results
        )
        if everything:
            shown = (redaction.redact_text(result.text[:_MAX_ANSWER_CHARACTERS], masking)[0] for result in results)
            results = tuple(one._replace(text=text) for one, text in zip(results, shown, strict=True))
        texts = tuple(redaction.redact_text(text, masking)[0] for text in message.texts)
        answers = tuple(PersonAnswer(*redaction.redact_json(tuple(answer), masking)) for answer in message.answers)
        return message._replace(texts=texts, calls=tuple(calls), results=results, answers=answers)

    return transcript._replace(messages=tuple(map(mask_message, transcript.messages)))


def mask_remarks(transcript: Transcript) -> Transcript:
    """Return *transcript* without what its people say of their lives: an archive is shared with the team."""

    def mask_message(message: TranscriptMessage) -> TranscriptMessage:
        if message.origin != HUMAN:
            return message
        return message._replace(texts=tuple(map(mask_private_remarks, message.texts)))

    return transcript._replace(messages=tuple(map(mask_message, transcript.messages)))


# -- the reports kept beside a session's compact form in the archive -------------------------------


def build_hui_output(
    transcript: Transcript,
    *,
    candidates: Sequence[Candidate],
    compact_md: str,
    timestamp: str,
    project_path: str = "",
    now: SessionProgress | None = None,
) -> dict[str, Any]:
    """Return `hui-output.json`: everything the extraction found (SHI-05).

    *timestamp* is in ISO 8601; *now* is where the session stands, where that was found out already.
    """
    now = now or find_progress(transcript)

    def select_kinds(*kinds: str) -> list[dict[str, str]]:
        chosen = [c for c in candidates if c.kind in kinds]
        return [{"title": c.title, "content": c.decision, "reason": c.why} for c in chosen]

    return {
        "version": 1,
        "timestamp": timestamp,
        "session_id": transcript.session_id,
        "project_path": project_path or transcript.cwd,
        "context": {
            "task": first_sentence(find_task(transcript), 300),
            "decisions": select_kinds("decision", "pattern", "checklist", "domain-note"),
            "constraints": select_kinds("constraint", "preference"),
            "interfaces": select_kinds("interface"),
            "problems": select_kinds("pitfall"),
            "progress": {"done": list(now.done), "in_progress": list(now.doing), "pending": list(now.open)},
            "compact_md": compact_md,
        },
        "anchors": [candidate_to_json(candidate) for candidate in candidates],
    }


def build_shi_result(
    verdicts: Sequence[Verdict], errors: Sequence[str] = (), passed_over: Sequence[tuple[str, str]] = ()
) -> dict[str, list[Any]]:
    """Return `shi-result.json`: what became of each candidate (SHI-06).

    A candidate's id is its 1-based place among *verdicts*, which is its place among the anchors of `hui-output.json`.
    *passed_over*: text and reason of what was seen and became no candidate; it has no place there and no id.
    """
    report: dict[str, list[Any]] = {key: [] for key in (*_REPORTS.values(), "errors")}
    for number, verdict in enumerate(verdicts, 1):
        kind, reason = verdict.verdict, "; ".join(verdict.reasons)
        row: dict[str, Any] = {"id": str(number), "title": verdict.title, "reason": reason}
        if kind not in _REPORTS:
            row = {"id": str(number), "title": verdict.title, "error": kind}
        elif kind == "created":
            row = {"candidate_id": str(number), "new_id": verdict.id, "type": verdict.kind, "title": verdict.title}
        elif kind in ("updated", "appended", "unchanged"):
            row = {"id": str(number), "existing_id": verdict.id, "title": verdict.title}
        elif kind == "conflict":
            existing = verdict.similar[0].id if verdict.similar else ""
            row |= {"new_id": verdict.id, "existing_id": existing, "branch": verdict.branch}
        spooled = {"spooled": True} if verdict.spooled and kind in _REPORTS else {}
        report[_REPORTS.get(kind, "errors")].append({**row, **spooled})
    report["anchors_skipped"] += [{"id": "", "title": title, "reason": reason} for title, reason in passed_over]
    report["errors"] += [{"error": error} for error in errors]
    return report
