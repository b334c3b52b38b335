"""What people say of times, in two languages, becomes a line of cron that runs at just these times, or an error."""

import json
from datetime import datetime, timedelta
from pathlib import Path

import pytest
import yaml

from kb.errors import BadInput
from kb.knowledge_base import KnowledgeBase
from kb.learning.schedule import parse_schedule
from tests.support.command_line import run

UNSEEN = Path(__file__).parents[2] / "bench" / "unseen"

NOW = datetime(2026, 11, 23, 21, 40)  # a Monday
CRONS = {
    "每周一早上9点": "0 9 * * 1",
    "每天凌晨3点": "0 3 * * *",
    "每天中午12点半": "30 12 * * *",
    "工作日下午六点半": "30 18 * * 1-5",
    "周一至周五9:00": "0 9 * * 1-5",
    "每周一、三、五下午3点": "0 15 * * 1,3,5",
    "每周二四 10:30": "30 10 * * 2,4",
    "周末晚上八点": "0 20 * * 0,6",
    "每晚8点": "0 20 * * *",
    "每月1号和15号上午10点": "0 10 1,15 * *",
    "每15分钟": "*/15 * * * *",
    "每隔两小时": "0 */2 * * *",
    "每小时的第20分钟": "20 * * * *",
    "工作日9点到18点每半小时": "*/30 9-17 * * 1-5",
    "每季度第一天凌晨1点": "0 1 1 1,4,7,10 *",
    "每年3月8日上午9点": "0 9 8 3 *",
    "每两个月1号9:00": "0 9 1 1-12/2 *",
    "礼拜天晚上十一点五十九分": "59 23 * * 0",
    "周五晚上6点一刻发周报": "15 18 * * 5",
    "每天两次，9点和21点": "0 9,21 * * *",
    "每天三次：8:00、12:00、18:00": "0 8,12,18 * * *",
    "每小时第5分钟和第35分钟": "5,35 * * * *",
    "双休日早上十点": "0 10 * * 6,0",
    "5 minutes past every hour": "5 * * * *",
    "quarter past every hour": "15 * * * *",
    "every other hour": "0 */2 * * *",
    "every thirty minutes": "*/30 * * * *",
    "每天零点": "0 0 * * *",
    "每天20点备份一份": "0 20 * * *",
    "every weekday at 8:30": "30 8 * * 1-5",
    "every Monday and Thursday at 7:15am": "15 7 * * 1,4",
    "mon-fri 18:00": "0 18 * * 1-5",
    "daily 17:00": "0 17 * * *",
    "every day at noon and at 6pm": "0 12,18 * * *",
    "every morning at 7": "0 7 * * *",
    "half past seven every morning": "30 7 * * *",
    "every 20 mins": "*/20 * * * *",
    "every hour at 15 past": "15 * * * *",
    "every 6 hours starting at 2am": "0 2,8,14,20 * * *",
    "hourly between 9am and 5pm on weekdays": "0 9-17 * * 1-5",
    "the 1st and 15th of every month at 04:00": "0 4 1,15 * *",
    "every quarter on the 1st at 5am": "0 5 1 1,4,7,10 *",
    "every year on 1 January at 00:00": "0 0 1 1 *",
    "weekends at 10 in the morning": "0 10 * * 6,0",
    "daily at midnight": "0 0 * * *",
    "sundays at 6 in the evening": "0 18 * * 0",
    "quarter to nine pm on fridays": "45 20 * * 5",
    "every day 18:05": "5 18 * * *",
    "twice an hour, at :15 and :45": "15,45 * * * *",
    "工作日早晚9点": "0 9,21 * * 1-5",
    "每天早9晚6": "0 9,18 * * *",
    "每月1日至5日早上9点": "0 9 1,2,3,4,5 * *",
    "每半年1号早上9点": "0 9 1 1,7 * ",
    "每刻钟": "*/15 * * * *",
    "五分钟跑一次": "*/5 * * * *",
    "周末两天上午十点": "0 10 * * 0,6",
    "Sunday nights, 11:45pm": "45 23 * * 0",
    "every day at 9am and 17:00": "0 9,17 * * *",
}
TWO_READINGS = {
    "每周早上9点": ["一天", "每天"],
    "每天8点": ["08:00", "20:00"],
    "晚上12点，每天": ["00:00", "24:00"],
    "weekly at 9:00": ["每天"],
    "every day at 8": ["08:00", "20:00"],
    "9 o'clock on weekdays": ["09:00", "21:00"],
    "friday at midnight": ["00:00", "24:00"],
    "next friday at 10:00": ["这一周", "下一周"],
    "17:30": ["每天", "一次"],
    "每月早上9点": ["一天", "每天"],
    "每周三12点": ["12:00", "00:00"],
    "12月24日下午3点": ["每年", "一次"],
    "noon on 29 February": ["每年", "一次"],
    "周五24:00": ["00:00", "24:00"],
}
UNCLEAR = [
    "每周三次，周一早上9点",
    "twice a week on Monday at 9am",
    "twice an hour",
    "every day between 9am and 5pm",
    "every Monday or Tuesday at 9am",
    "每天早上9点和下午",
    "每天早上15点",
]
NOT_CRON = [
    "Monday at 9am and Friday at 6pm",
    "1号早上9点和15号下午6点",
    "every Monday until Christmas at 9am",
    "每天早上9点以后",
    "every day but Sunday at 9am",
    "summer weekdays at 9am",
    "每隔7天早上9点",
    "隔周周五上午10点",
    "每隔一天 9:00",
    "every other day at 9:00",
    "every 2 weeks on monday at 9:00",
    "every 45 minutes",
    "every 5 hours",
    "每月最后一天 18:00",
    "last friday of the month 5pm",
    "每月第一个周一上午9点",
    "friday the 13th at 9:00",
    "每30秒",
    "every day at 9:00 except weekends",
    "每天18:00和22:30",
    "农历初一早上8点",
    "除周末外每天9:00",
]
UNCLEAR = [
    "",
    "every day",
    "每天早上",
    "大约每天9:00",
    "25:00 every day",
    "每天 9:00 UTC",
    "when I have time",
    "每天9:00备份3份",
    "next week",
]


def list_instants(cron: str) -> set[datetime]:
    """Return when *cron* runs within two years from NOW, to the minute."""
    ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
    minutes, hours, days, months, weekdays = (
        _list_values(field, *ends) for field, ends in zip(cron.split(), ranges, strict=True)
    )
    start = NOW.replace(hour=0, minute=0)
    dates = [start + timedelta(n) for n in range(731)]
    dates = [
        d for d in dates if d.day in days and d.month in months and {d.isoweekday() % 7, d.isoweekday()} & weekdays
    ]
    return {d + timedelta(hours=hour, minutes=minute) for d in dates for hour in hours for minute in minutes}


def _list_values(field: str, first: int, last: int) -> set[int]:
    found: set[int] = set()
    for part in field.split(","):
        span, _, step = part.partition("/")
        low, _, high = span.partition("-")
        ends = (first, last) if span == "*" else (int(low), int(high or low))
        found |= {*range(ends[0], ends[1] + 1, int(step or 1))}
    return found


@pytest.mark.parametrize("text", CRONS)
def test_the_line_runs_at_the_times_that_are_meant(text: str) -> None:
    assert list_instants(parse_schedule(text, NOW).cron) == list_instants(CRONS[text])


@pytest.mark.parametrize("text", TWO_READINGS)
def test_both_readings_are_named(text: str) -> None:
    with pytest.raises(BadInput) as error:
        parse_schedule(text, NOW)
    said = error.value.message.translate("zh")
    assert all(part in said for part in TWO_READINGS[text]), said


@pytest.mark.parametrize("text", UNCLEAR)
def test_what_contradicts_itself_or_says_too_little_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        parse_schedule(text, NOW)


@pytest.mark.parametrize("text", NOT_CRON)
def test_what_cron_cannot_say_is_told_with_the_reason(text: str) -> None:
    with pytest.raises(BadInput, match="cron"):
        parse_schedule(text, NOW)


@pytest.mark.parametrize("text", UNCLEAR)
def test_nothing_is_guessed(text: str) -> None:
    with pytest.raises(BadInput):
        parse_schedule(text, NOW)


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("下周三下午两点", "14:00 2026-12-02"),
        ("明天早上8点", "08:00 2026-11-24"),
        ("this friday at 10:00", "10:00 2026-11-27"),
        ("tomorrow at 9am", "09:00 2026-11-24"),
        ("2026-12-01 09:00", "09:00 2026-12-01"),
        ("今晚10点", "22:00 2026-11-23"),
    ],
)
def test_what_is_done_once_is_a_line_for_at(text: str, at: str) -> None:
    assert parse_schedule(text, NOW) == ("", at)


def test_the_digest_prints_the_line_for_its_schedule(kb: KnowledgeBase) -> None:
    root = Path(kb.root)
    weekly = run(root, "digest", "--schedule", "每周一早上9点")
    assert weekly.out.startswith(f"0 9 * * 1 cd {root} && ") and weekly.out.endswith("digest --since 7d\n")
    once = run(root, "digest", "--schedule", "2099-12-01 09:00", "--json")
    assert json.loads(once.out)["line"].endswith("| at 09:00 2099-12-01")
    wrong = run(root, "digest", "--schedule", "每天8点")
    assert wrong.code == 1 and "08:00" in wrong.error and "20:00" in wrong.error


def test_the_digest_prints_the_workflow_for_its_schedule(kb: KnowledgeBase) -> None:
    made = run(Path(kb.root), "digest", "--ci", "--schedule", "every weekday at 8:30", "--since", "1d")
    workflow = yaml.safe_load(made.out)
    assert workflow[True]["schedule"] == [{"cron": "30 8 * * 1-5"}] and "UTC" in made.error
    assert "kb digest --since 1d" in made.out and "@" not in made.out.replace("actions/", "").split("uses")[0]
    assert run(Path(kb.root), "digest", "--ci", "--schedule", "tomorrow at 9am").code == 2


def test_most_of_what_was_written_unseen_is_understood_and_none_silently_wrong() -> None:
    rows = [json.loads(line) for line in (UNSEEN / "schedules_new.jsonl").read_text("utf-8").splitlines()]
    said = []
    for row in rows:
        try:
            said.append((parse_schedule(row["text"], NOW).cron, row["cron"]))
        except BadInput:
            said.append((None, row["cron"]))
    assert sum(given is None if wanted is None else given is not None for given, wanted in said) >= 0.95 * len(rows)
    assert [pair for pair in said if pair[0] and (not pair[1] or _expand(pair[0]) != _expand(pair[1]))] == []


def _expand(cron: str) -> list[set[int]]:
    """Return the numbers that each field of *cron* names; Sunday is 0."""
    fields = []
    for field, (first, last) in zip(cron.split(), ((0, 59), (0, 23), (1, 31), (1, 12), (0, 6)), strict=True):
        numbers: set[int] = set()
        for part in field.split(","):
            span, _, step = part.partition("/")
            low, _, high = (f"{first}-{last}" if span == "*" else span).partition("-")
            numbers |= {n % 7 if last == 6 else n for n in range(int(low), int(high or low) + 1, int(step or 1))}
        fields.append(numbers)
    return fields


@pytest.mark.parametrize(
    "text",
    [
        "9am weekdays and 10am saturdays",
        "every day at 8am and every friday at 5pm",
        "weekends at 10am, otherwise at 8am",
        "every day at 8am until friday",
        "daily at 9am, no weekends",
        "daily at 9am not on fridays",
        "every weekday at 9am skipping fridays",
        "every monday at 9am when nobody is on call",
        "every monday at 9am if green",
        "every day at 9am during the freeze",
        "every weekday at 9am through the summer break",
        "daily at 9am in the office",
        "every day at 9am, run it until done",
        "january 1 and july 15 at 9am every year",
        "1月1号和7月15号上午9点，每年",
        "every 30 minutes from 9:10 to 17:00",
        "每天8:00到19:20每15分钟",
        "明年每天早上8点",
        "从明天起每天早上8点",
        "fridays at 2 in the night",
        "单号早上9点",
        "mondays at 9am, not in august",
        "every 2nd day at 8am",
        "every hour starting at 8am",
        "every monday at 9am berlin time",
        "每天早上9点到周五",
        "每天早上8点，周日休息",
        "每天早上8点，周末不跑",
        "每天早上9点，周三停",
        "每天早上9点，只在周三",
        "每天早上9点各跑两遍",
        "工作日早上8点其余10点",
        "周一早上9点，其他日子下午5点",
        "如果是工作日就早上9点跑",
    ],
)
def test_no_part_of_it_is_dropped_without_a_word(text: str) -> None:
    with pytest.raises(BadInput):
        parse_schedule(text, NOW)


@pytest.mark.parametrize(
    ("text", "cron"),
    [
        ("every day in december at 9am", "0 9 * 12 *"),
        ("at 9 and 17 on weekdays", "0 9,17 * * 1-5"),
        ("twice daily at 6 and 18", "0 6,18 * * *"),
        ("每小时过5分", "5 * * * *"),
        ("周一到周五每天早上8点", "0 8 * * 1-5"),
        ("from monday to friday at 8am and 8pm", "0 8,20 * * 1-5"),
        ("april through june, daily at 6am", "0 6 * 4-6 *"),
        ("11月到2月每天早上6点", "0 6 * 1,2,11,12 *"),
        ("7、8月每天6:00", "0 6 * 7,8 *"),
        ("every monday, and also on the 10th, at 9am", "0 9 10 * 1"),
        ("每月10号，另外每周一，早上9点", "0 9 10 * 1"),
        ("每天8:00到19:30每半小时", "*/30 8-19 * * *"),
        ("every hour from 9:30 to 17:30", "30 9-17 * * *"),
        ("二四六晚上七点", "0 19 * * 2,4,6"),
        ("每小时整点和半点", "0,30 * * * *"),
        ("half past every hour", "30 * * * *"),
        ("every third hour", "0 */3 * * *"),
        ("每日6时30分", "30 6 * * *"),
        ("five past midnight on christmas", "5 0 25 12 *"),
        ("remind me every friday at 5pm to submit my report", "0 17 * * 5"),
    ],
)
def test_what_names_days_and_times_apart_is_read_together(text: str, cron: str) -> None:
    assert parse_schedule(text, NOW).cron == cron
