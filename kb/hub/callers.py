"""Identify the caller and their readable repositories: by tokens of an OIDC issuer, or by asking the code host.

There is one rule: whoever may read a repository may read its records. A token is resolved to a `HubCaller` before
anything is read, so that an unreadable repository and a missing one are handled the same way.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import json
import logging
import ssl
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

import httpx2
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError, JoseError
from joserfc.jwk import KeySet
from joserfc.jwt import JWTClaimsRegistry

from kb.hub.code_hosts import CODE_HOSTS
from kb.hub.door_settings import CodeHostSettings, DoorSettings, IdentitySettings
from kb.state.json_clients import is_local_host, require_safe_url

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kb.organisation.hub_config import HubConfig

READ, WRITE = "kb:read", "kb:write"
SCOPES = (READ, WRITE)
"""The scopes a token may have."""

_LOG = logging.getLogger("kb.hub")
_MAX_TOKEN = 16_000
"""Maximum characters of a token; one with hundreds of groups has eight thousand."""
_MAX_ANSWER = 2_000_000
"""Maximum bytes of a key set, or of an answer of the code host."""
_ANSWER_SECONDS = 5.0
"""Timeout of requests to issuer and code host."""
_KEYS_SECONDS = 3600.0
"""Seconds to cache the issuer's keys; an unknown key causes a request at once."""
_KEYS_PAUSE = 10.0
"""Minimum seconds between two requests for keys, so that made-up key names do not flood the issuer."""
_REFUSAL_SECONDS = 30.0
"""Seconds to cache the refusal of a token unknown to the code host."""
_MAX_CALLERS = 10_000
"""Maximum number of callers with cached rights."""
_ASKED_AT_ONCE = 8
"""Concurrent requests to the code host for one caller."""


class HubCaller(NamedTuple):
    """An identified caller."""

    subject: str
    """The id at the issuer or code host, or "" for an anonymous caller."""
    name: str
    email: str
    readable: frozenset[str]
    """The repositories whose records they may read; no answer depends on any other."""
    scopes: frozenset[str]


class TokenRefused(Exception):
    """The token is not accepted: forged, expired, or for another audience."""


class IdentityUnavailable(Exception):
    """The identity service does not answer."""


class Authority(Protocol):
    """A service that identifies callers by their tokens."""

    async def identify(self, token: str) -> HubCaller:
        """Return the caller with *token*; raise TokenRefused or IdentityUnavailable."""


def build_authority(settings: DoorSettings, audience: str, config: HubConfig) -> Authority | None:
    """Return the authority in *settings*, or None if callers are anonymous.

    *audience*: the expected audience of tokens, unless the settings name another.
    """
    if settings.identity.issuer:
        return OidcAuthority(settings.identity, audience, config.find_readable)
    if settings.code_host.kind:
        paths = {one.name: parse_host_path(one.url) for one in config.repositories}
        # not even repositories of the group "*": at a public code host that would be the whole world
        return CodeHostAuthority(settings.code_host, paths, frozenset())
    return None


def build_stranger(config: HubConfig) -> HubCaller:
    """Return the anonymous caller, who may read the repositories of everybody."""
    return HubCaller("", "", "", config.find_readable(frozenset()), frozenset({READ}))


def parse_host_path(url: str) -> str:
    """Return the path of a repository at its code host: team/payments of https://host/team/payments.git."""
    path = urlsplit(url).path if "://" in url else url.partition(":")[2]
    return path.strip("/").removesuffix(".git")


@functools.cache
def _load_authorities() -> ssl.SSLContext:
    """Return the trusted certificates; loading them takes as long as a call."""
    return ssl.create_default_context()


async def _fetch_json(url: str, headers: Mapping[str, str]) -> tuple[int, Mapping[str, str], Any]:
    """Return status, headers and JSON (or None) of the answer from *url*; raise IdentityUnavailable without one."""
    is_local = is_local_host(require_safe_url(url))
    try:
        async with (
            asyncio.timeout(_ANSWER_SECONDS),
            # do not follow redirects: a token is for one address only
            httpx2.AsyncClient(follow_redirects=False, trust_env=not is_local, verify=_load_authorities()) as client,
            client.stream("GET", url, headers=dict(headers)) as answer,
        ):
            body = bytearray()
            async for chunk in answer.aiter_bytes():
                body += chunk
                if len(body) > _MAX_ANSWER:
                    raise IdentityUnavailable("the answer is too long")
    except (httpx2.HTTPError, OSError, TimeoutError) as error:
        raise IdentityUnavailable(type(error).__name__) from None
    try:
        return answer.status_code, answer.headers, json.loads(body)
    except (ValueError, RecursionError):
        return answer.status_code, answer.headers, None


# -- tokens of an OIDC issuer -----------------------------------------------------------------------


class IssuerKeys:
    """The public keys of the issuer, fetched on demand, and again if a token names an unknown one."""

    def __init__(self, url: str, now: Callable[[], float] = time.monotonic) -> None:
        """Fetch from *url*; *now*: seconds."""
        self._url = url
        self._now = now
        self._keys: KeySet | None = None
        self._until = 0.0
        self._next_request = float("-inf")
        self._lock = asyncio.Lock()

    async def load(self, *, anew: bool = False) -> KeySet:
        """Return the keys; *anew*: fetch them again, unless they were fetched a moment ago."""
        if self._keys is not None and not anew and self._now() < self._until:
            return self._keys
        async with self._lock:  # another task may have fetched them while this one waited for the lock
            if self._now() >= self._next_request:
                self._next_request = self._now() + _KEYS_PAUSE
                try:
                    self._keys, self._until = await self._fetch_keys(), self._now() + _KEYS_SECONDS
                except IdentityUnavailable as error:
                    _LOG.warning("the issuer's keys cannot be fetched: %s", error)
        if self._keys is None:
            raise IdentityUnavailable("no keys of the issuer")
        return self._keys  # keys from an hour ago are better than refusing everybody

    async def _fetch_keys(self) -> KeySet:
        status, _, answer = await _fetch_json(self._url, {})
        rows = answer.get("keys") if status == 200 and isinstance(answer, dict) else None
        if not isinstance(rows, list):
            raise IdentityUnavailable(f"status {status}")
        # a symmetric key in a public set would let everybody make tokens; an encryption key signs nothing
        usable = [
            row
            for row in rows
            if isinstance(row, dict) and row.get("kty") != "oct" and row.get("use", "sig") == "sig" and "d" not in row
        ]
        try:
            return KeySet.import_key_set({"keys": usable})
        except (JoseError, ValueError, TypeError, KeyError) as error:
            raise IdentityUnavailable(type(error).__name__) from None


class OidcAuthority:
    """Identifies callers by signed tokens of one issuer; hub.toml says what the groups in them may read."""

    def __init__(
        self,
        settings: IdentitySettings,
        audience: str,
        find_readable: Callable[[frozenset[str]], frozenset[str]],
        now: Callable[[], float] = time.time,
    ) -> None:
        """Verify tokens by *settings*; *find_readable*: groups → repositories; *now*: seconds since 1970."""
        self._settings = settings
        self._find_readable = find_readable
        self._keys = IssuerKeys(settings.jwks)
        self._claims = JWTClaimsRegistry(
            now=lambda: int(now()),
            leeway=settings.skew,
            iss={"essential": True, "value": settings.issuer},
            aud={"essential": True, "value": settings.audience or audience},
            exp={"essential": True},
            sub={"essential": True},
        )

    async def identify(self, token: str) -> HubCaller:
        """Return the caller with *token*; raise TokenRefused or IdentityUnavailable."""
        if len(token) > _MAX_TOKEN or token.count(".") != 2:
            raise TokenRefused("not a signed token")
        try:
            try:
                claims = self._decode_claims(token, await self._keys.load())
            except InvalidKeyIdError:  # the issuer may have rotated its keys
                claims = self._decode_claims(token, await self._keys.load(anew=True))
            self._claims.validate(claims)
        except (JoseError, ValueError, TypeError, RecursionError) as error:
            raise TokenRefused(type(error).__name__) from None
        return self._build_caller(claims)

    def _decode_claims(self, token: str, keys: KeySet) -> dict[str, Any]:
        return jwt.decode(token, keys, algorithms=list(self._settings.algorithms)).claims

    def _build_caller(self, claims: Mapping[str, Any]) -> HubCaller:
        readable = self._find_readable(frozenset(_list_texts(_find_claim(claims, self._settings.groups_claim))))
        claimed = claims.get("scope", claims.get("scp"))
        scopes = frozenset(self._settings.default_scopes if claimed is None else _list_texts(claimed))
        subject = str(claims["sub"])
        name = next((str(claims[key]) for key in ("name", "preferred_username") if claims.get(key)), subject)
        return HubCaller(subject, name, str(claims.get("email") or ""), readable, scopes & {*SCOPES})


def _find_claim(claims: Mapping[str, Any], name: str) -> object:
    """Return the claim *name*, or the nested one its parts lead to: realm_access.roles."""
    if name in claims:  # a claim name may be a URL, with dots in it
        return claims[name]
    value: Any = claims
    for part in name.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _list_texts(value: object) -> Iterable[str]:
    """Return the words of a claim, which may be one text or a list of texts."""
    if isinstance(value, str):
        return value.split()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


# -- the rights at the code host --------------------------------------------------------------------


class CodeHostAuthority:
    """Identifies callers by what the code host lets their own tokens read; answers are cached for minutes."""

    def __init__(
        self,
        settings: CodeHostSettings,
        paths: Mapping[str, str],
        public: frozenset[str],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """Ask at *settings* about the repositories in *paths*; *now*: seconds."""
        self._settings = settings
        self._api = CODE_HOSTS[settings.kind]
        self._paths = paths
        self._public = public
        self._now = now
        self._known: OrderedDict[bytes, tuple[float, HubCaller | None]] = OrderedDict()
        self._locks: dict[bytes, asyncio.Lock] = {}

    async def identify(self, token: str) -> HubCaller:
        """Return the caller with *token*; raise TokenRefused or IdentityUnavailable."""
        if not token or len(token) > _MAX_TOKEN or not token.isascii() or not token.isprintable():
            raise TokenRefused("not a token")
        mark = hashlib.sha256(token.encode()).digest()  # tokens themselves are not stored
        async with self._locks.setdefault(mark, asyncio.Lock()):
            try:
                until, caller = self._known.get(mark, (0.0, None))
                if self._now() >= until:
                    until, caller = await self._ask(token)
                    self._remember(mark, until, caller)
            finally:
                self._locks.pop(mark, None)
        if caller is None:
            raise TokenRefused("the code host does not know it")
        return caller

    def _remember(self, mark: bytes, until: float, caller: HubCaller | None) -> None:
        self._known[mark] = (until, caller)
        self._known.move_to_end(mark)
        while len(self._known) > _MAX_CALLERS:
            self._known.popitem(last=False)

    async def _ask(self, token: str) -> tuple[float, HubCaller | None]:
        """Return when the answer expires, and the caller, or None if the code host does not know the token."""
        status, answer = await self._get("/user", token)
        if status == 401:
            return self._now() + _REFUSAL_SECONDS, None
        if status != 200 or not isinstance(answer, dict):
            raise IdentityUnavailable(f"/user: status {status}")
        limit = asyncio.Semaphore(_ASKED_AT_ONCE)

        async def can_read(path: str) -> bool:
            async with limit:
                address = self._api.branches.format(path=quote(path), quoted=quote(path, safe=""))
                status, _ = await self._get(address, token)
            return status == 200

        # ask about all, so that the time of an answer does not depend on which may be read
        asked = sorted(self._paths)
        rights = await asyncio.gather(*(can_read(self._paths[name]) for name in asked))
        readable = self._public.union(name for name, right in zip(asked, rights, strict=True) if right)
        login = str(answer.get(self._api.names[-1]) or answer.get("id") or "")
        name = next((str(answer[key]) for key in self._api.names if answer.get(key)), login)
        email = str(answer.get("commit_email") or answer.get("email") or "")
        return self._now() + self._settings.cache, HubCaller(login, name, email, readable, frozenset(SCOPES))

    async def _get(self, path: str, token: str) -> tuple[int, Any]:
        headers = {"Authorization": f"{self._api.scheme} {token}", "Accept": "application/json", "User-Agent": "kb-hub"}
        status, said, answer = await _fetch_json(self._settings.api.rstrip("/") + path, headers)
        is_limited = status == 429 or (status == 403 and said.get("x-ratelimit-remaining") == "0")
        if is_limited or status >= 500:
            raise IdentityUnavailable(f"status {status}")
        return status, answer
