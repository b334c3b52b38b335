"""The recall of masking on secrets made up for it: a fixed sample of what `python -m bench.redact` measures in full."""

from collections import Counter

import pytest

from bench.pasted import Pasted, held_out, pasted
from bench.pastedkinds import KINDS, SNIPPETS
from kb.safety.redaction import redact_text

SEED = 11
"""Not that of the bench: values nobody has looked at."""
STEP = 3
SAMPLE = [row for number, row in enumerate(pasted(SEED)) if number % STEP == 0]
ENOUGH = 0.99


@pytest.fixture(scope="module")
def missed() -> list[Pasted]:
    """What of the sample still shows eight characters of a secret, or all of a shorter one."""
    return [row for row in SAMPLE if row.left_in(redact_text(row.text)[0])]


def test_nearly_every_secret_is_masked(missed: list[Pasted]) -> None:
    assert len(SAMPLE) > 2000 and len({row.kind for row in SAMPLE}) > 200
    assert len(missed) <= (1 - ENOUGH) * len(SAMPLE), [(row.kind, row.carrier, row.text) for row in missed]


def test_the_held_out_half_does_as_well(missed: list[Pasted]) -> None:
    half = [row for row in SAMPLE if row.held_out]
    assert len(half) > 900
    assert sum(row.held_out for row in missed) <= (1 - ENOUGH) * len(half)


def test_no_kind_is_unknown(missed: list[Pasted]) -> None:
    drawn, lost = Counter(row.kind for row in SAMPLE), Counter(row.kind for row in missed)
    assert set(drawn) == {*KINDS, *SNIPPETS}
    assert [kind for kind, count in lost.items() if count > max(1, drawn[kind] // 4)] == []


def test_every_secret_stands_in_its_text() -> None:
    absent = [
        (row.kind, row.carrier)
        for row in SAMPLE
        for secret in row.secrets
        if not row._replace(secrets=(secret,)).left_in(row.text)
    ]
    assert absent == []


def test_the_same_seed_makes_the_same_secrets() -> None:
    assert list(pasted(SEED))[::STEP] == SAMPLE
    assert next(pasted(SEED + 1)).secrets != SAMPLE[0].secrets


def test_both_halves_are_halves() -> None:
    share = sum(map(held_out, (*KINDS, *SNIPPETS))) / len({**KINDS, **SNIPPETS})
    assert 0.35 < share < 0.65


def test_what_is_left_is_noticed() -> None:
    row = Pasted("k", "c", "token abcdefghijkl", ("abcdefghijkl",), False)
    assert row.left_in("x cdefghij y") == "cdefghij"
    assert row.left_in("x cdefghi y") == ""
    assert row._replace(secrets=("abc",)).left_in("xabcx") == "abc"
