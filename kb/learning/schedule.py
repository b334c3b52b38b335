"""Read when something is to be done, in Chinese or English: “每周一早上9点” is `0 9 * * 1` for cron.

English is rewritten into the short notation that Chinese has for times, and one set of rules reads that. Each rule
takes its words out of the text; where digits or words of time are left over, it is not understood. Nothing is guessed:
what has two readings, and what cron cannot say, is an error that tells so.
"""

from __future__ import annotations

import re
from collections.abc import Set
from datetime import date, datetime, timedelta
from typing import NamedTuple
from unicodedata import normalize

from kb.errors import BadInput
from kb.i18n import Message, msg


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


_DAY_START, _DAY_END = msg("00:00, as that day begins"), msg("24:00, as it ends")
_EACH_DAY = msg("every day")
_MORNING = ("凌晨", "清晨", "清早", "早晨", "早上", "早", "上午", "am")
_AFTERNOON = ("午后", "下午", "傍晚", "黄昏", "pm")
_NIGHT = ("夜里", "夜间", "深夜", "半夜", "夜")
_PART = "凌晨|清晨|清早|早晨|早上|早|上午|中午|午后|下午|傍晚|黄昏|晚上|晚|夜里|夜间|深夜|半夜|夜"
_PART_NAMES = {"morning": "早上", "afternoon": "下午", "evening": "晚上", "night": "夜里"}
_TO = r"(?:到|至|-|~|–|—|to|till|until|through|thru)"
_CLOCK = r"(?:[:.]([0-5]\d)|点钟?(?:(半)|([13])刻|整|(\d{1,2})分?)?)"
_TIME = rf"({_PART})?的? ?(?<![\d:<])(\d{{1,2}}){_CLOCK}?(?:,? ?((?:{_PART}|[ap]m\b)))?"
"""Part of the day, hour, minutes in one of four ways, part of the day behind it."""

_ZH_DIGITS = {digit: n for n, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_ZH_NUMBER = "[零〇一二三四五六七八九十两]{1,5}"
_COUNTED = "[点时分刻号日月天秒、]|个?(?:小时|钟头)|个(?:月|周|星期|礼拜|季)|次性"
_ZH_TIME_NUMBER = rf"{_ZH_NUMBER}(?={_COUNTED})|(?<=[第每隔点到至月]){_ZH_NUMBER}"
"""Where a Chinese number counts time: not in “统一” and “一份”."""
_ZH_WEEKDAYS = (
    r"(?:周|星期|礼拜)([一二三四五六日天1-7](?:[、,/和及]?[一二三四五六日天1-7](?![点时号日月天个分十:\d])){0,6})"
)
_WEEKDAYS = "sun mon tue wed thu fri sat".split()
_WEEKDAY = r"\b(?:mon|tues?|wed(?:s|nes)?|thu(?:rs?)?|fri|sat(?:ur)?|sun)(?:days?)?\b\.?"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH = r"\b(jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|ember|tember|ober)?\b"
_ONE_TO_TWELVE = "one two three four five six seven eight nine ten eleven twelve".split()
_ORDINALS = "first second third fourth fifth sixth seventh eighth ninth tenth".split()

_PAST = (
    r"(?<!from )(?<!between )(?<!\d)\b(?:at )?(?:a )?(quarter|half|5|10|20|25)(?: minutes?)? (past|to) (\d{1,2})\b(?!:)"
)
_UNCOUNTED = (
    r"[一1](?:次|下(?!午)|趟|遍)(?!性)|[日周月季年]报|时候|\(?(?:both )?inclu(?:ded|sive)\)?|\(\d+ and \d+ included\)"
)
"""What has the looks of a time and is none: “跑一次”, “发周报”."""
_MARKS = (
    (r"(?:每个?)?(?:工作日|平日|上班日)", "<1>-<5>"),
    (r"\b(?:every |each |on )?(?:weekdays?|(?:working|work|business) ?days?)\b(?! of)", "<1>-<5>"),
    (r"每?逢?个?(?:周末|双休日)|\b(?:every |each |on |at )?(?:the )?weekends?\b", "<6><0>"),
    (_ZH_WEEKDAYS, lambda m: _mark_weekdays(m[1])),
    (rf"(?<=>){_TO}([一二三四五六日天])", lambda m: f"-{_mark_weekdays(m[1])}"),
    (_WEEKDAY, lambda m: f"<{_WEEKDAYS.index(m[0][:3])}>"),
    (rf"(?<=>) ?{_TO} ?(?=<)", "-"),
    (rf"\b({'|'.join(_ONE_TO_TWELVE)})\b", lambda m: str(_ONE_TO_TWELVE.index(m[1]) + 1)),
    (r"\b(?:fifteen|twenty|thirty)\b", lambda m: {"f": "15", "tw": "20", "th": "30"}[m[0][: 1 + (m[0][0] == "t")]]),
    (r"(?<=\D):|" + _UNCOUNTED, " "),
    (_ZH_TIME_NUMBER, lambda m: _read_zh_number(m[0])),
    (r"(?<=\d) (?=[点时分号日月刻个秒天小钟])|(?<=[每隔第]) (?=\d)", ""),
)
"""How weekdays and numbers are written first; weekdays before others: “周五9点” has no gap between its two."""
_UNEVEN = msg("it counts days of the month and of the week, not from one run to the next")
_NO_LAST, _NO_NTH = msg("it knows no last day of a month"), msg("it counts no weekdays within a month")
_IMPOSSIBLE = (
    (r"every other (?!hour)|alternat|fortnight|bi-?weekly|every second (?:day|week|month|<)", _UNEVEN),
    (r"隔1?个?(?:周|星期|礼拜|天|日|月|<)|单周|双周|大小周", _UNEVEN),
    (r"(?:每|every )隔? ?(?!1\b|1[天日周])\d{1,4} ?个?(?:天|日|周|星期|礼拜|days\b|weeks\b)", _UNEVEN),
    (r"last (?:working |business |week)?(?:day|<)|end of (?:the |each |every )?month", _NO_LAST),
    (r"最后1?个?(?:天|日|工作日|周|星期|礼拜|<)|月底|月末|倒数", _NO_LAST),
    (r"(?:[1-4](?:st|nd|rd|th)|first|second|third|fourth) (?:<|working|business|weekday)", _NO_NTH),
    (r"第\d个?(?:工作日|周|星期|礼拜|<)", _NO_NTH),
    (r"农历|阴历|初[1-9]|lunar|节假日|holiday|sunrise|sunset|日出|日落", msg("it knows no holidays and no moon")),
    (
        r"\bexcept|\bbut not\b|\bunless\b|\bexcluding\b|除[^,、]{0,12}外|除了|不含|不包括|跳过",
        msg("it knows no exceptions"),
    ),
    (r"\d ?秒|\d seconds?\b|\bevery second\b", msg("it knows no seconds")),
)
"""What a line of cron cannot say, and why."""
_ENGLISH = (
    (r"\b([ap])\.?m\b\.?", r"\1m"),
    (r"\b(?:mornings|afternoons|evenings|nights)\b", lambda m: f"每{_PART_NAMES[m[0][:-1]]}"),
    (r"\b(?:in the |at )?(morning|afternoon|evening|night)\b", lambda m: _PART_NAMES[m[1]]),
    (r"\bnightly\b", "每夜里"),
    (r"\btonight\b", "今天晚上"),
    (r" ?o'clock\b", "点"),
    (_MONTH + r"\.?", lambda m: f"{_MONTHS.index(m[1][:3]) + 1}月"),
    (r"\b(" + "|".join(_ORDINALS) + r")\b", lambda m: f"{_ORDINALS.index(m[1]) + 1}st"),
    (r"(\d{1,2})(?:st|nd|rd|th)\b(?: day)?(?: of)?|\bday (\d{1,2})\b", lambda m: f"{m[1] or m[2]}号"),
    (r"(\d{1,2})月 (\d{1,2})(?![\d:号]| ?(?:[ap]m|点))", r"\1月\2号"),
    (r"(?<![\d:])(\d{1,2})号? (\d{1,2})月", r"\2月\1号"),
    (r"\b(?:every|each|on) (?=<|\d{1,2}月)", "每"),
    (r"\b(?:once )?(?:every|each) half[ -](?:an )?hour\b|\bhalf-hourly\b", "每30分钟"),
    (r"\b(?:once )?(?:every|each)(?: single)? ?(\d{0,4}) ?min(?:ute)?s?\b|\bonce a minute\b", r"每\1分钟"),
    (r"\b(?:once )?(?:every|each|an|per)(?: single)? ?(\d{0,4}) ?h(?:ou)?rs?\b|\bhourly\b", r"每\1小时"),
    (r"\bevery other hour\b", "每2小时"),
    (r"\b(?:every|each) (\d{1,2}) months?\b", r"每\1个月"),
    (r"\b(?:once|twice|\d times) (?:a|per) (?=day|week|month|year)", "every "),
    (r"\bdaily\b|\b(?:every|each)(?: single)? ?day\b|\b(?:every|each) (?=早上|下午|晚上|夜里|noon)", "每天"),
    (r"\bweekly\b|\b(?:every|each) week\b", "每周"),
    (r"\bmonthly\b|\b(?:of )?(?:the|every|each) month\b", "每月"),
    (r"\bquarterly\b|\b(?:of )?(?:every|each) quarter\b", "每季"),
    (r"\byearly\b|\bannually\b|\b(?:of )?(?:every|each) year\b", "每年"),
    (r"\bday after tomorrow\b", "后天"),
    (r"\btomorrow\b", "明天"),
    (r"\btoday\b", "今天"),
    (r"\bon the half[ -]hour\b|\bhalf past(?: the hour| 每)", "第30分"),
    (r"\bquarter past(?= (?:the hour|每))", "15 past"),
    (r"\b(?:at |on )?(?:minute )?:?(\d{1,2})(?: minutes?)? past(?: the hour\b|(?= *每)| *$)", r"第\1分"),
    (r"\bat (?:minute |:)(\d{1,2})\b", r"第\1分"),
    (_PAST + r"(?: ?点)?", lambda m: _format_past(m)),
    (r"\b(?:12 ?)?(?:noon|midday)\b|正午", "中午12点"),
)
"""How English says what Chinese says shorter; in this order."""
_CHINESE = (
    (r"今([晚早])", r"今天\1"),
    (r"明([晚早])", r"明天\1"),
    (r"元旦|new year's day", "1月1号"),
    (r"国庆节?", "10月1号"),
    (r"劳动节", "5月1号"),
    (r"天天|每1天|每日", "每天"),
    (r"每个?(?=[早晚夜]|上午|下午|中午|傍晚|清晨|凌晨)", "每天"),
    (r"每隔?半个?(?:小时|钟头|点钟)", "每30分钟"),
    (r"第1天|首日|(?<=月)初(?=\D)", "1号"),
    (r"(?<=[\d])日", "号"),
    (r"的?半点(?=\D|$)", "第30分"),
)
_LEFT_OVER = (
    r"\d{1,9}|[点时月周季晚夜晨]|星期|礼拜|上午|下午|中午|<|\b(?:every|each|[ap]m|week\w{0,3}|month\w{0,3}|years?|days?"
    r"|hours?|minutes?|half|quarter|past|midnight|lunch\w{0,4})\b"
)


def parse_schedule(text: str, now: datetime) -> Schedule:
    """Return when *text* says, *now* being the time at which it says so; raise BadInput where that is not certain."""
    reader = _Reader(text)
    reader.rewrite()
    interval = reader.take_interval()
    days = reader.take_days(now, interval[0] if interval and interval[1] == "month" else 1)
    is_clock = not interval or interval[1] == "month"
    times = reader.take_times() if is_clock else []
    if is_clock and not times:
        raise reader.build_error(msg("it says no time of day"))
    if left := reader.find(_LEFT_OVER):
        raise reader.build_error(msg("“{part}” is not understood", part=left[0]))
    if days.once:
        return Schedule(at=_format_once(reader, days.once, times, now))
    if interval and not is_clock:
        return Schedule(cron=_format_cron(interval[1], interval[2], days))
    if not days.is_named:
        raise reader.build_readings(_EACH_DAY, msg("once, at the next such time"))
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
        raise reader.build_error(msg("it is once, and names more than one time"))
    when = datetime(day.year, day.month, day.day, *times[0])
    if when <= now.replace(tzinfo=None):
        raise reader.build_error(msg("that time is over"))
    return f"{when:%H:%M %Y-%m-%d}"


class _Reader:
    """The text of a schedule; each `take_…` takes its words out, so that what nobody understood is left."""

    def __init__(self, text: str) -> None:
        self.given = " ".join(text.split())[:200]  # characters that are read
        self.rest = normalize("NFKC", self.given).casefold().replace("點", "点").replace("週", "周").replace("禮", "礼")

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
        return BadInput(said, hint=msg("say it like “every Monday at 9:00” or “每周一早上9点”"))

    def build_readings(self, first: Message, second: Message) -> BadInput:
        return self.build_error(msg("it can mean “{first}” or “{second}”", first=first, second=second))

    def build_impossible(self, reason: Message) -> BadInput:
        return self.build_error(msg("one line of cron cannot say that: {reason}", reason=reason))

    def rewrite(self) -> None:
        """Bring the text into the short notation: <1> is a Monday, 3月1号 a date; raise BadInput for the impossible."""
        for pattern, mark in _MARKS:
            self.rest = re.sub(pattern, mark, self.rest)
        for pattern, reason in _IMPOSSIBLE:
            if self.find(pattern):
                raise self.build_impossible(reason)
        if self.find(r"\b(?:around|about|roughly|sometimes?|some time|or so)\b|左右|大概|大约|前后|有时"):
            raise self.build_error(msg("it says no exact time"))
        if self.find(r"\b(?:utc|gmt|[cp]st|cet|e[ds]t|pdt)\b|北京时间|时区|time ?zone"):
            raise self.build_error(msg("a crontab runs by the clock of its machine: say the time there"))
        for pattern, now in (*_ENGLISH, *_CHINESE):
            self.rest = re.sub(pattern, now, self.rest)
        if self.take(r"(?:晚上?|夜里|半夜|深夜) ?12[点:](?:整|00)?"):
            raise self.build_readings(_DAY_START, _DAY_END)
        if self.find(r"midnight|午夜") and not self.take(r"(?:just )?(?:after |at )?(?:midnight|午夜)(?=[, ]{1,3}\d)"):
            if self.find(r"<|[号月]"):
                raise self.build_readings(_DAY_START, _DAY_END)
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
        first, last = self._take_hour_range() or (0, 24)
        every = "*" if step == 1 else f"*/{step}" if step < whole else "0"
        if is_minutes:
            return step, every, "*" if (first, last) == (0, 24) else _format_numbers({*range(first, last)})
        minutes = self._take_numbers(r"[和、,的]?第(\d{1,2})分钟?", 59, 0)
        start = (0, 0) if minutes else self._take_start()
        minute = _format_numbers(minutes or {start[1]})
        if last == 24 and not start[0] % step:
            return step, minute, every
        hours = {*range(first, last + 1, step)} if last < 24 else {*range(start[0] % step, 24, step)}
        return step, minute, _format_numbers(hours)

    def _build_uneven(self, step: int, whole: int) -> BadInput:
        why = msg("{step} does not divide {whole}, so the steps are uneven", step=step, whole=whole)
        return self.build_impossible(why)

    def _take_hour_range(self) -> tuple[int, int] | None:
        found = self.take(rf"(?:between |from |从)?{_TIME} ?(?:and|{_TO}) ?{_TIME}(?:之间)?")
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
        return hours[0], hours[1]

    def _take_start(self) -> tuple[int, int]:
        """Return hour and minute from which the steps of hours are counted."""
        self.take(r"on the hour|(?:at )?整点")
        if not self.take(r"\bstart(?:ing|s)?\b(?: from| at)?|\bfrom\b|从"):
            return 0, 0
        times = self.take_times()
        return times[0] if times else (0, 0)

    # on which days

    def take_days(self, now: datetime, month_step: int) -> _Days:
        """Return on which days it is done; *month_step*: in every so many months."""
        once = self._take_once(now)
        if month_step > 1 and 12 % month_step:
            raise self._build_uneven(month_step, 12)
        named = self._take_numbers(r"(?<!\d)(\d{1,2})月份?的?", 12)
        months = {*range(1, 13, month_step)} if month_step > 1 else named
        if self.take(r"每个?季度?的?"):
            months = months or {1, 4, 7, 10}
        week = self._take_weekdays()
        is_yearly, is_monthly, is_weekly, is_daily = (bool(self.take(rf"每个?{unit}的?")) for unit in "年月周天")
        is_weekly = is_weekly or bool(self.take(r"每个?(?:星期|礼拜)"))
        month = self._take_numbers(
            r"(?:the |on )?(?<![\d:])(\d{1,2})(?: ?(?:[,、/&和及与]|and) ?(?=(?:the )?\d{1,2}[号、,])|号)", 31
        )
        if week and month:
            raise self.build_impossible(msg("with a weekday and a day of the month it runs on either"))
        if is_weekly and not week:
            raise self.build_readings(msg("once a week, on a day it does not name"), _EACH_DAY)
        if (is_monthly or is_yearly or months) and not (month or week):
            raise self.build_readings(msg("once a month, on a day it does not name"), _EACH_DAY)
        next_date = _find_next_date(now, min(months), min(month)) if months and month else now.date()
        if not next_date or (is_yearly and not months):
            raise self.build_error(msg("there is no such day"))
        if len(months) == len(month) == 1 and not (is_yearly or self.take(r"每")):
            once = next_date
        return _Days(bool(is_daily or week or month), week, month, months, once)

    def _take_numbers(self, pattern: str, most: int, least: int = 1) -> set[int]:
        numbers: set[int] = set()
        while found := self.take(pattern):
            numbers.add(self._check(int(found[1]), most, least))
        return numbers

    def _take_weekdays(self) -> set[int]:
        """Return the weekdays, 0 for Sunday; a range may run across the end of a week."""
        days: set[int] = set()
        while found := self.take(r"(?:每个?|每?逢)?<(\d)>(?:-<(\d)>)?"):
            first, last = int(found[1]), int(found[2] or found[1])
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
            raise self.build_error(msg("it is once: say the day and the time"))
        return None

    # at what time

    def take_times(self) -> list[tuple[int, int]]:
        """Return the times of day as hour and minute, in order."""
        times: list[tuple[int, int]] = []
        last, is_whole = (
            "",
            re.search(r"(?<![\d:])(?:1[3-9]|2[0-3])[点:]", self.rest),
        )  # “9点和21点”: the clock of 24 hours
        lead = r"(\bat |\bfrom |\band |[,&+] ?|^ ?|\| {0,2})?"
        while found := self.take(lead + _TIME + r"(?! ?[\d:号月周天个分]|[一-鿿])|" + lead + _TIME):
            before, part, hour, colon, half, quarter, minute, behind = (
                found.groups()[:8] if found[3] else found.groups()[8:]
            )
            is_clock = "点" in found[0] or bool(colon)
            if not (is_clock or part or behind or before is not None):
                raise self.build_error(msg("“{part}” is not understood", part=hour))
            spoken = self.find(_PART)  # “every morning at 7”: it holds for all times
            last = behind or part or last or (spoken[0] if spoken else "")
            minutes = 30 if half else 15 * int(quarter) if quarter else int(colon or minute or 0)
            is_plain = bool(is_whole and not last) or (bool(colon) and (not last or hour[0] == "0"))
            times.append((self._check(int(hour), 23) if is_plain else self._resolve_hour(int(hour), last), minutes))
        if len(times) > 1 and self.find(_TO + r" ?\|"):
            raise self.build_error(msg("it says from when to when, and not how often"))
        if times:  # each time has taken its part of the day already
            self.rest = re.sub(_PART, " ", self.rest)
        return sorted(set(times))

    def _resolve_hour(self, hour: int, part: str) -> int:
        """Return the hour of 24 that *hour* is in *part* of the day; raise BadInput where there are two readings."""
        self._check(hour, 24)
        if hour > 12 or (hour == 0 and part not in _AFTERNOON):
            return hour % 24
        if part in _MORNING:
            return 0 if hour == 12 and part in ("am", "凌晨") else hour
        if part in _AFTERNOON or part == "中午":
            return hour if hour == 12 or (part == "中午" and hour > 10) else hour + 12
        if part and hour == 12:
            raise self.build_readings(_DAY_START, _DAY_END)
        if part and hour >= 5:  # “晚上8点”, "8 at night"
            return hour + 12
        if part in _NIGHT:
            return hour
        first, second = (msg("{time}", time=f"{one % 24:02}:00") for one in (hour, hour + 12))
        raise self.build_readings(first, second)

    def _check(self, number: int, most: int, least: int = 0) -> int:
        """Return *number*; raise BadInput where it is none of *least* to *most*."""
        if not least <= number <= most:
            raise self.build_error(msg("{number} is out of range", number=number))
        return number


def _read_zh_number(text: str) -> str:
    """Return the digits of a Chinese number: 二十三 is 23, 十 is 10, 零五 is 05."""
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return "".join(str(_ZH_DIGITS[digit]) for digit in ones)
    if len(tens) > 1 or len(ones) > 1:
        return text
    return str(10 * _ZH_DIGITS.get(tens, 1) + _ZH_DIGITS.get(ones, 0))


def _mark_weekdays(days: str) -> str:
    """Return Chinese weekdays in the short notation: 一、三 is <1><3>."""
    numbers = (int(day) % 7 if day.isdecimal() else "日一二三四五六".find(day.replace("天", "日")) for day in days)
    return "".join(f"<{number}>" for number in numbers if number >= 0)


def _format_past(found: re.Match[str]) -> str:
    """Return “half past 7” as 7点30, and “quarter to 9” as 8点45."""
    minutes = {"quarter": 15, "half": 30}.get(found[1]) or int(found[1])
    total = (int(found[3]) % 12 or 12) * 60 + (minutes if found[2] == "past" else -minutes)
    return f"{total // 60 or 12}点{total % 60}"


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
