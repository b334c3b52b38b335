"""What a string looks like by itself: drawn by lot, a name, a placeholder, a few words that are no sentence."""

from __future__ import annotations

import math
import re
from collections import Counter

from kb.startup.lazy_regex import regex

_FRAME = regex(
    r"^(?:<.*>?|\{.*\}?|\$(?:[({].*|[A-Za-z_][\w.:-]*|\d)|%\w+%?|%\(.*|\*+)$|\{\{|\$\{|\.\.\.|…(?!$)|^.{0,5}…$|\*{3}"
)
"""What stands where a value is to be put in."""
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
_SAID = (
    "a an the is are was be been must should may can will not no or and of to in on at for from by with as it its "
    "this that your you my our their has have does do did if then than when never always only per enter please type "
    "choose select confirm forgot reset change new old current wrong invalid required incorrect missing empty too "
    "short long weak strong least characters password passwords secret token field input form label login log sign "
    "user username email policy store file manager hash hashed hashing encoder validator provider length min max "
    "minimum maximum auth config env string number value key keys using used use between into via grant flow based "
)
_FUNCTION_WORDS = frozenset(_SAID.split())
"""Words of sentences and of forms; a passphrase has none of them."""

_ISSUED = (
    "ablk", "age-secret-key-1", "aiza", "akcp", "akia", "akid", "amzn1.oa2-cs.", "apify_api_", "aq.ab8", "asia",
    "atatt3", "atbb", "atctt3", "bb_live_", "bkaj_", "bkua_", "ccipat_", "ccipt_", "cfpat-", "cio", "clojars_",
    "dapi", "dckr_oat_", "dckr_pat_", "ddp_", "ddw_", "doo_v1_", "dop_v1_", "dor_v1_", "dp.audit.", "dp.ct.",
    "dp.pt.", "dp.sa.", "dp.scim.", "dp.st.", "dt0c01.", "duffel_live_", "e2b_", "eaaa", "eaac", "eaag", "eyj",
    "ezak", "figd_", "figu_", "fio-u-", "flwseck-", "fm1_", "fm2_", "fo1_", "fw_", "fwogzxivyxdz", "gho_", "ghp_",
    "ghr_", "ghs_", "ghu_", "github_pat_", "glc_", "gldt-", "glpat-", "glrt-", "glsa_", "glwt-", "gocspx-",
    "gr1348941", "gsk_", "hcaik_", "hf_", "hrku-", "hvb.", "hvr.", "hvs.", "ico-", "iqojb3jpz2lux2vj", "jina_",
    "key-", "lin_api_", "lin_oauth_", "lsv2_", "ltai", "mlsn.", "napi_", "nfc_", "nfp_", "npm_", "nrak-", "ntn_",
    "nvapi-", "ops_eyj", "oy2", "pat-eu1-", "pat-na1-", "pcsk_", "phx_", "pk.eyj", "pmak-", "pnu_", "pplx-",
    "pscale_", "pul-", "pypi-", "r8_", "rdme_", "re_", "rk_", "rnd_", "rubygems_", "rzp_live_", "sb_secret_",
    "sbp_", "secret_", "sg.", "sgp_", "sha256~", "shippo_live_", "shpat_", "shpca_", "shppa_", "shpss_", "sk-",
    "sk.eyj", "sk_", "sl.", "sm_pat_", "sntrys_", "sntryu_", "snyk_uat.", "sq0atp-", "sq0csp-", "sqa_", "sqp_",
    "squ_", "tfp_", "tgp_v1_", "tk-us-", "tskey-", "tvly-", "vcp_", "whsec_", "xai-", "xapp-", "xkeysib-", "xox",
    "xsmtpsib-", "y0_", "ya29.",
)  # fmt: skip
"""Beginnings of tokens that services issue, in lower case; whether a token follows is seen from its characters."""


def compute_entropy(value: str) -> float:
    """Return the Shannon entropy of *value*, in bits for a character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values())


def has_token_prefix(value: str) -> bool:
    """Return whether *value* begins as the tokens of a service do."""
    return value[:1].isalpha() and value.lower().startswith(_ISSUED)


def has_letters_and_digits(value: str) -> bool:
    """Return whether *value* has both digits and letters."""
    return _DIGIT.search(value) is not None and _LETTER.search(value) is not None


def is_placeholder(value: str) -> bool:
    """Return whether *value* stands where somebody is to put in their own."""
    return bool(_FRAME.search(value)) or (bool(_MODEL.search(value)) and not is_random_looking(value, 3.0))


def is_plausible_value(value: str) -> bool:
    """Return whether *value* can be in use: it is no placeholder and not one character again and again."""
    return not is_placeholder(value) and len(set(value)) > 2


def is_random_looking(value: str, longest: float = 3.4) -> bool:
    """Return whether *value* looks drawn by lot: sixteen letters and digits or more that change their sort often.

    Pieces of one sort, "A" or "Ab" or "12", are two characters long in base-62 text and four or more in names.
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
    """Return whether *value* is a handful of words that make no sentence."""
    words = re.split(r"[ -]", value)
    if not 3 <= len(words) <= 24 or not all(re.fullmatch(r"[A-Za-z]{2,14}", word) for word in words):
        return False
    return not any(word.lower() in _FUNCTION_WORDS for word in words)


def is_name_like(value: str) -> bool:
    """Return whether *value* consists of words and small numbers, or is a technical term."""
    return any(form.fullmatch(value) for form in (_NAME, _TERM))
