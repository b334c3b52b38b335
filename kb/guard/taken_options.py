"""Find rejected options in what a call adds: imports, dependencies and identifiers of code, never prose."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator

from kb.context.manifests import drop_metadata, is_manifest
from kb.paths import PROSE_SUFFIXES
from kb.records.citations import CODE, NAME, SORT

_BLOCK_TEXT = re.compile(
    r'"""[\s\S]*?(?:"""|\Z)|\'\'\'[\s\S]*?(?:\'\'\'|\Z)|/\*[\s\S]*?(?:\*/|\Z)|<!--[\s\S]*?(?:-->|\Z)'
)
_LINE_COMMENT = re.compile(r"(?m)(?:^|(?<=[\s;{})]))(?://|#(?!include|\[|!)|--(?=\s)).*$")
_STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)*\'|`[^`\n]*`')
_IMPORT = re.compile(
    r"""(?mx)^[ \t]*+(?:import|from|use|using|require|require_relative|include|extern[ ]crate|gem|@import)\b.*$
    |\b(?:require|import|include)[ ]?\([ ]?["'][^"'\n]+["'] | ^[ \t]*+\#include\b.*$
    |^[ \t]*+["'](?=[^/\n]*\.)[\w.-]++/[\w./-]++["'][ \t]*+$"""
)
_FROM = re.compile(r"^\s*(?:from\s+([\w.]+)\s+import\b|import\s+([\w.]+(?:\s*,\s*[\w.]+)*))")
_SPECIFIER = re.compile(r"""["'<]([^"'<>\s]+)["'>]|([A-Za-z_@][\w.:/\\@-]*)""")
# packages whose names differ from the product they are clients of
_PRODUCTS = {
    package: product
    for product, packages in (
        ("postgresql", "pg postgres psycopg psycopg2 asyncpg pgx"), ("mysql", "mysql2 pymysql mysqlclient"),
        ("mongodb", "mongoose pymongo motor mongo"), ("sqlite", "sqlite3 rusqlite aiosqlite"),
        ("redis", "ioredis jedis lettuce rediss"), ("memcached", "memjs pymemcache pylibmc"),
        ("rabbitmq", "amqplib pika amqp lapin"), ("kafka", "kafkajs confluent-kafka aiokafka sarama"),
        ("jwt", "jsonwebtoken pyjwt jose jjwt"), ("sqlalchemy", "sqlmodel"),
    )
    for package in packages.split()
}  # fmt: skip
_PRODUCTS_OF_SORT = {
    "database": """postgresql mysql mariadb mongodb cockroachdb cassandra dynamodb oracledb mssql supabase firestore
        elasticsearch opensearch""",
    "cache": "redis memcached valkey hazelcast",
    "queue": "kafka rabbitmq nats pulsar activemq sqs rocketmq bullmq celery",
    "orm": "sqlalchemy prisma typeorm sequelize peewee hibernate mybatis drizzle mikroorm django gorm",
    "server": """express fastify koa nestjs hapi hono fastapi flask django tornado sanic aiohttp uvicorn gin fiber echo
        actix axum ktor rails sinatra laravel createserver httpserver listenandserve basehttprequesthandler""",
}
_KEYWORDS = frozenset(
    """import from use using require include extern crate gem as static type const let var func package
    require_relative""".split()
)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+\d*|\d+")
_MIN_PART_CHARACTERS = 5
"""Minimum letters of an option to match within a longer identifier: `redisclient`, but not `gin` in `begin`."""


def may_take_up(path: str) -> bool:
    """Return whether the file *path* has code or names dependencies."""
    return is_manifest(path) or not path.casefold().endswith(PROSE_SUFFIXES)


class AddedCode:
    """Text that a call adds to one file: the packages it names, its identifiers and its text."""

    def __init__(self, path: str, added: str) -> None:
        """Read the text *added* to *path*; comments, docstrings and, but for imports, strings do not count."""
        self.packages: set[str] = set()
        self.parts: set[str] = set()  # of the package names
        self.words: set[str] = set()
        self.squeezed = ""
        if not may_take_up(path):
            return
        if is_manifest(path):
            self._add_packages(drop_metadata(_LINE_COMMENT.sub("", added).splitlines()))
            return
        code = _LINE_COMMENT.sub("", _BLOCK_TEXT.sub(" ", added))
        self._add_packages(match[0] for match in _IMPORT.finditer(code))
        self.squeezed = re.sub(r"\s+", "", code).casefold()
        for word in _WORD.findall(_STRING.sub(" ", code)):
            self.words |= {word.casefold(), *map(str.casefold, _HUMP.findall(word))}

    @property
    def servers(self) -> set[str]:
        """Identifiers with which code starts a server without a package."""
        return self.words & {"createserver", "httpserver", "listenandserve", "basehttprequesthandler"}

    def _add_packages(self, rows: Iterable[str]) -> None:
        for specifier in _iter_specifiers(rows):
            segments = [*filter(None, re.split(r"[@/:\\=<>^~\[\]!]|\.(?!js\b)", specifier))]
            names = {name for segment in segments for name in (segment, re.sub(r"[.-]", "", segment))}
            self.packages |= names | {_PRODUCTS[name] for name in names if name in _PRODUCTS}
            self.parts |= {part for segment in segments for part in re.split(r"[-_.]", segment) if len(part) > 3}

    def has_option(self, value: str, sort: str) -> bool:
        """Return whether the text uses the option *value*, as named by `extract_rejected_options`."""
        if sort == CODE:
            return value in self.squeezed
        if sort == SORT:
            return not {*_PRODUCTS_OF_SORT.get(value, "").split()}.isdisjoint(self.packages | self.servers)
        plain = re.sub(r"[.+#/-]", "", value)
        if {value, plain} & self.packages or (sort == NAME and {value, plain} & (self.words | self.parts)):
            return True
        return sort == NAME and len(plain) >= _MIN_PART_CHARACTERS and any(plain in word for word in self.words)


def _iter_specifiers(rows: Iterable[str]) -> Iterator[str]:
    """Yield the quoted names in *rows*, or else the words; of imports from a package only the package."""
    for row in rows:
        if match := _FROM.match(row):
            specifiers = [("", name.strip()) for name in (match[1] or match[2]).split(",")]
        if not match or "'" in row or '"' in row:
            specifiers = _SPECIFIER.findall(row)
            specifiers = [pair for pair in specifiers if pair[0]] or specifiers
        for quoted, bare in specifiers:
            specifier = (quoted or bare).casefold()
            if specifier not in _KEYWORDS and not specifier.startswith((".", "/", "~")):  # not a file of the project
                yield specifier


def expand_option(value: str) -> set[str]:
    """Return casefolded texts, at least one of which occurs in every text that uses the option *value*."""
    if products := _PRODUCTS_OF_SORT.get(value):
        return {each for product in products.split() for each in expand_option(product)}
    packages = {package for package, product in _PRODUCTS.items() if product == value}
    return {value, re.sub(r"[.+#/-]", "", value), *packages} - {""}


def find_taken_options(
    path: str, added: str, before: Iterable[tuple[str, str]], options: Collection[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return those of *options* that the text *added* to the file *path* introduces.

    *before*: path and text of existing files; options they already use are left out.
    """
    new = AddedCode(path, added)
    introduced = [option for option in options if new.has_option(*option)]
    known = [AddedCode(name, text) for name, text in before] if introduced else []
    return [option for option in introduced if not any(old.has_option(*option) for old in known)]
