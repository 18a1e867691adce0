"""McNemar's exact test of two lists of right answers to the same pictures."""
import math


def exact_p(first_only, second_only):
    """Two-sided: each picture that one alone gets right is a fair coin's throw, if both are equally good."""
    throws = first_only + second_only
    tail = sum(math.comb(throws, heads) for heads in range(min(first_only, second_only) + 1))
    return min(1.0, 2 * tail / 2**throws)


def judged(ours, theirs, alpha):
    """(pictures that ours alone gets right, theirs alone, p, better | worse | equal); lists of bool."""
    ours_only = sum(mine and not other for mine, other in zip(ours, theirs, strict=True))
    theirs_only = sum(other and not mine for mine, other in zip(ours, theirs, strict=True))
    p = exact_p(ours_only, theirs_only)
    verdict = "equal" if p >= alpha else "better" if ours_only > theirs_only else "worse"
    return ours_only, theirs_only, p, verdict
