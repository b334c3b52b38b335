"""The way in: from a candidate to a commit."""
