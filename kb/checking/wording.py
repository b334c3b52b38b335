"""Is there anything in the texts that should not be there?"""

from collections.abc import Iterator

from kb.checking.findings import Finding, Text
from kb.checking.shelf import Shelf, finding
from kb.errors import BadRecord
from kb.front import decode, line_of
from kb.patterns import regex
from kb.record import LIVE
from kb.text import clip
from kb.words import say

_EMOJI = "\u2190-\u2bff\u3030\u303d\ufe0f\U0001f000-\U0001faff"
_JOINED = "\u0600-\u06ff\u0900-\u0dff"
_UNSEEN = (
    "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u00ad\u180e\u200b-\u200f\u2028\u2029\u2060-\u2065\u206a-\u206f"
    "\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"
)
_BIDI = "\u202a-\u202e\u2066-\u2069"
_SUSPECT = regex(f"[{_BIDI}{_UNSEEN}]")
_HIDDEN = regex(
    # Allowed: a byte order mark that begins the file, joined emoji, joiners of scripts that need them, region flags.
    rf"\A\ufeff|(?<=[{_EMOJI}])\u200d(?=[{_EMOJI}])|(?<=[{_JOINED}])[\u200c\u200d](?=[{_JOINED}])"
    "|\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]{3,6}\U000e007f"
    # Found: what turns the direction of a line, and what no reader can see.
    f"|(?P<bidi>[{_BIDI}])|(?P<unseen>[{_UNSEEN}])"
)


def secrets_in_texts(shelf: Shelf) -> Iterator[Finding]:
    """Report secrets, without repeating them; files that are no records are searched too."""
    for text in (*shelf.texts, *_broken_texts(shelf)):
        for line, rule in shelf.secrets(text.text):
            yield Finding(
                rule="secret",
                severity="error",
                path=text.path,
                line=line,
                message=say("a secret, or what is personal, stands here ({rule})", rule=rule),
                fix=say("take it out and have it revoked: git's history keeps what was once committed"),
            )


def _broken_texts(shelf: Shelf) -> Iterator[Text]:
    for broken in shelf.broken:
        try:
            yield Text(broken.source.path, decode(broken.source.data), "")
        except BadRecord:
            continue


def vague_titles(shelf: Shelf) -> Iterator[Finding]:
    """Report live records whose title could stand over any record (RUYI-52)."""
    for one in shelf.opened:
        if one.record.status in LIVE and shelf.vague(one.record.title):
            message = say("the title names no subject: {title}", title=clip(one.record.title, 80))
            fix = say("say what was decided about what")
            yield finding("title", one, message, fix, key="title", severity="warning")


def hidden_characters(shelf: Shelf) -> Iterator[Finding]:
    """Report, once for a text, characters that turn the direction of a line or that nobody can see."""
    for text in shelf.texts:
        if not _SUSPECT.search(text.text):
            continue
        found = [match for match in _HIDDEN.finditer(text.text) if match.lastgroup]
        if not found:
            continue
        first = next((match for match in found if match.lastgroup == "bidi"), found[0])
        code = f"U+{ord(first.group()):04X}"
        message = (
            say("{code} turns the direction of the line, so it shows other than it reads", code=code)
            if first.lastgroup == "bidi"
            else say("a character nobody can see stands here: {code}", code=code)
        )
        fix = say("take out such characters; in this file: {count}", count=len(found))
        yield Finding("hidden", "warning", text.path, line_of(text.text, first.start()), message, fix)
