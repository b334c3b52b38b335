"""Which form a session is shown in: the one a person asked for, until the use of the context calls for another."""

from __future__ import annotations

from kb.i18n import msg
from kb.knowledge.names import safe_id
from kb.knowledge.session.forming import Formed, form_of
from kb.knowledge.session.lights import usage
from kb.knowledge.session.running import Heard, at_hand, latest
from kb.sessions.forms import EXPANDED, FORMS, NORMAL
from kb.sessions.usage import Band, Usage, band
from kb.store.files import write_whole
from kb.values import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from kb.knowledge import KnowledgeBase

_FILE = "form.json"


class Standing(NamedTuple):
    """How a running session stands."""

    session: str
    transcript: str
    form: str
    forced: bool
    """Whether a person chose the form."""
    usage: Usage
    band: Band


def standing(kb: KnowledgeBase, session: str = "") -> Standing:
    """Return how *session* stands ("": the one that kb heard of last); raise UnknownId for none."""
    heard = latest(kb, safe_id(session) if session else "")
    used = usage(kb, heard.transcript)
    now = band(used.percent)
    kept = kb.state.load("active", heard.session, _FILE)
    forced = isinstance(kept, dict) and kept.get("band") == now.name and kept.get("form") in FORMS
    return Standing(heard.session, heard.transcript, kept["form"] if forced else now.form, forced, used, now)


def force(kb: KnowledgeBase, form: str, heard: Heard) -> Formed:
    """Show the session *heard* in *form* until the use of its context falls into another band (SHI-30)."""
    now = band(usage(kb, heard.transcript).percent)
    kb.state.save({"form": form, "band": now.name}, "active", safe_id(heard.session), _FILE)
    formed = form_of(kb, heard.transcript, form, heard.session)
    at_hand(kb, form, formed.text)
    return formed


def forced(kb: KnowledgeBase, form: str, session: str = "") -> Formed:
    """Force *form* for *session*, "" for the one that kb heard of last."""
    return force(kb, form, latest(kb, safe_id(session) if session else ""))


def unfolded(kb: KnowledgeBase, heard: Heard) -> Formed:
    """Force the expanded form, keep it beside the running session, and return the normal one with a pointer to it."""
    whole = force(kb, EXPANDED, heard)
    place = kb.state.path("active", safe_id(heard.session), f"{EXPANDED}.md")
    write_whole(place, whole.text.encode("utf-8", "replace"))
    normal = form_of(kb, heard.transcript, NORMAL, heard.session)
    return Formed(f"{normal.text}\n→ {place}\n", normal.notes)


def note(kb: KnowledgeBase, form: str) -> str:
    """Return what a person is told of a forced form."""
    return kb.words(msg("the session is shown in its {form} form until the use of its context calls for another",
                        form=form))  # fmt: skip
