"""What people paste by mistake: made-up secrets of many kinds in many surroundings, the same every time.

A template names alphabets and lengths (`{an36}`: 36 letters and digits) and marks with «» what must not stay; nothing
in this file is a secret. Kinds and carriers were listed from what tools issue and people paste, before the rules were
read. Half of both, chosen by a checksum of the name, is held out: rules are written against the other half.
"""

import base64
import json
import random
import re
import string
import zlib
from collections.abc import Callable, Iterator
from typing import NamedTuple

from bench.pastedkinds import KINDS, SNIPPETS

NAMED = {
    "env": "{ID}={v}",
    "env-double": 'export {ID}="{v}"',
    "env-single": "export {ID}='{v}'",
    "env-file": "DEBUG=1\n{ID}={v}\nPORT=8080\n",
    "yaml": "app:\n  {id}: {v}\n  debug: false",
    "yaml-quoted": '  {id}: "{v}"',
    "json": '{{"debug": true, "{id}": "{v}", "port": 1}}',
    "json-camel": '    "{camel}": "{v}",',
    "json-escaped": 'body: "{{\\"{id}\\":\\"{v}\\"}}"',
    "toml": '[auth]\n{id} = "{v}"',
    "ini": "[prod]\n{id} = {v}\n",
    "properties": "spring.app.{kebab}={v}",
    "python-call": 'client = Client({id}="{v}", timeout=3)',
    "python-index": "config['{id}'] = '{v}'",
    "python-typed": '{ID}: str = "{v}"',
    "python-default": 'os.environ.get("{ID}", "{v}")',
    "js-const": "const {camel} = '{v}';",
    "js-object": "  {camel}: '{v}',",
    "js-fallback": 'const key = process.env.{ID} || "{v}";',
    "go": '{camel} := "{v}"',
    "java": 'private static final String {ID} = "{v}";',
    "php-define": "define('{ID}', '{v}');",
    "php-array": "'{id}' => '{v}',",
    "ruby": ':{id} => "{v}"',
    "xml": "<{camel}>{v}</{camel}>",
    "xml-attribute": '<add key="{camel}" value="{v}" />',
    "docker-run": "docker run -e {ID}={v} app:latest",
    "dockerfile": "ENV {ID} {v}",
    "powershell": '$env:{ID} = "{v}"',
    "windows-set": "set {ID}={v}",
    "flag": "deploy --{kebab} {v} --region eu",
    "flag-equals": "deploy --{kebab}={v}",
    "flag-quoted": "deploy --{kebab} '{v}'",
    "header": "X-{Kebab}: {v}",
    "curl-header": "curl -s -H 'X-{Kebab}: {v}' https://api.internal/v1",
    "query": "GET https://api.internal/v1/items?page=2&{id}={u}&sort=asc",
    "form": "curl -d 'grant=x&{id}={u}' https://sso.internal",
    "table": "| {ID} | `{v}` |",
    "table-plain": "| {En} | {v} | rotate in May |",
    "bold": "**{En}**: `{v}`",
    "item": "- {en}: {v}",
    "kubernetes-env": '- name: {ID}\n  value: "{v}"',
    "compose": "environment:\n  - {ID}={v}",
    "terraform": 'variable "{id}" {{\n  default = "{v}"\n}}',
    "gh-secret": 'gh secret set {ID} --body "{v}"',
    "vault": "vault kv put secret/app {id}={v}",
    "helm": "helm upgrade app . --set auth.{camel}={v}",
    "log": "2024-05-02T10:11:12Z DEBUG settings loaded {id}={v} retries=3",
    "log-json": '{{"level":"warn","msg":"auth failed","{id}":"{v}"}}',
    "log-repr": "INFO connecting with {{'{id}': '{v}', 'retries': 3}}",
    "error": "ValueError: invalid {en} '{v}'",
    "error-expired": "401 Unauthorized: {en} {v} has expired",
    "diff": '+    {id}: "{v}",',
    "diff-env": "-{ID}={v}",
    "comment": "# {en}: {v}",
    "comment-code": "// TODO remove: {camel} = {v}",
    "prose-is": "The {en} is {v} on staging.",
    "prose-as": "Use {v} as the {en}.",
    "prose-set": "We set the {en} to {v} and restarted.",
    "prose-colon": "Here is the {en}: {v}, keep it to yourself.",
    "prose-paren": "I tried the {en} ({v}) and it worked.",
    "prose-bare": "my {en} {v} stopped working",
    "chat": "{en} for the test box -> {v}",
    "zh-is": "{zh}是 {v}，不要提交。",
    "zh-is-tight": "测试环境的{zh}是{v}。",
    "zh-colon": "{zh}：{v}",
    "zh-ascii-colon": "{zh}: {v}",
    "zh-set": "我把{zh}改成了 {v}，重启后生效。",
    "zh-set-tight": "已将{zh}设为{v}，记得轮换。",
    "zh-as": "用 {v} 作为{zh}。",
    "zh-quote": "{zh}为“{v}”",
    "zh-item": "1. {zh}：`{v}`",
    "zh-paren": "登录需要{zh}（{v}）",
    "zh-table": "| {zh} | {v} | 五月轮换 |",
}

ALONE = {
    "bare": "{v}",
    "ran": "I ran it with {v} and got a 403.",
    "ticks": "the call needs `{v}` now",
    "paren": "it stopped working ({v}).",
    "quoted": 'then paste "{v}" into the box',
    "end": "the one that worked was {v}.",
    "pipe": "echo -n {v} | pbcopy",
    "list": '["a", "{v}"]',
    "arrow": "old → {v}",
    "quote": "> {v}",
    "logged": "level=debug msg=sending value={v} attempt=2",
    "escaped": 'stdout: "line\\n{v}\\nline"',
    "angle": "the value <{v}> was rejected",
    "csv": "7,{v},2024-05-02",
    "zh-ran": "用 {v} 试了一下，返回 403。",
    "zh-tight": "请用{v}登录。",
    "zh-bracket": "把「{v}」填进去",
    "zh-comma": "试过{v}，不行",
    "zh-end": "换成这个就好了：{v}",
}


def fenced(text: str) -> str:
    """Return *text* between fences."""
    return f"```\n{text}\n```"


def _each(before: str) -> Callable[[str], str]:
    return lambda text: "\n".join(before + line for line in text.split("\n"))


def _numbered(text: str) -> str:
    return "\n".join(f"{number:6}\t{line}" for number, line in enumerate(text.split("\n"), 1))


def _json(text: str) -> str:
    return json.dumps({"content": text}, ensure_ascii=False)


WHOLE: dict[str, Callable[[str], str]] = {
    "raw": str,
    "fenced": fenced,
    "json-string": _json,
    "json-twice": lambda text: _json(_json(text)),
    "quoted": _each("> "),
    "indented": _each("    "),
    "compose-log": _each("app-1  | "),
    "numbered": _numbered,
    "arrow-numbered": lambda text: "\n".join(f"{n:>6}→{line}" for n, line in enumerate(text.split("\n"), 1)),
    "added": _each("+"),
    "heredoc": lambda text: f"cat > file <<'EOF'\n{text}\nEOF\nchmod 600 file",
    "crlf": lambda text: text.replace("\n", "\r\n"),
    "en-intro": lambda text: f"This is what I have on the server:\n\n{text}\n\nCan you see why it fails?",
    "zh-intro": lambda text: f"服务器上是这样写的：\n\n{fenced(text)}\n\n帮我看看哪里不对。",
}


class Pasted(NamedTuple):
    """One text with a secret in it."""

    kind: str
    carrier: str
    text: str
    secrets: tuple[str, ...]
    held_out: bool

    def left_in(self, text: str) -> str:
        """Return a piece of a secret that is still in *text*: eight characters on end, or all of a shorter one."""
        for line in "\n".join(self.secrets).split("\n"):
            size = min(8, len(line))
            for start in range(len(line) - size + 1):
                if size and line[start : start + size] in text:
                    return line[start : start + size]
        return ""


def pasted(seed: int = 1) -> Iterator[Pasted]:
    """Yield every kind in every carrier that suits it, kinds and carriers both held out or neither."""
    for kind, (template, ident, en, zh, alone) in KINDS.items():
        carriers = {**NAMED, **(ALONE if alone else {})}
        for carrier, frame in carriers.items():
            if held_out(kind) == held_out(carrier):
                value, secrets = made(template, random.Random(f"{seed} {kind} {carrier}"))
                names = _names(ident, en, zh)
                text = frame.format(v=value, u=_quoted(value), **names)
                if "{u}" in frame:
                    secrets = tuple(map(_quoted, secrets))
                yield Pasted(kind, carrier, text, secrets, held_out(kind))
    for kind, template in SNIPPETS.items():
        for carrier, wrap in WHOLE.items():
            if held_out(kind) == held_out(carrier):
                text, secrets = made(template, random.Random(f"{seed} {kind} {carrier}"))
                yield Pasted(kind, carrier, wrap(text), secrets, held_out(kind))


def held_out(name: str) -> bool:
    """Say whether the kind or carrier *name* belongs to the half that rules are not written against."""
    return zlib.crc32(name.encode()) % 2 == 1


def _names(ident: str, en: str, zh: str) -> dict[str, str]:
    words = ident.split("_")
    return {
        "id": ident,
        "ID": ident.upper(),
        "camel": words[0] + "".join(word.title() for word in words[1:]),
        "kebab": "-".join(words),
        "Kebab": "-".join(word.title() for word in words),
        "en": en,
        "En": en[0].upper() + en[1:],
        "zh": zh,
    }


def _quoted(value: str) -> str:
    return "".join(char if char.isalnum() or char in "._~-" else f"%{ord(char):02X}" for char in value)


# -- values -----------------------------------------------------------------------------------------

ALPHABETS = {
    "an": string.ascii_letters + string.digits,
    "low": string.ascii_lowercase + string.digits,
    "up": string.ascii_uppercase + string.digits,
    "cap": string.ascii_uppercase,
    "hex": "0123456789abcdef",
    "HEX": "0123456789ABCDEF",
    "d": string.digits,
    "b64": string.ascii_letters + string.digits + "+/",
    "url": string.ascii_letters + string.digits + "-_",
    "b32": string.ascii_uppercase + "234567",
    "sym": string.ascii_letters + string.digits + "!@#$%^*(-_=+)",
    "bech": "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L",
}
HOLE = re.compile(r"\{(b64|b32|[A-Za-z]+)(\d*)\}")
_WORDS = (
    "maple river copper lantern orbit velvet thunder pickle walnut canyon mirror saddle ginger anchor pepper violin "
    "harbor meadow falcon pirate cactus rocket blanket tunnel marble window castle forest silver gravel coffee bridge"
)
WORDS = _WORDS.split()
FAMILY = ("zhang", "wang", "li", "zhao", "chen", "liu", "yang", "huang", "miller", "novak", "garcia", "rossi", "tanaka")
HOSTS = ("db.prod.internal", "10.2.3.4", "pg-1.acme.io", "cluster0.ab1cd.mongodb.net", "rm-bp1.mysql.rds.aliyuncs.com")


def made(template: str, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    """Return the text of *template* and the secrets in it."""
    text = HOLE.sub(lambda hole: _filled(hole, chance), template)
    secrets = tuple(re.findall("«([^»]*)»", text)) or (text,)
    return text.replace("«", "").replace("»", ""), secrets


def _filled(hole: re.Match[str], chance: random.Random) -> str:
    name, number = hole.groups()
    if name in ALPHABETS:
        return "".join(chance.choices(ALPHABETS[name], k=int(number)))
    return str(VALUES[name](chance))


def _password(chance: random.Random) -> str:
    word, other = chance.choice(WORDS), chance.choice(FAMILY)
    return chance.choice(
        (
            f"{word.title()}{chance.randint(1970, 2029)}{chance.choice('!@#$%')}",
            f"{other}{chance.randint(100, 99999)}{chance.choice(WORDS)}",
            f"{word[:2]}{chance.choice('@$!')}{word[2:].title()}_{chance.randint(10, 99)}",
            "".join(chance.choices(ALPHABETS["an"], k=chance.randint(10, 20))) + str(chance.randint(0, 9)),
            "".join(chance.choices(ALPHABETS["an"] + "!@#$%^*-_+", k=15)) + str(chance.randint(0, 9)),
        )
    )


def _plain_password(chance: random.Random) -> str:
    return re.sub("[^A-Za-z0-9_-]", "7", _password(chance))


def _pem(lines: int) -> Callable[[random.Random], str]:
    def body(chance: random.Random) -> str:
        rows = ["".join(chance.choices(ALPHABETS["b64"], k=64)) for _ in range(lines)]
        return "\n".join((*rows, "".join(chance.choices(ALPHABETS["b64"], k=30)) + "=="))

    return body


def _id_card(chance: random.Random) -> str:
    region = chance.choice(("110105", "310115", "440306", "510107", "330106", "420111"))
    born = f"{chance.randint(1950, 2010)}{chance.randint(1, 12):02}{chance.randint(1, 28):02}"
    digits = f"{region}{born}{chance.randint(1, 999):03}"
    return digits + "10X98765432"[sum(int(digit) * 2 ** (17 - at) for at, digit in enumerate(digits)) % 11]


def _card(chance: random.Random) -> str:
    start, size = chance.choice((("4", 16), ("5425", 16), ("6222", 19), ("6217", 16), ("3787", 15)))
    digits = start + "".join(chance.choices(string.digits, k=size - len(start) - 1))
    odd = [int(digit) * 2 for digit in digits[::-1][::2]]
    total = sum(two // 10 + two % 10 for two in odd) + sum(int(digit) for digit in digits[::-1][1::2])
    full = digits + str(-total % 10)
    return full if chance.random() < 0.5 else " ".join(full[at : at + 4] for at in range(0, size, 4))


def _mobile(chance: random.Random) -> str:
    digits = chance.choice(("130", "138", "159", "176", "188", "199")) + f"{chance.randint(0, 99999999):08}"
    spaced = f"{digits[:3]} {digits[3:7]} {digits[7:]}"
    return chance.choice((digits, spaced, spaced.replace(" ", "-"), f"+86 {digits}", f"+86{digits}", f"+86-{digits}"))


def _us_phone(chance: random.Random) -> str:
    area, office, line = chance.randint(201, 989), chance.randint(201, 989), f"{chance.randint(0, 9999):04}"
    return chance.choice(
        (f"({area}) {office}-{line}", f"{area}-{office}-{line}", f"{area}.{office}.{line}",
         f"+1 {area} {office} {line}",
         f"+1-{area}-{office}-{line}", f"1-{area}-{office}-{line}")
    )  # fmt: skip


def _world_phone(chance: random.Random) -> str:
    def number(size: int) -> str:
        return "".join(chance.choices("123456789", k=size))

    return chance.choice(
        (f"+44 20 {number(4)} {number(4)}", f"+49 30 {number(8)}",
         f"+33 6 {number(2)} {number(2)} {number(2)} {number(2)}",
         f"+81-3-{number(4)}-{number(4)}", f"+852 {number(4)} {number(4)}", f"+61 4{number(2)} {number(3)} {number(3)}",
         f"+91 9{number(4)} {number(5)}", f"+65 {number(4)} {number(4)}",
         f"+7 (9{number(2)}) {number(3)}-{number(2)}-{number(2)}")
    )  # fmt: skip


def _jwt(chance: random.Random) -> str:
    parts = [chance.choices(ALPHABETS["url"], k=size) for size in (17, 80, 43)]
    return f"eyJ{''.join(parts[0])}.eyJ{''.join(parts[1])}.{''.join(parts[2])}"


def _email(chance: random.Random) -> str:
    local = f"{chance.choice(WORDS)}.{chance.choice(FAMILY)}{chance.choice(('', '88', '+kb', '_x'))}"
    return local + "@" + chance.choice(("gmail.com", "163.com", "qq.com", "acme-corp.co.uk", "mail.ustc.edu.cn"))


def _basic(chance: random.Random) -> str:
    return base64.b64encode(f"{VALUES['user'](chance)}:{_password(chance)}".encode()).decode()


def _uuid(chance: random.Random) -> str:
    return "-".join("".join(chance.choices(ALPHABETS["hex"], k=size)) for size in (8, 4, 4, 4, 12))


VALUES: dict[str, Callable[[random.Random], str]] = {
    "pw": _password,
    "plainpw": _plain_password,
    "phrase": lambda chance: " ".join(chance.choices(WORDS, k=4)),
    "hyphenphrase": lambda chance: "-".join(chance.choices(WORDS, k=4)),
    "seed": lambda chance: " ".join(chance.choices(WORDS, k=12)),
    "user": lambda chance: chance.choice(("app", "root", "svc_deploy", "reader", "admin")),
    "host": lambda chance: chance.choice(HOSTS),
    "uuid": _uuid,
    "basic": _basic,
    "jwt": _jwt,
    "email": _email,
    "mobile": _mobile,
    "usphone": _us_phone,
    "worldphone": _world_phone,
    "landline": lambda chance: (
        chance.choice(("010-6", "021-5", "0755-8", "(010) 8")) + f"{chance.randint(0, 9999999):07}"
    ),
    "idcard": _id_card,
    "card": _card,
    "sha": lambda chance: "{SHA}",
    "pem": _pem(8),
    "shortpem": _pem(2),
}
