"""Checks: find problems in the records (`kb check`)."""
