"""Whoever asks an agent about themselves is answered with their preferences at the prompt too."""

import pytest

from kb.knowledge_base import KnowledgeBase
from kb.records.model import Candidate

ASKED = [
    "who am I?", "what do you know about me?", "what are my preferences?", "Do you remember my preferences?",
    "Hey, can you recall my coding style?", "what's my name", "我是谁？", "你记得我的偏好吗", "你还记得我的习惯吗？",
    "你知道我的名字吗", "你了解我的背景吗", "我的偏好是什么",
]  # fmt: skip
NOT_ASKED = [
    "who wrote this function?", "what are my options here?", "Do you remember the release plan?", "remember my change",
    "你记得退款的规则吗", "你知道我的分支在哪里吗", "hello", "who am I logged in as in the test database user table?",
]  # fmt: skip


@pytest.fixture
def known(kb: KnowledgeBase) -> KnowledgeBase:
    kb.write([
        Candidate("preference", "Answers are in Chinese and short", scope="project/shop",
                  decision="Answers are in Chinese, in short sentences."),
        Candidate("decision", "Orders are kept in PostgreSQL", scope="project/shop", reusable=True,
                  decision="Orders are kept in PostgreSQL and nowhere else."),
    ])  # fmt: skip
    return kb


@pytest.mark.parametrize("prompt", ASKED)
def test_a_question_about_the_person_is_answered(known: KnowledgeBase, prompt: str) -> None:
    told = known.answer_to_prompt(prompt, project="project/shop")
    assert "Answers are in Chinese and short" in told and "PostgreSQL" not in told


@pytest.mark.parametrize("prompt", NOT_ASKED)
def test_another_question_is_not(known: KnowledgeBase, prompt: str) -> None:
    assert "Answers are in Chinese" not in known.answer_to_prompt(prompt, project="project/shop")


def test_another_projects_preferences_are_not_theirs(known: KnowledgeBase) -> None:
    assert known.answer_to_prompt("who am I?", project="project/loan") == ""
