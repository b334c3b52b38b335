"""Search: from a question to ranked records."""
