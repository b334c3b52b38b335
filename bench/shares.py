"""Shares, and the intervals they may lie in."""

from math import sqrt

Z = 1.96
"""Standard deviations of the interval: 95 %."""


def wilson_interval(count: int, total: int) -> tuple[float, float]:
    """Return the 95 % interval of *count* of *total*, which is not 0, as two shares (Wilson, 1927)."""
    share = count / total
    middle, spread = share + Z * Z / (2 * total), Z * sqrt(share * (1 - share) / total + Z * Z / (4 * total * total))
    low, high = ((middle + side * spread) / (1 + Z * Z / total) for side in (-1, 1))
    return max(low, 0.0), min(high, 1.0)


def format_share(count: int, total: int) -> str:
    """Return *count* of *total* in per cent, with its 95 % interval."""
    if not total:
        return "none of 0"
    low, high = wilson_interval(count, total)
    return f"{count}/{total} = {count / total:.0%} ({low:.0%} to {high:.0%})"
