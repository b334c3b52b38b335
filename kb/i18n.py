"""Translate messages to people, in two languages, by gettext.

Code says a message in English with its values; only a door translates it. The Chinese texts are in
`locale/zh/LC_MESSAGES/kb.po`, which the build compiles.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from functools import cache

from kb.startup.namedtuple import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gettext import NullTranslations

LOCALE = os.path.join(os.path.dirname(__file__), "locale")
"""The folder of the compiled catalogues, as gettext expects it."""
DOMAIN = "kb"


class Message(NamedTuple):
    """A message that is not translated yet: a `str.format` template with its values."""

    template: str
    values: Mapping[str, object]
    plural: str = ""
    """The English template for every count but one; "" where the template counts nothing."""

    def __str__(self) -> str:
        return self._choose_template().format_map({key: _join_items(one, "en") for key, one in self.values.items()})

    def translate(self, language: str) -> str:
        """Return the message in *language* ("zh" or "en"), and in English where it has no translation."""
        if language != "zh" or not self.template:  # gettext answers "" with the head of its catalogue
            return str(self)
        values = {key: _join_items(one, language) for key, one in self.values.items()}
        known = load_translations(language)
        text = known.ngettext(self.template, self.plural, 2) if self.plural else known.gettext(self.template)
        return text.format_map(values)

    def _choose_template(self) -> str:
        return self.plural if self.plural and self.values["count"] != 1 else self.template


def join_words(words: Iterable[str], language: str) -> str:
    """Return *words* as a list in a sentence, as a reader of *language* writes it: “a, b” or “a、b”."""
    return ("、" if language == "zh" else ", ").join(words)


def _join_items(value: object, language: str) -> object:
    """Return *value* as it reads in a sentence: a message translated, the items of a list joined."""
    if isinstance(value, Message):
        return value.translate(language)
    # a value of several fields is a tuple as well, and no list
    return join_words(map(str, value), language) if type(value) is list or type(value) is tuple else value


def msg(template: str, plural: str = "", /, **values: object) -> Message:
    """Return the message of *template*, a `str.format` string, with *values*; a list among them is joined.

    *plural* is the template for a `count` other than 1; Chinese has one form for both.
    """
    return Message(template, values, plural)


@cache
def load_translations(language: str) -> NullTranslations:
    """Return the catalogue of *language*, an empty one where none is compiled."""
    from gettext import translation

    return translation(DOMAIN, LOCALE, [language], fallback=True)
