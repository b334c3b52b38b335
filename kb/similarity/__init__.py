"""Similarity: find duplicates and contradictions."""
