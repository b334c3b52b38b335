"""Context for agents: hints, packs, contexts and summaries within a budget."""
