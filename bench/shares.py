"""Print a share with the interval it may lie in."""

from math import sqrt


def format_share(count: int, total: int) -> str:
    """Return *count* of *total* in per cent, with its 95 % interval (Wilson, 1927)."""
    if not total:
        return "none of 0"
    share, z = count / total, 1.96
    middle, spread = share + z * z / (2 * total), z * sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    low, high = ((middle + side * spread) / (1 + z * z / total) for side in (-1, 1))
    return f"{count}/{total} = {share:.0%} ({low:.0%} to {high:.0%})"
