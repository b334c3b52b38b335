"""Remember the texts in which nothing was found: the costly rules that look at one text alone then pass over them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from hashlib import sha256
from typing import TYPE_CHECKING

from kb.checks import content_rules, trust_rules
from kb.checks.check_context import CheckContext, digest_text
from kb.checks.findings import Finding
from kb.safety import injection, injection_patterns, redaction

if TYPE_CHECKING:
    from kb.workspace import Workspace

_FILE = "clean.json"
_RULES = {"secret", "untrusted"}
_PROGRAMS = (injection_patterns, injection, trust_rules, content_rules, redaction)


def load_clean_digests(kb: Workspace) -> frozenset[str]:
    """Return the digests of the texts in which the rules of today, with the settings of today, found nothing."""
    told = kb.state.load(_FILE)
    return frozenset(told["texts"].split()) if told and told.get("rules") == _fingerprint_rules(kb) else frozenset()


def save_clean_digests(kb: Workspace, everything: CheckContext, findings: Iterable[Finding]) -> None:
    """Keep which texts of *everything* are in none of the *findings* of those rules."""
    found = {finding.path for finding in findings if finding.rule in _RULES}
    clean = {digest_text(text.text) for text in everything.texts if text.path not in found}
    if clean != everything.surroundings.clean:
        with contextlib.suppress(OSError):
            kb.state.save({"rules": _fingerprint_rules(kb), "texts": " ".join(sorted(clean))}, _FILE)


def _fingerprint_rules(kb: Workspace) -> str:
    times = [os.stat(str(module.__file__)).st_mtime_ns for module in _PROGRAMS]
    return sha256(repr((times, kb.config.masking)).encode()).hexdigest()
