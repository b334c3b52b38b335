"""The way out: what answers a question, and what an agent is told unasked."""
