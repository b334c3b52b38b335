"""What happened in a session, and what of it stays? Rules: values in, values out."""
