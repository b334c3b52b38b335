"""The repository: commits are built beside the user's work and published by a compare-and-swap ref move.

Everything here is git's own plumbing, so that attributes, worktrees, signing, ref hooks and object
formats work, and staged changes, dirty files and HEAD stay as they are. What a person waits for (history, merges,
remotes) is in `kb.store.git.history`.
"""
