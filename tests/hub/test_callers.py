"""Who calls: tokens that are believed and those that are not, and what a code host lets a caller read."""

import asyncio
import base64
import hmac
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from joserfc.jwk import KeySet, OctKey, RSAKey

from kb.errors import KbError
from kb.hub.callers import (
    CodeHostAuthority,
    HubCaller,
    IdentityUnavailable,
    IssuerKeys,
    OidcAuthority,
    TokenRefused,
    build_authority,
    parse_host_path,
)
from kb.hub.door_settings import CodeHostSettings, DoorSettings, IdentitySettings, read_door_settings, read_secret
from kb.organisation.hub_config import HubConfig, RepositoryConfig
from tests.support.identity import Issuer, make_key, run_issuer, serve_json

TABLE = {"a": frozenset({"alpha"}), "b": frozenset({"beta"})}
KEY = make_key("k1")


def find_readable(groups: frozenset[str]) -> frozenset[str]:
    return frozenset({"open"}).union(*(TABLE.get(group, frozenset()) for group in groups))


@pytest.fixture
def issuer() -> Iterator[Issuer]:
    with run_issuer() as running:
        yield running


def build(issuer: Issuer, **more: Any) -> OidcAuthority:
    rules = IdentitySettings(**{"issuer": "https://issuer.test", "jwks": issuer.url, "algorithms": ("ES256",), **more})
    return OidcAuthority(rules, Issuer.AUDIENCE, find_readable)


def ask(authority: Any, token: str) -> HubCaller:
    return asyncio.run(authority.identify(token))


# -- tokens -----------------------------------------------------------------------------------------


def test_a_token_says_who_calls_and_what_they_may_read(issuer: Issuer) -> None:
    caller = ask(build(issuer), issuer.make_token())
    assert caller == HubCaller(
        "u-1", "Zoë Chen", "zoe@example.com", frozenset({"open", "alpha"}), {"kb:read", "kb:write"}
    )
    both = ask(build(issuer), issuer.make_token(groups=["a", "b", "nobody"], scope="kb:read"))
    assert both.readable == {"open", "alpha", "beta"} and both.scopes == {"kb:read"}
    assert ask(build(issuer), issuer.make_token(groups=None)).readable == {"open"}


def test_groups_may_stand_deeper_or_under_an_address(issuer: Issuer) -> None:
    token = issuer.make_token(groups=None, realm_access={"roles": ["b"]})
    assert ask(build(issuer, groups_claim="realm_access.roles"), token).readable == {"open", "beta"}
    token = issuer.make_token(groups=None, **{"https://x.test/groups": ["b"]})
    assert ask(build(issuer, groups_claim="https://x.test/groups"), token).readable == {"open", "beta"}
    assert ask(build(issuer), issuer.make_token(groups={"a": 1})).readable == {"open"}


def test_a_token_without_scopes_may_do_what_the_settings_say(issuer: Issuer) -> None:
    token = issuer.make_token(scope=None)
    assert ask(build(issuer), token).scopes == frozenset()
    assert ask(build(issuer, default_scopes=("kb:read",)), token).scopes == {"kb:read"}
    assert ask(build(issuer), issuer.make_token(scope=None, scp=["kb:write", "other"])).scopes == {"kb:write"}


WRONG = {
    "expired": {"exp": int(time.time()) - 3600},
    "not yet": {"nbf": int(time.time()) + 3600},
    "made in the future": {"iat": int(time.time()) + 3600},
    "without an end": {"exp": None},
    "for another audience": {"aud": "http://other.test/mcp"},
    "for others": {"aud": ["http://other.test/mcp", "https://hub.test/mcp/x"]},
    "without an audience": {"aud": None},
    "of another issuer": {"iss": "https://issuer.test.evil"},
    "without an issuer": {"iss": None},
    "of nobody": {"sub": None},
    "of a list": {"sub": ["u-1"]},
}


@pytest.mark.parametrize("claims", WRONG.values(), ids=WRONG)
def test_a_token_is_refused(issuer: Issuer, claims: dict[str, Any]) -> None:
    with pytest.raises(TokenRefused):
        ask(build(issuer), issuer.make_token(**claims))


def test_clocks_may_differ_a_little(issuer: Issuer) -> None:
    ended = issuer.make_token(exp=int(time.time()) - 10)
    assert ask(build(issuer, skew=30), ended).subject == "u-1"
    with pytest.raises(TokenRefused):
        ask(build(issuer, skew=5), ended)


def unsigned(head: dict[str, Any], claims: str) -> str:
    return base64.urlsafe_b64encode(json.dumps(head).encode()).decode().rstrip("=") + f".{claims}."


def test_a_stolen_or_forged_signature_is_refused(issuer: Issuer) -> None:
    """No token counts that is unsigned, signed with what everybody can read, or with a key of somebody else's."""
    authority, good = build(issuer), issuer.make_token()
    claims = good.split(".")[1]
    public = issuer.keys[0].as_pem(private=False)
    attempts = [
        unsigned({"alg": "none"}, claims),
        unsigned({"alg": "None", "kid": "k1"}, claims),
        good.rpartition(".")[0] + ".",
        good[:-6] + ("AAAAAA" if not good.endswith("AAAAAA") else "BBBBBB"),
        ".".join([good.split(".")[0], issuer.make_token(groups=["b"]).split(".")[1], good.split(".")[2]]),
        issuer.make_token(make_key("k1")),  # the name of a key is no key
        issuer.make_token(make_key("other")),
        "x" * 20_000 + ".a.b",
        "",
    ]
    signed = unsigned({"alg": "HS256", "kid": "k1"}, claims)[:-1]
    for secret in (public, public.rstrip(), json.dumps(issuer.keys[0].as_dict(private=False)).encode()):
        mark = base64.urlsafe_b64encode(hmac.digest(secret, signed.encode(), "sha256")).decode().rstrip("=")
        attempts.append(f"{signed}.{mark}")
    for attempt in attempts:
        with pytest.raises(TokenRefused):
            ask(authority, attempt)
    other = RSAKey.generate_key(2048, {"kid": "r1"})
    issuer.keys.append(other)
    with pytest.raises(TokenRefused):  # published, but by a signature that the settings do not allow
        ask(build(issuer), issuer.make_token(other, {"alg": "RS256"}))
    assert ask(build(issuer, algorithms=("RS256",)), issuer.make_token(other, {"alg": "RS256"})).subject == "u-1"


class PublishedKeys(IssuerKeys):
    async def load(self, *, anew: bool = False) -> KeySet:
        return KeySet([KEY])


_PARTS = st.tuples(*[st.text('abcdefgh.=-_{}"', max_size=30)] * 3).map(".".join)


@settings(max_examples=60)
@given(st.one_of(st.text(max_size=80), st.binary(max_size=60).map(lambda data: data.decode("latin-1")), _PARTS))
def test_no_token_makes_the_reader_fail(text: str) -> None:
    authority = OidcAuthority(IdentitySettings("https://i.test", "https://i.test/k"), "aud", find_readable)
    authority._keys = PublishedKeys("https://i.test/k")
    with pytest.raises(TokenRefused):
        ask(authority, text)


# -- the issuer's keys ------------------------------------------------------------------------------


def test_keys_are_kept_and_fetched_again_when_the_issuer_changes_them(issuer: Issuer) -> None:
    now = [1000.0]
    authority = build(issuer)
    authority._keys = IssuerKeys(issuer.url, lambda: now[0])

    async def work() -> None:
        for _ in range(3):
            await authority.identify(issuer.make_token())
        assert issuer.asked == 1
        issuer.keys = [make_key("k2")]
        with pytest.raises(TokenRefused):  # a moment after the last request for keys there is none
            await authority.identify(issuer.make_token())
        now[0] += 60
        assert (await authority.identify(issuer.make_token())).subject == "u-1"
        assert issuer.asked == 2

    asyncio.run(work())


def test_names_of_keys_that_are_made_up_do_not_flood_the_issuer(issuer: Issuer) -> None:
    authority = build(issuer)

    async def work() -> None:
        for number in range(20):
            with pytest.raises(TokenRefused):
                await authority.identify(issuer.make_token(make_key(f"made-up-{number}")))

    asyncio.run(work())
    assert issuer.asked == 1


def test_an_issuer_that_is_down_refuses_nobody_whom_it_let_in(issuer: Issuer) -> None:
    now = [0.0]
    authority = build(issuer)
    authority._keys = IssuerKeys(issuer.url, lambda: now[0])

    async def work() -> None:
        issuer.is_down = True
        with pytest.raises(IdentityUnavailable):
            await authority.identify(issuer.make_token())
        issuer.is_down = False
        now[0] += 60
        await authority.identify(issuer.make_token())
        issuer.is_down = True
        now[0] += 7200
        assert (await authority.identify(issuer.make_token())).subject == "u-1"

    asyncio.run(work())


def test_no_secret_of_a_public_set_of_keys_is_taken() -> None:
    secret = OctKey.generate_key(256, {"kid": "s1"})
    rows = [secret.as_dict(private=True), make_key("k9").as_dict(private=True)]
    with serve_json(lambda path, headers: (200, {"keys": rows})) as url, pytest.raises(IdentityUnavailable):
        asyncio.run(IssuerKeys(url).load())


def test_no_redirect_is_followed_to_the_keys(issuer: Issuer) -> None:
    with serve_json(lambda path, headers: (302, issuer.url)) as url, pytest.raises(IdentityUnavailable):
        asyncio.run(IssuerKeys(url).load())
    assert issuer.asked == 0


# -- the code host ----------------------------------------------------------------------------------


class CodeHost:
    """A code host of a sort, with two people."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.calls: list[str] = []
        self.rights = {"t-zoe": {"team/alpha"}, "t-max": {"team/alpha", "team/beta"}}
        self.status = 0

    def answer(self, path: str, headers: dict[str, str]) -> tuple[int, Any]:
        self.calls.append(path)
        scheme, _, token = headers.get("authorization", "").partition(" ")
        assert scheme == ("token" if self.kind == "gitea" else "Bearer")
        if self.status:
            return self.status, {}
        if token not in self.rights:
            return 401, {}
        if path == "/user":
            names = {"name": "Zoë", "login": "zoe", "username": "zoe", "full_name": "Zoë", "email": "zoe@example.com"}
            return 200, names
        words = path.split("/")
        project = words[2].replace("%2F", "/") if self.kind == "gitlab" else "/".join(words[2:4])
        return (200, []) if project in self.rights[token] else (404, {})


@pytest.mark.parametrize("kind", ["github", "gitlab", "gitea"])
def test_a_code_host_says_what_its_own_token_may_read(kind: str) -> None:
    host = CodeHost(kind)
    paths = {"alpha": "team/alpha", "beta": "team/beta"}
    with serve_json(host.answer) as url:
        authority = CodeHostAuthority(CodeHostSettings(kind, url), paths, frozenset({"open"}))
        zoe = ask(authority, "t-zoe")
        assert zoe.readable == {"open", "alpha"} and (zoe.subject, zoe.name) == ("zoe", "Zoë")
        assert ask(authority, "t-max").readable == {"open", "alpha", "beta"}
        with pytest.raises(TokenRefused):
            ask(authority, "t-nobody")


def test_an_answer_of_the_code_host_holds_for_minutes_and_is_about_all_repositories() -> None:
    host, now = CodeHost("github"), [0.0]
    with serve_json(host.answer) as url:
        rules = CodeHostSettings("github", url, cache=300)
        paths = {"alpha": "team/alpha", "beta": "team/beta"}
        authority = CodeHostAuthority(rules, paths, frozenset(), lambda: now[0])

        async def work() -> None:
            await asyncio.gather(*(authority.identify("t-zoe") for _ in range(5)))
            assert len(host.calls) == 3, "who it is, and each repository, whichever is asked for"
            host.rights["t-zoe"] = set()
            assert (await authority.identify("t-zoe")).readable == {"alpha"}
            now[0] += 301
            assert (await authority.identify("t-zoe")).readable == frozenset()
            for _ in range(3):
                with pytest.raises(TokenRefused):
                    await authority.identify("t-wrong")
            assert len(host.calls) == 7
            assert "t-zoe" not in repr(authority._known), "no token is kept"

        asyncio.run(work())


def test_at_a_code_host_the_group_of_everybody_opens_nothing() -> None:
    host = CodeHost("github")
    rows = [RepositoryConfig(name, f"https://h.test/team/{name}.git", groups=("*",)) for name in ("alpha", "beta")]
    with serve_json(host.answer) as url:
        rules = DoorSettings(code_host=CodeHostSettings("github", url))
        authority = build_authority(rules, "", HubConfig("hub.toml", "data", tuple(rows)))
        assert ask(authority, "t-zoe").readable == {"alpha"}


@pytest.mark.parametrize("status", [429, 500, 302])
def test_a_code_host_that_does_not_answer_lets_nobody_in(status: int) -> None:
    host = CodeHost("github")
    host.status = status
    with serve_json(host.answer) as url:
        authority = CodeHostAuthority(CodeHostSettings("github", url), {"alpha": "team/alpha"}, frozenset())
        with pytest.raises(IdentityUnavailable):
            ask(authority, "t-zoe")
    with pytest.raises(IdentityUnavailable):  # nobody listens there any more
        ask(authority, "t-zoe")


@pytest.mark.parametrize("token", ["", "a\nHost: evil", "ä", "x" * 20_000])
def test_what_cannot_be_a_token_is_sent_nowhere(token: str) -> None:
    authority = CodeHostAuthority(CodeHostSettings("github", "https://nowhere.invalid"), {}, frozenset())
    with pytest.raises(TokenRefused):
        ask(authority, token)


def test_the_path_at_the_code_host_comes_from_the_address() -> None:
    assert parse_host_path("https://github.com/team/alpha.git") == "team/alpha"
    assert parse_host_path("ssh://git@host.test:22/group/sub/alpha") == "group/sub/alpha"
    assert parse_host_path("git@github.com:team/alpha.git") == "team/alpha"


# -- settings ---------------------------------------------------------------------------------------

IDENTITY = {"issuer": "https://i.test", "jwks": "https://i.test/keys"}
BAD: list[tuple[dict[str, Any], str]] = [
    ({"identity": {"issuer": "https://i.test"}}, "needs issuer and jwks"),
    ({"identity": {**IDENTITY, "jwks": "http://i.test/keys"}}, "neither https"),
    ({"identity": {**IDENTITY, "jwks": "https://me@i.test/keys"}}, "neither https"),
    ({"identity": {**IDENTITY, "jwks": "file:///etc/passwd"}}, "neither https"),
    ({"identity": {**IDENTITY, "algorithms": ["none"]}}, "signed with none"),
    ({"identity": {**IDENTITY, "algorithms": ["RS256", "HS256"]}}, "signed with HS256"),
    ({"identity": {**IDENTITY, "algorithms": []}}, "signed with"),
    ({"identity": IDENTITY, "code_host": {"kind": "github", "api": "https://h.test"}}, "takes one"),
    ({"code_host": {"kind": "svn", "api": "https://h.test"}}, "no code host svn"),
    ({"code_host": {"kind": "github", "api": "http://169.254.169.254/"}}, "neither https"),
    ({"server": {"adress": "x"}}, "no setting adress"),
    ({"server": {"concurrency": 0}}, "cannot be 0"),
    ({"server": {"max_body": True}}, "cannot be True"),
    ({"server": {"names": [1]}}, "cannot be"),
    ({"server": {"address": 1}}, "cannot be 1"),
    ({"write": {"push": ["gamma"]}}, "no repository gamma"),
    ({"servr": {}}, r"no table \[servr\]"),
    ({"server": 3}, "is a table"),
]


@pytest.mark.parametrize(("tables", "words"), BAD, ids=[words for _, words in BAD])
def test_a_setting_that_cannot_be_is_named(tables: dict[str, Any], words: str) -> None:
    with pytest.raises(KbError, match=words):
        read_door_settings(tables, ["alpha"], "hub.toml")


def test_settings_are_read(tmp_path: Any) -> None:
    found = read_door_settings({"server": {"request_seconds": 5}, "write": {"push": ["alpha"]}}, ["alpha"], "hub.toml")
    assert found.server.request_seconds == 5 and found.write.push == ("alpha",) and not found.has_identity
    assert read_door_settings({"identity": IDENTITY}, [], "hub.toml").has_identity
    secret = tmp_path / "secret"
    secret.write_text("s" * 32 + "\n")
    assert read_secret({"X_FILE": str(secret)}, "X") == "s" * 32 and read_secret({"X": "y"}, "X") == "y"
    assert read_secret({}, "X") == ""
    secret.write_text("short")
    with pytest.raises(KbError, match="shorter than 16"):
        read_secret({"X_FILE": str(secret)}, "X")
    with pytest.raises(KbError, match="cannot read X_FILE"):
        read_secret({"X_FILE": str(tmp_path / "none")}, "X")
