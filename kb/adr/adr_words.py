"""The words of foreign decision records: of statuses, sections and fields, in English, Chinese and other languages.

What is said in them is read by `adr_fields`, `adr_text` and `adr_outline`; a further language is a few words here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

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
    (Status.ACCEPTED, True, "decided|decision made|endorsed|enacted|in effect|in use|signed off|passed|carried"),
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
        "informative|informational|achieved|production|in production|live|supersedes|replaces|in place|executed"
        "|applied|enforced|realised|realized|delivered|rolled out|landed|merged|stable|standard|established"
        "|operational|chosen|selected|published|settled|locked|frozen|concluded|binding|mandatory|verified"
        "|validated|valid|granted|authorised|authorized|sanctioned|ready|recommended",
    ),
    (
        Status.ACCEPTED,
        False,
        "已签署|已审批|审批通过|已核定|正式|已启用|启用|在用|生效中|使用中|已执行|已合并|已交付|已确定|确定|已达成"
        "|同意|已同意",
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
    (
        Status.PROPOSED,
        False,
        "initial draft|initial proposal|first draft|early draft|working draft|candidate|stub|placeholder|prototype"
        "|spike|research|investigating|under investigation|evaluating|under evaluation|evaluation|assessing"
        "|brainstorming|thinking|waiting|awaiting|on ice|unresolved|last call|final comment period"
        "|in final comment period|needs decision|not started|not implemented|backlog|queued|deciding|in development"
        "|being implemented|pre-draft|trial|stagnant|seeking approval|unapproved|opened|pending approval"
        "|pending review|discussion|discussing|concept|exploring|request|proposing|drafting",
    ),
    (
        Status.PROPOSED,
        False,
        "待审|待决策|待拍板|起草中|拟议|拟采纳|初稿|待采纳|待批|提出|酝酿中|评估中|调研中|未批准|待处理",
    ),
    (Status.PROPOSED, False, "未决|待决|待讨论|待确认|待批准|审核中|征求意见|规划中|计划中|暂缓|搁置|推迟|延期"),
    (
        Status.PROPOSED,
        False,
        "暂停|已暂停|待审批|待审核|拟定|占位|进行中|实施中|实现中|开发中|待实现|待实施|待开发|未开始|未完成|未实现"
        "|未实施|计划",
    ),
    (Status.REJECTED, True, "rejected|reject|declined|已拒绝|拒绝|已否决|否决|不采纳|未采纳"),
    (Status.REJECTED, False, "not accepted|not approved|not adopted|dismissed|dropped|discarded|denied|未通过|不通过"),
    (
        Status.REJECTED,
        False,
        "won't do|won’t do|wont do|won't fix|wont fix|wontfix|not planned|no go|vetoed|refused|not pursued",
    ),
    (Status.REJECTED, False, "turned down|scrapped|failed|not chosen|驳回|已驳回|不接受|不采用|未获批准|不予采纳"),
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
        "historical|historic|legacy|inactive|stale|dead|end of life|eol|sunsetting|decommissioned",
    ),
    (
        Status.DEPRECATED,
        False,
        "phased out|deleted|out of date|unused|suspended|no longer accurate|no longer recommended",
    ),
    (Status.DEPRECATED, False, "淘汰|已淘汰|退役|已退役|归档|停止使用|不再使用|不再有效|历史"),
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
    (Status.SUPERSEDED, False, "displaced|merged into|folded into|absorbed by|absorbed into"),
    (Status.SUPERSEDED, False, "superseding by|updated by a later|updated by a newer|由新决策取代"),
    (Status.SUPERSEDED, True, "已被取代|被取代|已取代|已被替代|被替代|已替代|已被替换|被替换"),
)
"""The words of each status, and whether they say no more than it."""
_STATUS_WORDS_ABROAD = {
    Status.ACCEPTED: (
        "akzeptiert|angenommen|beschlossen|genehmigt|umgesetzt|entschieden|verabschiedet|freigegeben|bestätigt"
        "|in kraft|gültig|implementiert|accepté|adopté|approuvé|validé|en vigueur|accepte|acceptee|adopte|adoptee"
        "|approuve|approuvee|valide|validee|aceptado|aceptada|aprobado|aprobada|adoptado|adoptada|vigente|aceito"
        "|aceita|aceite|aprovado|aprovada|accettato|accettata|approvato|approvata|geaccepteerd|aangenomen"
        "|goedgekeurd|принят|утвержден|утверждён|одобрен|действует|zaakceptowano|zaakceptowany|przyjęt|zatwierdzono"
        "|zatwierdzony|承認|採用|採択|決定|確定|可決|実装済み|승인|채택|수락|확정|已採納|採納|已核准|核准|通過"
        "|已通過|已生效|implémenté|implémentée|implementado|implementada|implementato|déployé|appliqué|godkänd"
        "|accepterad|antagen|godkendt|vedtatt|akseptert|accepteret|přijato|schváleno|schválený|прийнято|затверджено"
        "|implementert|implementeret|implementerad|innført|indført|införd|gjennomført|gennemført|genomförd"
        "|besluttet|beslutad|beslutat|vedtaget|godkjent|antatt|antaget|antagna|gjeldende|gældende|gällande|gyldig"
        "|aktiv|i bruk|i brug|i kraft|ibrugtaget|tatt i bruk|tagen i bruk|ferdig|færdig|klar|fullført|fuldført"
        "|slutförd|toteutettu|päätetty|voimassa|otettu käyttöön|käytössä|valmis|samþykkt|erledigt|abgeschlossen"
        "|produktiv|mis en œuvre|mise en œuvre|mis en oeuvre|mise en oeuvre|terminé|terminée|réalisé|réalisée|livré"
        "|livrée|completado|completada|en vigor|implantado|implantada|concluído|concluída|em vigor|completato"
        "|completata|attuato|attuata|in vigore|geïmplementeerd|ingevoerd|uitgevoerd|afgerond|van kracht|actief"
        "|besloten|zaimplementowano|zaimplementowany|zaimplementowana|wdrożono|wdrożony|wdrożona|wdrożone|przyjęto"
        "|przyjęty|przyjęta|obowiązuje|obowiązujący|obowiązująca|реализован|внедрен|внедрён|выполнен|завершен"
        "|завершён|впроваджено|реалізовано|implementováno|完了|実施済み|導入済み|完成|已實作|已實施|已完成|완료"
        "|구현됨|구현 완료|kabul edildi|onaylandı|elfogadva|hyväksytty|đã chấp nhận|đã duyệt|diterima|disetujui"
        "|acceptat|acceptată|prihvaćeno|prihvaćen|odobreno|odobren|usvojeno|usvojen|sprejeto|прието|одобрено"
        "|прихваћено|усвојено|αποδεκτή|αποδεκτό|εγκρίθηκε|schválené|prijaté|platné|platný|kabul|yürürlükte|ratifié"
        "|ratifiée|tranché|tranchée|acté|actée|retenu|retenue|entérinée|en production|appliquée|ratificado"
        "|ratificada|decidido|decidida|acordado|acordada|en producción|ratificato|deciso|decisa|approvate"
        "|definitivo|definitiva|definitief|vastgesteld|bekrachtigd|festgelegt|vereinbart|ratifiziert|endgültig"
        "|bindend|gilt|ustalono|ustalone|ostateczna|решено|подтверждено|утверждено|принято|согласовано|активен"
        "|действующий|採択済|受理|受諾|受け入れ|受入|合意|有効|適用中|運用中|実装完了|確定済|正式|適用済み|決裁済"
        "|적용|시행|유효|합의|결정됨|확인됨|구현|採納中|已定案|定案|現行|生效中|已批准"
    ),
    Status.PROPOSED: (
        "vorgeschlagen|vorschlag|entwurf|in diskussion|zur diskussion|in prüfung|in bearbeitung|in arbeit|offen"
        "|ausstehend|in abstimmung|zur abstimmung|geplant|proposé|brouillon|propose|proposee|en discussion|en cours"
        "|en attente|propuesto|propuesta|borrador|en revisión|en discusión|pendiente|proposto|proposta|rascunho"
        "|em revisão|em discussão|pendente|bozza|in revisione|voorgesteld|voorstel|concept|предложен|черновик"
        "|на рассмотрении|на обсуждении|zaproponowano|propozycja|szkic|提案|検討中|審議中|レビュー|下書き|ドラフト"
        "|起案|未決定|決定待ち|承認待ち|採用検討中|제안|초안|검토|논의|승인 대기|提議|planlagt|planlægges|planerad"
        "|planeras|under arbeid|under arbejde|under arbete|under vurdering|til vurdering|under diskusjon"
        "|under diskussion|under behandling|under utredning|til diskusjon|til diskussion|pågår|pågående"
        "|igangværende|utsatt|udskudt|uppskjuten|på vent|avventer|afventer|avvaktar|åpen|åben|öppen|uavklart"
        "|uafklaret|suunniteltu|ehdotus|harkinnassa|kesken|keskeneräinen|työn alla|avoin|lykätty|tillaga|drög"
        "|zurückgestellt|vertagt|à faire|prévu|prévue|planifié|planifiée|reporté|reportée|en progreso|en curso"
        "|planificado|planificada|aplazado|planejado|planejada|em andamento|adiado|in corso|pianificato|pianificata"
        "|rinviato|gepland|in behandeling|in uitvoering|in bespreking|uitgesteld|planowany|planowana|planowane"
        "|w trakcie|w przygotowaniu|odłożony|odłożona|odłożone|в работе|в процессе|запланирован|отложен|заплановано"
        "|plánováno|進行中|対応中|実施中|保留|計画中|計劃中|規劃中|暫緩|진행 중|보류|계획|föreslagen|utkast"
        "|foreslået|foreslått|forslag|kladde|navrženo|návrh|запропоновано|чернетка|önerildi|taslak|javasolt"
        "|tervezet|ehdotettu|luonnos|đề xuất|bản nháp|diusulkan|propus|propusă|predloženo|predložen|nacrt"
        "|u razmatranju|predlog|osnutek|предложено|предлог|чернова|πρόταση|προτεινόμενη|πρόχειρο|navrhnuté"
        "|v diskuzi|k diskusi|ve schvalování|inceleniyor|beklemede|à valider|à l’étude|à l'étude|à discuter"
        "|en revue|en validation|en consultation|en estudio|por decidir|en evaluación|pendente de decisão|em estudo"
        "|em análise|a decidere|in valutazione|in discussione|in attesa|da decidere|da approvare|ter discussie"
        "|te bespreken|in beraad|open|zu entscheiden|zur entscheidung|in klärung|in vorbereitung|in evaluation"
        "|unentschieden|do decyzji|w dyskusji|do zatwierdzenia|обсуждается|рассматривается|ожидает|в обсуждении"
        "|не решено|検討|協議中|議論中|草案|草稿|原案|仮決定|未定|未承認|提案中|作成中|要検討|見直し中|確認中"
        "|未確定|검토 중|작성 중|미정|미승인|대기|진행중|논의 중|待審|審核中|討論中|擬議|草擬|待決|研議中|未定案"
    ),
    Status.REJECTED: (
        "abgelehnt|verworfen|zurückgezogen|zurückgewiesen|rejeté|rejete|rejetee|refuse|refusee|refusé|rechazado"
        "|rechazada|descartado|descartada|rejeitado|rejeitada|recusado|recusada|rifiutato|rifiutata|respinto"
        "|respinta|afgewezen|verworpen|отклон|отвергнут|odrzucono|odrzucony|却下|不採用|否決|棄却|取り下げ|거절"
        "|avslått|afslået|avslag|avslagen|forkastad|tilbagetrukket|trukket|tillbakadragen|droppet|droppad|nedlagt"
        "|peruttu|peruutettu|hafnað|ikke vedtatt|ikke vedtaget|ikke godkjent|ikke godkendt|abandonné|abandonnée"
        "|ingetrokken|отозван|거부|기각|반려|已拒絕|拒絕|avvisad|förkastad|afvist|avvist|forkastet|zamítnuto"
        "|odmítnuto|відхилено|reddedildi|elutasítva|hylätty|từ chối|ditolak|respins|respinsă|odbijeno|odbijen"
        "|odbačeno|zavrnjeno|отхвърлено|одбијено|απορρίφθηκε|odmietnuté|zamietnuté|iptal edildi|écarté|écartée"
        "|annulé|annulée|non retenu|non retenue|non acceptée|denegado|denegada|no aceptado|no aprobada|cancelado"
        "|cancelada|não aceito|não aprovada|retirado|retirada|scartato|scartata|annullato|annullata|ritirato"
        "|non approvata|geannuleerd|niet akkoord|nicht angenommen|nicht akzeptiert|nicht genehmigt|gestrichen"
        "|anulowano|отменено|отказано|не принято|拒否|不承認|非承認|見送り|撤回|取下げ|中止|不採択|취소|철회|불채택"
        "|駁回|已駁回|不採納|取消"
    ),
    Status.DEPRECATED: (
        "veraltet|hinfällig|ungültig|aufgehoben|obsolet|verlegt|überholt|außer kraft|nicht mehr gültig|abgekündigt"
        "|eingestellt|déprécié|obsolète|obsoleto|obsoleta|deprecado|deprecada|en desuso|deprecato|deprecata"
        "|verouderd|vervallen|устарел|отменен|отменён|przestarzał|wycofano|wycofany|非推奨|廃止|廃案|無効|폐기"
        "|foreldet|utfaset|udfaset|avviklet|afviklet|avvecklad|opphevet|ophævet|upphävd|utgått|utgået|ugyldig"
        "|ogiltig|inaktuell|ikke lenger gyldig|ikke lenger gjeldende|ikke længere gældende|inte längre giltig"
        "|kumottu|poistettu käytöstä|ei enää voimassa|úrelt|nieaktualny|nieaktualna|nieaktualne|przestarzały"
        "|przestarzała|przestarzałe|wycofana|niet meer geldig|niet langer van kracht|недействителен"
        "|больше не действует|사용 중단|已棄用|已廢棄|廢棄|föråldrad|utfasad|forældet|utdatert|zastaralé|застаріло"
        "|kullanımdan kaldırıldı|elavult|vanhentunut|lỗi thời|usang|zastarjelo|zastarelo|ukinuto|opuščeno|остаряло"
        "|застарело|παρωχημένη|zastarané|zrušeno|zrušené|yürürlükten kalktı|caduc|caduque|périmé|périmée|abrogé"
        "|abrogée|archivé|archivée|plus en vigueur|derogado|derogada|archivado|archivada|no vigente|descontinuado"
        "|descontinuada|revogado|revogada|arquivado|arquivada|superato|abrogata|abrogato|archiviato|archiviata"
        "|ritirata|buiten gebruik|gearchiveerd|außer betrieb|stillgelegt|archiviert|zurückgenommen|zarchiwizowano"
        "|uchylono|uchylona|архив|архивирован|неактуален|неактуально|не актуально|失効|陳腐化|運用終了|만료|비추천"
        "|더 이상 사용|사용 중지|已失效|失效|已停用|停用|過時|已過時|作廢|已作廢|淘汰|已淘汰"
    ),
    Status.SUPERSEDED: (
        "ersetzt|abgelöst|remplacé|supplanté|remplace|remplacee|reemplazado|reemplazada|sustituido|sustituida"
        "|substituído|substituída|sostituito|sostituita|vervangen|заменен|заменён|zastąpion|置き換え|置換|差し替え"
        "|avløst|afløst|avlöst|leyst af hólmi|supersédé|supersédée|zastąpiony|zastąpiona|zastąpione|zastąpiono|대체"
        "|ersatt|erstattet|nahrazeno|nahrazen|замінено|korvattu|felváltva|yerine geçildi|thay thế|digantikan"
        "|supersedida|supersedido|suplantada|suplantado|înlocuit|înlocuită|zamijenjeno|zamijenjen|zamenjeno"
        "|nadomeščeno|заменено|заменето|замењено|αντικαταστάθηκε|nahradené|zastúpené|değiştirildi|rimpiazzato"
        "|rimpiazzata|superata da|opgevolgd door|aufgegangen in|überholt durch|代替済み|上書き|後継あり|대체됨|교체"
        "|已被取代|被取代|已取代|已被替代|被替代"
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
        for form in dict.fromkeys((re.sub(r"(?<=[a-z])-(?=[a-z])", " ", word), fold_latin(word)))
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
    "|contexto e declaração do problema|コンテキストと問題の記述|コンテキストと課題|контекст и проблема|bakgrunn"
    "|baggrund|bakgrund|konteksti|tausta|problemstilling|problembeskrivelse|aanleiding|コンテキスト|状況|経緯|課題"
    "|背景と課題|맥락|배경|контекст|kontekst|問題陳述",
    "decision": "entscheidung|beschluss|entscheidungsergebnis|décision|decisión|decisão|decisione|beslissing"
    "|besluit|ergebnis der entscheidung|résultat de la décision|resultado de la decisión|resultado da decisão"
    "|beslutning|beslut|vedtak|päätös|決定結果|決定の結果|決定|決定事項|決定内容|결정|결정 사항|решение|decyzja"
    "|決策",
    "alternatives": "alternativen|betrachtete alternativen|erwogene alternativen|betrachtete optionen|alternativas"
    "|optionen|options considérées|alternatives considérées|opciones|opções|検討した案|検討事項|検討した代替手段"
    "|options envisagées|alternatives envisagées|alternativas consideradas|opciones consideradas"
    "|opções consideradas|代替案|検討した選択肢|検討した代替案|대안|고려한 대안|替代方案|alternativer|alternativ"
    "|vurderte alternativer|overvejede alternativer|övervägda alternativ|vaihtoehdot|alternatieven"
    "|overwogen alternatieven|overwogen opties|alternatywy|rozważane alternatywy|альтернативы"
    "|рассмотренные варианты",
    "why": "begründung|justificación|justificativa|motivazione|begrunnelse|begrundelse|perustelut|onderbouwing|理由"
    "|根拠|決定理由|근거|이유|обоснование|uzasadnienie",
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
        "|endringslogg|ændringslog|ändringslogg|muutoshistoria|wijzigingen|geschiedenis|historia zmian"
        "|история изменений|状态历史|状态变更|变更记录|修订历史|修订记录|变更历史|更新日志|变更日志|更新记录"
        "|修改记录|版本历史|変更履歴|改訂履歴|更新履歴"
    ).split("|")
)
"""What a section that lists the changes of a file is called."""

_FIELD_NAMES = {
    "status": "status|状态|当前状态|狀態|adr status|decision status|statut|estado|stato|ステータス|状態|상태|статус"
    "|état|tila|stav|durum|current status|record status|status of decision|lifecycle|lifecycle status"
    "|decision state|adr state|entscheidungsstatus|etat|estatus|situação|stan|állapot|stadiu|stare|κατάσταση"
    "|trạng thái|статус решения|статус adr|стан|tilstand|決定ステータス|決定状況|현재 상태|결정 상태|진행 상태"
    "|决策状态|记录状态|文档状态|決策狀態|目前狀態",
    "date": "date|日期|决策日期|decision date|date accepted|date decided|datum|日付|dato|dátum|data decyzji"
    "|fecha de decisión|date de décision|決策日期|決定日付|결정일|дата решения|tarih|päivämäärä|päiväys"
    "|beslutningsdato|beslutsdatum|date of the decision|date of decision|adr date|record date",
    "day": "时间|introduced|introduced on|beschlossen|beschlossen am|angenommen am|entscheidungsdatum|fecha|data"
    "|決定日|날짜|дата|决定日期|date closed|作成日時|originally accepted|originally decided|effective"
    "|effective date|effective from|in force since|in effect since|valid from|since|beschlussdatum"
    "|entschieden am|freigegeben am|genehmigt am|verabschiedet am|datum der entscheidung|gültig ab"
    "|date de la décision|décidé le|adopté le|accepté le|approuvé le|validé le|date d'acceptation"
    "|date d'adoption|date d’acceptation|date d’adoption|fecha de aprobación|fecha de aceptación|decidido"
    "|decidido el|aprobado el|aceptado el|fecha de la decisión|fecha decisión|data da decisão|data de decisão"
    "|data de aprovação|data de aceitação|decidido em|aprovado em|aceito em|data decisione|data della decisione"
    "|deciso il|approvato il|accettato il|data di approvazione|beslisdatum|datum besluit|besluitdatum"
    "|besloten op|goedgekeurd op|data podjęcia decyzji|data akceptacji|przyjęto|zaakceptowano|zatwierdzono"
    "|data zatwierdzenia|дата принятия|дата принятия решения|принято|утверждено|дата утверждения|дата рішення"
    "|прийнято|datum rozhodnutí|přijato|schváleno|beslutat|beslutsdag|besluttet|vedtatt|vedtatt dato"
    "|dato for beslutning|godkendt|godkjent|antagen|beslutningsdato|päätöspäivä|hyväksytty|pvm|döntés dátuma"
    "|elfogadva|karar tarihi|kabul tarihi|dată|data deciziei|data acceptării|ημερομηνία|決定日時|承認日|採択日"
    "|制定日|策定日|確定日|일자|일시|결정 일자|결정 날짜|결정일자|승인일|채택일|决定时间|决策时间|批准日期"
    "|批准时间|通过日期|采纳日期|生效日期|决议日期|確認日期|決定日期|核准日期|時間|決策時間|通過日期",
    "created": "timestamp|datetime|date time|time|revdate|pubdate|originally proposed|initial date|original date"
    "|date of submission|erstellt|erstellt am|erstellungsdatum|angelegt am|vorgeschlagen am|创建日期|創建日期"
    "|作成日|fecha de creación|création|créé le|date de création|proposé le|rédigé le|creado|creado el"
    "|fecha creación|propuesto el|criado|criado em|criada em|proposto em|作成|data de criação|data utworzenia"
    "|data powstania|utworzono dnia|дата создания|создано|создан|предложено|дата створення|створено|创建时间"
    "|提出日期|提出时间|起草日期|撰写日期|编写日期|编写时间|记录日期|立项日期|发布日期|建立日期|建立時間"
    "|創建時間|撰寫日期|작성일|작성 일자|작성일자|작성 날짜|생성일|등록일|creato il|proposto il"
    "|data di creazione|data creazione|opprettet|oprettet|opprettet dato|oprettet den|skapad|skapad den|skapat"
    "|luotu|utworzono|aangemaakt|aangemaakt op|voorgesteld op|vytvořeno|datum vytvoření|létrehozva"
    "|oluşturulma tarihi|oluşturuldu|creat|起票日|記録日|作成日付|登録日|提案日|起案日",
    "updated": "lastmod|last mod|stand|更新日期|aktualisiert|aktualisiert am|zuletzt aktualisiert|zuletzt geändert"
    "|letzte änderung|geändert am|dernière mise à jour|mis à jour|mis à jour le|modifié le|date de mise à jour"
    "|dernière modification|actualizado|actualizado el|última actualización|última modificación"
    "|fecha de actualización|última atualização|atualizado em|data de atualização|última revisão|更新日"
    "|最終更新|最終更新日|更新日時|改訂日|最后更新|最后更新时间|最近更新|最后修改|最后修改时间|修订日期"
    "|修改日期|修改时间|更新时间|更新時間|最後更新|修訂日期|обновлено|дата обновления|последнее обновление"
    "|изменено|оновлено|oppdatert|sist oppdatert|sist endret|opdateret|sidst opdateret|senest ændret|uppdaterad"
    "|senast uppdaterad|senast ändrad|päivitetty|viimeksi päivitetty|muokattu|bijgewerkt|bijgewerkt op"
    "|laatst bijgewerkt|laatst gewijzigd|laatste wijziging|zaktualizowano|zmodyfikowano|ostatnia aktualizacja"
    "|ostatnia zmiana|data aktualizacji|ultimo aggiornamento|aggiornato il|ultima modifica|aktualizováno"
    "|poslední změna|frissítve|módosítva|güncelleme tarihi|güncellendi|actualizat|수정일|최종 수정일|최종 수정"
    "|업데이트|갱신일",
    "tags": "tags|标签",
    "deciders": "deciders|decision-makers|decision makers|决策者|决策人|entscheider|決定者|entscheidungsträger"
    "|décideurs|결정자",
    "author": "author|authors|author(s)|作者|autor|autoren|auteur|作成者|著者|작성자",
}
_EVENTS = {
    "day": (
        "accepted approved decided adopted agreed ratified resolved finalized finalised enacted",
        "acceptance approval decision adoption ratification resolution agreement",
    ),
    "created": (
        "created proposed drafted opened submitted issued raised recorded authored written published started"
        " initiated filed logged",
        "creation proposal draft submission issue record publication start opening",
    ),
    "updated": ("updated modified revised edited changed", "update modification revision edit change"),
}
"""What happens to a record, as participles and as nouns: “Approved on”, “Date approved”, “approval date”."""


def _list_event_names(done: str, noun: str) -> Iterator[str]:
    """Yield what a field for the day of an event may be called in English."""
    for word in done.split():
        yield from (word, f"{word} on", f"{word} at", f"{word} date", f"date {word}", f"{word} time", f"last {word}")
        yield from (f"first {word}", f"initially {word}", f"last {word} on", f"last {word} at", f"last {word} date")
    for word in noun.split():
        yield from (f"{word} date", f"date of {word}", f"{word} time", f"{word} timestamp", f"{word} day")
        yield from (f"last {word}", f"last {word} date", f"date of last {word}")


FIELD_BY_WORD = {name: field for field, words in _EVENTS.items() for name in _list_event_names(*words)} | {
    word: field for field, words in _FIELD_NAMES.items() for word in words.split("|")
}
"""The field by its name in lower case, with spaces between its words."""

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
    "october|oct|oktober|okt|octobre|octubre|outubro|out|ottobre|października|październik|октября|октябрь|října"
    "|ekim|lokakuuta",
    "november|nov|novembre|noviembre|novembro|listopada|listopad|ноября|ноябрь|kasım|marraskuuta",
    "december|dec|dezember|dez|décembre|déc|decembre|diciembre|dic|dezembro|dicembre|desember|grudnia|grudzień"
    "|декабря|декабрь|prosince|aralık|joulukuuta",
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
