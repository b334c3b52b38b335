"""The library as a program uses it: what the page says runs, and every verb of the facade explains itself."""

import doctest
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kb
from kb import KnowledgeBase

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
VERBS = [
    (name, member)
    for name, member in inspect.getmembers(KnowledgeBase)
    if not name.startswith("_") and (inspect.isfunction(member) or inspect.ismethod(member))
]


def test_what_the_page_says_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"(?ms)^```python\n(.*?)^```", PAGE.read_text("utf-8"))
    examples = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, "python.md", "python.md", 0)
    assert len(examples.examples) > 30
    said: list[str] = []
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=said.append)
    assert result.failed == 0, "".join(said)


@pytest.mark.parametrize(("name", "member"), VERBS)
def test_every_verb_says_what_it_does_and_speaks_of_each_of_its_arguments(name: str, member: object) -> None:
    told = inspect.getdoc(member)
    assert told and re.match(r"[A-Z].*[.:]", told), name


def test_the_package_offers_its_names_and_loads_none_before() -> None:
    for name in dir(kb):
        getattr(kb, name)
    assert {"KnowledgeBase", "Candidate", "Record", "Verdict", "Filter", "KbError", "make"} <= set(dir(kb))
    with pytest.raises(AttributeError, match="nothing"):
        kb.nothing  # noqa: B018
    code = "import kb, sys; print([name for name in sys.modules if name.startswith('kb.')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['kb.startup', 'kb.startup.namedtuple']"
    assert (Path(kb.__file__).parent / "py.typed").is_file()
