"""Secrets in the forms services issue them in, in tables, and split or disguised so that the eye still reads them.

No secret stands here: each is drawn by lot and put together from pieces, so that no scanner stumbles over this file.
"""

import base64
import random
import string
import uuid

import pytest

from kb.records.model import Candidate
from kb.safety.redaction import redact_candidate, redact_text
from kb.safety.secret_search import deobfuscate_text
from tests.support.timing import within

RNG = random.Random(1109)
ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits


def drawn(length: int, alphabet: str = ALNUM) -> str:
    return "".join(RNG.choice(alphabet) for _ in range(length))


def some_uuid() -> str:
    return str(uuid.UUID(int=RNG.getrandbits(128), version=4))


TOKEN = "gh" + "p_" + drawn(36)
ISSUED = {
    "gcp hmac": "GOO" + "G1E" + drawn(57, UPPER),
    "gemini": "AQ" + ".Ab8RN6" + drawn(44),
    "fcm": "AAAA" + drawn(7) + ":APA9" + "1b" + drawn(134),
    "amazon": "amzn1" + ".oa2-cs.v1." + drawn(64, HEX),
    "snyk": "snyk" + "_uat." + drawn(8, HEX) + "." + drawn(80),
    "cloudflare": "v1" + ".0-" + drawn(24, HEX) + "-" + drawn(146, HEX),
    "mailgun": drawn(32, HEX) + "-" + drawn(8, HEX) + "-" + drawn(8, HEX),
    "infisical": "st" + f".{some_uuid()}." + drawn(32, HEX) + "." + drawn(32, HEX),
    "honeycomb": "hca" + "ik_" + drawn(58, string.ascii_lowercase + string.digits),
    "gitlab runner": "GR" + "1348941" + drawn(20),
    "gitlab workspace": "gl" + "wt-" + drawn(20),
    "fireworks": "f" + "w_" + drawn(24),
    "launchdarkly": "sd" + f"k-{some_uuid()}",
    "asana": "2/" + drawn(16, "123456789") + "/" + drawn(16, "123456789") + ":" + drawn(32, HEX),
    "paseto": "v4" + ".local." + drawn(120),
    "vault": "s" + "." + drawn(24),
    "aws behind a word": "key" + "AK" + "IA" + drawn(16, UPPER),
}


@pytest.mark.parametrize("kind", ISSUED)
def test_what_services_issue_is_masked_without_a_word_beside_it(kind: str) -> None:
    token = ISSUED[kind]
    text, found = redact_text(f"The deploy used {token} last night and it worked.")
    assert found and token[-12:] not in text
    assert text.startswith("The deploy used ") and text.endswith(" last night and it worked.")


VALUE = "a1" + drawn(18)
HEX32 = drawn(30, HEX) + "a1"
NAMED = {
    "vault approle": (f"secret_id={some_uuid()}", "secret_id=[redacted:secret]"),
    "twilio": (f'Client("AC{drawn(32, HEX)}", "{HEX32}")', "Client"),
    "session of php": ("PHPSESS" + f"ID={VALUE}", "PHPSESSID="),
    "yaml folded": (f"password: >-\n  {VALUE}\nuser: bob", "password: >-\n  [redacted:password]\nuser: bob"),
    "yaml literal": (f"password: |\n  {VALUE}", "password: |\n  [redacted:password]"),
    "net use": (
        f"net use Z: \\\\h\\s {VALUE} /user:corp\\bob",
        "net use Z: \\\\h\\s [redacted:password] /user:corp\\bob",
    ),
    "wi-fi": (f"WIFI:S:office;T:WPA;P:{VALUE};;", "WIFI:S:office;T:WPA;P:[redacted:password];;"),
    "app secret": (f"AppSecret(小程序密钥) {HEX32}", "AppSecret(小程序密钥) [redacted:secret]"),
    "windows hash": (f"Admin:500:{'0' * 32}:{HEX32}:::", "Admin:500:"),
    "markdown": (
        f"| host | password |\n|---|---|\n| db1 | {VALUE} |\n| db2 | `{VALUE}` |\n\nend",
        "| host | password |\n|---|---|\n| db1 | [redacted:password] |\n| db2 | `[redacted:password]` |\n\nend",
    ),
    "csv": (f"name,密码\nroot,{VALUE}\n", "name,密码\nroot,[redacted:password]\n"),
    "id with spaces": ("身份证号：110105 19491231 002X", "身份证号：[redacted:id-card]"),
    "phone with dots": ("电话 139.6292.0346", "电话 [redacted:phone]"),
    "iban": ("IBAN DE89 3704 0044 0532 0130 00 today", "IBAN [redacted:bank-account] today"),
    "address in a url": ("https://x/?u=" + "bob%40corp.io", "https://x/?u=[redacted:email]"),
    "address written out": ("ask " + "bob [at] corp [dot] io", "ask [redacted:email]"),
    "passport": ("护照号 E38973609", "护照号 [redacted:id-card]"),
    "ssn": ("SSN 536-22-6743", "SSN [redacted:id-card]"),
}


@pytest.mark.parametrize("kind", NAMED)
def test_what_stands_beside_its_name_is_masked(kind: str) -> None:
    text, masked = NAMED[kind]
    left, found = redact_text(text)
    assert found and VALUE not in left and HEX32 not in left
    assert left == masked if "[" in masked else left.startswith(masked)


def test_a_private_key_in_base64_is_masked_over_all_its_lines_and_a_certificate_stays() -> None:
    def wrapped(kind: str) -> str:
        whole = base64.b64encode(f"-----BEGIN {kind}-----\n{drawn(600)}\n-----END {kind}-----".encode()).decode()
        return "\n".join(whole[at : at + 76] for at in range(0, len(whole), 76))

    text, _ = redact_text(f"cat <<EOF | base64 -d\n{wrapped('RSA PRIVATE' + ' KEY')}\nEOF")
    assert text == "cat <<EOF | base64 -d\n[redacted:private-key]\nEOF"
    assert "[redacted:private-key]" not in redact_text(wrapped("CERTIFICATE"))[0]


FULL_WIDTH = "".join(chr(ord(char) + 0xFEE0) for char in TOKEN)
DISGUISED = {
    "nothing between": TOKEN[:10] + "\u200b" + TOKEN[10:],
    "soft hyphens": "\u00ad".join(TOKEN),
    "colours": f"{TOKEN[:12]}\x1b[1m{TOKEN[12:20]}\x1b[0m{TOKEN[20:]}",
    "a shell's line end": f"{TOKEN[:20]}\\\n{TOKEN[20:]}",
    "full width": FULL_WIDTH,
}


@pytest.mark.parametrize("kind", DISGUISED)
def test_a_disguised_token_is_masked_in_its_place(kind: str) -> None:
    token = DISGUISED[kind]
    for before, behind in (("用 ", " 部署，谢谢。"), ("Authorization: token ", "\nnext line")):
        text, found = redact_text(before + token + behind)
        assert text == f"{before}[redacted:{found[0].rule}]{behind}", text
        assert redact_text(text) == (text, ())
    clean, _ = redact_candidate(Candidate("decision", "Deploy", why=f"with {token}"))
    assert clean.why.startswith("with [redacted:")


HARMLESS = (
    "中文，标点：（全角）；不变！　Ｑ＆Ａ，第１章，Ｔ恤",
    "a\u200bb and e\u00admail stay, \x1b[1mbold\x1b[0m too",
    "make a \\\n  b \\\n  c",
    "| token | meaning |\n|---|---|\n| HS256 | signed |\n| session_id | of the session |",
    "name,password\nfield,required\nother,min_length_8",
    "use s.getApplicationContextById and fw_update_firmware_image_v2",
    "api-gateway, sdk-generator, mob-programming, v1.0-beta",
    "139.62.34.6 and 10.0.0.1 and 2026.1122.0346",
    "IBAN and SSN are masked, passport: required",
    "s.map(x => x.id), GOOGLE_APPLICATION_CREDENTIALS, GOOGLE",
    "secret_id is issued by Vault; secret_id: string",
)


@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_resembles_them_stays(text: str) -> None:
    assert redact_text(text) == (text, ())


def test_a_place_of_the_plain_view_is_one_of_the_text() -> None:
    text = "ab\u200bcd\x1b[0mef\\\ngh"
    view = deobfuscate_text(text)
    assert view and view.text == "abcdefgh"
    assert [view.map_start(place) for place in range(8)] == [0, 1, 3, 4, 9, 10, 13, 14]
    assert [view.map_end(place) for place in range(1, 9)] == [1, 2, 4, 5, 10, 11, 14, 15]
    assert deobfuscate_text("nothing strange：，。") is None


@pytest.mark.parametrize(
    "piece", ["\u200b", "a\u200b", "\x1b[0m", "ａ", "x\\\n", "|token|\n", "token,", "| a | token |\n"]
)
def test_looking_twice_is_linear(piece: str) -> None:
    with within(2):
        redact_text(piece * (200_000 // len(piece)))
