"""The words of time in Chinese and English, and how they are written in the short notation that schedules are read in.

<1> is a Monday, 3月1号 a date, 9点30 a time, 第20分 a minute of each hour; “every” is 每.
"""

from __future__ import annotations

import re
from collections.abc import Set

from kb.i18n import msg

DAY_START, DAY_END = msg("00:00, as that day begins"), msg("24:00, as it ends")
EACH_DAY = msg("every day")
MORNING = ("凌晨", "清晨", "清早", "早晨", "早上", "早", "上午", "am")
AFTERNOON = ("午后", "下午", "傍晚", "黄昏", "pm")
NIGHT = ("夜里", "夜间", "深夜", "半夜", "夜")
PART = "凌晨|清晨|清早|早晨|早上|早|上午|中午|午后|下午|傍晚|黄昏|晚上|晚|夜里|夜间|深夜|半夜|夜"
_PART_NAMES = {"morning": "早上", "afternoon": "下午", "evening": "晚上", "night": "夜里"}
TO = r"(?:到|至|-|~|–|—|to|till|until|through|thru)"
_CLOCK = r"(?:[:.]([0-5]\d)|点钟?(?:(半)|([13])刻|整|(\d{1,2})分?)?)"
TIME = rf"({PART})?的? ?(?<![\d:<])(\d{{1,2}})(?! ?[天个次遍人台份条](?!半)){_CLOCK}?" + (
    rf"(?:,? ?((?:(?:{PART})(?!的? ?\d)|[ap]m\b)))?"
)
"""Part of the day, hour, minutes in one of four ways, part of the day after it."""

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
COUNT = (
    r"[每一1]个?(周|星期|礼拜|天|日|月|小时) ?([一二三四五六七两\d])次|"
    r"\b(twice|(?:two|three|four|five|six|\d)(?= times)) ?(?:times )?(?:a|an|per|every|each) (day|week|month|hour)\b"
)
COUNTS = {"twice": 2, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "两": 2} | {
    digit: n for n, digit in enumerate("零一二三四五六七")
}
UNITS = {"day": "天", "week": "周", "month": "月", "hour": "小时"}
_UNCOUNTED = (
    r"[一1](?:次|下(?!午)|趟|遍)(?!性)|[日周月季年]报|时候|\(?(?:both )?inclu(?:ded|sive)\)?|\(\d+ and \d+ included\)"
)
"""What has the looks of a time and is none: “跑一次”, “发周报”."""
MARKS = (
    (r"元旦|new year's day", "每年1月1号"),
    (r"双11|双十一|光棍节", "每年11月11号"),
    (r"双12|双十二", "每年12月12号"),
    (r"圣诞节?|christmas(?: day)?", "每年12月25号"),
    (r"new year's eve", "每年12月31号"),
    (r"儿童节", "每年6月1号"),
    (r"国庆节?", "每年10月1号"),
    (r"劳动节", "每年5月1号"),
    (
        r"\b(?:minute|min) (?:of|during|in|within) (?:the|that) hour,? (?:starting|beginning|that starts|from)"
        r"(?: at| from)? "
        r"(\d{1,2})(?::00)? ?([ap]m\b)?",
        lambda m: f"minute from {m[1]}{m[2] or ':00'} to {int(m[1]) + 1}{m[2] or ':00'}",
    ),
    (
        r"\b(?:every|each) (?:(second|third|fourth|sixth)|(\d{1,2})(?:st|nd|rd|th)) (hour|minute)\b"
        r"(?: of the (?:day|hour)\b)?",
        lambda m: f"every {m[2] or {'s': 2, 't': 3, 'f': 4}[m[1][0]] * (3 if m[1] == 'sixth' else 1)} {m[3]}",
    ),
    (r"\b(?:seven|7) days a week\b|\b(?:every|each) day of the (?:week|month|year)\b", "every day"),
    (r"\beach and every\b|\bevr?e?y\b(?<!every)", "every"),
    (r"\beveryday\b", "every day"),
    (r",? ?\ball day(?: long)?\b", " "),
    (r"(?<!hour )\bon the hour\b(?=[, ]*$)", "every hour"),
    (r"\bweek ?nights?\b", "weekday nights"),
    (r"\bfirst thing(?: in the| in)?(?= |$)|\bsharp\b|整整|准时|\bo clock\b", " "),
    (r"(?:早晚|早中晚|上下午)?各(?:跑|执行|来|发|做)?[一1]?次", " "),
    (r"[每一1](个?(?:周|星期|礼拜|天|日|月|小时)) ?[一二三四五六七两\d]次", r"每\1"),
    (r"(?<=点) (?=\d{1,2} ?分)", ""),
    (r"(?<![\d点]):([0-5]\d)\b", r"第\1分"),
    (r"(?:每个?)?(?:工作日|平日|上班日)", "<1>-<5>"),
    (r"\b(?:every |each |on )?(?:weekdays?|(?:working|work|business) ?days?)\b(?! of)", "<1>-<5>"),
    (r"每?逢?个?(?:周末|双休日)(?:[2两]天)?|\b(?:every |each |on |at )?(?:the )?weekends?\b", "<6><0>"),
    (_ZH_WEEKDAYS, lambda m: _mark_weekdays(m[1])),
    (rf"(?<=>){TO}([一二三四五六日天])", lambda m: f"-{_mark_weekdays(m[1])}"),
    (rf"^每?逢?([一二三四五六日]{{2,6}})(?=的?(?:{PART}))", lambda m: _mark_weekdays(m[1])),
    (_WEEKDAY, lambda m: f"<{_WEEKDAYS.index(m[0][:3])}>"),
    (rf"(?<=>) ?{TO} ?(?=<)", "-"),
    (rf"\b({'|'.join(_ONE_TO_TWELVE)})\b", lambda m: str(_ONE_TO_TWELVE.index(m[1]) + 1)),
    (
        r"\b(?:a )?(quarter|half|\d{1,2}|ten|five)(?: minutes?)? (past|after|to|before) (midnight|noon|midday)\b",
        lambda m: _format_past_twelve(m),
    ),
    (r"\b(?:fifteen|twenty|thirty)\b", lambda m: {"f": "15", "tw": "20", "th": "30"}[m[0][: 1 + (m[0][0] == "t")]]),
    (r"(?<=\D):|" + _UNCOUNTED, " "),
    (_ZH_TIME_NUMBER, lambda m: _read_zh_number(m[0])),
    (r"(?<=\d) (?=[点时分号日月刻个秒天小钟])|(?<=[每隔第]) (?=\d)", ""),
)
"""How weekdays and numbers are written first; weekdays before others: “周五9点” has no gap between its two."""
_UNEVEN = msg("cron counts days of the month and of the week, not days between runs")
_NO_LAST, _NO_NTH = (
    msg("cron does not know the last day of a month"),
    msg("cron does not count the weekdays of a month"),
)
IMPOSSIBLE = (
    (
        r"every other (?!hour)|alternat|fortnight|bi-?weekly|"
        r"(?:every|each) (?:second|third|fourth|fifth|[2-9](?:nd|rd|th)) (?:(?:day|week|month)s?\b(?! of)|<)",
        _UNEVEN,
    ),
    (r"隔1?个?(?:周|星期|礼拜|天|日|月|<)|单周|双周|大小周", _UNEVEN),
    (r"(?:每|every )隔? ?(?!1\b|1[天日周])\d{1,4} ?个?(?:天|日|周|星期|礼拜|days\b|weeks\b)", _UNEVEN),
    (r"last (?:working |business |week)?(?:day|<)|end of (?:the |each |every )?month", _NO_LAST),
    (r"最后1?个?(?:天|日|工作日|周|星期|礼拜|<)|月底|月末|倒数", _NO_LAST),
    (r"(?:[1-4](?:st|nd|rd|th)|first|second|third|fourth) (?:<|working|business|weekday)", _NO_NTH),
    (r"第\d个?(?:工作日|周|星期|礼拜|<)", _NO_NTH),
    (
        r"农历|阴历|春节|除夕|端午|中秋|清明|重阳|元宵|easter|thanksgiving|(?<!月)初[1-9]|lunar|节假日|holiday|sunrise|sunset|日出|日落",
        msg("cron knows neither holidays nor phases of the moon"),
    ),
    (
        r"\bexcept|\bbut\b|\bother than\b|\bapart from\b|\bsave for\b|\bexcluding\b|\bskip|\bn(?:ot|o|ever)\b|"
        r"\bwithout\b|<\d> ?off\b|\b(?:otherwise|else)\b|除[^,、]{0,12}外|除了|跳过|"
        r"不(?:含|包括|算|跑|执行|运行|做|发|用|要|工作|上班|备份)|休息|停(?:跑|$|[,、止])|否则|其[他余它]|顺延",
        msg("cron has no exceptions"),
    ),
    (
        r"\b(?:if|unless|when(?:ever)?|while|once (?:it|the)|provided|depending|as long as|as soon as)\b|"
        r"如果|要是|假如|只要|的话|[若当](?=[^,、]{1,12}时)|只在|仅在",
        msg("cron has no conditions"),
    ),
    (r"\d ?秒|\d seconds?\b|\bevery second\b", msg("cron does not know seconds")),
    (
        r"\b(?:spring|summer|autumn|winter|season\w*|term|semester)\b|[春夏秋冬][天季]|寒假|暑假|学期|旺季|淡季",
        msg("cron does not know seasons"),
    ),
    (
        r"\b(?:until|till) (?![\d<])|\b(?:before|after|by|since|no later than) (?:\d|noon|<)|直到|截止|为止|年底|年末|"
        r"(?<=[\d点半刻])[之以]?(?:前(?!后)|后)|(?:[点半刻\d]|[ap]m) ?(?:to|until|till|through|thru|到|至) ?<",
        msg("it names no day and no time to begin or end"),
    ),
    (r"每半个月|每半月|half[- ]monthly|semi-?monthly", _UNEVEN),
)
"""What a line of cron cannot say, and why."""
ENGLISH = (
    (r"\b([ap])\.?m\b\.?", r"\1m"),
    (
        r"\bat ([01]\d|2[0-3])([0-5]\d)\b|(?<![\d:-])(0\d)([0-5]\d)(?![\d:-])",
        lambda m: f"at {m[1] or m[3]}:{m[2] or m[4]}",
    ),
    (r"(第\d{1,2}分|\bminute \d{1,2}),? and (?:minute )?(\d{1,2})\b(?![:\d])", r"\1 and minute \2"),
    (r"\bat minute (\d{1,2}) and minute (\d{1,2})\b", r"第\1分和第\2分"),
    (r"\bat (\d{1,2}) past and (\d{1,2}) past\b", r"第\1分和第\2分"),
    (r"\b(?:mornings|afternoons|evenings|nights)\b", lambda m: f"每{_PART_NAMES[m[0][:-1]]}"),
    (r"\b(?:in the |at )?(morning|afternoon|evening|night)\b", lambda m: _PART_NAMES[m[1]]),
    (r"\bnightly\b", "每夜里"),
    (r"\btonight\b", "今天晚上"),
    (r" ?o'clock\b", "点"),
    (_MONTH + r"\.?", lambda m: f"{_MONTHS.index(m[1][:3]) + 1}月"),
    (r"\b(" + "|".join(_ORDINALS) + r")\b", lambda m: f"{_ORDINALS.index(m[1]) + 1}st"),
    (r"(\d{1,2})(?:st|nd|rd|th)\b(?: day)?(?: of)?|\bday (\d{1,2})\b(?![:.]\d| ?[ap]m)", lambda m: f"{m[1] or m[2]}号"),
    (r"\b(?:every|each) (?=\d{1,2}号)", "每月"),
    (r"(\d{1,2})月 (\d{1,2})(?![\d:号日]| ?(?:[ap]m|点))", r"\1月\2号"),
    (r"(?<![\d:])(\d{1,2})号? (\d{1,2})月", r"\2月\1号"),
    (rf"(?:\bfrom )?(?<!\d)(\d{{1,2}})月 ?{TO} ?(\d{{1,2}})月(?! ?\d)", lambda m: _list_months(int(m[1]), int(m[2]))),
    (r"\b(?:every|each|on) (?=<)|\b(?:every|each) (?=\d{1,2}月)", "每"),
    (r"\b(?:every|each) quarter(?: of an)?[ -]hour\b|\bquarter-hourly\b", "每15分钟"),
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
    (r"\bon the half[ -]hour\b|\bhalf past(?: the hour|(?= 每))", "第30分"),
    (r"\bquarter past(?= (?:the hour|每))", "15 past"),
    (r"\b(?:at |on )?(?:minute )?:?(\d{1,2})(?: minutes?)? past(?: the hour\b|(?= *每)| *$)", r"第\1分"),
    (r"\bat (?:minute |:)(\d{1,2})\b", r"第\1分"),
    (_PAST + r"(?: ?点)?", lambda m: _format_past(m)),
    (r"\b(?:12 ?)?(?:noon|midday)\b|正午", "中午12点"),
)
"""How English says what Chinese says shorter; in this order."""
CHINESE = (
    (r"今([晚早])", r"今天\1"),
    (r"明([晚早])", r"明天\1"),
    (r"天天|每1天|每日", "每天"),
    (r"每半年", "每6个月"),
    (r"每1?刻钟", "每15分钟"),
    (r"月初(?=1?号|\d)", "每月"),
    (r"(?<=点)过(?=\d)", ""),
    (r"(?<!\d)(\d{1,2})时 ?(?:(\d{1,2})分|整)?(?![候间段])", lambda m: f"{m[1]}:{m[2] or '00':0>2}"),
    (r"第(\d{1,2})[天日](?!后)", r"\1号"),
    (r"(?<=[\d])日", "号"),
    (r"(?<!\d)(\d{1,2})[、和,](?=(?:\d{1,2}[、和,]){0,10}\d{1,2}月)", r"\1月、"),
    (r"每个?(?:小时|钟头)的?整点[和、及]", "每小时第0分和"),
    (r"(?:从)?(?<!\d)(\d{1,2})月?[到至~–-](\d{1,2})月(?!\d)", lambda m: _list_months(int(m[1]), int(m[2]))),
    (
        r"(\d{1,2})号? ?(?:到|至|-|~|–|to|through|thru|till|until) ?(\d{1,2})号",
        lambda m: _list_days(int(m[1]), int(m[2])),
    ),
    (r"(小时|钟头)(?:的|:|过)?(\d{1,2})分", r"\1第\2分"),
    (r"(第\d{1,2}分钟?(?:[和、,及]| ?and |, ))(?:第)?(\d{1,2})分", r"\1第\2分"),
    (rf"({PART})(?:和|、|,|及|与| ?and )? ?({PART})的?(?: ?at)? ?(?=\d)(\d{{1,2}}{_CLOCK}?)", r"\1\3、\2\3"),
    (r"(?<![\d点每隔第后])(\d{1,2})分钟(?![之以]?[后内前])", r"每\1分钟"),
    (r"(?<!每)(?<!隔)(?:半个?)(?:小时|钟头)(?= *(?:$|[一1跑执]))", "每30分钟"),
    (r"每个?(?=[早晚夜]|上午|下午|中午|傍晚|清晨|凌晨)", "每天"),
    (r"每隔?半个?(?:小时|钟头|点钟)", "每30分钟"),
    (r"(?<!最后)第1天|首日|头1?天|(?<=月)初(?=\D)", "1号"),
    (r"的?半点(?=\D|$)", "第30分"),
)
_DAY_TOKEN, _TIME_TOKEN = r"(?:<\d>|\d号|每天)", r"(?:点|\d:\d|\d ?[ap]m\b)"
PAIRS = (
    f"{_DAY_TOKEN}.*{_TIME_TOKEN}.*{_DAY_TOKEN}.*{_TIME_TOKEN}|{_TIME_TOKEN}.*{_DAY_TOKEN}.*{_TIME_TOKEN}.*{_DAY_TOKEN}"
)
"""A day and its time, and another day with another time: “周一9点、周五18点”, “9am weekdays and 10am on Saturday”."""
LEFT_OVER = (
    r"\d{1,9}|[两二三四五六七八九十][次遍趟回]|[点时月周季晚夜晨]|星期|礼拜|上午|下午|中午|<|\b(?:every|each|[ap]m|week\w{0,3}|month\w{0,3}|years?|days?"
    r"|hours?|minutes?|half|quarter|past|midnight|lunch\w{0,4})\b"
)


UNION = (
    r"(?:<\d>|号)[^|<号]{0,24}(?:\balso\b|\bas well as\b|\bplus\b|\band\b|\+|另外|此外|还有|以及|加上|和|及)"
    r"[^|<号]{0,24}"
    r"(?:<\d>|\d号)"
)
"""A weekday and a day of the month, either of which is meant."""
FILLERS = re.compile(
    r"\b(?:a|an|the|it|and|also|as well as|plus|again|at|on|in|of|it's|only|please|pls|thanks|thx|both|each|all|once|"
    r"exactly|precisely|always|run|do|just|every time|(?:whatever|whichever) (?:week)?day (?:that|it) (?:is|may be)|"
    r"each time|regularly|punctually|same time)\b|请|麻烦|"
    r"[和及与跟在的都要也是就里内把再各&+]|另外|此外|还有|以及|加上|开始|"
    r"一?次|一下|固定|定时|定期|时间|[。“”\"'…~]|(?:当天|那天|时候|时)(?=$|[ |,、])"
)
"""Words that say nothing of when."""
TASK = re.compile(
    r"(?:to )?(?:run|send|do|make|start|launch|trigger|back ?up|remind|post|publish|check|clean|clear|build|deploy|"
    r"sync|update|refresh|report|generate|create|rotate|restart|reboot|execute|call|ping|notify|pull|push|fetch|test|"
    r"scan|print|write|mail|e-?mail|tell|show|review|archive|export|import|index|prune|compact|rebuild|reindex|"
    r"release|wake|open|close|stop|kb|digest|summari[sz]e|i want(?: to)?)\b|"
    r"(?:给我|帮我|我想|让它|自动)?(?:跑|执行|运行|发|做|备份|提醒|检查|清理|构建|部署|同步|更新|生成|重启|启动|触发|推送|拉|"
    r"汇总|统计|归档|导出|导入|巡检|扫描|轮换|开会|开|写|看|通知|打印|刷新|上线|整理|总结|复盘|出|测|调用|报|叫|来|交|站会|例会|周会)"
)
"""How what is to be done begins."""
TASK_LIMIT = re.compile(
    r"\b(?:until|till|after|before|during|unless|except|but|while|since|within|through|throughout|between|starting|"
    r"beginning|ending|from|for|in|on|by|over|past|later|earlier|than|into|then)\b|[前后除外直止若如期隔间内]|以|每"
)
"""What a task cannot have, since it may limit when."""


def _read_zh_number(text: str) -> str:
    """Return the digits of a Chinese number: 二十三 is 23, 十 is 10, 零五 is 05."""
    tens, ten, ones = text.rpartition("十")
    if not ten:
        return "".join(str(_ZH_DIGITS[digit]) for digit in ones)
    if len(tens) > 1 or len(ones) > 1:
        return text
    return str(10 * _ZH_DIGITS.get(tens, 1) + _ZH_DIGITS.get(ones, 0))


def is_within(part: str, hours: Set[int]) -> bool:
    """Return whether one of *hours* lies in *part* of the day: 02:00 is at night, and 09:00 is no afternoon."""
    first, last = (0, 12) if part in MORNING else (12, 19) if part in AFTERNOON else (10, 14)
    if part not in (*MORNING, *AFTERNOON, "中午"):
        return any(hour >= 17 or hour <= 6 for hour in hours)
    return any(first <= hour <= last for hour in hours)


def _list_days(first: int, last: int) -> str:
    """Return the days of the month from *first* to *last*: 1号、2号、3号."""
    return "、".join(f"{day}号" for day in range(first, last + 1)) if first < last <= 31 else f"{last}号到{first}号"


def _list_months(first: int, last: int) -> str:
    """Return the months from *first* to *last*, across the end of a year too: 11月、12月、1月."""
    if not (1 <= first <= 12 and 1 <= last <= 12):
        return f"{first}月到{last}月"
    return "、".join(f"{(first + n - 1) % 12 + 1}月" for n in range((last - first) % 12 + 1)) + " "


def _mark_weekdays(days: str) -> str:
    """Return Chinese weekdays in the short notation: 一、三 is <1><3>."""
    numbers = (int(day) % 7 if day.isdecimal() else "日一二三四五六".find(day.replace("天", "日")) for day in days)
    return "".join(f"<{number}>" for number in numbers if number >= 0)


def _format_past(found: re.Match[str]) -> str:
    """Return “half past 7” as 7点30, and “quarter to 9” as 8点45."""
    minutes = {"quarter": 15, "half": 30}.get(found[1]) or int(found[1])
    total = (int(found[3]) % 12 or 12) * 60 + (minutes if found[2] == "past" else -minutes)
    return f"{total // 60 or 12}点{total % 60}"


def _format_past_twelve(found: re.Match[str]) -> str:
    """Return “ten past midnight” as 0:10, and “quarter to noon” as 11:45; a time before midnight as it is."""
    minutes = {"quarter": 15, "half": 30, "ten": 10, "five": 5}.get(found[1]) or int(found[1])
    is_noon, is_past = found[3] != "midnight", found[2] in ("past", "after")
    if not 0 < minutes < 60 or (not is_noon and not is_past):
        return found[0]
    total = 720 * is_noon + (minutes if is_past else -minutes)
    return f"{total // 60}:{total % 60:02}"
