"""Clones and remotes: replay, push, renumber, repair."""
