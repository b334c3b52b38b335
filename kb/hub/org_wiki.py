"""The wiki of the organisation: one site for each repository, and a front page over all of them.

Static files cannot distinguish readers: anyone who can open the folder reads all of it. So the wiki is built for the
members of named groups, from the repositories they may read, and must be published only to them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from typing import TYPE_CHECKING

from kb.errors import BadInput, KbError
from kb.files import json_bytes, write_atomic
from kb.hub.callers import READ, HubCaller
from kb.hub.operations import HubCall, compare_bases
from kb.i18n import Message, msg
from kb.index.schema import Filter
from kb.knowledge_base import KnowledgeBase
from kb.organisation.hub_client import ACROSS
from kb.organisation.org_values import AcrossPair, AcrossReport, OrgRecord
from kb.organisation.team_branches import lay_out_clone, locate_team
from kb.records.model import LIVE
from kb.safety.injection import reveal_hidden

if TYPE_CHECKING:
    from typing import Any

    from kb.organisation.hub import Hub

MAX_ROWS = 20_000
"""Maximum number of records on the front page, which a browser searches in place."""
_PAGE = 500
_MARK = "kb-organisation.json"
"""The file that marks the folder of an earlier wiki."""
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 1rem;color:#222}"
    "input{font:inherit;width:100%;padding:.5rem;box-sizing:border-box}li{margin:.2rem 0}small{color:#555}"
    "@media(prefers-color-scheme:dark){body{color:#ddd;background:#111}small{color:#aaa}a{color:#8cf}}"
)
_SCRIPT = (
    "const box=document.getElementById('q'),rows=[...document.querySelectorAll('#records li')];"
    "box.addEventListener('input',()=>{const words=box.value.toLowerCase().split(/\\s+/).filter(Boolean);"
    "for(const row of rows)row.hidden=!words.every(word=>row.textContent.toLowerCase().includes(word))})"
)


def build_org_wiki(
    hub: Hub,
    groups: Sequence[str],
    out: str,
    environment: Mapping[str, str],
    language: str,
    tell: Callable[[str], object],
) -> str:
    """Build the wiki for members of *groups* in the folder *out*; return the path of its front page.

    *tell* gets each warning. Raise BadInput if *out* has anything but an earlier wiki. A repository whose site cannot
    be built is left out and named on the front page.
    """
    from kb.wiki.build import build

    top = os.path.abspath(out)
    if os.path.isdir(top) and os.listdir(top) and not os.path.isfile(os.path.join(top, _MARK)):
        hint = msg("name an empty or a new folder")
        raise BadInput(msg("the folder holds something else than a wiki of an organisation"), path=top, hint=hint)
    os.makedirs(top, exist_ok=True)
    write_atomic(os.path.join(top, _MARK), b"{}\n")
    readable = hub.config.find_readable(frozenset(groups))
    made = []
    sites = {name: f"../{name}/" for name in readable}
    for name in sorted(readable):
        try:
            team = locate_team(hub, name, environment)
            with (
                lay_out_clone(team, ("", ""), environment) as clone,
                KnowledgeBase.at(clone.root, clone.environment) as kb,
            ):
                across = build_comparison(hub, name, readable, kb.config.language, sites)
                kb.state.ensure_folder()
                write_atomic(kb.state.path(ACROSS), json_bytes(across))
                build(kb, os.path.join(top, name), strict=False, tell=partial(_tell_of, name, tell))
            made.append(name)
        except KbError as error:
            tell(f"{name}: {error.translate(language)}")
    shown = frozenset(made)
    page = render_front_page(list(_iter_records(hub, shown)), hub.count(shown), hub.compare_bases(shown), language)
    path = os.path.join(top, "index.html")
    write_atomic(path, page.encode("utf-8", "replace"))
    write_atomic(os.path.join(top, _MARK), json.dumps({"repositories": made}).encode() + b"\n")
    return path


def build_comparison(
    hub: Hub, name: str, readable: frozenset[str], language: str, sites: Mapping[str, str] = {}
) -> dict[str, Any]:
    """Return the comparison of the repository *name* with the *readable* ones, for its wiki.

    *sites*: repository → URL of its site, if that is not the one in its settings.
    """
    caller = HubCaller("", "", "", readable, frozenset({READ}))
    comparison = compare_bases(HubCall(hub, caller, {}, language), {"repository": name})
    pairs = [
        row[side] for key in ("contradictions", "duplicates") for row in comparison[key] for side in ("one", "other")
    ]
    for row in (*pairs, *(link[side] for link in comparison["links"] for side in ("record", "found") if link[side])):
        if site := sites.get(row["repository"], ""):
            row["wiki"] = f"{site}r/{row['uid']}/index.html" if row["uid"].isalnum() else f"{site}index.html"
    return comparison


def _tell_of(name: str, tell: Callable[[str], object], said: str) -> None:
    tell(f"{name}: {said}")


def _iter_records(hub: Hub, readable: frozenset[str]) -> Iterator[OrgRecord]:
    """Yield the live records, at most MAX_ROWS."""
    after, count = "", 0
    wanted = Filter(statuses=tuple(str(status) for status in LIVE))
    while readable:
        page = hub.list_records(readable, wanted, _PAGE, after)
        for one in page.records:
            yield one
            count += 1
            if count == MAX_ROWS:
                return
        if not (after := page.next):
            return


def render_front_page(
    records: Sequence[OrgRecord], counts: Mapping[str, int], report: AcrossReport, language: str
) -> str:
    """Return the front page: the sites, a search over the titles of all records, and where teams differ."""

    def say(message: Message) -> str:
        return escape(message.translate(language))

    title = say(msg("The knowledge bases of all teams"))
    sites = "".join(
        f'<li><a href="{escape(name)}/index.html">{escape(name)}</a> <small>{counts[name]}</small></li>'
        for name in sorted(counts)
    )
    rows = "".join(f"<li>{_link(one)} <small>{escape(one.record.scope)}</small></li>" for one in records)
    parts = [
        f"<h1>{title}</h1><ul>{sites}</ul>",
        f'<label for="q">{say(msg("Words of a title"))}</label><input id="q" type="search" autocomplete="off">',
        f'<ul id="records">{rows}</ul>',
        _render_pairs(say(msg("Contradictions between teams")), report.contradictions, language),
        _render_pairs(say(msg("Decided by several teams")), report.duplicates, language),
        f"<p><small>{say(msg('The teams decide, each in its own knowledge base.'))}</small></p>",
    ]
    head = (
        f'<!doctype html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head><body>'
    )
    return "\n".join([head, *parts, f"<script>{_SCRIPT}</script></body></html>", ""])


def _link(one: OrgRecord) -> str:
    """Return a link to the page of a record in its site, by its uid, which survives renumbering."""
    place = f"{one.repo}/r/{one.record.uid}/index.html" if one.record.uid else f"{one.repo}/index.html"
    return f'<a href="{escape(place)}">{escape(reveal_hidden(f"{one.name} {one.record.title}"))}</a>'


def _render_pairs(title: str, pairs: Sequence[AcrossPair], language: str) -> str:
    rows = []
    for pair in pairs:
        reason = pair.reason.translate(language) if isinstance(pair.reason, Message) else pair.reason
        reason_html = f"<br><small>{escape(reveal_hidden(reason))}</small>" if reason else ""
        rows.append(f"<li>{_link(pair.one)} · {_link(pair.other)}{reason_html}</li>")
    return f"<h2>{title}</h2><ul>{''.join(rows)}</ul>" if rows else ""
