"""The words of foreign decision records: of statuses, sections and fields, in English, Chinese and other languages.

What is said in them is read by `adr_fields`, `adr_text` and `adr_outline`; a further language is a few words here.
"""

from __future__ import annotations

import re
import unicodedata

from kb.records.model import Status

_UNMARKED = {"ł": "l", "ø": "o", "æ": "ae", "ß": "ss", "đ": "d", "ı": "i"}


def fold_latin(words: str) -> str:
    """Return *words* with the Latin letters as they are typed without their marks: “zastąpiony” as “zastapiony”."""
    marked = {letter for letter in words if "\x7f" < letter < "\u0250" or "\u1e00" <= letter < "\u1f00"}
    plain: dict[str, str | int | None] = {
        letter: _UNMARKED.get(letter) or unicodedata.normalize("NFKD", letter)[0] for letter in marked
    }
    return words.translate(str.maketrans(plain))


_STATUS_WORDS = (
    (Status.ACCEPTED, True, "accepted|accept|approved|adopted|agreed|ratified|implemented|in force|active|effective"),
    (Status.ACCEPTED, True, "decided|decision made|endorsed|enacted|in effect|in use|signed off"),
    (
        Status.ACCEPTED,
        True,
        "已接受|接受|已采纳|采纳|已批准|批准|已通过|通过|已生效|生效|有效|已实施|已决定|已采用|已实现",
    ),
    # Of a record whose decision is carried out or fixed, which says more than that it was accepted.
    (Status.ACCEPTED, False, "finalized|finalised|final|confirmed|completed|complete|done|shipped|released|deployed"),
    (Status.ACCEPTED, False, "current|已确认|已定稿|定稿|已敲定|已落地|现行|执行中|已完成|已发布|已裁决|已拍板|已上线"),
    (Status.ACCEPTED, False, "完成|落地|上线|部分实现|部分完成|部分落地|部分上线"),
    (
        Status.ACCEPTED,
        False,
        "informative|informational|achieved|production|in production|live|supersedes|replaces|in place",
    ),
    (
        Status.PROPOSED,
        True,
        "proposed|proposal|draft|pending|review|in review|under review|in discussion|under discussion|rfc",
    ),
    (Status.PROPOSED, True, "待验证|提议|提案|已提议|草案|草稿|待定|待评审|评审中|讨论中|建议"),
    # Of a record that waits for its decision.
    (Status.PROPOSED, False, "work in progress|wip|in progress|in-progress|under consideration|to be decided|tbd|open"),
    (Status.PROPOSED, False, "undecided|not decided|not yet|incomplete|experimental|planned|idea|ready for review"),
    (Status.PROPOSED, False, "deferred|postponed|paused|parked|blocked|submitted|requested|for review|on hold|drafted"),
    (Status.PROPOSED, False, "provisional|tentative|implementable|ongoing|reviewed|exploratory|todo|to do|未定|草拟"),
    (Status.PROPOSED, False, "awaiting approval|awaiting decision|awaiting review|to be reviewed|request for comments"),
    (Status.PROPOSED, False, "未决|待决|待讨论|待确认|待批准|审核中|征求意见|规划中|计划中|暂缓|搁置|推迟|延期"),
    (
        Status.PROPOSED,
        False,
        "暂停|已暂停|待审批|待审核|拟定|占位|进行中|实施中|实现中|开发中|待实现|待实施|待开发|未开始|未完成|未实现|未实施|计划",
    ),
    (Status.REJECTED, True, "rejected|reject|declined|已拒绝|拒绝|已否决|否决|不采纳|未采纳"),
    (Status.REJECTED, False, "not accepted|not approved|not adopted|dismissed|dropped|discarded|denied|未通过|不通过"),
    # Of a decision that never came to hold: kept apart from the rejected ones by `original_status`.
    (Status.REJECTED, False, "withdrawn|abandoned|cancelled|canceled|已撤回|撤回|已取消|取消"),
    # Of a record that holds, though another one changed it or it was taken up only in part.
    (Status.ACCEPTED, False, "amended|extended|refined|narrowed|clarified|revised|updated|partially accepted"),
    (Status.ACCEPTED, False, "partly accepted|accepted in part|partially implemented|partly implemented"),
    (Status.ACCEPTED, False, "已修订|修订|已修正|已扩展|部分接受|部分采纳|部分通过|部分生效|部分实施"),
    (Status.DEPRECATED, True, "deprecated|obsoleted|obsolete|retired"),
    (Status.DEPRECATED, True, "已废弃|废弃|已弃用|弃用|已过时|过时|作废|已作废"),
    # Of a record that held once and holds no more, without a successor.
    (
        Status.DEPRECATED,
        False,
        "reverted|undone|rolled back|moot|no longer relevant|no longer applicable|outdated|removed",
    ),
    (Status.DEPRECATED, False, "no longer valid|no longer in use|no longer used|discontinued|expired|archived|sunset"),
    (
        Status.DEPRECATED,
        False,
        "void|null and void|voided|moved|relocated|无效|已移动|已迁移|已放弃",
    ),
    (Status.DEPRECATED, False, "已回退|已撤销|不再适用|已失效|失效|已停用|停用|已下线|已归档"),
    (Status.DEPRECATED, False, "invalidated|invalid|revoked|rescinded|repealed|overridden|overruled|defunct"),
    # These say what came instead.
    (Status.SUPERSEDED, False, "obsoleted by|invalidated by|overridden by|overruled by|succeeded by|subsumed by"),
    (Status.SUPERSEDED, False, "deprecated in favor of|deprecated in favour of|retired in favor of"),
    (Status.SUPERSEDED, True, "superseded|superceded|superseeded|supersceded|replaced"),
    (Status.SUPERSEDED, True, "已被取代|被取代|已取代|已被替代|被替代|已替代|已被替换|被替换"),
)
"""The words of each status, and whether they say no more than it."""
_STATUS_WORDS_ABROAD = {
    Status.ACCEPTED: (
        "akzeptiert|angenommen|beschlossen|genehmigt|umgesetzt|entschieden|verabschiedet|freigegeben|bestätigt"
        "|in kraft|gültig|implementiert|accepté|adopté|approuvé|validé|en vigueur|accepte|acceptee|adopte|adoptee"
        "|approuve|approuvee|valide|validee|aceptado|aceptada|aprobado|aprobada|adoptado|adoptada|vigente|aceito"
        "|aceita|aceite|aprovado|aprovada|accettato|accettata|approvato|approvata|geaccepteerd|aangenomen"
        "|goedgekeurd|принят|утвержден|утверждён|одобрен|действует|zaakceptowano|zaakceptowany|przyjęt"
        "|zatwierdzono|zatwierdzony|承認|採用|採択|決定|確定|可決|実装済み|승인|채택|수락|확정|已採納|採納|已核准"
        "|核准|通過|已通過|已生效|implémenté|implémentée|implementado|implementada|implementato|déployé|appliqué|godkänd"
        "|accepterad|antagen|godkendt|vedtatt|akseptert|accepteret|přijato|schváleno|schválený|прийнято|затверджено"
        "|implementert|implementeret|implementerad|innført|indført|införd|gjennomført|gennemført|genomförd|besluttet"
        "|beslutad|beslutat|vedtaget|godkjent|antatt|antaget|antagna|gjeldende|gældende|gällande|gyldig|aktiv|i bruk"
        "|i brug|i kraft|ibrugtaget|tatt i bruk|tagen i bruk|ferdig|færdig|klar|fullført|fuldført|slutförd|toteutettu"
        "|päätetty|voimassa|otettu käyttöön|käytössä|valmis|samþykkt"
        "|erledigt|abgeschlossen|produktiv|mis en œuvre|mise en œuvre|mis en oeuvre|mise en oeuvre|terminé|terminée"
        "|réalisé|réalisée|livré|livrée|completado|completada|en vigor|implantado|implantada|concluído"
        "|concluída|em vigor|completato|completata|attuato|attuata|in vigore|geïmplementeerd|ingevoerd|uitgevoerd"
        "|afgerond|van kracht|actief|besloten|zaimplementowano|zaimplementowany|zaimplementowana|wdrożono|wdrożony"
        "|wdrożona|wdrożone|przyjęto|przyjęty|przyjęta|obowiązuje|obowiązujący|obowiązująca|реализован|внедрен|внедрён"
        "|выполнен|завершен|завершён|впроваджено|реалізовано|implementováno|完了|実施済み|導入済み|完成|已實作|已實施"
        "|已完成|완료|구현됨|구현 완료"
        "|kabul edildi|onaylandı|elfogadva|hyväksytty|đã chấp nhận|đã duyệt|diterima|disetujui|acceptat|acceptată"
    ),
    Status.PROPOSED: (
        "vorgeschlagen|vorschlag|entwurf|in diskussion|zur diskussion|in prüfung|in bearbeitung|in arbeit|offen"
        "|ausstehend|in abstimmung|zur abstimmung|geplant|proposé|brouillon|propose|proposee|en discussion"
        "|en cours|en attente|propuesto|propuesta|borrador|en revisión|en discusión|pendiente|proposto|proposta"
        "|rascunho|em revisão|em discussão|pendente|bozza|in revisione|voorgesteld|voorstel|concept|предложен"
        "|черновик|на рассмотрении|на обсуждении|zaproponowano|propozycja|szkic|提案|検討中|審議中|レビュー|下書き"
        "|ドラフト|起案|未決定|決定待ち|承認待ち|採用検討中|제안|초안|검토|논의|승인 대기|提議"
        "|planlagt|planlægges|planerad|planeras|under arbeid|under arbejde|under arbete|under vurdering|til vurdering"
        "|under diskusjon|under diskussion|under behandling|under utredning|til diskusjon|til diskussion|pågår|pågående"
        "|igangværende|utsatt|udskudt|uppskjuten|på vent|avventer|afventer|avvaktar|åpen|åben|öppen|uavklart|uafklaret"
        "|suunniteltu|ehdotus|harkinnassa|kesken|keskeneräinen|työn alla|avoin|lykätty|tillaga|drög"
        "|zurückgestellt|vertagt|à faire|prévu|prévue|planifié|planifiée|reporté|reportée|en progreso|en curso"
        "|planificado|planificada|aplazado|planejado|planejada|em andamento|adiado|in corso|pianificato|pianificata"
        "|rinviato|gepland|in behandeling|in uitvoering|in bespreking|uitgesteld|planowany|planowana|planowane"
        "|w trakcie|w przygotowaniu|odłożony|odłożona|odłożone|в работе|в процессе|запланирован|отложен|заплановано"
        "|plánováno|進行中|対応中|実施中|保留|計画中|計劃中|規劃中|暫緩|진행 중|보류|계획"
        "|föreslagen|utkast|foreslået|foreslått|forslag|kladde|navrženo|návrh|запропоновано|чернетка|önerildi|taslak"
        "|javasolt|tervezet|ehdotettu|luonnos|đề xuất|bản nháp|diusulkan|propus|propusă"
    ),
    Status.REJECTED: (
        "abgelehnt|verworfen|zurückgezogen|zurückgewiesen|rejeté|rejete|rejetee|refuse|refusee|refusé|rechazado"
        "|rechazada|descartado|descartada|rejeitado|rejeitada|recusado|recusada|rifiutato|rifiutata|respinto"
        "|respinta|afgewezen|verworpen|отклон|отвергнут|odrzucono|odrzucony|却下|不採用|否決|棄却|取り下げ|거절"
        "|avslått|afslået|avslag|avslagen|forkastad|tilbagetrukket|trukket|tillbakadragen|droppet|droppad|nedlagt"
        "|peruttu|peruutettu|hafnað|ikke vedtatt|ikke vedtaget|ikke godkjent|ikke godkendt|abandonné|abandonnée"
        "|ingetrokken|отозван"
        "|거부|기각|반려|已拒絕|拒絕|avvisad|förkastad|afvist|avvist|forkastet|zamítnuto|odmítnuto|відхилено"
        "|reddedildi|elutasítva|hylätty|từ chối|ditolak|respins|respinsă"
    ),
    Status.DEPRECATED: (
        "veraltet|hinfällig|ungültig|aufgehoben|obsolet|verlegt|überholt|außer kraft|nicht mehr gültig|abgekündigt"
        "|eingestellt|déprécié|obsolète|obsoleto|obsoleta|deprecado|deprecada|en desuso|deprecato|deprecata"
        "|verouderd|vervallen|устарел|отменен|отменён|przestarzał|wycofano|wycofany|非推奨|廃止|廃案|無効|폐기"
        "|foreldet|utfaset|udfaset|avviklet|afviklet|avvecklad|opphevet|ophævet|upphävd|utgått|utgået|ugyldig|ogiltig"
        "|inaktuell|ikke lenger gyldig|ikke lenger gjeldende|ikke længere gældende|inte längre giltig|kumottu"
        "|poistettu käytöstä|ei enää voimassa|úrelt|nieaktualny|nieaktualna|nieaktualne|przestarzały|przestarzała"
        "|przestarzałe|wycofany|wycofana|niet meer geldig|niet langer van kracht|недействителен|больше не действует"
        "|사용 중단|已棄用|已廢棄|廢棄|föråldrad|utfasad|forældet|utdatert|zastaralé|застаріло|kullanımdan kaldırıldı"
        "|elavult|vanhentunut|lỗi thời|usang"
    ),
    Status.SUPERSEDED: (
        "ersetzt|abgelöst|remplacé|supplanté|remplace|remplacee|reemplazado|reemplazada|sustituido|sustituida"
        "|substituído|substituída|sostituito|sostituita|vervangen|заменен|заменён|zastąpion|置き換え|置換|差し替え"
        "|avløst|afløst|avlöst|leyst af hólmi|supersédé|supersédée|zastąpiony|zastąpiona|zastąpione|zastąpiono"
        "|대체|ersatt|erstattet|nahrazeno|nahrazen|замінено|korvattu|felváltva|yerine geçildi|thay thế|digantikan"
        "|supersedida|supersedido|suplantada|suplantado|înlocuit|înlocuită"
    ),
}
"""German, French, Spanish, Portuguese, Italian, Dutch, Nordic, Russian, Polish, Japanese, Korean, traditional Chinese.

`original_status` keeps them. Words that change their endings are here without them, where no other word begins so.
"""
STATUS_BY_WORD = sorted(
    (
        (form, status, is_all)
        for status, is_all, words in (
            *_STATUS_WORDS,
            *((status, False, words) for status, words in _STATUS_WORDS_ABROAD.items()),
        )
        for word in words.split("|")
        for form in dict.fromkeys((word, fold_latin(word)))
    ),
    key=lambda row: -len(row[0]),
)
MISSPELT = dict.fromkeys(("accepted", "approved", "implemented"), Status.ACCEPTED) | {
    "proposed": Status.PROPOSED,
    "rejected": Status.REJECTED,
    "declined": Status.REJECTED,
    "deprecated": Status.DEPRECATED,
    "superseded": Status.SUPERSEDED,
}
"""The words of which a slip of one letter is understood."""

_MORE_SECTIONS = {
    "context": "problem statement|context and problem|issue|motivation|上下文|背景与问题陈述|背景和问题陈述"
    "|上下文与问题陈述|上下文和问题陈述|问题陈述|背景信息",
    "decision": "the decision|决策内容|决策结论|最终决策|决议",
    "alternatives": "alternatives considered|alternatives considered and rejected|alternatives rejected"
    "|rejected alternatives|considered alternatives|options considered and rejected|other options|备选项|替代方案"
    "|候选方案|可选方案|考虑的方案|考虑过的方案|考虑的选项|备选方案对比|曾考虑的方案",
    "why": "reasoning|reasons|justification|决策依据|依据",
    "impact": "consequences|consequence|implications|outcomes|后果|结果|影响与后果|后果与影响",
    "verification": "验证方法|验收|验收标准|确认",
    "rollback": "rollback plan|回滚方案|回滚计划",
    "status": "status|state|状态|狀態|状態|ステータス|statut|estado|stato|상태|статус",
}
_FOREIGN_SECTIONS = {
    "context": "kontext|ausgangslage|problemstellung|kontext und problemstellung|kontext und problem|hintergrund"
    "|contexte|contexte et énoncé du problème|contexte et problème|contexte et problématique|contexto|contesto"
    "|contexto y problema|contexto y planteamiento del problema|contexto e problema|コンテキストと問題"
    "|contexto e declaração do problema|コンテキストと問題の記述|コンテキストと課題|контекст и проблема"
    "|bakgrunn|baggrund|bakgrund|konteksti|tausta|problemstilling|problembeskrivelse|aanleiding"
    "|コンテキスト|状況|経緯|課題|背景と課題|맥락|배경|контекст|kontekst|問題陳述",
    "decision": "entscheidung|beschluss|entscheidungsergebnis|décision|decisión|decisão|decisione|beslissing|besluit"
    "|ergebnis der entscheidung|résultat de la décision|resultado de la decisión|resultado da decisão"
    "|beslutning|beslut|vedtak|päätös|決定結果|決定の結果"
    "|決定|決定事項|決定内容|결정|결정 사항|решение|decyzja|決策",
    "alternatives": "alternativen|betrachtete alternativen|erwogene alternativen|betrachtete optionen|alternativas"
    "|optionen|options considérées|alternatives considérées|opciones|opções|検討した案|検討事項|検討した代替手段"
    "|options envisagées|alternatives envisagées|alternativas consideradas|opciones consideradas"
    "|opções consideradas|代替案|検討した選択肢|検討した代替案|대안|고려한 대안|替代方案"
    "|alternativer|alternativ|vurderte alternativer|overvejede alternativer|övervägda alternativ|vaihtoehdot"
    "|alternatieven|overwogen alternatieven|overwogen opties|alternatywy|rozważane alternatywy"
    "|альтернативы|рассмотренные варианты",
    "why": "begründung|justificación|justificativa|motivazione|begrunnelse|begrundelse"
    "|perustelut|onderbouwing|理由|根拠|決定理由|근거|이유|обоснование|uzasadnienie",
    "impact": "konsequenzen|folgen|auswirkungen|conséquences|consecuencias|consequências|conseguenze|gevolgen"
    "|consequenties|konsekvenser|følger|seuraukset|結果|影響|결과|영향|последствия|konsekwencje|後果",
}
SECTION_BY_HEADING = {
    heading: name
    for table in (_MORE_SECTIONS, _FOREIGN_SECTIONS)
    for name, headings in table.items()
    for heading in headings.split("|")
}

CHANGE_HEADINGS = frozenset(
    (
        "changelog|change log|history|revision history|changes|revisions|status history|status log|decision history"
        "|status changes|statusverlauf|änderungshistorie|historial|historique|histórico|historik|historikk|historia"
        "|endringslogg|ændringslog|ändringslogg|muutoshistoria|wijzigingen|geschiedenis"
        "|historia zmian|история изменений|状态历史|状态变更|变更记录|修订历史|修订记录|变更历史|更新日志"
        "|变更日志|更新记录|修改记录|版本历史|変更履歴|改訂履歴|更新履歴"
    ).split("|")
)
"""What a section that lists the changes of a file is called."""

_FIELD_NAMES = {
    "status": "status|状态|当前状态|狀態|adr status|decision status|statut|estado|stato|ステータス|状態|상태"
    "|статус|état|tila|stav|durum",
    "date": "date|日期|决策日期|decision date|date accepted|date decided|datum|日付|dato|dátum|data decyzji"
    "|fecha de decisión|date de décision|決策日期|決定日付|결정일|дата решения|tarih|päivämäärä|päiväys"
    "|beslutningsdato|beslutsdatum",
    "day": "accepted|originally accepted|accepted on|decided|decided on|时间|approved|introduced|introduced on"
    "|beschlossen|beschlossen am|angenommen am|date of decision|approved on|date approved|entscheidungsdatum|fecha"
    "|data|決定日|날짜|дата|决定日期|date closed|date ratified|ratified|decided at|adopted|adopted on|agreed on"
    "|作成日時",
    "created": "created|created on|created at|date created|creation date|start date|date proposed|erstellt"
    "|erstellt am|erstellungsdatum|创建日期|創建日期|作成日|fecha de creación|date opened|opened|drafted"
    "|date drafted|date of submission|submitted|date submitted|issued|proposed|proposed on|proposal date|création"
    "|créé le|date de création|creado|criado em|作成|data de criação|data utworzenia|дата создания|创建时间"
    "|提出日期|起草日期|작성일|creato il|opprettet|oprettet|skapad|luotu|utworzono|aangemaakt",
    "updated": "updated|last updated|last modified|last update|modified|date updated|updated on|更新日期"
    "|aktualisiert|zuletzt aktualisiert|letzte änderung|dernière mise à jour|mis à jour|actualizado"
    "|última actualización|última atualização|atualizado em|更新日|最終更新|最后更新|обновлено|oppdatert"
    "|sist oppdatert|opdateret|sidst opdateret|uppdaterad|senast uppdaterad|päivitetty|bijgewerkt|laatst bijgewerkt"
    "|zaktualizowano|ostatnia aktualizacja",
    "tags": "tags|标签",
    "deciders": "deciders|decision-makers|decision makers|决策者|决策人|entscheider|決定者|entscheidungsträger"
    "|décideurs|결정자",
    "author": "author|authors|author(s)|作者|autor|autoren|auteur|作成者|著者|작성자",
}
FIELD_BY_WORD = {word: field for field, words in _FIELD_NAMES.items() for word in words.split("|")}

_MONTH_NAMES = (
    "january|jan|januar|jänner|janvier|janv|enero|ene|janeiro|gennaio|januari|stycznia|styczeń|января|январь|ledna"
    "|ocak|tammikuuta",
    "february|feb|februar|février|févr|fevrier|febrero|fevereiro|fev|febbraio|februari|lutego|luty|февраля|февраль"
    "|února|helmikuuta",
    "march|mar|märz|maerz|mrz|mars|marzo|março|marco|maart|marca|marzec|марта|март|března|mart|marts|maaliskuuta",
    "april|apr|avril|avr|abril|abr|aprile|kwietnia|kwiecień|апреля|апрель|dubna|nisan|huhtikuuta",
    "may|mai|mayo|maio|maggio|mei|maja|maj|мая|май|května|toukokuuta",
    "june|jun|juni|juin|junio|junho|giugno|czerwca|czerwiec|июня|июнь|června|haziran|kesäkuuta",
    "july|jul|juli|juillet|juil|julio|julho|luglio|lipca|lipiec|июля|июль|července|temmuz|heinäkuuta",
    "august|aug|août|aout|agosto|ago|augustus|augusti|sierpnia|sierpień|августа|август|srpna|ağustos|elokuuta",
    "september|sep|sept|septembre|septiembre|setembro|set|settembre|września|wrzesień|сентября|сентябрь|září|eylül"
    "|syyskuuta",
    "october|oct|oktober|okt|octobre|octubre|outubro|out|ottobre|października|październik|октября|октябрь|října|ekim"
    "|lokakuuta",
    "november|nov|novembre|noviembre|novembro|listopada|listopad|ноября|ноябрь|kasım|marraskuuta",
    "december|dec|dezember|dez|décembre|déc|decembre|diciembre|dic|dezembro|dicembre|desember|grudnia|grudzień|декабря"
    "|декабрь|prosince|aralık|joulukuuta",
)
MONTH_BY_NAME = {name: number for number, names in enumerate(_MONTH_NAMES, 1) for name in names.split("|")}
"""The number of a month by its name, in the form that dates use."""
DAY_FIRST_HEADINGS = frozenset(
    heading for headings in _FOREIGN_SECTIONS.values() for heading in headings.split("|") if heading[0] < "\u3000"
)
"""Headings in languages that write the day before the month: in their files 05/02/2018 is in February."""

RELATED_LABELS = (
    r"related(?: (?:adrs?|decisions?|records?))?|relates to|relations?|links?|references?|see also|siehe auch"
    r"|bezug|verwandte adrs?|关联|相关(?:决策|记录|\s?ADR)?|關聯|相關|関連(?:\s?ADR)?|前提(?:\s?ADR)?|relacionad[oa]s?"
    r"|связанные(?: adr)?"
)
"""The names of fields whose words say themselves how the records are related."""

STATUS_SIGNS = {
    Status.ACCEPTED: "✅☑✔🟢👍",
    Status.PROPOSED: "🟡🟠⏳🚧📝💡",
    Status.REJECTED: "❌🚫⛔🔴👎✖",
    Status.DEPRECATED: "🗑🗄⚰",
    Status.SUPERSEDED: "🔄♻",
}
"""The signs that stand for a status where no word does."""


# -- the words around a verb ----------------------------------------------------------------------

SELF_WORDS = frozenset(
    "this it we here present current dies diese dieser dieses diesem diesen wir hier vorliegende vorliegender ce cet"
    " cette ceci cela nous este esta esto esse essa isto isso nosotros nós questo questa quest presente dit deze we"
    " wij niniejszy niniejsza это этот эта данное данный данная настоящее настоящий мы ця це цей denne dette"
    " denna detta den vi tento toto tato bu tämä ez aceasta acest ini".split()
)
"""Words with which a record names itself."""
RECORD_NOUNS = frozenset(
    "adr decision record document proposal rfc madr file note entscheidung dokument vorschlag décision document"
    " decisión"
    " decisão decisione documento documento beslissing besluit decyzja dokument решение документ рішення beslutning"
    " beslutningen beslut beslutet päätös rozhodnutí karar adr-et adr-en".split()
)
BESIDE_VERB = frozenset(
    "is was are were be been being has have had will shall do does did can also now hereby herewith therefore thus"
    " thereby"
    " consequently deliberately explicitly fully completely entirely only simply further later since subsequently then"
    " formally currently already effectively itself together jointly largely mostly slightly again both"
    " wird wurde werden wurden ist sind war hat haben auch nun jetzt hiermit damit somit bewusst explizit später nur"
    " vollständig est était sont a été ont sera fut aussi ainsi désormais donc entièrement uniquement plus tard"
    " es fue ha sido queda quedó será está son también así ahora por lo tanto foi é será está também agora fica"
    " è stato stata viene anche quindi ora werd wordt is zijn ook nu dus hiermee"
    " jest został została zostało zostaje jest są również także więc był była było был была были было также теперь"
    " является är har blivit också nu därmed er ble blitt blev bliver også nå je byl byla bylo také on oli myös"
    " partial partially partly teilweise partiellement parcialmente parzialmente gedeeltelijk deels częściowo"
    " czesciowo delvis delvist delvist osittain частично částečně kısmen sowie directly merely".split()
)
"""Auxiliaries and adverbs between a subject and its verb."""
AND_WORDS = frozenset(
    "and but or und aber oder et mais y e pero mas ed ma en maar i a ale oraz и но а och men og ja ve sondern sino lecz"
    " utan".split()
)
"""After these a verb may share the subject of the one before it."""
RELATIVE_WORDS = frozenset(
    "which that who das die der welche welcher welches qui que cual che dat który która które который которая которое"
    " som joka který která które".split()
)
PART_NOUNS = frozenset(
    "part parts portion portions section sections clause clauses decision decisions point points option options half"
    " aspect aspects component components paragraph item items teil teile abschnitt punkt partie parte partes sezione"
    " deel punt część czesc punkt часть раздел del delen avsnitt část osa kısmı".split()
)
"""What a record is made of: “section 2 is superseded by ADR-9”."""
HYPOTHETIC = re.compile(
    r"(?i)\b(?:would|could|might|may|if|unless|whether|until|wenn|falls|würden?|könnten?|si|serait|pourrait"
    r"|remplacerait|zou(?:den)?|gdyby|jeśli|jeżeli|если|бы|якщо|skulle|hvis|dersom|jos|pokud|eğer|considered|rejected"
    r"|alternativ\w{0,5})\b|如果|若|假如|假设|可能|もし|場合|만약"
)
"""What follows is thought of, not stated."""
NEGATION = re.compile(
    r"(?i)\b(?:not|never|neither|nor|without|no|nothing|none|cannot|\w{2,6}n['’]t|nicht|kein\w{0,2}|ne|n['’]|pas"
    r"|aucune?"
    r"|n[ãa]o|nunca|ningun[oa]?|nessun[oa]?|non|niet|geen|nie|не|ні|ikke|inte|ej|ei|není|ne\w{1,4}uje|değil)\b"
    r"|[不未没無无非]|しない|せず|않|안\s"
)
RATHER = re.compile(
    r"(?i).*\b(?:sondern|vielmehr|sino(?: que)?|but(?: rather)?|maar|mais|ma|utan|lecz|но|а|men)\b|.*(?:而是|但)"
)
"""“Not this, but that”: what stands before is denied, what follows is said."""
REMARK = re.compile(
    r"(?i)[;]|\b(?:because|which|whose|while|but|as|see|under|per|from|with|by|alongside|unlike|than|introduced|via"
    r"|after"
    r"|before|so|since|where|when|weil|da|während|aber|siehe|mit|durch|nach|gemäß|laut|wie|als|car|mais|voir|avec|par"
    r"|selon|depuis|comme|porque|pero|ver|véase|con|por|según|desde|como|mas|com|segundo|conforme|perché|ma|vedi|per"
    r"|omdat"
    r"|maar|zie|met|door|volgens|ponieważ|ale|patrz|zob|przez|według|потому|но|см|согласно|eftersom|men|se|med|enligt"
    r"|fordi|ifølge|protože|ale|viz|podle)\b|[（；→]|\s[—–-]{1,2}\s"
)
"""Where a sentence turns to something else than what its verb acts on."""
PLAIN = re.compile(
    r"(?i)\b(?:the|an?|this|that|all|of|in|from|with|and|or|both|our|its|earlier|previous|prior|former|old|original"
    r"|later"
    r"|initial|existing|accepted|proposed|draft|entire|whole|now|also|fully|completely|entirely|decisions?|adrs?"
    r"|records?"
    r"|rfcs?|documents?|proposals?|status|recorded|made|taken|described|documented|outlined|links?|number|no|entirety"
    r"|two"
    r"|three|following|architectur(?:e|al)|approach|design|yes|here|it|them|once|refines|extends|amends|updates"
    r"|consolidates|and|und|der|die|das|den|dem|des|le|la|les|l|el|los|las|il|lo|gli|de|het|du|do|da|d"
    r"|entscheidung(?:en)?"
    r"|décisions?|decisi[oó]n(?:es)?|decisões|decisão|decisione|beslissing(?:en)?|besluit|decyzj[aęi]|решени[еяй]"
    r"|beslutning(?:en)?|beslut(?:et)?|alten?|frühere[ns]?|bisherigen?|vorherigen?|ancienne?s?|précédente?s?"
    r"|anterior(?:es)?"
    r"|antigu[oa]s?|anteriore|precedente|oude|eerdere|vorige|star[aey]|poprzedni[aąe]?|stare|прежн\w{2}|старое"
    r"|tidligere"
    r"|gamle|tidigare|gamla|puis|then|dann)\b"
    r"|\d{4}-\d\d-\d\d|\b[^\W_]{1,2}\b|[^\x00-\x7f]|\(\s*\)|[:,.()#/&*_|•\"'’—–-]"
)
"""What may stand between a verb and a record without making its object a part of that."""
FORMER = re.compile(
    r"(?i)\b(?:old|previous|former|earlier|prior|original|alte[ns]?|frühere[ns]?|bisherige[ns]?|ancienne?s?"
    r"|précédente?s?"
    r"|anterior(?:es)?|antigu[oa]s?|vecchi[oa]?|precedente|oude|vorige|poprzedni\w{0,2}|stary|stare|starą|прежн\w{2}"
    r"|gamle"
    r"|tidligere|gamla|tidigare)\b"
)
"""“The old grids (ADR-15)” are all of that record, not a part."""
ARTICLES = frozenset("the an a as an der die das le la el il o de het ten ta den det ett et en un une uma".split())
