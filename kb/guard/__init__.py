"""The guard: may this tool call proceed, and what did it change?"""
