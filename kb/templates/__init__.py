"""Templates that users see and may override."""
