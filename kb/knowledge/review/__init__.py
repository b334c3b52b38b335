"""Reviews: a contradiction on a branch of its own, until a person decides it."""
