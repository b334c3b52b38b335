"""Post JSON to a service the user named: https, or this machine itself; no redirects, bounded in time and size."""

from __future__ import annotations

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from http.client import HTTPException
from ipaddress import ip_address
from typing import TYPE_CHECKING

from kb.errors import KbError
from kb.i18n import msg

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

MAX_ANSWER = 64_000_000
"""Longest answer in bytes."""


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Follows nothing: a key is for one address alone."""

    def redirect_request(self, *_: Any) -> None:
        """Refuse."""


def post_json(url: str, request: Mapping[str, object], key: str, seconds: float) -> Any:
    """Return the JSON that the service at *url* answers to *request* within *seconds*; raise KbError."""
    until = time.monotonic() + seconds
    headers = {"Content-Type": "application/json"} | ({"Authorization": f"Bearer {key}"} if key else {})
    data = json.dumps(request, ensure_ascii=False).encode("utf-8", "replace")
    proxies = [urllib.request.ProxyHandler({})] if _is_local_url(url) else []
    try:
        opener = urllib.request.build_opener(_NoRedirect, *proxies)
        with opener.open(urllib.request.Request(url, data, headers), timeout=seconds) as answer:
            return json.loads(_read_body(answer, until))
    except (OSError, HTTPException) as error:  # URLError and TimeoutError are such
        reason = getattr(error, "reason", None) or error
        raise KbError(msg("{url} does not answer: {problem}", url=url, problem=reason)) from None
    except (ValueError, RecursionError):
        raise KbError(msg("{url} does not answer in JSON", url=url)) from None


def _is_local_url(url: str) -> bool:
    """Return whether *url* is on this machine; raise KbError for one that is neither here nor https."""
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        host = ""
    try:
        is_here = host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        is_here = False
    if not host or not (parts.scheme == "https" or (parts.scheme == "http" and is_here)):
        raise KbError(msg("{url} is neither https nor on this machine", url=url))
    return is_here


def _read_body(answer: Any, until: float) -> bytes:
    body = bytearray()
    while chunk := answer.read1(1 << 16):
        body += chunk
        if len(body) > MAX_ANSWER:
            raise OSError("it is too long")
        if time.monotonic() > until:
            raise TimeoutError("it takes too long")
    return bytes(body)
