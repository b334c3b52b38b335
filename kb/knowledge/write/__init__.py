"""The way in: a candidate becomes a change, the change one commit; and what waits for its turn."""
