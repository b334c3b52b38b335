"""Secrets and personal data are masked, everything else stays.

No secret stands here: each is drawn by lot and put together from pieces, so that no scanner stumbles over this file.
"""

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.config import Masking, build_config
from kb.errors import BadInput
from kb.records.model import Candidate, Evidence
from kb.safety.redaction import Redaction, locate_secrets, redact_candidate, redact_json, redact_text
from tests.support.timing import within

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
URLSAFE = ALNUM + "-_"
Draw = Callable[[random.Random], tuple[str, str]]


def some(rng: random.Random, length: int, alphabet: str = ALNUM) -> str:
    """Return a drawn string with at least one digit and one letter, like nearly every real one of its length."""
    while True:
        drawn = "".join(rng.choice(alphabet) for _ in range(length))
        if any(c.isdigit() for c in drawn) and any(c.isalpha() for c in drawn):
            return drawn


def plain(prefix: str, length: int, alphabet: str = ALNUM) -> Draw:
    def draw(rng: random.Random) -> tuple[str, str]:
        secret = prefix + some(rng, length, alphabet)
        return secret, secret

    return draw


def inside(template: str, length: int, alphabet: str = ALNUM) -> Draw:
    def draw(rng: random.Random) -> tuple[str, str]:
        secret = some(rng, length, alphabet)
        return template.replace("@@", secret), secret

    return draw


def b64(text: str) -> str:
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def jwt(rng: random.Random) -> tuple[str, str]:
    head, body = b64(json.dumps({"alg": "HS256", "typ": "JWT"})), b64(json.dumps({"sub": some(rng, 9)}))
    secret = f"{head}.{body}.{some(rng, 43, URLSAFE)}"
    return secret, secret


def pem(rng: random.Random) -> tuple[str, str]:
    kind = rng.choice(["RSA ", "EC ", "OPENSSH ", ""]) + "PRIVATE" + " KEY"
    body = "\n".join(some(rng, 64) for _ in range(rng.randint(3, 26)))
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----", body


def escaped_pem(rng: random.Random) -> tuple[str, str]:
    text, body = pem(rng)
    return json.dumps({"key": text}), body.replace("\n", "\\n")


def cut_pem(rng: random.Random) -> tuple[str, str]:
    text, body = pem(rng)
    return text[: text.index("\n-----END")], body


def basic_header(rng: random.Random) -> tuple[str, str]:
    secret = base64.b64encode(f"{some(rng, 6)}:{some(rng, 12)}".encode()).decode()
    return f"Authorization: Basic {secret}", secret


def id_card(rng: random.Random) -> tuple[str, str]:
    digits = f"{rng.choice(['110105', '310115', '440305'])}19{rng.randint(50, 99)}{rng.randint(1, 12):02}"
    digits += f"{rng.randint(1, 28):02}{rng.randint(0, 999):03}"
    weights = [2 ** (17 - i) % 11 for i in range(17)]
    secret = digits + "10X98765432"[sum(int(d) * w for d, w in zip(digits, weights, strict=True)) % 11]
    return secret, secret


def bank_card(rng: random.Random) -> tuple[str, str]:
    digits = rng.choice(["4532", "6222", "5425", "6217"]) + "".join(rng.choice(string.digits) for _ in range(11))
    total = sum(int(d) if i % 2 else sum(divmod(int(d) * 2, 10)) for i, d in enumerate(digits))
    secret = digits + str(-total % 10)
    if rng.random() < 0.5:
        secret = " ".join(secret[i : i + 4] for i in range(0, 16, 4))
    return secret, secret


def phone(rng: random.Random) -> tuple[str, str]:
    number = rng.choice(["138", "159", "186", "199"]) + "".join(rng.choice(string.digits) for _ in range(8))
    while len(set(number)) < 4:
        number = number[:-1] + rng.choice(string.digits)
    secret = rng.choice(["", "+86 ", "+86", "86-"]) + number
    return secret, number


def foreign_phone(rng: random.Random) -> tuple[str, str]:
    digits = "".join(rng.sample(string.digits, 4)) + "".join(rng.choice(string.digits) for _ in range(6))
    secret = rng.choice([f"+1 ({digits[:3]}) {digits[3:6]}-{digits[6:]}", f"+44 {digits[:4]} {digits[4:]}"])
    return secret, digits[6:]


def email(rng: random.Random) -> tuple[str, str]:
    secret = (
        f"{rng.choice(['li.wei', 'anna_b', 'j'])}{some(rng, 4, HEX)}@{rng.choice(['qq.com', 'mail.corp.cn', 'gmx.de'])}"
    )
    return secret, secret


def assigned(key: str, length: int, alphabet: str = ALNUM + "!#%*") -> Draw:
    """Return a draw of *key* with a value, in one of the syntaxes in which people write it."""
    forms = (
        "{k}={v}", 'export {k}="{v}"', "{k}: {v}", "{k} = '{v}'", '"{k}": "{v}"', '\\"{k}\\": \\"{v}\\"',
        "{k} := `{v}`", "{k}：{v}", "<{k}>{v}</{k}>", "'{k}' => '{v}'", "--x -e {k}={v}", "a=db;{k}={v};b=3",
        "**{k}**: `{v}`",
    )  # fmt: skip

    def draw(rng: random.Random) -> tuple[str, str]:
        secret = rng.choice(string.ascii_letters) + some(rng, length - 2, alphabet) + rng.choice(ALNUM)
        return rng.choice(forms).format(k=key, v=secret), secret

    return draw


KINDS: dict[str, Draw] = {
    "aws key id": plain("AK" + "IA", 16, string.ascii_uppercase + "234567"),
    "aws secret": assigned("aws_secret_access_key", 40, ALNUM + "/+"),
    "github": plain("gh" + "p_", 36),
    "github fine": plain("github" + "_pat_", 82),
    "gitlab": plain("gl" + "pat-", 20, URLSAFE),
    "slack": inside("xo" + "xb-@@", 40),
    "google": plain("AI" + "za", 35, URLSAFE),
    "google oauth": plain("GOC" + "SPX-", 28, URLSAFE),
    "stripe": plain("sk_" + "live_", 24),
    "stripe restricted": plain("rk_" + "live_", 24),
    "openai": plain("sk" + "-", 48),
    "openai project": plain("sk-" + "proj-", 80, URLSAFE),
    "anthropic": plain("sk-" + "ant-api03-", 90, URLSAFE),
    "npm": plain("np" + "m_", 36),
    "pypi": plain("py" + "pi-AgEIcHlwaS5vcmc", 120, URLSAFE),
    "sendgrid": inside("S" + "G.abcdEFGH12345678ijklmn.@@", 43, URLSAFE),
    "twilio": plain("S" + "K", 32, HEX),
    "telegram": inside("1234567890" + ":AA@@", 33, URLSAFE),
    "huggingface": plain("h" + "f_", 34),
    "azure storage": inside("AccountName=shop;Account" + "Key=@@==;EndpointSuffix=core", 86, ALNUM + "+/"),
    "aliyun": plain("LT" + "AI", 20),
    "private key": pem,
    "private key in json": escaped_pem,
    "private key cut short": cut_pem,
    "jwt": jwt,
    "postgres url": inside("postgres" + "ql://shop:@@@db.internal:5432/shop", 14),
    "redis url": inside("redis" + "://:@@@cache:6379/0", 20),
    "basic-auth url": inside("https" + "://deploy:@@@git.corp.cn/shop.git", 24),
    "bearer header": inside("Authorization: Bearer @@", 40, URLSAFE),
    "bearer in curl": inside("curl -H 'Authorization: Bearer @@' https://api.corp.cn", 32),
    "basic header": basic_header,
    "cookie": inside("Cookie: theme=dark; session=@@; lang=zh", 32),
    "set-cookie": inside("Set-Cookie: sid=@@; Path=/; HttpOnly; SameSite=Lax", 24, HEX),
    "api key header": inside("X-Api-Key: @@", 32),
    "password": assigned("DB_PASSWORD", 12),
    "camel-case password": assigned("rootPassword", 10),
    "secret": assigned("client_secret", 32),
    "token": assigned("auth.token", 24, ALNUM),
    "api key": assigned("api-key", 32, HEX),
    "密码": assigned("数据库密码", 10),
    "口令": inside("管理员口令是 @@，勿外传", 9),
    "密钥": assigned("密钥", 24, ALNUM),
    "mysql": inside("CREATE USER app IDENTIFIED BY '@@'", 11),
    "curl user": inside("curl -u admin:@@ https://ci.corp.cn/api", 12),
    "command line": inside("deploy --password @@ --force", 12),
    "id card": id_card,
    "bank card": bank_card,
    "chinese phone": phone,
    "foreign phone": foreign_phone,
    "email": email,
    "nameless": plain("", 44),
}
AROUND = ("{}", "we use {} in staging", "预发环境用的是 {} ，别提交", "line one\n  {}\nline three", "- `{}`", "({})")
DRAWN = 12


def cases() -> Iterator[tuple[str, str, str]]:
    """Yield kind, text and the secret in it."""
    for kind, draw in KINDS.items():
        rng = random.Random(kind)
        for number in range(DRAWN):
            text, secret = draw(rng)
            yield kind, AROUND[number % len(AROUND)].format(text), secret


def leaks(secret: str, text: str) -> bool:
    """Return whether a third of *secret* can still be read in *text*."""
    piece = max(4, len(secret) // 3)
    return any(secret[i : i + piece] in text for i in range(len(secret) - piece + 1))


def test_nearly_every_drawn_secret_is_masked() -> None:
    leaked = [(kind, text) for kind, text, secret in cases() if leaks(secret, redact_text(text)[0])]
    assert len(leaked) <= 0.01 * len(KINDS) * DRAWN, leaked


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found(kind: str) -> None:
    results = [leaks(secret, redact_text(text)[0]) for name, text, secret in cases() if name == kind]
    assert results.count(True) <= 1


def test_masking_a_second_time_changes_nothing() -> None:
    for _, text, _ in cases():
        once, _ = redact_text(text)
        assert redact_text(once) == (once, ())


def test_a_secret_in_a_long_text_leaves_the_rest_as_it_was() -> None:
    rng = random.Random(1)
    words = ["the", "session", "网关", "keeps", "records", "for", "90", "days,", "see", "D001.", "我们决定使用。"]
    for _, text, secret in cases():
        before, after = (" ".join(rng.choices(words, k=20)) + "\n" for _ in range(2))
        masked, found = redact_text(before + text + "\n" + after)
        assert masked.startswith(before) and masked.endswith(after)
        assert all(place.line >= 2 for place in found)
        assert (found and not leaks(secret, masked)) or leaks(secret, redact_text(text)[0])


KEPT = (
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixed it",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    '"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="',
    "golang.org/x/net v0.1.0 h1:hZ/3BUoy5aId7sCpA/Tc5lt8DkFgdVS2onTpJsZ/fl0=",
    "uid 0190b7c2-4e1a-7cc3-98c4-dc0c0c07398f and 01J2X4V5K6M7N8P9QRSTVWXYZA",
    "see kb/safety/redaction.py and /usr/lib/python3.11/site-packages/markdown_it/rules_block/state_block.py",
    "https://github.com/org/repo/blob/9fceb02d0ae598e95dc970b74767f19372d61af8/docs/0001-use-tokens.md#L10",
    "git@github.com:org/repo.git",
    "Co-Authored-By: A Bot <noreply@corp.cn>",
    "logo@2x.png and icon@3x.webp",
    "npm install left-pad@1.3.0 @types/node@20.1.0",
    "password: your-password-here",
    "API_TOKEN=<token>",
    "API_TOKEN=${TOKEN}",
    "token: {{ .Values.token }}",
    "secret = xxxxxxxxxxxxxxxx",
    "password: ********",
    "password=changeme",
    "the password is required, the token is validated",
    "def login(password: str, token: Optional[str] = None) -> Token:",
    "password = os.environ['DB_PASSWORD']",
    "token = request.headers.get('X-Token')",
    "token = tokens[index2]",
    "const token: string = this.tokenService.nextToken();",
    "let password: Vec<u8> = Vec::new();",
    "token := parser.next2()",
    "max_tokens: 4096, token: 128000",
    "token_limit = 200k",
    "PWD=/home/dev/project1/src",
    "secret: db-credentials-v2",
    "secretKeyRef: name: shop-secret-1",
    "The password is hashed with argon2id, tokens are signed with HMAC-SHA256.",
    "密码必须至少 12 位，密码：bcrypt 加密存储",
    "密码策略：每 90 天更换一次，令牌：有效期 30 分钟",
    "token 是 JWT，密钥是 2048 位 RSA",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $ACCESS_TOKEN",
    "Authorization: Basic authentication is not allowed",
    "use Bearer authentication with short-lived tokens",
    "Set-Cookie: theme=dark; Path=/; HttpOnly; SameSite=Strict",
    "cookie consent=required before tracking",
    "postgres://user:password@localhost/db and redis://:<password>@host",
    "postgres://localhost:5432/shop and http://[::1]:8080/x@y",
    "sk-learn-compatible-estimators-are-used-here",
    "-----BEGIN PRIVATE KEY----- marks the start of a key, -----END PRIVATE KEY----- its end",
    "test_user_registration_with_invalid_password_token_raises_error_42",
    "AbstractSingletonProxyFactoryBeanConfigurationPropertiesTest2",
    "released 1.2.3-rc.4+build.5678 on 2024-01-15T10:20:30+08:00",
    "timestamps 1700000000 and 1700000000000, 20240115103000",
    "copied 15032385536 bytes in 13800000000 ns",
    "+12345678 in a diff\n+1234567890",
    "x = 1234567890123456 and pi 3.14159265358979",
    "110105194912310021 has a wrong check digit",
    "ports 5432-5433, ids 100-200-300, ISBN 978-3-16-148410-0",
    "msg_01H9V6TtzNYTPeVuiyiMoY7A toolu_01PKfvC84zTHnFnxjuoazGo5",
    "Step_6fa2d6b513464eb5a4d8a9b5ebc1a956.exit",
    "key: value, primary key: user_id2, cache key: page:v2:home",
    "FOREIGN KEY: orders.customer_id2",
    "set the token to null, the token budget is 4000",
    "API key: see 1Password; the secret is stored in Vault v1.15",
    "令牌为 JWT 格式，有效期 7200 秒；密码设为 bcrypt 存储；用 Redis7 存令牌",
    "使用 OAuth2.1 作为令牌方案，密钥改为每 90 天轮换，access_token 存 Redis，key 为 token:user:1001",
    "use HS256 for tokens and keycloak25 as the token issuer, Argon2id as the password hash",
    "token (RFC6750) and token (base64url-encoded)",
    "the public key fingerprint SHA256:" + "nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8",
    "password: required|min:8|max:64",
    '"password": "Forgot your password", "hint": "Password must be at least 12 characters long"',
    "password: forms-login-password and password-policy: strict-v2-2024",
    'The passphrase "is never written to disk" in this design',
    "bypass: true123, compass = 'v2-beta-3', PASS: test_login_1, pass: 3 fail: 2",
    "account: 10/20 seats used, login: 3 / 5 attempts",
    "tokens were renamed in 9fceb02d0ae598e95dc970b74767f19372d61af8 by the auth team",
    '"session_id": "0190b7c2-4e1a-7cc3-98c4-dc0c0c07398f"',
    "idempotency key: 3f2504e0-4f89-11d3-9a0c-0305e82c3301, cache key: user:42:profile:v3",
    "token_count = 128000, tokenizer: cl100k_base, const tokenKey = 'auth.token.v2'",
    'password = getpass.getpass("Password: ")',
    "AddOpenAIChatCompletion(apiKey), NoOpTokenProvider, TestS3AAWSCredentialsProvider",
    "org.apache.Foo$$anonfun$bar$1$$anonfun$apply$mcV$sp$12.apply(Foo.scala:12)",
    "mysql -u root -p shop < dump.sql; curl -u $USER:$PASS https://ci; docker run -e TOKEN=$TOKEN app",
    "sk-learn 1.4.2, hf_transfer0.1.6, npm_config_registry, glpat-prefix, OPENAI_API_KEY=sk-…",
    "versions 3.11.4-slim-bookworm and 20.04.6-LTS with token auth",
    "https://user@github.com/a/b.git and postgres://app:${DB_PASSWORD}@db/app",
)


@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact_text(text) == (text, ())


def test_wrapped_base64_is_no_secret() -> None:
    rng = random.Random(7)
    lines = "\n".join(some(rng, 64, ALNUM + "+/") for _ in range(8))
    text = f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----"
    assert redact_text(text)[0] == text


def test_the_mask_names_the_rule_and_the_line() -> None:
    token = "gh" + "p_" + some(random.Random(3), 36)
    text, found = redact_text(f"first\nuse {token} here\nthird {token}")
    assert text == "first\nuse [redacted:github-token] here\nthird [redacted:github-token]"
    assert found == (Redaction("github-token", 2), Redaction("github-token", 3))
    assert list(locate_secrets(f"first\nuse {token} here")) == [(2, "github-token")]


def test_lines_are_counted_in_the_text_as_it_came() -> None:
    rng = random.Random(4)
    block, _ = pem(rng)
    password = "pass" + "word=" + some(rng, 12)
    _, found = redact_text(f"{block}\n{password}\n")
    assert found[-1] == Redaction("password", block.count("\n") + 2)


def test_a_connection_string_loses_only_its_password() -> None:
    secret = some(random.Random(5), 14)
    text, _ = redact_text(f"postgresql://shop:{secret}@db.internal:5432/shop")
    assert text == "postgresql://shop:[redacted:url-password]@db.internal:5432/shop"


def test_the_more_specific_rule_names_the_place() -> None:
    token = "gh" + "p_" + some(random.Random(6), 36)
    assert redact_text(f"GITHUB_TOKEN={token}")[0] == "GITHUB_TOKEN=[redacted:github-token]"
    assert redact_text(f"https://x:{token}@github.com/a/b")[0] == "https://x:[redacted:github-token]@github.com/a/b"


def test_private_words_are_masked_too() -> None:
    text, found = redact_text("Project Nightjar 与 夜鹰计划 go live", (r"(?i)nightjar", "夜鹰"))
    assert text == "Project [redacted:private-word] 与 [redacted:private-word]计划 go live"
    assert [place.rule for place in found] == ["private-word", "private-word"]
    assert redact_text(text, (r"(?i)nightjar", "夜鹰", "redacted", "private")) == (text, ())


def test_a_private_word_that_is_no_pattern_is_named() -> None:
    with pytest.raises(BadInput, match="private word"):
        redact_text("text", ("(",))


def test_a_private_word_that_matches_nothing_long_masks_nothing() -> None:
    assert redact_text("text", ("x*", "^", r"\b")) == ("te[redacted:private-word]t", (Redaction("private-word", 1),))


def test_every_text_of_a_candidate_is_masked() -> None:
    secret = "gl" + "pat-" + some(random.Random(8), 20)
    dirty = Candidate(
        kind="decision", title=f"Use {secret}", decision=secret, alternatives=secret, why=secret,
        impact=(f"conf/{secret}",), verification=secret, rollback=secret, tags=("a", secret), scope=secret,
        claims={secret: secret}, coexists_with={"D001": secret},
        evidence=(Evidence(f"用 {secret}", secret, 3, secret),),
        supersedes=(secret,), amends=(secret,), updates=secret, session=secret, host=secret,
    )  # fmt: skip
    clean, found = redact_candidate(dirty)
    assert secret not in repr(clean)
    assert clean.evidence[0].quote == "用 [redacted:gitlab-token]" and clean.evidence[0].line == 3
    fields = {place.field for place in found}
    assert fields == {name for name, value in dirty._asdict().items() if secret in repr(value)}
    assert redact_candidate(clean) == (clean, ())


def test_the_key_of_a_claim_may_give_its_value_away() -> None:
    value = some(random.Random(9), 12)
    clean, found = redact_candidate(Candidate("decision", "t", claims={"db.password": value, "db.port": "5432"}))
    assert clean.claims == {"db.password": "[redacted:password]", "db.port": "5432"}
    assert found == (Redaction("password", 1, "claims"),)


def test_a_clean_candidate_comes_back_equal() -> None:
    candidate = Candidate(
        "decision", "选择 FastAPI 作为后端框架", why="async", impact=("api/main.py",), reusable=True, confidence=0.9
    )
    assert redact_candidate(candidate) == (candidate, ())


PIECES = st.sampled_from(
    ["password", "=", ": ", "token", "[redacted:x]", "密码：", "hunter2x", "\n", " ", '"', "@", "qq.com",
    "://", "a:b",
     "gh" + "p_", "a1B2" * 9, "Cookie: a=", "Bearer ", "138" + "12345678", "-----BEGIN PRIVATE" + " KEY-----",
     "-----END PRIVATE" + " KEY-----", "İ", ";"]
)  # fmt: skip


@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=30).map("".join))
def test_what_comes_out_is_a_fixed_point(text: str) -> None:
    once, found = redact_text(text)
    assert redact_text(once) == (once, ())
    assert [(place.line, place.rule) for place in found] == list(locate_secrets(text))
    assert (once == text) == (not found)


HARD = (
    "The gateway keeps 90 days. 我们决定使用 FastAPI 作为后端框架。\n", "password ", "token: ", "cookie=",
    "cookie a=b; ",
    "a@", "curl ", "://a:", "-----BEGIN PRIVATE" + " KEY-----", "eyJ", "0", "1 ", "a1B", "Bearer ", "sk-",
    '"token":"',
    "key=", "+1 (", "authorization: basic ", "secret=a1b2c3d4=", "--", "user a password ", "login -p ", "账号:", "\\n",
    "echo x |passwd ", "password: maple river ", "用 a 作为密码", "session key ", "a1B2c3D4e5F6g7H8 ", "%3A%2F%2F", "…",
    "[redacted:secret] ", "password for a b c ", "private-lines: 1\n", "$1$a$", "0123456789 ",
)  # fmt: skip


@pytest.mark.parametrize("piece", HARD)
def test_time_is_linear(piece: str) -> None:
    redact_text(piece)
    with within(2):
        redact_text(piece * (100_000 // len(piece)))


CHAINED = ("+86131-1111-1111", "+86 171 1111 1", "AI" + "za" + "A1x1_b2C3d" * 3 + "e5F6g")
"""Only the first of them has nothing before it that forbids the match: each mask uncovers the next one."""


@pytest.mark.parametrize("piece", CHAINED)
def test_time_is_linear_where_each_mask_uncovers_the_next_secret(piece: str) -> None:
    redact_text(piece)
    with within(2):
        text, _ = redact_text(piece * (1_000_000 // len(piece)))
    assert piece not in text and redact_text(text) == (text, ())


@pytest.mark.parametrize("piece", CHAINED[:1])
def test_secrets_without_a_gap_are_masked_one_by_one(piece: str) -> None:
    text, found = redact_text(f"before\n{piece * 20} behind\nafter")
    assert text == f"before\n{f'[redacted:{found[0].rule}]' * 20} behind\nafter"


def test_a_text_that_does_not_settle_loses_whole_lines_and_no_more() -> None:
    piece = CHAINED[0]
    text, _ = redact_text(f"before\n{piece * 20_000}\nbehind")
    assert piece[3:] not in text
    assert text.startswith("before\n[redacted:phone]") and text.endswith("\nbehind")


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("AKIA" + "IOSFODNN7EXAMPLE", "IOSFODNN7"),
        ("4111 " + "1111 " * 2 + "1111", "4111"),
        ("write to alice@" + "example.com", "alice"),
        ("password=Tr0ub4dor" + "&3xyz now", "3xyz"),
        ("the db password is S3cret," + "Word!9", "Word"),
    ],
)
def test_samples_and_tails_are_masked_too(text: str, left: str) -> None:
    masked, found = redact_text(text)
    assert found
    assert left not in masked


# -- words, and what stands around a secret ---------------------------------------------------------

PHRASE = "maple river copper lantern"


@pytest.mark.parametrize(
    "frame",
    [
        'password: "{}"', "{{'password': '{}'}}", 'BACKUP_PASSPHRASE="{}"', 'the passphrase "{}", keep it',
        "密码是“{}”。",
        "restic:\n  password: {}\n  repo: /srv", "助记词：{}", "wallet mnemonic: {}", '\\"password\\": \\"{}\\"',
    ],
)  # fmt: skip
def test_a_passphrase_is_masked_with_all_its_words(frame: str) -> None:
    text, found = redact_text(frame.format(PHRASE))
    assert [place.rule for place in found] == ["password"]
    assert not any(word in text for word in PHRASE.split())


@pytest.mark.parametrize("before", ["", "密码", "请用", "（", "=", "：", "\\n", '"', ">", "|"])
@pytest.mark.parametrize("kind", ["github", "chinese phone", "id card", "email", "foreign phone"])
def test_what_stands_before_a_secret_hides_it_not(before: str, kind: str) -> None:
    text, secret = KINDS[kind](random.Random(21))
    assert not leaks(secret, redact_text(f"x{before}{text}，可以" if before else text)[0])


@pytest.mark.parametrize("number", ["415-555-2671", "(415) 555-2671", "1-415-555-2671", "415.555.2671"])
def test_an_american_number_needs_no_country_code(number: str) -> None:
    assert redact_text(f"call {number} now")[0] == "call [redacted:phone] now"


def test_a_token_that_was_cut_short_is_still_a_token() -> None:
    token = "gh" + "p_" + some(random.Random(22), 36)
    assert redact_text(f"use {token[:15]}…")[0] == "use [redacted:cut-token]…"
    assert redact_text("password: Tr0ub4dor…")[0] == "password: [redacted:password]"


def test_a_mask_betrays_nothing_behind_it() -> None:
    commit = "9fceb02d0ae598e95dc970b74767f19372d61af8"
    token = "gh" + "p_" + some(random.Random(23), 36)
    text = f"{token} is build2024x, {token} = part12of9, see {commit}"
    assert redact_text(text)[0].endswith(f" is build2024x, [redacted:github-token] = part12of9, see {commit}")


def test_a_json_value_is_masked_by_its_keys() -> None:
    value = some(random.Random(24), 12)
    dirty = {"claims": {"db.password": value, "db.port": 5432}, "rows": [{"token": "Qx7" + value}, None, True]}
    clean = redact_json(dirty)
    assert clean == {
        "claims": {"db.password": "[redacted:password]", "db.port": 5432},
        "rows": [{"token": "[redacted:secret]"}, None, True],
    }


# -- the settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("setting", "rule", "kind"), [("emails", "email", "email"), ("phones", "phone", "chinese phone")]
)
def test_addresses_and_numbers_stay_where_the_settings_say_so(setting: str, rule: str, kind: str) -> None:
    text, _ = KINDS[kind](random.Random(25))
    token = "gh" + "p_" + some(random.Random(26), 36)
    mask, keep = build_config({}).masking, build_config({setting: "keep"}).masking
    assert redact_text(f"ask {text} for {token}", mask)[0] == f"ask [redacted:{rule}] for [redacted:github-token]"
    assert redact_text(f"ask {text} for {token}", keep)[0] == f"ask {text} for [redacted:github-token]"
    assert list(locate_secrets(f"ask {text}", keep)) == []
    candidate = Candidate("decision", f"Ask {text}", why=token)
    clean, found = redact_candidate(candidate, keep)
    assert clean.title == f"Ask {text}" and [place.rule for place in found] == ["github-token"]


def test_private_words_come_with_the_settings() -> None:
    masking = build_config({"private_words": ["夜鹰"], "emails": "keep"}).masking
    assert masking == Masking(("夜鹰",), ("email",))
    assert redact_text("夜鹰 a@qq.com", masking)[0] == "[redacted:private-word] a@qq.com"


@pytest.mark.parametrize("values", [{"emails": "yes"}, {"phones": ""}, {"phones": True}, {"emails": ["keep"]}])
def test_a_setting_that_cannot_be_is_named(values: dict[str, object]) -> None:
    with pytest.raises(BadInput, match=r"emails|phones"):
        build_config(values)


SESSIONS = (
    "session-2026-11-22T16-30-a1b2c3d4", "agent-a2898e3", "agent-a2898e3f01b2c3d4e",
    "ses_54dfbb1eaffe3Jg8ZBKFAzvfrE", "rollout-2026-11-22T16-30-25-0199f3a1-7b1c-7d52-9c1e-5a0f6c1d2e3f",
    "ses_54dfbb1eaffe3Jg8ZBKFAzvfrE/reports/how-it-works.md",
    "shop-20261122-165154-lite96-0", "订单-20261122-163025-aaaa1111",
)  # fmt: skip


@pytest.mark.parametrize("name", SESSIONS)
@pytest.mark.parametrize(
    "text", ["session_id: {}", '"sessionID": "{}"', "会话：{}", "kb load {}", "the session {} was archived", "{}.jsonl"]
)
def test_the_name_of_a_session_is_no_secret(name: str, text: str) -> None:
    said = text.format(name)
    assert redact_text(said) == (said, ())


def test_a_report_in_the_archive_of_a_session_is_no_secret() -> None:
    for text in ("- “x” ({}, line 3)", '"source": "{}"'):
        said = text.format("0199f3a1-7b1c-7d52-9c1e-5a0f6c1d2e3f/reports/how-it-works.md")
        assert redact_text(said) == (said, ())


@pytest.mark.parametrize("name", ["project/shop-{}", "payments-gateway-{}", "project/b2b-api-{}{}"])
@pytest.mark.parametrize("text", ["no session of {} is known here", "the session of {}", "{}: the session is archived"])
def test_the_mark_of_a_project_beside_a_session_is_no_secret(name: str, text: str) -> None:
    marks = [sha256(bytes([number])).hexdigest()[:6] for number in range(60)]
    said = [text.format(name.format(mark, mark)) for mark in marks]
    assert [redact_text(one)[0] for one in said] == said


@pytest.mark.parametrize(
    "text",
    [
        "token: shop-7eb9f9a4d4b8",
        "the session token is x7k2p9q4m1t8-7eb9f9",
        "session_token: ses_54dfbb1eaffe3Jg8ZBKFAzvfrE",
        "session_id=ab12CD34ef56GH78ij90KL12mn34OP56",
        "session_id: s%3AJ8f2kLq9ZxW7vB4nM1cD6yT3rU5eA0gH",
        "session: ghp_" + "abcdefghijklmnopqrstuvwxyz" + "0123456789",
    ],
)
def test_what_a_session_is_opened_with_stays_masked(text: str) -> None:
    assert "[redacted:" in redact_text(text)[0]
