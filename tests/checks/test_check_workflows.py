"""The workflow templates: what they run, what they may, and one comment that is updated, never repeated."""

import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from kb.cli.comment import MARK
from kb.writing.init_base import build_workflows
from tests.support.command_line import run
from tests.support.sealed import git

BOT, STRANGER = "github-actions[bot]", "mallory"
WORD = f"{MARK}\n### Knowledge base: 1 new\n\n“quotes”, $HOME, `id` and 中文 stay as they are.\n"


def github() -> dict[Any, Any]:
    """Return the workflow as GitHub reads it."""
    value: dict[Any, Any] = yaml.safe_load(build_workflows()[".github/workflows/kb.yml"])
    return value


def gitlab() -> dict[Any, Any]:
    """Return the jobs as GitLab reads them."""
    value: dict[Any, Any] = yaml.safe_load(build_workflows("https://gitlab.com/a/b.git")[".gitlab/kb-ci.yml"])
    return value


WIKI = {".github/workflows/kb-wiki.yml": "", ".gitlab/kb-wiki.yml": "https://gitlab.com/a/b.git"}
"""The workflows that build the wiki, with a remote of their host."""


def publishing(path: str) -> dict[Any, Any]:
    """Return the workflow *path*, which builds the wiki."""
    value: dict[Any, Any] = yaml.safe_load(build_workflows(WIKI[path])[path])
    return value


def scripts(value: object) -> Iterator[str]:
    """Yield every shell script in a workflow."""
    if isinstance(value, dict):
        yield from (item for key, item in value.items() if key == "run" and isinstance(item, str))
        yield from (line for key, item in value.items() if key == "script" for line in item)
        for item in value.values():
            yield from scripts(item)
    elif isinstance(value, list):
        for item in value:
            yield from scripts(item)


# -- what they are --------------------------------------------------------------------------------


def test_each_host_gets_its_files() -> None:
    github = [f".github/workflows/{name}.yml" for name in ("kb-digest", "kb-wiki", "kb")]
    ours = [*github, ".pre-commit-config.yaml"]
    gitlab = [f".gitlab/{name}.yml" for name in ("kb-ci", "kb-digest", "kb-wiki")]
    theirs = [*gitlab, ".pre-commit-config.yaml"]
    assert sorted(build_workflows()) == ours
    assert sorted(build_workflows("git@github.com:a/b")) == sorted(build_workflows())
    assert sorted(build_workflows("https://GitLab.example/a/b")) == theirs


@pytest.mark.parametrize("remote", ["", "git@github.com:a/b", "https://gitlab.example/a/b", "git@gitlab.com:a/b.git"])
def test_a_new_knowledge_base_gets_those_of_its_remotes_host(tmp_path: Path, remote: str) -> None:
    git(tmp_path, "init", "-q", "shop")
    if remote:
        git(tmp_path / "shop", "remote", "add", "origin", remote)
    done = run(tmp_path / "shop", "init", "--here", "--ci")
    assert done.code == 0
    for path, data in build_workflows(remote).items():
        assert (tmp_path / "shop" / path).read_bytes() == data and path in done.error
    assert (tmp_path / "shop" / ".github").exists() == ("gitlab" not in remote)


def test_only_the_job_that_comments_may_write_and_it_sees_no_files() -> None:
    workflow = github()
    assert workflow["permissions"] == {}
    check, comment = workflow["jobs"]["check"], workflow["jobs"]["comment"]
    assert (check["permissions"], comment["permissions"]) == ({"contents": "read"}, {"pull-requests": "write"})
    assert not any("checkout" in step.get("uses", "") for step in comment["steps"])
    assert check["steps"][0]["with"] == {"fetch-depth": 0, "persist-credentials": False}
    assert "GH_TOKEN" not in str(check) and "secrets." not in str(workflow)


def test_strangers_files_never_meet_a_token_that_may_write() -> None:
    workflow = github()
    assert "pull_request_target" not in workflow[True] and "pull_request" in workflow[True]
    assert "head.repo.full_name == github.repository" in workflow["jobs"]["comment"]["if"]
    job = gitlab()["kb-comment"]
    assert job["variables"] == {"GIT_STRATEGY": "none"}
    assert "$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_MERGE_REQUEST_PROJECT_ID" in job["rules"][0]["if"]
    assert "KB_COMMENT_TOKEN" not in str(gitlab()["kb"])


def test_no_word_of_a_stranger_is_pasted_into_a_script() -> None:
    assert not [script for script in scripts(github()) if "${{" in script]


@pytest.mark.parametrize("path", WIKI)
def test_the_wiki_is_published_only_where_a_person_said_so(path: str) -> None:
    workflow = publishing(path)
    jobs = workflow.get("jobs", workflow)
    publish, preview = jobs.get("publish", jobs.get("pages")), jobs.get("preview", jobs.get("kb-wiki-preview"))
    asked = str(publish.get("if", "")) + str(publish.get("rules", ""))
    assert "KB_WIKI ==" in asked and "publish" in asked
    assert preview.get("permissions", {"contents": "read"}) == {"contents": "read"}
    assert workflow.get("permissions", {}) == {} and "pull_request_target" not in str(workflow.get(True, ""))
    assert "secrets." not in str(workflow) and not [one for one in scripts(workflow) if "${{" in one]
    uses = [step["uses"] for job in jobs.values() if "steps" in job for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in uses)


def test_the_job_that_publishes_sees_no_file_of_the_repository() -> None:
    publish = publishing(".github/workflows/kb-wiki.yml")["jobs"]["publish"]
    assert publish["permissions"] == {"pages": "write", "id-token": "write"}
    assert [step["uses"].partition("@")[0] for step in publish["steps"]] == ["actions/deploy-pages"]


def test_actions_are_pinned_by_their_commit() -> None:
    uses = [step["uses"] for job in github()["jobs"].values() for step in job["steps"] if "uses" in step]
    assert uses and all(re.fullmatch(r"actions/[\w-]+@[0-9a-f]{40}", one) for one in uses)


@pytest.mark.parametrize("script", [*scripts(github()), *scripts(gitlab()), *scripts([*map(publishing, WIKI)])])
def test_every_script_is_one(script: str) -> None:
    done = subprocess.run(["bash", "-n"], input=script, text=True, capture_output=True, check=False)
    assert done.returncode == 0, done.stderr


def step(name: str, job: str) -> str:
    """Return the script of the step of the GitHub workflow whose name begins so."""
    steps = github()["jobs"][job]["steps"]
    return str(next(one["run"] for one in steps if one.get("name", "").startswith(name)))


@pytest.mark.parametrize("code", [0, 1])
def test_the_outcome_is_in_the_summary_and_decides(tmp_path: Path, code: int) -> None:
    program(tmp_path, "kb", f"#!/bin/sh\necho \"$@\" >> {tmp_path}/calls\necho '{MARK}'\nexit {code}\n")
    done = shell(step("Compare", "check"), tmp_path, TARGET="origin/main; rm -rf /", GITHUB_STEP_SUMMARY="summary.md")
    assert done.returncode == code, done.stderr
    assert (tmp_path / "kb-comment.md").read_text() == (tmp_path / "summary.md").read_text() == MARK + "\n"
    calls = (tmp_path / "calls").read_text().splitlines()
    assert calls == [f"check --against origin/main; rm -rf / --format {form}" for form in ("markdown", "github")]


# -- GitHub ---------------------------------------------------------------------------------------


def program(place: Path, name: str, text: str) -> None:
    """Put a program where the scripts find it first."""
    (place / "bin").mkdir(exist_ok=True)
    (place / "bin" / name).write_text(text, encoding="utf-8")
    (place / "bin" / name).chmod(0o755)


def shell(script: str, place: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    """Run a step as a runner does."""
    own = {**os.environ, "PATH": f"{place}/bin:{os.environ['PATH']}", **environment}
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(command, cwd=place, env=own, capture_output=True, text=True, check=False)


GH = '''#!{python}
"""Stands for gh: keeps the comments of one pull request in a file, two to a page."""
import json, re, shutil, subprocess, sys
from pathlib import Path

store = Path("{place}") / "comments.json"
comments = json.loads(store.read_text())
words = sys.argv[1:]
assert words.pop(0) == "api"
given, rest = {{"--method": "GET"}}, []
while words:
    word = words.pop(0)
    if word in ("--method", "--jq", "--field"):
        given[word] = words.pop(0)
    else:
        rest.append(word)
[path] = [word for word in rest if not word.startswith("--")]
path, _, query = path.partition("?")
body = given.get("--field", "")
if body:
    assert body.startswith("body=@"), body
    body = Path(body.removeprefix("body=@")).read_text()
if given["--method"] == "GET":
    assert path == "repos/acme/shop/issues/7/comments" and "--paginate" in rest
    if shutil.which("jq"):
        page = [{{**one, "user": {{"login": one["user"]}}}} for one in comments]
        for number in range(0, len(page), 2):
            told = json.dumps(page[number:number + 2])
            subprocess.run(["jq", "-r", given["--jq"]], input=told, text=True, check=True)
        sys.exit()
    user = re.search(r'\\.user\\.login == "([^"]+)"', given["--jq"])[1]
    mark = re.search(r'\\.body \\| startswith\\("([^"]+)"\\)', given["--jq"])[1]
    for one in comments:
        if one["user"] == user and one["body"].startswith(mark):
            print(one["id"])
elif given["--method"] == "POST":
    assert path == "repos/acme/shop/issues/7/comments"
    comments.append({{"id": 100 + len(comments), "user": "{bot}", "body": body}})
else:
    number = int(re.fullmatch(r"repos/acme/shop/issues/comments/(\\d+)", path)[1])
    [one] = [one for one in comments if one["id"] == number]
    if given["--method"] == "PATCH":
        one["body"] = body
    else:
        comments.remove(one)
store.write_text(json.dumps(comments))
'''


def comment(place: Path, text: str, there: list[dict[str, Any]] | None = None) -> list[dict[str, Any]]:
    """Let the workflow write *text* under the pull request, and return what stands there then."""
    program(place, "gh", GH.format(python=sys.executable, place=place, bot=BOT))
    store = place / "comments.json"
    if there is not None or not store.exists():
        store.write_text(json.dumps(there or []))
    (place / "kb-comment.md").write_text(text, encoding="utf-8")
    done = shell(step("Write", "comment"), place, GITHUB_REPOSITORY="acme/shop", NUMBER="7")
    assert done.returncode == 0, done.stderr
    found: list[dict[str, Any]] = json.loads(store.read_text())
    return found


def test_github_the_first_run_writes_and_the_others_write_anew(tmp_path: Path) -> None:
    assert [one["body"] for one in comment(tmp_path, WORD)] == [WORD]
    assert [one["body"] for one in comment(tmp_path, WORD + "more\n")] == [WORD + "more\n"]
    assert len(comment(tmp_path, WORD)) == 1


def test_github_only_its_own_comment_is_touched(tmp_path: Path) -> None:
    others = [
        {"id": 1, "user": STRANGER, "body": MARK + "\nNo objections"},
        {"id": 2, "user": BOT, "body": "Coverage: 97 %"},
        {"id": 3, "user": STRANGER, "body": f"what is {MARK}?"},
    ]
    found = comment(tmp_path, WORD, others)
    assert found[:3] == others and [one["body"] for one in found[3:]] == [WORD]
    assert comment(tmp_path, WORD + "x")[:3] == others


def test_github_a_second_comment_from_a_race_goes(tmp_path: Path) -> None:
    twins = [{"id": number, "user": BOT, "body": MARK + "\nold"} for number in (1, 2, 3)]
    assert comment(tmp_path, WORD, twins) == [{"id": 1, "user": BOT, "body": WORD}]


def test_github_nothing_is_written_where_nothing_was_said(tmp_path: Path) -> None:
    assert comment(tmp_path, "") == []


# -- GitLab ---------------------------------------------------------------------------------------


class GitLab:
    """Stands for GitLab's API: the notes of one merge request, three to a page."""

    def __init__(self) -> None:
        self.notes: list[dict[str, Any]] = []
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), self.handler())
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/api/v4"

    def handler(self) -> type[BaseHTTPRequestHandler]:
        """Return what answers a request."""
        lab = self

        class Handler(BaseHTTPRequestHandler):
            """Answers as far as the job asks."""

            def answer(self) -> None:
                """Do what the request wants."""
                assert self.headers["PRIVATE-TOKEN"] == "glpat-x"
                size = int(self.headers.get("Content-Length") or 0)
                form = parse_qs(self.rfile.read(size).decode("utf-8"))
                url = urlsplit(self.path)
                value, further = lab.asked(self.command, url.path.removeprefix("/api/v4"), parse_qs(url.query), form)
                data = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("X-Next-Page", further)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = answer

            def log_message(self, format: str, *args: object) -> None:
                """Keep quiet."""

        return Handler

    def asked(self, method: str, path: str, query: dict[str, list[str]], form: dict[str, list[str]]) -> Any:
        """Return the answer and the number of the next page."""
        notes = "/projects/12/merge_requests/7/notes"
        if path == "/user":
            return {"id": 5}, ""
        if method == "GET":
            assert path == notes
            page = int(query["page"][0])
            return self.notes[3 * page - 3 : 3 * page], str(page + 1) if len(self.notes) > 3 * page else ""
        if method == "POST":
            assert path == notes
            self.notes.append({"id": 100 + len(self.notes), "author": {"id": 5}, "body": form["body"][0]})
            return self.notes[-1], ""
        [one] = [one for one in self.notes if path == f"{notes}/{one['id']}"]
        if method == "PUT":
            one["body"] = form["body"][0]
        else:
            self.notes.remove(one)
        return one, ""


@pytest.fixture
def lab() -> Iterator[GitLab]:
    """A GitLab on the loopback."""
    made = GitLab()
    thread = threading.Thread(target=made.server.serve_forever)
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def note(place: Path, lab: GitLab, text: str, token: str = "glpat-x") -> "subprocess.CompletedProcess[str]":
    """Let the job write *text* under the merge request."""
    (place / "kb-comment.md").write_text(text, encoding="utf-8")
    [script] = gitlab()["kb-comment"]["script"]
    done = shell(script, place, CI_API_V4_URL=lab.url, CI_PROJECT_ID="12", CI_MERGE_REQUEST_IID="7",
                 KB_COMMENT_TOKEN=token, no_proxy="*")  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done


def test_gitlab_the_first_run_writes_and_the_others_write_anew(tmp_path: Path, lab: GitLab) -> None:
    for text in (WORD, WORD + "more\n", WORD):
        note(tmp_path, lab, text)
        assert [one["body"] for one in lab.notes] == [text]


def test_gitlab_its_own_note_is_found_on_a_later_page(tmp_path: Path, lab: GitLab) -> None:
    others = [{"id": n, "author": {"id": 9}, "body": MARK + " of a stranger"} for n in range(7)]
    lab.notes = [*others, {"id": 50, "author": {"id": 5}, "body": "hello"}]
    note(tmp_path, lab, WORD)
    note(tmp_path, lab, WORD + "x")
    assert lab.notes[:7] == others and [one["body"] for one in lab.notes[7:]] == ["hello", WORD + "x"]


def test_gitlab_a_second_note_from_a_race_goes(tmp_path: Path, lab: GitLab) -> None:
    lab.notes = [{"id": n, "author": {"id": 5}, "body": MARK} for n in range(5)]
    note(tmp_path, lab, WORD)
    assert lab.notes == [{"id": 0, "author": {"id": 5}, "body": WORD}]


def test_gitlab_without_a_token_the_log_says_so(tmp_path: Path, lab: GitLab) -> None:
    assert "KB_COMMENT_TOKEN is not set" in note(tmp_path, lab, WORD, token="").stdout
    note(tmp_path, lab, "")
    assert lab.notes == []
