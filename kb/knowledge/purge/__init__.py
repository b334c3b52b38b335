"""A secret that got in by hand: where it stands, and the steps that remove it."""
