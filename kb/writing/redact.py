"""Mask secrets and personal data before anything is stored.

A rule is a row of a table: a pattern, the words without which it cannot match, and a check of what was matched. Every
repetition is bounded or starts at a boundary, so the time is linear in the text. Masking goes on until a round finds
nothing; what comes out is therefore a fixed point, and masking it again changes nothing.
"""

import functools
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

from kb.errors import BadInput
from kb.patterns import regex
from kb.record import Candidate
from kb.words import say
from kb.writing import lookalike as real


class Masked(NamedTuple):
    """One place that was masked."""

    rule: str
    line: int
    """1-based line in the text as it was handed in; in a candidate, in the text of the field."""
    field: str = ""
    """The candidate's field, or "" for a plain text."""


class Rule(NamedTuple):
    """One form of secret: its last matched group, or the whole match without one, is what gets masked."""

    name: str
    starts: tuple[str, ...]
    """What a match starts with, in lower case: only there the pattern is tried. Empty: everywhere."""
    pattern: str
    check: Callable[[re.Match[str], int], bool] = real.always


class _Span(NamedTuple):
    start: int
    end: int
    rule: str


_MASK = regex(r"\[redacted:[a-z0-9-]+\]")

_BODY = r"(?:[^-]|-(?!----)){0,16384}"
_PEM = rf"-----BEGIN [A-Z0-9 ]{{0,40}}PRIVATE KEY(?: BLOCK)?-----{_BODY}-----END [A-Z0-9 ]{{0,40}}-----"
_CUT_PEM = (
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----(?:(?:[\s>|\"'#+]|\\[nr]){1,40}[A-Za-z0-9+/=]{16,}+)++"
)

_KEYS = ("api", "access", "private", "auth", "account", "signing", "encryption", "master", "app", "client", "license")
_OF_KEY = "|".join(f"(?<={word})|(?<={word}[_ -])" for word in _KEYS)
_PASSWORD = r"passw(?:or)?d|passphrase|passcode|(?<=[_-])pass|pwd|密码|口令|授权码"
_TOKEN = (
    r"secret(?:[_ -]?(?:access[_ -]?)?key)?(?:[_ -]?base)?|token|credentials?|令牌|密钥|秘钥|私钥"
    rf"|(?:{_OF_KEY})key"
)
_IS = r"(?:\\?[\"'`]|\*\*|\])?\s{0,4}(?:[:=]=?>?|：|＝|>|是|为|\bis\b)\s{0,4}(?:\*\*)?"
_INSIDE = r"[&,;|](?=[^\s\"'`,;&<>|\\\[\](){}=])"
"""What ends a bare value, unless more of it follows at once."""
_BARE = r"[^\s\"'`,;&<>|\\\[\](){}=\u3000-\u303f\u3400-\u9fff\uff00-\uffef]"
_VALUE = (
    r"(?:\\\"([^\"\\\r\n]{1,300})|\"((?:[^\"\\\r\n]|\\.){1,300})|'((?:[^'\\\r\n]|\\.){1,300})|`([^`\r\n]{1,300})"
    rf"|((?:{_BARE}|{_INSIDE}){{1,300}}={{0,2}}))"
)
_ALONE = r"(?<![A-Za-z0-9_])"
_NUMBER = ("+", "(", *"0123456789")

_LOOKED_INTO = 400
"""Characters at the end of a match in which another one may start; in longer ones looking again costs squared time."""

_LONG_NUMBER = regex(r"(?<![\w.])(?=[+(]?\d[\d ().-]{6})")
"""Where a number of seven characters or more may start; the rules for numbers look only there."""

RULES: tuple[Rule, ...] = (
    Rule("private-key", ("-----begin ",), f"{_PEM}|{_CUT_PEM}", real.key_block),
    Rule("aws-access-key", ("akia", "asia", "abia", "acca"),
         r"(?<![A-Za-z0-9])(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])", real.token),
    Rule("github-token", ("gho_", "ghp_", "ghr_", "ghs_", "ghu_"),
         _ALONE + r"gh[oprsu]_[A-Za-z0-9]{30,255}", real.token),
    Rule("github-token", ("github_pat_",), _ALONE + r"github_pat_[A-Za-z0-9_]{22,255}", real.token),
    Rule("gitlab-token", ("glpat-", "gldt-", "glrt-", "glcbt-", "glptt-", "glft-", "gloas-", "glsoat-", "glimt-"),
         _ALONE + r"gl[a-z]{2,4}-[A-Za-z0-9_.-]{20,300}", real.token),
    Rule("slack-token", ("xox", "xapp-"), _ALONE + r"(?:xox[a-z]|xapp)-[A-Za-z0-9-]{10,300}", real.token),
    Rule("slack-webhook", ("hooks.slack.com/",), r"hooks\.slack\.com/[a-z]{4,20}/([A-Za-z0-9/_-]{20,200})", real.token),
    Rule("google-key", ("aiza",), _ALONE + r"AIza[A-Za-z0-9_-]{35}", real.token),
    Rule("google-key", ("gocspx-", "ya29.", "1//0"),
         _ALONE + r"(?:GOCSPX-|ya29\.|1//0)[A-Za-z0-9_-]{20,2000}", real.token),
    Rule("stripe-key", ("sk_live_", "sk_test_", "rk_live_", "rk_test_"),
         _ALONE + r"[sr]k_(?:live|test)_[A-Za-z0-9]{10,250}", real.token),
    Rule("stripe-key", ("whsec_",), _ALONE + r"whsec_[A-Za-z0-9+/]{24,100}={0,2}", real.token),
    Rule("anthropic-key", ("sk-ant-",), _ALONE + r"sk-ant-[A-Za-z0-9_-]{20,300}", real.token),
    Rule("openai-key", ("sk-",), r"(?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,300}", real.token),
    Rule("npm-token", ("npm_",), _ALONE + r"npm_[A-Za-z0-9]{30,100}", real.token),
    Rule("pypi-token", ("pypi-",), _ALONE + r"pypi-[A-Za-z0-9_-]{32,500}", real.token),
    Rule("sendgrid-key", ("sg.",), _ALONE + r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}", real.token),
    Rule("twilio-key", ("ac", "sk"), _ALONE + r"(?:AC|SK)[0-9a-f]{32}(?![A-Za-z0-9])", real.token),
    Rule("telegram-token", (":aa",), r"(?<=\d{8}):(AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9_-])", real.token),
    Rule("huggingface-token", ("hf_",), _ALONE + r"hf_[A-Za-z0-9]{30,100}", real.token),
    Rule("digitalocean-token", ("doo_v1_", "dop_v1_", "dor_v1_"), _ALONE + r"do[opr]_v1_[0-9a-f]{64}", real.token),
    Rule("azure-key", ("accountkey=", "sharedaccesskey="), r"(?i)\w{10,15}=([A-Za-z0-9+/]{40,100}={0,2})", real.token),
    Rule("azure-key", ("?sig=", "&sig="), r".sig=([A-Za-z0-9%+/_-]{40,100}={0,2})", real.token),
    Rule("aliyun-key", ("ltai",), r"(?<![A-Za-z0-9])LTAI[A-Za-z0-9]{12,26}(?![A-Za-z0-9])", real.token),
    Rule("tencent-key", ("akid",), r"(?<![A-Za-z0-9])AKID[A-Za-z0-9]{32}(?![A-Za-z0-9])", real.token),
    Rule("jwt", ("eyj",),
         r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,8000}\.[A-Za-z0-9_-]{8,16000}(?:\.[A-Za-z0-9_-]{0,2000}){1,3}"),
    Rule("url-password", ("://",), r"://[^\s/:@\"'`<>]{0,100}:([^\s/\"'`<>]{1,200})@(?=[\w.\[-])", real.url_password),
    Rule("authorization", ("authorization",),
         r"(?i)authorization(?:\\?[\"'])?\s{0,4}[:=,]\s{0,4}(?:\\?[\"'])?"
         r"(?:bearer|basic|token|apikey|bot|digest)\s{1,4}([^\s\"'`,;\\<>]{8,4000})", real.header),
    Rule("authorization", ("bearer",), r"(?i)\bbearer\s{1,4}([A-Za-z0-9._~+/-]{16,4000}={0,2})", real.header),
    Rule("cookie", ("cookie",),
         r"(?i)cookies?(?:\\?[\"'])?(?:\s{0,4}[:=,]|\s)\s{0,4}(?:\\?[\"'])?"
         r"([\w.-]{1,100}=[^\s;\"'`\\]{1,4000}(?:; ?[\w.-]{1,100}(?:=[^;\"'`\\\r\n]{0,4000})?){0,60})", real.cookie),
    Rule("password", ("pass", "pwd", "密码", "口令", "授权码"), f"(?i)(?:{_PASSWORD}){_IS}{_VALUE}", real.password),
    Rule("password", ("--password ", "password ", "sshpass"),
         r"(?i)(?:--password\s{1,4}|(?<=\s)password\s{1,4}(?=\S{6,200}\s{0,4}$)|sshpass\s{1,4}-p\s{0,4})"
         r"['\"]?([^\s\"'`]{4,200})", real.password),
    Rule("password", ("identified ",),
         r"(?i)identified\s{1,4}(?:with\s{1,4}\w{1,40}\s{1,4})?by\s{1,4}['\"]([^'\"\r\n]{4,200})", real.password),
    Rule("password", ("curl ",),
         r"curl [^\n]{0,200}?(?<=\s)(?:-u|--user)[ =]?['\"]?[^\s:\"']{1,100}:([^\s\"']{4,200})", real.password),
    Rule("secret", ("secret", "token", "credential", "key", "令牌", "密钥", "秘钥", "私钥"),
         f"(?i)(?:{_TOKEN}){_IS}{_VALUE}", real.secret),
    Rule("secret", ("--api-key ", "--apikey ", "--token ", "--secret ", "--access-token "),
         r"--[A-Za-z-]{5,12}\s{1,4}['\"]?([^\s\"'`]{8,300})", real.secret),
    Rule("email", (),
         r"(?<![A-Za-z0-9._%+/:=-])[A-Za-z0-9][A-Za-z0-9._%+-]{0,63}+@"
         r"(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,6}[A-Za-z]{2,18}(?![A-Za-z0-9_])", real.email),
    Rule("id-card", _NUMBER,
         r"(?<![\w.-])[1-9]\d{5}(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])\d{3}[\dXx](?![\w-])",
         real.id_card),
    Rule("bank-card", _NUMBER,
         r"(?<![\w.+-])[2-6]\d{3}(?:[ -]?\d{4}){2}[ -]?(?:\d{4}[ -]?\d{3}|\d{4})(?![\w-])", real.bank_card),
    Rule("bank-card", _NUMBER, r"(?<![\w.+-])3[47]\d{2}[ -]?\d{6}[ -]?\d{5}(?![\w-])", real.bank_card),
    Rule("phone", _NUMBER,
         r"(?<![\w.+-])(?:\+?86[ -]?)?1(?:3\d|4[5-9]|5[0-35-9]|6[2567]|7[0-8]|8\d|9[0-35-9])"
         r"(?:\d{8}|-\d{4}-\d{4}| \d{4} \d{4})(?![\w-])", real.phone),
    Rule("phone", _NUMBER,
         r"(?<![\w.+)-])\+[1-9]\d{0,2}(?:[ .-]?\(\d{1,4}\))?(?:[ .-]?\d{2,5}){2,5}(?![\w-])", real.phone),
    Rule("phone", _NUMBER, r"(?<![\w.+-])\(?0(?:10|2\d|[3-9]\d{2})\)?[ -][2-8]\d{6,7}(?![\w-])", real.phone),
    Rule("high-entropy", (), r"(?<![A-Za-z0-9_+/=.-])[A-Za-z0-9+/_-]{32,100}+={0,2}(?![A-Za-z0-9_+/=-])", real.random),
)  # fmt: skip
"""In order of precedence: where two rules match the same place, the first one names it."""


def redact(text: str, extra: Sequence[str] = ()) -> tuple[str, tuple[Masked, ...]]:
    """Return *text* with every secret as `[redacted:<rule>]`, and what was masked in the order of the text.

    *extra* are further regular expressions (`private_words` of kb.toml); raise BadInput for one that is none.
    """
    spans = _spans(text, extra)
    return _apply(text, spans), tuple(Masked(span.rule, line) for span, line in _with_lines(text, spans))


def secrets(text: str, extra: Sequence[str] = ()) -> Iterator[tuple[int, str]]:
    """Yield the 1-based line and the rule of every place that `redact` would mask, in the order of *text*."""
    for span, line in _with_lines(text, _spans(text, extra)):
        yield line, span.rule


def redacted(candidate: Candidate, extra: Sequence[str] = ()) -> tuple[Candidate, tuple[Masked, ...]]:
    """Return *candidate* with every text in it masked, down to tags, claims and evidence, and what was masked."""
    found: list[Masked] = []
    values: dict[str, Any] = {}
    for field, value in candidate._asdict().items():
        places: list[Masked] = []
        values[field] = value if field == "kind" else _redacted(value, extra, places)
        found += [masked._replace(field=field) for masked in places]
    return candidate._replace(**values), tuple(found)


def _redacted(value: object, extra: Sequence[str], found: list[Masked]) -> object:
    if isinstance(value, str):
        text, places = redact(value, extra)
        found += places
        return text
    if isinstance(value, Mapping):
        return {_redacted(key, extra, found): _redacted_value(str(key), value[key], extra, found) for key in value}
    if isinstance(value, tuple):
        items = [_redacted(item, extra, found) for item in value]
        return value._make(items) if hasattr(value, "_make") else tuple(items)
    return value


def _redacted_value(key: str, value: str, extra: Sequence[str], found: list[Masked]) -> object:
    """Return *value* masked as an assignment to *key* would be: in a map, the key may be what gives a secret away."""
    text, places = redact(f"{key}: {value}", extra)
    if not text.startswith(f"{key}: "):
        return _redacted(value, extra, found)
    found += places
    return text[len(key) + 2 :]


# -- spans ----------------------------------------------------------------------------------------


def _spans(text: str, extra: Sequence[str]) -> list[_Span]:
    """Return the disjoint places of *text* to mask, in order."""
    spans: list[_Span] = []
    while True:
        now = _apply(text, spans)
        found = _disjoint(list(_found(now, extra)))
        if not found:
            return spans
        spans = sorted([*spans, *_translated(found, spans)])


def _found(text: str, extra: Sequence[str]) -> Iterator[_Span]:
    """Yield what the rules match in *text*, in order of precedence, but nothing that touches a mask."""
    masks = [match.span() for match in _MASK.finditer(text)]
    starts = [start for start, _ in masks]
    lower = text.replace("İ", "I").lower()  # the one letter that grows in lower case
    numbers = [match.start() for match in _LONG_NUMBER.finditer(text)]
    for rule in (*(Rule("private-word", (), pattern) for pattern in extra), *RULES):
        done = 0
        for match in _matches(rule, text, lower, numbers):
            group = match.lastindex or 0
            start, end = match.span(group)
            before = bisect_right(starts, end - 1) - 1
            touches_mask = before >= 0 and masks[before][1] > start
            if done <= start < end and not touches_mask and rule.check(match, group):
                yield _Span(start, end, rule.name)
                done = end


def _matches(rule: Rule, text: str, lower: str, numbers: Sequence[int]) -> Iterator[re.Match[str]]:
    """Yield the matches of *rule* in *text*: from its starts, which is ten times faster than from every character."""
    if not rule.starts:
        yield from _compiled(rule.pattern).finditer(text)
        return
    seen = 0
    for position in numbers if rule.starts is _NUMBER else sorted(_places(rule.starts, lower)):
        match = _compiled(rule.pattern).match(text, position) if position >= seen else None
        if match:
            yield match
            seen = match.end() - _LOOKED_INTO


def _places(words: Sequence[str], text: str) -> Iterator[int]:
    for word in words:
        position = text.find(word)
        while position >= 0:
            yield position
            position = text.find(word, position + 1)


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Compile on first use: most texts need few of the rules, and a hook would feel forty compilations."""
    try:
        return re.compile(pattern)
    except re.error as error:
        problem = say("the private word {pattern} is no regular expression: {problem}", pattern=pattern, problem=error)
        raise BadInput(problem, hint=say("correct private_words in kb.toml")) from None


def _disjoint(spans: list[_Span]) -> list[_Span]:
    """Return *spans* with overlapping ones joined; the one of highest precedence (listed first) gives the name."""
    joined: list[tuple[int, _Span]] = []
    for rank, span in sorted(enumerate(spans), key=lambda item: (item[1].start, item[0])):
        if joined and span.start < joined[-1][1].end:
            best, last = joined[-1]
            rule = span.rule if rank < best else last.rule
            joined[-1] = (min(best, rank), _Span(last.start, max(last.end, span.end), rule))
        else:
            joined.append((rank, span))
    return [span for _, span in joined]


def _translated(found: list[_Span], applied: list[_Span]) -> Iterator[_Span]:
    """Yield *found*, places in the text with *applied* masked, as places in the original text."""
    growth = [len(_mask(span.rule)) - (span.end - span.start) for span in applied]
    shifts = [0, *accumulate(growth)]
    starts = [span.start + shift for span, shift in zip(applied, shifts, strict=False)]
    for span in found:
        shift = shifts[bisect_right(starts, span.start)]
        yield _Span(span.start - shift, span.end - shift, span.rule)


def _apply(text: str, spans: list[_Span]) -> str:
    pieces: list[str] = []
    end = 0
    for span in spans:
        pieces += (text[end : span.start], _mask(span.rule))
        end = span.end
    return "".join([*pieces, text[end:]])


def _mask(rule: str) -> str:
    return f"[redacted:{rule}]"


def _with_lines(text: str, spans: list[_Span]) -> Iterator[tuple[_Span, int]]:
    line, position = 1, 0
    for span in spans:
        line += text.count("\n", position, span.start)
        position = span.start
        yield span, line
