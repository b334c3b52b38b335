"""Read what a person says beside the prompts: answers to the agent's questions, words with a refusal, queued prompts.

The tool that asks has one name here, Claude Code's AskUserQuestion; how each host writes the answers down:

| host | where the answer stands |
| --- | --- |
| claude, opencode | `"question"="answer"` in the result; Claude Code also has an object of answers beside it |
| gemini | `{"answers": {"0": "…"}}`, by the number of the question |
| codex | `{"answers": {"id": {"answers": ["…", "user_note: …"]}}}`, by the id of the question |
| copilot | `User selected: …` or `User responded: …`, one question a call |
| cursor | no form is documented: the options that the result names |
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

from kb.sessions.host_input import to_text
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

ASK = "AskUserQuestion"
"""The tool by which an agent asks a person, whatever its host calls it."""
CHOSEN, LEFT, TYPED = "☑ ", "☐ ", "→ "
"""What the lines of an answer begin with: a chosen option, one that was not chosen, a person's own words."""
_NOTE = "user_note: "
_ONE = regex(r"(?s)\s*User (?:selected|responded): (.*)")
_REFUSAL = "the user said:\n"
_CANNED = "The user wants to clarify these questions"
"""With this Claude Code itself fills in the words of a person who has given none."""
_UNANSWERED = frozenset({"", "unanswered", "(no answer provided)", "no answer provided", "user dismissed dialog"})


class PersonAnswer(NamedTuple):
    """What a person answered to one question of the agent's."""

    question: str
    chosen: tuple[tuple[str, str], ...] = ()
    """The options that were taken, each with its description, "" for none."""
    left: tuple[tuple[str, str], ...] = ()
    """The options that were not taken."""
    typed: str = ""
    """What the person said in words of their own."""

    @property
    def text(self) -> str:
        """The answer in lines: the question, what was taken, what was said, what was left."""
        said = [TYPED + self.typed] if self.typed else []
        chosen, left = ([format_option(*one) for one in many] for many in (self.chosen, self.left))
        return "\n".join((self.question, *(CHOSEN + one for one in chosen), *said, *(LEFT + one for one in left)))


def format_option(label: str, about: str) -> str:
    """Return an option of a question in words."""
    return f"{label}: {about}" if about else label


def parse_answers(given: Mapping[str, Any], result: str, details: object = None) -> tuple[PersonAnswer, ...]:
    """Return what a person answered to the questions that a call was *given*; () for no answer.

    *result* is the text of the tool's result, *details* what the host keeps beside it.
    """
    listed = given.get("questions")
    questions = [one for one in (listed if isinstance(listed, list) else [given]) if isinstance(one, dict)]
    asked = [to_text(one.get("question")) or to_text(one.get("prompt")) for one in questions]
    held = _parse_object(result)
    about = details if isinstance(details, dict) else {}
    made = []
    for number, one in enumerate(questions):
        options = dict(_iter_options(one))
        words = _find_words(about.get("answers"), asked[number], number, one)
        words = words or _find_words(held.get("answers"), asked[number], number, one)
        words = words or list(_iter_quoted(result, asked[number], asked[number + 1 :]))
        if not (words or held or about.get("answers")) and (match := _ONE.match(result)):
            words = [match[1]]
        words = words or ([] if held else _find_named(result, one, options))
        notes = about.get("annotations")
        note = to_text(_get(notes, asked[number], "notes")) if isinstance(notes, dict) else ""
        if asked[number] and (answer := _build_answer(asked[number], options, [*words, *([note] if note else [])])):
            made.append(answer)
    return tuple(made)


def _build_answer(question: str, options: Mapping[str, str], words: list[str]) -> PersonAnswer | None:
    """Return the answer that *words* give: labels of options, several of them in one text perhaps, or own words."""
    taken, own = [], []
    for word in dict.fromkeys(part.strip() for part in words):
        labels = [word] if word in options else word.split(", ")
        if all(label in options for label in labels):
            taken += labels
        elif word.lower() not in _UNANSWERED:
            own.append(word.removeprefix(_NOTE).strip())
    if not (taken or own):
        return None
    left = tuple((label, about) for label, about in options.items() if label not in taken)
    return PersonAnswer(question, tuple((label, options[label]) for label in taken), left, "\n".join(own))


def _iter_options(question: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    listed = question.get("options", question.get("choices"))
    for option in listed if isinstance(listed, list) else ():
        if isinstance(option, str) and option.strip():
            yield option.strip(), ""
        elif isinstance(option, dict) and (label := to_text(option.get("label")).strip()):
            yield label, " ".join(to_text(option.get("description")).split())


def _find_words(answers: object, asked: str, number: int, question: Mapping[str, Any]) -> list[str]:
    """Return the words under the question's text, its number or its id in an object of *answers*."""
    if isinstance(answers, list):
        value = answers[number] if number < len(answers) else None
    else:
        keys = (asked, str(number), to_text(question.get("id")))
        value = next((found for key in keys if (found := _get(answers, key)) is not None), None)
    value = value.get("answers") if isinstance(value, dict) else value
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def _iter_quoted(result: str, asked: str, later: list[str]) -> Iterator[str]:
    """Yield what stands behind `"asked"="`, up to the next question or the end of the host's sentence."""
    start = result.find(f'"{asked}"="') if asked else -1
    if start >= 0:
        rest = result[start + len(asked) + 4 :]
        ends = [f'", "{one}"="' for one in later] + ['" user notes: ', '". You can now continue']
        cuts = [at for end in ends if (at := rest.find(end)) >= 0]
        yield rest[: min(cuts)] if cuts else rest.partition('"')[0]


def _find_named(result: str, question: Mapping[str, Any], options: Mapping[str, str]) -> list[str]:
    """Return the options that *result* names, unless it names all of them: then it only repeats the question."""
    listed = question.get("options")
    ids = {to_text(_get(one, "id")): to_text(_get(one, "label")) for one in listed} if isinstance(listed, list) else {}
    words = frozenset(word.strip("\"'`,.;[]()") for word in result.split())
    named = [label for label in options if label in result]
    named = named or [label for key, label in ids.items() if key in words and label in options]
    return named if len(named) < len(options) else []


def _parse_object(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text) if text.lstrip().startswith("{") else None
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _get(value: object, *keys: str) -> Any:
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def find_refusal_words(result: str) -> str:
    """Return what a person said when refusing a call (“The user doesn't want to …, the user said:”), or ""."""
    words = result.partition(_REFUSAL)[2].strip()
    return "" if words.startswith(_CANNED) else words


def extract_queued_text(content: object) -> str:
    """Return what a person typed into the queue of prompts; "" for a task or a report that the host queued.

    Of a slash command (“/review the ledger”) only its arguments are a person's words.
    """
    if isinstance(content, list):
        content = "\n".join(to_text(_get(one, "text")) for one in content)
    text = to_text(content).strip()
    if "task_id" in _parse_object(text):
        return ""
    return text.partition(" ")[2].strip() if text.startswith("/") and "/" not in text.split(None, 1)[0][1:] else text
