"""Read when something is to be done, in Chinese or English: “每周一早上9点” is `0 9 * * 1` for cron.

English is rewritten into the short notation that Chinese has for times, and one set of rules reads that. Each rule
takes its words out of the text; where digits or words of time are left over, it is not understood. Nothing is guessed:
what has two readings, and what cron cannot say, is an error that says so.
"""

from __future__ import annotations

import re
from collections.abc import Set
from datetime import date, datetime, timedelta
from typing import NamedTuple
from unicodedata import normalize

from kb.errors import BadInput
from kb.i18n import Message, msg
from kb.learning.schedule_words import (
    AFTERNOON,
    CHINESE,
    COUNT,
    COUNTS,
    DAY_END,
    DAY_START,
    EACH_DAY,
    ENGLISH,
    FILLERS,
    IMPOSSIBLE,
    LEFT_OVER,
    MARKS,
    MORNING,
    NIGHT,
    PAIRS,
    PART,
    TASK,
    TASK_LIMIT,
    TIME,
    TO,
    UNION,
    UNITS,
    is_within,
)


class Schedule(NamedTuple):
    """When something is to be done: again and again (*cron*, five fields), or once (*at*, HH:MM YYYY-MM-DD)."""

    cron: str = ""
    at: str = ""


class _Days(NamedTuple):
    """On which days, 0 for Sunday: on all of them where nothing is set."""

    is_named: bool = False
    """Whether the text says anything about days, if only “daily”."""
    week: Set[int] = frozenset()
    month: Set[int] = frozenset()
    months: Set[int] = frozenset()
    once: date | None = None


def parse_schedule(text: str, now: datetime) -> Schedule:
    """Return when *text* says, *now* being the time at which it says so; raise BadInput where that is not certain."""
    reader = _Reader(text)
    reader.rewrite()
    if reader.find(PAIRS):
        raise reader.build_impossible(msg("each of its days has a time of its own, which takes one line for each"))
    interval = reader.take_interval()
    days = reader.take_days(now, interval[0] if interval and interval[1] == "month" else 1)
    is_clock = not interval or interval[1] == "month"
    times = reader.take_times() if is_clock else []
    if is_clock and not times:
        raise reader.build_error(msg("it says no time of day"))
    reader.check_count(days, len(times), len(interval[1].split(",")) if interval else 1)
    reader.check_all_read()
    if days.once:
        return Schedule(at=_format_once(reader, days.once, times, now))
    if interval and not is_clock:
        return Schedule(cron=_format_cron(interval[1], interval[2], days))
    if not days.is_named:
        raise reader.build_readings(EACH_DAY, msg("once, at the next such time"))
    if len({minute for _, minute in times}) > 1:
        raise reader.build_impossible(msg("its times have different minutes, which takes one line for each"))
    return Schedule(cron=_format_cron(str(times[0][1]), _format_numbers({hour for hour, _ in times}), days))


def _format_cron(minutes: str, hours: str, days: _Days) -> str:
    return " ".join((minutes, hours, *(_format_numbers(n) or "*" for n in (days.month, days.months, days.week))))


def _format_numbers(numbers: Set[int]) -> str:
    """Return *numbers* as a field of cron: 1-5 for three or more in a row, else 2,4."""
    rows: list[list[int]] = []
    for number in sorted(numbers):
        if rows and rows[-1][-1] == number - 1:
            rows[-1].append(number)
        else:
            rows.append([number])
    return ",".join(f"{row[0]}-{row[-1]}" if len(row) > 2 else ",".join(map(str, row)) for row in rows)


def _format_once(reader: _Reader, day: date, times: list[tuple[int, int]], now: datetime) -> str:
    if len(times) != 1:
        raise reader.build_error(msg("it runs once, but names more than one time"))
    when = datetime(day.year, day.month, day.day, *times[0])
    if when <= now.replace(tzinfo=None):
        raise reader.build_error(msg("that time has passed"))
    return f"{when:%H:%M %Y-%m-%d}"


class _Reader:
    """The text of a schedule; each `take_…` takes its words out, so that what nobody understood is left."""

    def __init__(self, text: str) -> None:
        self.given = " ".join(text.split())[:200]  # characters that are read
        self.times_counted = ("", 0)  # “twice a week”: the unit, and how often in it
        self.is_on_days = False  # on some days, not on every one
        self.is_union = False  # “Fridays and also the 13th”
        self.rest = normalize("NFKC", self.given).casefold().replace("點", "点").replace("週", "周").replace("禮", "礼")
        self.rest = re.sub(r"\b(twice|thrice|\w{3,5} times) (?:dai|(week|month|hour))ly\b", _spell_count, self.rest)

    def find(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.rest)

    def take(self, pattern: str) -> re.Match[str] | None:
        """Return the first match of *pattern*, which is taken out of the rest; None for none."""
        found = re.search(pattern, self.rest)
        if found:
            self.rest = f"{self.rest[: found.start()]} | {self.rest[found.end() :]}"
        return found

    def build_error(self, problem: Message) -> BadInput:
        """Return the error that the text cannot be taken for a schedule, because of *problem*."""
        said = msg("“{text}”: {problem}", text=self.given, problem=problem)
        return BadInput(said, hint=msg("write it like “every Monday at 9:00” or “每周一早上9点”"))

    def build_readings(self, first: Message, second: Message) -> BadInput:
        return self.build_error(msg("it can mean “{first}” or “{second}”", first=first, second=second))

    def build_impossible(self, reason: Message) -> BadInput:
        return self.build_error(msg("one line of cron cannot say that: {reason}", reason=reason))

    def rewrite(self) -> None:
        """Bring the text into the short notation: <1> is a Monday, 3月1号 a date; raise BadInput for the impossible."""
        if found := self.find(COUNT):
            number = found[2] or found[3]
            unit = "周" if found[1] in ("星期", "礼拜") else found[1] or UNITS[found[4]]
            self.times_counted = (unit, COUNTS.get(number) or int(number))
        for pattern, mark in MARKS:
            self.rest = re.sub(pattern, mark, self.rest)
        for pattern, reason in IMPOSSIBLE:
            if self.find(pattern):
                raise self.build_impossible(reason)
        if self.find(r"\bor\b(?! so\b)|或者?|还是"):
            raise self.build_error(msg("it does not say which of them"))
        if self.find(
            r"\b(?:around|about|roughly|sometimes?|some time|or so)\b|左右|大概|大约|前后|有时|白天|"
            r"\bdaytime\b|\b(?:working|office|business|opening) hours\b|(?:上班|工作|营业)时间"
        ):
            raise self.build_error(msg("it says no exact time"))
        if self.find(
            r"\b(?:utc|gmt|[cp]st|cet|e[ds]t|pdt)\b|时区|time ?zone|"
            r"(?:北京|东京|伦敦|柏林|纽约|太平洋|当地|本地|美[东西])时间|"
            r"(?:\d|[ap]m|noon) (?!this\b|that\b|each\b|every\b)[a-z]+ time\b"
        ):
            raise self.build_error(msg("a crontab follows the clock of its machine: give the time there"))
        for pattern, now in (*ENGLISH, *CHINESE):
            self.rest = re.sub(pattern, now, self.rest)
        if self.take(r"(?:晚上?|夜里|半夜|深夜) ?12[点:](?:整|00)?"):
            raise self.build_readings(DAY_START, DAY_END)
        if self.find(r"midnight|午夜") and not self.take(r"(?:just )?(?:after |at )?(?:midnight|午夜)(?=[, ]{1,3}\d)"):
            if self.find(r"<|[号月]"):
                raise self.build_readings(DAY_START, DAY_END)
            self.rest = re.sub(r"midnight|午夜", "0:00", self.rest)

    # how often

    def take_interval(self) -> tuple[int, str, str] | None:
        """Return step, field of the minutes and field of the hours of what is repeated within a day; None for none.

        For what is repeated in every so many months the second is "month".
        """
        if found := self.take(r"每隔?(\d{1,2})个月的?"):
            self.rest += " 每月"
            return int(found[1]), "month", ""
        found = self.take(r"每隔?(\d{1,4})? ?个?(分钟|分|小时|钟头|整点)(?:整点)?")
        if not found:
            return None
        step, is_minutes = int(found[1] or 1), found[2][0] == "分"
        whole = 60 if is_minutes else 24
        if step > whole or whole % step:
            raise self._build_uneven(step, whole)
        (first, first_minute), (last, last_minute) = self._take_hour_range() or ((0, 0), (24, 0))
        every = "*" if step == 1 else f"*/{step}" if step < whole else "0"
        if is_minutes:
            if first_minute or (last_minute and last_minute < whole - step):
                raise self.build_impossible(msg("it begins or ends within an hour"))
            last += bool(
                last_minute
            )  # “9:00 to 17:30”: half past five is one of its times, and 18:00 of “9 to 18” none
            return step, every, "*" if (first, last) == (0, 24) else _format_numbers({*range(first, last)})
        minutes = self._take_numbers(r"[和、,的]?第(\d{1,2})分钟?", 59, 0)
        start = (0, first_minute) if minutes or last < 24 else self._take_start()
        if minutes and (first_minute or last_minute):
            raise self.build_error(msg("it says the minute twice"))
        last -= last_minute < first_minute
        if step == 1 and start[0]:
            raise self.build_impossible(msg("it names no day and no time to begin or end"))
        minute = _format_numbers(minutes or {start[1]})
        if last == 24 and not start[0] % step:
            return step, minute, every
        hours = {*range(first, last + 1, step)} if last < 24 else {*range(start[0] % step, 24, step)}
        return step, minute, _format_numbers(hours)

    def _build_uneven(self, step: int, whole: int) -> BadInput:
        why = msg("{step} does not divide {whole}, so the steps are uneven", step=step, whole=whole)
        return self.build_impossible(why)

    def _take_hour_range(self) -> tuple[tuple[int, int], tuple[int, int]] | None:
        """Return hour and minute from which and until which something is repeated within a day; None for none."""
        found = self.take(rf"(?:between |from |从)?{TIME} ?(?:and|{TO}) ?{TIME}(?:之间)?")
        if not found:
            return None
        first, last = found.groups()[:7], found.groups()[7:]
        parts = (first[0] or first[6] or "", last[0] or last[6] or "")
        if int(last[1]) > 12 and not any(parts):  # “9点到18点”: by the clock of 24 hours
            hours = [int(first[1]), int(last[1])]
        else:
            given = ((int(first[1]), parts[0]), (int(last[1]), parts[1] or parts[0]))
            hours = [self._resolve_hour(hour, part) for hour, part in given]
        if hours[0] >= hours[1]:
            raise self.build_impossible(msg("its hours run across midnight"))
        return (hours[0], _count_minutes(first)), (hours[1], _count_minutes(last))

    def _take_start(self) -> tuple[int, int]:
        """Return hour and minute from which the steps of hours are counted."""
        self.take(r"on the hour|(?:at )?整点")
        if not self.take(r"\bstart(?:ing|s)?\b(?: from| at)?|\bfrom\b|从"):
            return 0, 0
        times = self.take_times()
        return times[0] if times else (0, 0)

    def check_all_read(self) -> None:
        """Raise BadInput where a word or a number is left that no rule took and that is none of what is to be done.

        A word that nobody understood may limit the times that were: “through”, “during the freeze”.
        """
        if self.times_counted[1] > 1:  # its number is read, by `check_count`
            self.take(r"\b(?:twice|\d times)\b")
        said = FILLERS.sub(" ", self.rest)
        if left := re.search(LEFT_OVER, said):
            raise self.build_error(msg("“{part}” is not understood", part=left[0]))
        is_reminder = self.find(r"\bremind\b") is not None
        for piece in re.split(r"[|,;.、!()/—–\n]", said):
            words = piece.strip()
            is_task = TASK.match(words) or (is_reminder and words.startswith("to "))
            if words and (not is_task or TASK_LIMIT.search(words)):
                raise self.build_error(msg("“{part}” is not understood", part=" ".join(words.split())))

    # on which days

    def check_count(self, days: _Days, times: int, minutes: int) -> None:
        """Raise BadInput where the text says how often, and names another number of days, *times* or *minutes*."""
        unit, said = self.times_counted
        named = {"周": len(days.week), "月": len(days.month), "天": times, "日": times, "小时": minutes}.get(unit)
        if named is not None and said > 1 and named and named != said:
            raise self.build_error(msg("it says {said} times, and names {named}", said=said, named=named))

    def take_days(self, now: datetime, month_step: int) -> _Days:
        """Return on which days it is done; *month_step*: in every so many months."""
        self.is_union = self.find(UNION) is not None
        self.is_on_days = self.find(r"<|[号月周]") is not None
        once = self._take_once(now)
        if (
            len({found[1] for found in re.finditer(r"月(\d{1,2})号", self.rest)})
            > 1
            < len({found[1] for found in re.finditer(r"(\d{1,2})月\d", self.rest)})
        ):
            raise self.build_impossible(msg("each of its months has a day of its own, which takes one line for each"))
        if month_step > 1 and 12 % month_step:
            raise self._build_uneven(month_step, 12)
        named = self._take_numbers(r"(?<!\d)(\d{1,2})月份?的?", 12)
        months = {*range(1, 13, month_step)} if month_step > 1 else named
        if self.take(r"每个?季度?的?"):
            months = months or {1, 4, 7, 10}
        week = self._take_weekdays()
        is_yearly, is_monthly, is_weekly, is_daily = (self._take_all(rf"每个?{unit}的?") for unit in "年月周天")
        is_weekly = is_weekly or bool(self.take(r"每个?(?:星期|礼拜)"))
        month = self._take_numbers(
            r"(?:the |on )?(?<![\d:])(\d{1,2})(?: ?(?:[,、/&和及与]|and) ?(?=(?:the )?\d{1,2}[号、,])|号)", 31
        )
        if week and month and (months or is_yearly or not self.is_union):  # cron runs on either, and so in each month
            raise self.build_impossible(msg("with both a weekday and a day of the month, cron runs on either"))
        if is_weekly and not week:
            raise self.build_readings(msg("once a week, on a day it does not name"), EACH_DAY)
        if (is_monthly or is_yearly or months) and not (month or week or (is_daily and months)):
            raise self.build_readings(msg("once a month, on a day it does not name"), EACH_DAY)
        next_date = _find_next_date(now, min(months), min(month)) if months and month else now.date()
        if not next_date or (is_yearly and not months):
            raise self.build_error(msg("there is no such day"))
        is_each = bool(months and month) and self._take_all(r"每(?![\d<])")
        if len(months) == len(month) == 1 and not (is_yearly or is_each):
            raise self.build_readings(msg("every year"), msg("once, on the next such day"))
        return _Days(bool(is_daily or week or month), week, month, months, once)

    def _take_all(self, pattern: str) -> bool:
        """Take every match of *pattern*, and return whether there was one: “每月1号、每月15号”."""
        is_there = False
        while self.take(pattern):
            is_there = True
        return is_there

    def _take_numbers(self, pattern: str, most: int, least: int = 1) -> set[int]:
        numbers: set[int] = set()
        while found := self.take(pattern):
            numbers.add(self._check(int(found[1]), most, least))
        return numbers

    def _take_weekdays(self) -> set[int]:
        """Return the weekdays, 0 for Sunday; a range may run across the end of a week."""
        days: set[int] = set()
        while found := self.take(r"(?:每个?|每?逢)?<(\d)>(?:-<(\d)>)?|(?:\bfrom |从)<(\d)>-<(\d)>"):
            first = int(found[1] or found[3])
            last = int(found[2] or found[4] or first)
            days |= {(first + n) % 7 for n in range((last - first) % 7 + 1)}
        return days

    def _take_once(self, now: datetime) -> date | None:
        """Return the one day it is about: tomorrow, 下周三, 2026-12-01; None where it is repeated."""
        is_once = self.take(r"1次性|\bone-?off\b|\bjust once\b|\bonce only\b")
        if found := self.take(r"(?<!\d)(20\d\d)[-/年](\d{1,2})[-/月](\d{1,2})号?(?!\d)"):
            try:
                return date(*map(int, found.groups()))
            except ValueError:
                raise self.build_error(msg("there is no such day")) from None
        for words, days in (("大后天", 3), ("后天", 2), ("明天", 1), ("今天", 0)):
            if self.take(words):
                return now.date() + timedelta(days)
        if found := self.take(r"(下{1,3}|这|本|\bthis |\bcoming )个?<(\d)>"):  # weeks begin on Monday
            monday = now.date() - timedelta(now.weekday())
            return monday + timedelta(7 * found[1].count("下") + (int(found[2]) - 1) % 7)
        if self.find(r"\bnext <"):  # on a Monday, "next Friday" is this week's to some
            raise self.build_readings(msg("this week's"), msg("the week after"))
        later = r"\bin (?:a|an|\d{1,3}) (?:minute|hour|day|week|month)|\d个?(?:分钟|小时|天|周|月)[之以]?后"
        if is_once or self.find(rf"下个?(?:周|星期|礼拜|月)|\bnext (?:week|month|year)\b|{later}"):
            raise self.build_error(msg("it runs once: give the day and the time"))
        return None

    # at what time

    def take_times(self) -> list[tuple[int, int]]:
        """Return the times of day as hour and minute, in order."""
        times: list[tuple[int, int]] = []
        last, is_whole = (
            "",
            re.search(r"(?<![\d:])(?:1[3-9]|2[0-3])(?:[点:]|(?:(?<=and \d\d)|(?<=and at \d\d))(?= |$))", self.rest),
        )  # “9点和21点”, "at 9 and 17": the clock of 24 hours
        lead = r"(\bat |\bfrom |\band |[,&+] ?|^ ?|\| {0,2})?"
        while found := self.take(lead + TIME + r"(?! ?[\d:号月周天个分]|[一-鿿])|" + lead + TIME):
            before, part, hour, colon, half, quarter, minute, behind = (
                found.groups()[:8] if found[3] else found.groups()[8:]
            )
            is_clock = "点" in found[0] or bool(colon)
            if not (is_clock or part or behind or before is not None):
                raise self.build_error(msg("“{part}” is not understood", part=hour))
            spoken = self.find(PART)  # “every morning at 7”: it holds for all times
            carried = last or (spoken[0] if spoken else "") if int(hour) <= 12 else ""  # “9am and 17:00”
            last = behind or part or carried
            if int(hour) == 24 and self.is_on_days:
                raise self.build_readings(DAY_START, DAY_END)
            minutes = self._check(_count_minutes((part, hour, colon, half, quarter, minute)), 59)
            is_plain = bool(is_whole and not last) or (bool(colon) and (not last or hour[0] == "0"))
            times.append((self._check(int(hour), 23) if is_plain else self._resolve_hour(int(hour), last), minutes))
        if len(times) > 1 and self.find(TO + r" ?\||\bbetween\b|之间"):
            raise self.build_error(msg("it says from when to when, and not how often"))
        if times:  # each time has taken its part of the day already; “9点和下午” has one that no time took
            left = [part for part in re.findall(PART, self.rest) if not is_within(part, {hour for hour, _ in times})]
            if left:
                raise self.build_error(msg("“{part}” is not understood", part=left[0]))
            self.rest = re.sub(PART, " ", self.rest)
        return sorted(set(times))

    def _resolve_hour(self, hour: int, part: str) -> int:
        """Return the hour of 24 that *hour* is in *part* of the day; raise BadInput where there are two readings."""
        self._check(hour, 12 if part in MORNING and part != "凌晨" else 24)
        if hour > 12 or (hour == 0 and part not in AFTERNOON):
            return hour % 24
        if part in MORNING:
            return 0 if hour == 12 and part in ("am", "凌晨") else hour
        if part in AFTERNOON or part == "中午":
            return hour if hour == 12 or (part == "中午" and hour > 10) else hour + 12
        if part and hour == 12:
            raise self.build_readings(DAY_START, DAY_END)
        if part and hour >= 5:  # “晚上8点”, "8 at night"
            return hour + 12
        if part in NIGHT and not self.is_on_days:  # “Fridays at 2 in the night” may be on Saturday
            return hour
        first, second = (msg("{time}", time=f"{one % 24:02}:00") for one in (hour, hour + 12))
        raise self.build_readings(first, second)

    def _check(self, number: int, most: int, least: int = 0) -> int:
        """Return *number*; raise BadInput where it is none of *least* to *most*."""
        if not least <= number <= most:
            raise self.build_error(msg("{number} is out of range", number=number))
        return number


def _count_minutes(groups: tuple[str | None, ...]) -> int:
    """Return the minutes of a time, *groups* being those of TIME."""
    colon, half, quarter, minute = groups[2:6]
    return 30 if half else 15 * int(quarter) if quarter else int(colon or minute or 0)


def _spell_count(found: re.Match[str]) -> str:
    return f"{found[1]} a {found[2] or 'day'}"


def _find_next_date(now: datetime, month: int, day: int) -> date | None:
    """Return the next such day, today included; None where there is none."""
    for year in range(now.year, now.year + 9):
        try:
            found = date(year, month, day)
        except ValueError:
            continue
        if found >= now.date():
            return found
    return None
