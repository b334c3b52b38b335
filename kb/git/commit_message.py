"""Write and parse the messages of kb's commits: subject, body, and trailers such as `Kb-Op: created`."""

from __future__ import annotations

from collections.abc import Mapping

_MAX_SUBJECT = 72
"""Characters of a subject; `git log --oneline` fits it on a terminal of 80 columns."""
_VERBS = {
    "created": "Add",
    "updated": "Update",
    "appended": "Add to",
    "superseded": "Mark superseded",
    "imported": "Import",
    "confirmed": "Confirm",
    "status": "Change status of",
    "edited": "Edit",
}
"""Verdict or operation → the first words of the commit subject."""


def format_record_subject(operation: str, record_id: str, title: str) -> str:
    """Return the subject of a commit that changes one record: "Add [D001] Use SQLite"."""
    return f"{_VERBS.get(operation, operation)} [{record_id}] {title}"


def format_commit_message(subject: str, body: str, trailers: Mapping[str, str]) -> str:
    """Return a commit message: a subject of at most 72 characters, a body, and trailers without empty ones."""
    lines = "".join(f"{key}: {' '.join(value.split())}\n" for key, value in trailers.items() if value)
    subject = " ".join(subject.split())
    subject = subject if len(subject) <= _MAX_SUBJECT else subject[: _MAX_SUBJECT - 1] + "…"
    return "\n\n".join(part for part in (subject, body.strip(), lines) if part)


def add_remarks(message: str, heading: str, remarks: str) -> str:
    """Return *message* with a paragraph *heading* and the *remarks* under it, directly below the subject."""
    subject, _, rest = message.partition("\n\n")
    return f"{subject}\n\n{heading}\n\n{remarks}\n\n{rest}"


def parse_trailers(block: str) -> dict[str, str]:
    """Return the trailers in *block*, a text of trailers alone as `git log --format=%(trailers)` prints it."""
    return dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)


def parse_operation(message: str, *, anywhere: bool = False) -> str:
    """Return the value of the `Kb-Op` trailer, or "" for a commit that kb did not write.

    *anywhere*: take the last line of this form in the message, because a squash merge moves trailers into the body.
    """
    rows = (message if anywhere else message.rstrip().rpartition("\n\n")[2]).splitlines()
    operations = [row.removeprefix("Kb-Op: ") for row in rows if row.startswith("Kb-Op: ")]
    return operations[-1 if anywhere else 0] if operations else ""


def parse_reason(message: str) -> str:
    """Return the reason a person gave for the commit, or "".

    It is the second paragraph of a message of kb's, on one line; the gate's remarks on a candidate are a list instead.
    """
    paragraphs = [*message.strip().split("\n\n"), ""]
    is_reason = not paragraphs[1].startswith(("- ", "Kb-")) and "\n" not in paragraphs[1].strip()
    return paragraphs[1].strip() if is_reason and parse_operation(message, anywhere=True) else ""
