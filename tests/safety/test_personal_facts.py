"""What a person says about themselves is proposed to them and is not written where others read it."""

import os
import subprocess
from pathlib import Path

import pytest

from kb.capture.proposals import land_personal, list_pending, propose_at_turn_end
from kb.context.give_hints import build_start_context
from kb.knowledge_base import KnowledgeBase, make
from kb.records.model import Candidate, Verdict
from kb.safety.personal_facts import (
    can_be_personal_fact,
    has_self_description,
    is_personal,
    is_personal_fact,
    read_profile_claims,
    remove_personal,
)
from kb.safety.redaction import is_private, mask_private_remarks
from kb.state.session_log import SessionLog
from tests.capture.test_declined_proposals import Session, wait
from tests.support.command_line import run
from tests.support.sealed import DATA
from tests.support.talk import said
from tests.support.timing import within

ROWS = [row.split("\t") for row in (DATA / "personal.tsv").read_text("utf-8").splitlines()]
FACTS = ["记住：我叫李雷，负责支付后端。", "Remember that my name is Lin and I am a Python developer.",
         "以后记得我戴助听器，说话大声点。", "From now on remember that I wear a hearing aid."]  # fmt: skip
DOUBTFUL = [
    "以后工单我来分。",
    "From now on I write the weekly report.",
]
WISHES = ["以后所有金额一律用整数分，不用浮点数。", "From now on amounts must be in integer cents everywhere."]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("about", ["1", "0"])
def test_facts_about_a_person_are_told_from_wishes(language: str, about: str) -> None:
    texts = [text for lang, label, text in ROWS if (lang, label) == (language, about)]
    right = [text for text in texts if has_self_description(text) == (about == "1")]
    assert len(texts) >= 60 and len(right) / len(texts) >= 0.9
    assert about == "1" or [text for text in texts if is_personal(text)] == []


@pytest.fixture
def session(root: Path, tmp_path: Path) -> Session:
    return Session(root, tmp_path / "t.jsonl")


def published(root: Path) -> str:
    """Return all that anybody who fetches the repository gets."""
    done = subprocess.run(["git", "log", "--all", "-p"], cwd=root, capture_output=True, text=True, check=True)
    return done.stdout


@pytest.mark.parametrize("fact", [*FACTS, *DOUBTFUL])
@pytest.mark.parametrize("at_once", [True, False])
def test_a_fact_is_proposed_and_not_published(session: Session, fact: str, at_once: bool) -> None:
    if at_once:
        wait(session.root)
    session.say(fact)
    shown = session.stop()
    assert "about you" in shown and session.records() == []
    wait(session.root)
    session.say("What is next?")
    session.stop()
    session.event("PreCompact", transcript_path=str(session.path))
    session.end()
    assert session.records() == []
    assert fact[-12:-1] not in published(session.root)


@pytest.mark.parametrize("fact", FACTS)
def test_yes_keeps_what_is_certain_in_the_clone(session: Session, fact: str) -> None:
    session.say(fact)
    session.stop()
    context, message = session.say("mb:write")
    assert "others read this knowledge base" in message and context == message
    assert session.records() == [] and session.statuses() == ["pending"]


@pytest.mark.parametrize("fact", DOUBTFUL)
def test_yes_writes_what_is_not_certain(session: Session, fact: str) -> None:
    session.say(fact)
    session.stop()
    session.say("mb:write")
    assert len(session.records()) == 1


@pytest.mark.parametrize("wish", WISHES)
def test_a_wish_about_the_work_is_written_as_ever(session: Session, wish: str) -> None:
    wait(session.root)
    session.say(wish)
    assert "about you" not in session.stop()
    assert len(session.records()) == 1


def own(root: Path, home: Path) -> KnowledgeBase:
    return KnowledgeBase(str(root), {**os.environ, "HOME": str(home)})


def test_the_users_own_base_keeps_it(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".kb").symlink_to(root)
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "go on") + said("user", FACTS[1]))
    with own(root, home) as kb:
        kb.save_session(str(path), session="s1", archive=False)
        assert [record.title for record in kb.records()] == ["My name is Lin and I am a Python developer"]


def test_the_users_own_base_with_a_remote_does_not(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".kb").symlink_to(root)
    subprocess.run(["git", "remote", "add", "origin", str(tmp_path / "team.git")], cwd=root, check=True)
    path = tmp_path / "t.jsonl"
    path.write_text(said("user", "go on") + said("user", FACTS[1]))
    with own(root, home) as kb:
        kb.save_session(str(path), session="s1", archive=False)
        assert kb.records() == []


def test_an_agent_hands_none_in_and_a_person_may(kb: KnowledgeBase) -> None:
    fact = Candidate("preference", "The developer introduced himself", decision="My name is Lin and I live in Oslo.")
    [verdict] = kb.write([fact._replace(session="s1", host="claude")])
    assert verdict.verdict == "refused" and "person" in verdict.reasons[0] and "~/.kb" in verdict.next
    [verdict] = kb.write([fact])
    assert verdict.verdict == "created"


def test_another_kind_may_say_i(kb: KnowledgeBase) -> None:
    [verdict] = kb.write([
        Candidate("decision", "Maintainers sign their releases", session="s1", reusable=True,
                  decision="Releases are signed. I am the maintainer of the key and I live in another time zone.")
    ])  # fmt: skip
    assert verdict.verdict == "created"


def test_a_document_costs_no_time() -> None:
    with within(6):
        for text in ("我" * 1_000_000, "i am a b " * 100_000, ". " * 500_000):
            is_personal_fact(Candidate("preference", "x", decision=text))
            can_be_personal_fact(Candidate("preference", "x", decision=text))


@pytest.mark.parametrize(
    ("said", "masked"),
    [
        ("Raise the log level. I have to see the doctor at four.", "Raise the log level. [redacted:personal]"),
        ("把日志调成 WARN。我下午要去医院体检，尽快弄完", "把日志调成 WARN。[redacted:personal]"),
        ("Pin Redis 7.2. Ann may leave at the end of the year.", "Pin Redis 7.2. [redacted:personal]"),
        ("send it to Gartenstr. 9, please", "send it to [redacted:personal], please"),
        ("My salary is late again", "[redacted:personal]"),
        ("Celery may leave tasks behind", "Celery may leave tasks behind"),
        ("I think the mortgage rate is rounded twice", "I think the mortgage rate is rounded twice"),
        ("工资模块今年要重构", "工资模块今年要重构"),
        ("我们的系统要支持住院结算", "我们的系统要支持住院结算"),
    ],
)
def test_what_is_said_of_ones_life_stays_out_of_archives(said: str, masked: str) -> None:
    assert mask_private_remarks(said) == masked


# -- whose it is: the person's own base beside a team's ----------------------------------------------

OURS = ["Call me Jo", "Answer me in German from now on, please.", "I use fish, not bash", "我在成都办公",
        "回答别那么啰嗦，直接上结论", "以后跟我说话用中文就行"]  # fmt: skip
THEIRS = ["Error messages are in English everywhere, always.", "以后提交信息一律用英文写。", "From now on use tabs."]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a home with a base of the person's own."""
    home = tmp_path / "home"
    make(str(home / ".kb"), {**os.environ, "HOME": str(home)})
    return home


def save(root: Path, home: Path, tmp_path: Path, *texts: str, session: str = "s1") -> list[Verdict]:
    path = tmp_path / f"{session}.jsonl"
    path.write_text("".join(said("user", text) for text in ("fix the loader", *texts)))
    with own(root, home) as kb:
        return list(kb.save_session(str(path), session=session, folder=str(root)).verdicts)


def mine(home: Path) -> dict[str, str]:
    with KnowledgeBase(str(home / ".kb"), {**os.environ, "HOME": str(home)}) as kb:
        return {record.title: record.status for record in kb.records()}


@pytest.mark.parametrize("word", OURS)
def test_a_persons_word_goes_into_their_own_base(root: Path, home: Path, tmp_path: Path, word: str) -> None:
    [verdict] = save(root, home, tmp_path, word)
    assert verdict.verdict == "created" and verdict.id == "me:U001" and Path(verdict.path).is_relative_to(home)
    assert list(mine(home)) == [word.rstrip("。.")]
    assert word[-6:-1] not in published(root)


@pytest.mark.parametrize("word", THEIRS)
def test_a_word_about_the_work_stays_with_the_team(root: Path, home: Path, tmp_path: Path, word: str) -> None:
    save(root, home, tmp_path, word)
    assert mine(home) == {} and not is_personal(word)


def test_a_newer_word_on_the_same_trait_replaces_the_older(root: Path, home: Path, tmp_path: Path) -> None:
    save(root, home, tmp_path, "Call me Jo", "I use fish, not bash")
    [verdict] = save(root, home, tmp_path, "Call me Joanna", session="s2")
    assert verdict.verdict == "created" and not verdict.branch
    assert mine(home) == {"Call me Jo": "superseded", "I use fish, not bash": "accepted", "Call me Joanna": "accepted"}


def test_without_a_base_of_their_own_nothing_is_lost(root: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    assert save(root, home, tmp_path, "Call me Jo") == []
    with own(root, home) as kb:
        [proposal] = list_pending(kb)
        assert "kb init --user" in propose_at_turn_end(kb, SessionLog(kb, "s1"), str(root), "claude", [])
        make(str(home / ".kb"), kb.environment)
        [verdict] = land_personal(kb)
        assert verdict.verdict == "created" and list_pending(kb) == []
    assert mine(home) == {"Call me Jo": "accepted"} and proposal.candidate.title not in published(root)


def test_it_is_told_at_the_start_and_where_it_is_asked_for(root: Path, home: Path, tmp_path: Path) -> None:
    save(root, home, tmp_path, "Call me Jo", "I use fish, not bash")
    with own(root, home) as kb:
        assert "[me:U001] Call me Jo" in build_start_context(kb, "s9", source="startup")
        assert "[me:U001]" in kb.answer_to_prompt("who am I?") and "[me:U001]" in kb.answer_to_prompt("我叫什么名字？")
        assert kb.answer_to_prompt("which branch am I on?") == ""
        assert [answer.record.id for answer in kb.recall("who am I")] == ["me:U002", "me:U001"]
        assert [answer.record.id for answer in kb.recall("which shell do I prefer, fish or bash?")][:1] == ["me:U002"]
    with KnowledgeBase(str(root), {**os.environ, "HOME": str(home), "KB_OWN": "off"}) as kb:
        assert kb.recall("who am I") == []


def test_an_agent_that_hands_it_in_writes_it_there(root: Path, home: Path) -> None:
    fact = Candidate("preference", "My name is Lin", decision="My name is Lin and I live in Oslo.", session="s1")
    text = "Amounts are integer cents."
    rule = Candidate(
        "constraint", text[:-1], decision=text, why="Floats lose.", impact_areas=("security",), session="s1"
    )
    with own(root, home) as kb:
        verdicts = kb.write([rule, fact])
        assert [verdict.id for verdict in verdicts] == ["C001", "me:U001"]
        assert [record.id for record in kb.records()] == ["C001"]


def test_a_record_of_ones_own_is_shown_wherever_one_stands(
    root: Path, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(root, home, tmp_path, "Call me Jo")
    monkeypatch.setenv("HOME", str(home))
    assert "Call me Jo" in run(root, "show", "me:U001").out


PRIVATE = [
    "If a parcel comes for me, tell them Lindenstr. 14.",
    "For the test use my mobile, 0176 5550 4412.",
    "今年绩效只给了 B，年终奖估计少一半，唉，房贷都要算着还",
    "下周三我要去医院复查，不在。",
    "孩子发烧，我先走了。",
    "Tom may leave at the end of the year.",
]
WORK = [
    "The mortgage product needs a rate of 4 %.",
    "房贷产品的利率必须按 IRR 口径展示。",
    "Hash the phone number before it is logged.",
    "Every hospital has one tenant.",
    "体检报告接口必须脱敏。",
]


@pytest.mark.parametrize("text", PRIVATE)
def test_a_private_matter_is_kept_nowhere(root: Path, home: Path, tmp_path: Path, text: str) -> None:
    assert is_private(text) and remove_personal(f"Fix the loader. {text}") == "Fix the loader."
    save(root, home, tmp_path, text)
    with own(root, home) as kb:
        kb.save_session(str(tmp_path / "s1.jsonl"), session="s1", folder=str(root))
        assert kb.records() == [] and kb.held() == []
    assert text[-8:-2] not in published(root) and mine(home) == {}


@pytest.mark.parametrize("text", WORK)
def test_the_words_of_a_product_are_no_private_matter(text: str) -> None:
    assert not is_private(text)


OF_ONESELF = [
    "I skim, so short paragraphs please", "I come from a PHP background, comparing to Laravel helps me",
    "Don't explain git to me, I know it inside out.", "skip the \"great question\" stuff", "she/her by the way",
    "I've been coding alone since 2017", "my day ends at 3pm, school run", "Rust fan, been at it for years",
    "我比较急性子，答案放最前面", "我人在东京，时间按 JST 跟我说", "我这人记性差，每次改完给我列个清单吧",
    "改完别跟我总结一遍，我自己会看", "硬件出身，网络那块不熟", "大家都喊我阿坤",
]  # fmt: skip
OF_THE_WORK = [
    "I work around the bug by pinning the version.", "I am in the middle of the migration", "show me the log",
    "treat it as an interface, not an implementation detail", "give me the list of failing tests",
    "I'm leaning towards letting the queue handle it", "我是说先跑测试", "给我看看这个文件", "我在改登录接口",
    "跟我们保持一致，金额用分", "我觉得缓存可以去掉", "帮我把这段解释一下",
]  # fmt: skip


@pytest.mark.parametrize("text", OF_ONESELF)
def test_what_somebody_is_like_for_good_is_certain(text: str) -> None:
    assert is_personal(text)


@pytest.mark.parametrize("text", OF_THE_WORK)
def test_what_is_of_the_work_is_nobodys_own(text: str) -> None:
    assert not is_personal(text)


@pytest.mark.parametrize(
    "said",
    [
        "I forgot to commit", "I reproduced it locally", "I don't have access to that box", "I'm in a meeting",
        "I moved it to the other folder", "i cannot see any sessions in the dashboard", "我漏了一个参数",
        "我这边跑不起来",
        "我刚合了 main", "我没找到那个按钮", "我去开个会",
    ],
)  # fmt: skip
def test_what_happened_to_a_person_is_no_trait_of_theirs(said: str) -> None:
    assert not is_personal(said)


def test_a_name_ends_before_the_next_clause() -> None:
    assert read_profile_claims("My name is Lin and I am a Python developer") == {"profile.name": "Lin"}
    assert read_profile_claims("call me Jo please") == {"profile.name": "Jo"}
    assert read_profile_claims("My name is Mary Ann Smith") == {"profile.name": "Mary Ann"}


@pytest.mark.parametrize(
    "text",
    ["I prefer to see the diff before any explanation", "I want the code without the theory", "我平时只用命令行"],
)
def test_how_somebody_likes_to_work_is_theirs(text: str) -> None:
    assert is_personal(text)


@pytest.mark.parametrize(
    "text", ["I always get a timeout here", "I go with option two", "I hate this bug", "我喜欢这个写法，就这么改"]
)
def test_what_is_said_of_the_matter_at_hand_is_not(text: str) -> None:
    assert not is_personal(text)


@pytest.mark.parametrize(
    "text",
    [
        "whenever you touch the billing code, ask me first",
        "never push without asking me, that goes for every session",
        "I can't stand abbreviations in variable names",
        "stop praising my questions",
        "I've never used Docker",
        "I've got a hearing problem",
        "I prefer diffs over whole files",
        "我讨厌嵌套太深的代码",
        "删除文件前一定要先跟我确认",
        "凡是改表结构，都给我看一遍回滚方案",
        "给我的例子都用 TypeScript",
        "我平时晚上写代码",
        "我只会 Java",
        "I'm on the train right now, call me Jo",
    ],
)
def test_a_lasting_rule_of_ones_own_is_theirs_whatever_it_is_about(text: str) -> None:
    assert is_personal(text)


@pytest.mark.parametrize(
    "text",
    [
        "this log makes me dizzy",
        "I'm at the dentist",
        "I'm tired of this bug",
        "I can't stand this error",
        "if I were a Java developer I'd use Lombok",
        'she said "call me Anna"',
        "my colleague is colour-blind",
        "I was on vacation last week",
        "我现在在地铁上",
        "我怀疑是时区的问题",
        "要是我会 Rust 就自己写了",
        "客户说“我喜欢深色主题”",
        "我同事是色盲",
        "I have a meeting in ten minutes",
        "我喜欢你这个方案",
        "我先下班了",
        "我饿了",
        "我有个问题",
    ],
)
def test_a_moment_a_quotation_and_what_is_only_thought_are_no_trait(text: str) -> None:
    assert not is_personal(text)


def test_what_holds_for_good_is_told_from_moments_and_from_the_work() -> None:
    rows = [row.rsplit("\t", 1) for row in (DATA / "personal_more.tsv").read_text("utf-8").splitlines()]
    theirs = [text for text, label in rows if label == "1"]
    known = [text for text in theirs if is_personal(text)]
    assert len(theirs) >= 70 and len(known) >= 0.9 * len(theirs)
    assert [text for text, label in rows if label == "0" and is_personal(text)] == []
