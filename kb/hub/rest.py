"""The hub over HTTP: identify the caller, then answer as JSON by a row of the table of operations.

All other routes are here too: health and readiness, metrics, webhooks, the OpenAPI description, and the OAuth metadata
that names the token issuer.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import json
import logging
import re
import secrets
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import parse_qsl

from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from kb import __version__
from kb.errors import BadInput, Busy, KbError, UnknownId
from kb.hub.callers import READ, SCOPES, Authority, HubCaller, IdentityUnavailable, TokenRefused, build_stranger
from kb.hub.code_hosts import SyncRequests, is_genuine
from kb.hub.operations import (
    OPERATIONS,
    HubCall,
    Operation,
    render_markdown,
    validate_arguments,
)
from kb.hub.request_limits import BUSY, CALLER, ROUTE, Metrics, choose_language
from kb.i18n import Message, msg
from kb.mcp.tool_table import translate_schema

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import Scope

    from kb.hub.door_settings import DoorSettings
    from kb.organisation.hub import Hub

T = TypeVar("T")
MCP_PATH = "/mcp"
METADATA_PATH = "/.well-known/oauth-protected-resource"
OPENAPI_PATH = "/api/v1/openapi.json"

_LOG = logging.getLogger("kb.hub")
READERS = 4
"""Concurrent index reads per process: they share one processor, but mostly wait for the database."""
_WRITERS = 2
"""Concurrent calls that submit candidates."""
_NO_HEADERS: Mapping[str, str] = {}
_READY_SECONDS = 2.0
_INTEGER = re.compile(r"-?[0-9]{1,9}")

_NO_TOKEN = msg("show who you are: Authorization: Bearer TOKEN")
_BAD_TOKEN = msg("the token is not accepted: it is forged, has expired, or is for something else")
_UNAVAILABLE = msg("your identity cannot be checked at the moment; try again")
_FAILED = msg("the hub failed; its log says more")
_NOT_FOUND = msg("there is nothing here")
_NO_HOOK = msg("there is no such webhook, or its signature is wrong")


class HubError(Exception):
    """An error response."""

    def __init__(self, status: int, code: str, message: Message | str, headers: Mapping[str, str] = {}) -> None:
        """Answer with *status*; *code* is for programs and *message* for people."""
        super().__init__(code)
        self.status = status
        self.code = code
        self.message = message
        self.headers = dict(headers)

    def build_response(self, language: str) -> Response:
        """Return the answer in *language*."""
        words = self.message.translate(language) if isinstance(self.message, Message) else self.message
        return JSONResponse({"error": {"code": self.code, "message": words}}, self.status, self.headers)


class Reception:
    """Shared by all calls: authentication, and the threads that answer."""

    def __init__(
        self, hub: Hub, settings: DoorSettings, authority: Authority | None, url: str, environment: Mapping[str, str]
    ) -> None:
        """Receive callers of *hub* at *url*; without *authority* callers are anonymous."""
        self.hub = hub
        self.settings = settings
        self.url = url
        self.environment = environment
        self._authority = authority
        self._readers = ThreadPoolExecutor(READERS, "kb-hub-read")
        self._turns = asyncio.Semaphore(READERS)
        self._writers = ThreadPoolExecutor(_WRITERS, "kb-hub-write")
        self._syncer = ThreadPoolExecutor(1, "kb-hub-sync")

    async def identify(self, scope: Scope) -> HubCaller:
        """Return the caller; raise HubError if the call is not allowed."""
        if self._authority is None:
            caller = build_stranger(self.hub.config)
        else:
            shown = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
            kind, _, token = shown.partition(" ")
            if kind.lower() != "bearer" or not token.strip():
                raise HubError(401, "unauthorized", _NO_TOKEN, self._build_challenge())
            try:
                caller = await self._authority.identify(token.strip())
            except TokenRefused as error:
                _LOG.info("token refused: %s", error)
                raise HubError(401, "invalid_token", _BAD_TOKEN, self._build_challenge("invalid_token")) from None
            except IdentityUnavailable as error:
                _LOG.error("a caller cannot be identified: %s", error)
                raise HubError(503, "identity_unavailable", _UNAVAILABLE, {"Retry-After": "5"}) from None
        scope[CALLER] = caller
        return caller

    def require_scope(self, caller: HubCaller, scope: str) -> None:
        """Raise HubError if the token of *caller* lacks *scope*."""
        if scope not in caller.scopes:
            headers = self._build_challenge("insufficient_scope", scope)
            message = msg("the token does not allow this: it lacks the scope {scope}", scope=scope)
            raise HubError(403, "insufficient_scope", message, headers)

    def _build_challenge(self, error: str = "", scope: str = READ) -> dict[str, str]:
        """Return the header that names the source of tokens (RFC 6750, RFC 9728)."""
        parts = [f'error="{error}"'] if error else []
        parts.append(f'scope="{scope}"')
        if self.settings.identity.issuer:
            parts.append(f'resource_metadata="{self.url}{METADATA_PATH}{MCP_PATH}"')
        return {"WWW-Authenticate": "Bearer " + ", ".join(parts)}

    def build_call(self, caller: HubCaller, language: str, *, is_quoted: bool = False) -> HubCall:
        """Return the call of *caller* for a row of the table of operations."""
        push = frozenset(self.settings.write.push)
        return HubCall(self.hub, caller, self.environment, language, is_quoted, push)

    async def run(self, work: Callable[[], T], *, writes: bool = False) -> T:
        """Return the result of *work*, run in a thread; an abandoned one still counts until it ends.

        Reads run in the order of arrival; raise HubError if one waits too long, because a late answer delays
        everybody behind it.
        """
        if writes:
            return await self._run_in(self._writers, work)
        try:
            async with asyncio.timeout(self.settings.server.wait_seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise HubError(503, "busy", BUSY, {"Retry-After": "1"}) from None
        loop = asyncio.get_running_loop()
        begun = self._readers.submit(work)
        begun.add_done_callback(lambda _: loop.call_soon_threadsafe(self._turns.release))
        return await asyncio.wrap_future(begun)

    async def run_sync(self, work: Callable[[], T]) -> T:
        """Return the result of *work*, run in the one thread that fetches repositories."""
        return await self._run_in(self._syncer, work)

    async def _run_in(self, pool: Executor, work: Callable[[], T]) -> T:
        return await asyncio.get_running_loop().run_in_executor(pool, work)

    def close(self) -> None:
        """Wait for running work, and start nothing more."""
        for pool in (self._readers, self._writers, self._syncer):
            pool.shutdown(wait=True, cancel_futures=True)


def convert_error(error: Exception, language: str) -> HubError:
    """Return the response to *error*; of an internal error only say that there was one."""
    if isinstance(error, HubError):
        return error
    if isinstance(error, UnknownId):
        return HubError(404, "not_found", error.message)
    if isinstance(error, BadInput):
        return HubError(400, "bad_input", _describe_failure(error, language))
    if isinstance(error, Busy):
        return HubError(503, "busy", _describe_failure(error, language), {"Retry-After": "2"})
    if isinstance(error, KbError):
        return HubError(502, "failed", _describe_failure(error, language))
    _LOG.error("a call failed", exc_info=error)
    return HubError(500, "failed", _FAILED)


def _describe_failure(error: KbError, language: str) -> str:
    """Return the error and its next step in *language*."""
    hint = error.hint.translate(language)
    return error.message.translate(language) + (f" → {hint}" if hint else "")


Endpoint = Callable[["Request"], Awaitable[Response]]


def _name_route(route: str, endpoint: Endpoint) -> Endpoint:
    """Wrap *endpoint*: note its *route* for the log, and turn errors into responses."""

    async def answer_request(request: Request) -> Response:
        request.scope[ROUTE] = route
        language = choose_language(request.scope)
        try:
            return await endpoint(request)
        except Exception as error:  # the caller gets an answer to every error
            return convert_error(error, language).build_response(language)

    return answer_request


# -- the operations ---------------------------------------------------------------------------------


def _parse_query(operation: Operation, request: Request) -> dict[str, Any]:
    """Return the arguments in path and query; raise HubError for an unknown or repeated one."""
    given: dict[str, Any] = dict(request.path_params)
    words = parse_qsl(request.scope["query_string"].decode("latin-1"), keep_blank_values=True, max_num_fields=50)
    for name, word in words:
        if name not in operation.arguments or name in operation.in_path:
            if name != "format" or not operation.has_markdown:
                raise HubError(400, "bad_input", msg("there is no parameter {name}", name=name[:60]))
        elif name in given:
            raise HubError(400, "bad_input", msg("the parameter {name} is given twice", name=name))
        is_number = operation.arguments.get(name, {}).get("type") == "integer"
        given[name] = int(word) if is_number and _INTEGER.fullmatch(word) else word
    return given


async def _parse_body(operation: Operation, request: Request) -> dict[str, Any]:
    """Return the arguments in path and body; raise BadInput for a body that is no JSON object."""
    try:
        body = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise BadInput(msg("not valid JSON: {problem}", problem=operation.name)) from None
    if not isinstance(body, dict) or set(body) & set(operation.in_path):
        raise BadInput(msg("the body is a JSON object with {names}", names=", ".join(_list_body(operation))))
    return {**body, **request.path_params}


def _list_body(operation: Operation) -> list[str]:
    return [name for name in operation.arguments if name not in operation.in_path]


def _build_etag(version: str, language: str) -> str:
    return f'W/"{hashlib.sha256(f"{__version__} {language} {version}".encode()).hexdigest()[:32]}"'


def _build_endpoint(reception: Reception, operation: Operation) -> Endpoint:
    async def call_operation(request: Request) -> Response:
        caller = await reception.identify(request.scope)
        reception.require_scope(caller, operation.scope)
        language = choose_language(request.scope)
        is_reading = operation.method == "GET"
        given = _parse_query(operation, request) if is_reading else await _parse_body(operation, request)
        chosen = given.pop("format", "json")
        if chosen not in ("json", "markdown"):
            raise HubError(400, "bad_input", msg("the field {key} is json or markdown", key="format"))
        values = validate_arguments(operation, given)
        call = reception.build_call(caller, language)
        known = request.headers.get("if-none-match")

        def answer() -> Response:
            headers = {"Cache-Control": "private, no-cache"}
            if is_reading:  # taken before the answer: a commit in between must not get the newer tag
                headers["ETag"] = _build_etag(reception.hub.version(caller.readable), language)
                if known == headers["ETag"]:
                    return Response(status_code=304, headers=headers)
            if chosen == "markdown":
                text = render_markdown(call, values)
                return Response(text, headers=headers, media_type="text/markdown; charset=utf-8")
            return JSONResponse(operation.call(call, values), headers=headers)

        return await reception.run(answer, writes=not is_reading)

    return call_operation


def build_routes(reception: Reception, metrics: Metrics, metrics_token: str, queue: SyncRequests) -> list[Route]:
    """Return all routes except that of MCP."""
    described = {language: build_openapi(reception, language) for language in ("en", "zh")}

    async def answer_alive(request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def answer_ready(request: Request) -> Response:
        try:
            async with asyncio.timeout(_READY_SECONDS):
                is_ready = await reception.run(reception.hub.is_ready)
        except Exception as error:  # for example an unreachable database
            _LOG.error("the index does not answer: %s", type(error).__name__)
            is_ready = False
        return JSONResponse({"status": "ok" if is_ready else "not ready"}, 200 if is_ready else 503)

    async def show_metrics(request: Request) -> Response:
        shown = request.headers.get("authorization", "").removeprefix("Bearer ")
        # metrics reveal searches and sizes: without a token the route does not exist
        if not metrics_token or not hmac.compare_digest(shown.encode(), metrics_token.encode()):
            raise HubError(404, "not_found", _NOT_FOUND)
        metrics.syncs.set(queue.runs)
        metrics.sync_failures.set(queue.failures)
        return Response(metrics.render(), media_type="text/plain; version=0.0.4")

    async def describe_api(request: Request) -> Response:
        return JSONResponse(described[choose_language(request.scope)])

    async def describe_resource(request: Request) -> Response:
        return JSONResponse(build_metadata(reception))

    async def answer_nothing(request: Request) -> Response:
        raise HubError(404, "not_found", _NOT_FOUND)

    plain: list[tuple[str, str, Endpoint]] = [
        ("GET", "/healthz", answer_alive),
        ("GET", "/readyz", answer_ready),
        ("GET", "/metrics", show_metrics),
        ("GET", OPENAPI_PATH, describe_api),
        ("POST", "/hooks/{host}/{repository}", _build_hook(reception, queue)),
        *((one.method, one.path, _build_endpoint(reception, one)) for one in OPERATIONS),
    ]
    if reception.settings.identity.issuer:
        plain += [("GET", path, describe_resource) for path in (METADATA_PATH, METADATA_PATH + MCP_PATH)]
    routes = [Route(path, _name_route(path, endpoint), methods=[method]) for method, path, endpoint in plain]
    return [*routes, Route("/{rest:path}", _name_route("-", answer_nothing), methods=["GET", "POST"])]


def build_metadata(reception: Reception) -> dict[str, Any]:
    """Return the OAuth metadata of the protected resource (RFC 9728)."""
    return {
        "resource": reception.settings.identity.audience or reception.url + MCP_PATH,
        "authorization_servers": [reception.settings.identity.issuer],
        "scopes_supported": list(SCOPES),
        "bearer_methods_supported": ["header"],
        "resource_name": "kb hub",
    }


# -- webhooks ---------------------------------------------------------------------------------------


def _build_hook(reception: Reception, queue: SyncRequests) -> Endpoint:
    own = {
        one.name: reception.environment.get(one.webhook_secret, "")
        for one in reception.hub.config.repositories
        if one.webhook_secret
    }
    nobodys = secrets.token_hex(32)

    async def take_hook(request: Request) -> Response:
        host, name = request.path_params["host"], request.path_params["repository"]
        body = await request.body()
        # an unknown repository gets a secret nobody knows: the same work, the same answer
        secret = own.get(name) or nobodys
        if not is_genuine(host, request.headers, body, secret):
            raise HubError(401, "unauthorized", _NO_HOOK)
        queue.request(name)
        return JSONResponse({"status": "accepted"}, 202)

    return take_hook


# -- the description in OpenAPI ---------------------------------------------------------------------


def build_openapi(reception: Reception, language: str) -> dict[str, Any]:
    """Return the OpenAPI 3.1 description of all operations, built from their table."""
    error: dict[str, Any] = {
        "type": "object",
        "properties": {"code": {"type": "string"}, "message": {"type": "string"}},
    }
    error |= {"required": ["code", "message"], "additionalProperties": False}
    shape = {"type": "object", "properties": {"error": error}, "required": ["error"], "additionalProperties": False}
    paths: dict[str, dict[str, Any]] = {}
    for operation in OPERATIONS:
        paths.setdefault(operation.path, {})[operation.method.lower()] = _describe_operation(operation, language)
    secured = reception.settings.has_identity
    scheme = {"bearer": {"type": "http", "scheme": "bearer"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "kb hub", "version": __version__, "license": {"name": "MIT", "identifier": "MIT"}},
        "servers": [{"url": reception.url}],
        "security": [{"bearer": []}] if secured else [],
        "paths": paths,
        "components": {"schemas": {"Error": shape}, **({"securitySchemes": scheme} if secured else {})},
    }


def _describe_operation(operation: Operation, language: str) -> dict[str, Any]:
    arguments = translate_schema(dict(operation.arguments), lambda description: description.translate(language))
    is_read = operation.method == "GET"
    rows = []
    for name in arguments if is_read else operation.in_path:
        schema = {key: value for key, value in arguments[name].items() if key != "description"}
        place = "path" if name in operation.in_path else "query"
        row = {"name": name, "in": place, "required": name in operation.required, "schema": schema}
        rows.append(row | ({"description": description} if (description := arguments[name].get("description")) else {}))
    answer = translate_schema(operation.answer, lambda description: description.translate(language))
    content: dict[str, Any] = {"application/json": {"schema": answer}}
    if operation.has_markdown:
        choice = {"type": "string", "enum": ["json", "markdown"], "default": "json"}
        rows.append({"name": "format", "in": "query", "required": False, "schema": choice})
        content["text/markdown"] = {"schema": {"type": "string"}}
    answers: dict[str, Any] = {"200": {"description": operation.title.translate(language), "content": content}}
    if is_read:
        answers["304"] = {"description": "Not Modified"}
    failed = {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}}
    for status in ("400", "401", "403", "404", "413", "421", "500", "502", "503"):
        answers[status] = {"description": "Error", "content": failed}
    described = {
        "operationId": operation.name,
        "summary": operation.title.translate(language),
        "description": operation.help.translate(language),
        "parameters": rows,
        "responses": answers,
    }
    if is_read:
        return described
    body = {name: arguments[name] for name in _list_body(operation)}
    required = [name for name in operation.required if name in body]
    schema = {"type": "object", "properties": body, "required": required, "additionalProperties": False}
    return {**described, "requestBody": {"required": True, "content": {"application/json": {"schema": schema}}}}
