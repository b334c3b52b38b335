"""Many knowledge bases together: mirrors of their repositories, one index, one search, and comparisons."""
