"""What was: the records as they stood at a commit, what became of them between two, and what a change would touch."""
