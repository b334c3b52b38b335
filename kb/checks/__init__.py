"""Checks: what is wrong with the records."""
