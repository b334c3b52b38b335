"""Parse manifests, the files that name a project's dependencies: package.json, pyproject.toml, go.mod, Dockerfile.

Versions are taken as written; nothing is resolved or downloaded. Images of containers count as dependencies.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kb.files import read_if_exists

_NAMES = frozenset(
    """package.json pyproject.toml go.mod cargo.toml gemfile pom.xml build.gradle build.gradle.kts composer.json
    setup.cfg setup.py pipfile environment.yml dockerfile docker-compose.yml docker-compose.yaml compose.yml
    compose.yaml mix.exs build.sbt""".split()
)
"""Names of manifests, lower-case."""
_TOP_MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "requirements.txt", "Pipfile")
"""The manifests of a project's top folder whose versions are read."""
LANGUAGES = frozenset({"python", "go", "node", "npm", "rust", "edition", "rust-version"})
"""Requirements that are languages and their tools, not dependencies."""
_METADATA = re.compile(
    r'(?i)^\s*["\']?(?:description|author|license|keywords|name|version|homepage|readme|classifiers)\b'
)
"""Begins a row on the project itself, not on a dependency."""
_REQUIREMENT = re.compile(
    r"(?m)^[ \t]*+[\"']?([A-Za-z][\w.-]*+)(?:\[[^\]]*+\])?\s*+(===?|>=|<=|~=|\^|~|@)\s*v?([0-9]+(?:\.[0-9]+)*)"
)
_IMAGE = re.compile(
    r"(?mi)^[ \t]*+(?:FROM|image:|-[ \t]*+image:)\s++[\"']?(?:[\w.-]++/)*+([\w.-]++):v?([0-9]+(?:\.[0-9]+)*)"
)
_GO = re.compile(
    r"(?m)^[ \t]*+(?:require\s++)?(?:[\w.-]++/(?!v\d++\s))*+([\w.-]++)(?:/v\d++)?[ \t]++v?([0-9]+(?:\.[0-9]+)+)"
)
_TOML_PAIR = re.compile(
    r"(?m)^[ \t]*+[\"']?([A-Za-z][\w.-]*+)[\"']?\s*+=\s*+(?:\{[^}\n]*?version\s*+=\s*+)?"
    r"[\"'](===?|>=|<=|~=|\^|~)?\s*([0-9]+(?:\.[0-9]+)*)"
)
_TOML_ITEM = re.compile(r"[\"']([A-Za-z][\w.-]*+)(?:\[[^\[\]]*+\])?\s*+(===?|>=|<=|~=|\^|~)\s*([0-9]+(?:\.[0-9]+)*)")
_JSON_VERSION = re.compile(r"(===?|>=|<=|\^|~|=)?\s*v?([0-9]+(?:\.[0-9]+)*)")
_VERSION_FILES = {".python-version": "python", ".nvmrc": "node", ".node-version": "node", ".ruby-version": "ruby"}


def is_manifest(path: str) -> bool:
    """Return whether *path* is a manifest: package.json, requirements-dev.txt, go.mod."""
    name = path.rpartition("/")[2].casefold()
    return name in _NAMES or ("requirements" in name and name.endswith((".txt", ".in")))


def drop_metadata(rows: Iterable[str]) -> list[str]:
    """Return the *rows* of a manifest without those on the project itself: its name, description, authors."""
    return [row for row in rows if not _METADATA.match(row)]


def read_requirements(top: str) -> dict[str, str]:
    """Return the requirements of the manifests in the folder *top*: lower-case name → version."""
    texts: dict[str, str] = {}
    for name in _TOP_MANIFESTS:
        data = read_if_exists(os.path.join(top, name))
        texts |= {name: data.decode("utf-8", "replace")} if data else {}
    return {name: version for name, (_, version) in collect_requirements(texts).items()}


def collect_requirements(texts: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return the requirements of all manifests among *texts* (path → text): lower-case name → operator and version.

    Of two manifests that name one dependency, the first path in the alphabet counts.
    """
    requirements: dict[str, tuple[str, str]] = {}
    for path in sorted(texts):
        for name, operator, version in iter_requirements(path.rpartition("/")[2], texts[path]):
            requirements.setdefault(name.lower().replace("_", "-"), (operator, version))
    return requirements


def iter_requirements(name: str, text: str) -> Iterator[tuple[str, str, str]]:
    """Yield name, operator and version of each requirement in the manifest *text* with the file name *name*."""
    if name == "package.json":
        package: Any = {}
        with contextlib.suppress(ValueError, RecursionError):
            package = json.loads(text)
        for key in ("dependencies", "devDependencies", "peerDependencies", "engines"):
            group = package.get(key) if isinstance(package, dict) else None
            for name, spec in group.items() if isinstance(group, dict) else ():
                if isinstance(spec, str) and (match := _JSON_VERSION.match(spec)):
                    yield name, match.group(1) or "==", match.group(2)
    elif name in ("pyproject.toml", "Cargo.toml", "Pipfile"):
        for key, operator, version in _TOML_PAIR.findall(text):
            if key != "version":
                yield "python" if key == "requires-python" else key, operator or "==", version
        yield from _TOML_ITEM.findall(text)
    elif name.startswith("requirements") and name.endswith(".txt"):
        yield from _REQUIREMENT.findall(text)
    elif name == "go.mod":
        yield from ((key, "==", version) for key, version in _GO.findall(text))
    elif name in _VERSION_FILES and (match := _JSON_VERSION.match(text.strip())):
        yield _VERSION_FILES[name], "==", match.group(2)
    elif name == ".tool-versions":
        yield from ((key, "==", version) for key, version in re.findall(r"(?m)^(\S+)\s+([0-9]+(?:\.[0-9]+)*)", text))
    elif name.startswith("Dockerfile") or name.endswith((".yml", ".yaml")):
        yield from ((key, "==", version) for key, version in _IMAGE.findall(text))
