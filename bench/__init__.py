"""Measurements anyone can repeat: `make bench`."""
