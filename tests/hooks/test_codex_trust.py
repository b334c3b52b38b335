"""Codex runs no hook that the person has not trusted: kb says so when it installs them, and when the doctor looks."""

import os
from pathlib import Path

import pytest

from kb import doctor
from kb.hooks import codex, install, settings_file
from kb.hosts import HOSTS, resolve_settings_path
from tests.support.command_line import run

PROGRAM = "/opt/kb/bin/kb-hook"
SEEN = {
    "SessionStart": "sha256:feca1fd408f8675ddda4d56c0cfdb91f7581c880d09471998a4ec401376cd535",
    "UserPromptSubmit": "sha256:ce16d2da97d8a88558b8c85a8c96442c686a79396d79e89aecab3f7a316f7bdd",
    "Stop": "sha256:e35164be62c4bf1444bfddf374c153f6b3da60fb12350ada9fa281fbb7c74bfa",
}
"""The hashes that Codex 0.169.0 wrote for kb's hooks of PROGRAM when a person trusted them."""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A home of its own."""
    return {"HOME": str(tmp_path / "home"), "PATH": os.environ["PATH"]}


def installed(environment: dict[str, str], folder: str = "") -> Path:
    path = resolve_settings_path(HOSTS["codex"].hooks, folder, environment)
    program, is_shared = (install.PROGRAM, True) if folder else (PROGRAM, False)
    change = install.plan_installation(HOSTS["codex"], path, program, environment, is_shared=is_shared)
    settings_file.apply_edit(change, environment)
    return Path(path)


def trust(path: Path, environment: dict[str, str], more: str = "") -> None:
    """Write what Codex writes when the person trusts all hooks in *path*."""
    rows = []
    for event, group, number, hook in install.find_own_hooks(path.read_text()):
        label = "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in event).lstrip("_")
        digest = codex.hash_hook(event, hook)
        rows.append(f'[hooks.state."{path}:{label}:{group}:{number}"]\ntrusted_hash = "{digest}"\n')
    config = Path(environment["HOME"], ".codex", "config.toml")
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text('model = "m"\n\n[hooks.state]\n\n' + "\n".join(rows) + more)


def told(environment: dict[str, str], folder: str) -> doctor.DoctorOutcome:
    return next(o for o in doctor.run_checks("", folder, environment) if o.name == "hooks")


def test_the_hash_is_the_one_that_codex_writes() -> None:
    digests = {hook.event: codex.hash_hook(hook.event, hook) for hook in install.build_hooks(HOSTS["codex"], PROGRAM)}
    assert {event: digests[event] for event in SEEN} == SEEN


@pytest.mark.parametrize("is_project", [False, True])
def test_what_is_not_trusted_is_told(environment: dict[str, str], tmp_path: Path, is_project: bool) -> None:
    work = tmp_path / "work"
    (work / ".git").mkdir(parents=True)
    path = installed(environment, str(work) if is_project else "")
    assert codex.find_untrusted_events(str(path), environment) == list(HOSTS["codex"].timeouts)
    outcome = told(environment, str(work))
    assert outcome.state == doctor.NOTE and "SessionStart" in str(outcome.said) and "trust" in str(outcome.remedy)
    trust(path, environment)
    assert codex.find_untrusted_events(str(path), environment) == []
    assert told(environment, str(work)).state == doctor.OK


def test_a_hook_that_moved_or_was_turned_off_is_not_run(environment: dict[str, str], tmp_path: Path) -> None:
    path = installed(environment)
    trust(path, environment)
    before = path.read_text()
    path.write_text(before.replace(f"{PROGRAM} stop ", "/elsewhere/kb-hook stop "))
    assert codex.find_untrusted_events(str(path), environment) == ["Stop"]
    path.write_text(before)
    config = Path(environment["HOME"], ".codex", "config.toml")
    config.write_text(config.read_text().replace("trusted_hash", "enabled = false\ntrusted_hash", 1))
    assert codex.find_untrusted_events(str(path), environment) == ["SessionStart"]
    config.write_text("[[")
    assert len(codex.find_untrusted_events(str(path), environment)) == len(HOSTS["codex"].timeouts)


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_installation_says_what_is_still_to_be_done(
    environment: dict[str, str], tmp_path: Path, language: str
) -> None:
    environment["LANG"] = f"{language}_XX.UTF-8"
    first = run(tmp_path, "hooks", "install", "codex", **environment)
    assert first.code == 0 and "Hooks need review" in first.error
    assert ("信任" in first.error) == (language == "zh")
    trust(Path(resolve_settings_path(HOSTS["codex"].hooks, "", environment)), environment)
    again = run(tmp_path, "hooks", "install", "codex", **environment)
    assert again.code == 0 and "Hooks need review" not in again.error
    assert "Hooks need review" not in run(tmp_path, "hooks", "install", "gemini", **environment).error
