"""A pack: quotes that stand in their files, what is not known, and what the code says otherwise."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from kb.context.build_pack import build_read_filter
from kb.context.claims import ProjectTree, extract_claims, find_mismatches
from kb.context.pack import SCHEMA, Pack, iter_schema_errors, select_quotes
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate, Record, Section
from kb.search.query import parse_query
from tests.support.command_line import run
from tests.support.sealed import git

BODY = (
    "The service listens on port 8000. `src/auth/session.py` holds `refresh_token()`; `issue_token()` stays in "
    "src/auth/token.py. It runs on Python 3.9 and reads the environment variable AUTH_TTL."
)
FILES = {
    "src/auth/token.py": "PORT = 9000\ndef issue_token(user): ...\n",
    "pyproject.toml": '[project]\nname = "shop"\nrequires-python = ">=3.11"\ndependencies = ["fastapi>=0.110"]\n',
    ".env": "AUTH_TTL=5\nrotation=daily\n",
    "deploy.pem": "rotation",
    "config/secrets.yaml": "rotation: daily\n",
    "docs/rotation.md": "Rotation is by hand.\n",
}


@pytest.fixture(scope="module")
def made(sealed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with a knowledge base inside, and one record about its code."""
    place = tmp_path_factory.mktemp("made") / "shop"
    for name, text in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_text(text)
    git(place.parent, "init", "-q", "-b", "main", str(place))
    kb, _ = make(str(place), os.environ, inside=True)
    with kb:
        token = Candidate("decision", "Issue tokens in the auth service", BODY, "A cookie", "Simple to test",
                          ("src/auth/",), "make test", "Serve `old()` again", impact_areas=("security",))  # fmt: skip
        other = Candidate("pattern", "支付接口要幂等", "重复的支付请求返回同一结果。", why="重试很常见", reusable=True)
        verdicts = kb.write([token, other], folder=str(place))
        assert [verdict.verdict for verdict in verdicts] == ["created", "created"]
    return place


@pytest.fixture
def place(made: Path, tmp_path: Path) -> Path:
    """The project, copied."""
    copy = tmp_path / "shop"
    shutil.copytree(made, copy, symlinks=True)
    return copy


@pytest.fixture
def shop(place: Path) -> Iterator[KnowledgeBase]:
    """Its knowledge base."""
    with KnowledgeBase.at(str(place)) as kb:
        yield kb


def test_every_quote_stands_in_its_file_with_its_line_and_commit(shop: KnowledgeBase, place: Path) -> None:
    made = shop.pack("how are tokens issued", folder=str(place))
    assert [line.text for line in made.summary] == [
        "Issue tokens in the auth service: The service listens on port 8000."
    ]
    assert made.evidence
    for item in made.evidence:
        data = (place / item.file).read_bytes()
        assert data.count(item.quote.encode()) == 1
        assert data[: data.index(item.quote.encode())].count(b"\n") == item.line - 1
        assert item.commit == git(place, "log", "-1", "--format=%H", "--", item.file).strip()
        assert item.date.startswith("2026-11-21T00:00:00")
    edited = place / made.evidence[0].file
    edited.write_text(edited.read_text().replace("Simple to test", "It is simple"))
    again = shop.pack("how are tokens issued", folder=str(place)).evidence[0]
    assert again.commit == "" and again.date.endswith("+00:00")


def test_what_the_code_says_otherwise_is_a_conflict_with_a_proposal(shop: KnowledgeBase, place: Path) -> None:
    made = shop.pack("how are tokens issued", folder=str(place))
    assert [(c.kind, c.said) for c in made.conflicts] == [
        ("path", "src/auth/session.py"),
        ("symbol", "refresh_token"),
        ("version", "Python 3.9"),
        ("port", "port 8000"),
        ("env", "AUTH_TTL"),
    ]
    assert made.conflicts[3].found == "the project has 9000"
    assert all("kb edit D001" in c.proposal and c.line > 1 for c in made.conflicts)


def test_what_is_not_known_is_an_open_question_and_secrets_are_never_read(shop: KnowledgeBase, place: Path) -> None:
    made = shop.pack("how are tokens issued before the rotation", folder=str(place))
    (question,) = made.open_questions
    assert "rotation" in question.question and question.look[0] == "docs/rotation.md"
    looked = {path for path in question.look if (place / path).exists()}
    assert looked == {"docs/rotation.md"}
    stranger = shop.pack("how tall is the Eiffel tower", folder=str(place))
    assert stranger.evidence == () and len(stranger.open_questions) == 1
    assert stranger.open_questions[0].look


def test_where_no_record_surely_answers_the_nearest_are_named(shop: KnowledgeBase, place: Path) -> None:
    made = shop.pack("which library signs cookies for visitors from abroad", folder=str(place))
    assert made.evidence == () and made.summary == ()
    assert "[D001] Issue tokens in the auth service" in made.open_questions[0].question
    assert made.open_questions[0].look[0] == "kb show D001"


def test_a_pack_reads_only_what_the_settings_allow(place: Path) -> None:
    with (place / "kb.toml").open("a") as file:
        file.write('pack_allow = ["src/**"]\npack_deny = ["content/anchors/**/M*.md"]\n')
    with KnowledgeBase.at(str(place)) as kb:
        made = kb.pack("how are tokens issued before the rotation", folder=str(place))
        assert all("docs/rotation.md" not in question.look for question in made.open_questions)
        assert kb.pack("支付接口 幂等", folder=str(place)).evidence == ()


def test_what_holds_everywhere_is_compared_only_where_something_of_it_is(place: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    kb, _ = make(str(home), os.environ)
    with kb:
        here = Candidate("decision", "Tokens are issued by hand", "`issue_token()` is called by `rotate_all()`.",
                         why="It is simple to test and to explain", impact_areas=("security",))  # fmt: skip
        elsewhere = Candidate("decision", "Tokens are stored in the vault", "`seal()` stands in lib/vault/seal.rs.",
                              why="It is safe and audited by others", impact_areas=("security",))  # fmt: skip
        verdicts = kb.write([here, elsewhere], folder=str(home))
        assert [(v.verdict, v.scope) for v in verdicts] == [("created", "global")] * 2
        made = kb.pack("where are tokens issued and stored", folder=str(place))
        assert {item.id for item in made.evidence} == {"D001", "D002"}
        assert [conflict.said for conflict in made.conflicts] == ["rotate_all"]
        for folder in (home, tmp_path):
            assert kb.pack("where are tokens issued and stored", folder=str(folder)).conflicts == ()


@pytest.mark.parametrize(
    ("path", "may"),
    [
        ("src/app.py", True), (".env", False), ("a/.env.local", False), (".env.example", True), ("x/id_rsa", False),
        ("tls/server.pem", False), ("config/SECRETS.yml", False), ("secrets/readme.md", False), (".git/config", False),
        ("src/environment.py", True), ("my-credentials.json", False), ("src/secretary.py", False),
    ],
)  # fmt: skip
def test_which_files_may_be_read(path: str, may: bool) -> None:
    assert build_read_filter()(path) is may
    assert not build_read_filter((), ("src/**", path))(path)


def test_yaml_and_json_say_the_same_and_are_as_the_schema_says(place: Path) -> None:
    value = json.loads(run(place, "pack", "how are tokens issued", "--json").out)
    text = run(place, "pack", "how are tokens issued").out
    assert yaml.safe_load(text) == value
    Draft202012Validator.check_schema(dict(SCHEMA))
    Draft202012Validator(dict(SCHEMA)).validate(value)
    assert json.loads(run(place, "pack", "--schema").out) == SCHEMA
    assert list(SCHEMA["properties"]) == list(Pack._fields)


def test_a_pack_that_a_reader_wrote_is_checked(place: Path) -> None:
    value = json.loads(run(place, "pack", "how are tokens issued", "--json").out)
    (place / "p.yaml").write_text(run(place, "pack", "how are tokens issued").out)
    assert run(place, "pack", "--check", "p.yaml").code == 0
    value["evidence"][0]["quote"] += " And much more."
    value["evidence"][0]["file"] = "../elsewhere.md"
    del value["open_questions"]
    value["opinion"] = "use cookies"
    (place / "p.json").write_text(json.dumps(value))
    checked = run(place, "pack", "--check", "p.json")
    assert checked.code == 1 and checked.out.splitlines() == [
        "pack.open_questions does not match the schema",
        "pack.opinion does not match the schema",
        "evidence[0]: the quote is not in ../elsewhere.md",
    ]
    (place / "p.json").write_text("a: [")
    assert "p.json:2: neither JSON nor YAML" in run(place, "pack", "--check", "p.json").error


LARGE = Draft202012Validator(dict(SCHEMA))
VALUES = st.recursive(
    st.text(max_size=5) | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)
)


@settings(max_examples=20)
@given(st.dictionaries(st.sampled_from([*SCHEMA["properties"]]), VALUES))
def test_law_the_small_checker_agrees_with_the_large_one(value: dict[str, object]) -> None:
    assert (not list(iter_schema_errors(value))) == LARGE.is_valid(value)


@given(st.text(alphabet="ab c\r\n.。#-`>脱敏支付", max_size=900), st.sampled_from(["支付 脱敏", "ab", "zz"]))
def test_law_a_quote_is_a_piece_of_the_text_on_its_line(text: str, question: str) -> None:
    for quote in select_quotes(text, parse_query(question)):
        assert quote.text and quote.text in text
        rows = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        assert quote.text.splitlines()[0].strip() in rows[quote.line - 1]


def test_a_quote_of_a_long_paragraph_is_whole_sentences_around_the_best() -> None:
    text = "Nothing here. " * 100 + "Tokens are issued once. " + "Nothing there. " * 100
    (quote,) = select_quotes(text, parse_query("when are tokens issued"))
    assert quote.text.startswith("Tokens are issued once.") and quote.text.endswith(".") and len(quote.text) <= 600


TREE = ProjectTree(
    ["src/app.py", "src/util/text.py", "web/package.json", "compose.yml", "go.mod", "README.md", ".env.example"],
    {
        "src/app.py": "def create_app(): ...\nclass Store: ...\n",
        "web/package.json": '{"dependencies": {"react": "^17.0.2", "left-pad": "1.3.0"}, "engines": {"node": ">=18"}}',
        "compose.yml": 'services:\n  db:\n    image: postgres:16\n    ports:\n      - "5433:5432"\n',
        "go.mod": "module shop\n\ngo 1.22\n\nrequire github.com/gin-gonic/gin v1.9.1\n",
        ".env.example": "APP_MODE=dev\n",
        "README.md": "old_name() and LEGACY_FLAG",
    },
)


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        ("It keeps `.cache/index.db` and .env.d/x.toml", []),
        ("See `src/app.py:12` and src/util/text.py.", []),
        ("See `util/text.py`, `src/` and `src/**/*.py`.", []),
        ("See src/gone.py and https://example.com/a/b.html", ["src/gone.py"]),
        ("`create_app()` makes a class `Store`", []),
        ("Call `old_name()`", ["old_name"]),
        ("函数 `make_it` 负责", ["make_it"]),
        ("We no longer call `gone()` in src/gone.py", []),
        ("不再使用 `gone()`", []),
        ("React 17, left-pad 1.3.0, Node 20, Go 1.22, gin 1.9, PostgreSQL 16", []),
        ("React 18", ["React 18"]),
        ("left-pad@1.2.0", ["left-pad @1.2.0"]),
        ("Node 16 and PostgreSQL 15", ["Node 16", "PostgreSQL 15"]),
        ("Rust 1.70 and 3 workers", []),
        ("the database is on port 5433", []),
        ("端口 8000", ["port 8000"]),
        ("localhost:9999", ["port 9999"]),
        ("`APP_MODE` and `APP_MODE=dev`", []),
        ("export APP_MODE=prod", ["APP_MODE=prod"]),
        ("环境变量 LEGACY_FLAG", ["LEGACY_FLAG"]),
        ("HTTP_OK is a word in capitals", []),
    ],
)
def test_which_claims_the_files_bear_out(line: str, wrong: list[str]) -> None:
    text = f"---\nid: D001\n---\n# [D001] x\n\n## Decision\n\n{line}\n\n## Alternatives\n\n`never()` in src/never.py\n"
    found = list(find_mismatches(extract_claims(text), TREE))
    assert [answer.claim.said for answer in found] == wrong
    assert all(answer.is_sure and answer.claim.line == 8 for answer in found)


def test_where_no_file_can_answer_a_person_has_to_look() -> None:
    text = "## Decision\n\nIt calls `run_it()` on port 80 with `A_FLAG`.\n"
    found = list(
        find_mismatches(extract_claims(text, ["docs/gone.md"]), ProjectTree(["docs/a.md"], {"docs/a.md": "prose"}))
    )
    assert [(a.claim.kind, a.is_sure) for a in found] == [
        ("path", True), ("symbol", False), ("port", False), ("env", False)
    ]  # fmt: skip


def test_a_pack_quotes_what_a_search_finds_first(kb: KnowledgeBase) -> None:
    kb.import_records(
        [
            Record("C001", "constraint", "前端必须使用 react@17，组件库不兼容 18", status="accepted", date="2026-01-01",
                   sections=(Section("decision", "Decision", "前端必须使用 react@17，组件库不兼容 18。"),)),
            Record("D001", "decision", "Refunds are settled by a nightly job", status="accepted", date="2026-01-01",
                   sections=(Section("decision", "Decision", "The job runs at two and takes the file of the bank."),)),
        ],
        origin="a test",
    )  # fmt: skip
    for question in ("react 版本可以升到 18 吗", "react 能用最新版吗", "which bank file does the nightly job take"):
        first = kb.recall(question)[0].record.id
        assert [line.id for line in kb.pack(question).summary][:1] == [first], question
    for question in ("数据库用什么版本", "今天午饭吃什么", "how do I cook rice"):
        assert kb.pack(question).evidence == (), question
