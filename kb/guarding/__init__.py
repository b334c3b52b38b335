"""May this tool call proceed? A room kept for the guard; rules: values in, values out."""
