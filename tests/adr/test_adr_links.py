"""Relations of foreign decision records: the ways to say them, and what only mentions another record."""

from pathlib import Path

import pytest

from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_front_matter import find_front_matter_links
from kb.adr.adr_links import find_text_links
from kb.adr.adr_set import resolve_imports
from tests.support.command_line import run


def said(text: str) -> set[tuple[str, str, bool]]:
    return {(link.relation, link.target, link.in_part) for link in find_text_links(text)}


def record(number: int, status: str = "Accepted", more: str = "", *, title: str = "Letters") -> ImportedAdr:
    return read_adr(
        f"# {number}. {title}\n\n## Status\n\n{status}\n\n## Decision\n\nSend {number}.\n{more}", f"{number:04d}-x.md"
    )


def edges(*files: ImportedAdr) -> set[tuple[str, str, str]]:
    found = resolve_imports(files).records
    return {(r.id, kind, old) for r in found for kind in ("supersedes", "amends") for old in getattr(r, kind)}


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("Este ADR queda reemplazado por `0005`, que define el contrato.", {("superseded_by", "5", False)}),
        ("Superseded: 2019-12-19 by [ADR 14](0014-political.md)", {("superseded_by", "0014-political.md", False)}),
        ("SUPERSEDED 2026-08-04 by ADR 23.", {("superseded_by", "23", False)}),
        ("Superseded, see [this](../0023-x.md) instead", {("superseded_by", "../0023-x.md", False)}),
        ("Superseded → ADR-9", {("superseded_by", "9", False)}),
        ("Replaced with ADR-9", {("superseded_by", "9", False)}),
        ("This ADR supersedes ADRs 60 and 61.", {("supersedes", "60", False), ("supersedes", "61", False)}),
        ("| Updates | ADR-8 |", {("amends", "8", False)}),
        ("| Supersedes | YDR-005 |", {("supersedes", "YDR-005", False)}),
        ("Supersedes: `docs/adr/0015-create-case.md`", {("supersedes", "0015-create-case.md", False)}),
        ("Superseded by 0007-one-host", {("superseded_by", "0007-one-host", False)}),
        ("**Supersedes:**\n\n- ADR-3\n- [x](4-x.md)", {("supersedes", "3", False), ("supersedes", "4-x.md", False)}),
        ("### Superseded by\n\n[Nine](0009-nine.md)", {("superseded_by", "0009-nine.md", False)}),
        (
            "相关：修正 [ADR-3](./0003-默认.md)（语义）、[ADR-12](0012-边界.md)；依赖 ADR-5",
            {("amends", "./0003-默认.md", False), ("amends", "0012-边界.md", False)},
        ),
        (
            "- **前提 ADR**: [0002](./0002-cms.md)（「変更せず利用」を**本 ADR で改定**）, [0009](./0009-f.md)（済み）",
            {("amends", "./0002-cms.md", False)},
        ),
        ("Builds on: [A](43-x.md) (the model — this ADR amends it), [B](37-y.md)", {("amends", "43-x.md", False)}),
        ("ADR-27 replaces the persistence half of this decision.", {("superseded_by", "27", True)}),
        ("ADR-27 supersedes this ADR.", {("superseded_by", "27", False)}),
        ("It replaces the numbered list that ADR-14 asks for.", {("supersedes", "14", True)}),
        ("Supersedes: [ADR-34](0034-x.md) Components 1 and 2 only.", {("supersedes", "0034-x.md", True)}),
        ("Replaces [x](%5Bold%5D%200021-x.md)", {("supersedes", "[old] 0021-x.md", False)}),
        ("Ersatt av ADR-9", {("superseded_by", "9", False)}),
        ("Nahrazeno ADR-9", {("superseded_by", "9", False)}),
        ("Fue sustituida por ADR-9", {("superseded_by", "9", False)}),
        (
            "Amends [Separate API](https://git.example/o/r/blob/main/decisions/0004-separate-api)",
            {("amends", "0004-separate-api", False)},
        ),
        (
            "Supersède [A](9-a.md) et [B](10-b.md) ici.",
            {("supersedes", "9-a.md", False), ("supersedes", "10-b.md", False)},
        ),
        ("Erstatter: ADR-30, ADR-38", {("supersedes", "30", False), ("supersedes", "38", False)}),
        ("**Erstatter delvis:** ADR-40 (roller)", {("supersedes", "40", True)}),
        ("Denne beslutningen endrer ADR-3.", {("amends", "3", False)}),
        ("Ersätter delvis ADR-3", {("supersedes", "3", True)}),
        ("Ændret af ADR-9", {("amended_by", "9", False)}),
        ("Korvaa ADR-3", {("supersedes", "3", False)}),
        ("Zastepuje: [ADR-5](ADR-5-x.md)", {("supersedes", "ADR-5-x.md", False)}),
        ("Zmienia ADR-5", {("amends", "5", False)}),
        ("Herziet ADR-5", {("amends", "5", False)}),
        ("Herziet de clausule “review vooraf” uit [ADR-5](5-x.md).", {("amends", "5-x.md", True)}),
        ("Vervangt het UI-deel van [ADR-1](1-x.md) hier.", {("supersedes", "1-x.md", True)}),
        ("Remplace le choix de la base de [l'ADR-1](1-x.md).", {("supersedes", "1-x.md", True)}),
        ("Ersetzt die Warteschlange aus ADR-3.", {("supersedes", "3", True)}),
        ("已被 [ADR-9](9-x.md) 覆盖", {("superseded_by", "9-x.md", False)}),
        ("被取代：[ADR-9](9-x.md)", {("superseded_by", "9-x.md", False)}),
        ("> 取代它的 [ADR-9](9-x.md) 把能力写进接口。", {("superseded_by", "9-x.md", False)}),
        ("上書き: ADR-3（ID/パスワード）", {("supersedes", "3", False)}),
        ("- 増補する ADR: ADR-3（保留した点）", {("amends", "3", False)}),
        ("- 改訂する ADR:\n\n- ADR-3", {("amends", "3", False)}),
        ("[ADR-3](3-x.md) を補う", {("amends", "3-x.md", False)}),
        ("# Cache（ADR-3 増補）", {("amends", "3", False)}),
        ("ADR-3: スタック（本 ADR の増補対象）", {("amends", "3", False)}),
        ("方式へ変更する（ADR-3 の「全件」を一部 supersede）。", {("supersedes", "3", True)}),
        ("関連: [ADR-3](3-x.md)（決定 3 をここで部分的に置き換える）", {("supersedes", "3-x.md", False)}),
        ("ADR-3 pozostaje w użyciu; ten ADR go uszczegóławia.", {("amends", "3", False)}),
        ("Questa ADR sostituisce soltanto la scelta contenuta nell'ADR 3.", {("supersedes", "3", True)}),
        ("Supersedes: AgDR-0003 § 2", {("supersedes", "AgDR-0003", True)}),
        ("Related: [ADR-3](3-x.md) (introduced the loader this supersedes)", {("supersedes", "3-x.md", True)}),
        ("Supersedes the per-app cache of ADR-3 (the strategy stands).", {("supersedes", "3", True)}),
        ("ADR-3 build step 6 is superseded by this ADR.", {("supersedes", "3", True)}),
        ("**Recipe — fold (refines ADR-3 decision 2).** Join them.", {("amends", "3", True)}),
        ("Recorded as an amendment to **ADR-3**, not repeated here.", {("amends", "3", False)}),
    ],
)
def test_a_relation_is_read_however_it_is_said(text: str, links: set[tuple[str, str, bool]]) -> None:
    assert said(text) == links


@pytest.mark.parametrize(
    "text",
    [
        "Together with ADR-60 this replaces the loop.",
        "ADR-58 D5 is not amended here.",
        "ADR-106 stays; it is not superseded by this ADR.",
        "Superseding ADR-66 with a single contract was rejected.",
        'ADR-36 states "This ADR amends the posture of ADR-5".',
        "Related: ADR-3, ADR-4",
        "被取代的决策：ADR-3",
        "This record extends ADR-3's retry rule to all clients.",
        "補足: 計算は ADR-3 の契約に合わせる。",
        "本 ADR の増補は ADR-3 に影響しない。",
        "Depends on ADR-3",
        "Bygger på ADR-3",
        "Revise ADR-3 later.",
        "Ersetzt wird die Liste. Sie steht in ADR-3.",
        "Vervangt de kleur; zie ADR-3",
        "See ADR-3 for the migration that replaced the queue.",
        "Replaces 0.95 by 0.97 at 2026-05-04.",
        "### Why the cache replaces the queue\n\nADR-3 asked for it.",
    ],
)
def test_what_only_mentions_a_record_is_no_relation(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    ("values", "links"),
    [
        ({"supersededBy": "docs/adr/0004-schema.md"}, {("superseded_by", "0004-schema.md")}),
        ({"relations": {"supersedes": [3, "ADR-4"]}}, {("supersedes", "3"), ("supersedes", "4")}),
        ({"links": [{"type": "amends", "target": "ADR-3"}]}, {("amends", "3")}),
        ({"relations": [{"type": "partially-supersedes", "target": "ADR-3", "scope": "x"}]}, {("supersedes", "3")}),
        ({"ersetzt": ["ADR-3"]}, {("supersedes", "3")}),
        ({"reemplazado_por": 9}, {("superseded_by", "9")}),
        ({"superseded_by_planned": "ADR-9", "supersedes_check": "ADR-3", "author": {"supersedes": "ADR-1"}}, set()),
    ],
)
def test_keys_of_front_matter_say_relations(values: dict[str, object], links: set[tuple[str, str]]) -> None:
    assert {(link.relation, link.target) for link in find_front_matter_links(values)} == links


def test_the_one_record_a_superseded_one_names_is_its_successor() -> None:
    assert edges(record(2, "**Superseded**\n\nUse [this one](0009-x.md), it is newer."), record(9)) == {
        ("D009", "supersedes", "D002")
    }
    assert edges(record(2, "Superseded\n\nADR-8 and ADR-9 came later."), record(8), record(9)) == set()
    assert edges(record(2, "Deprecated\n\nSee ADR-9."), record(9)) == set()


def test_a_section_may_be_the_relation() -> None:
    assert edges(record(9, more="\n## Supersedes\n\n- [Two](0002-x.md)\n"), record(2)) == {
        ("D009", "supersedes", "D002")
    }
    assert edges(record(9, more="\n## Related decisions\n\n- [Two](0002-x.md)\n"), record(2)) == set()


def test_an_id_with_the_prefix_of_the_house_leads_to_its_file() -> None:
    files = [
        read_adr(
            f"---\nstatus: {status}\n{more}---\n# YDR-{n:03d}: Rooms\n\n## Decision\n\nx\n", f"ydr-{n:03d}-rooms.md"
        )
        for n, status, more in ((7, "accepted", ""), (9, "accepted", "supersedes: YDR-007\n"))
    ]
    (new,) = [r for r in resolve_imports(files).records if r.supersedes]
    assert new.path == "" and new.sources == ("ydr-009-rooms.md",)


def test_of_two_kinds_with_one_number_an_adr_means_the_adr() -> None:
    def write(folder: str, word: str, number: int, status: str = "Accepted") -> ImportedAdr:
        return read_adr(
            f"# {word}-{number:04d}: Size\n\n## Status\n\n{status}\n\n## Decision\n\nx\n",
            f"{folder}/{number:04d}-{word}.md",
        )

    files = [write("rfc", "RFC", 12, "Superseded by ADR-0091"), write("rfc", "RFC", 91), write("adr", "ADR", 91)]
    found = resolve_imports(files).records
    (new,) = [r for r in found if r.supersedes]
    assert new.sources == ("adr/0091-ADR.md",)


def test_a_record_that_says_itself_superseded_is_so_though_the_other_names_a_part() -> None:
    old, new = record(2, "Superseded by ADR-9"), record(9, more="\nIt replaces the panic recovery of ADR-2.\n")
    assert edges(old, new) == {("D009", "supersedes", "D002")}
    assert edges(record(2), new) == {("D009", "amends", "D002")}


def test_relations_in_other_words_are_imported_and_listed(root: Path, tmp_path: Path) -> None:
    folder = tmp_path / "adr"
    folder.mkdir()
    (folder / "0001-colas.md").write_text(
        "# 1. Colas\n\n- Estado: reemplazado por `0002`\n\n## Decisión\n\nUna.\n", encoding="utf-8"
    )
    (folder / "0002-correo.md").write_text(
        "# 2. Correo\n\n- Estado: aceptado\n\n## Decisión\n\nDos.\n", encoding="utf-8"
    )
    assert run(root, "import", "adr", str(folder)).code == 0
    assert "superseded" in run(root, "show", "D001").out
    assert run(root, "check").code == 0


def test_what_a_header_says_of_a_third_record_is_not_said_of_this_one() -> None:
    header = "**Replaces**: [A](0003-x.md). Also takes over [B](0002-x.md) (already superseded by 0003)."
    text = f"# 9. Rooms\n\n- Status: accepted\n\n{header}\n\n## Decision\n\nx\n"
    assert edges(read_adr(text, "0009-x.md"), record(2), record(3)) == {("D009", "supersedes", "D003")}


def test_an_archived_record_means_one_among_its_former_neighbours() -> None:
    def write(path: str, status: str) -> ImportedAdr:
        return read_adr(f"# ADR-{path[-7:-5]}: X\n\n## Status\n\n{status}\n\n## Decision\n\nx\n", path)

    files = [
        write("docs/adr/archive/ADR-203-x.md", "Superseded by ADR-208"),
        write("docs/adr/ADR-208-y.md", "Accepted"),
        write("docs/plans/adr-208-phase-1.md", "Accepted"),
    ]
    (new,) = [r for r in resolve_imports(files).records if r.supersedes]
    assert new.sources == ("docs/adr/ADR-208-y.md",)


def test_the_status_says_what_the_record_does_to_others() -> None:
    assert edges(record(9, "Accepted (supersedes ADR-2; the rest stays)"), record(2)) == {
        ("D009", "supersedes", "D002")
    }
    part = record(9, "Accepted. Supersedes the naming scheme of [two](0002-x.md) only.")
    assert edges(part, record(2)) == {("D009", "amends", "D002")}
    assert edges(record(9, "Accepted — the note on ADR-2 supersedes it"), record(2)) == set()


def test_an_accepted_record_is_superseded_in_part_whatever_its_sentence_says() -> None:
    old = record(2, "Accepted. **The naming scheme (§2) and the caveat (§3) are superseded by [nine](0009-x.md)**.")
    found = resolve_imports([old, record(9)]).records
    assert [(r.id, r.status, r.amends, r.supersedes) for r in found] == [
        ("D002", "accepted", (), ()),
        ("D009", "accepted", ("D002",), ()),
    ]


def test_an_example_in_code_is_no_statement() -> None:
    assert (
        edges(record(9, more="\n- ADR 5 had it; `amended by 0002` becomes `amended-by ADR-0002`.\n"), record(2))
        == set()
    )


def test_a_line_of_the_header_speaks_of_the_whole_record_and_a_status_that_goes_on_of_a_part() -> None:
    def write(header: str) -> ImportedAdr:
        return read_adr(f"# 2. Rooms\n\n{header}\n\n## Decision\n\nx\n", "0002-x.md")

    whole = write("- Status: accepted\n- Superseded by: [Nine](0009-x.md)")
    assert edges(whole, record(9)) == {("D009", "supersedes", "D002")}
    part = write("**Status**: Accepted — components 1–3 **superseded by\n[ADR-9](0009-x.md)** in May.")
    assert edges(part, record(9)) == {("D009", "amends", "D002")}


def test_a_status_in_a_quotation_says_relations_too() -> None:
    quoted = (
        "# New\n\n> **Statut : accepté.** Supersède [A](0002-x.md) et\n> [B](0003-x.md) pour cette coupe.\n\nNous.\n"
    )
    assert edges(read_adr(quoted, "0009-x.md"), record(2), record(3)) == {
        ("D009", "supersedes", "D002"),
        ("D009", "supersedes", "D003"),
    }


def test_a_link_by_label_leads_to_the_record() -> None:
    text = "\nThis document supersedes the [old process][old].\n\n[old]: ./0002-x.md\n[other]: ./0003-x.md\n"
    assert edges(record(9, more=text), record(2), record(3)) == {("D009", "supersedes", "D002")}
