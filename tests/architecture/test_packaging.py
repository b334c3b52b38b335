"""What others install from or read at the top of the repository: fresh, pinned, and tried where it can be."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

import kb as package
from docs import packaging
from kb.hosts import CLAUDE, CODEX
from kb.knowledge_base import KnowledgeBase
from tests.support.clones import FASTAPI, one
from tests.support.sealed import git

ROOT = Path(package.__file__).parents[1]
BIN = Path(sys.executable).parent
WORKFLOWS = sorted(ROOT.glob(".github/workflows/*.yml"))
TEMPLATES = sorted((ROOT / "kb/templates/ci").glob("*.y*ml"))
OTHERS = [*ROOT.glob(".github/*.yml"), *ROOT.glob(".github/ISSUE_TEMPLATE/*.yml"), *ROOT.glob("docs/ci/**/*.yml")]
YAML = [*WORKFLOWS, *TEMPLATES, *OTHERS, ROOT / "action.yml", ROOT / ".pre-commit-hooks.yaml"]
NAMES = ["action.yml", "Dockerfile", "SECURITY.md", "docs/install.md", "docs/ci/gitlab/kb-check.yml"]
USES = re.compile(r"uses: *(\S+)(?: # (v[\d.]+))?$", re.MULTILINE)


def shown(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def load(path: Path) -> list[Any]:
    """Return the documents of a YAML file."""
    return list(yaml.safe_load_all(path.read_text("utf-8")))


def iter_steps(path: Path) -> Iterator[dict[str, Any]]:
    for job in load(path)[0]["jobs"].values():
        yield from job["steps"]


# -- made from the tables of the code -----------------------------------------------------------------


@pytest.mark.parametrize("name", packaging.files())
def test_a_generated_file_is_fresh(name: str) -> None:
    assert (ROOT / name).read_text("utf-8") == packaging.files()[name], "run: make docs"


def test_one_version_everywhere() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        assert tomllib.load(file)["project"]["version"] == package.__version__
    values = {name: json.loads(text) for name, text in packaging.files().items() if name.endswith(".json")}
    given = {name: value["version"] for name, value in values.items() if "version" in value}
    assert set(given.values()) == {package.__version__} and len(given) >= 4
    assert values["server.json"]["packages"][0]["version"] == package.__version__


@pytest.mark.parametrize(("path", "host"), [(packaging.CLAUDE_FOLDER, CLAUDE), (packaging.CODEX_FOLDER, CODEX)])
def test_a_plugin_calls_kb_at_every_event_of_its_host(path: str, host: Any) -> None:
    hooks = json.loads((ROOT / path / "hooks/hooks.json").read_text("utf-8"))["hooks"]
    assert {event: groups[0]["hooks"][0]["timeout"] for event, groups in hooks.items()} == host.timeouts
    for groups in hooks.values():
        assert groups[0]["hooks"][0]["command"].split()[0] == "kb-hook"
    assert json.loads((ROOT / path / ".mcp.json").read_text("utf-8"))["mcpServers"]["kb"]["args"] == ["mcp"]


def test_what_a_marketplace_offers_is_there() -> None:
    claude = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text("utf-8"))
    codex = json.loads((ROOT / ".agents/plugins/marketplace.json").read_text("utf-8"))
    (source,) = (one["source"] for one in claude["plugins"])
    assert source.startswith("./") and (ROOT / source / ".claude-plugin/plugin.json").is_file()
    (place,) = (one["source"]["path"] for one in codex["plugins"])
    assert place.startswith("./") and place != "./" and (ROOT / place / ".codex-plugin/plugin.json").is_file()
    manifest = json.loads((ROOT / place / ".codex-plugin/plugin.json").read_text("utf-8"))
    assert (ROOT / place / manifest["hooks"]).is_file() and (ROOT / place / manifest["mcpServers"]).is_file()
    gemini = json.loads((ROOT / "gemini-extension.json").read_text("utf-8"))
    assert (ROOT / gemini["contextFileName"]).is_file() and gemini["mcpServers"]["kb"]["command"] == "kb"


def test_the_registry_takes_the_entry() -> None:
    """The limits of the registry's schema of 2025-12-11; `uvx kb-anchors` needs a program of that name."""
    entry = packaging.build_server_entry()
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", entry["name"]) and len(entry["name"]) <= 200
    assert 1 <= len(entry["description"]) <= 100 and 1 <= len(entry["title"]) <= 100
    (offered,) = entry["packages"]
    assert {"registryType", "identifier", "transport"} <= set(offered) and offered["transport"] == {"type": "stdio"}
    with (ROOT / "pyproject.toml").open("rb") as file:
        project = tomllib.load(file)["project"]
    assert offered["identifier"] == project["name"] and project["name"] in project["scripts"]
    assert offered["runtimeArguments"][0]["value"] == project["optional-dependencies"]["mcp"][0]


# -- workflows ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", YAML, ids=shown)
def test_yaml_parses(path: Path) -> None:
    assert all(load(path))


def list_used(path: Path) -> list[tuple[str, str]]:
    """Return the actions that a file uses, each with the version that its comment names."""
    rows = [row for row in path.read_text("utf-8").splitlines() if "uses:" in row and not row.startswith("#")]
    return [(match[1], match[2] or "") for row in rows if (match := USES.search(row))] if rows else []


@pytest.mark.parametrize("path", [*WORKFLOWS, *TEMPLATES, ROOT / "action.yml"], ids=shown)
def test_every_action_is_named_by_its_commit(path: Path) -> None:
    used = list_used(path)
    assert len(used) == sum("uses:" in row for row in path.read_text("utf-8").splitlines() if row[:1] != "#")
    for name, version in used:
        assert re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", name) and version, name


def test_one_action_has_one_version() -> None:
    named = {name for path in (*WORKFLOWS, *TEMPLATES, ROOT / "action.yml") for name, _ in list_used(path)}
    assert named and len(named) == len({name.partition("@")[0] for name in named})


@pytest.mark.parametrize("path", WORKFLOWS, ids=shown)
def test_a_workflow_may_only_what_it_says(path: Path) -> None:
    text, (flow,) = path.read_text("utf-8"), load(path)
    assert flow["permissions"] == {} and "pull_request_target" not in text and "secrets." not in text
    assert all("permissions" in job and "timeout-minutes" in job for job in flow["jobs"].values())
    for step in iter_steps(path):
        assert "${{" not in step.get("run", ""), "what is put into a script is run: hand it over by the environment"
        if step.get("uses", "").startswith("actions/checkout"):
            assert step["with"]["persist-credentials"] is False


def test_ci_runs_what_every_change_must_pass() -> None:
    assert [step["run"] for step in iter_steps(ROOT / ".github/workflows/ci.yml") if "run" in step] == ["bash .ci/run"]


def test_only_the_job_that_publishes_gets_a_token_for_it() -> None:
    (flow,) = load(ROOT / ".github/workflows/release.yml")
    holders = [name for name, job in flow["jobs"].items() if "id-token" in job["permissions"]]
    assert holders == ["publish"] and flow["jobs"]["publish"]["environment"] == "pypi"
    assert not any("run" in step for step in flow["jobs"]["publish"]["steps"]), "nothing of ours runs beside the token"
    build = "\n".join(step.get("run", "") for step in flow["jobs"]["build"]["steps"])
    assert packaging.NAMESPACE in build and "mcp-name: io.github.%s/kb" in build
    assert "cyclonedx-py environment" in build and not re.search(r"pip install [\w-]+$", build, re.MULTILINE)


@pytest.mark.parametrize("path", [*ROOT.glob(".github/ISSUE_TEMPLATE/[bi]*.yml")], ids=shown)
def test_an_issue_template_is_a_form(path: Path) -> None:
    (form,) = load(path)
    assert form["name"] and form["description"]
    ids = [field["id"] for field in form["body"]]
    assert len(ids) == len(set(ids)) and all(field["attributes"]["label"] for field in form["body"])


@pytest.mark.parametrize("name", [*NAMES, *(shown(path) for path in (*WORKFLOWS, *TEMPLATES))])
def test_nothing_is_installed_by_the_bare_name(name: str) -> None:
    text = (ROOT / name).read_text("utf-8")
    for match in re.finditer(r"kb-anchors(?!_)", text):
        behind = text[match.end() : match.end() + 30]
        assert re.match(r"(\[[a-z,]+\])? ?(@ |==)|\(\\\[", behind), f"{name}: …{behind}"


# -- tried ----------------------------------------------------------------------------------------------


@pytest.fixture
def checked(kb: KnowledgeBase, root: Path) -> Path:
    """A knowledge base with one record, and a branch `main` of origin to compare with."""
    one(kb, FASTAPI)
    git(root, "update-ref", "refs/remotes/origin/main", "HEAD")
    return root


def break_record(root: Path) -> None:
    """Commit a broken citation."""
    (path,) = root.glob("content/anchors/global/D001-*.md")
    path.write_text(path.read_text("utf-8").replace("## Why\n", "## Why\n\nSee [D404].\n"), "utf-8")
    git(root, "commit", "-qam", "Cite what is not there")


@pytest.mark.parametrize(("against", "base"), [("", ""), ("origin/main", ""), ("", "main")])
def test_the_action_checks_and_reports(against: str, base: str, checked: Path, tmp_path: Path) -> None:
    (action,) = load(ROOT / "action.yml")
    (step,) = (step for step in action["runs"]["steps"] if step.get("id") == "check")
    temp = tmp_path / "runner"
    (temp / "kb/bin").mkdir(parents=True)
    (temp / "kb/bin/kb").symlink_to(BIN / "kb")
    files = {"GITHUB_OUTPUT": tmp_path / "output", "GITHUB_STEP_SUMMARY": tmp_path / "summary"}
    given = {"FOLDER": str(checked), "AGAINST": against, "BASE": base, "STRICT": "false", "RUNNER_TEMP": str(temp)}
    assert set(step["env"]) == {"FOLDER", "AGAINST", "BASE", "STRICT"}

    def run_step() -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, **given, **{name: str(path) for name, path in files.items()}}
        script = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
        return subprocess.run(script, env=environment, cwd=tmp_path, capture_output=True, text=True, check=False)

    good = run_step()
    assert good.returncode == 0, good.stderr
    break_record(checked)
    bad = run_step()
    assert bad.returncode == 1 and "::error file=content/anchors/global/D001" in bad.stdout
    report = Path(files["GITHUB_OUTPUT"].read_text("utf-8").splitlines()[-1].partition("=")[2])
    assert "D404" in report.read_text("utf-8") and "D404" in files["GITHUB_STEP_SUMMARY"].read_text("utf-8")


@pytest.mark.parametrize("target", ["", "main"])
def test_the_component_checks(target: str, checked: Path, tmp_path: Path) -> None:
    head, body = load(ROOT / "docs/ci/gitlab/kb-check.yml")
    inputs = {name: str(about.get("default", "")) for name, about in head["spec"]["inputs"].items()}
    inputs["requirement"] = "kb-anchors @ git+https://host.example/kb.git@v1"
    assert re.match(head["spec"]["inputs"]["requirement"]["regex"], inputs["requirement"])
    assert not re.match(head["spec"]["inputs"]["requirement"]["regex"], "kb-anchors")
    lines = [re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda m: inputs[m[1]], line) for line in body["kb-check"]["script"]]
    assert not any("inputs." in line for line in lines) and lines[0].endswith(f'"{inputs["requirement"]}"')
    given = {"CI_MERGE_REQUEST_TARGET_BRANCH_NAME": target, "PATH": f"{BIN}:{os.environ['PATH']}"}
    script = "set -e\n" + "\n".join(line for line in lines if not line.startswith(("python -m pip", "git fetch")))

    def run_job() -> int:
        return subprocess.run(
            ["sh", "-c", script], env={**os.environ, **given}, cwd=checked, capture_output=True, check=False
        ).returncode

    assert run_job() == 0
    break_record(checked)
    assert run_job() == 1


def test_the_image_is_small_and_without_rights() -> None:
    text = (ROOT / "Dockerfile").read_text("utf-8")
    rows = [row for row in re.sub(r"\\\n", " ", text).splitlines() if row and not row.startswith("#")]
    words = [row.split() for row in rows]
    last = max(number for number, row in enumerate(words) if row[0] == "FROM")
    assert [row[1] for row in words[last:] if row[0] == "USER"] == ["kb"], "and not root"
    assert [json.loads(row.partition(" ")[2]) for row in rows if row.startswith("ENTRYPOINT")] == [["kb"]]
    assert re.search(r"^ARG PYTHON=\d+\.\d+-slim", text, re.MULTILINE) and "latest" not in text
    assert not any(row[0] == "ADD" for row in words) and "curl" not in text and "sudo" not in text
    install = next(row for row in rows if "apt-get install" in row)
    assert "--no-install-recommends" in install and "rm -rf /var/lib/apt/lists" in install
    assert all("--no-cache-dir" in row for row in rows if "pip install" in row)
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert ignored[0] == "*", "only what is named gets into the context"
    for row in words[:last]:
        for source in row[1:-1] if row[0] == "COPY" else ():
            assert (ROOT / source).exists() and f"!{source}" in ignored, source
