"""What a session leaves behind, and what kb does while it runs."""
