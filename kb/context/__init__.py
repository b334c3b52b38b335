"""What agents are told: hints, packs, contexts within a budget."""
