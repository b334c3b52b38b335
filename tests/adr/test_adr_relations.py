"""Relations of decision records in the running text of many languages, and what order the records must have."""

import pytest

from kb.adr.adr_file import ImportedAdr, read_adr
from kb.adr.adr_front_matter import find_front_matter_links
from kb.adr.adr_links import find_text_links
from kb.adr.adr_set import resolve_imports
from kb.adr.adr_verbs import VERBS


def said(text: str) -> set[tuple[str, str]]:
    return {(link.relation, link.target) for link in find_text_links(text)}


def record(
    number: int, body: str = "Send it.", *, head: str = "Status: Accepted", title: str = "Letters"
) -> ImportedAdr:
    return read_adr(f"# {number}. {title}\n\n{head}\n\n## Decision\n\n{body}\n", f"{number:04d}-letters.md")


def edges(*files: ImportedAdr) -> set[tuple[str, str, str]]:
    found = resolve_imports(files).records
    return {(r.id, kind, old) for r in found for kind in ("supersedes", "amends") for old in getattr(r, kind)}


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("This record supersedes the decision of [ADR-3](0003-x.md).", "supersedes"),
        ("This ADR extends ADR-3 with retries.", "amends"),
        ("Refines ADR-3 on the state machine.", "amends"),
        ("We amend ADR-3.", "amends"),
        ("This decision is an amendment to ADR-3.", "amends"),
        ("It clarifies and narrows ADR-3.", "amends"),
        ("Diese Entscheidung präzisiert ADR-3.", "amends"),
        ("Dieses ADR löst ADR-3 ab.", "supersedes"),
        ("Ergänzung zu ADR-3", "amends"),
        ("Précise [ADR-3](0003-x.md).", "amends"),
        ("Complète ADR-3", "amends"),
        ("Cette décision remplace l'ADR-3.", "supersedes"),
        ("Este ADR complementa el ADR-3.", "amends"),
        ("Esta decisión sustituye a ADR-3.", "supersedes"),
        ("Este ADR altera o ADR-3.", "amends"),
        ("Questa decisione sostituisce ADR-3.", "supersedes"),
        ("Aggiornamento di ADR-3", "amends"),
        ("Deze ADR verduidelijkt ADR-3.", "amends"),
        ("Breidt ADR-3 uit", "amends"),
        ("Ten ADR uzupełnia ADR-3.", "amends"),
        ("Это решение уточняет ADR-3.", "amends"),
        ("Это решение отменяет ADR-3.", "supersedes"),
        ("Den här ADR:en kompletterar ADR-3.", "amends"),
        ("Dette er et tillegg til ADR-3.", "amends"),
        ("Tato ADR doplňuje ADR-3.", "amends"),
        ("Tämä päätös täydentää ADR-3", "amends"),
        ("Bu ADR, ADR-3'ün yerine geçer.", "supersedes"),
        ("ADR-3'ü günceller.", "amends"),
        ("本决策细化 ADR-3。", "amends"),
        ("本 ADR 补充ADR-3。", "amends"),
        ("废止：ADR-3", "supersedes"),
        ("这是对 ADR-3“只有一处分派”的窄化：后端不变。", "amends"),
        ("本ADRは ADR-3 を補足する。", "amends"),
        ("이 결정은 ADR-3을 보완한다.", "amends"),
        ("**Status: accepted.** Extends [ADR-3](0003-x.md).", "amends"),
        ("| Refines | [ADR-3](0003-x.md) | retries |", "amends"),
        ("- ADR-3: Trunk workflow (superseded by this ADR)", "supersedes"),
        ("- **ADR-3** (names) — this ADR replaces its role model", "supersedes"),
        ("ADR-3 is hereby superseded.", "supersedes"),
        ("ADR-3 still holds except for the retry limit.", "amends"),
        ("This replaces the old rating grid (ADR-3).", "supersedes"),
    ],
)
def test_what_this_record_does_to_another_is_read_in_every_language(text: str, relation: str) -> None:
    assert {(kind, target.removeprefix("0003-x.md") or "3") for kind, target in said(text)} == {(relation, "3")}


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("See ADR-9, which replaces this.", "superseded_by"),
        ("Update 2023-04-05: see ADR-9", "amended_by"),
        ("> **Aktualizacja 2026-07-09 (ADR-9):** scalone.", "amended_by"),
        ("⚠️ Amended 2026-07-14 ([ADR-9](0009-x.md)): the line above is gone.", "amended_by"),
        ("- [ADR-9: Files](0009-x.md) - Complementa este ADR com resoluções", "amended_by"),
        ("ADR-9 narrows this decision.", "amended_by"),
        ("L'ADR-9 remplace cette décision.", "superseded_by"),
        ("Nachfolger: ADR-9", "superseded_by"),
        ("Präzisiert durch ADR-9", "amended_by"),
        ("Précisé par ADR-9", "amended_by"),
        ("Ampliado por ADR-9", "amended_by"),
        ("Aangevuld door ADR-9", "amended_by"),
        ("Uzupełniony przez ADR-9", "amended_by"),
        ("Уточнено ADR-9", "amended_by"),
        ("Presisert av ADR-9", "amended_by"),
        ("Doplněno ADR-9", "amended_by"),
        ("ADR-9 tarafından güncellendi", "amended_by"),
        ("ADR-9 ile değiştirildi", "superseded_by"),
        ("被 ADR-9 细化", "amended_by"),
        ("[ADR-9](0009-x.md) 对本记录作局部收窄，其余不变。", "amended_by"),
        ("ADR-9 によって補足された", "amended_by"),
        ("ADR-9에 의해 보완됨", "amended_by"),
        ("Deprecated in favour of ADR-9", "superseded_by"),
        ("Merged into ADR-9", "superseded_by"),
    ],
)
def test_what_another_record_did_to_this_one_is_read_in_every_language(text: str, relation: str) -> None:
    assert {(kind, target.removeprefix("0009-x.md") or "9") for kind, target in said(text)} == {(relation, "9")}


@pytest.mark.parametrize(
    "text",
    [
        "This does not replace ADR-3.",
        "Diese Entscheidung ersetzt nicht ADR-3.",
        "Ce document ne remplace pas ADR-3.",
        "本决策不取代 ADR-3。",
        "If we replaced ADR-3, the queue would go.",
        "We could supersede ADR-3 later.",
        "如果取代 ADR-3，就要改三处。",
        "ADR-5 extends ADR-3.",
        "ADR-5 refines the rule of ADR-3.",
        "A guideline on [our site](https://example.org/x) extends ADR-3 with examples.",
        "The gateway replaces Redis, as ADR-3 asked for.",
        "This replaces Jenkins with the runner of ADR-3.",
        "We extend the buffer that ADR-3 describes.",
        "Update ADR-3 and ADR-4 to done",
        "更新 ADR-3 状态为已完成",
        "Correct the stale reference to ADR-3.",
        "Refines: the retry rule, builds on ADR-3",
        "ADR-3 (its loop is superseded by ADR-5) names the tool.",
        "Deprecated, see ADR-3",
        "This template is complete and ADR-3 asks for it.",
        "Ein Supersede von ADR-3 wäre nötig.",
        "ADR-3 was superseded.",
        "Builds on ADR-3",
        "Baut auf ADR-3 auf",
        "Relates to ADR-3",
        "基于 ADR-3",
        "The old rule replaced ADR-3 long ago.",
    ],
)
def test_other_objects_other_subjects_and_what_never_happened_are_no_relation(text: str) -> None:
    assert said(text) == set()


def test_a_list_ends_where_another_verb_begins() -> None:
    assert said("Refines: [ADR-3](3-x.md), builds on [ADR-4](4-x.md)") == {("amends", "3-x.md")}
    assert said("Amends ADR-3, ADR-4 §2 and the naming rule of ADR-5; see ADR-6") == {
        ("amends", "3"),
        ("amends", "4"),
        ("amends", "5"),
    }
    assert said("Remplacée par l'ADR-8, puis par [ADR-9](9-x.md).") == {
        ("superseded_by", "8"),
        ("superseded_by", "9-x.md"),
    }


def test_an_alternative_that_was_not_chosen_changes_nothing() -> None:
    chosen = "Send it.\n\n## Alternatives\n\n- This supersedes ADR-3 altogether.\n"
    assert edges(record(3), record(9, chosen)) == set()
    assert edges(record(3), record(9, "This supersedes ADR-3 altogether.")) == {("D009", "supersedes", "D003")}


def test_of_two_records_the_younger_one_acts() -> None:
    note = "Send it.\n\n**Update (ADR-9):** by post.\n"
    assert edges(record(3, note), record(9)) == {("D009", "amends", "D003")}
    assert edges(record(3), record(9, note.replace("9", "3"))) == set()
    assert edges(record(3, "This amends ADR-9."), record(9)) == set()
    assert edges(record(3, head="Status: Accepted\nAmends: ADR-9"), record(9)) == {("D003", "amends", "D009")}


def test_below_a_heading_of_notes_stand_the_records_that_amended_it() -> None:
    notes = "Send it.\n\n## Amendments\n\n- ADR 9 — adds the stamp\n"
    assert edges(record(3, notes), record(9)) == {("D009", "amends", "D003")}


def test_a_part_of_a_status_that_another_record_replaced_amends_it() -> None:
    status = "Status : accepté pour le monolithe — la topologie est remplacée par l'ADR-8, puis par ADR-9."
    found = resolve_imports([record(3, head=status), record(8), record(9)]).records
    assert [(r.id, r.amends) for r in found] == [("D003", ()), ("D008", ("D003",)), ("D009", ("D003",))]
    assert found[0].status == "accepted"


def test_a_title_says_what_the_record_changes() -> None:
    assert edges(record(9, title="Voice settings in the database (extends ADR-3)"), record(3)) == {
        ("D009", "amends", "D003")
    }
    assert edges(record(9, title="语音配置入库（扩展 ADR-3）"), record(3)) == {("D009", "amends", "D003")}


def test_a_key_of_front_matter_may_be_any_verb() -> None:
    assert {link[:2] for link in find_front_matter_links({"extends": ["0003-x"], "refined_by": "ADR-9"})} == {
        ("amends", "0003-x"),
        ("amended_by", "9"),
    }


def test_a_link_to_a_file_that_was_renamed_leads_to_its_number() -> None:
    new = record(9, "This supersedes [the letters](0003-letters-by-post.md).")
    assert edges(record(3), new) == {("D009", "supersedes", "D003")}
    other = record(9, "This supersedes [the names](0003-names-of-hosts.md).")
    assert edges(record(3), other) == set()


@pytest.mark.parametrize("language", sorted({language for rows in VERBS.values() for language in rows}))
def test_every_verb_of_the_table_is_read(language: str) -> None:
    for kind in ("supersede", "amend"):
        row = VERBS[kind].get(language)
        first = row.acts.partition("|")[0].replace("s?", "s") if row else ""
        if first and not set("([?") & set(first):
            sure = {link.relation for link in find_text_links(f"{first}: ADR-3") if not link.is_open}
            assert sure == {"supersedes" if kind == "supersede" else "amends"}, first


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("Dieses ADR ersetzt ADR-3 nicht.", set()),
        ("Este ADR nao substitui o ADR-3.", set()),
        ("Diese ADR ersetzt keine Regel, sondern ergaenzt ADR 3 um zwei.", {("amends", "3")}),
        (
            "ADR-3 gilt weiter für Fälle; die Aussage zu Boards ist durch dieses ADR ersetzt.",
            {("supersedes", "3"), ("amends", "3")},
        ),
        ("Amends ADR-015/016/017.", {("amends", "015"), ("amends", "016"), ("amends", "017")}),
        ("Este ADR complementa:\n\n* ADR-3 — Capas\n* ADR-4 — Datos\n", {("amends", "3"), ("amends", "4")}),
        (
            "Substitui o ADR 3 integralmente e o ADR 4 na parte do sidecar.",
            {("supersedes", "3"), ("supersedes", "4")},
        ),
        ("This refines ADR-3 (names) and extends ADR-4 (hosts).", {("amends", "3"), ("amends", "4")}),
        ("**ADR-3.** Already superseded by ADR-9 in part.", set()),
        ("| ADR-3 (Skills) | Axiom 1. Phase D is superseded by ADR-9 | kept |", set()),
        ("- 相关：ADR-3（支架；本 ADR 修订其规则）", {("amends", "3")}),
        ("- ADR-3 — las reglas que este ADR reemplaza en parte.", {("supersedes", "3")}),
        ("Evolution note (D1 superseded): ADR-9 retires the roster.", {("amended_by", "9")}),
        ("ADR-3（背景）、[文档](https://example.org/d)（本 ADR 修订它的结论）", set()),
        ("本决策细化 ADR-3 的发现方式与 ADR-4 的输出；其余不变", {("amends", "3"), ("amends", "4")}),
    ],
)
def test_how_people_say_it(text: str, links: set[tuple[str, str]]) -> None:
    assert said(text) == links


def test_a_number_with_a_letter_is_the_addendum() -> None:
    def write(name: str, head: str) -> ImportedAdr:
        return read_adr(f"# {name}\n\nStatus: Accepted\n{head}\n\n## Decision\n\nSend it.\n", f"{name}-x.md")

    files = [write("ADR-026", "Amended by: ADR-026a"), write("ADR-026a", ""), write("ADR-027", "")]
    found = resolve_imports(files).records
    assert [r.sources for r in found if r.amends] == [("ADR-026a-x.md",)]


@pytest.mark.parametrize(
    "statement", ['This supersedes "Letters by  post".', "Supersedes: Letters by post", "取代「Letters by post」。"]
)
def test_a_record_may_be_named_by_its_title(statement: str) -> None:
    found = resolve_imports([record(3, title="Letters by post"), record(9, head=f"Status: Accepted\n\n{statement}")])
    assert [r.supersedes for r in found.records] == [(), ("D003",)]
    assert not [problem for problem in found.problems if "matches" in str(problem.said)]
    other = resolve_imports([record(3, title="Names"), record(9, statement)])
    assert [r.supersedes for r in other.records] == [(), ()]
    assert not [problem for problem in other.problems if "matches" in str(problem.said)]
