"""Sessions of agents: transcripts, forms, pruning, usage, archive."""
