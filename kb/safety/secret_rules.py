"""The table of rules for secrets and personal data: pattern, start words, and check.

A rule is a row. Its pattern is only tried at, or around, one of its start words, never at every character; every
repetition is bounded. The checks, in `kb.safety.secret_heuristics`, reject lookalikes.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from kb.safety import secret_heuristics
from kb.startup.lazy_regex import regex
from kb.startup.namedtuple import NamedTuple


class SecretRule(NamedTuple):
    """One form of secret; its last matched group, or else the whole match, is masked."""

    name: str
    starts: tuple[str, ...]  # Start words, lower-case: the pattern is only tried there
    pattern: re.Pattern[str]
    check: Callable[[re.Match[str], int], bool] = secret_heuristics.accept_match
    before: int = 0  # More than 0: the pattern is searched on the line of a start, from so many characters before it
    # Whether a match holds sixteen visible characters without a space: a text without such a run is not looked at
    in_run: bool = False
    least: int = 0  # Minimum characters of a match: shorter runs are skipped
    holds: str = ""  # Contained in every match: runs without it are skipped


NUMBER = ("0-9",)  # The start of a rule that is tried at every number of seven characters or more
RUN = ("!-~",)  # The start of a rule that is searched in every run of sixteen visible characters or more

# -- pieces -----------------------------------------------------------------------------------------

# No ASCII word runs into what follows; a Chinese character or an escaped end of line may be there
_TOKEN_START = r"(?:(?<![A-Za-z0-9_\\])|(?<=\\[nrt]))"
_WORD_START = r"(?:(?<![A-Za-z0-9_.+-])|(?<=\\[nrt]))"
_TOKEN_END = r"(?![A-Za-z0-9_-])"
_SLASH, _ASKS, _EQUALS = r"(?:/|%2[Ff])", r"(?:\?|%3[Ff])", r"(?:=|%3[Dd])"
_UUID = r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
_QUOTE = r"\\{0,7}[\"'`]"
_EOL = r"(?:\r?\n|\\{1,7}[nr])"

_PASSWORD = (
    r"password|(?<!/)passwd|passphrase|passcode|passwort|(?:(?<=[_-])|(?<=require)|(?<=store)|(?<=key))pass|pwd|(?<![a-z])psk"
    r"|(?:密码|密碼|口令)(?:短语)?|授权码|助记词|(?:seed |recovery )phrase|mnemonic|(?:wallet|backup|recovery)[ _-]seed"
)
_TOKEN = (
    r"secret(?![_-]?id)(?:[_ -]?(?:access[_ -]?)?key)?(?:[_ -]?base)?|token|credentials?|令牌|密钥|秘钥|私钥|密匙"
    r"|(?:(?<=[a-z])|(?<=[a-z][_ -]))key(?:[_-]?(?:id|data))?|(?-i:(?<![A-Za-z])pat|P(?:at|AT)(?![A-Za-z]))"
    r"|session[_-]?id|secret[_-]?id"
    r"|(?-i:(?<![A-Za-z])[AS]K)|会话 ?id|加密串"
)
_ENDING = r"(?:[_-]?(?:prod(?:uction)?|staging|dev|test|live|old|new|v?\d{1,2}|value|plain|base64|b64|string|seed))?"
_CLOSE = rf"(?:{_QUOTE}|\*\*|[\])]){{0,3}}"
_LINK = (
    rf"{_CLOSE}(?:"
    r":[ \t]{1,2}[|>][-+0-9]{0,2}[ \t]{0,4}\r?\n[ \t]{1,16}"
    r"|\s{0,4}(?::\s{0,2}[A-Za-z][\w.<>\[\]]{0,30}(?:\s?\|\s?None)?\s{0,2}=|[:=]=?>?|：|＝|%3[AaDd]|-+>|→|=>|>"
    r"|\|\|=?|\?\?=?|\|)\s{0,4}"
    rf"|\s{{0,2}},\s{{0,4}}(?={_QUOTE})"
    r"|(?:\s\(|（)\s{0,2}"
    r"|\s{1,4}(?:is|was|to)\s{1,4}"
    r"|\s{0,4}(?:改|换|设|定|写|填)?(?:是|为|成了?)\s{0,4}"
    r"|\s(?:for|of|on|in|at)\s[\w .-]{1,40}?(?:\s(?:is|was|->|→)\s|:\s{0,2})"
    r"|\s{1,2}(?=\\{0,7}[\"“「'`])"
    r"|[\s{,\"']{1,20}(?:value|default)[\"']?\s{0,3}[:=]\s{0,3}|\s--(?:body|value|secret-string)[ =]"
    r")(?:\*\*)?"
)
_BARE = r"[^\s\"'`,;&<>|\\\[\](){}=\u3000-\u303f\u3400-\u9fff\uff00-\uffef‘’“”]"
_INSIDE = r"[&,;|](?=[^\s\"'`,;&<>|\\\[\](){}=])"  # Ends a bare value, unless more of it follows directly
_VALUE = (
    r"(?:\\{1,7}\"([^\"\\\r\n]{1,1000})|\\{1,7}'([^'\\\r\n]{1,1000})|\"((?:[^\"\\\r\n]|\\.){1,1000})"
    r"|'((?:[^'\\\r\n]|\\.){1,1000})|`([^`\r\n]{1,1000})|[“「『‘]([^”」』’\r\n]{1,1000})"
    rf"|([a-z]{{3,12}}(?: [a-z]{{3,12}}){{3,23}})(?=\s{{0,4}}(?:\n|\r|\\|[\"'`|<,;。，]|\Z))"
    rf"|((?:{_BARE}|{_INSIDE}){{1,1000}}={{0,2}}))"
)
_WORD = rf"((?:{_BARE}){{6,1000}}={{0,2}})"

_PEM_HEAD = r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----"
_PEM = rf"{_PEM_HEAD}(?:[^-]|-(?!----)){{0,16384}}-----END [A-Z0-9 ]{{0,40}}-----"
_PEM_CUT = (
    rf"{_PEM_HEAD}(?:(?:{_EOL}|\s)[^\S\n]{{0,12}}(?:[\w.-]{{0,20}}[^\S\n]{{0,4}}[|>→+\"'#:]?[^\S\n]{{0,4}})"
    r"(?:[A-Z][A-Za-z-]{2,12}: ?[^\n\\]{0,100}|[A-Za-z0-9+/=]{16,}+|[A-Za-z0-9+/]{1,15}={1,2}|(?=[\r\n\\]))){1,400}"
)


def _build_prefix_rule(
    name: str, starts: str, pattern: str, check: Callable[[re.Match[str], int], bool] = secret_heuristics.is_token
) -> SecretRule:
    return SecretRule(name, tuple(starts.split()), regex(pattern), check, in_run=True)


def _build_run_rule(
    name: str,
    least: int,
    holds: str,
    pattern: str,
    check: Callable[[re.Match[str], int], bool] = secret_heuristics.is_token,
) -> SecretRule:
    return SecretRule(name, RUN, regex(pattern), check, in_run=True, least=least, holds=holds)


TOKENS = (
    _build_prefix_rule("aws-access-key", "akia asia abia acca",
        r"(?:(?<![A-Z0-9_\\])|(?<=\\[nrt]))(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", secret_heuristics.has_distinct_characters),
    SecretRule("aws-secret-key", ("akia", "asia"), regex(
        r"(?:AKIA|ASIA)[A-Z0-9]{16}(?:[\s\"'`,:;|/]|\\{1,7}[nr\"]){1,20}"
        r"(?:\w[\w ]{0,30}[\"']?\s{0,2}[:=]\s{0,3}[\"']?)?"
        r"([A-Za-z0-9+/]{40})(?![A-Za-z0-9+/=])"), secret_heuristics.is_token),
    _build_prefix_rule("aws-session-token", "iqojb3jpz2lux2vj fwogzxivyxdz",
        r"(?:IQoJb3JpZ2luX2Vj|FwoGZXIvYXdz)[A-Za-z0-9+/=_%-]{50,3000}"),
    _build_prefix_rule("age-key", "age-secret-key-1", r"AGE-SECRET-KEY-1[A-Z0-9]{58}", secret_heuristics.has_distinct_characters),
    _build_prefix_rule("new-relic-key", "nrak- nrii- nrjs-", _TOKEN_START + r"NR(?:AK|II|JS)-[A-Za-z0-9_-]{19,40}", secret_heuristics.has_distinct_characters),
    _build_prefix_rule("github-token", "gho_ ghp_ ghr_ ghs_ ghu_", _TOKEN_START + r"gh[oprsu]_[A-Za-z0-9]{30,255}"),
    _build_prefix_rule("github-token", "github_pat_", _TOKEN_START + r"github_pat_[A-Za-z0-9_]{22,255}"),
    _build_prefix_rule("gitlab-token", "glpat- gldt- glrt- glcbt- glptt- glft- gloas- glsoat- glimt- glagent- glffct-",
        _TOKEN_START + r"gl[a-z]{2,5}-[A-Za-z0-9_.-]{19,300}[A-Za-z0-9_-]"),
    _build_prefix_rule("slack-token", "xox xapp-", _TOKEN_START + r"(?:xox[a-z][.-]|xapp-)[A-Za-z0-9.-]{10,300}"),
    _build_prefix_rule("webhook", "hooks.slack.com discord.com discordapp.com qyapi.weixin.qq.com open.feishu.cn open.larksuite.com "
        "webhook.office.com hooks.zapier.com maker.ifttt.com chat.googleapis.com oapi.dingtalk.com",
        rf"[a-z.]{{11,22}}{_SLASH}(?:[a-z]{{4,20}}|api{_SLASH}webhooks{_SLASH}\d{{5,25}}|cgi-bin{_SLASH}webhook{_SLASH}send"
        rf"|open-apis{_SLASH}bot{_SLASH}(?:v2{_SLASH})?hook|webhookb2|hooks{_SLASH}catch|trigger{_SLASH}[\w-]{{1,60}}{_SLASH}"
        rf"with{_SLASH}key|v1{_SLASH}spaces{_SLASH}[\w-]{{1,40}}{_SLASH}messages|robot{_SLASH}send)"
        rf"(?:{_SLASH}|{_ASKS}\w{{3,20}}{_EQUALS})([A-Za-z0-9/_@%=&.-]{{16,300}})", secret_heuristics.is_token),
    _build_prefix_rule("google-key", "aiza", _TOKEN_START + r"AIza[A-Za-z0-9_-]{35}"),
    _build_prefix_rule("google-key", "gocspx- ya29. 1//0", _TOKEN_START + r"(?:GOCSPX-|ya29\.|1//0)[A-Za-z0-9_-]{20,2000}"),
    _build_prefix_rule("stripe-key", "sk_live_ sk_test_ rk_live_ rk_test_", _TOKEN_START + r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,250}"),
    _build_prefix_rule("stripe-key", "whsec_", _TOKEN_START + r"whsec_[A-Za-z0-9+/]{24,100}={0,2}"),
    _build_prefix_rule("anthropic-key", "sk-ant-", _TOKEN_START + r"sk-ant-[A-Za-z0-9_-]{20,300}"),
    _build_prefix_rule("openai-key", "sk-", r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))sk-[A-Za-z0-9_-]{20,300}"),
    _build_prefix_rule("npm-token", "npm_", _TOKEN_START + r"npm_[A-Za-z0-9]{30,100}"),
    _build_prefix_rule("pypi-token", "pypi-", _TOKEN_START + r"pypi-[A-Za-z0-9_-]{32,500}"),
    _build_prefix_rule("sendgrid-key", "sg.", _TOKEN_START + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}"),
    SecretRule("twilio-key", ("ac", "sk"), regex(
        r"(?<![A-Za-z0-9])(?:AC|SK)[0-9a-f]{32}(?:[\s\"'`,:;|/]|\\{1,7}[nr\"]){1,20}([0-9a-f]{32})(?![0-9A-Za-z])"),
        secret_heuristics.is_token, in_run=True),
    _build_prefix_rule("twilio-key", "ac sk", _TOKEN_START + r"(?:AC|SK)[0-9a-f]{32}(?![A-Za-z0-9])"),
    _build_run_rule("telegram-token", 44, ":AA", _TOKEN_START + r"\d{8,12}:AA[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])"),
    _build_run_rule("discord-token", 59, ".",
            _TOKEN_START + r"[MNO][A-Za-z0-9_-]{23,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])"),
    _build_prefix_rule("huggingface-token", "hf_ api_org_", _TOKEN_START + r"(?:hf|api_org)_[A-Za-z0-9]{30,100}"),
    _build_run_rule("mailgun-key", 50, "-", _TOKEN_START + r"[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}(?![A-Za-z0-9_-])"),
    _build_run_rule("google-key", 94, ":APA91b", _TOKEN_START + r"[A-Za-z0-9_-]{7,24}:APA91b[A-Za-z0-9_-]{80,300}"),
    _build_prefix_rule("google-key", "goog", _TOKEN_START + r"GOOG(?:1E?)?[A-Z0-9]{20,60}(?![A-Za-z0-9])", secret_heuristics.has_distinct_characters),
    _build_prefix_rule("cloudflare-key", "v1.0-", _TOKEN_START + r"v1\.0-[0-9a-f]{24}-[0-9a-f]{100,200}(?![A-Za-z0-9])"),
    _build_prefix_rule("infisical-token", "st.", _TOKEN_START + rf"st\.{_UUID}\.[0-9a-f]{{32}}\.[0-9a-f]{{32}}(?![A-Za-z0-9])"),
    _build_prefix_rule("launchdarkly-key", "sdk- mob- api-", _TOKEN_START + rf"(?:sdk|mob|api)-{_UUID}(?![A-Za-z0-9-])"),
    _build_run_rule("asana-token", 45, ":", _TOKEN_START + r"[0-2]/\d{10,20}(?:/\d{10,20})?:[0-9a-f]{32}(?![A-Za-z0-9])"),
    _build_run_rule("paseto", 49, ".",
            _TOKEN_START + r"v[1-4]\.(?:local|public)\.[A-Za-z0-9_-]{40,4000}(?:\.[A-Za-z0-9_-]{1,2000})?"),
    _build_prefix_rule("vault-token", "s.", _WORD_START + r"s\.[A-Za-z0-9]{24}(?![A-Za-z0-9_.-])", secret_heuristics.is_random_value),
    _build_run_rule("mailchimp-key", 36, "-us", _TOKEN_START + r"[0-9a-f]{32}-us\d{1,2}(?![A-Za-z0-9_])"),
    _build_prefix_rule("azure-key", "accountkey= sharedaccesskey= accountkey%3d sharedaccesskey%3d",
        rf"(?i)\w{{10,15}}{_EQUALS}([A-Za-z0-9+/%]{{40,200}}={{0,2}})"),
    _build_prefix_rule("azure-key", "sig= sig%3d", rf"(?<![A-Za-z])sig{_EQUALS}([A-Za-z0-9%+/_-]{{40,200}}={{0,2}})"),
    _build_prefix_rule("dingtalk-key", "sec", _TOKEN_START + r"SEC[0-9a-f]{64}(?![A-Za-z0-9])"),
    _build_run_rule("azure-key", 37, "Q~", _TOKEN_START + r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{30,36}[A-Za-z0-9_~-]"),
    _build_prefix_rule("aliyun-key", "ltai", _TOKEN_START + r"LTAI[A-Za-z0-9]{12,26}(?![A-Za-z0-9])", secret_heuristics.has_distinct_characters),
    _build_prefix_rule("tencent-key", "akid", _TOKEN_START + r"AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])", secret_heuristics.has_distinct_characters),
    _build_run_rule("terraform-token", 63, ".atlasv1.", _TOKEN_START + r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{40,100}"),
    _build_prefix_rule("django-key", "django-insecure-", r"django-insecure-[^\s\"'`\\，。]{20,80}"),
    _build_prefix_rule("one-time-password", "otpauth:// otpauth%3a",
        rf"otpauth[^\s\"'`]{{1,200}}?secret{_EQUALS}([A-Za-z2-7]{{16,128}})"),
    _build_prefix_rule("signature", "signature= signature%3d", rf"(?i)signature{_EQUALS}([A-Za-z0-9%+/_-]{{32,400}}={{0,2}})"),
    _build_prefix_rule("airtable-token", "pat", _TOKEN_START + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"),
    _build_run_rule("zhipu-key", 49, ".", _TOKEN_START + r"[0-9a-f]{32}\.[A-Za-z0-9]{16}(?![A-Za-z0-9_])"),
    _build_run_rule("service-token", 15, "",
            _TOKEN_START
            + r"(?=[A-Za-z0-9][A-Za-z0-9_.~-]{14})(?:[A-Za-z0-9_-]++|[.~]{1,3}(?=[A-Za-z0-9_-]))++(?:=[0-9A-F]{8})?",
            secret_heuristics.is_service_token),
    SecretRule("cut-token", ("…",), regex(_TOKEN_START + r"[A-Za-z0-9_.+/=-]{9,700}(?=…)"), secret_heuristics.is_truncated_token, before=720),
    _build_prefix_rule("jwt", "eyj",
        r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt]))eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,16000}(?:\.[A-Za-z0-9_-]{0,2000}){1,3}",
        secret_heuristics.accept_match),
)  # fmt: skip

_MONEY = r"(?:\$|%24)"
_CRYPT = (
    rf"{_MONEY}(?:apr1|[156y]|gy){_MONEY}(?:[\w=,]{{1,30}}{_MONEY})?[./A-Za-z0-9]{{1,24}}{_MONEY}[./A-Za-z0-9%]{{22,90}}"
    rf"|{_MONEY}2[abxy]{_MONEY}\d\d{_MONEY}[./A-Za-z0-9%]{{53,70}}"
    r"|\$(?:argon2(?:id|i|d)|scrypt|pbkdf2[\w-]{0,12}|bcrypt[\w-]{0,8}|7)\$[^\s\"'`:;|<>\\，。）」]{20,300}"
)
HASHES = (
    _build_prefix_rule("password-hash", "$2 $apr1$ $1$ $5$ $6$ $7$ $y$ $gy$ $argon2 $scrypt$ $pbkdf2 $bcrypt %24", _CRYPT,
        secret_heuristics.accept_match),
    _build_prefix_rule("password-hash", "pbkdf2_sha bcrypt_sha256$ argon2$", r"[a-z0-9_]{6,20}\$[^\s\"'`:;|<>\\，。]{30,300}"),
    _build_prefix_rule("password-hash", "{sha} {ssha {smd5} {md5}", r"\{[A-Za-z0-9]{3,8}\}[A-Za-z0-9+/]{20,200}={0,2}", secret_heuristics.accept_match),
)  # fmt: skip

KEY_BLOCKS = (
    SecretRule("private-key", ("-----begin ",), regex(f"{_PEM}|{_PEM_CUT}"), secret_heuristics.has_key_material),
    SecretRule("private-key", ("ls0tls1crudjti",), regex(
        r"LS0tLS1CRUdJTi[A-Za-z0-9+/]{20,20000}+(?:(?:\r?\n|\\{1,7}n)[ \t>|]{0,12}"
        r"(?:[A-Za-z0-9+/]{16,100}+={0,2}|[A-Za-z0-9+/]{1,15}={1,2})){0,400}={0,2}"), secret_heuristics.is_encoded_private_key, in_run=True),
    SecretRule("private-key", ("private-lines:",), regex(
        rf"(?i)private-lines: ?\d{{1,4}}((?:{_EOL}[^\n\\]{{0,24}}?[A-Za-z0-9+/]{{1,64}}={{0,2}}){{1,64}})"),
        secret_heuristics.accept_match),
)  # fmt: skip

CONNECTIONS = (
    SecretRule("url-password", ("://",), regex(
        r"://[^\s/:@\"'`<>]{0,100}:([^\s/\"'`<>]{1,200})@(?=[\w.\[-])"), secret_heuristics.is_url_password),
    SecretRule("url-password", ("%3a%2f%2f",), regex(
        r"(?i)%3A%2F%2F[\w.~-]{0,100}%3A((?:(?!%40|%2F)[^\s\"'`<>&]){1,200})%40(?=[\w.-])"),
        secret_heuristics.is_url_password, in_run=True),
    _build_prefix_rule("url-password", "://", r"://([A-Za-z0-9_-]{20,200})@(?=[\w.\[-])"),
    SecretRule("url-password", ("@",), regex(
        r"(?<![A-Za-z0-9_.-])[\w.-]{1,64}[:/]([^\s\"'`@]{1,100})@(?=(?:tcp|unix)\(|//)"),
        secret_heuristics.is_url_password, before=170),
    SecretRule("url-password", ("%40",), regex(
        r"(?<![A-Za-z0-9_.%-])[\w.-]{1,64}%3A([^\s\"'`@]{1,100})(?=%40tcp)"),
        secret_heuristics.is_url_password, before=170, in_run=True),
    _build_prefix_rule("url-password", ":5432: :6432: :*:",
        r":[\d*]{1,5}:[\w*.-]{1,64}:[\w*.-]{1,64}:([^\s:\"'\\]{4,100})", secret_heuristics.is_url_password),
)  # fmt: skip

_SCHEME = r"(?:bearer|basic|token|apikey|bot|digest|negotiate|key|aws4-hmac-sha256)\s{1,4}"
HEADERS = (
    SecretRule("authorization", ("auth",), regex(
        rf"(?i)authorization(?:{_QUOTE})?\s{{0,4}}[:=,]\s{{0,4}}(?:{_QUOTE})?(?:{_SCHEME})?([^\s\"'`,;\\<>]{{8,4000}})"),
        secret_heuristics.is_authorization_header),
    SecretRule("authorization", ("bearer",), regex(r"(?i)\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,4000}={0,2})"), secret_heuristics.is_authorization_header),
    SecretRule("authorization", ("auth",), regex(
        rf"(?i)_?auth(?:{_QUOTE})?\s{{0,3}}[:=]\s{{0,3}}(?:{_QUOTE})?([A-Za-z0-9+/]{{8,400}}={{0,2}})"), secret_heuristics.is_basic_credentials),
    SecretRule("cookie", ("cookie",), regex(
        rf"(?i)cookies?(?:{_QUOTE})?(?:\s{{0,4}}[:=,]|\s)\s{{0,4}}(?:{_QUOTE})?"
        r"([\w.-]{1,100}=[^\s;\"'`\\]{1,4000}(?:; ?[\w.-]{1,100}(?:=[^;\"'`\\\r\n]{0,4000})?){0,60})"), secret_heuristics.has_secret_cookie),
    SecretRule("cookie", ("sessid", "sessionid", "connect.sid"), regex(
        r"(?i)(?:(?:php|asp|j)sess(?:ion)?id|asp\.net_sessionid|connect\.sid)\s{0,2}(?:=|%3D|:\s)\s{0,2}([\w.%!+/-]{16,400})"),
        secret_heuristics.is_random_value, before=12),
    SecretRule("cookie", (" -b", "--cookie"), regex(
        rf"curl\s[^\n]{{0,400}}?(?:\s-b|--cookie)[ =]?(?:{_QUOTE})?"
        r"([\w.-]{1,100}=[^\s;\"'`\\]{1,4000}(?:; ?[\w.-]{1,100}(?:=[^;\"'`\\\r\n]{0,4000})?){0,60})"),
        secret_heuristics.has_secret_cookie, before=420),
)  # fmt: skip

_GIVEN = rf"(?:{_QUOTE})?([^\s\"'`\\]{{4,200}})"


def _build_command_rule(start: str, command: str) -> SecretRule:
    """Return the rule for a password on a command line after *command*."""
    return SecretRule(
        "password", (start,), regex(f"(?i){command}{_GIVEN}"), secret_heuristics.is_command_password, before=240
    )


_SOME = r"\s(?:[^\n]{0,200}?\s)?"
COMMAND_LINES = (
    _build_command_rule(" -p", rf"(?:mysql|mariadb)[a-z-]{{0,12}}{_SOME}(?-i:-p)(?=[^\s-])"),
    _build_command_rule(" -p",
           rf"(?:mongo(?:sh|dump|restore|export|import)?|login|sshpass|sqlcmd|bcp|isql|zip|7z){_SOME}-p\s{{0,4}}"),
    _build_command_rule(" -a", rf"redis-cli{_SOME}(?-i:-a)\s{{1,4}}"),
    _build_command_rule(" -w", rf"ldap[a-z]{{3,10}}{_SOME}(?-i:-w)\s{{1,4}}"),
    _build_command_rule(" -u", r"(?:smbclient|rpcclient|curlftpfs)\s[^\n]{0,200}?(?-i:-U)\s{0,2}[^\s%]{1,64}%"),
    SecretRule("password", ("/user:",), regex(
        r"(?i)net use\s[^\n]{0,100}?\\\\\S{1,100}\s{1,4}([^\s/*]\S{3,100})\s{1,4}(?=/user:)"), secret_heuristics.is_command_password, before=240),
    _build_command_rule("/user:", r"net use\s[^\n]{1,200}?/user:\S{1,80}\s{1,4}"),
    _build_command_rule("pass", r"-(?:store|key|src\w{0,4}|dest\w{0,4})pass\s{1,4}"),
    _build_command_rule("pass", r"-pass(?:in|out)?\s{1,4}pass:(?=\S)"),
    _build_command_rule("passwd", r"htpasswd\s-[a-z]{0,5}b[a-z]{0,5}\s(?:[^\s]{1,100}\s){1,2}(?=\S{4,})"),
    _build_command_rule("securestring", r"ConvertTo-SecureString\s{1,4}(?:-String\s)?"),
    _build_command_rule("identified ", r"identified\s{1,4}(?:with\s{1,4}\w{1,40}\s{1,4})?by\s{1,4}(?=[\"'])"),
    *(_build_command_rule(start, r"(?:curl|wget|http)\s[^\n]{0,400}?(?<=\s)(?:-u|-a|--user|--auth)[ =]?[\"']?[^\s:\"']{1,100}:")
      for start in (" -u", " -a", "--user", "--auth")),
    *(SecretRule("password", (start,), regex(
        rf"(?:echo|printf)\s(?:-n\s)?(?:%s\s)?(?:{_QUOTE})?(?:[\w.-]{{1,32}}:)?{_GIVEN}(?:{_QUOTE})?\s{{0,4}}\|"),
        secret_heuristics.is_piped_password, before=240) for start in ("passw", "sudo -s")),
    SecretRule("password", ("wifi:",), regex(r"(?i)wifi:(?:[A-Z]:[^;\s]{0,100};){0,5}P:([^;\s]{6,64});"), secret_heuristics.is_command_password),
    SecretRule("password-hash", (":::",), regex(
        r"(?i)(?<=:)\d{1,6}:[0-9a-f]{32}:([0-9a-f]{32})(?=:::)"), secret_heuristics.accept_match, before=80, in_run=True),
    SecretRule("password", ("password ",), regex(rf"(?i)(?<=[\sn])password\s{{1,4}}{_GIVEN}"), secret_heuristics.is_netrc_password),
)  # fmt: skip

_ACCOUNT = (
    r"(?<![a-z/])(?:账号|账户|帐号|用户名?|登录|(?:account|login|credentials?|user(?:name)?)(?![a-z]))[^\n:：/]{0,40}?"
    r"(?:[:：]|是|is)\s{0,4}"
)
_OPTION = (
    r"(?<![\w-])--?[a-z0-9-]{0,40}?"
    r"(?:password|passwd|passphrase|pass|secret|token|key|pat|auth|credentials?|pwd|id)[ =]"
)
ASSIGNED = (
    SecretRule("password", ("账", "帐", "用户", "登录", "account", "login", "credential", "user"), regex(
        rf"(?i){_ACCOUNT}[\w.@-]{{1,64}}\s{{0,3}}[/／|]\s{{0,3}}{_WORD}"), secret_heuristics.is_evident_password),
    SecretRule("password", ("pass", "pwd", "psk", "密码", "密碼", "口令", "授权码", "助记词", "phrase", "mnemonic",
                      "wallet", "backup", "recovery"),
         regex(f"(?i)(?:{_PASSWORD}){_ENDING}{_LINK}{_VALUE}"), secret_heuristics.is_assigned_password),
    SecretRule("password", ("pass",), regex(rf"(?i)(?:(?<![a-z])|(?<=\\[nrt]))pass{_LINK}{_VALUE}"), secret_heuristics.is_pass_value),
    SecretRule("password", ("pass", "pwd", "密码", "密碼", "口令"), regex(  # 密码Rabbit4711 needs no space
        rf"(?i)(?:(?:{_PASSWORD})\s{{1,4}}|密码|密碼|口令){_WORD}"),
         secret_heuristics.is_evident_password),
    SecretRule("password", ("pass", "pwd", "密码", "密碼", "口令", "授权码"), regex(
        rf"(?i)(?:(?<![a-z])(?:use|using|with|enter|try|type)\s{{1,2}}|(?:用|使用|把|将|以|填|输入)\s?){_WORD}"
        rf"(?:\s(?:as|for)\s(?:[a-z-]{{1,16}}\s){{0,4}}|\s?(?:作为|当作|当|做|设为|作)\S{{0,10}}?)(?:{_PASSWORD})"),
        secret_heuristics.is_evident_password, before=200),
    SecretRule("secret", ("secret", "token", "credential", "key", "令牌", "密钥", "秘钥", "私钥", "密匙", "pat", "session",
                    "会话", "加密串", "sk", "ak"),
         regex(f"(?i)(?:{_TOKEN}){_ENDING}{_LINK}{_VALUE}"), secret_heuristics.is_assigned_secret),
    SecretRule("secret", ("--",), regex(rf"(?i){_OPTION}\s{{0,3}}(?:{_QUOTE})?{_WORD}"), secret_heuristics.is_option_secret),
    SecretRule("secret", ("secret", "token", "credential", "key", "令牌", "密钥", "秘钥", "私钥", "password", "密码", "口令",
                    "pat", "session", "会话", "加密串", "auth"),
         regex(r"(?:(?<![A-Za-z0-9+/_.~-])|(?<=\\[nrt]))[A-Za-z0-9+/_.~-]{15,1000}[A-Za-z0-9+/_-]={0,2}(?![A-Za-z0-9+/_=-])"),
         secret_heuristics.is_secret_by_context, before=200, in_run=True),
)  # fmt: skip

_MAIL = (
    r"(?:(?<![A-Za-z0-9._%+/\\-])|(?<=\\[nrt]))[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}+@"
    r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}[A-Za-z]{2,18}(?![A-Za-z0-9_])"
)
_CALLED = (
    r"(?<![A-Za-z])(?:telephone|phone|tel|mobile|手机|电话|座机|联系方式)"
    r"(?:[ _-]?(?:no|num(?:ber)?|号码?))?\.?(?:\\{0,7}[\"'`]|\*\*)?\s{0,3}[:=：是为(（|]\s{0,3}(?:\\{0,7}[\"'`])?"
)
PEOPLE = (
    SecretRule("email", ("@",), regex(_MAIL), secret_heuristics.is_personal_email, before=66),
    SecretRule("email", ("%40",), regex(
        r"(?i)(?<![A-Za-z0-9._%+-])[A-Za-z0-9][A-Za-z0-9._-]{0,63}%40(?:[A-Za-z0-9][A-Za-z0-9-]{0,61}\.){1,6}[A-Za-z]{2,18}"
        r"(?![A-Za-z0-9_%])"), secret_heuristics.is_personal_email, before=66),
    SecretRule("email", ("at]", "at)"), regex(
        r"(?i)(?<![\w.+-])[\w.+-]{1,64}\s?(?:\[at\]|\(at\))\s?[\w-]{1,63}(?:\s?(?:\[dot\]|\(dot\)|\.)\s?[\w-]{2,63}){1,4}"),
        secret_heuristics.accept_match, before=70),
    SecretRule("id-card", NUMBER, regex(
        _WORD_START + r"([1-9]\d{5}([ -]?)(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\2\d{3}[\dXx])" + _TOKEN_END),
        secret_heuristics.is_identity_number),
    SecretRule("id-card", ("ssn", "social security"), regex(
        r"(?i)(?<![a-z])(?:ssn|social security(?: number| no\.?)?)[\s:=#\"'`]{1,4}(\d{3}-\d{2}-\d{4})" + _TOKEN_END)),
    SecretRule("id-card", ("护照", "passport"), regex(
        r"(?i)(?:护照号?码?|passport(?: no\.?| number)?)[\s:：=#是为\"'`]{1,4}([A-Z]{1,2}\d{7,8})" + _TOKEN_END)),
    SecretRule("bank-account", ("iban",), regex(
        r"(?i)(?<![a-z])iban[\s:：=#\"'`]{1,4}([A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,4})?)" + _TOKEN_END),
        secret_heuristics.is_iban),
    _build_run_rule("bank-account", 15, "", _TOKEN_START + r"[A-Z]{2}\d{2}[A-Z0-9]{11,30}(?![A-Za-z0-9_])", secret_heuristics.is_iban),
    SecretRule("bank-card", NUMBER, regex(
        _WORD_START + r"[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?(?:\d{4}[ -]?\d{3}|\d{4})" + _TOKEN_END), secret_heuristics.is_card_number),
    SecretRule("bank-card", NUMBER, regex(
        _WORD_START + r"3[47]\d{2}(?:[ -]?\d{6}[ -]?\d{5}|[ -]?\d{4}[ -]?\d{4}[ -]?\d{3})" + _TOKEN_END), secret_heuristics.is_card_number),
    SecretRule("phone", NUMBER, regex(
        _WORD_START + r"(?:\+?86[ -]?)?1(?:3\d|4[5-9]|5[0-35-9]|6[2567]|7[0-8]|8\d|9[0-35-9])"
        r"(?:\d{8}|-\d{4}-\d{4}| \d{4} \d{4}|\.\d{4}\.\d{4})" + _TOKEN_END), secret_heuristics.is_phone_number),
    SecretRule("phone", NUMBER, regex(
        r"(?:(?<![A-Za-z0-9_.+)-])|(?<=\\[nrt]))"
        r"\+[1-9]\d{0,14}(?:[ .-]?\(\d{1,4}\)[ .-]?\d{1,8})?(?:[ .-]\d{1,8}){0,6}" + _TOKEN_END), secret_heuristics.is_phone_number),
    SecretRule("phone", NUMBER, regex(
        _WORD_START + r"(?:1[ .-])?(?:\([2-9]\d{2}\)[ -]?|[2-9]\d{2}[.-])[2-9]\d{2}[ .-]\d{4}" + _TOKEN_END), secret_heuristics.is_phone_number),
    SecretRule("phone", NUMBER, regex(_WORD_START + r"\(?0(?:10|2\d|[3-9]\d{2})\)?[ -][2-8]\d{6,7}" + _TOKEN_END), secret_heuristics.is_phone_number),
    SecretRule("phone", ("my phone", "my mobile", "my cell", "my number", "我的手机", "我手机", "我电话", "我的电话"), regex(
        r"(?i)(?:\bmy (?:phone|mobile|cell|number)(?: phone)?(?: number)?|我的?(?:手机|电话)号?)(?:,| is|，|是|:|：)?\s{0,2}"
        r"(\+?\d[\d ().-]{5,18}\d)(?![A-Za-z0-9_])"), secret_heuristics.is_phone_number),
    SecretRule("phone", ("phone", "tel", "mobile", "手机", "电话", "座机", "联系方式"),
         regex(rf"(?i){_CALLED}([+(]?\d[\d ().-]{{5,18}}\d)(?![A-Za-z0-9_])"), secret_heuristics.is_phone_number),
)  # fmt: skip

NAMELESS = (
    _build_run_rule(
        "high-entropy",
        32,
        "",
        r"(?<![A-Za-z0-9_+/.-])[A-Za-z0-9+/_-]{32,4000}+={0,2}(?![A-Za-z0-9_+/=-])",
        secret_heuristics.is_random_string,
    ),
)

# In order of precedence: if two rules match the same place, the first one names it
RULES = (*KEY_BLOCKS, *TOKENS, *HASHES, *CONNECTIONS, *HEADERS, *COMMAND_LINES, *ASSIGNED, *PEOPLE, *NAMELESS)
