"""The wiki: pages made from the records in memory, a thin mkdocs plugin around them, and the commands that build it."""
