"""What is known of a session when a tool is called, and what the guard says to the call."""
