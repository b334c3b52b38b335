"""An issuer of tokens and a code host, as small servers on this machine that say what a test wants them to say."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from joserfc import jwt
from joserfc.jwk import ECKey, KeySet

Reply = tuple[int, Any]


@contextmanager
def serve_json(answer: Callable[[str, dict[str, str]], Reply]) -> Iterator[str]:
    """Serve what *answer* says to path and headers (in lower case); give the address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            status, value = answer(self.path, {key.lower(): word for key, word in self.headers.items()})
            body = json.dumps(value).encode()
            self.send_response(status)
            if status == 302:
                self.send_header("Location", value)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *words: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class Issuer:
    """Makes tokens, and publishes the keys by which they are checked."""

    AUDIENCE = "https://hub.test/mcp"

    def __init__(self) -> None:
        self.keys = [make_key("k1")]
        self.asked = 0
        self.is_down = False
        self.url = ""

    def answer(self, path: str, headers: dict[str, str]) -> Reply:
        self.asked += 1
        if self.is_down:
            return 500, {}
        return 200, KeySet(list(self.keys)).as_dict(private=False)

    def make_token(self, key: Any = None, header: dict[str, Any] | None = None, **claims: Any) -> str:
        """Return a token for the group a, whose holder may read and write, but for what *claims* say; None: without."""
        key = key or self.keys[0]
        now = int(time.time())
        given = {
            "iss": "https://issuer.test",
            "aud": self.AUDIENCE,
            "sub": "u-1",
            "exp": now + 300,
            "iat": now,
            "name": "Zoë Chen",
            "email": "zoe@example.com",
            "groups": ["a"],
            "scope": "openid kb:read kb:write",
            **claims,
        }
        given = {name: value for name, value in given.items() if value is not None}
        head = {"alg": "ES256", "kid": key.kid, **(header or {})}
        return jwt.encode(head, given, key, algorithms=[head["alg"]])


def make_key(kid: str) -> ECKey:
    """Return a fresh key of the name *kid*."""
    return ECKey.generate_key("P-256", {"kid": kid, "use": "sig", "alg": "ES256"})


@contextmanager
def run_issuer() -> Iterator[Issuer]:
    """Give an issuer whose keys are served."""
    issuer = Issuer()
    with serve_json(lambda path, headers: issuer.answer(path, headers)) as url:
        issuer.url = url
        yield issuer
