"""The functions documented for Python programs."""
