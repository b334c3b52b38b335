"""What a session leaves: extraction, proposals, consent."""
