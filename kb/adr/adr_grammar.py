"""The words around a verb with which a decision record speaks of others: subjects, auxiliaries, parts, negations.

The verbs themselves are in `adr_verbs`, and `adr_clauses` reads sentences with both; a further language is a few words
in either.
"""

from __future__ import annotations

import re

from kb.adr.adr_verbs import PART_WORDS

SELF_WORDS = frozenset(
    "this it we here present current dies diese dieser dieses diesem diesen wir hier vorliegende vorliegender ce cet"
    " cette ceci cela nous este esta esto esse essa isto isso nosotros nós questo questa quest presente dit deze we"
    " wij ten niniejszy niniejsza это этот эта данное данный данная настоящее настоящий мы ця це цей denne dette"
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
    r"|fordi|ifølge|protože|ale|viz|podle)\b(?!-\w)|[（；→]|\s[—–-]{1,2}\s"
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


# -- between a verb and the records it speaks of ---------------------------------------------------

OF = re.compile(
    r"(?i)\b(?:of|in|from|d[eou]s?|d['’]|(?:de|ne|su)l(?:la|lo|l['’])?|dal?|vo[nm]|der|des|aus|im|van|uit|ze?|w|fra|från|av|af"
    r"|из|от|в"
    r"|asks|makes|per)\s{0,3}(?:(?:the|la|le|el|il|den|dem|der|l['’])\s{0,3})?\Z|['’]\Z"
)
"""What joins a part and the record it is of: “Vervangt het UI-deel van ADR-1”."""
IN_PART = re.compile(
    rf"(?i)\b(?:{PART_WORDS}|some (?:aspects|parts)|only"
    r"|nur|lediglich|uniquement|seulement|solo|soltanto|solamente|só|somente|apenas|alleen|slechts|enkel|tylko|jedynie"
    r"|endast|bara|kun|vain|pouze|только|лише|one clause)\b|部分|只"
    rf"|仅"
)
PART_BEHIND = re.compile(
    r"['’]s\b|\s{1,9}(?:in part|teilweise|delvis|deels)\b|\s{1,9}on th(?:is|at|ese) (?:point|clause)s?\b"
    r"|[,:]?\s{1,9}(?:decision )?(?:section|clause|point|amendment|option|rule|decision|component)s? \d"
    r"|,?\s{0,9}\(?(?:§\s{0,9}|decisions? |D)\d|\s?[(（][^()（）\n]{0,80}\b(?:only|nur|partly|teilweise)\b"
    r"|\s[^.;()\[\]\n]{1,60}\bonly\b|[\s\u4e00-\u9fff]{0,12}部分|\s?[^。；，\x00]{1,60}的部分|[\s]?(?:中|里|中关于|关于)?的(?!决策|决定|方案"
    r"|全部)",
    re.IGNORECASE,
)
"""Behind a record: what the verb acts on is a part of it."""
OBJECT_BEHIND = re.compile(
    r"\s(?!(?:and|or|as|to|in|is|was|for|with|by|und|et|y|e|on|because|once|when|which|so)\b)[a-z]{3,}"
)
"""With “the” before a record: “supersedes the ADR-44 per-role tools” speaks of the tools."""
ASIDE = re.compile(r"\s?\((?:[^()]|\([^()]*\))*\)|（[^（）]*）")
SECTION = re.compile(
    r"(?i)\s?(?:§{1,3}\s?[\d.]+|\bD\d{1,2}\b|第[^节条章\[\]]{1,20}[节条章])"
    r"|[,]?\s(?:decisi(?:on|ón|ones)s?|secti(?:on|ons)|secci(?:ón|ones)|abschnitte?|punkte?|points?|clauses?|pkt\.?"
    r"|пункты?)"
    r"\s[\d.]{1,9}(?:\s(?:y|und|and|et|i|и)\s[\d.]{1,9})?"
)
BESIDE = re.compile(
    r"[\s*_]{0,4}(?:(?:[,，、;；/&+]|and|und|et|y|e|en|i|и|och|og|と|및|和|与|及|以及|ve|sowie|as well as|plus"
    r"|(?:and )?(?:later|then)(?: also)?(?: by)?|(?:et |puis ){1,2}(?:par )?(?:l['’])?)[\s*_]{0,4}){1,3}(?:by |par "
    r"|durch |the |l['’]){0,2}",
    re.IGNORECASE,
)
"""Between two records that one verb speaks of."""
_DAY = r"\(?（?\d{4}-\d\d-\d\d\)?）?,?"
BY = re.compile(
    rf"[\s:,;.(—–*_-]{{0,5}}(?:(?:{PART_WORDS}|jointly|together|entirely|fully|wholly|completely|later|largely|then"
    rf"|now|first"
    rf"|(?:on |as of |since |in |am |le |el |em |op |den )?{_DAY})[\s:,*_-]{{1,4}}){{0,3}}"
    r"(?P<for>(?:for|as|to|in|for|à|a|para|für|pour|auf|um|na|till|til|op)\s[^.;:\[\]\x00]{1,60}?\s)?"
    r"(?:(?:by|durch|von|vom|par|por|pel[oa]s?|da|dal(?:la|l['’])?|door|przez|av|af|de către|oleh|bởi|into|in|"
    r"in favou?r of|zugunsten von|au profit de|en faveur de|a favor de|przez)(?!\w)(?:\s?l['’])?)",
    re.IGNORECASE,
)
BY_ENGLISH = re.compile(r"\s+by\b", re.IGNORECASE)
SEE = re.compile(
    rf"(?:[\s:]{{0,2}}[(（]?{_DAY}[)）]?)?\s{{0,4}}(?:→|⟶|➜|->|=>|⟵|←)\s?"
    r"|[\s,;:.(（—–-]{1,6}(?:please )?(?:see|siehe|voir|ver|véase|zie|zob\.?|patrz|см\.?|se|viz|見|见|参见)(?:"
    r" also)?\b[:\s]{0,3}"
    rf"|\s{{1,4}}(?:with|when|in|after|per|under|nach|mit)\s{{1,4}}(?=\x00)"
    rf"|[\s,]{{1,3}}{_DAY}\s{{1,3}}[(（—–:-]\s?(?=\x00)"
    rf"|[\s(（]{{1,3}}{_DAY}[\s(（,;:—–-]{{1,3}}(?=\x00)",
    re.IGNORECASE,
)
"""What leads to a successor without “by”: “Superseded → ADR-9”, “Amended 2024-03-05 (ADR-9)”."""
BY_SELF_BEFORE = re.compile(
    r"(?i)\b(?:durch|von|by|par|por|door|przez|av|af)\s(?:dies\w{1,2}|this|cette?|est[ae]|deze|dit|tę|ten|denne|dette"
    r"|denna)"
    r"(?:\s\w{1,20})?\s\Z"
)
"""“… ist durch dieses ADR ersetzt”."""
HEREBY = re.compile(r"(?i)\b(?:hereby|herewith|thereby|hiermit|hierdurch|par la présente|härmed|herved|hermed)\s")
BY_SELF = re.compile(
    r"[*_]{0,2}\s{1,3}(?:(?:by|durch|von|par|por|pel[oa]|da|door|przez|av|af)\s(?:the |le |la |el )?"
    r"(?:this|present|dies\w{0,3}|cet?(?:te)?|est[ae]|quest[ao]|deze|dit|t[ęe]n?|denne|dette|denna|detta|tímto"
    r"|th[ae]t)\b"
    r"|here\b|hereby\b|herein\b|with this\b|hiermit\b|damit\b|ci-après\b|ici\b|aquí\b|hier\b|tutaj\b|här\b|her\b)"
)
