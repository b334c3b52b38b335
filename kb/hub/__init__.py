"""The server of the hub: it translates calls over the network into those of `kb.organisation`, and answers."""
