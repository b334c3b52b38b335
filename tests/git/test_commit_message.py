"""What is written into a commit message is read back from it."""

import pytest

from kb.git.commit_message import (
    add_remarks,
    format_commit_message,
    format_record_subject,
    parse_operation,
    parse_reason,
    parse_trailers,
)


def test_a_message_is_read_back() -> None:
    subject = format_record_subject("created", "D001", "Use SQLite")
    message = format_commit_message(subject, "one team\n", {"Kb-Op": "created", "Kb-Host": "", "Kb-Uid": "a,b"})
    assert message == "Add [D001] Use SQLite\n\none team\n\nKb-Op: created\nKb-Uid: a,b\n"
    assert (parse_operation(message), parse_reason(message)) == ("created", "one team")
    assert parse_trailers(message.rpartition("\n\n")[2]) == {"Kb-Op": "created", "Kb-Uid": "a,b"}


def test_a_subject_is_one_line_of_72_characters() -> None:
    subject = format_commit_message("Add\n" + "长" * 100, "", {})
    assert len(subject) == 72 and subject.startswith("Add 长") and subject.endswith("…")


@pytest.mark.parametrize(
    ("body", "reason"),
    [("用的人太少", "用的人太少"), ("- the title is vague", ""), ("two\nlines", ""), ("", "")],
)
def test_only_one_line_is_a_reason(body: str, reason: str) -> None:
    assert parse_reason(format_commit_message("Edit [D001] A", body, {"Kb-Op": "edited"})) == reason


def test_a_commit_by_hand_has_no_operation_and_no_reason() -> None:
    assert parse_operation("Fix it\n\nbecause") == parse_reason("Fix it\n\nbecause") == ""


def test_a_squash_merge_moves_the_trailers_into_the_body() -> None:
    squashed = "Merge both (#7)\n\n* Add [D001] A\n\nKb-Op: created\n\n* Edit [D001] A\n\nKb-Op: edited\n\nThanks."
    assert parse_operation(squashed) == ""
    assert parse_operation(squashed, anywhere=True) == "edited"


def test_remarks_stand_between_subject_and_trailers() -> None:
    message = format_commit_message("Add [D001] A", "", {"Kb-Op": "created"})
    marked = add_remarks(message, "The gate would have held this:", "- vague")
    assert marked == "Add [D001] A\n\nThe gate would have held this:\n\n- vague\n\nKb-Op: created\n"
    assert parse_operation(marked) == "created"
