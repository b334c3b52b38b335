"""The verbs with which a decision record says what it does to another one: one table, a row for each language.

Every pattern that looks for such a verb is made from it, so a further language is a few words here and nothing else.
Partial replacement is no verb of its own: it is `PART_WORDS` beside one, or an object that is only a part.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from kb.adr.adr_words import fold_latin


class RelationVerbs(NamedTuple):
    """How one language says one relation; words are separated by |, and (?…) looks ahead for what a verb needs."""

    acts: str
    """Finite forms; the other record is their object."""
    done: str = ""
    """Participles; what did it stands behind a word for “by”, or is the record that says it (“hereby replaced”)."""
    heir: str = ""
    """Nouns for the record that did it, as a field is called: “successor: ADR-9”."""
    nouns: str = ""
    """With the words that join them to the other record: “amendment to”."""
    bare: str = ""
    """Forms that are other words too, and count behind “we” or “this record” alone."""
    ends: str = ""
    """Of languages whose verbs come last: what stands behind the other record as object."""
    ends_done: str = ""
    """Of those languages: what stands behind the other record as the one that did it."""


_D = "[oa]s?"
_SUPERSEDE = {
    "en": RelationVerbs(
        "supersedes?|superceeds?|supercedes?|superseedes?|replaces?|obsoletes|overrides|overrules|overturns"
        "|invalidates|rescinds|revokes|repeals|deprecates|(?:superseded|replaced) (?:adrs?|decisions?|records?)",
        "super[sc]e+d+ed|superscee?ded|superceeded|replaced|obsoleted|overridden|overruled|overturned|invalidated"
        "|rescinded|revoked|repealed|deprecated|retired|reversed|reverted|succeeded|subsumed|merged|consolidated"
        "|absorbed|folded|rolled",
        "superseding (?:adrs?|decisions?|records?)|successors?",
        nouns="(?:full |complete )?replacement (?:of|for)|successor (?:of|to)",
        bare="superseding|replacing|override|overrule|overturn|rescind|revoke|obsolete|deprecate|retires?|reverses?"
        "|reverts?|undo(?:es)?",
    ),
    "de": RelationVerbs(
        "ersetz(?:t|te|en|e)|löst(?=[^.;]{1,80}\\bab\\b)|hebt(?=[^.;]{1,80}\\bauf\\b)"
        "|setzt(?=[^.;]{1,80}\\baußer kraft\\b)",
        "ersetzt|abgelöst|aufgehoben|überholt|verdrängt",
        "nachfolger(?:in)?|ersatzentscheidung",
        nouns="ersatz (?:für|von)|ablösung (?:von|der|des)",
    ),
    "fr": RelationVerbs(
        "remplace(?:nt|ra)?|remplaçons|supersède|supplante|annule|abroge|annule et remplace",
        "(?:remplacé|supersédé|supplanté|annulé|abrogé)e?s?",
    ),
    "es": RelationVerbs(
        "reemplaza[nr]?|reemplazará|su[bp]?stituye[n]?|deroga|anula|invalida",
        f"(?:reemplazad|su[bp]?stituid|derogad|anulad|suplantad|supersedid){_D}",
    ),
    "pt": RelationVerbs(
        "substitui|substituem|revoga|anula|invalida", f"(?:su[bp]stitu[ií]d|revogad|anulad|supersedid|supersedead){_D}"
    ),
    "it": RelationVerbs(
        "sostituisce|sostituiscono|rimpiazza|annulla|abroga", "(?:sostituit|rimpiazzat|annullat|abrogat|superat)[oaie]"
    ),
    "nl": RelationVerbs("vervangt", "vervangen|opgevolgd", "opvolger", nouns="vervanging van"),
    "pl": RelationVerbs(
        "zastępuje|uchyla|unieważnia|wypiera",
        "(?:zastąpion|uchylon|unieważnion|odwrócon|wycofan)[aeoyi]|zastąpiono",
        "następca|zastąpienie",
    ),
    "ru": RelationVerbs(
        "заменяет|заменяют|отменяет|вытесняет|замінює|скасовує", "замен[её]н[аоы]?|отмен[её]н[аоы]?|замінено|скасовано"
    ),
    "sv": RelationVerbs(
        "ersätter|ersätts|upphäver|avlöser|erstatter|erstattes|opphever|avløser|afløser|ophæver",
        "ersatts?|upphävd|avlösts?|erstattet|opphevet|avløst|afløst|ophævet",
        "efterfølger|etterfølger|efterträdare",
        nouns="erstatning for|ersättning för",
    ),
    "fi": RelationVerbs("korvaa|kumoaa|syrjäyttää", "korvattu|kumottu"),
    "cs": RelationVerbs("nahrazuje|ruší|nahrádza", "(?:nahrazen|zrušen|nahraden)[oaýé]?"),
    "hu": RelationVerbs("felváltja|helyettesíti", "felváltva|helyettesítve"),
    "tr": RelationVerbs(
        "yerini aldığı|yerine geçtiği",
        heir="yerini alan|yerine geçen",
        ends="['’]?\\w{0,6}\\s(?:yerine geçer|yerini alır|geçersiz kılar|iptal eder|yürürlükten kaldırır)",
        ends_done="['’]?\\w{0,6}\\s(?:ile (?:değiştirildi|değiştirilmiştir)|tarafından (?:geçersiz kılındı"
        "|iptal edildi|değiştirildi))",
    ),
    "vi": RelationVerbs("thay thế(?: cho)?|menggantikan", "thay thế|digantikan"),
    "ro": RelationVerbs("înlocuiește|înlocuiesc", "(?:înlocuit|abrogat)[ăei]?"),
    "zh": RelationVerbs(
        "取代|替代|替换|替換|代替|废止|廢止|废除|作废|推翻|覆盖|覆蓋|撤销并取代", heir="替代者|后继|後繼|取代者"
    ),
    "ja": RelationVerbs(
        "(?:置き換え|置換|差し替え|上書き|廃止)(?:(?:る|する|した|対象の?|元)?\\s?(?:adr|決定|文書|記録)?"
        "(?=\\s?(?:[:：]\\s{0,3}[\\[\\x00]|\\Z))|る決定|対象|元)",
        heir="後継|後続|置き換え先|置換先|後継\\s?adr",
        ends="を\\s?(?:あわせて|合わせて|一部を?|部分的に|完全に)?\\s?"
        "(?:置き換え|置換|差し替え|廃止|無効|撤回|上書き|代替|supersede)",
        ends_done="に(?:よって|より)?\\s?(?:置き換え|置換|差し替え|取って代わ|廃止|上書き)",
    ),
    "ko": RelationVerbs(
        "대체하는 (?:adr|결정)",
        ends="[을를]\\s?(?:완전히\\s)?(?:대체|폐기|무효화)",
        ends_done="(?:에 의해|으로|로)\\s?(?:대체|폐기)",
    ),
}
_AMEND = {
    "en": RelationVerbs(
        "amends?|corrects|narrows|revises|modifies|tightens|relaxes|loosens|widens|broadens|sharpens|rectifies"
        "|qualifies|takes precedence over|partially reverses|partly reverses",
        done="amended|corrected|narrowed|revised|modified|tightened|relaxed|loosened|widened|broadened|sharpened"
        "|rectified|restricted|qualified",
        nouns="(?:an? )?(?:extension|amendment|addendum|revision|correction|update|refinement|clarification"
        "|supplement|erratum|modification|follow-?up amendment) (?:of|to|for)",
        bare="amending|correcting|narrowing|revising|modifying|hardening|tightening|correct|narrow|revise|modify"
        "|tighten|relax",
    ),
    "de": RelationVerbs(
        "ändert|änderte|korrigiert|revidiert|berichtigt|verschärft|lockert|modifiziert|überarbeitet"
        "|schränkt(?=[^.;]{1,80}\\bein\\b)|passt(?=[^.;]{1,80}\\ban\\b)",
        done="geändert|abgeändert|korrigiert|revidiert|berichtigt|verschärft|gelockert|modifiziert|überarbeitet"
        "|eingeschränkt|angepasst",
        nouns="(?:nachtrag|änderung|korrektur|berichtigung) (?:zu|zum|zur|von|der|des)",
    ),
    "fr": RelationVerbs(
        "amende|modifie|corrige|révise|restreint|assouplit|durcit|rectifie",
        done="(?:amendé|modifié|corrigé|restreint|assoupli|rectifié)e?s?|révisée?s?",
        nouns="(?:amendement|complément|extension|correction|avenant|modification|révision) (?:à|au|aux|de|du|d['’])",
    ),
    "es": RelationVerbs(
        "modifica|enmienda|corrige|revisa|matiza|restringe|rectifica",
        done="(?:modificad|enmendad|corregid|revisad|matizad|restringid)[oa]s?",
        nouns="(?:enmienda|extensión|corrección|modificación|adenda|revisión) (?:a|al|de|del)",
    ),
    "pt": RelationVerbs(
        "altera|emenda|corrige|modifica|detalha|restringe|retifica",
        done="(?:alterad|emendad|corrigid|revisad|modificad|detalhad|restringid)[oa]s?",
        nouns="(?:emenda|extensão|correção|adendo|aditamento|alteração|revisão) (?:a|à|ao|da|do|de)",
    ),
    "it": RelationVerbs(
        "modifica|emenda|corregge|rivede|rettifica",
        done="(?:modificat|emendat|corrett|rivist)[oaie]",
        nouns="(?:emendamento|estensione|integrazione|correzione|modifica|revisione) (?:a|al|alla|all['’]|di|del"
        "|della|dell['’])",
    ),
    "nl": RelationVerbs(
        "wijzigt|herziet|corrigeert|nuanceert|beperkt|scherpt(?=[^.;]{1,80}\\baan\\b)",
        done="gewijzigd|herzien|aangevuld|uitgebreid|aangepast|gecorrigeerd|geactualiseerd|aangescherpt|gepreciseerd",
        nouns="(?:aanvulling|wijziging|uitbreiding|correctie|herziening|aanpassing) (?:op|van|bij)",
    ),
    "pl": RelationVerbs(
        "zmienia|koryguje|modyfikuje|poprawia|zawęża|nowelizuje|rewiduje|prostuje",
        done="(?:zmienion|sprecyzowan|skorygowan|zmodyfikowan|poprawion|zawężon)[aeoyi]",
        nouns="(?:aneks|poprawka|korekta|zmiana) (?:do|w)",
    ),
    "ru": RelationVerbs(
        "изменяет|исправляет|корректирует|пересматривает|сужает|модифицирует|змінює",
        done="(?:измен[её]н|исправлен|скорректирован|пересмотрен|сужен)[аоы]?|змінено",
        nouns="(?:изменение|поправка|исправление|зміна) (?:к|ко|до)",
    ),
    "sv": RelationVerbs(
        "ändrar|reviderar|korrigerar|skärper|endrer|reviderer|korrigerer|ændrer",
        done="ändra[dts]|revidera[dts]|korrigera[dts]|endret|revidert|utfylt|korrigert|ændret|revideret|korrigeret",
        nouns="(?:tillegg|tillæg|tillägg|endring|ændring|ändring|revisjon) (?:til|till|av|af|i)",
    ),
    "fi": RelationVerbs("muuttaa|korjaa|rajaa", done="muutettu|korjattu|rajattu"),
    "cs": RelationVerbs(
        "mění|upravuje|opravuje|reviduje|zužuje|dopĺňa|spresňuje",
        done="(?:změněn|upraven|doplněn|rozšířen|opraven|revidován|doplnen|upresnen)[oaýé]?",
        nouns="(?:doplnění|změna|rozšíření|oprava|dodatek) (?:k|ke)",
    ),
    "hu": RelationVerbs("módosítja", done="módosítva"),
    "tr": RelationVerbs(
        "değiştirdiği",
        heir="değiştiren",
        ends="['’]?\\w{0,6}\\s(?:değiştirir|genişletir|tamamlar|düzeltir|netleştirir|daraltır|revize eder)",
        ends_done="['’]?\\w{0,6}\\s(?:tarafından|ile) (?:güncellen|genişletil|tamamlan|düzeltil|netleştiril"
        "|revize edil)\\w{1,8}",
    ),
    "vi": RelationVerbs("sửa đổi|mengubah|melengkapi", done="sửa đổi|diubah|diperbarui"),
    "ro": RelationVerbs("modifică", done="modificat[ăei]?"),
    "zh": RelationVerbs("修订|修訂|修正|更正|收窄|窄化|勘误|勘誤"),
    "ja": RelationVerbs(
        "(?:改訂|改定|修正|補足|補完|増補|追補|拡張|訂正|変更)(?:(?:する|した|対象の?)?\\s?(?:adr|決定|文書|記録)?"
        "(?=\\s?(?:[:：]\\s{0,3}[\\[\\x00]|\\Z))|対象)",
        ends="\\s?(?:の\\s?)?(?:増補|補遺|追補)(?!\\w)|を\\s?(?:一部を?\\s?|部分的?に?\\s?)?"
        "(?:修正|改訂|改定|変更|拡張|補足|補完|増補|追補|補う|補強|訂正|明確化|具体化|詳細化|限定|緩和|見直)",
        ends_done="に(?:よって|より|て)\\s?(?:一部\\s?)?(?:拡張|補足|補完|修正|改訂|改定|変更|更新|訂正|明確化|具体化)",
    ),
    "ko": RelationVerbs(
        "수정하는 (?:adr|결정)",
        ends="[을를]\\s?(?:부분적으로\\s)?(?:수정|개정|보완|확장|구체화|명확히|명확화|정정)",
        ends_done="에 의해\\s?(?:부분적으로\\s)?(?:확장|보완|수정|개정|정정)",
    ),
}
_REFINE = {
    "en": RelationVerbs(
        "extends|refines|clarifies|completes|adjusts",
        done="extended|refined|clarified|completed|supplemented|augmented|adjusted|expanded|evolved",
        bare="extending|refining|clarifying|extend|refine|clarify|complete|adjust",
    ),
    "de": RelationVerbs(
        "ergänzt|ergänzte|erweitert|präzisiert|konkretisiert|verfeinert|vervollständigt",
        done="ergänzt|erweitert|präzisiert|konkretisiert|verfeinert|vervollständigt",
        nouns="(?:ergänzung|erweiterung|präzisierung|verfeinerung) (?:zu|zum|zur|von|der|des)",
    ),
    "fr": RelationVerbs(
        "complète|précise|étend|clarifie|affine|ajuste|enrichit|prolonge",
        done="(?:étendu|clarifié|affiné|ajusté|enrichi)e?s?|complétée?s?|précisée?s?",
        nouns="précision (?:à|au|aux|de|du|d['’])",
    ),
    "es": RelationVerbs(
        "amplía|extiende|complementa|completa|precisa|aclara|refina|ajusta|detalla",
        done="(?:ampliad|extendid|complementad|completad|precisad|aclarad|refinad|ajustad)[oa]s?",
        nouns="(?:ampliación|aclaración|complemento) (?:a|al|de|del)",
    ),
    "pt": RelationVerbs(
        "amplia|estende|complementa|completa|esclarece|refina|ajusta",
        done="(?:ampliad|estendid|complementad|completad|esclarecid|refinad|ajustad)[oa]s?",
        nouns="(?:ampliação|complemento) (?:a|à|ao|da|do|de)",
    ),
    "it": RelationVerbs(
        "estende|completa|precisa|chiarisce|raffina|amplia",
        done="(?:estes|completat|precisat|chiarit|raffinat|ampliat)[oaie]",
    ),
    "nl": RelationVerbs(
        "verduidelijkt|verfijnt|preciseert|verruimt|vult(?=[^.;]{1,80}\\baan\\b)|past(?=[^.;]{1,80}\\baan\\b)"
        "|breidt(?=[^.;]{1,80}\\buit\\b)",
        done="verduidelijkt|verfijnd",
        nouns="verduidelijking (?:op|van|bij)",
    ),
    "pl": RelationVerbs(
        "uzupełnia|rozszerza|precyzuje|doprecyzowuje|uściśla|uszczegóławia|uszczegółowia",
        done="(?:uzupełnion|rozszerzon|doprecyzowan|uściślon)[aeoyi]",
        nouns="(?:uzupełnienie|rozszerzenie|doprecyzowanie) (?:do|w)",
    ),
    "ru": RelationVerbs(
        "дополняет|уточняет|расширяет|конкретизирует|доповнює|уточнює|розширює",
        done="(?:дополнен|уточн[её]н|расширен)[аоы]?|доповнено|уточнено|розширено",
        nouns="(?:дополнение|уточнение|расширение|доповнення|уточнення) (?:к|ко|до)",
    ),
    "sv": RelationVerbs(
        "kompletterar|utökar|utvidgar|preciserar|förtydligar|justerar|utfyller|supplerer|utvider|presiserer|justerer"
        "|klargjør|tydeliggjør|udvider|præciserer|tydeliggør",
        done="komplettera[dts]|utöka[dts]|utvidga[dts]|precisera[dts]|förtydliga[dts]|justera[dts]|supplert|utvidet"
        "|presisert|justert|klargjort|udvidet|præciseret|suppleret|justeret",
        nouns="(?:utvidelse|udvidelse|utökning|presisering|præcisering|precisering|supplement|utfylling) (?:til|till"
        "|av|af|i)",
    ),
    "fi": RelationVerbs("tarkentaa|täydentää|laajentaa", done="tarkennettu|täydennetty|laajennettu"),
    "cs": RelationVerbs(
        "doplňuje|rozšiřuje|upřesňuje|zpřesňuje", done="(?:upřesněn|zpřesněn)[oaýé]?", nouns="upřesnění (?:k|ke)"
    ),
    "hu": RelationVerbs("kiegészíti|pontosítja|bővíti", done="kiegészítve"),
    "vi": RelationVerbs("bổ sung(?: cho)?"),
    "ro": RelationVerbs("completează|extinde|precizează", done="(?:completat|extins)[ăei]?"),
    "zh": RelationVerbs("补充|補充|细化|細化|扩展|擴展|澄清|明确化|延伸|扩充|擴充|精化|补全"),
}
_UPDATE = {
    "en": RelationVerbs("updates", done="updated", bare="updating|update"),
    "de": RelationVerbs("aktualisiert", done="aktualisiert", nouns="aktualisierung (?:zu|zum|zur|von|der|des)"),
    "fr": RelationVerbs("met à jour", done="mise?s? à jour", nouns="mise à jour (?:à|au|aux|de|du|d['’])"),
    "es": RelationVerbs("actualiza", done="actualizad[oa]s?", nouns="actualización (?:a|al|de|del)"),
    "pt": RelationVerbs("atualiza", done="atualizad[oa]s?", nouns="atualização (?:a|à|ao|da|do|de)"),
    "it": RelationVerbs(
        "aggiorna", done="aggiornat[oaie]", nouns="aggiornamento (?:a|al|alla|all['’]|di|del|della|dell['’])"
    ),
    "nl": RelationVerbs("actualiseert", done="bijgewerkt"),
    "pl": RelationVerbs("aktualizuje", done="zaktualizowan[aeoyi]", nouns="aktualizacja (?:do|w)"),
    "ru": RelationVerbs("обновляет|оновлює", done="(?:обновл[её]н)[аоы]?|оновлено"),
    "sv": RelationVerbs(
        "uppdaterar|oppdaterer|opdaterer",
        done="uppdatera[dts]|oppdatert|opdateret",
        nouns="(?:oppdatering|opdatering|uppdatering) (?:til|till|av|af|i)",
    ),
    "fi": RelationVerbs("päivittää", done="päivitetty"),
    "cs": RelationVerbs("aktualizuje", done="aktualizován[oaýé]?"),
    "tr": RelationVerbs("güncellediği", heir="güncelleyen", ends="['’]?\\w{0,6}\\sgünceller"),
    "vi": RelationVerbs("cập nhật|memperbarui|memperluas"),
    "ro": RelationVerbs("actualizează"),
    "zh": RelationVerbs("更新|修改|调整|調整|完善|变更|變更"),
    "ja": RelationVerbs("更新対象", ends="を\\s?(?:一部\\s?)?更新"),
    "ko": RelationVerbs(
        "갱신하는 (?:adr|결정)",
        ends="[을를]\\s?(?:부분적으로\\s)?(?:갱신|업데이트)",
        ends_done="에 의해\\s?(?:부분적으로\\s)?(?:갱신|업데이트)",
    ),
}
VERBS = {"supersede": _SUPERSEDE, "amend": _AMEND, "refine": _REFINE, "update": _UPDATE}
"""Kind → language → its words. Norwegian and Danish stand beside Swedish, Ukrainian beside Russian.

What refines a record leaves in force what it names of it: “extends ADR-3's retry rule” says less than “extends ADR-3”.
An update may be work on a file: “Update ADR-3” is a task, “this record updates ADR-3” is none.
"""
IS_RETIRED = re.compile(
    r"(?i)(?:deprecat|retire|revers|revert|revok|rescind|repeal|merg|consolid|absorb|folded|rolled)"
)
"""Verbs of a record that may have no successor: “Deprecated, see ADR-9” names none."""
_AGENT_CASE = frozenset({"ru", "cs", "fi", "pl"})
"""Languages in which a participle may be followed by what did it without a word for “by”: “Заменено ADR-9”."""


def choose_relation(kind: str, *, is_passive: bool) -> str:
    """Return what a verb of *kind*, one of `VERBS`, makes of the record that says it."""
    if kind == "supersede":
        return "superseded_by" if is_passive else "supersedes"
    return "amended_by" if is_passive else "amends"


_ENGLISH = tuple(
    form
    for rows in VERBS.values()
    for word in f"{rows['en'].acts}|{rows['en'].bare}".split("|")
    for form in {word.replace("?", ""), word.replace("s?", "")}
)


def _split_words(words: str) -> list[str]:
    """Return the alternatives of *words*; a bar in parentheses parts none."""
    found = [""]
    for piece in re.split(r"(\|)", words):
        if piece == "|" and found[-1].count("(") == found[-1].count(")"):
            found.append("")
        else:
            found[-1] += piece
    return found


_TYPED = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue"})


def _fold_words(words: str) -> str:
    """Return *words* with their spellings without marks; “complète” without its own would be an English verb."""
    typed = words.translate(_TYPED)  # German as it is typed without its letters: “ergaenzt”
    plain = [word for form in (fold_latin(words), typed) for word in _split_words(form) if word]
    plain = [word for word in plain if word in words or not any(re.fullmatch(word, one) for one in _ENGLISH)]
    return "|".join(dict.fromkeys((*_split_words(words), *plain)))


def _join_forms(form: str, languages: frozenset[str]) -> str:
    """Return an alternative for each relation, named by it, of all words of *form* in *languages*."""
    found = []
    for kind, rows in VERBS.items():
        words = [_fold_words(getattr(row, form)) for name, row in rows.items() if name in languages]
        if any(words):
            found.append(f"(?P<{kind}_{form}>{'|'.join(filter(None, words))})")
    return "|".join(found)


_LANGUAGES = frozenset(language for rows in VERBS.values() for language in rows)
_SPACED = _LANGUAGES - {"zh"}
_FORMS = ("nouns", "heir", "done", "acts", "bare")
VERB = re.compile(rf"(?i)(?<![\w'’-])(?:{'|'.join(_join_forms(form, _SPACED) for form in _FORMS)})(?![\w])")
"""A verb, its form and relation the name of the group; what is both active and participle counts as participle."""
IS_ACTIVE = re.compile(rf"(?i)(?:{_join_forms('acts', _SPACED)})")
"""Whether a participle is a finite form too: German “ersetzt”."""
AGENT_CASE = re.compile(rf"(?i)(?:{_join_forms('done', _AGENT_CASE)})")
CHINESE_VERB = re.compile(
    rf"(?:{_join_forms('heir', frozenset({'zh'}))}|{_join_forms('acts', frozenset({'zh'}))})(?!者|方案|品|物)"
)
LAST_VERB = re.compile(
    rf"(?i){_join_forms('ends_done', frozenset(VERBS['amend']))}|{_join_forms('ends', frozenset(VERBS['amend']))}"
)
"""What stands behind a record in languages whose verbs come last."""


_STEMS = re.compile(r"\(\?:([^()]*)\)\Z")


def _join_stems() -> str:
    """Return what Japanese and Chinese verbs are without their particles."""
    found = []
    for kind, rows in VERBS.items():
        ends = rows["ja"].ends if "ja" in rows else ""
        stems = _STEMS.search(ends)
        found.append(f"(?P<{kind}_here>{stems[1] + '|' if stems else ''}{rows['zh'].acts})")
    return "|".join(found)


HERE_VERB = re.compile(
    r"(?:(?:本|この|此)\s?(?:ADR|决策|决定|记录|記録|決定|文档|文書)?|ここ|在此)\s?"
    r"(?:(?:已|将|所|により|によって|にて|では|で|が|を)?\s?(?:部分的に|部分|一部を?)?|の(?=\w{2,4}対象))\s?"
    rf"(?:{_join_stems()})",
    re.IGNORECASE,
)
"""“本 ADR で改定”: this record acts on the one that was named before."""


class FoundVerb(NamedTuple):
    """What a pattern of verbs has found."""

    kind: str
    """One of `VERBS`."""
    form: str
    """The field of `RelationVerbs`."""


def read_verb(match: re.Match[str]) -> FoundVerb:
    """Return which verb *match*, of one of the patterns above, is."""
    kind, _, form = next(name for name, said in match.groupdict().items() if said).partition("_")
    return FoundVerb(kind, form)


PART_WORDS = (
    r"in[- ]part|partial(?:ly)?|partly|teilweise|partiellement|en partie|parcialmente|en parte|em parte|parzialmente"
    r"|in parte|gedeeltelijk|deels|cz[ęe][śs]ciowo|delvi[st]t?|osittain|частично|частково|částečně|kısmen|一部を?|部分"
)
"""“In part”, before or behind a verb."""
