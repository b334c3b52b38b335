"""The index: a cache of the records in SQLite."""
