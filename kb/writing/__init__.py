"""Writing: from a candidate to a commit."""
