"""Places: objects that each own one resource."""
