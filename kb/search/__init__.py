"""The way out: from a question to ranked records."""
