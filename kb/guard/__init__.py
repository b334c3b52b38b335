"""The guard: allow, question or deny an agent's tool calls, and detect changes made outside kb."""
