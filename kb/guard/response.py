"""HookResponse: the answer to a session event, independent of the host; each host's module writes it out."""

from __future__ import annotations

from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

ALLOW, WARN, ASK, DENY = "allow", "warn", "ask", "deny"
STRICTER = ("", ALLOW, WARN, ASK, DENY)
"""What may be said of a tool call, each stricter than the one before; "" leaves it to the host."""


class HookResponse(NamedTuple):
    """What a hook answers."""

    permission: str = ""
    """One of STRICTER. A host asks the person where that is "": allow takes the question away, warn does not."""
    reason: str = ""
    """Why it is warned, asked or denied, with the one next step; for the model and for the person."""
    context: str = ""
    """Text for the model."""
    message: str = ""
    """Text for the person."""
    updated_input: Any = None
    """What the tool is given in the place of its input, as a whole; None to leave it."""
    updated_output: Any = None
    """What the tool has answered in the place of its output, in the same shape; None to leave it."""
    updated_note: str = ""
    """What the model is told of these changes where the host makes them."""
    unasked: str = ""
    """The reason with the next step, where the person is to be asked and the host cannot ask: then it denies."""

    @property
    def model_text(self) -> str:
        """All that the model is told beside a permission."""
        return _join_texts(self.context, self.reason if self.permission == WARN else "")

    @property
    def refusal_text(self) -> str:
        """Why the call is not made, where the host denies what the person is to be asked about."""
        return (self.unasked if self.permission == ASK else "") or self.reason

    @property
    def person_text(self) -> str:
        """All that the person is told beside a permission."""
        return _join_texts(self.message, self.reason if self.permission == WARN else "")

    @property
    def fallback_text(self) -> str:
        """All that is told beside a permission where the host can tell the model nothing: the person is told it."""
        return _join_texts(self.context, "" if self.person_text in self.context else self.person_text)

    @property
    def is_silent_input_change(self) -> bool:
        """Whether the input changes and the model need not be told: not every host can tell it before a call."""
        return self.updated_input is not None and not self.updated_note


def _join_texts(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def merge_responses(*decisions: HookResponse) -> HookResponse:
    """Return what several say together: the strictest permission with its reasons, all texts, the last changes."""
    permission = max((one.permission for one in decisions), key=STRICTER.index, default="")
    inputs = [one.updated_input for one in decisions if one.updated_input is not None]
    outputs = [one.updated_output for one in decisions if one.updated_output is not None]
    return HookResponse(
        permission,
        "\n".join(one.reason for one in decisions if one.reason and one.permission == permission),
        _join_texts(*(one.context for one in decisions)),
        "\n".join(one.message for one in decisions if one.message),
        inputs[-1] if inputs else None,
        outputs[-1] if outputs else None,
        "\n".join(one.updated_note for one in decisions if one.updated_note),
        "\n".join(one.unasked or one.reason for one in decisions if one.reason and one.permission == permission),
    )
