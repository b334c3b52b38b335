"""Write the views of SMAN: `project_map.json` 2.0.0 and its three memory levels (SMAN-02..04, 12, 17, 20, 21).

Views, never the source: they are made of the records, and nothing reads them back. kb analyses no source code and has
no loop that asks itself questions, so `analysisStatus` is empty and `evolutionStatus` is at rest.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from typing import Any

from kb.index.record_ids import format_sman_id
from kb.records.citations import find_citations
from kb.records.kinds import FIXED_BY
from kb.records.model import GLOBAL, LIVE, Record, list_field, recency_key
from kb.text.segment import normalise, slugify

VERSION = "2.0.0"
Names = Mapping[tuple[str, str], str]
"""Scope and id of a record → its id of SMAN."""
_EPOCH = date(1970, 1, 1)
_DAY = 86_400_000
"""Milliseconds."""
_SEEN_OFTEN = 3
"""Sessions from which a failure without a cure counts as lasting (FAILED), no longer as tried again."""


def build_project_map(
    records: Sequence[Record], paths: Mapping[str, str], digests: Mapping[str, str]
) -> dict[str, Any]:
    """Return `project_map.json` of the live *records*.

    *paths*: project → its folder, where it is known; *digests*: file → the digest of what it holds now.
    """
    projects = {}
    for name, own in _group_by_project(records).items():
        last = max(map(_get_milliseconds, own), default=0)
        text = json.dumps([[one.uid, one.status, one.confirmed] for one in own]).encode()
        projects[name] = {
            "path": paths.get(name, ""),
            "lastAnalyzed": last,
            "projectMd5": hashlib.md5(text, usedforsecurity=False).hexdigest(),
            "analysisStatus": {},
            "mdFiles": {path: digests[path] for one in own for path in one.impact if path in digests},
            "evolutionStatus": _build_evolution_status(own),
            "learningRecordIndex": _list_ids(own, "learning"),
            "failureRecordIndex": _list_ids(own, "pitfall"),
            "domainKnowledgeIndex": _list_ids(own, "domain-note"),
            "lastEvolutionTime": max((_get_milliseconds(one) for one in own if one.kind == "learning"), default=0),
        }
    newest = max(map(_get_milliseconds, records), default=0)
    return {"version": VERSION, "lastUpdate": newest, "projects": projects}


def build_memory_levels(records: Sequence[Record], sessions: Iterable[tuple[str, str, str]]) -> dict[str, Any]:
    """Return the three levels: what holds everywhere, what holds in each project, and the archived sessions.

    *sessions*: name, project and time of each.
    """
    names = _name_records(records)
    listed = [{"name": name, "projectKey": project, "time": time} for name, project, time in sessions]
    projects = {name: _build_project_memory(name, own, names) for name, own in _group_by_project(records).items()}
    return {"global": _build_global_memory(records), "projects": projects, "sessions": listed}


def build_files(records: Sequence[Record]) -> dict[str, Any]:
    """Return the files of `.sman/memory/` by their paths, each as a value for JSON."""
    live = [one for one in records if one.status in LIVE]
    names = _name_records(live)
    shared = _build_global_memory(records)
    files: dict[str, Any] = {
        "memory/global/best_practices.json": shared["bestPractices"],
        "memory/global/patterns.json": shared["crossProjectPatterns"],
    }
    for one in live:
        name = format_sman_id(one)
        if one.kind == "learning":
            files[f"memory/learning/{_get_folder(one)}{name}.json"] = _build_learning(one, names)
        elif one.kind == "pitfall":
            files[f"memory/failures/{_get_folder(one)}{name}.json"] = _build_failure(one)
        elif one.kind == "domain-note":
            files[f"memory/domain/{_get_folder(one)}{name.removeprefix('dk-')}.json"] = _build_domain(one, names)
    return files


def _get_folder(record: Record) -> str:
    """Return the folder of a record's project: SMAN has one of these trees for each project, kb one for all."""
    return f"{slugify(_get_project(record))}/"


def _get_project(record: Record) -> str:
    return record.scope.removeprefix("project/")


def _group_by_project(records: Iterable[Record]) -> dict[str, list[Record]]:
    """Return the live records of each project, oldest first."""
    found: dict[str, list[Record]] = defaultdict(list)
    for one in sorted(records, key=recency_key):
        if one.scope != GLOBAL and one.status in LIVE:
            found[_get_project(one)].append(one)
    return dict(found)


def _get_milliseconds(record: Record) -> int:
    try:
        return (date.fromisoformat(record.date) - _EPOCH).days * _DAY
    except ValueError:
        return 0


def _list_ids(records: Iterable[Record], kind: str) -> list[str]:
    return [format_sman_id(one) for one in records if one.kind == kind]


def _name_records(records: Iterable[Record]) -> Names:
    return {one.key: name for one in records if (name := format_sman_id(one))}


def _list_related(record: Record, names: Names) -> list[str]:
    """Return what *record* cites, each by its id of SMAN where it has one."""
    texts = (section.text for section in record.sections)
    cited = dict.fromkeys((project, found) for text in texts for project, found, _ in find_citations(text))
    scopes = {"": record.scope, GLOBAL: GLOBAL}
    return [names.get((scopes.get(project, f"project/{project}"), found), found) for project, found in cited]


def _build_evolution_status(records: Sequence[Record]) -> dict[str, Any]:
    return {
        "isEnabled": False,
        "currentPhase": "IDLE",
        "consecutiveErrors": 0,
        "lastError": None,
        "backoffUntil": None,
        "questionsGeneratedToday": 0,
        "lastResetDate": "",
        "totalQuestionsExplored": len(_list_ids(records, "learning")),
    }


def _build_project_memory(name: str, own: Sequence[Record], names: Names) -> dict[str, Any]:
    times = [_get_milliseconds(one) for one in own]
    return {
        "projectKey": name,
        "domainKnowledge": [_build_domain(one, names) for one in own if one.kind == "domain-note"],
        "learningRecordIds": _list_ids(own, "learning"),
        "failureRecordIds": _list_ids(own, "pitfall"),
        "codePatterns": [_build_pattern(one) for one in own if one.kind == "pattern"],
        "evolutionStatus": _build_evolution_status(own),
        "createdAt": min(times, default=0),
        "updatedAt": max(times, default=0),
    }


def _build_global_memory(records: Iterable[Record]) -> dict[str, Any]:
    """Return what holds everywhere; a pattern that several projects have under one title is one of many projects."""
    practices = [one for one in records if one.kind in ("pattern", "checklist") and one.status in LIVE]
    alike: dict[str, list[Record]] = defaultdict(list)
    for one in practices:
        alike[normalise(one.title)].append(one)
    shared = [group for group in alike.values() if len({one.scope for one in group}) > 1]
    return {
        "bestPractices": [
            {
                "id": one.id,
                "title": one.title,
                "description": one.section("decision"),
                "applicableScenarios": _list_lines(one.section("when")),
                "sourceProjects": sorted({_get_project(other) for other in alike[normalise(one.title)]} - {GLOBAL}),
            }
            for one in practices
            if one.scope == GLOBAL
        ],
        "crossProjectPatterns": [
            {
                "patternName": group[0].title,
                "description": group[0].section("decision"),
                "occurrences": len({one.scope for one in group}),
                "exampleProjects": sorted({_get_project(one) for one in group} - {GLOBAL}),
            }
            for group in shared
        ],
        "version": VERSION,
        "updatedAt": max(map(_get_milliseconds, practices), default=0),
    }


def _build_learning(record: Record, names: Names) -> dict[str, Any]:
    return {
        "id": format_sman_id(record),
        "projectKey": _get_project(record),
        "createdAt": _get_milliseconds(record),
        "question": record.title,
        "questionType": next(iter(list_field(record, "question_type")), "DOMAIN_KNOWLEDGE"),
        "answer": record.section("decision"),
        "explorationPath": _list_lines(record.section("explored")),
        "confidence": record.extra.get("confidence", 0.0),
        "sourceFiles": list(record.impact),
        "relatedRecords": _list_related(record, names),
        "tags": list(record.tags),
        "domain": next(iter(list_field(record, "domain")), None),
        "metadata": {"kbId": record.id, "uid": record.uid, "status": str(record.status)},
    }


def _build_failure(record: Record) -> dict[str, Any]:
    cure = record.section("solution")
    is_cured = bool(cure) or bool(record.extra.get(FIXED_BY))
    tries = min(max(record.occurrences, 1), _SEEN_OFTEN)
    open_status = ("PENDING", "RETRYING", "FAILED")[tries - 1]
    return {
        "id": format_sman_id(record),
        "projectKey": _get_project(record),
        "operationType": "SELF_EVOLUTION_EXPLORATION",
        "operation": record.title,
        "error": record.section("decision"),
        "context": {"cause": record.section("why"), "kbId": record.id, "files": ", ".join(record.impact)},
        "timestamp": _get_milliseconds(record),
        "retryCount": max(record.occurrences - 1, 0),
        "status": "RECOVERED" if is_cured else open_status,
        "avoidStrategy": cure or None,
    }


def _build_domain(record: Record, names: Names) -> dict[str, Any]:
    files = list(record.impact)
    return {
        "id": format_sman_id(record),
        "domain": next(iter(list_field(record, "domain")), record.title),
        "summary": record.section("decision"),
        "keyConcepts": [{"name": tag, "description": "", "relatedFiles": files} for tag in record.tags],
        "keyFiles": files,
        "sourceRecordIds": _list_related(record, names),
    }


def _build_pattern(record: Record) -> dict[str, Any]:
    return {
        "patternType": record.title,
        "description": record.section("decision"),
        "exampleFiles": list(record.impact),
        "usageScenarios": _list_lines(record.section("when")),
    }


def _list_lines(text: str) -> list[str]:
    return [line.strip().removeprefix("- ") for line in text.split("\n") if line.strip()]
