"""What a prompt is answered with in a base that has many records: the one search ranks first, where it is about it."""

import pytest

from kb.context.give_hints import measure_prompt
from kb.context.relevance import is_question, score_figures
from kb.knowledge_base import KnowledgeBase
from kb.records.model import Record, Section
from kb.search.query import parse_query
from kb.text.segment import estimate_tokens

NOTES = {
    "en": """
        When are invoices sent? | Invoices leave on the first working day of the month, after the ledger is closed.
        Who may approve a refund? | A refund above 500 euros needs the signature of a team lead.
        Where do the nightly backups go? | Backups are copied to a bucket in another region and kept for 35 days.
        How long does a login session last? | A session ends thirty minutes after the last request.
        Which port does the metrics exporter use? | The exporter listens on 9464 inside the cluster only.
        What does the parcel tracker poll? | It asks the carrier every ten minutes until a parcel is delivered.
        How are currency rates rounded? | Rates are rounded half to even, at six decimals.
        Why is the search index rebuilt? | Synonyms are compiled into it, so a change of them needs a rebuild.
        Who owns the mobile release train? | The platform guild releases every second Thursday.
        How is personal data erased? | A job overwrites names and addresses within seven days of the request.
        What limits an upload? | Files above 25 megabytes are refused by the gateway.
        Which locale do reports fall back to? | British English, where a translation is missing.""",
    "zh": """
        发票什么时候开具？ | 每月第一个工作日结账之后统一开具发票。
        谁可以批准退款？ | 超过五百元的退款要组长签字。
        夜间备份放在哪里？ | 备份复制到另一个地域的存储桶，保留三十五天。
        登录会话多久失效？ | 最后一次请求之后三十分钟失效。
        指标导出用哪个端口？ | 导出器只在集群内监听九四六四端口。
        包裹跟踪多久轮询一次？ | 每十分钟向承运商查询一次，直到签收。
        汇率怎么取整？ | 汇率按六位小数银行家舍入。
        为什么要重建搜索索引？ | 同义词编译进索引，改了就要重建。
        移动端发版归谁管？ | 平台小组每隔一个周四发版。
        个人数据怎么删除？ | 收到申请七天之内由任务覆盖姓名和地址。
        上传有什么限制？ | 超过二十五兆的文件被网关拒绝。
        报表缺翻译时用什么语言？ | 用英式英语代替。""",
}


@pytest.fixture(params=["en", "zh"])
def language(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def answers(kb: KnowledgeBase, language: str) -> dict[str, str]:
    """Fill the base with notes of both languages; return answer by title of those in *language*."""
    rows = [tuple(map(str.strip, row.split(" | "))) for text in NOTES.values() for row in text.strip().splitlines()]
    kb.import_records(
        [
            Record(f"DN{n:03}", "domain-note", title, status="accepted", date="2026-01-01",
                   sections=(Section("decision", "Decision", f"{said} It was agreed in spring."),))
            for n, (title, said) in enumerate(rows, 1)
        ],
        origin="notes",
    )  # fmt: skip
    own = NOTES[language].strip().splitlines()
    return {title.strip(): said.strip() for title, said in (row.split(" | ") for row in own)}


ASKED = {
    "en": {
        "For how many days do we keep the nightly backups, and in which bucket?": "Where do the nightly backups go?",
        "how often does the parcel tracker ask the carrier?": "What does the parcel tracker poll?",
        "Extend the job that overwrites names and addresses of erased personal data": "How is personal data erased?",
    },
    "zh": {
        "夜间备份保留多少天，复制到哪个存储桶？": "夜间备份放在哪里？",
        "包裹没签收的时候多久向承运商查询一次？": "包裹跟踪多久轮询一次？",
        "汇率取整改成六位小数舍入": "汇率怎么取整？",
    },
}
UNRELATED = {
    "en": ("Rename the helper and run the linter again", "Why does this test fail on windows?", "thanks, go on"),
    "zh": ("把这个函数改个名字，再跑一遍检查", "这个测试为什么在本地是好的？", "好的，继续"),
}


def test_the_record_that_answers_is_told_with_its_first_sentence(
    kb: KnowledgeBase, answers: dict[str, str], language: str
) -> None:
    for prompt, title in ASKED[language].items():
        told = kb.answer_to_prompt(prompt)
        assert answers[title].rstrip(".。") in told, (prompt, told)
        assert estimate_tokens(answers[title]) <= 40


def test_a_prompt_about_something_else_is_told_nothing(
    kb: KnowledgeBase, answers: dict[str, str], language: str
) -> None:
    assert [kb.answer_to_prompt(prompt) for prompt in UNRELATED[language]] == ["", "", ""]


def test_a_long_answer_is_cut_at_forty_tokens(kb: KnowledgeBase, language: str) -> None:
    from kb.safety.quoting import quote_answer

    said = {
        "en": "The nightly job copies every table and every file that changed " * 9,
        "zh": "夜间任务复制每一张表" * 30,
    }
    record = Record("DN001", "domain-note", "x", sections=(Section("decision", "Decision", said[language]),))
    assert 20 < estimate_tokens(quote_answer(record)) <= 40


def fill(kb: KnowledgeBase, rows: list[tuple[str, str, str]]) -> None:
    """Import notes beside those of both languages: title, text and source of each."""
    notes = [tuple(map(str.strip, row.split(" | "))) for text in NOTES.values() for row in text.strip().splitlines()]
    kb.import_records(
        [
            Record(f"DN{n:03}", "domain-note", title, status="accepted", date="2026-01-01", sources=(source,),
                   sections=(Section("decision", "Decision", said),))
            for n, (title, said, source) in enumerate([*((*row, f"n{row[0]}") for row in notes), *rows], 1)
        ],
        origin="notes",
    )  # fmt: skip


def test_an_english_record_is_told_where_a_chinese_question_has_its_names(kb: KnowledgeBase) -> None:
    """What cannot stand in a record in another language says nothing against it; a command asks nothing."""
    fill(kb, [("Invoices are rendered with Typst", "We chose Typst over LibreOffice: it needs no display.", "a")])
    assert "Typst" in kb.answer_to_prompt("invoices 用什么生成？")
    assert "Typst" in kb.answer_to_prompt("生成账单为什么换成了 Typst，不再用 LibreOffice？")
    assert kb.answer_to_prompt("把账单模块里没人用的 helper 删掉，再整理一下 import") == ""
    assert kb.answer_to_prompt("把 invoices 目录里怎么也用不到的文件删掉") == ""


def test_records_of_one_source_do_not_hush_each_other(kb: KnowledgeBase) -> None:
    prompt = (
        "Customers report that webhooks arrive twice after the worker restarts. The queue holds deliveries that were "
        "already sent, the retry counter starts again at zero, and the dashboard shows both attempts as failed."
    )
    parts = [
        ("A webhook is delivered once", "A delivery that was sent is marked in the queue before the worker restarts."),
        ("The retry counter survives", "The retry counter of a webhook is kept in the queue when the worker restarts."),
    ]
    fill(kb, [(*part, "one session") for part in parts])
    assert "DN025" in kb.answer_to_prompt(prompt)


ENGLISH = [
    ("TLS ends at the load balancer", "Certificates live at the load balancer; no machine holds a private key.", "a"),
    ("Mock the network in unit tests", "Unit tests stub responses with a service worker and never patch fetch.", "b"),
]


def test_a_question_in_chinese_is_told_a_record_that_says_it_in_english(kb: KnowledgeBase) -> None:
    fill(kb, ENGLISH)
    assert "DN025" in kb.answer_to_prompt("证书是在负载均衡上卸载，还是放到每台机器上？")
    assert "DN026" in kb.answer_to_prompt("单元测试里需要模拟网络响应，有什么约定吗")


def test_what_chinese_words_mean_speaks_against_an_english_record_without_it(kb: KnowledgeBase) -> None:
    fill(kb, [("Logs of the collector", "The collector writes its logs to a volume of its own, rotated daily.", "a")])
    assert "DN025" in kb.answer_to_prompt("collector 的日志改成每小时轮转")
    assert kb.answer_to_prompt("给 collector 的页面加上分页和单元测试") == ""


def test_a_question_is_told_the_records_near_the_first_as_well(kb: KnowledgeBase) -> None:
    """Which of those on one subject answers, words often do not tell; a third of them is far off."""
    rows = [
        ("Webhook deliveries are signed", "A webhook delivery carries a signature made with the secret.", "a"),
        ("Webhook deliveries are retried", "A webhook delivery that fails is repeated with backoff.", "b"),
    ]
    fill(kb, rows)
    told = kb.answer_to_prompt("Is a webhook delivery tried again when the receiver fails, and by which rule?")
    assert "DN025" in told and "DN026" in told and told.count("> - [") == 2


@pytest.mark.parametrize(
    ("prompt", "asks"),
    [
        ("our service keeps its metadata in meta.yml, do we have to rename that", True),
        ("can i nudge the box by 4px with a class name", True),
        ("Rename the helper and run the linter again", False),
        ("Why does it round down? Fix it.", True),
        (f"Hey, {'I was reading the parser and saw how it falls back. ' * 4}Why is that?", False),
        ("token of a service client leaked in slack. what do i do to kill it", True),
        ("a workspace was moved. do the old links keep working and who has to set that up", True),
        ("in which folder do I put a new third-party plugin", True),
        ("move the build and publish steps into the release job", False),
        ("轮询间隔设的几秒", True),
        ("换了块主板，握手阶段就断，是咋回事", True),
        ("规则可以直接写在安全组里吗，这样文件少一点", True),
        ("客户问能不能实时推出库单给我们，现在是怎么对接的", True),
        ("更新文档要不要走评审", False),
        ("更新文档要不要走评审？", True),
        ("补一段如何部署的说明", False),
        ("给表格加上几个字段", False),
        ("后端测试跑得很慢，看看哪个最耗时", False),
        ("帮我查一下这个配置在哪", False),
    ],
)
def test_what_is_asked_is_told_from_what_is_to_be_done(prompt: str, asks: bool) -> None:
    assert is_question(parse_query(prompt)) is asks


def test_as_much_is_read_of_a_chinese_prompt_as_of_an_english_one(kb: KnowledgeBase) -> None:
    """A Chinese word is two terms: what a prompt is about may stand behind the sixteenth of them."""
    fill(kb, [("喂狗只在主循环里做", "看门狗不在定时中断里喂：中断还在跑，主循环可能早就卡死了。", "a")])
    prompt = "昨天夜里有两台设备莫名其妙地连续掉线，同事怀疑电源，先把喂狗挪到定时中断里，免得主循环卡死"
    assert "DN025" in kb.answer_to_prompt(prompt)


def test_a_question_in_other_words_is_answered_in_a_base_of_many_records(kb: KnowledgeBase) -> None:
    """Of what is asked in other words a record holds little, and of Chinese words half the terms are in no record."""
    other = [(f"Rack {n} stands in hall {n}", f"机柜{n}放在{n}号厅。", f"r{n}") for n in range(100, 220)]
    fill(kb, other)
    assert "每十分钟向承运商查询一次" in kb.answer_to_prompt("快递那边我们隔多久去问一次")


def test_of_a_question_words_that_any_task_has_count_less(kb: KnowledgeBase) -> None:
    fill(kb, [])
    plain = measure_prompt(kb, parse_query("Which port does the exporter use?"))
    wordy = measure_prompt(kb, parse_query("Which port could the exporter use, if we want to change something here?"))
    held = [measured.figures[0].held for measured in (plain, wordy) if measured.figures[0]]
    assert len(held) == 2 and held[1] > 0.65


def test_a_name_that_no_record_has_speaks_against_all_of_them(kb: KnowledgeBase) -> None:
    fill(kb, [])
    for asked, names in (
        ("备份保留多久", 0),
        ("备份用 STM32 的 ADC 保留多久", 2),
        ("How long do we keep backups?", 0),
        ("How long do we keep backups of the RX580 board?", 1),
    ):
        figures = measure_prompt(kb, parse_query(asked), is_asked=True).figures[0]
        assert figures and figures.unknown_names == names, asked
    figures = measure_prompt(kb, parse_query("备份保留多久"), is_asked=True).figures[0]
    assert figures
    with_name = figures._replace(unknown_names=1.0)
    assert score_figures(with_name, is_asked=True) < score_figures(figures, is_asked=True) - 1
