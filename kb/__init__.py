"""A git-backed markdown knowledge base for engineering teams and their coding agents."""

from __future__ import annotations

__version__ = "0.1.0"
