"""Speak JSON with commands and services of the user's own: within a time, within a size, and nothing of them stays."""

from __future__ import annotations

import contextlib
import json
import os
import select
import shlex
import signal
import subprocess
import tempfile
import time
from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from kb.errors import KbError
from kb.i18n import Message, msg

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import IO, Any

MAX_ANSWER = 64_000_000
"""Longest answer of a service, or line of a running command, in bytes."""
MAX_OUTPUT = 4_000_000
"""Longest answer of KB_LLM_CMD in bytes."""
_STDERR_SHOWN = 300


def post_json(url: str, request: Mapping[str, object], key: str, seconds: float) -> Any:
    """Return the JSON that the service at *url* answers to *request* within *seconds*; raise KbError.

    It must be reached by https or be on this machine. No redirect is followed: a key is for one address alone.
    """
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    answer = call_service(url, headers, seconds, json.dumps(request, ensure_ascii=False).encode("utf-8", "replace"))
    if not 200 <= answer.status < 300:
        raise KbError(msg("{url} does not answer: {problem}", url=url, problem=answer.reason))
    return answer.parse_json(url)


class ServiceAnswer(NamedTuple):
    """The answer of a service, with any status."""

    status: int
    reason: str
    """The words of the status."""
    headers: Mapping[str, str]
    body: bytes

    def parse_json(self, url: str) -> Any:
        """Return the body as JSON; raise KbError, which names the *url*, where it is none."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            raise KbError(msg("{url} does not answer in JSON", url=url)) from None


def is_local_host(host: str) -> bool:
    """Return whether *host*, a name or an address, is this machine and no other."""
    with contextlib.suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def require_safe_url(url: str) -> str:
    """Return the host of *url*; raise KbError unless it is https, without a user's name, or is on this machine."""
    scheme, host, place = "", "", ""
    with contextlib.suppress(ValueError):  # no URL
        parts = urlsplit(url)
        scheme, host, place = parts.scheme, parts.hostname or "", parts.netloc
    if not host or "@" in place or not (scheme == "https" or (scheme == "http" and is_local_host(host))):
        raise KbError(msg("{url} is neither https nor on this machine", url=url))
    return host


def call_service(url: str, headers: Mapping[str, str], seconds: float, data: bytes | None = None) -> ServiceAnswer:
    """Return what the service at *url* answers within *seconds*, to *data* or without any; raise KbError for nothing.

    It must be reached by https or be on this machine. No redirect is followed: a key is for one address alone.
    """
    import urllib.error
    import urllib.request
    from http.client import HTTPException

    class NoRedirect(urllib.request.HTTPRedirectHandler):
        def redirect_request(self, *_: Any) -> None:
            """Refuse."""

    # a proxy from the environment must not see requests to this machine
    proxies = [urllib.request.ProxyHandler({})] if is_local_host(require_safe_url(url)) else []
    until = time.monotonic() + seconds
    body = bytearray()
    try:
        opener = urllib.request.build_opener(NoRedirect, *proxies)
        try:
            opened = opener.open(urllib.request.Request(url, data, dict(headers)), timeout=seconds)
        except urllib.error.HTTPError as error:
            opened = error  # an answer like any other
        with opened as answer:
            while chunk := answer.read1(1 << 16):
                body += chunk
                if len(body) > MAX_ANSWER:
                    raise OSError("it is too long")
                if time.monotonic() > until:
                    raise TimeoutError("it takes too long")
            named = {key.lower(): value for key, value in answer.headers.items()}
            return ServiceAnswer(answer.status, str(answer.reason), named, bytes(body))
    except (OSError, HTTPException) as error:  # URLError and TimeoutError are such
        reason = getattr(error, "reason", None) or error
        raise KbError(msg("{url} does not answer: {problem}", url=url, problem=reason)) from None


class JsonProcess:
    """A command that runs, without a shell, in a process group of its own."""

    def __init__(self, variable: str, command: str) -> None:
        """Start the shell words in *command*, which are in *variable*; raise KbError."""
        self._variable = variable
        pipe = subprocess.PIPE
        try:
            self._process = subprocess.Popen(
                shlex.split(command), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, start_new_session=True
            )
        except (OSError, ValueError, IndexError) as error:
            raise KbError(msg("{variable} cannot be run: {problem}", variable=variable, problem=error)) from None
        assert self._process.stdin and self._process.stdout
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        os.set_blocking(self._in, False)

    def exchange_line(self, line: str, until: float) -> bytes:
        """Return the line that the command answers to *line* before the moment *until*; raise KbError."""
        variable = self._variable
        rest = memoryview(line.encode("utf-8", "replace") + b"\n")
        answer = bytearray()
        while not answer.endswith(b"\n"):
            left = max(until - time.monotonic(), 0)
            readable, writable, _ = select.select([self._out], [self._in] if rest else [], [], left)
            if not readable and not writable:
                hint = msg(
                    "it has to answer every line at once, without waiting for the end of its input; flush the output"
                )
                raise KbError(msg("{variable} took too long", variable=variable), hint=hint)
            try:
                if writable:
                    rest = rest[os.write(self._in, rest[:65536]) :]
                chunk = os.read(self._out, 1 << 20) if readable else b""
            except OSError as error:
                raise self._build_exit_error(error.strerror or "") from None
            if readable and not chunk:
                raise self._build_exit_error("")
            answer += chunk
            if len(answer) > MAX_ANSWER:
                raise KbError(msg("{variable} printed more than {limit} bytes", variable=variable, limit=MAX_ANSWER))
        return bytes(answer)

    def _build_exit_error(self, problem: str) -> KbError:
        return KbError(msg("{variable} ended without an answer {problem}", variable=self._variable, problem=problem))

    def stop_process(self) -> None:
        """End the command and all that it has started."""
        _kill_group(self._process.pid)
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                pipe.close() if pipe else None
        self._process.wait()


def _kill_group(group: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGKILL)


def run_llm_command(command: str, request: dict[str, Any], timeout: float) -> object:
    """Give *request* as JSON to the shell words in *command* and return the JSON it prints.

    The command runs without a shell, in a process group of its own that is killed after *timeout* seconds, after
    MAX_OUTPUT bytes, and when the call ends. Raise KbError, saying what went wrong, if there is no answer: the caller
    goes on offline.
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise _build_error(msg("KB_LLM_CMD cannot be read: {problem}", problem=error)) from None
    if not words:
        raise _build_error(msg("KB_LLM_CMD is empty"))
    try:
        status, output, complaint = _run_process(words, request, time.monotonic() + timeout)
    except TimeoutError:
        raise _build_error(msg("KB_LLM_CMD took longer than {seconds} seconds", seconds=timeout)) from None
    except (OSError, ValueError) as error:
        raise _build_error(msg("KB_LLM_CMD cannot be run: {problem}", problem=error)) from None
    if status:
        raise _build_error(msg("KB_LLM_CMD failed with exit code {code}: {problem}", code=status, problem=complaint))
    try:
        return json.loads(output.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise _build_error(msg("KB_LLM_CMD printed no JSON")) from None


def run_token_command(variable: str, command: str, seconds: float) -> str:
    """Return the first line that the shell words in *command*, which are in *variable*, print; raise KbError."""
    try:
        words = shlex.split(command)
        status, output, complaint = _run_process(words, {}, time.monotonic() + seconds)
    except TimeoutError:
        raise KbError(msg("{variable} took too long", variable=variable)) from None
    except (OSError, ValueError, IndexError) as error:
        raise KbError(msg("{variable} cannot be run: {problem}", variable=variable, problem=error)) from None
    line = output.decode("utf-8", "replace").strip().partition("\n")[0].strip()
    if status or not line:
        problem = msg("{variable} gives no token {problem}", variable=variable, problem=complaint or status)
        raise KbError(problem)
    return line


def _run_process(words: list[str], request: dict[str, Any], deadline: float) -> tuple[int, bytes, str]:
    """Return exit status, output and the beginning of stderr of one run; raise TimeoutError at *deadline*."""
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
        given.write(json.dumps(request, ensure_ascii=False).encode("utf-8", "replace"))
        given.seek(0)
        process = subprocess.Popen(
            words, stdin=given, stdout=subprocess.PIPE, stderr=complaints, start_new_session=True
        )
        assert process.stdout is not None
        with process.stdout as answers:
            try:
                output = _read_output(answers, deadline)
                status = process.wait(timeout=max(deadline - time.monotonic(), 0.1))
            except subprocess.TimeoutExpired:
                raise TimeoutError from None
            finally:
                # the command may have left children that keep its output open
                _kill_group(process.pid)
                process.wait()
        complaints.seek(0)
        return status, output, complaints.read(_STDERR_SHOWN).decode("utf-8", "replace").strip()


def _read_output(answers: IO[bytes], deadline: float) -> bytes:
    """Return what comes through *answers* until its end; raise TimeoutError at *deadline*, KbError for too much."""
    output = bytearray()
    while select.select([answers], [], [], max(deadline - time.monotonic(), 0))[0]:
        chunk = os.read(answers.fileno(), 65536)
        if not chunk:
            return bytes(output)
        output += chunk
        if len(output) > MAX_OUTPUT:
            raise _build_error(msg("KB_LLM_CMD printed more than {limit} bytes", limit=MAX_OUTPUT))
    raise TimeoutError


def _build_error(message: Message) -> KbError:
    return KbError(message, hint=msg("the offline extraction is used instead"))
