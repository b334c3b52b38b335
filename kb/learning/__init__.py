"""Learning: what grows out of the records: freshness, gaps, promotions, skills, the profile of a person."""
