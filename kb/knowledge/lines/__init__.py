"""Lines of history that meet: what each changed, what stands against a merge, and how records are merged."""
