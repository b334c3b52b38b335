"""Words and lines of two languages."""
