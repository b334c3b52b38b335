"""History: the records as of a commit, changes, digest, dependents."""
