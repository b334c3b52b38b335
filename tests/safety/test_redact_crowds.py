"""A stretch of a text that consists of thousands of secrets is masked as one place; what only looks so is not."""

import pytest

from kb.config import Masking
from kb.safety.redaction import CROWD_SIZE, locate_secrets, redact_text
from tests.support.timing import within

MANY = CROWD_SIZE + 500


def dump(form: str, between: str, number: int = MANY) -> str:
    return between.join(form.format(n=n, value=f"a1b2c3x{n}d4") for n in range(number))


@pytest.mark.parametrize("between", [" ", "\n", ", ", ";\n\n"])
@pytest.mark.parametrize("form", ["password={value}", 'DB_{n}_PASSWORD: "{value}"', "令牌：{value}", "api_key={value}"])
def test_a_crowd_of_secrets_is_one_place(form: str, between: str) -> None:
    text, masked = redact_text(dump(form, between))
    assert len(masked) == 1 and masked[0].line == 1
    assert "a1b2c3x" not in text and "[redacted:" in text
    assert redact_text(text) == (text, ())


def test_fewer_secrets_are_places_of_their_own() -> None:
    text, masked = redact_text(dump("password={value}", " ", 300))
    assert text == " ".join(["password=[redacted:password]"] * 300) and len(masked) == 300


def test_a_crowd_of_names_or_placeholders_stays() -> None:
    for text in (dump("token=identifier", " "), dump("password=<password>", "\n"), dump("cache_key: rowname", ", ")):
        assert redact_text(text) == (text, ())


def test_the_text_around_a_crowd_stays() -> None:
    before, behind = "The walrus sleeps.\nIt snores.\n\n", "\n\nThe tiger wakes.\nIt yawns."
    text, masked = redact_text(f"{before}{dump('password={value}', chr(10))}{behind}")
    assert text == "The walrus sleeps.\nIt snores.\n[redacted:password]\nThe tiger wakes.\nIt yawns."
    assert [place.line for place in masked] == [3]


def test_what_reaches_out_of_a_crowd_is_masked() -> None:
    block = "\n".join(["-----BEGIN RSA PRIVATE KEY-----", *["MIIEpAIBAAKCAQEA7bq9"[:16] * 4] * 6])
    key = f"{block}\n-----END RSA PRIVATE KEY-----"
    table = "\n".join(["name,password", "walrus,a7Kd92xQpZ", "tiger,Qz81mNb3Vw", "fox,Lp20xCv7Rt"])
    crowd = dump("password={value}", "\n")
    for beside, hidden in ((key, "MIIEpAIBAAKCAQEA"), (table, "Lp20xCv7Rt"), ("password:\n  a7Kd92xQpZ", "a7Kd92xQpZ")):
        assert hidden not in redact_text(f"{crowd}\n{beside}\nThe end.")[0]
        assert hidden not in redact_text(f"{beside}\n{crowd}\nThe end.")[0]


def test_secrets_elsewhere_in_the_text_are_found() -> None:
    told = "The tiger wakes. " * 5
    text = f"Mail walrus@zoo-keepers.org\n\n\n{dump('password={value}', ' ')}\n\n{told}\npassword=Kd92xQpZ7a"
    found = list(locate_secrets(text))
    assert found == [(1, "email"), (3, "password"), (7, "password")]
    assert [
        rule for _, rule in locate_secrets("x\n" * 3 + dump("password={value}", " "), Masking((), ("password",)))
    ] == []


def test_a_megabyte_of_secrets_is_not_doubted_one_by_one() -> None:
    text = dump("password={value}", " ", 45_000)
    redact_text(dump("password={value}", " "))
    with within(0.5):
        assert redact_text(text)[0] == "[redacted:password]"
