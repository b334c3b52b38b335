"""Sync with a remote: what comes, what goes, and what is done again when somebody was faster."""
