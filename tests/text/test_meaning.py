"""What texts mean by small vectors of words."""

from zlib import crc32

import pytest

from kb.text.meaning import PATH, count_keys, embed_meaning, load_meanings, measure_likeness


def likeness(one: str, other: str) -> float:
    """Return how near what two texts mean is."""
    return measure_likeness(embed_meaning((one, 1.0)), embed_meaning((other, 1.0)))


@pytest.mark.parametrize(
    ("text", "near", "far"),
    [
        ("The physician writes the prescription", "A doctor orders medicine", "The build runs on Linux"),
        ("Sessions end after a quarter of an hour", "Users are logged out when idle", "Cows wear ear tags"),
        ("医生开的处方要签名", "大夫写药方需要签字", "编译在 Linux 上进行"),
        ("用户密码每季度更换", "登录口令三个月改一次", "奶牛戴耳标"),
        ("Passwords are stored encrypted", "密码加密存储", "奶牛戴耳标"),
        ("数据库每晚备份", "The database is backed up every night", "Buttons are blue"),
    ],
)
def test_what_means_nearly_the_same_is_nearer(text: str, near: str, far: str) -> None:
    assert likeness(text, near) > likeness(text, far) + 0.1


def test_a_vector_has_length_one_and_a_text_without_words_none() -> None:
    vector = embed_meaning(("Orders are exported each night", 1.0))
    assert measure_likeness(vector, vector) == pytest.approx(1.0)
    assert embed_meaning(("42 -- ?!", 1.0)) == ()
    assert measure_likeness((), vector) == 0.0


def test_words_and_characters_are_found_the_longest_first() -> None:
    keys = sorted(["cach", "user", "数", "据", "库", "数据", "数据库"])
    assert count_keys("userCache caches 数据库", keys) == {
        "user": 1,
        "cach": 2,
        "数": 0.5,
        "据": 0.5,
        "库": 0.5,
        "数据库": 1,
    }


def test_what_counts_less_turns_the_vector_less() -> None:
    title, reason = "Nightly export of orders", "Cows wear ear tags"
    strong, weak = (embed_meaning((title, 1.0), (reason, factor)) for factor in (1.0, 0.1))
    alone = embed_meaning((title, 1.0))
    assert measure_likeness(alone, strong) < measure_likeness(alone, weak) < 1.0


def test_the_table_is_whole() -> None:
    table = load_meanings()
    assert list(table.keys) == sorted(set(table.keys))
    assert len(table.weights) == len(table.keys)
    assert len(table.numbers) == len(table.keys) * table.dimensions // 2
    with open(PATH, "rb") as file:
        data = file.read()
    assert len(data) <= 400_000
    with open(PATH.removesuffix("bin") + "txt", encoding="utf-8") as file:
        assert f"{crc32(data):08x}" in file.read(), "the note beside it is of another file"
