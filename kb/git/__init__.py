"""The git repository: the only home of git."""
