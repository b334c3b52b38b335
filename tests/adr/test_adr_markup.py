"""Decision records in AsciiDoc and reStructuredText, read as markdown."""

from pathlib import Path

import pytest

from kb.adr.adr_file import read_adr
from kb.adr.adr_markup import convert_markup
from kb.adr.adr_set import resolve_imports
from tests.support.command_line import run

ADOC = """// a licence
:author: Ann
:toc:
:status: accepted
:date: 2026-03-30

= ADR-227 - Send letters

== Context

See xref:0001-post.adoc[ADR 1], <<0003-bikes.adoc#,ADR 3>> and https://example.org[a page]. *Bold* words.

* one
** two
. first

[source,java]
----
// kept
== no heading
----

////
== a comment
////

|===
|Kind |Cost

|Letter
|3
|===

== Decision

NOTE: We send them.

____
Quoted
____
"""
RST = """.. _five:

=============
5. Send letters
=============

:Status: Accepted
    for all
:Date: 2026-01-11 (v3.0.0)
:Supersedes: :doc:`0003-bikes`

Context
-------

Following `this one`_ and `ADR 1 <0001-post.rst>`_, see ``code`` and :ref:`a part <five>`.

.. _this one: https://example.org/x

#. first
#. second

.. note:: Be quick.

.. code-block:: python

    Decision
    --------

Like this::

    Status
    ------

Decision
--------

+------+------+
| Kind | Cost |
+======+======+
| a    | 3    |
+------+------+

Why
~~~

Cheap.
"""


def test_asciidoc_is_read_as_markdown() -> None:
    text = convert_markup(ADOC, "0005-x.adoc")
    assert "[ADR 1](0001-post.adoc), [ADR 3](0003-bikes.adoc) and [a page](https://example.org). **Bold**" in text
    assert "- one\n  - two\n1. first" in text
    assert "```java\n// kept\n== no heading\n```" in text and "a comment" not in text and "toc" not in text
    assert "| Kind | Cost |\n|---|---|\n| Letter | 3 |" in text
    assert "> **Note:** We send them." in text and "> Quoted" in text
    record = read_adr(ADOC, "docs/0227-send.adoc").record
    assert (record.title, record.status, record.date) == ("Send letters", "accepted", "2026-03-30")
    assert [section.name for section in record.sections if section.name] == ["context", "decision"]


def test_restructured_text_is_read_as_markdown() -> None:
    text = convert_markup(RST, "0005-x.rst")
    assert "[this one](https://example.org/x) and [ADR 1](0001-post.rst), see `code` and a part." in text
    assert "1. first\n1. second" in text and "> Be quick." in text
    assert "```python\nDecision\n--------\n```" in text and "```\nStatus\n------\n```" in text
    assert "| Kind | Cost |\n|---|---|\n| a    | 3    |" in text
    found = read_adr(RST, "docs/decisions/0005-send.rst")
    assert (found.record.title, found.record.status, found.record.date) == ("Send letters", "accepted", "2026-01-11")
    assert [(link.relation, link.target) for link in found.links] == [("supersedes", "0003-bikes.rst")]
    assert [section.name for section in found.record.sections if section.name] == ["context", "decision"]


def test_markdown_comes_back_as_it_is() -> None:
    assert convert_markup("= x\n\n== y\n", "0001-x.md") == "= x\n\n== y\n"


OLD = {
    "adoc": "= Two\n\n== Status\n\nSuperseded by link:0003-three.adoc[ADR 3]\n\n== Decision\n\nx\n",
    "rst": "2. Two\n######\n\nStatus\n******\n\n**Superseded by** `3. Three`_\n\n.. _3. Three: 0003-three.rst\n\n"
    "Decision\n********\nx\n",
}
NEW = {
    "adoc": "= Three\n\n== Status\n\nAccepted\n\n== Decision\n\nx\n",
    "rst": "3. Three\n########\n\nStatus\n******\n\n**Accepted** (2023-05-11)\n\nDecision\n********\nx\n",
}


@pytest.mark.parametrize("name", ["adoc", "rst"])
def test_links_of_these_files_relate_records(name: str) -> None:
    files = [read_adr(OLD[name], f"0002-two.{name}"), read_adr(NEW[name], f"0003-three.{name}")]
    found = resolve_imports(files).records
    assert [(r.id, r.status, r.supersedes) for r in found] == [
        ("D002", "superseded", ()),
        ("D003", "accepted", ("D002",)),
    ]


@pytest.mark.parametrize("name", ["index.adoc", "README.rst", "template.adoc", "index.rst"])
def test_pages_about_a_folder_are_no_records(root: Path, tmp_path: Path, name: str) -> None:
    text = (
        "= Records\n\n== Status\n\nWhat is decided.\n"
        if name.endswith("adoc")
        else "Records\n=======\n\nStatus\n------\n\nx\n"
    )
    (tmp_path / name).write_text(text, encoding="utf-8")
    assert run(root, "import", "adr", str(tmp_path / name)).code != 0 or "imported: 1" not in run(root, "list").out
    assert run(root, "list", "--json").out.strip() == "[]"


def test_files_of_all_three_languages_are_imported_together(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "adr"
    folder.mkdir()
    (folder / "0005-send.rst").write_text(RST, encoding="utf-8")
    (folder / "0227-send.adoc").write_text(ADOC, encoding="utf-8")
    (folder / "0003-bikes.md").write_text(
        "# 3. Bikes\n\n## Status\n\nAccepted\n\n## Decision\n\nRide.\n", encoding="utf-8"
    )
    (folder / "picture.txt").write_text("no record", encoding="utf-8")
    assert run(root, "import", "adr", str(folder)).code == 0
    assert run(root, "show", "D227", "--json").code == 0
    assert "superseded" in run(root, "show", "D003").out
    assert run(root, "check").code == 0


def test_attributes_apart_from_the_title_belong_to_the_header() -> None:
    text = "= ADR 1: Letters\n\n:status: accepted\n:revdate: 2021-03-03\n\n== Context\n\nMail.\n"
    found = read_adr(text, "0001-letters.adoc").record
    assert (found.status, found.date) == ("accepted", "2021-03-03")
