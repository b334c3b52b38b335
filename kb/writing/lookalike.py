"""Tell a secret from what only looks like one: placeholders, names, code, paths, hashes, other numbers.

The checks of `kb.writing.redact`: each takes a match and the group that would be masked.
"""

import binascii
import math
import re
from collections import Counter
from itertools import pairwise

from kb.patterns import regex

_PLACEHOLDER = regex(
    r"(?i)^(?:<.*>?|\{.*\}?|\$[\w({].*|%\w+%?|%\(.*|\*+)$|\{\{|\$\{|\.\.\.|…|\*{3}|x{5}|^x+$|your|^(?:an?-?|my-?|the-?)?(?:example|sample)|placeholder"
    r"|change-?_?me|dummy|redacted|hidden|to-?_?do\b|insert-|replace-?_?|^(?:null|none|nil|true|false|undefined)$"
)
_KEYWORD = regex(r"(?i)passw(?:or)?d|secret|token|credential|^(?:api|access|private|auth)[_-]?key")
_NAME = regex(r"(?:[A-Za-z]+|v?\d{1,4})(?:[-_./: @]+(?:[A-Za-z]+|v?\d{1,4}))*[.:!?]?")
_CODE = regex(r"\w+(?:(?:\.|::|->)\w+)+|.*(?:::|->|//).*|0[xX][0-9A-Fa-f]+|@\w.*|\w+-\w+-[\w-]*[A-Za-z]{3}")
_PATH = regex(r"(?:~?\.{0,2}/|[A-Za-z]:[\\/]).*|[\w.-]+(?:/[\w.-]+)+\.\w{1,5}")
_TERM = regex(
    r"(?i)(?:hmac-?)?(?:sha|md|aes|rsa|hs|rs|es|ps|ed|ecdsa|curve|x|utf|base|http|oauth|pbkdf|argon|scrypt|bcrypt|ipv|u?int|float"
    r"|varchar|char|python|sqlite|tls|k8s|s3|neo4j|log4j)[-_]?\d*\w{0,4}(?:[-_]\w{1,8}){0,2}"
)
_QUANTITY = regex(r"(?i)[\d.,_~-]+(?:[a-z%]{1,6}|[- ][a-z]+)?")
_HEX = regex(r"(?i)[0-9a-f-]+")
_PUBLIC = regex(r"(?i)(?:sha\d{1,3}[-:=]|h1:|integrity=|base64,|ssh-\S{1,20} )$")
_FILE = regex(r"(?i)(?:png|jpe?g|gif|svg|webp|ico|s?css|json|ya?ml|toml|lock|html?|[jt]sx|js|xml|txt|pdf|zip|class)")
_RESERVED = regex(r"(?i)(?:.*\.)?(?:(?:your-?)?(?:domain|company)\.\w+(?:\.cn)?|test|invalid|localhost|local)")
_ROLE = regex(r"(?i)git|hg|svn|root|no-?reply|do-?not-?reply")
_ATTRIBUTE = regex(r"(?i)path|domain|expires|max-age|samesite|priority|version")
_ID = regex(r"(?:sha\d{1,3}-|(?:req|msg|toolu|call|run|resp|chatcmpl)[_-]).*|(?:.*[_/+-])?[0-9a-f]{16,}(?:[_/+-].*)?")
_UNITS = regex(r"(?i)\s?(?:bytes?|[kmg]i?b\b|[mnuμ]?s\b|ns\b|ops|rows?|字节|行|毫秒|秒|条|个|次|元)")
_DIGIT = regex(r"\d")
_LETTER = regex(r"[^\W\d_]")
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"


def always(match: re.Match[str], group: int) -> bool:
    """Accept what a pattern leaves no doubt about."""
    return True


def token(match: re.Match[str], group: int) -> bool:
    """Accept a token that is no placeholder and no word: at least 8 different characters, a digit and a letter."""
    value = match[group]
    return len(set(value)) >= 8 and not _PLACEHOLDER.search(value) and _mixed(value) and not _is_name(value)


def key_block(match: re.Match[str], group: int) -> bool:
    """Accept a private key block that holds key material, not one in prose or cut short with dots."""
    return re.search(r"[A-Za-z0-9+/]{20}", match[group].split("-----", 2)[2]) is not None


def url_password(match: re.Match[str], group: int) -> bool:
    """Accept the password of a URL unless it is a placeholder or a bare port."""
    value = match[group]
    return not _PLACEHOLDER.search(value) and not _KEYWORD.fullmatch(value) and value.lower() not in ("pass", "pwd")


def header(match: re.Match[str], group: int) -> bool:
    """Accept the credentials of an Authorization header: user and password in base64, or a token."""
    value = match[group]
    if re.search(r"(?i)basic\s+$", match.string[max(0, match.start(group) - 12) : match.start(group)]):
        return _names_user_and_password(value)
    return _mixed(value) and _used(value) and not _is_name(value)


def cookie(match: re.Match[str], group: int) -> bool:
    """Accept a cookie header in which some value looks drawn by a machine."""
    pairs = (pair.strip().partition("=")[::2] for pair in match[group].split(";"))
    return any(
        not _ATTRIBUTE.fullmatch(name) and len(value) >= 6 and _mixed(value) and _used(value) for name, value in pairs
    )


def password(match: re.Match[str], group: int) -> bool:
    """Accept an assigned password: 6 characters or more, of two sorts or only digits, no name and no code."""
    value = match[group]
    if _shouted(match) and re.fullmatch(r"\w{6,}", value) and not _KEYWORD.search(value) and _used(value):
        return True
    if len(value) < 6 or value.count(" ") > 1 or not _literal(match, group):
        return False
    return value.isdigit() or _mixed(value) or re.search(r"\w[!@#$^&*?~]+\w", value) is not None


def secret(match: re.Match[str], group: int) -> bool:
    """Accept an assigned token or key: 8 characters or more with letters and digits, no name, no code, no sentence."""
    value = match[group]
    return len(value) >= 8 and " " not in value and _mixed(value) and len(set(value)) >= 6 and _literal(match, group)


def email(match: re.Match[str], group: int) -> bool:
    """Accept an address that may belong to a person: no reserved domain, no role without a reader, no file name."""
    local, _, domain = match[group].rpartition("@")
    if _ROLE.fullmatch(local) or _RESERVED.fullmatch(domain) or re.match(r"\dx\.", domain):
        return False
    return not _FILE.fullmatch(domain.rpartition(".")[2])


def phone(match: re.Match[str], group: int) -> bool:
    """Accept 8–15 digits (E.164) that no unit follows; at the start of a line "+" alone may be a diff's."""
    value = match[group]
    digits = re.sub(r"\D", "", value)
    if not 8 <= len(digits) <= 15 or _UNITS.match(match.string, match.end()) or len(set(digits)) < 4:
        return False
    foreign = value.startswith("+") and not value.startswith("+86")
    starts_line = match.start() == 0 or match.string[match.start() - 1] == "\n"
    return not (foreign and starts_line and value[1:].isdigit())


def id_card(match: re.Match[str], group: int) -> bool:
    """Accept a Chinese identity number whose check digit is right (GB 11643-1999)."""
    digits = match[group]
    total = sum(int(digit) * weight for digit, weight in zip(digits, _ID_WEIGHTS, strict=False))
    return _ID_CHECKS[total % 11] == digits[17].upper()


def bank_card(match: re.Match[str], group: int) -> bool:
    """Accept a card number with a right check digit (ISO/IEC 7812-1, Luhn) that is not one digit again and again."""
    digits = [int(digit) for digit in match[group] if digit.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def random(match: re.Match[str], group: int) -> bool:
    """Accept a string that looks drawn by lot: all sorts of characters, changing often, 4 bits each or more.

    Random base-62 text changes its sort of character at 0.6 of its places, camel-case names at less than 0.3.
    """
    value = match[group]
    before = match.string[max(0, match.start() - 24) : match.start()]
    if (
        _HEX.fullmatch(value)
        or _ID.fullmatch(value)
        or _PUBLIC.search(before)
        or value.startswith("AAAA")
        or _wrapped(match)
    ):
        return False
    sorts = [0 if c.islower() else 1 if c.isupper() else 2 if c.isdigit() else 3 for c in value]
    changes = sum(a != b for a, b in pairwise(sorts)) / (len(value) - 1)
    return {0, 1, 2} <= set(sorts) and changes >= 0.42 and _entropy(value) >= 4.0 and _used(value)


def _wrapped(match: re.Match[str]) -> bool:
    """Tell whether the match is one whole line of wrapped base64: a certificate, a public key, an image."""
    text, start, end = match.string, match.start(), match.end()
    alone = (start == 0 or text[start - 1] in "\n \t") and (end == len(text) or text[end] in "\r\n")
    return alone and end - start in (64, 72, 76)


def _entropy(value: str) -> float:
    """Return the Shannon entropy of *value*, in bits for a character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def _mixed(value: str) -> bool:
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def _names_user_and_password(value: str) -> bool:
    """Tell whether *value* is base64 of "user:password"."""
    try:
        return b":" in binascii.a2b_base64(value.rstrip("=") + "=" * (-len(value.rstrip("=")) % 4))
    except binascii.Error:
        return False


def _used(value: str) -> bool:
    """Tell whether *value* can be in use: it is no placeholder and not one character again and again."""
    return not _PLACEHOLDER.search(value) and len(set(value)) > 2


def _is_name(value: str) -> bool:
    return any(form.fullmatch(value) for form in (_NAME, _TERM))


def _literal(match: re.Match[str], group: int) -> bool:
    """Tell whether an assigned value stands for itself: not for a placeholder, a name, code, a path or an amount."""
    value = match[group]
    if not _used(value) or _is_name(value) or _KEYWORD.search(value) or _PATH.fullmatch(value):
        return False
    quoted = match.string[match.start(group) - 1] in "\"'`"
    follower = match.string[match.end(group) : match.end(group) + 1]
    element = follower == "<" and match.string[match.start(group) - 1] == ">"
    if not quoted and not element and (_CODE.fullmatch(value) or follower in ("(", "[", "{", "<")):
        return False
    return value.isdigit() or not _QUANTITY.fullmatch(value)


def _shouted(match: re.Match[str]) -> bool:
    """Tell whether the assignment has the form of an environment: SOME_PASSWORD=value, without a space."""
    return re.fullmatch(r"[A-Z_]+=", match[0]) is not None
