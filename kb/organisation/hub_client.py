"""Ask a hub from a laptop: who asks, by settings of the environment, and what it answered last, by its ETag.

Only the person's own environment says where the hub is and with which token it is asked: a `kb.toml` that came with a
repository could else send the token anywhere.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlencode

from kb.errors import KbError, describe_os_error
from kb.files import json_bytes, write_atomic
from kb.i18n import Message, msg
from kb.paths import state_home
from kb.state.json_clients import ServiceAnswer, call_service, run_token_command

T = TypeVar("T")
URL = "KB_HUB_URL"
TOKEN, TOKEN_FILE, TOKEN_COMMAND = "KB_HUB_TOKEN", "KB_HUB_TOKEN_FILE", "KB_HUB_TOKEN_COMMAND"
SECONDS = 10.0
"""Seconds that the hub may take."""
ACROSS = "across.json"
"""The file in the state folder of a clone of the hub's own with what `load_comparison` returns."""
_MAX_KEPT = 100
"""Answers that are kept."""
_COMMAND_SECONDS = 10.0


class HubReply(NamedTuple):
    """What a hub answered, now or the last time."""

    answers: tuple[Mapping[str, Any], ...]
    """Rows of `/api/v1/search`, best first."""
    note: Message | None = None
    """That the hub does not answer, and from when this is."""


class _KeptReply(NamedTuple):
    etag: str
    seconds: float
    answer: Any


def search_hub(query: str, filters: Mapping[str, str | int], environment: Mapping[str, str]) -> HubReply:
    """Return what the hub of *environment* answers to *query*; raise KbError where it does not, and never has.

    *filters*: parameters of the search, by the names that the hub gives them; those that are empty are left out.
    """
    if not environment.get(URL):
        raise KbError(msg("no hub is known here"), hint=msg("set its address: export KB_HUB_URL=https://…"))
    given = {"query": query, **{key: value for key, value in filters.items() if value not in ("", 0)}}
    found, note = _ask("search", given, environment, "zh" if _is_chinese(environment) else "en", _find_answers)
    return HubReply(tuple(found), note)


def load_comparison(
    path: str, repository: str, environment: Mapping[str, str], language: str
) -> Mapping[str, Any] | None:
    """Return what other teams decided against *repository*, alike, or of its records, as `/api/v1/compare` says it.

    It is read from the file *path*, which `kb hub compare` has made, or else asked of the hub of *environment*; None
    where there is neither, or it does not answer and never has: a wiki is built without it then.
    """
    if path:
        with contextlib.suppress(OSError, ValueError, RecursionError), open(path, encoding="utf-8") as file:
            return _check_comparison(json.load(file))
    if repository and environment.get(URL):
        with contextlib.suppress(KbError):
            return _ask("compare", {"repository": repository}, environment, language, _check_comparison)[0]
    return None


def _check_comparison(value: Any) -> Mapping[str, Any] | None:
    """Return *value* where it has the form of a comparison for one repository."""
    if not isinstance(value, dict) or not isinstance(value.get("repository"), str):
        return None
    for key, sides in (("contradictions", ("one", "other")), ("duplicates", ("one", "other")), ("links", ("record",))):
        rows = value.get(key)
        if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
            return None
        if not all(isinstance(row.get(side), dict) for row in rows for side in sides):
            return None
    return value


def _find_answers(value: Any) -> list[Any] | None:
    """Return the rows of an answer to a search."""
    answers = value.get("answers") if isinstance(value, dict) else None
    is_right = isinstance(answers, list) and all(isinstance(row, dict) and "name" in row for row in answers)
    return answers if is_right else None


def _ask(
    operation: str,
    given: Mapping[str, str | int],
    environment: Mapping[str, str],
    language: str,
    read: Callable[[Any], T | None],
) -> tuple[T, Message | None]:
    """Return what *read* finds in the hub's answer to *operation*, now or the last time, and what is to be said of it.

    Raise KbError where the hub does not answer and never has, or what it answers is nothing to *read*.
    """
    base, token = environment.get(URL, "").rstrip("/"), read_token(environment)
    url = f"{base}/api/v1/{operation}?{urlencode(given)}"
    # the token is in the mark: what one person may read is not shown to the next one on the same machine
    mark = hashlib.sha256(f"{url} {language} {token}".encode()).hexdigest()[:32]
    path = os.path.join(state_home(environment), "hub", f"{mark}.json")
    kept = _read_kept(path)
    before = read(kept.answer) if kept else None
    headers = {"Accept": "application/json", "Accept-Language": language}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"If-None-Match": kept.etag} if kept and before is not None else {}
    try:
        answer = call_service(url, headers, SECONDS)
    except KbError as error:
        if kept is None or before is None:
            raise
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(kept.seconds))
        return before, msg("{problem}; this is its answer of {day}", problem=error, day=day)
    if answer.status == 304 and before is not None:
        return before, None
    if answer.status != 200:
        raise _build_error(answer, base)
    parsed = answer.parse_json(base)
    found = read(parsed)
    if found is None:
        raise KbError(msg("{url} does not answer like a hub", url=base), hint=msg("check KB_HUB_URL"))
    _keep(path, _KeptReply(answer.headers.get("etag", ""), time.time(), parsed))
    return found, None


def read_token(environment: Mapping[str, str]) -> str:
    """Return the token for the hub: from the environment, a file or a command that it names; "" for none."""
    if token := environment.get(TOKEN, ""):
        return token.strip()
    if path := environment.get(TOKEN_FILE, ""):
        try:
            with open(os.path.expanduser(path), encoding="utf-8") as file:
                return file.read(20_000).strip()
        except (OSError, UnicodeDecodeError) as error:
            problem = describe_os_error(error) if isinstance(error, OSError) else str(error)
            raise KbError(msg("cannot read {name}: {problem}", name=TOKEN_FILE, problem=problem), path=path) from None
    if command := environment.get(TOKEN_COMMAND, ""):
        return run_token_command(TOKEN_COMMAND, command, _COMMAND_SECONDS)
    return ""


def _is_chinese(environment: Mapping[str, str]) -> bool:
    return environment.get("LANG", "").startswith("zh")


def _build_error(answer: ServiceAnswer, base: str) -> KbError:
    """Return what a hub that answers with an error means, with the one next step."""
    try:
        said = str(json.loads(answer.body)["error"]["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        said = answer.reason
    message = msg("{url} answers {status}: {problem}", url=base, status=answer.status, problem=said[:300])
    if answer.status in (401, 403):
        hint = msg("set {file} or {command} to a token that the hub takes", file=TOKEN_FILE, command=TOKEN_COMMAND)
        return KbError(message, hint=hint)
    return KbError(message)


# -- what is kept -----------------------------------------------------------------------------------


def _read_kept(path: str) -> _KeptReply | None:
    try:
        with open(path, encoding="utf-8") as file:
            values = json.load(file)
        return _KeptReply(str(values["etag"]), float(values["seconds"]), values["answer"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _keep(path: str, reply: _KeptReply) -> None:
    """Keep *reply*, readable by its owner alone, and let the oldest go."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_atomic(path, json_bytes(reply._asdict()))
        names = [os.path.join(folder, name) for name in os.listdir(folder)]
        for name in sorted(names, key=os.path.getmtime)[:-_MAX_KEPT]:
            os.remove(name)
    except OSError:  # an answer that is not kept is asked for again
        return
