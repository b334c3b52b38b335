"""Many knowledge bases at once: mirrors of their repositories, one index over them, one search, what differs."""
