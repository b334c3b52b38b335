"""No path that a text names leads out of the knowledge base: scopes, titles, ids, sessions, impact paths, folders."""

import json
import os
from pathlib import Path, PurePosixPath

import pytest

from kb.errors import KbError
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate
from tests.support.clones import FASTAPI, one
from tests.support.command_line import run

OUTSIDE = (
    "..", "../x", "../../../../tmp/x", "a/../../b", "/etc/passwd", "//host/share", "\\\\host\\share", "C:\\x", "C:x",
    "C:", "a\\..\\..\\b", ".", "a/b", "~", "a\nb", "-x", ".git", ".hidden", "a.", " a", "%2e%2e%2f", "．．／x",
)  # fmt: skip
DEVICES = ("CON", "con", "NUL", "aux.md", "COM1", "lpt9.txt", "Prn")


def below(folder: Path) -> set[str]:
    """Return the files below *folder*, git's and kb's own left out."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file() or path.is_symlink())
    return {str(path) for path in files if not {".git", ".kb"} & set(path.parts)}


@pytest.mark.parametrize("name", [name for name in OUTSIDE if name != "%2e%2e%2f"])
def test_a_scope_is_a_name(kb: KnowledgeBase, root: Path, tmp_path: Path, name: str) -> None:
    before = below(tmp_path)
    verdict = one(kb, FASTAPI._replace(scope=f"project/{name}"))
    assert verdict.verdict == "refused" and not verdict.path
    given = json.dumps({"kind": "decision", "title": FASTAPI.title, "project": name}).encode()
    assert run(root, "write", "-", stdin=given).code == 1
    assert run(root, "list", "--scope", f"project/{name}").code == 2
    assert below(tmp_path) == before


@pytest.mark.parametrize("title", [*OUTSIDE, *DEVICES])
@pytest.mark.parametrize("scope", ["global", "project/shop"])
def test_a_title_names_a_file_in_its_folder(kb: KnowledgeBase, root: Path, title: str, scope: str) -> None:
    before = below(root)
    verdict = one(kb, FASTAPI._replace(title=f"{title}", scope=scope))
    if verdict.verdict != "created":
        verdict = one(kb, FASTAPI._replace(title=f"{title} FastAPI for the backend", scope=scope))
    assert verdict.verdict == "created", verdict.reasons
    path = PurePosixPath(verdict.path)
    wanted = "content/anchors/global" if scope == "global" else "content/anchors/projects/shop"
    assert str(path.parent) == wanted and path.name.startswith("D001-") and path.suffix == ".md"
    assert not set(path.name) & set('\\/:*?"<>|%\0\n~ ') and ".." not in path.name
    assert {name for name in below(root) - before if not name.endswith("project.json")} == {str(path)}


@pytest.mark.parametrize("name", [*OUTSIDE, *DEVICES])
def test_a_session_and_its_agents_have_files_of_their_own(
    kb: KnowledgeBase, root: Path, tmp_path: Path, name: str
) -> None:
    transcript = tmp_path / "session.jsonl"
    said = "We decided to use FastAPI as the backend framework because it has types and async."
    rows = [
        {"type": kind, "message": {"role": kind, "content": said}, "sessionId": name} for kind in ("user", "assistant")
    ]
    transcript.write_text("\n".join(map(json.dumps, rows)), "utf-8")
    before = below(tmp_path)
    saved = kb.save_session(str(transcript), session=name, folder=str(root))
    kb.save_when_due(str(transcript), session=name, agent=name, folder=str(root))
    kb.end_session(str(transcript), session=name)
    kb.land()
    folder = f"kb/content/sessions/{saved.archive}"
    assert saved.archive and "/" not in saved.archive and ".." not in saved.archive
    assert all(
        path.startswith((f"{folder}/", "kb/content/anchors/global/", "kb/content/sessions/"))
        for path in below(tmp_path) - before
    )
    inside = [place for place, _, _ in os.walk(root / ".kb")]
    assert all(os.path.realpath(place).startswith(str(root)) for place in inside)


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "..", "content/../../x"])
def test_what_a_person_names_is_looked_up_and_not_opened(root: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "x").write_text("SECRET", "utf-8")
    for line in (["session", "load"], ["inbox", "show"], ["show"], ["verify"], ["edit"], ["review", "show"]):
        done = run(root, *line, name)
        assert done.code == 1 and "SECRET" not in done.out + done.error, line


@pytest.mark.parametrize(
    "path", ["..", "../../../etc/passwd", "/etc/passwd", "C:\\x", "\\\\host\\share", "~/.ssh", "a/../../b"]
)
def test_an_impact_path_outside_is_an_error(kb: KnowledgeBase, root: Path, path: str) -> None:
    one(kb, FASTAPI._replace(impact=(path,)))
    checked = run(root, "check", "--json")
    assert checked.code == 1
    assert [f["rule"] for f in json.loads(checked.out)] == ["impact"]


@pytest.mark.parametrize(
    "name", ["../../../../EVIL", "/TMP/EVIL", "..", "C:EVIL", "\\\\\\\\HOST\\\\SHARE", "D001/../../EVIL"]
)
def test_an_id_that_is_a_path_names_no_page_outside(kb: KnowledgeBase, root: Path, tmp_path: Path, name: str) -> None:
    path = root / one(kb, FASTAPI).path
    path.write_text(path.read_text("utf-8").replace("id: D001\n", f'id: "{name}"\n'), "utf-8")
    before = below(tmp_path)
    for line in ("list", "hint t2", "export wukong", "search FastAPI"):
        assert run(root, *line.split()).code == 0
    assert run(root, "check").code == 1
    assert run(root, "wiki", "build", "-o", str(tmp_path / "site"), "--no-strict").code == 0
    assert all(path.startswith("site/") for path in below(tmp_path) - before)
    with pytest.raises(KbError):
        kb.record("EVIL")


@pytest.mark.parametrize("level", ["content", "content/anchors", "content/anchors/global"])
def test_nothing_is_written_through_a_link(kb: KnowledgeBase, root: Path, tmp_path: Path, level: str) -> None:
    kb.close()
    outside = tmp_path / "outside"
    (root / level).rename(outside)
    (root / level).symlink_to(outside)
    before = below(outside)
    with KnowledgeBase(str(root), os.environ) as again:
        verdict = one(again, FASTAPI)
    assert verdict.verdict == "held" and verdict.spooled
    assert below(outside) == before


def test_a_file_that_is_a_link_is_not_written_through(kb: KnowledgeBase, root: Path, tmp_path: Path) -> None:
    path = root / one(kb, FASTAPI).path
    outside = tmp_path / "outside.md"
    path.rename(outside)
    path.symlink_to(outside)
    before = outside.read_bytes()
    run(root, "confirm", "D001")
    one(kb, FASTAPI._replace(session="s2", why="The generated API documents save a week a year."))
    assert outside.read_bytes() == before


@pytest.mark.parametrize("field", ["supersedes", "amends", "coexists_with", "updates"])
def test_an_id_that_is_a_path_is_no_record(kb: KnowledgeBase, field: str) -> None:
    name = "../../../etc/passwd"
    value: object = {name: "x"} if field == "coexists_with" else name if field == "updates" else (name,)
    candidate: Candidate = FASTAPI._replace(**{field: value})
    verdict = one(kb, candidate)
    assert verdict.verdict in ("refused", "created")
    assert verdict.verdict == "refused" or field == "coexists_with"
