"""A git-backed markdown knowledge base for engineering teams and their coding agents."""

__version__ = "0.1.0"
