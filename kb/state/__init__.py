"""The state folder `.kb/`, and clients of the user's own commands and services."""
