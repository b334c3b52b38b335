"""Secrets and personal data are masked, everything else stays.

No secret stands here: each is drawn by lot and put together from pieces, so that no scanner stumbles over this file.
"""

import base64
import json
import random
import string
import time
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.errors import BadInput
from kb.record import Candidate, Evidence
from kb.writing.redact import Masked, redact, redacted, secrets

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


def within(template: str, length: int, alphabet: str = ALNUM) -> Draw:
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
    "slack": within("xo" + "xb-@@", 40),
    "google": plain("AI" + "za", 35, URLSAFE),
    "google oauth": plain("GOC" + "SPX-", 28, URLSAFE),
    "stripe": plain("sk_" + "live_", 24),
    "stripe restricted": plain("rk_" + "live_", 24),
    "openai": plain("sk" + "-", 48),
    "openai project": plain("sk-" + "proj-", 80, URLSAFE),
    "anthropic": plain("sk-" + "ant-api03-", 90, URLSAFE),
    "npm": plain("np" + "m_", 36),
    "pypi": plain("py" + "pi-AgEIcHlwaS5vcmc", 120, URLSAFE),
    "sendgrid": within("S" + "G.abcdEFGH12345678ijklmn.@@", 43, URLSAFE),
    "twilio": plain("S" + "K", 32, HEX),
    "telegram": within("1234567890" + ":AA@@", 33, URLSAFE),
    "huggingface": plain("h" + "f_", 34),
    "azure storage": within("AccountName=shop;Account" + "Key=@@==;EndpointSuffix=core", 86, ALNUM + "+/"),
    "aliyun": plain("LT" + "AI", 20),
    "private key": pem,
    "private key in json": escaped_pem,
    "private key cut short": cut_pem,
    "jwt": jwt,
    "postgres url": within("postgres" + "ql://shop:@@@db.internal:5432/shop", 14),
    "redis url": within("redis" + "://:@@@cache:6379/0", 20),
    "basic-auth url": within("https" + "://deploy:@@@git.corp.cn/shop.git", 24),
    "bearer header": within("Authorization: Bearer @@", 40, URLSAFE),
    "bearer in curl": within("curl -H 'Authorization: Bearer @@' https://api.corp.cn", 32),
    "basic header": basic_header,
    "cookie": within("Cookie: theme=dark; session=@@; lang=zh", 32),
    "set-cookie": within("Set-Cookie: sid=@@; Path=/; HttpOnly; SameSite=Lax", 24, HEX),
    "api key header": within("X-Api-Key: @@", 32),
    "password": assigned("DB_PASSWORD", 12),
    "camel-case password": assigned("rootPassword", 10),
    "secret": assigned("client_secret", 32),
    "token": assigned("auth.token", 24, ALNUM),
    "api key": assigned("api-key", 32, HEX),
    "密码": assigned("数据库密码", 10),
    "口令": within("管理员口令是 @@，勿外传", 9),
    "密钥": assigned("密钥", 24, ALNUM),
    "mysql": within("CREATE USER app IDENTIFIED BY '@@'", 11),
    "curl user": within("curl -u admin:@@ https://ci.corp.cn/api", 12),
    "command line": within("deploy --password @@ --force", 12),
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
    """Tell whether a third of *secret* can still be read in *text*."""
    piece = max(4, len(secret) // 3)
    return any(secret[i : i + piece] in text for i in range(len(secret) - piece + 1))


def test_nearly_every_drawn_secret_is_masked() -> None:
    leaked = [(kind, text) for kind, text, secret in cases() if leaks(secret, redact(text)[0])]
    assert len(leaked) <= 0.01 * len(KINDS) * DRAWN, leaked


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_found(kind: str) -> None:
    results = [leaks(secret, redact(text)[0]) for name, text, secret in cases() if name == kind]
    assert results.count(True) <= 1


def test_masking_a_second_time_changes_nothing() -> None:
    for _, text, _ in cases():
        once, _ = redact(text)
        assert redact(once) == (once, ())


def test_a_secret_in_a_long_text_leaves_the_rest_as_it_was() -> None:
    rng = random.Random(1)
    words = ["the", "session", "网关", "keeps", "records", "for", "90", "days,", "see", "D001.", "我们决定使用。"]
    for _, text, secret in cases():
        before, after = (" ".join(rng.choices(words, k=20)) + "\n" for _ in range(2))
        masked, found = redact(before + text + "\n" + after)
        assert masked.startswith(before) and masked.endswith(after)
        assert all(place.line >= 2 for place in found)
        assert (found and not leaks(secret, masked)) or leaks(secret, redact(text)[0])


KEPT = (
    "commit 9fceb02d0ae598e95dc970b74767f19372d61af8 fixed it",
    "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    '"integrity": "sha512-v2kDEe57lecTulaDIuNTPy3Ry4gLGJ6Z1O3vE1krgXZNrsQ+LFTGHVxVjcXPs17LhbZVGedAJv8XZ1tvj5FvSg=="',
    "golang.org/x/net v0.1.0 h1:hZ/3BUoy5aId7sCpA/Tc5lt8DkFgdVS2onTpJsZ/fl0=",
    "uid 0190b7c2-4e1a-7cc3-98c4-dc0c0c07398f and 01J2X4V5K6M7N8P9QRSTVWXYZA",
    "see kb/writing/redact.py and /usr/lib/python3.11/site-packages/markdown_it/rules_block/state_block.py",
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
)


@pytest.mark.parametrize("text", KEPT)
def test_what_only_looks_like_a_secret_stays(text: str) -> None:
    assert redact(text) == (text, ())


def test_wrapped_base64_is_no_secret() -> None:
    rng = random.Random(7)
    lines = "\n".join(some(rng, 64, ALNUM + "+/") for _ in range(8))
    text = f"-----BEGIN CERTIFICATE-----\n{lines}\n-----END CERTIFICATE-----"
    assert redact(text)[0] == text


def test_the_mask_names_the_rule_and_the_line() -> None:
    token = "gh" + "p_" + some(random.Random(3), 36)
    text, found = redact(f"first\nuse {token} here\nthird {token}")
    assert text == "first\nuse [redacted:github-token] here\nthird [redacted:github-token]"
    assert found == (Masked("github-token", 2), Masked("github-token", 3))
    assert list(secrets(f"first\nuse {token} here")) == [(2, "github-token")]


def test_lines_are_counted_in_the_text_as_it_came() -> None:
    rng = random.Random(4)
    block, _ = pem(rng)
    password = "pass" + "word=" + some(rng, 12)
    _, found = redact(f"{block}\n{password}\n")
    assert found[-1] == Masked("password", block.count("\n") + 2)


def test_a_connection_string_loses_only_its_password() -> None:
    secret = some(random.Random(5), 14)
    text, _ = redact(f"postgresql://shop:{secret}@db.internal:5432/shop")
    assert text == "postgresql://shop:[redacted:url-password]@db.internal:5432/shop"


def test_the_more_specific_rule_names_the_place() -> None:
    token = "gh" + "p_" + some(random.Random(6), 36)
    assert redact(f"GITHUB_TOKEN={token}")[0] == "GITHUB_TOKEN=[redacted:github-token]"
    assert redact(f"https://x:{token}@github.com/a/b")[0] == "https://x:[redacted:github-token]@github.com/a/b"


def test_private_words_are_masked_too() -> None:
    text, found = redact("Project Nightjar 与 夜鹰计划 go live", (r"(?i)nightjar", "夜鹰"))
    assert text == "Project [redacted:private-word] 与 [redacted:private-word]计划 go live"
    assert [place.rule for place in found] == ["private-word", "private-word"]
    assert redact(text, (r"(?i)nightjar", "夜鹰", "redacted", "private")) == (text, ())


def test_a_private_word_that_is_no_pattern_is_named() -> None:
    with pytest.raises(BadInput, match="private word"):
        redact("text", ("(",))


def test_a_private_word_that_matches_nothing_long_masks_nothing() -> None:
    assert redact("text", ("x*", "^", r"\b")) == ("te[redacted:private-word]t", (Masked("private-word", 1),))


def test_every_text_of_a_candidate_is_masked() -> None:
    secret = "gl" + "pat-" + some(random.Random(8), 20)
    dirty = Candidate(
        kind="decision", title=f"Use {secret}", decision=secret, alternatives=secret, why=secret,
        impact=(f"conf/{secret}",), verification=secret, rollback=secret, tags=("a", secret), scope=secret,
        claims={secret: secret}, coexists_with={"D001": secret},
        evidence=(Evidence(f"用 {secret}", secret, 3, secret),),
        supersedes=(secret,), amends=(secret,), updates=secret, session=secret, host=secret,
    )  # fmt: skip
    clean, found = redacted(dirty)
    assert secret not in repr(clean)
    assert clean.evidence[0].quote == "用 [redacted:gitlab-token]" and clean.evidence[0].line == 3
    fields = {place.field for place in found}
    assert fields == {name for name, value in dirty._asdict().items() if secret in repr(value)}
    assert redacted(clean) == (clean, ())


def test_the_key_of_a_claim_may_give_its_value_away() -> None:
    value = some(random.Random(9), 12)
    clean, found = redacted(Candidate("decision", "t", claims={"db.password": value, "db.port": "5432"}))
    assert clean.claims == {"db.password": "[redacted:password]", "db.port": "5432"}
    assert found == (Masked("password", 1, "claims"),)


def test_a_clean_candidate_comes_back_equal() -> None:
    candidate = Candidate(
        "decision", "选择 FastAPI 作为后端框架", why="async", impact=("api/main.py",), reusable=True, confidence=0.9
    )
    assert redacted(candidate) == (candidate, ())


PIECES = st.sampled_from(
    ["password", "=", ": ", "token", "[redacted:x]", "密码：", "hunter2x", "\n", " ", '"', "@", "qq.com",
    "://", "a:b",
     "gh" + "p_", "a1B2" * 9, "Cookie: a=", "Bearer ", "138" + "12345678", "-----BEGIN PRIVATE" + " KEY-----",
     "-----END PRIVATE" + " KEY-----", "İ", ";"]
)  # fmt: skip


@settings(max_examples=150, deadline=None)
@given(st.lists(st.one_of(PIECES, st.text(max_size=6)), max_size=30).map("".join))
def test_what_comes_out_is_a_fixed_point(text: str) -> None:
    once, found = redact(text)
    assert redact(once) == (once, ())
    assert [(place.line, place.rule) for place in found] == list(secrets(text))
    assert (once == text) == (not found)


HARD = (
    "The gateway keeps 90 days. 我们决定使用 FastAPI 作为后端框架。\n", "password ", "token: ", "cookie=",
    "cookie a=b; ",
    "a@", "curl ", "://a:", "-----BEGIN PRIVATE" + " KEY-----", "eyJ", "0", "1 ", "a1B", "Bearer ", "sk-",
    '"token":"',
    "key=", "+1 (", "authorization: basic ", "secret=a1b2c3d4=",
)  # fmt: skip


@pytest.mark.parametrize("piece", HARD)
def test_time_is_linear(piece: str) -> None:
    def seconds(size: int) -> float:
        text = piece * (size // len(piece))
        start = time.process_time()
        redact(text)
        return time.process_time() - start

    seconds(1_000)
    assert seconds(100_000) < 2.0


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
    masked, found = redact(text)
    assert found
    assert left not in masked
