"""Distinguish secrets from lookalikes: placeholders, names, code, paths, hashes, other numbers.

Each check takes a match and the group to mask.
"""

from __future__ import annotations

import binascii
import math
import re
from collections import Counter
from itertools import pairwise

from kb.startup.lazy_regex import regex

# Placeholders for a value.
_FRAME = regex(
    r"^(?:<.*>?|\{.*\}?|\$(?:[({].*|[A-Za-z_][\w.:-]*|\d)|%\w+%?|%\(.*|\*+)$|\{\{|\$\{|\.\.\.|…(?!$)|^.{0,5}…$|\*{3}"
)
_MODEL = regex(
    r"(?i)x{5}|^x+$|your|^(?:an?-?|my-?|the-?)?(?:example|sample)|placeholder|change-?_?me|dummy|redacted|hidden"
    r"|to-?_?do\b|insert-|replace-?_?|^(?:null|none|nil|true|false|undefined)$"
)
_NAME = regex(r"(?:[A-Za-z]+|v?\d{1,4})(?:[-_./: ]+(?:[A-Za-z]+|v?\d{1,6}))*[.:!?]?")
_TERM = regex(
    r"(?i)(?:hmac-?)?(?:sha|md|aes|rsa|hs|rs|es|ps|ed|ecdsa|curve|x|utf|base|http|oauth|pbkdf|argon|scrypt|bcrypt|ipv"
    r"|u?int|float|varchar|char|python|sqlite|tls|k8s|s3|neo4j|log4j)[-_]?\d*\w{0,4}(?:[-_]\w{1,8}){0,2}"
)
_PIECE = r"(?:[A-Z]?[a-z]+|[A-Z]+)\d{0,3}|\d{1,6}"
_WORDY = regex(rf"[-_./:@+~]*(?:{_PIECE})(?:[-_./:@+~]+(?:{_PIECE}|$))+")
CAMEL = regex(r"[a-z][A-Z]")
_HUMP = regex(r"[A-Z]?[a-z]+|[A-Z]+|\d+")
_DIGIT = regex(r"\d")
_LETTER = regex(r"[^\W\d_]")
# Words of sentences and of forms; a passphrase has none of them.
_FUNCTION_WORDS = frozenset(
    """
    a an the is are was be been must should may can will not no or and of to in on at for from by with as it its this
    that your you my our their has have does do did if then than when never always only per enter please type choose
    select confirm forgot reset change new old current wrong invalid required incorrect missing empty too short long
    weak strong least characters password passwords secret token field input form label login log sign user username
    email policy store file manager hash hashed hashing encoder validator provider length min max minimum maximum auth
    config env string number value key keys using used use between into via grant flow based
    """.split()
)

# Beginnings of tokens that services issue, in lower case; whether a token follows is seen from its characters.
_ISSUED = tuple(
    """
    ablk age-secret-key-1 aiza akcp akia akid amzn1.oa2-cs. apify_api_ aq.ab8 asia atatt3 atbb atctt3 bb_live_ bkaj_
    bkua_ ccipat_ ccipt_ cfpat- cio clojars_ dapi dckr_oat_ dckr_pat_ ddp_ ddw_ doo_v1_ dop_v1_ dor_v1_ dp.audit.
    dp.ct. dp.pt. dp.sa. dp.scim. dp.st. dt0c01. duffel_live_ e2b_ eaaa eaac eaag eyj ezak figd_ figu_ fio-u- flwseck-
    fm1_ fm2_ fo1_ fw_ fwogzxivyxdz gho_ ghp_ ghr_ ghs_ ghu_ github_pat_ glc_ gldt- glpat- glrt- glsa_ glwt- gocspx-
    gr1348941 gsk_ hcaik_ hf_ hrku- hvb. hvr. hvs. ico- iqojb3jpz2lux2vj jina_ key- lin_api_ lin_oauth_ lsv2_ ltai
    mlsn. napi_ nfc_ nfp_ npm_ nrak- ntn_ nvapi- ops_eyj oy2 pat-eu1- pat-na1- pcsk_ phx_ pk.eyj pmak- pnu_ pplx-
    pscale_ pul- pypi- r8_ rdme_ re_ rk_ rnd_ rubygems_ rzp_live_ sb_secret_ sbp_ secret_ sg. sgp_ sha256~
    shippo_live_ shpat_ shpca_ shppa_ shpss_ sk- sk.eyj sk_ sl. sm_pat_ sntrys_ sntryu_ snyk_uat. sq0atp- sq0csp- sqa_
    sqp_ squ_ tfp_ tgp_v1_ tk-us- tskey- tvly- vcp_ whsec_ xai- xapp- xkeysib- xox xsmtpsib- y0_ ya29.
    """.split()
)


def compute_entropy(value: str) -> float:
    """Return the Shannon entropy of *value*, in bits per character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def has_token_prefix(value: str) -> bool:
    """Return whether *value* begins like the tokens of a service."""
    return value[:1].isalpha() and value.lower().startswith(_ISSUED)


def has_letters_and_digits(value: str) -> bool:
    """Return whether *value* has both digits and letters."""
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def is_placeholder(value: str) -> bool:
    """Return whether *value* is a placeholder for a real value."""
    return bool(_FRAME.search(value)) or (bool(_MODEL.search(value)) and not is_random_looking(value, 3.0))


def is_plausible_value(value: str) -> bool:
    """Return whether *value* can be real: neither a placeholder nor one repeated character."""
    return not is_placeholder(value) and len(set(value)) > 2


def is_random_looking(value: str, longest: float = 3.4) -> bool:
    """Return whether *value* looks random: sixteen or more letters and digits that often change their class.

    Runs of one class, "A" or "Ab" or "12", are two characters long in base-62 text and four or more in names.
    """
    body = re.sub(r"[^A-Za-z0-9]", "", value.rstrip("="))
    if len(body) < 16 or len(set(body)) < 8:
        return False
    if re.fullmatch(r"(?:0x)?[0-9a-f]+|[0-9A-F]+", body):
        return has_letters_and_digits(body)
    if body.isdigit() or (body.isalpha() and (body.islower() or body.isupper())):
        return False
    longest = 8.0 if body.isupper() else 4.5 if value.islower() and len(value) > 24 else longest
    return (
        len(body) / len(_HUMP.findall(body)) < longest and compute_entropy(body) >= 3.0 and not _WORDY.fullmatch(value)
    )


def is_passphrase(value: str) -> bool:
    """Return whether *value* is a few words that form no sentence."""
    words = re.split(r"[ -]", value)
    if not 3 <= len(words) <= 24 or not all(re.fullmatch(r"[A-Za-z]{2,14}", word) for word in words):
        return False
    return not any(word.lower() in _FUNCTION_WORDS for word in words)


def is_name_like(value: str) -> bool:
    """Return whether *value* consists of words and small numbers, or is a technical term."""
    return any(form.fullmatch(value) for form in (_NAME, _TERM))


_KEYWORD = regex(r"(?i)passw(?:or)?d|secret|token|credential|^(?:api|access|private|auth)[_-]?key")
_CODE = regex(
    r"\w+(?:(?:\.|::|->)\w+)+|.*(?:::|->|//).*|[a-z]+(?:\|[a-z_]+(?::[\w,]+)?)+|0[xX][0-9A-Fa-f]+|@\w.*"
    r"|\w+-\w+-[\w-]*[A-Za-z]{3}"
)
_PATH = regex(r"(?:~?\.{0,2}/|[A-Za-z]:[\\/]).*|[\w.-]+(?:/[\w.-]+)+\.\w{1,5}")
_QUANTITY = regex(r"(?i)[\d.,_~-]+(?:[a-z%]{1,6}|[- ][a-z]+)?")
_HEX = regex(r"(?i)[0-9a-f-]+")
_PUBLIC = regex(r"(?i)(?:sha\d{1,3}[-:=]|h1:|integrity=|base64,|ssh-\S{1,20} )$")
_FILE = regex(r"(?i)(?:png|jpe?g|gif|svg|webp|ico|s?css|json|ya?ml|toml|lock|html?|[jt]sx|js|xml|txt|pdf|zip|class)")
_RESERVED = regex(r"(?i)(?:.*\.)?(?:(?:your-?)?(?:domain|company)\.\w+(?:\.cn)?|test|invalid|localhost|local)")
_ROLE = regex(r"(?i)git|hg|svn|root|no-?reply|do-?not-?reply")
_ATTRIBUTE = regex(r"(?i)path|domain|expires|max-age|samesite|priority|version")
_REQUESTED = r"(?:sha\d{1,3}-|(?:req|(?:agent_)?msg|(?:srv)?toolu|call|run|resp|chatcmpl)[_-])"
_REQUEST = regex(_REQUESTED)
_ID = regex(_REQUESTED + r".*|(?:.*[_/+-])?[0-9a-f]{16,}(?:[_/+-].*)?")
_UNITS = regex(r"(?i)\s?(?:bytes?|[kmg]i?b\b|[mnuμ]?s\b|ns\b|ops|rows?|字节|行|毫秒|秒|条|个|次|元)")
_BASE64_LINE = regex(r"[A-Za-z0-9+/]{16,}={0,2}|-----.*|.*base64,.*|ssh-\S+ .*")
_MASK = regex(r"\[redacted:[a-z0-9-]+\]")
_UUID = regex(r"(?i)[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# Names of sessions, their files and projects by hosts and kb, which give no access to anything
_SESSION_NAME = regex(
    r"(?:ses_[0-9a-f]{10,12}[0-9A-Za-z]{8,16}"
    r"|rollout-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    r"|session-\d{4}-\d\d-\d\dT\d\d-\d\d(?:-\d\d)?-[0-9a-f]{8}|agent-[0-9a-f]{7,17}"
    r"|(?:project/[a-z0-9.-]{1,60}-|(?:[a-z]{1,20}\d{0,2}[.-]){1,4})(?:[0-9a-f]{6}){1,2}"
    r"|[\w.-]{1,80}-\d{8}-\d{6}-[\w-]{1,8}(?:-\d{1,3})?)(?:\.jsonl?|\.md)?"
)
# Behind the name of a session: a report in its archive.
_REPORT = regex(r"/reports/[\w-]{1,60}\.md\Z")
_TELLING_WORDS = (
    r"(?i)(?:passw(?:or)?d|passphrase|secret|token|credential|(?<![a-z])pat(?![a-z])|密码|口令|令牌|密钥|秘钥|私钥|加密串"
    r"|(?:api|access|private|auth|account|app|client|sign(?:ing)?|encryption|master|service|secret)[ _-]?key"
)
_TELLING = regex(_TELLING_WORDS + r"|session|(?<![a-z])auth(?![a-z]))")
_TOLD_BEFORE = regex(_TELLING_WORDS + r")[\s\"'`()\[:=（）：]{0,4}$")
_AS = regex(r"(?i)[\s\"'`]{0,2}(?:as|for|作为?|当|做|设为)(?![a-z])")
_PUBLIC_WORD = regex(
    r"(?i)commit|sha\d|sha[ :=-]|md5|digest|hash|checksum|etag|revision|trace|span|request|version|fingerprint|tree "
    r"|blob|object|uid|integrity|public|提交|哈希|摘要|校验|公钥"
)
_HARMLESS_KEY = regex(
    r"(?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))(?i:primary|foreign|public|cache|partition|sort|row|object|hot|shard|unique"
    r"|composite|idempoten(?:cy|t)|routing|map|dict|json|lookup|natural|surrogate|dedup|group|index|registry|config|i18n"
    r"|translation|storage|local|bucket|hash|s3|msg|message|issue|jira|project|react|data|cookie|query|redis|search|sorted"
    r"|range|candidate|join|super|mon|tur|don|whis)[ _-]?$"
)
_KEY_OF = regex(r"(?i)(?:api|access|private|auth|account|signing|encryption|master|app|client|license|secret)[_ -]?$")
# Names so short that only a random-looking value makes them names of a secret
_WEAK = ("pat", "ak ", "sk ", "ak:", "sk:", "ak=", "sk=")
_ID_WEIGHTS = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
_ID_CHECKS = "10X98765432"


def accept_match(match: re.Match[str], group: int) -> bool:
    """Accept every match of an unambiguous pattern."""
    return True


def is_token(match: re.Match[str], group: int) -> bool:
    """Accept a token that is no placeholder and no word: at least 8 different characters, random-looking or mixed."""
    value = match[group]
    if not has_distinct_characters(match, group):
        return False
    if is_random_looking(value) or CAMEL.search(value):
        return True
    return has_letters_and_digits(value) and not is_name_like(value)


def has_distinct_characters(match: re.Match[str], group: int) -> bool:
    """Accept a token with a distinctive prefix and length: at least 8 different characters."""
    return len(set(match[group])) >= 8 and not is_placeholder(match[group])


def is_random_value(match: re.Match[str], group: int) -> bool:
    """Accept only random-looking values."""
    return is_plausible_value(match[group]) and is_random_looking(match[group])


def is_encoded_private_key(match: re.Match[str], group: int) -> bool:
    """Accept base64 that decodes to the header of a private key, but not to that of a certificate."""
    return b"PRIVATE KEY" in binascii.a2b_base64(match[group][:64])


def is_iban(match: re.Match[str], group: int) -> bool:
    """Accept an account number whose check digits are right (ISO 13616, modulo 97)."""
    plain = match[group].replace(" ", "").upper()
    return 15 <= len(plain) <= 34 and int("".join(str(int(char, 36)) for char in plain[4:] + plain[:4])) % 97 == 1


def is_service_token(match: re.Match[str], group: int) -> bool:
    """Accept values with the prefix of a service's tokens and a random-looking rest."""
    value = match[group]
    if not has_token_prefix(value) or not is_plausible_value(value):
        return False
    return is_random_looking(value, 4.5) or re.search(r"[0-9a-f]{32}$", value) is not None


def is_truncated_token(match: re.Match[str], group: int) -> bool:
    """Accept the beginning of a token that was cut short where a text was shortened."""
    value = match[group]
    is_mixed = has_letters_and_digits(value) or CAMEL.search(value) is not None
    return has_token_prefix(value) and is_mixed and not is_name_like(value)


def has_key_material(match: re.Match[str], group: int) -> bool:
    """Accept a private key block with key material, not one in prose or shortened with dots."""
    return re.search(r"[A-Za-z0-9+/]{20}", match[group].split("-----", 2)[2]) is not None


def is_command_password(match: re.Match[str], group: int) -> bool:
    """Accept a literal password on a command line: no variable, no option, no file."""
    value = match[group]
    is_reference = value.startswith(("-", "file:", "env:", "<")) or _PATH.fullmatch(value)
    return is_plausible_value(value) and not is_reference


def is_piped_password(match: re.Match[str], group: int) -> bool:
    """Accept text piped into a program that reads a password."""
    behind = match.string[match.end() : match.end() + 120]
    reader = re.match(r"[^\n]{0,80}?(?:chpasswd|passwd\s--stdin|sudo\s-S|--password-stdin)", behind)
    return reader is not None and is_command_password(match, group)


def is_netrc_password(match: re.Match[str], group: int) -> bool:
    """Accept the value after "password" if a login or a machine precedes it, as in a .netrc."""
    before = match.string[max(0, match.start() - 160) : match.start()]
    login = re.search(r"(?:login|user|account)\s{1,4}\S{1,64}(?:\s|\\{1,7}n){0,20}$", before)
    return login is not None and is_command_password(match, group)


def is_url_password(match: re.Match[str], group: int) -> bool:
    """Accept the password of a URL unless it is a placeholder or a bare port."""
    value = match[group]
    return not is_placeholder(value) and not _KEYWORD.fullmatch(value) and value.lower() not in ("pass", "pwd")


def is_authorization_header(match: re.Match[str], group: int) -> bool:
    """Accept the credentials of an Authorization header: user and password in base64, or a token."""
    value = match[group]
    if re.search(r"(?i)basic\s+$", match.string[max(0, match.start(group) - 12) : match.start(group)]):
        return is_basic_credentials(match, group)
    is_mixed = has_letters_and_digits(value) or is_random_looking(value)
    return is_mixed and is_plausible_value(value) and not is_name_like(value)


def is_basic_credentials(match: re.Match[str], group: int) -> bool:
    """Accept base64 of "user:password"."""
    value = match[group].rstrip("=")
    try:
        user, colon, rest = binascii.a2b_base64(value + "=" * (-len(value) % 4)).partition(b":")
        return bool(colon and rest) and (user + rest).decode().isprintable()
    except (binascii.Error, UnicodeDecodeError):
        return False


def has_secret_cookie(match: re.Match[str], group: int) -> bool:
    """Accept a cookie header with a random-looking value."""
    pairs = (pair.strip().partition("=")[::2] for pair in match[group].split(";"))
    values = [value for name, value in pairs if len(value) >= 6 and not _ATTRIBUTE.fullmatch(name)]
    return any(has_letters_and_digits(value) and is_plausible_value(value) for value in values)


def is_assigned_password(match: re.Match[str], group: int) -> bool:
    """Accept an assigned password: 6 characters or more, of two classes or only digits, no name, no code; or words."""
    value = match[group]
    is_env = re.fullmatch(r"[A-Z_]+=", match[0]) and re.fullmatch(r"\w{6,}", value)  # SOME_PASSWORD=value
    if is_passphrase(value) or (is_env and not _KEYWORD.search(value) and is_plausible_value(value)):
        return True
    if len(value) < 6 or value.count(" ") > 1 or not (_is_literal_value(match, group) or is_random_looking(value)):
        return False
    return value.isdigit() or has_letters_and_digits(value) or re.search(r"\w[!@#$^&*?~]+\w", value) is not None


def is_pass_value(match: re.Match[str], group: int) -> bool:
    """Accept a value assigned to "pass"; elsewhere the word is a verb, and the value must look like a password."""
    assigned = re.match(r"[\"'`\])]{0,2}\s?[:=]", match.string[match.start() + 4 : match.start() + 8])
    if assigned and not match[0].startswith("PASS:"):
        return is_assigned_password(match, group)
    return is_evident_password(match, group)


def is_assigned_secret(match: re.Match[str], group: int) -> bool:
    """Accept an assigned token or key: 8 characters or more with letters and digits, no name, no code, no sentence."""
    value = _REPORT.sub("", match[group])
    if len(value) < 8 or " " in value or len(set(value)) < 6 or not is_plausible_value(value):
        return False
    word = match[0][:3].lower()
    before = match.string[max(0, match.start() - 16) : match.start()]
    if word == "key" and _HARMLESS_KEY.search(before):  # a primary key, a cache key
        return False
    if word == "ses" and _SESSION_NAME.fullmatch(value):
        return _KEYWORD.search(match[0][: match.start(group) - match.start()]) is not None
    if _UUID.fullmatch(value):
        return not match[0].lower().startswith("session")
    is_weak = word in _WEAK or (word == "key" and not _KEY_OF.search(before[-12:]))
    if is_random_looking(value):
        return True
    return not is_weak and has_letters_and_digits(value) and _is_literal_value(match, group)


def is_evident_password(match: re.Match[str], group: int) -> bool:
    """Accept a value that looks like a password by itself: digits and letters, and a sign or several digits."""
    value = match[group]
    if value.count("-") > 2 and is_passphrase(value):
        return True
    if len(value) < 8 or not is_plausible_value(value) or not has_letters_and_digits(value):
        return False
    if is_name_like(value) or _PATH.fullmatch(value):
        return False
    if is_random_looking(value):
        return True
    if re.search(r"[=()\[\]{}\"'<>]|@[\w.-]+\.\w+$", value):
        return False
    signed = re.search(r"[!@#$^*?~]", value.rstrip("!?")) is not None
    letters = sum(char.isalpha() for char in value)
    return _is_literal_value(match, group) and letters > 2 and (signed or sum(char.isdigit() for char in value) > 1)


def is_option_secret(match: re.Match[str], group: int) -> bool:
    """Accept the value of an option such as --password or --api-key."""
    named = re.search(r"(?i)pass|pwd", match[0][: match.start(group) - match.start()])
    return is_assigned_password(match, group) if named else is_assigned_secret(match, group)


def is_secret_by_context(match: re.Match[str], group: int) -> bool:
    """Accept a random-looking value on the same line as a word for secrets, unless it is called public.

    A hexadecimal number may be a commit or an id, so the word must be next to it.
    """
    value = match[group]
    if not is_random_looking(value, 3.0):
        return False
    before = _MASK.sub("", match.string[max(0, match.start() - 100) : match.start()]).rpartition("\n")[2][-60:]
    behind = _MASK.sub("", match.string[match.end() : match.end() + 80]).partition("\n")[0][:40]
    if re.fullmatch(r"(?:0x)?[0-9A-Fa-f-]+", value):
        told = _TOLD_BEFORE.search(before) or (_AS.match(behind) and _TELLING.search(behind))
    else:
        told = _TELLING.search(before) or _TELLING.search(behind)
    if not told or _is_wrapped_base64(match) or not is_plausible_value(value):
        return False
    if _SESSION_NAME.fullmatch(value):
        return _TOLD_BEFORE.search(before) is not None
    return not _PUBLIC_WORD.search(before[-28:]) and not _REQUEST.match(value)


def is_personal_email(match: re.Match[str], group: int) -> bool:
    """Accept an address that may belong to a person: no reserved domain, no role without a reader, no file name."""
    local, _, domain = match[group].replace("%40", "@").rpartition("@")
    if _ROLE.fullmatch(local) or _RESERVED.fullmatch(domain) or re.match(r"\dx\.", domain):
        return False
    if re.search(r"://[^\s/?#\"'<>]{0,100}$", match.string[max(0, match.start() - 110) : match.start()]):
        return False
    return not _FILE.fullmatch(domain.rpartition(".")[2])


def is_phone_number(match: re.Match[str], group: int) -> bool:
    """Accept 8–15 digits (E.164) without a unit after them; a "+" at the start of a line may be from a diff."""
    value = match[group]
    digits = re.sub(r"\D", "", value)
    if not 8 <= len(digits) <= 15 or _UNITS.match(match.string, match.end()) or len(set(digits)) < 4:
        return False
    foreign = value.startswith("+") and not value.startswith("+86")
    starts_line = match.start() == 0 or match.string[match.start() - 1] == "\n"
    return not (foreign and starts_line and value[1:].isdigit())


def is_identity_number(match: re.Match[str], group: int) -> bool:
    """Accept a Chinese identity number whose check digit is right (GB 11643-1999)."""
    digits = re.sub(r"[ -]", "", match[group])
    total = sum(int(digit) * weight for digit, weight in zip(digits, _ID_WEIGHTS, strict=False))
    return _ID_CHECKS[total % 11] == digits[17].upper()


def is_card_number(match: re.Match[str], group: int) -> bool:
    """Accept a card number with a correct check digit (ISO/IEC 7812-1, Luhn) that is not one repeated digit."""
    digits = [int(digit) for digit in match[group] if digit.isdigit()]
    doubled = [digit * 2 - 9 * (digit > 4) for digit in digits[-2::-2]]
    return (sum(digits[::-2]) + sum(doubled)) % 10 == 0 and len(set(digits)) > 1


def is_random_string(match: re.Match[str], group: int) -> bool:
    """Accept a random-looking string: all classes of characters, changing often, 4 bits each or more.

    Random base-62 text changes its character class at 0.6 of its places, camel-case names at less than 0.3.
    """
    value = match[group]
    before = match.string[max(0, match.start() - 24) : match.start()]
    if _HEX.fullmatch(value) or _ID.fullmatch(value) or _SESSION_NAME.fullmatch(value) or value.startswith("AAAA"):
        return False
    if _PUBLIC.search(before) or _PUBLIC_WORD.search(before) or _is_wrapped_base64(match):
        return False
    sorts = [0 if c.islower() else 1 if c.isupper() else 2 if c.isdigit() else 3 for c in value]
    changes = sum(a != b for a, b in pairwise(sorts)) / (len(value) - 1)
    drawn = changes >= 0.36 and compute_entropy(value) >= 4.0 and is_random_looking(value, 3.0)
    return {0, 1, 2} <= set(sorts) and drawn and is_plausible_value(value)


def _is_wrapped_base64(match: re.Match[str]) -> bool:
    """Return whether the match is one whole line of wrapped base64: a certificate, a public key, an image."""
    text, start, end = match.string, match.start(), match.end()
    before, behind = text[max(0, start - 90) : start], text[end : end + 90]
    if end - start not in (64, 72, 76) or before.rpartition("\n")[2].strip() or behind[:1] not in ("", "\n", "\r"):
        return False
    lines = (before.rstrip().rpartition("\n")[2], behind.strip().partition("\n")[0])
    return any(_BASE64_LINE.fullmatch(line.strip()) for line in lines)


def _is_literal_value(match: re.Match[str], group: int) -> bool:
    """Return whether an assigned value is literal: no placeholder, name, code, path or amount."""
    value = match[group]
    if not is_plausible_value(value) or is_name_like(value) or _KEYWORD.search(value) or _PATH.fullmatch(value):
        return False
    quoted = match.string[match.start(group) - 1] in "\"'`"
    follower = match.string[match.end(group) : match.end(group) + 1]
    element = follower == "<" and match.string[match.start(group) - 1] == ">"
    if not quoted and not element and (_CODE.fullmatch(value) or follower in ("(", "[", "{", "<")):
        return False
    return value.isdigit() or not _QUANTITY.fullmatch(value)
