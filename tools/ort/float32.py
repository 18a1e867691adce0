"""Float32 arithmetic as a processor does it, in numpy: each operation rounds once, half to even.

numpy's own +, * and / on float32 arrays do that already. What is here is what numpy lacks: the fused
multiply-add, and the requantizer's arithmetic in integers alone.
"""
import numpy as np

MANTISSA_BITS = 24


def multiply_add(a, b, c):
    """a * b + c rounded once to float32, as x86's FMA does it; arrays of float32 that broadcast.

    The product of two float32 is exact in float64. The sum is rounded to odd (error-free sum, Knuth, The Art of
    Computer Programming 2, 4.2.2), so that the second rounding, to float32, is right (Boldo and Melquiond,
    Emulation of FMA and correctly rounded sums, 2008).
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    addend = np.asarray(c, np.float64)
    total = product + addend
    part = total - product
    error = (product - (total - part)) + (addend - part)
    even = (total.view(np.int64) & 1) == 0
    odd = np.nextafter(total, np.where(error > 0, np.inf, -np.inf))
    return np.where((error != 0) & even, odd, total).astype(np.float32)


def dyadic(scale):
    """(multiplier, shift) of a positive float32, scale = multiplier * 2^-shift, 2^23 <= multiplier < 2^24."""
    fraction, exponent = np.frexp(np.asarray(scale, np.float64))
    return (fraction * 2.0 ** MANTISSA_BITS).astype(np.int64), MANTISSA_BITS - exponent.astype(np.int64)


def shift_half_even(values, shift):
    """values / 2^shift rounded half to even; int64, shift of 0 or more, broadcast."""
    shift = np.minimum(np.asarray(shift, np.int64), 62)
    below = np.where(shift > 0, (np.int64(1) << np.maximum(shift - 1, 0)) - 1, 0)
    odd = np.where(shift > 0, (values >> shift) & 1, 0)
    return (values + below + odd) >> shift


def bit_length(values):
    """Bits of |values|, for |values| < 2^53."""
    return np.frexp(np.abs(values).astype(np.float64))[1].astype(np.int64)


def round_to_float32(values):
    """(mantissa, exponent): values = about mantissa * 2^exponent, mantissa of at most 24 bits, half to even."""
    exponent = np.maximum(bit_length(values) - MANTISSA_BITS, 0)
    return shift_half_even(values, exponent), exponent


def scaled_to_integer(values, scale):
    """rint(float32(values) * scale), the product in float32, by integers alone: round to 24 bits, multiply,
    round to 24 bits, round to an integer, each half to even.

    values: int64, |values| < 2^31; scale: positive float32, broadcast. Equal to the float32 operations while
    the product is a normal number (from 2^-126) or 0.
    """
    multiplier, shift = dyadic(scale)
    mantissa, exponent = round_to_float32(np.asarray(values, np.int64))
    product, more = round_to_float32(mantissa * multiplier)
    shift = shift - exponent - more
    # Where the shift is to the left the result is beyond 2^23, far outside 8 bits: the cap keeps its sign.
    left = np.clip(-shift, 0, 30)
    return shift_half_even(product, np.maximum(shift, 0)) << left
