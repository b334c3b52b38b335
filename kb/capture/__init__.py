"""Capture: extraction from sessions, proposals and consent, saving of sessions."""
