"""Safety: secrets, injected instructions, hidden text, quotation."""
