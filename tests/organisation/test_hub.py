"""A hub over real git repositories: what comes in, what is refused, and what a kill leaves behind."""

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kb.errors import BadInput, IndexFailed, KbError
from kb.organisation.across_bases import compare_repositories
from kb.organisation.hub import Hub
from kb.organisation.hub_config import load_hub_config
from kb.organisation.hub_engine import Engine, Reader
from kb.organisation.mirrors import Mirror, is_near, resolve_address
from kb.organisation.org_values import AcrossReport
from kb.organisation.postgres_engine import PostgresEngine, _PostgresStore
from kb.records.model import Record
from kb.records.record_file import render
from tests.organisation.test_engines import list_names, load_index, make_random_records, make_record
from tests.support.postgres import PostgresServer


class Team:
    """The repository of one team."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.mkdir()
        self.git("init", "-q", "-b", "main")

    def git(self, *words: str) -> str:
        return subprocess.run(["git", "-C", str(self.path), *words], check=True, capture_output=True, text=True).stdout

    def write(self, *records: object, **files: bytes | None) -> str:
        for record in records:
            place = self.path / record.path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(render(record))
        for name, data in files.items():
            place = self.path / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True) if data is None else place.write_bytes(data)
        return self.commit()

    def commit(self) -> str:
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", "x")
        return self.git("rev-parse", "HEAD").strip()


@pytest.fixture
def teams(tmp_path: Path) -> dict[str, Team]:
    return {name: Team(tmp_path / name) for name in ("pay", "web")}


@pytest.fixture(params=["sqlite", "postgres"])
def environment(request: pytest.FixtureRequest) -> dict[str, str]:
    if request.param == "sqlite":
        return dict(os.environ)
    server: PostgresServer = request.getfixturevalue("postgres")
    server.execute("SET client_min_messages = error", "DROP SCHEMA IF EXISTS kb_hub CASCADE")
    return {**os.environ, "KB_HUB_DSN": server.dsn}


@pytest.fixture
def hub_file(tmp_path: Path, teams: dict[str, Team]) -> str:
    rows = "".join(
        f'[[repository]]\nname = "{name}"\nurl = "file://{team.path}"\ngroups = ["{name}"]\n'
        for name, team in teams.items()
    )
    (tmp_path / "hub.toml").write_text(f"allow_local = true\n{rows}")
    return str(tmp_path / "hub.toml")


@pytest.fixture
def hub(hub_file: str, environment: dict[str, str]) -> Iterator[Hub]:
    opened = Hub.open(hub_file, environment)
    yield opened
    opened.close()


BOTH = frozenset({"pay", "web"})


def test_what_is_pushed_is_found_and_what_is_removed_is_not(hub: Hub, teams: dict[str, Team]) -> None:
    first = teams["pay"].write(make_record(1, "Cache tokens in Redis"), make_record(2, "Retry refunds"))
    teams["web"].write(make_record(1, "Serve images from a CDN"))
    reports = hub.sync()
    assert [(one.name, one.updated, one.removed, str(one.error)) for one in reports] == [
        ("pay", 2, 0, ""), ("web", 1, 0, ""),
    ]  # fmt: skip
    assert reports[0].after == first
    assert list_names(hub.search("redis", BOTH)) == ["pay:D001"]
    seen = hub.version(BOTH)
    assert hub.sync()[0].updated == 0
    assert hub.version(BOTH) == seen
    (teams["pay"].path / make_record(1, "").path).unlink()
    teams["pay"].write(make_record(3, "Drop Redis for memcached"))
    assert [(one.name, one.updated, one.removed) for one in hub.sync(["pay"])] == [("pay", 1, 1)]
    assert list_names(hub.search("redis", BOTH)) == ["pay:D003"]
    assert hub.version(BOTH) != seen
    assert hub.version(frozenset({"web"})) != hub.version(BOTH)
    assert hub.count(BOTH) == {"pay": 2, "web": 1}
    found = hub.load("pay", "D003", BOTH)
    assert found and found.record.title == "Drop Redis for memcached"
    assert hub.load("pay", "D003", frozenset({"web"})) is None
    assert hub.is_ready()


def test_a_history_that_was_rewritten_is_followed(hub: Hub, teams: dict[str, Team]) -> None:
    teams["pay"].write(make_record(1, "Use Redis"))
    hub.sync(["pay"])
    teams["pay"].git("checkout", "-q", "--orphan", "other")
    teams["pay"].git("rm", "-rfq", ".")
    teams["pay"].write(make_record(5, "Use memcached"))
    teams["pay"].git("branch", "-M", "main")
    (report,) = hub.sync(["pay"])
    assert not report.error
    assert [one.name for one in hub.list_records(BOTH).records] == ["pay:D005"]


def test_a_repository_that_fails_stays_and_says_why(hub: Hub, teams: dict[str, Team]) -> None:
    teams["pay"].write(make_record(1, "Use Redis"))
    teams["web"].write(make_record(1, "Serve images"))
    hub.sync()
    teams["pay"].path.rename(teams["pay"].path.with_name("away"))
    teams["web"].write(make_record(2, "Compress images"))
    pay, web = hub.sync()
    assert pay.error and pay.before == pay.after
    assert web.updated == 1
    assert list_names(hub.search("redis", BOTH)) == ["pay:D001"]
    status = {one.name: one for one in hub.status()}
    assert status["pay"].last_error and status["pay"].last_fetch
    assert status["web"].last_error == ""
    with pytest.raises(BadInput):
        hub.sync(["absent"])


def test_files_that_mean_harm_are_reported_and_the_others_indexed(hub: Hub, teams: dict[str, Team]) -> None:
    pay, top = teams["pay"], "content/anchors/global"
    nested = b"---\nid: D1\nkind: decision\ntitle: x\nextra: " + b"[" * 20_000 + b"\n---\n"
    aliases = b"---\nid: D2\nkind: decision\ntitle: x\na: &a [x,x]\nb: &b [*a,*a]\nc: [*b,*b]\n---\n"
    files = {
        f"{top}/big.md": b"x" * 1_500_000, f"{top}/nul.md": b"\0", f"{top}/latin.md": b"\xff\xfe",
        f"{top}/nested.md": nested, f"{top}/aliases.md": aliases, f"{top}/empty.md": b"",
        f"{top}/half.md": b'---\nid: D9\nkind: decision\ntitle: "\\ud800 x"\n---\n', "kb.toml": b"adopt = 3",
    }  # fmt: skip
    pay.write(make_record(1, "Use Redis"), make_record(2, "Mine", scope="agent/a"), **files)
    os.symlink("/etc/passwd", pay.path / top / "link.md")
    pay.git("update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},{top}/module.md")
    pay.commit()
    (report,) = hub.sync(["pay"])
    assert not report.error
    broken = {one.path for one in report.broken}
    wrong = ("big", "nul", "latin", "nested", "empty", "link")
    assert {f"{top}/{name}.md" for name in wrong} | {"kb.toml"} <= broken
    names = list_names(hub.search("redis", BOTH))
    assert names == ["pay:D001"]
    assert hub.load("pay", "D002", BOTH) is None, "what holds for one agent alone is no matter of the organisation"
    assert {one.path for one in hub.status()[0].broken} == broken
    pay.write(**{f"{top}/big.md": None})
    hub.sync(["pay"])
    assert f"{top}/big.md" not in {one.path for one in hub.status()[0].broken}


def test_adopted_folders_are_read_as_their_settings_say(hub: Hub, teams: dict[str, Team]) -> None:
    adr = b"# 1. Use Redis\n\nDate: 2026-01-02\n\n## Status\n\nAccepted\n\n## Decision\n\nWe use Redis for sessions.\n"
    teams["pay"].write(**{"docs/adr/0001-use-redis.md": adr, "kb.toml": b'project = "pay"\nadopt = ["docs/adr"]\n'})
    hub.sync(["pay"])
    (hit,) = hub.search("redis", BOTH).hits
    assert (hit.record.path, hit.record.scope) == ("docs/adr/0001-use-redis.md", "project/pay")
    teams["pay"].write(**{"kb.toml": b'project = "pay"\n'})
    hub.sync(["pay"])
    assert hub.search("redis", BOTH).hits == ()


def test_bases_are_compared_over_repositories(hub: Hub, teams: dict[str, Team]) -> None:
    text = "Customers may ask for a refund for {} days."
    teams["pay"].write(
        make_record(1, "Refund window is 90 days", text.format(90), scope="project/pay"),
        make_record(2, "Use PostgreSQL as the database", "We use PostgreSQL."),
        make_record(3, "Use UTC in every log", "Every log line has its time in UTC."),
    )
    teams["web"].write(
        make_record(1, "Refund window is 30 days", text.format(30), scope="project/web"),
        make_record(3, "Use UTC in every log", "Every log line has its time in UTC."),
        make_record(4, "Ask once", "Something else", supersedes=("pay:D002",), amends=("pay:D099",)),
    )
    hub.sync()
    report = hub.compare_bases(BOTH)
    assert [(one.one.name, one.other.name) for one in report.contradictions] == [("pay:D001", "web:D001")]
    assert "pay:D001" in str(report.contradictions[0].reason) or "web:D001" in str(report.contradictions[0].reason)
    assert [(one.one.name, one.other.name) for one in report.duplicates] == [("pay:D003", "web:D003")]
    assert [(one.relation, one.target, one.found.name if one.found else "") for one in report.links] == [
        ("supersedes", "pay:D002", "pay:D002"), ("amends", "pay:D099", ""),
    ]  # fmt: skip
    alone = hub.compare_bases(frozenset({"web"}))
    assert (alone.contradictions, alone.duplicates, alone.links) == ((), (), ())
    assert hub.compare_bases(BOTH) is report, "nothing has changed since"
    teams["web"].write(make_record(9, "Use trunk based development", "One branch."))
    hub.sync()
    assert hub.compare_bases(BOTH).compared == report.compared + 1


def test_who_compares_at_the_same_time_shares_the_work(
    hub: Hub, teams: dict[str, Team], monkeypatch: pytest.MonkeyPatch
) -> None:
    teams["pay"].write(make_record(1, "Use Redis"))
    hub.sync()
    real, running, calls = compare_repositories, threading.Event(), []

    def wait_then_compare(reader: Reader) -> AcrossReport:
        calls.append(reader)
        running.set()
        time.sleep(0.6)
        if len(calls) == 1:
            raise IndexFailed("gone")
        return real(reader)

    monkeypatch.setattr("kb.organisation.hub.compare_repositories", wait_then_compare)
    with ThreadPoolExecutor(2) as pool:
        for failures in (2, 0):
            running.clear()
            first = pool.submit(hub.compare_bases, BOTH)
            assert running.wait(10)
            both = [first, pool.submit(hub.compare_bases, BOTH)]
            assert sum(isinstance(one.exception(), IndexFailed) for one in both) == failures
    assert len(calls) == 2, "what fails is not kept, what is there is not compared again"
    assert both[0].result() is both[1].result() is hub.compare_bases(BOTH)


def make_shared(number: int, title: str, text: str, group: str) -> Record:
    path = f"content/anchors/groups/{group}/D{number:03d}-x.md"
    return make_record(number, title, text, scope=f"group/{group}", path=path)


@pytest.mark.parametrize(
    ("words", "shared", "foreign"),
    [
        ("refund window", "Refund window for all shops", "Refund window, refund window and refund window"),
        ("退款 窗口", "所有店铺的退款窗口", "退款窗口、退款窗口、退款窗口"),
    ],
)
def test_what_a_group_shares_is_told_to_its_projects_before_what_others_decided(
    hub: Hub, teams: dict[str, Team], words: str, shared: str, foreign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The base that has the record says who is in its group; the base of the project that asks is another one."""
    settings = b'project = "platform"\ngroups = ["retail: shop, loan"]\n'
    many = [make_record(n, foreign, scope="project/platform") for n in range(2, 80)]
    teams["web"].write(make_shared(1, shared, "...", "retail"), *many, **{"kb.toml": settings})
    teams["pay"].write(make_record(1, "Something else"))
    hub.sync()
    names = [hit.name for hit in hub.search(words, BOTH).hits]
    assert "web:D001" not in names, "of many that say the words more often it is not among the best"
    told = hub.search(words, BOTH, project="shop")
    assert told.hits[0].name == "web:D001" and [hit.told for hit in told.hits[:2]] == [True, False]
    assert hub.search(words, BOTH, project="loan").hits[0].name == "web:D001"
    assert hub.search(words, BOTH, project="bank").hits[0].name != "web:D001", "it is in no group"
    version = hub.version(BOTH)
    teams["web"].write(**{"kb.toml": settings.replace(b", loan", b", bank")})
    hub.sync()
    assert hub.version(BOTH) != version
    assert hub.search(words, BOTH, project="bank").hits[0].name == "web:D001", "the settings alone have changed"
    assert hub.search(words, BOTH, project="loan").hits[0].name != "web:D001"
    monkeypatch.delattr("kb.organisation.hub.decode_settings")
    assert hub.search(words, BOTH, project="bank").hits[0].name == "web:D001", "read once as long as nothing changes"


def test_groups_are_declared_for_all_bases_and_show_nothing_that_may_not_be_read(
    hub_file: str, environment: dict[str, str], teams: dict[str, Team]
) -> None:
    """`[project_groups]` names projects or repositories; a repository stands for the project of its settings."""
    with open(hub_file, "a", encoding="utf-8") as file:
        file.write('[project_groups]\nretail = ["pay"]\n')
    hub = Hub.open(hub_file, environment)
    teams["pay"].write(make_record(1, "Refund in cash"), **{"kb.toml": b'project = "shop"\n'})
    teams["web"].write(make_shared(1, "Refund by card", "", "retail"), make_record(2, "Refund by post"))
    hub.sync()
    assert hub.config.project_groups == {"retail": ("pay",)}

    def find(project: str, readable: frozenset[str]) -> list[tuple[str, bool]]:
        return [(hit.name, hit.told) for hit in hub.search("refund", readable, project=project).hits]

    told = [("pay:D001", True), ("web:D001", True), ("web:D002", False)]
    assert find("shop", BOTH) == told, "the base of the project, then its groups, then the others"
    assert find("pay", BOTH) == told, "the repository by its own name"
    assert find("other", BOTH)[0][1] is False
    # who may not read pay is not told that it stands for the shop
    assert find("shop", frozenset({"web"})) == find("other", frozenset({"web"}))
    assert find("shop", frozenset({"pay"})) == [("pay:D001", True)]
    narrowed = hub.search("refund", frozenset({"web"}), project="shop", known=BOTH)
    assert [(hit.name, hit.told) for hit in narrowed.hits] == told[1:]
    hub.close()


def test_a_repository_is_shared_with_whoever_all_its_readers_are(tmp_path: Path) -> None:
    rows = (("a", ["x", "y"]), ("b", ["x"]), ("c", ["y", "x"]), ("d", ["*"]), ("e", []))
    text = "".join(
        f'[[repository]]\nname = "{name}"\nurl = "https://x.example/{name}"\ngroups = {groups}\n'
        for name, groups in rows
    )
    (tmp_path / "hub.toml").write_text(text)
    config = load_hub_config(str(tmp_path / "hub.toml"), {})
    shared = {name: "".join(sorted(config.find_shared(name))) for name, _ in rows}
    assert shared == {"a": "acd", "b": "abcd", "c": "acd", "d": "d", "e": "de"}


def test_the_command_line_shows_what_happened(hub_file: str, teams: dict[str, Team]) -> None:
    teams["pay"].write(make_record(1, "Use Redis"))

    def call(*words: str) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("kb")), "hub", *words, "--config", hub_file]
        return subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(hub_file).parent)

    done = call("sync")
    assert done.returncode == 1, "web has no commit yet"
    assert "pay: now at" in done.stdout and "web: stays as it was" in done.stdout
    assert "pay: indexed at" in call("status").stdout
    assert json.loads(call("status", "--json").stdout)[0]["records"] == 1
    assert "accepted records compared: 1" in call("compare").stdout


# -- killed in the middle -----------------------------------------------------------------------------

SYNC = """
import os, signal, sys, time
from kb.organisation import hub_engine
from kb.organisation.hub import Hub
step, seen = int(sys.argv[2]), 0
def count(function):
    def call(*values, **more):
        global seen
        seen += 1
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*values, **more)
    return call
from kb.organisation import sqlite_engine, postgres_engine
for store in (sqlite_engine._SqliteStore, postgres_engine._PostgresStore):
    for name in ("find_rows", "replace_rows", "read_slots", "write_slots", "replace_broken"):
        setattr(store, name, count(getattr(store, name)))
hub_engine._MAX_BATCH = 7
Hub.open(sys.argv[1], os.environ).sync()
"""


def test_a_killed_sync_leaves_the_old_or_the_new(
    hub_file: str, environment: dict[str, str], teams: dict[str, Team]
) -> None:
    """kill -9 before every kind of step; afterwards the index is the old one, and after a sync that of a rebuild."""
    teams["pay"].write(*make_random_records(1, 30))
    teams["web"].write(*make_random_records(2, 5))
    hub = Hub.open(hub_file, environment)
    hub.sync()
    old = load_index(hub.engine, ["pay"])
    teams["pay"].write(*make_random_records(3, 40))
    for step in (1, 2, 3, 5, 9, 12):
        done = subprocess.run([sys.executable, "-c", SYNC, hub_file, str(step)], env=environment, check=False)
        assert done.returncode == -signal.SIGKILL, step
        assert load_index(hub.engine, ["pay"]) == old, step
    hub.sync()
    followed = load_index(hub.engine, ["pay", "web"])
    assert followed != old
    assert followed == rebuild(hub)
    hub.close()


def rebuild(hub: Hub) -> dict[str, object]:
    """Return the index of the same mirrors made from nothing."""
    hub.engine.keep_repositories([])
    assert hub.count(BOTH) in ({}, {"pay": 0, "web": 0})
    hub.sync()
    return load_index(hub.engine, sorted(BOTH))


def test_a_database_that_stops_at_once_loses_nothing(
    hub_file: str, postgres: PostgresServer, teams: dict[str, Team]
) -> None:
    postgres.execute("DROP SCHEMA IF EXISTS kb_hub CASCADE")
    teams["pay"].write(*make_random_records(1, 20))
    environment = {**os.environ, "KB_HUB_DSN": postgres.dsn}
    hub = Hub.open(hub_file, environment)
    hub.sync(["pay"])
    old = load_index(hub.engine, ["pay"])
    teams["pay"].write(*make_random_records(3, 200))
    real = _PostgresStore.write_slots

    def stop_before(store: _PostgresStore, lists: object) -> None:
        postgres.stop_immediately()
        real(store, lists)  # type: ignore[arg-type]

    assert isinstance(hub.engine, PostgresEngine)
    hub.engine._pool.timeout = 0.3
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(_PostgresStore, "write_slots", stop_before)
        (report,) = hub.sync(["pay"])
    assert report.error and report.after == report.before
    with pytest.raises(KbError):
        hub.search("redis", BOTH)
    assert not hub.is_ready()
    postgres.start()
    wait_until_ready(hub)
    assert load_index(hub.engine, ["pay"]) == old
    (report,) = hub.sync(["pay"])
    assert not report.error and report.updated
    followed = load_index(hub.engine, ["pay"])
    hub.engine.keep_repositories([])
    hub.sync(["pay"])
    assert load_index(hub.engine, ["pay"]) == followed
    hub.close()


def wait_until_ready(hub: Hub) -> None:
    end = time.monotonic() + 30
    while not hub.is_ready() and time.monotonic() < end:
        time.sleep(0.1)


# -- settings and addresses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ('[[repository]]\nname = "a"\n', 1, "needs the key url"),
        ('polling = "x"\n', 1, "polling cannot be"),
        ("pollng = 3\n", 1, "no setting pollng"),
        ('\n[[repository]]\nname = "a b"\nurl = "https://x.example/a"\n', 3, "cannot be the name"),
        ('[[repository]]\nname = "../a"\nurl = "https://x.example/a"\n', 2, "cannot be the name"),
        ('[[repository]]\nname = "a"\nurl = "ext::sh -c id"\n', 3, "not the address"),
        ('[[repository]]\nname = "a"\nurl = "--upload-pack=id"\n', 3, "not the address"),
        ('[[repository]]\nname = "a"\nurl = "file:///etc"\n', 3, "does not fetch from file"),
        ('[[repository]]\nname = "a"\nurl = "http://x.example/a"\n', 3, "does not fetch from http"),
        ('[[repository]]\nname = "a"\nurl = "git://x.example/a"\n', 3, "does not fetch from git"),
        ('[[repository]]\nname = "a"\nurl = "ssh://-oProxyCommand=id/a"\n', 3, "not the address"),
        ('[[repository]]\nname = "a"\nurl = "https://u:secret@x.example/a"\n', 3, "no password"),
        ('[[repository]]\nname = "a"\nurl = "https://x.example/a"\nbranch = "-x"\n', 4, "name of a branch"),
        ('[[repository]]\nname = "a"\nurl = "https://x.example/a"\nfolder = "../b"\n', 4, "not a folder"),
        ('[[repository]]\nname = "a"\nurl = "https://x.example/a"\ntoken = "ghp_abc"\n', 4, "environment variable"),
        ('[[repository]]\nname = "a"\nurl = "https://x.example/a"\nspeed = "x"\n', 4, "no setting repository.speed"),
        ('[[repository]]\nname = "a"\nurl = "https://x.example/a"\n' * 2, 5, "two repositories"),
        ('[[repository]]\nname = "a"\nurl = "https://x.example/a"\ngroups = "x"\n', 4, "groups cannot be"),
        ("polling = 1\ndata = \n", 2, "not valid TOML"),
        ('[project_groups]\npay = "shop"\n', 2, "pay cannot be"),
        ('[project_groups]\n\n"../x" = ["shop"]\n', 3, "cannot be"),
        ("project_groups = 3\n", 1, "is a table"),
    ],
)
def test_a_mistake_in_the_settings_is_named_with_its_line(tmp_path: Path, text: str, line: int, said: str) -> None:
    (tmp_path / "hub.toml").write_text(text)
    with pytest.raises(BadInput, match=said) as caught:
        load_hub_config(str(tmp_path / "hub.toml"), {})
    assert caught.value.line == line
    assert "secret" not in str(caught.value) and "ghp_abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("127.0.0.1", True), ("::1", True), ("169.254.169.254", True), ("fe80::1%eth0", True), ("0.0.0.0", True),
        ("::ffff:127.0.0.1", True), ("224.0.0.1", True), ("10.1.2.3", False), ("93.184.216.34", False),
        ("2606:2800:220:1::1", False),
    ],
)  # fmt: skip
def test_addresses_of_this_machine_and_its_link_are_near(address: str, near: bool) -> None:
    assert is_near(address) is near


def test_a_host_that_stands_for_this_machine_is_refused(tmp_path: Path) -> None:
    """By every address of its name; and git is held to those that were looked at."""
    (tmp_path / "hub.toml").write_text('[[repository]]\nname = "a"\nurl = "https://git.example/a"\ntoken = "T"\n')
    config = load_hub_config(str(tmp_path / "hub.toml"), {})
    (one,) = config.repositories
    with pytest.raises(BadInput, match=r"169\.254"):
        resolve_address(config, one, {"T": "x"}, lambda host, port: ["93.184.216.34", "169.254.169.254"])
    found = dict(resolve_address(config, one, {"T": "x"}, lambda host, port: ["93.184.216.34"]).settings)
    assert found["http.curloptResolve"] == "git.example:443:93.184.216.34"
    assert found["http.followRedirects"] == "false"
    assert (found["protocol.allow"], found["protocol.https.allow"]) == ("never", "always")
    with pytest.raises(BadInput, match="empty"):
        resolve_address(config, one, {}, lambda host, port: ["93.184.216.34"])


def test_a_fetch_ends_at_its_limits(tmp_path: Path, hub_file: str, teams: dict[str, Team]) -> None:
    """What brings too much, or takes too long, leaves the mirror at its last state."""
    teams["pay"].write(make_record(1, "Use Redis"))
    config = load_hub_config(hub_file, {})
    (pay, _) = config.repositories
    first = Mirror(config, pay, os.environ).fetch()
    teams["pay"].write(**{"big.bin": random.Random(1).randbytes(3_000_000)})
    limited = Mirror(config._replace(fetch_megabytes=0, fetch_seconds=60), pay, os.environ)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kb.organisation.mirrors._WITHIN", 0)
        patched.setattr("kb.git.git_process._WATCH_SECONDS", 0.001)
        with pytest.raises(KbError, match="megabytes"):
            limited.fetch()
        with pytest.raises(KbError, match="seconds"):
            Mirror(config._replace(fetch_seconds=0), pay, os.environ).fetch()
    assert limited.find_commit() == first
    assert Mirror(config, pay, os.environ).fetch() != first


def test_groups_say_what_is_readable(tmp_path: Path) -> None:
    rows = "".join(
        f'[[repository]]\nname = "{name}"\nurl = "https://x.example/{name}"\ngroups = {groups}\n'
        for name, groups in (("a", ["x"]), ("b", ["x", "y"]), ("c", ["*"]), ("d", []))
    )
    (tmp_path / "hub.toml").write_text(rows.replace("'", '"'))
    config = load_hub_config(str(tmp_path / "hub.toml"), {})
    assert config.find_readable(frozenset({"y"})) == {"b", "c"}
    assert config.find_readable(frozenset()) == {"c"}


def test_an_engine_fits_the_seam(open_engine: Callable[[], Engine]) -> None:
    assert open_engine().read_state("none").records == 0
