"""Query a hub from a laptop, with settings from the environment and a cache of answers by ETag.

The hub's address and token come only from the person's environment: otherwise a `kb.toml` in a foreign repository could
send the token anywhere.
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
"""Timeout of a query."""
ACROSS = "across.json"
"""The file in the state folder of a hub's clone that `load_comparison` reads."""
_MAX_KEPT = 100
"""Answers to cache."""
_COMMAND_SECONDS = 10.0


class HubReply(NamedTuple):
    """An answer of a hub, new or cached."""

    answers: tuple[Mapping[str, Any], ...]
    """Rows of `/api/v1/search`, best first."""
    note: Message | None = None
    """A message that the hub does not answer, with the age of this answer; None if it answers."""


class _KeptReply(NamedTuple):
    etag: str
    seconds: float
    answer: Any


def search_hub(query: str, filters: Mapping[str, str | int], environment: Mapping[str, str]) -> HubReply:
    """Return the hub's answer to *query*, or the cached one; raise KbError if there is neither.

    *filters*: parameters of the hub's search API; empty ones are left out.
    """
    if not environment.get(URL):
        raise KbError(msg("no hub is known here"), hint=msg("set its address: export KB_HUB_URL=https://…"))
    given = {"query": query, **{key: value for key, value in filters.items() if value not in ("", 0)}}
    found, note = _ask("search", given, environment, "zh" if _is_chinese(environment) else "en", _find_answers)
    return HubReply(tuple(found), note)


def load_comparison(
    path: str, repository: str, environment: Mapping[str, str], language: str
) -> Mapping[str, Any] | None:
    """Return the comparison of *repository* with those of other teams, in the format of `/api/v1/compare`, or None.

    Read it from the file *path*, written by `kb hub compare`, or else query the hub of *environment*. If neither is
    set, or there is no answer at all, return None: a wiki is then built without it.
    """
    if path:
        with contextlib.suppress(OSError, ValueError, RecursionError), open(path, encoding="utf-8") as file:
            return _check_comparison(json.load(file))
    if repository and environment.get(URL):
        with contextlib.suppress(KbError):
            return _ask("compare", {"repository": repository}, environment, language, _check_comparison)[0]
    return None


def _check_comparison(value: Any) -> Mapping[str, Any] | None:
    """Return *value* if it has the format of a comparison for one repository, else None."""
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
    """Return the rows of an answer to a search, or None if it has another format."""
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
    """Return what *read* extracts from the hub's answer to *operation*, new or cached, and a message if it is cached.

    Raise KbError if there is no answer, or *read* does not accept it.
    """
    base, token = environment.get(URL, "").rstrip("/"), read_token(environment)
    url = f"{base}/api/v1/{operation}?{urlencode(given)}"
    # the key includes the token: another person on this machine must not see this person's answers
    mark = hashlib.sha256(f"{url} {language} {token}".encode()).hexdigest()[:32]
    path = os.path.join(state_home(environment), "hub", f"{mark}.json")
    cached = _read_kept(path)
    before = read(cached.answer) if cached else None
    headers = {"Accept": "application/json", "Accept-Language": language}
    headers |= {"Authorization": f"Bearer {token}"} if token else {}
    headers |= {"If-None-Match": cached.etag} if cached and before is not None else {}
    try:
        answer = call_service(url, headers, SECONDS)
    except KbError as error:
        if cached is None or before is None:
            raise
        day = time.strftime("%Y-%m-%d %H:%M", time.localtime(cached.seconds))
        return before, msg("{problem}; this is its answer of {day}", problem=error, day=day)
    if answer.status == 304 and before is not None:
        return before, None
    if answer.status != 200:
        raise _build_error(answer, base)
    parsed = answer.parse_json(base)
    answers = read(parsed)
    if answers is None:
        raise KbError(msg("{url} does not answer like a hub", url=base), hint=msg("check KB_HUB_URL"))
    _keep(path, _KeptReply(answer.headers.get("etag", ""), time.time(), parsed))
    return answers, None


def read_token(environment: Mapping[str, str]) -> str:
    """Return the token for the hub, from the environment or a file or command named there, or ""."""
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
    """Return the error in a hub's answer, with the one next step."""
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
    """Cache *reply*, readable only by its owner, and delete the oldest ones."""
    folder = os.path.dirname(path)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        write_atomic(path, json_bytes(reply._asdict()))
        names = [os.path.join(folder, name) for name in os.listdir(folder)]
        for name in sorted(names, key=os.path.getmtime)[:-_MAX_KEPT]:
            os.remove(name)
    except OSError:  # an answer that is not cached is fetched again
        return
