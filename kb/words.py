"""What kb says to people, in two languages.

A rule or an error says an English template with its values; only a door turns it into a person's language. The
Chinese half lives in `words_zh`, keyed by the English template, so that code reads in one language.
"""

from __future__ import annotations

from collections.abc import Mapping

from kb.values import NamedTuple


class Said(NamedTuple):
    """A sentence that is not yet in anybody's language."""

    template: str
    values: Mapping[str, object]

    def __str__(self) -> str:
        return self.template.format_map(self.values)

    def in_language(self, language: str) -> str:
        """Return the sentence in *language* ("zh" or "en"); what has no translation stays English."""
        if language != "zh":
            return str(self)
        from kb.words_zh import ZH

        values = {k: v.in_language(language) if isinstance(v, Said) else v for k, v in self.values.items()}
        return ZH.get(self.template, self.template).format_map(values)


def say(template: str, /, **values: object) -> Said:
    """Say *template*, a `str.format` string, with *values*."""
    return Said(template, values)
