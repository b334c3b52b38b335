"""Decision records in the form of other tools: read, linked among each other, and written in their style."""
