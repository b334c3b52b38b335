"""What the tests of the way in share: candidates that pass the gate, and the state of a clone as a person sees it."""

import os
import subprocess
import sys
from pathlib import Path

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate, Verdict
from tests.support.sealed import git

WHOLE = {
    "decision": "The gateway answers every request within 300 ms or refuses it.",
    "alternatives": "Queueing, retrying in the client.",
    "why": "Callers give up after half a second anyway.",
    "impact": ("src/gateway.py",),
    "verification": "Run the latency suite.",
    "rollback": "Remove the deadline.",
    "impact_areas": ("architecture",),
}
"""Everything a decision needs to be accepted."""

FASTAPI = Candidate(
    "decision",
    "Use FastAPI as the backend framework",
    **WHOLE | {"decision": "The backend uses FastAPI.", "impact": ("kb.toml",)},  # type: ignore[arg-type]
    claims={"backend.framework": "FastAPI"},
    session="s1",
    host="test",
)
FLASK = FASTAPI._replace(
    title="Use Flask as the backend framework",
    decision="The backend uses Flask.",
    claims={"backend.framework": "Flask"},
    session="s2",
)
DJANGO = FASTAPI._replace(
    title="Use Django as the backend framework",
    decision="The backend uses Django.",
    claims={"backend.framework": "Django"},
    session="s3",
)
SMALL = Candidate(
    "decision", "Paint the settings button blue", "The button on the settings page is blue.", session="s1"
)
"""What the gate holds back."""

SUBJECTS = (
    "gateway deadlines", "order ledger", "password hashing", "image thumbnails", "audit trail", "search synonyms",
    "invoice numbering", "session cookies", "feature flags", "mail templates", "cache eviction", "backup rotation",
    "时区换算", "支付回调", "日志采样", "库存锁定", "短信签名", "权限模型", "文件上传", "消息重试",
)  # fmt: skip
"""Subjects so different that no two of them are duplicates."""


def decision(number: int, **changes: object) -> Candidate:
    """Return the *number*-th of many candidates that have nothing to do with each other."""
    subject = SUBJECTS[number % len(SUBJECTS)] + (f" part {number}" if number >= len(SUBJECTS) else "")
    values = WHOLE | {"decision": f"This is how we do {subject}: in one place, by one owner.", "impact": ()} | changes
    return Candidate("decision", f"Keep {subject} simple", **values)  # type: ignore[arg-type]


def one(kb: KnowledgeBase, candidate: Candidate, **options: object) -> Verdict:
    """Write one candidate from the knowledge base's own folder and return its verdict."""
    (verdict,) = kb.write([candidate], **{"folder": kb.root, **options})  # type: ignore[arg-type]
    return verdict


def seen(root: Path, *, but: tuple[str, ...] = ()) -> dict[str, str]:
    """Return what a person sees of their work in a clone, without the paths *but* and what is kb's."""
    status = git(root, "status", "--porcelain=v1", "-z", "--untracked-files=all").split("\0")
    staged = git(root, "diff", "--cached", "--raw", "--no-abbrev", "-z").split("\0")
    return {
        "status": "\n".join(row for row in status if row and not any(row[3:].startswith(path) for path in but)),
        "staged": "\n".join(row for row in staged if not any(path in row for path in but)),
        "stash": git(root, "stash", "list", "--format=%H"),
        "head": (root / ".git" / "HEAD").read_text() if (root / ".git").is_dir() else git(root, "symbolic-ref", "HEAD"),
        "branches": "\n".join(
            row
            for row in git(root, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads").splitlines()
            if not row.startswith(("refs/heads/main ", "refs/heads/kb/review/"))
        ),
    }


def committed(root: Path) -> set[str]:
    """Return the record files in HEAD."""
    return {
        name for name in git(root, "ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0") if name.endswith(".md")
    }


def commits(root: Path, revision: str = "HEAD") -> int:
    """Return how many commits *revision* has."""
    return int(git(root, "rev-list", "--count", revision))


def child(code: str, *arguments: str, **environment: str) -> "subprocess.Popen[str]":
    """Start *code* in a fresh Python that can import what stands here and writes no bytecode."""
    own = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "PYTHONDONTWRITEBYTECODE": "1", **environment}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.Popen(command, env=own, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def texts_below(root: Path) -> bytes:
    """Return the bytes of everything under *root*, git objects unpacked."""
    command = ["git", "-C", str(root), "cat-file", "--batch-all-objects", "--batch", "--buffer"]
    parts = [subprocess.run(command, capture_output=True, check=True).stdout]
    for place, _, names in os.walk(root):
        for name in names:
            path = Path(place, name)
            if "objects" not in path.parts:
                parts.append(path.read_bytes())
    return b"\n".join(parts)
