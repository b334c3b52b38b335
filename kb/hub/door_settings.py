"""The settings of the hub's doors in `hub.toml`: its address, who may call, and the limits of every call.

The repositories, and the groups that may read each, belong to `kb.organisation`. Secrets are never in the file, but in
the environment or in a file named there.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from kb.errors import BadInput, KbError, describe_os_error
from kb.hub.code_hosts import CODE_HOSTS
from kb.i18n import msg
from kb.state.json_clients import require_safe_url

DEFAULT_ADDRESS = "127.0.0.1:8740"
ALGORITHMS = frozenset("RS256 RS384 RS512 PS256 PS384 PS512 ES256 ES384 ES512 EdDSA Ed25519".split())
"""The accepted signature algorithms: only asymmetric ones, so that verifying a token is not enough to make one."""


class ServerSettings(NamedTuple):
    """The table `[server]`: the address of the hub, and the limits of a call."""

    address: str = DEFAULT_ADDRESS
    url: str = ""
    """The URL for clients, behind a proxy; empty: the address itself."""
    max_body: int = 4_000_000
    """Maximum bytes of a request's body."""
    request_seconds: float = 30.0
    """Maximum seconds of a call, from its first byte to the last byte of the answer."""
    concurrency: int = 64
    """Maximum number of concurrent calls; further callers are asked to retry."""
    wait_seconds: float = 2.0
    """Maximum seconds that a call waits for its turn; after that the caller is asked to retry."""
    processes: int = 1
    """Number of serving processes; each has its own limits."""
    names: tuple[str, ...] = ()
    """Further accepted host names."""


class IdentitySettings(NamedTuple):
    """The table `[identity]`: the trusted token issuer."""

    issuer: str = ""
    jwks: str = ""
    """The URL of the issuer's signing keys."""
    audience: str = ""
    """The required audience of a token; empty: the URL of the MCP door."""
    groups_claim: str = "groups"
    """The claim that lists the groups of a person; `a.b` also names `b` within `a`."""
    algorithms: tuple[str, ...] = ("RS256", "ES256")
    skew: int = 30
    """Seconds that the clocks of hub and issuer may differ."""
    default_scopes: tuple[str, ...] = ()
    """The scopes of a token without any."""


class CodeHostSettings(NamedTuple):
    """The table `[code_host]`: the code host that knows what a caller's token may read."""

    kind: str = ""
    api: str = ""
    cache: int = 300
    """Seconds to cache an answer."""


class WriteSettings(NamedTuple):
    """The table `[write]`: what happens to submitted candidates."""

    push: tuple[str, ...] = ()
    """The repositories that the hub pushes branches to with its own token; for others it returns patches."""


class DoorSettings(NamedTuple):
    """All door settings in `hub.toml`."""

    server: ServerSettings = ServerSettings()
    identity: IdentitySettings = IdentitySettings()
    code_host: CodeHostSettings = CodeHostSettings()
    write: WriteSettings = WriteSettings()

    @property
    def has_identity(self) -> bool:
        """Whether callers must identify themselves."""
        return bool(self.identity.issuer or self.code_host.kind)


_TABLES = frozenset(DoorSettings._fields)


def read_door_settings(tables: Mapping[str, Any], repositories: Collection[str], path: str) -> DoorSettings:
    """Return the door settings in *tables*, from the file *path*; raise BadInput.

    *repositories*: the names of the served repositories.
    """
    if unknown := sorted({*tables} - _TABLES):
        names = ", ".join(f"[{name}]" for name in DoorSettings._fields)
        hint = msg("there are: {names}", names=names)
        raise BadInput(msg("there is no table [{name}]", name=unknown[0]), path=path, hint=hint)
    settings = DoorSettings(
        **{
            name: _read_table(tables, name, DoorSettings()[number], path)
            for number, name in enumerate(DoorSettings._fields)
        }
    )
    if settings.identity.issuer and settings.code_host.kind:
        message = msg("[identity] and [code_host] are two ways to know a caller; the hub takes one")
        raise BadInput(message, path=path, hint=msg("remove one of the two tables"))
    if settings.identity != IdentitySettings():
        _check_identity(settings.identity, path)
    if settings.code_host != CodeHostSettings():
        _check_code_host(settings.code_host, path)
    if settings.server.url:
        require_safe_url(settings.server.url)
    if strange := sorted(set(settings.write.push) - set(repositories)):
        raise BadInput(msg("[write] names no repository {name}", name=strange[0]), path=path)
    return settings


def _read_table(values: Mapping[str, Any], name: str, defaults: Any, path: str) -> Any:
    """Return the table *name* over its *defaults*; raise BadInput for an invalid key or value."""
    table = values.get(name, {})
    if not isinstance(table, Mapping):
        raise BadInput(msg("{name} is a table: [{name}]", name=name), path=path)
    known = defaults._asdict()
    given: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise BadInput(msg("there is no setting {key} in [{table}]", key=key, table=name), path=path)
        default = known[key]
        kinds: tuple[type, ...] = {tuple: (list,), float: (int, float)}.get(type(default), (type(default),))
        is_right = isinstance(value, kinds) and not isinstance(value, bool)
        if isinstance(value, list):
            is_right = is_right and all(isinstance(item, str) for item in value)
        elif isinstance(value, int | float):
            is_right = is_right and value > 0 - (key == "skew")
        if not is_right:
            raise BadInput(
                msg("the setting {key} cannot be {value}", key=f"{name}.{key}", value=repr(value)), path=path
            )
        given[key] = tuple(value) if isinstance(value, list) else value
    return defaults._replace(**given)


def _check_identity(identity: IdentitySettings, path: str) -> None:
    if not identity.issuer or not identity.jwks:
        raise BadInput(msg("[identity] needs issuer and jwks"), path=path)
    require_safe_url(identity.jwks)
    if wrong := sorted(set(identity.algorithms) - ALGORITHMS) or ([] if identity.algorithms else [""]):
        message = msg("tokens signed with {name} are not accepted", name=wrong[0] or "[]")
        raise BadInput(message, path=path, hint=msg("there are: {names}", names=", ".join(sorted(ALGORITHMS))))


def _check_code_host(code_host: CodeHostSettings, path: str) -> None:
    if code_host.kind not in CODE_HOSTS:
        message = msg("there is no code host {kind}", kind=code_host.kind or '""')
        raise BadInput(message, path=path, hint=msg("there are: {names}", names=", ".join(CODE_HOSTS)))
    require_safe_url(code_host.api)


def read_secret(environment: Mapping[str, str], name: str) -> str:
    """Return the secret *name* from the environment, or from the file named by NAME_FILE, or ""."""
    if environment.get(name):
        return environment[name]
    path = environment.get(f"{name}_FILE", "")
    if not path:
        return ""
    try:
        with open(path, encoding="utf-8") as file:
            secret = file.read(10_000).strip()
    except (OSError, UnicodeDecodeError) as error:
        problem = describe_os_error(error) if isinstance(error, OSError) else str(error)
        raise KbError(msg("cannot read {name}: {problem}", name=f"{name}_FILE", problem=problem), path=path) from None
    if len(secret) < 16:
        message = msg("the secret in {path} is shorter than 16 characters", path=os.path.basename(path))
        raise KbError(message, hint=msg("make one: openssl rand -hex 32"))
    return secret
