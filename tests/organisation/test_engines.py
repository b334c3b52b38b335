"""Both engines answer alike: the conformance tests of the seam, on SQLite and on PostgreSQL."""

import pickle
import random
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import psycopg
import pytest

from kb.errors import BadInput, IndexFailed
from kb.guard.action_hints import rank_impact
from kb.i18n import msg
from kb.index.database import Index
from kb.index.postings import compute_hashed_weights, compute_worth, hash_term
from kb.index.schema import ALL, Filter, dump_record, load_record
from kb.organisation.hub_engine import SCHEMA, SETTINGS, Engine, compute_weights, find_similar_words, load_rows
from kb.organisation.hub_lists import (
    MAX_NUMBER,
    AllRows,
    ReadCache,
    TermList,
    TermPostings,
    build_term_list,
    find_bucket,
    join_postings,
    pack_postings,
    unpack_postings,
)
from kb.organisation.hub_records import RepositoryChange
from kb.organisation.org_rank import count_phrases, load_all_rows, load_lists, load_union, parse_phrases, rank_rows
from kb.organisation.org_records import analyse_record, find_repository_record, list_repository_records
from kb.organisation.org_search import search_repositories
from kb.organisation.org_values import BrokenFile, OrgAnswer
from kb.organisation.postgres_engine import READER, PostgresEngine
from kb.records.model import Record, Section
from kb.text.segment import stem
from tests.support.postgres import PostgresServer

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = "cache redis postgres queue timeout retry refund invoice token login session deploy rollback schema".split()
CHARACTERS = ["缓存", "退款", "超时", "重试", "登录", "队列", "部署", "回滚", "数据库", "令牌"]


def make_record(number: int, title: str, text: str = "", **more: object) -> Record:
    path = f"content/anchors/global/D{number:03d}-x.md"
    values = {"scope": "global", "status": "accepted", "date": f"2026-01-{number % 28 + 1:02d}", "path": path, **more}
    return Record(f"D{number:03d}", "decision", title, sections=(Section("decision", "Decision", text),), **values)


def make_change(records: Iterable[Record], commit: str = "c1", **more: object) -> RepositoryChange:
    records = tuple(records)
    looked = frozenset(record.path for record in records)
    values = {"before": "", "looked": looked, "is_whole": True, **more}
    return RepositoryChange(commit=commit, records=records, **values)


def make_random_records(seed: int, count: int) -> list[Record]:
    chance = random.Random(seed)
    made = []
    for number in range(1, count + 1):
        own = [chance.choice(WORDS) for _ in range(chance.randrange(2, 5))]
        text = " ".join(chance.choice([*WORDS, *CHARACTERS]) for _ in range(chance.randrange(5, 120)))
        made.append(make_record(number, f"Use {' '.join(own)}", text, tags=(chance.choice(WORDS),)))
    return made


def search(engine: Engine, text: str, readable: Iterable[str], wanted: Filter = ALL, limit: int = 10) -> OrgAnswer:
    with engine.open_reader(frozenset(readable)) as reader:
        return search_repositories(reader, text, wanted, limit)


def list_names(answer: OrgAnswer) -> list[str]:
    return [hit.name for hit in answer.hits]


def load_index(engine: Engine, readable: Sequence[str]) -> dict[str, object]:
    """Return every row that an engine shows of some repositories, by what does not hang on how it came to be."""
    with engine.open_reader(frozenset(readable)) as reader:
        rows = [
            (name, row) for at, name in enumerate(reader.names) for row in reader.list_rows(at, ALL, 100_000, "", None)
        ]
        keys = np.asarray([reader.names.index(name) << 32 | row[0] for name, row in rows], np.int64)
        terms = {
            term for path, data in load_rows(reader, keys).values() for term in compute_weights(load_record(path, data))
        }
        lists = {
            term: (load_all_rows(reader).keys[one.places].tolist(), one.weights.tolist())
            for term, one in load_lists(reader, terms).items()
        }
        slots = {slot for term in terms for slot in (term, find_bucket(term))}
        kept = {slot: sorted(packed) for slot, packed in reader.read_slots(slots).items()}
        notes = {key: dict(reader.read_notes(key)) for key in (SETTINGS, *(f"words {letter}" for letter in LETTERS))}
        return {"rows": rows, "lists": lists, "slots": kept, "states": dict(reader.states), "notes": notes}


@pytest.fixture(autouse=True)
def _short_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let lists have slots of their own already in the small bases of these tests."""
    monkeypatch.setattr("kb.organisation.hub_lists._LONGEST_SHARED", 5)


# -- what is found ------------------------------------------------------------------------------------


def test_a_record_is_found_by_its_words_in_both_languages(engine: Engine) -> None:
    engine.apply_change(
        "pay", make_change([make_record(1, "Cache tokens in Redis"), make_record(2, "退款窗口为九十天")])
    )
    engine.apply_change("web", make_change([make_record(1, "Serve images from a CDN", "Redis is not used.")]))
    assert list_names(search(engine, "redis", ["pay", "web"])) == ["pay:D001", "web:D001"]
    assert list_names(search(engine, "退款", ["pay", "web"])) == ["pay:D002"]
    assert list_names(search(engine, "罚款", ["pay", "web"])) == [], "a word that no record has is absent"
    answer = search(engine, "cache tokens", ["pay", "web"])
    assert answer.hits[0].whole and answer.hits[0].snippet == "«Cache» «tokens» in Redis"
    assert answer.scopes["pay"] == 1


def test_what_holds_every_word_comes_first(engine: Engine) -> None:
    often = make_record(1, "Refund refund refund", "refund " * 30)
    engine.apply_change("pay", make_change([often, make_record(2, "Limits", "A refund needs a token.")]))
    assert list_names(search(engine, "refund token", ["pay"])) == ["pay:D002", "pay:D001"]


def test_equal_records_come_by_repository_then_by_id(engine: Engine) -> None:
    for name in ("b", "a", "c"):
        engine.apply_change(name, make_change([make_record(number, "Use Redis") for number in (2, 1, 10)]))
    asked = search(engine, "redis", ["a", "b", "c"], limit=9)
    assert list_names(asked) == [f"{name}:{id}" for name in "abc" for id in ("D001", "D002", "D010")]


def test_a_record_named_by_its_id_comes_first(engine: Engine) -> None:
    engine.apply_change("pay", make_change([make_record(1, "Use Redis"), make_record(7, "Drop Redis")]))
    engine.apply_change("web", make_change([make_record(7, "Use Redis everywhere", "redis redis")]))
    assert list_names(search(engine, "pay:D007", ["pay", "web"]))[0] == "pay:D007"
    assert list_names(search(engine, "D007", ["pay", "web"])) == ["pay:D007", "web:D007"]
    assert list_names(search(engine, "pay:D007 redis", ["web"])) == ["web:D007"], "pay is not readable"


def test_a_question_without_words_has_no_answer(engine: Engine) -> None:
    engine.apply_change("pay", make_change([make_record(1, "Use Redis")]))
    for text in ("", "  ", "!?", "\0"):
        assert search(engine, text, ["pay"]).hits == ()
    assert search(engine, "redis", ["pay"], limit=0).hits == ()


@pytest.mark.parametrize(
    ("wanted", "ids"),
    [
        (Filter(tag="hot"), ["D001"]),
        (Filter(category="money"), ["D002"]),
        (Filter(statuses=("proposed",)), ["D002"]),
        (Filter(scopes=("project/x",)), ["D003"]),
        (Filter(kinds=("pitfall",)), ["D003"]),
        (Filter(since="2026-01-03"), ["D002", "D003"]),
        (Filter(until="2026-01-02"), ["D001"]),
        (Filter(path="src/pay/refund.py"), ["D001", "D002"]),
        (Filter(path="src/web/deep/x.py"), ["D003"]),
        (Filter(path="./src/pay/"), ["D001", "D002"]),
        (Filter(hidden=("global",)), ["D003"]),
        (Filter(tag="hot", path="src/web"), []),
        (Filter(tag="absent"), []),
    ],
)
def test_filters_choose(engine: Engine, wanted: Filter, ids: list[str]) -> None:
    records = [
        make_record(1, "Use Redis for pay", tags=("hot",), impact=("src/pay/",)),
        make_record(2, "Use Redis for refunds", status="proposed", extra={"domain": "money"}, impact=("src/pa*",)),
        make_record(3, "Use Redis on the web", scope="project/x", impact=("src/web/*/x.py", "src/web")),
    ]
    records[2] = records[2]._replace(kind="pitfall")
    engine.apply_change("pay", make_change(records))
    assert sorted(one.removeprefix("pay:") for one in list_names(search(engine, "redis", ["pay"], wanted))) == ids
    with engine.open_reader(frozenset(["pay"])) as reader:
        page = list_repository_records(reader, wanted, 10, "")
    assert [one.record.id for one in page.records] == ids


def test_a_broad_filter_still_fills_an_answer(engine: Engine) -> None:
    """Candidates are taken until enough are as wanted, also where a part of the filter is not in the lists."""
    records = [
        make_record(number, "Use Redis", "redis " * (number % 9), status="accepted" if number % 9 else "proposed")
        for number in range(1, 400)
    ]
    engine.apply_change("pay", make_change(records))
    answer = search(engine, "redis", ["pay"], Filter(statuses=("proposed",)), limit=20)
    assert len(answer.hits) == 20
    assert {hit.record.status for hit in answer.hits} == {"proposed"}
    answer = search(engine, "redis", ["pay"], Filter(since="2026-01-20", until="2026-01-20"), limit=20)
    assert len(answer.hits) == 14 and {hit.record.date for hit in answer.hits} == {"2026-01-20"}
    hidden = Filter(hidden=("global",))
    assert search(engine, "redis", ["pay"], hidden).hits == ()


@pytest.mark.parametrize(
    ("since", "until", "days"),
    [
        ("2026-01-31", "", ["2026-01-31", "2026-02-01", "20260101", "9999-01-01"]),
        ("", "2025-12-31", ["", "0001-01-01", "1970-12-31", "2025-12-31"]),
        ("2026", "2026-02", ["2026-01-30", "2026-01-31"]),
        ("1960-01-01", "1980-01-01", ["1970-12-31"]),
    ],
)
def test_days_choose_as_texts_do(engine: Engine, since: str, until: str, days: list[str]) -> None:
    """The lists know months from 1971 on; whatever else a record has for a day is compared as it is written."""
    dates = ["", "0001-01-01", "1970-12-31", "2025-12-31", "2026-01-30", "2026-01-31", "2026-02-01", "20260101",
             "9999-01-01"]  # fmt: skip
    records = [make_record(n, "Use Redis")._replace(date=date) for n, date in enumerate(dates, 1)]
    engine.apply_change("pay", make_change(records))
    answer = search(engine, "redis", ["pay"], Filter(since=since, until=until), limit=20)
    assert sorted(hit.record.date for hit in answer.hits) == days


def test_an_id_is_found_in_every_repository(engine: Engine) -> None:
    for name in ("b", "a", "c"):
        engine.apply_change(name, make_change([make_record(7, "Use Redis", uid=f"U{name}"), make_record(8, "Other")]))
    with engine.open_reader(frozenset("abc")) as reader:
        assert [(at, load_record(path, data).id) for at, path, data in reader.find_named("D007", [2, 0])] == [
            (0, "D007"), (2, "D007"),
        ]  # fmt: skip
        assert [at for at, *_ in reader.find_named("Uc", range(3))] == [2]


def test_a_word_misspelled_and_a_word_for_the_same_are_understood(engine: Engine) -> None:
    """Only of what the caller may read: a word of another repository is no suggestion, and corrects nothing."""
    engine.apply_change("pay", make_change([make_record(1, "Cache tokens in memory"), make_record(2, "缓存退款")]))
    engine.apply_change(
        "web", make_change([make_record(1, "Serve badges from the vault"), make_record(2, "Cachet it")])
    )
    assert list_names(search(engine, "cahce", ["pay"]))[:1] == ["pay:D001"]
    assert list_names(search(engine, "cache", ["pay"])) == ["pay:D001"], "a word that is there is what was meant"
    assert list_names(search(engine, "缓存 登录", ["pay"])) == ["pay:D002", "pay:D001"], "缓存 is a cache"
    assert search(engine, "cahce", ["pay"]).terms == (("cach", 1),)
    assert list_names(search(engine, "valut", ["pay", "web"])) == ["web:D001"]
    assert list_names(search(engine, "valut", ["pay"])) == []
    assert list_names(search(engine, "bad", ["pay", "web"])) == ["web:D001"], "the beginning of a word"
    assert list_names(search(engine, "ADR 2", ["pay", "web"])) == ["pay:D002", "web:D002"]


def test_a_superseded_record_stands_behind_its_successor(engine: Engine) -> None:
    old = make_record(1, "Refund window of 90 days", status="superseded")
    new = make_record(2, "Refunds", "The refund window is 30 days.", supersedes=("D001",))
    engine.apply_change("pay", make_change([old, new]))
    assert list_names(search(engine, "refund window", ["pay"])) == ["pay:D002", "pay:D001"]
    assert list_names(search(engine, "newest decisions on refund", ["pay"]))[0] == "pay:D002"


def test_words_follow_the_records(engine: Engine) -> None:
    """They are for who misspells one: those of readable repositories, and only while a record has them."""
    engine.apply_change(
        "pay", make_change([make_record(1, "Cache tokens", "数据库 cache"), make_record(2, "Cache it")])
    )
    engine.apply_change("web", make_change([make_record(1, "Cachet badges")]))

    def find(word: str, *readable: str) -> list[str]:
        with engine.open_reader(frozenset(readable)) as reader:
            return sorted(find_similar_words(reader, word, 2))

    assert find("cahce", "pay") == ["cach"]
    assert find("cahce", "pay", "web") == ["cach", "cachet"]
    assert find("tokns", "pay") == ["token"] and find("xyz", "pay") == find("tokns", "web") == []
    engine.apply_change("pay", make_change([make_record(2, "Cache it")], "c2"))
    assert find("tokns", "pay") == [] and find("cahce", "pay") == ["cach"]
    gone = make_change([], "c3", before="c2", looked=frozenset([make_record(2, "").path]), is_whole=False)
    engine.apply_change("pay", gone)
    assert find("cahce", "pay") == []


# -- scores -------------------------------------------------------------------------------------------


def score_by_hand(records: dict[str, list[Record]], terms: Sequence[str]) -> list[tuple[int, str, str]]:
    """Return the sum of weight times worth of every record, as the definition says it: the best first."""
    weights = {(repo, one.path): compute_hashed_weights(one) for repo, some in records.items() for one in some}
    counts = Counter(number for held in weights.values() for number in held)
    worths = {hash_term(term): compute_worth(1.0, counts[hash_term(term)], len(weights)) for term in terms}
    scores = [
        (sum(held.get(number, 0) * worth for number, worth in worths.items()), *key) for key, held in weights.items()
    ]
    return sorted((score for score in scores if score[0]), key=lambda score: (-score[0], score[1:]))


@pytest.mark.parametrize("limit", [1, 5, 30])
def test_the_ranking_is_that_of_the_definition(engine: Engine, limit: int) -> None:
    """Read in layers, cut and completed: the same numbers as the plain sum over every record."""
    bases = {name: make_random_records(seed, 150) for seed, name in enumerate(("a", "b", "c"))}
    for name, records in bases.items():
        engine.apply_change(name, make_change(records))
    chance = random.Random(7)
    with engine.open_reader(frozenset(bases)) as reader:
        for _ in range(25):
            terms = chance.sample([*("cach", "redi", "postgr", "queu", "retry", "refund", "tok"), *CHARACTERS], 4)
            numbers = {hash_term(term): term for term in terms}
            lists = load_lists(reader, numbers)
            worths = {number: compute_worth(1.0, one.records, 450) for number, one in lists.items()}
            found = rank_rows(load_all_rows(reader).keys, lists, worths, limit)
            paths = {key: path for key, (path, _) in load_rows(reader, np.asarray([r.key for r in found.rows])).items()}
            expected = score_by_hand(bases, terms)[:limit]
            assert found.is_exact
            assert [row.score for row in found.rows] == [score for score, *_ in expected]
            least = expected[-1][0] if expected else 0
            ours = {(reader.names[row.key >> 32], paths[row.key]) for row in found.rows if row.score > least}
            assert ours == {(repo, path) for score, repo, path in expected if score > least}


def test_both_engines_give_the_same_numbers_in_the_same_order(postgres: PostgresServer, tmp_path: object) -> None:
    from kb.organisation.sqlite_engine import SqliteEngine

    postgres.execute("DROP SCHEMA IF EXISTS kb_hub CASCADE")
    engines: list[Engine] = [SqliteEngine(str(tmp_path)), PostgresEngine(postgres.dsn)]
    for engine in engines:
        for seed, name in enumerate(("web", "pay", "ops")):
            engine.apply_change(name, make_change(make_random_records(seed, 120)))
    for text in ("redis cache timeout", "退款超时怎么重试", "use", "缓存 redis", "login 令牌 session", "queue"):
        answers = [search(engine, text, ["web", "pay", "ops"], limit=25) for engine in engines]
        assert answers[0] == answers[1]
        assert answers[0].hits
    for engine in engines:
        engine.close()


def test_rarity_is_reckoned_over_what_is_readable_alone(engine: Engine) -> None:
    """What another repository says a thousand times changes nothing in an answer: no count, no score, no order."""
    own = [make_record(1, "Use Redis"), make_record(2, "Use a queue", "redis")]
    engine.apply_change("pay", make_change(own))
    before = search(engine, "redis queue", ["pay"])
    engine.apply_change("secret", make_change([make_record(n, "Queue queue queue", "queue") for n in range(1, 60)]))
    assert search(engine, "redis queue", ["pay"]) == before
    assert search(engine, "redis queue", ["pay", "secret"]).terms != before.terms


@pytest.mark.parametrize("count", [0, 1, 5, 6, 40, 3000])
def test_postings_come_back_as_they_were_packed(count: int) -> None:
    """Long lists, and short ones that share a slot with others of the same last bits, and with like bytes."""
    chance = random.Random(count)
    held = {
        number: {
            2**31 - 1 - (chance.randrange(9) << 11 if term % 2 else term): chance.randrange(1001) for term in range(30)
        }
        for number in [0, 2**22 - 1, *(chance.randrange(2**22) for _ in range(count - 2))][:count]
    }
    postings = join_postings(held)
    slots = pack_postings(postings)
    found: dict[int, dict[int, int]] = {number: {} for number in held}
    for term, number, weight in zip(*(column.tolist() for column in unpack_postings(slots)), strict=True):
        found[number][term] = weight
    assert found == held
    assert slots == pack_postings(TermPostings(*(column[::-1] for column in postings))), "in whatever order they came"
    assert sum(map(len, slots.values())) <= 4 * len(postings.terms) + 6 * len(set(postings.terms.tolist()))
    keys = np.asarray([*sorted(held), *(3 << 32 | number for number in sorted(held))], np.int64)
    for term in {1, *postings.terms.tolist()}:
        shared, own = slots.get(find_bucket(term), b"\0\0"), [(3, slots[term])] if term in slots else []
        one = build_term_list(keys, term, [(3, shared)], own)
        said = {number: weights[term] for number, weights in sorted(held.items()) if term in weights}
        assert (keys[one.places] - (3 << 32)).tolist() == list(said)
        assert one.weights.tolist() == list(said.values()) and one.records == len(said)


def test_a_question_of_very_common_words_reads_the_rarer_ones(engine: Engine) -> None:
    """A list is left that would be too long; the answer says so, and the word still counts for how common it is."""
    engine.apply_change("pay", make_change([make_record(n, "Use Redis" if n % 3 else "Use") for n in range(1, 60)]))
    common, rare = hash_term("use"), hash_term("redi")
    with engine.open_reader(frozenset(["pay"])) as reader:
        lists = load_lists(reader, [common, rare], most=50)
        assert [(lists[term].records, len(lists[term].places)) for term in (common, rare)] == [(59, 0), (40, 40)]
        found = rank_rows(load_all_rows(reader).keys, lists, {common: 1, rare: 2}, 10)
        assert len(found.rows) == 10 and not found.is_exact
        assert len(load_lists(reader, [common])[common].places) == 59, "what was left is not kept as empty"


def test_lists_that_were_read_are_kept_until_what_they_are_of_changes(engine: Engine) -> None:
    engine.apply_change("pay", make_change([make_record(1, "Use Redis")]))
    engine.apply_change("web", make_change([make_record(1, "Use Redis too")]))
    assert list_names(search(engine, "redis", ["pay"])) == ["pay:D001"]
    assert list_names(search(engine, "redis", ["pay", "web"])) == ["pay:D001", "web:D001"]
    engine.apply_change("pay", make_change([make_record(1, "Use PostgreSQL")], "c1"))
    assert list_names(search(engine, "redis", ["pay"])) == [], "even where the commit is the same"
    assert list_names(search(engine, "redis", ["pay", "web"])) == ["web:D001"]


GOVERNED = {
    "src/auth": ["src/auth", "src/auth/token.py", "src/auth/deep/token.py"],
    "src/auth/": ["src/auth", "src/auth/token.py", "src/auth/deep/token.py"],
    "src/auth/token.py": ["src/auth/token.py"],
    "src/*.py": ["src/auth/token.py", "src/auth/deep/token.py", "src/a.py"],
    "src/au*": ["src/auth", "src/auth/token.py", "src/auth/deep/token.py", "src/autumn/a.md"],
    "src/au??": ["src/auth", "src/auth/token.py", "src/auth/deep/token.py"],
    "src/[ab].py": ["src/a.py"],
    "src/[^b].py": ["src/a.py"],
    "src/[!a].py": ["src/a.py"],  # to SQLite one of the two characters: what it excludes stands after ^
    "src/[a": [],
    "SRC/auth": [],
    "文档/支付": ["文档/支付", "文档/支付/退款.md"],
    "文档/*.md": ["文档/支付/退款.md"],
    "*" * 60_000: [],
    "*a" * 2_000 + "*b": [],
}
"""What each impact governs of the paths that come up."""


def test_what_governs_a_path_is_the_same_for_the_laptop_the_hub_and_the_guard(engine: Engine, tmp_path: Path) -> None:
    records = [make_record(number, "Use Redis", impact=(impact,)) for number, impact in enumerate(GOVERNED, 1)]
    engine.apply_change("pay", make_change(records))
    index = Index(str(tmp_path / "index.db"), str(tmp_path), ())
    with index.batch_changes():
        for record in records:
            index.put_record(record)
    for path in sorted({path for paths in GOVERNED.values() for path in paths} | {"src", "src/b.md", "a" * 4000}):
        expected = [one.id for one in records if path in GOVERNED[one.impact[0]]]
        wanted = Filter(path=f"./{path}/")
        assert sorted(one.id for one in index.records(wanted)) == expected, path
        assert [one.id for one in records if rank_impact(one.impact, path) > (0, 0)] == expected, path
        assert sorted(hit.record.id for hit in search(engine, "redis", ["pay"], wanted, 99).hits) == expected, path
        with engine.open_reader(frozenset({"pay"})) as reader:
            assert [one.record.id for one in list_repository_records(reader, wanted, 99, "").records] == expected
    index.close()


def test_what_was_weighed_once_is_not_read_again_until_it_changes(engine: Engine) -> None:
    engine.apply_change("pay", make_change([make_record(1, "Use Redis"), make_record(2, "Drop Redis", "redis")]))

    def ask(rows: list[int]) -> list[str]:
        with engine.open_reader(frozenset({"pay"})) as reader:
            select = reader.select_rows
            reader.select_rows = lambda columns, keys, *more: rows.extend(keys) or select(columns, keys, *more)
            return list_names(search_repositories(reader, "redis"))

    first: list[int] = []
    again: list[int] = []
    assert ask(first) == ask(again) and len(first) == 2 and again == []
    engine.apply_change("pay", make_change([make_record(1, "Use Redis"), make_record(2, "Use Kafka")]))
    assert ask(again) == ["pay:D001"] and len(again) == 1, "under the same commit, too"


def test_a_record_is_kept_for_the_bytes_that_it_takes() -> None:
    cache = ReadCache(0, 500_000)
    kept = [analyse_record("x.md", dump_record(make_record(n, "Use Redis", "缓存 redis " * 4000))) for n in range(9)]
    sizes = {len(pickle.dumps(one)) for one in kept}
    assert min(sizes) <= kept[0].size <= 4 * max(sizes)
    cache.records.keep({("pay", n): one for n, one in enumerate(kept)})
    left = cache.records.find([("pay", n) for n in range(9)])
    assert 0 < len(left) < 9 and sum(one.size for one in left.values()) <= 500_000
    assert ("pay", 8) in left, "the last one"


@pytest.mark.parametrize("seed", range(3))
def test_phrases_are_counted_as_if_every_word_were_looked_at(seed: int) -> None:
    """Words whose stems begin like others, phrases that overlap themselves, beginnings, and words of two languages."""
    chance = random.Random(seed)
    words = "cache caches caching cached cachet ca user users use xsepx 缓存 存缓 缓 存 redis2 re".split()
    for _ in range(400):
        terms = [chance.choice(words) for _ in range(chance.randrange(12))]
        asked = [chance.choice(words) for _ in range(chance.randrange(1, 4))]
        star = chance.random() < 0.4
        runs = [terms[at : at + len(asked)] for at in range(len(terms) - len(asked) + 1)]
        same = [list(map(stem, run)) == list(map(stem, asked)) for run in runs]
        begun = [
            star and run[-1].startswith(asked[-1]) and list(map(stem, run[:-1])) == list(map(stem, asked[:-1]))
            for run in runs
        ]
        (phrase,) = parse_phrases(f'"{" ".join(asked)}"{"*" * star}')
        expected = sum(map(any, zip(same, begun, strict=True)))
        counts = count_phrases([phrase], (f" {' '.join(terms)} ", " "))
        assert counts == ([(expected, 0)] if expected else None)


def test_a_cache_of_lists_keeps_the_last_ones_used() -> None:
    every = np.arange(300, dtype=np.int64)
    slots = pack_postings(join_postings({n: dict.fromkeys(range(4), 1) for n in range(300)}))
    lists = {term: build_term_list(every, term, [], [(0, slots[term])]) for term in range(4)}
    cache = ReadCache(7_700)
    for term in range(3):
        cache.keep("a", {term: lists[term]})
    assert set(cache.find_lists("a", [0])) == {0}
    cache.keep("b", {3: lists[3]})
    assert set(cache.find_lists("a", range(4))) == {0, 2}
    assert set(cache.find_lists("b", range(4))) == {3}
    rows = AllRows(every, every.astype(np.uint16))
    cache.keep_rows("b", rows)
    assert cache.find_rows("b") is rows and cache.find_rows("a") is None
    assert set(cache.find_lists("a", range(4))) == set(), "the oldest made room"


@pytest.mark.parametrize("rows", [1, 40, 70_000])
def test_the_best_are_those_of_a_full_sort(rows: int) -> None:
    """With few that have points, with many that are equal, and with all different."""
    chance = np.random.default_rng(rows)
    keys = np.arange(rows, dtype=np.int64) * 3
    for most in (1, 4, 1000):
        for share in (0.001, 0.3, 1.0):
            places = np.flatnonzero(chance.random(rows) < share).astype(np.int32)
            lists = {5: TermList(places, chance.integers(1, most + 1, len(places)).astype(np.uint16), len(places)),
                     6: TermList(places[::3], np.full(len(places[::3]), 2, np.uint16), len(places[::3]))}  # fmt: skip
            scores = np.zeros(rows, np.int64)
            for term, worth in ((5, 7), (6, 14_000_000)):
                scores[lists[term].places] += lists[term].weights.astype(np.int64) * worth
            for limit in (1, 48, 3000):
                best = [at for at in np.lexsort((keys, -scores)).tolist() if scores[at]][:limit]
                found = rank_rows(keys, lists, {5: 7, 6: 14_000_000}, limit, telling=[6])
                assert [(row.key, row.score) for row in found.rows] == [(3 * at, scores[at]) for at in best]
                assert [row.telling for row in found.rows] == np.isin(best, places[::3]).astype(int).tolist()
                assert found.is_exact
                for kept in (0.0, 0.01, 0.9):  # with few that are allowed, and with most of them
                    allowed = chance.random(rows) < kept
                    left = [at for at in np.lexsort((keys, -scores)).tolist() if scores[at] and allowed[at]][:limit]
                    few = rank_rows(keys, lists, {5: 7, 6: 14_000_000}, limit, telling=[6], allowed=allowed)
                    assert [(row.key, row.score) for row in few.rows] == [(3 * at, scores[at]) for at in left]
                    assert [row.telling for row in few.rows] == np.isin(left, places[::3]).astype(int).tolist()
                    assert few.is_exact


@pytest.mark.parametrize("most", [3, 1000])
def test_how_much_a_question_reads_does_not_hang_on_what_was_asked_before(engine: Engine, most: int) -> None:
    engine.apply_change("pay", make_change([make_record(n, f"Use {'cache cached caching'.split()[n % 3]}")
                                            for n in range(1, 7)]))  # fmt: skip
    words = ["cach", "cache", "cached", "caching"]
    with engine.open_reader(frozenset({"pay"})) as reader:
        cold = load_union(reader, words, most)
        known = load_union(reader, words, 1000)
        warm = load_union(reader, words, most)
    assert known is not None and known.places.tolist() == [0, 1, 2, 3, 4, 5] and known.records >= 6
    assert (cold is None) == (warm is None) == (most == 3)


# -- permission ---------------------------------------------------------------------------------------


def test_what_is_not_readable_is_as_if_it_were_not_there(engine: Engine) -> None:
    engine.apply_change("pay", make_change([make_record(1, "Use Redis", tags=("hot",))]))
    engine.apply_change("secret", make_change([make_record(2, "Use Redis in secret", tags=("hot",), uid="U2")]))
    for readable in (frozenset({"pay"}), frozenset({"pay", "absent"})):
        with engine.open_reader(readable) as reader:
            assert list(reader.names) == ["pay"]
            assert [one.repo for one in list_repository_records(reader, ALL, 10, "").records] == ["pay"]
            assert find_repository_record(reader, "secret", "D002") is None
            assert find_repository_record(reader, "pay", "U2") is None
            assert {hit.repo for hit in search_repositories(reader, "redis secret", Filter(tag="hot")).hits} == {"pay"}
    assert search(engine, "redis", []).hits == ()


def test_a_raw_statement_in_the_reading_role_sees_nothing_of_others(postgres: PostgresServer) -> None:
    """Row-level security holds where a statement forgets its condition, and the reading role changes nothing."""
    postgres.execute("DROP SCHEMA IF EXISTS kb_hub CASCADE")
    engine = PostgresEngine(postgres.dsn)
    for name in ("pay", "secret"):
        broken = (BrokenFile(f"content/{name}.md", msg("broken")),)
        engine.apply_change(name, make_change([make_record(1, f"Use {name}")], broken=broken))
    with engine._read(["pay"], "SELECT repo FROM kb_hub.repositories") as (db, (own,)):
        for table in ("records", "postings", "broken"):
            assert {repo for (repo,) in db.execute(f"SELECT repo FROM kb_hub.{table}")} == {own}, table
        assert db.execute("SELECT name FROM kb_hub.repositories").fetchall() == [("pay",)]
    with psycopg.connect(postgres.dsn) as db:
        db.execute(f"SET ROLE {READER}")
        for table in ("repositories", "records", "postings", "broken"):
            assert db.execute(f"SELECT * FROM kb_hub.{table}").fetchall() == [], "nothing is named"
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            db.execute("DELETE FROM kb_hub.records")
    engine.close()


def test_an_owner_that_is_no_superuser_is_held_to_the_policies_too(postgres: PostgresServer) -> None:
    postgres.execute(
        "DROP SCHEMA IF EXISTS kb_hub CASCADE", "DROP ROLE IF EXISTS plain_owner",
        "CREATE ROLE plain_owner LOGIN CREATEROLE", "GRANT CREATE ON DATABASE postgres TO plain_owner",
        f"DROP OWNED BY {READER}", f"DROP ROLE {READER}",
    )  # fmt: skip
    dsn = postgres.dsn.replace("postgres@", "plain_owner@")
    engine = PostgresEngine(dsn)
    engine.apply_change("pay", make_change([make_record(1, "Use Redis")]))
    assert list_names(search(engine, "redis", ["pay"])) == ["pay:D001"]
    with psycopg.connect(dsn) as db:
        assert db.execute("SELECT * FROM kb_hub.records").fetchall() == []
    engine.close()
    postgres.execute(f"DROP OWNED BY {READER}", "DROP OWNED BY plain_owner CASCADE", f"DROP ROLE {READER}",
                     "DROP ROLE plain_owner")  # fmt: skip


def test_numbers_of_a_database_made_anew_show_no_other_repository(postgres: PostgresServer) -> None:
    """An engine that knew `pay` as number 1 must not read what has number 1 now."""
    postgres.execute("DROP SCHEMA IF EXISTS kb_hub CASCADE")
    old = PostgresEngine(postgres.dsn)
    old.apply_change("pay", make_change([make_record(1, "Use Redis")]))
    assert list_names(search(old, "redis", ["pay"])) == ["pay:D001"]
    postgres.execute("DROP SCHEMA kb_hub CASCADE")
    new = PostgresEngine(postgres.dsn)
    new.apply_change("secret", make_change([make_record(1, "Use Redis in secret")]))
    with pytest.raises(IndexFailed, match="rebuilt in the meantime"):
        search(old, "redis", ["pay"])
    assert search(old, "redis", ["pay"]).hits == ()
    old.close(), new.close()


# -- changes ------------------------------------------------------------------------------------------


def test_an_index_that_followed_changes_is_that_of_a_rebuild(open_engine: Callable[[], Engine]) -> None:
    engine = open_engine()
    chance = random.Random(3)
    records = {record.path: record for record in make_random_records(1, 60)}
    engine.apply_change("pay", make_change(records.values(), "c0"))
    engine.apply_change("web", make_change(make_random_records(9, 10)))
    for step in range(1, 8):
        changed = chance.sample(sorted(records), 9)
        gone, edited = changed[:3], changed[3:]
        for path in gone:
            del records[path]
        for record in make_random_records(100 + step, 60):
            if record.path in edited:
                records[record.path] = record
        new = [records[path] for path in edited]
        change = make_change(new, f"c{step}", before=f"c{step - 1}", looked=frozenset(changed), is_whole=False)
        assert engine.apply_change("pay", change) == (6, 3)
    followed = load_index(engine, ["pay", "web"])
    engine.keep_repositories(["web"])
    assert search(engine, "redis", ["pay"]).hits == ()
    engine.apply_change("pay", make_change(records.values(), "c7"))
    assert load_index(engine, ["pay", "web"]) == followed
    assert len(followed["rows"]) == len(records) + 10


def test_what_says_the_same_is_not_written_again(engine: Engine) -> None:
    records = make_random_records(1, 20)
    assert engine.apply_change("pay", make_change(records)) == (20, 0)
    assert engine.apply_change("pay", make_change([*records[:19], make_record(20, "New")], "c2")) == (1, 0)
    assert engine.apply_change("pay", make_change(records[:5], "c3")) == (0, 15)
    assert engine.read_state("pay").records == 5


def test_a_change_for_another_commit_than_the_index_shows_is_refused(engine: Engine) -> None:
    engine.apply_change("pay", make_change([make_record(1, "Use Redis")], "c1"))
    late = make_change([make_record(1, "Use memcached")], "c3", before="c2", is_whole=False)
    assert engine.apply_change("pay", late) is None
    assert engine.read_state("pay").commit == "c1"
    assert list_names(search(engine, "redis", ["pay"])) == ["pay:D001"]


def test_a_change_that_fails_half_way_changes_nothing(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    engine.apply_change("pay", make_change(make_random_records(1, 30), "c1"))
    before = load_index(engine, ["pay"])
    monkeypatch.setattr("kb.organisation.hub_engine._MAX_BATCH", 5)
    real, calls = __import__("kb.organisation.hub_engine", fromlist=["x"]).build_row, [0]

    def fail_later(*values: object) -> object:
        calls[0] += 1
        if calls[0] > 17:
            raise KeyboardInterrupt
        return real(*values)

    monkeypatch.setattr("kb.organisation.hub_engine.build_row", fail_later)
    with pytest.raises(KeyboardInterrupt):
        engine.apply_change("pay", make_change(make_random_records(2, 30), "c2"))
    assert load_index(engine, ["pay"]) == before


def test_two_paths_with_one_number_are_two_rows(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.organisation.hub_engine.number_path", lambda path: MAX_NUMBER)
    engine.apply_change("pay", make_change([make_record(1, "Use Redis"), make_record(2, "Drop Redis")]))
    more = make_change([make_record(3, "Keep Redis")], "c2", before="c1", is_whole=False)
    engine.apply_change("pay", more)
    assert len(search(engine, "redis", ["pay"]).hits) == 3


def test_a_state_has_what_was_noted(open_engine: Callable[[], Engine]) -> None:
    engine = open_engine()
    broken = (BrokenFile("content/a.md", msg("the key {key} is missing", key="id"), 3),)
    engine.apply_change("pay", make_change([make_record(1, "Use Redis")], broken=broken))
    engine.note_fetch("pay", "2026-11-24T10:00:00+00:00", "")
    engine.note_fetch("pay", "", "host not found")
    state = open_engine().read_state("pay")
    assert (state.commit, state.records, state.fetched) == ("c1", 1, "2026-11-24T10:00:00+00:00")
    assert state.error == "host not found"
    assert [(one.path, str(one.problem), one.line) for one in state.broken] == [
        ("content/a.md", "the key id is missing", 3)
    ]
    mended = make_change([], "c2", before="c1", is_whole=False, looked=frozenset(["content/a.md"]))
    engine.apply_change("pay", mended)
    assert engine.read_state("pay").broken == ()
    assert engine.read_state("absent").commit == ""


def test_characters_that_a_database_does_not_take_are_no_failure(engine: Engine) -> None:
    odd = make_record(1, "Use Redis\0 now", "a\0b \U0010ffff", tags=("x\0y",), uid="u\0")
    engine.apply_change("pay", make_change([odd]))
    assert search(engine, "redis", ["pay"]).hits[0].record == odd


def test_pages_go_through_every_record_once(engine: Engine) -> None:
    for name in ("b", "a", "c"):
        engine.apply_change(name, make_change([make_record(n, f"Use {n}") for n in range(1, 6)]))
    engine.apply_change("bb", make_change([]))
    found, after = [], ""
    with engine.open_reader(frozenset(["a", "b", "bb", "c"])) as reader:
        while True:
            page = list_repository_records(reader, ALL, 4, after)
            found += [one.name for one in page.records]
            if not (after := page.next):
                break
        assert found == [f"{name}:D{n:03d}" for name in "abc" for n in range(1, 6)]
        with pytest.raises(BadInput):
            list_repository_records(reader, ALL, 4, "nonsense")


def test_a_record_is_loaded_by_id_uid_or_former_number(engine: Engine) -> None:
    records = [
        make_record(1, "Shop", scope="project/shop", path="content/anchors/projects/shop/D001-x.md"),
        make_record(1, "Everywhere", uid="01ABC"),
        make_record(9, "Renumbered", extra={"aliases": ["D004"]}),
    ]
    engine.apply_change("pay", make_change(records))
    with engine.open_reader(frozenset(["pay"])) as reader:
        found = {name: find_repository_record(reader, "pay", name) for name in ("D001", "01ABC", "D004", "D005")}
    assert [one.record.title if one else "" for one in found.values()] == ["Everywhere", "Everywhere", "Renumbered", ""]


def test_an_index_of_another_schema_is_made_anew(
    open_engine: Callable[[], Engine], monkeypatch: pytest.MonkeyPatch
) -> None:
    open_engine().apply_change("pay", make_change([make_record(1, "Use Redis")]))
    for module in ("sqlite_engine", "postgres_engine"):
        monkeypatch.setattr(f"kb.organisation.{module}.SCHEMA", SCHEMA ^ 1)
    engine = open_engine()
    assert engine.read_state("pay").commit == ""
    assert search(engine, "redis", ["pay"]).hits == ()
    engine.apply_change("pay", make_change([make_record(1, "Use Redis")]))
    assert list_names(search(engine, "redis", ["pay"])) == ["pay:D001"]
