"""What loops need of a float32 beyond arithmetic: the exponential, and an order without NaN.
Several are computed at once.
"""

import numpy as np

from minitransformer.speed.loops import part

float32, int32 = np.float32, np.int32  # a float64 among them would double the work
LOG2_E = float32(1.44269504)
# ln 2 in two parts: n LN_2_HIGH is exact
LN_2_HIGH, LN_2_LOW = float32(0.693359375), float32(-2.12194440e-4)
ROUND = float32(1.5 * 2**23)  # adding it leaves no bits behind the point
LEAST = float32(-87.0)  # below, 2^n is not a normal number
C6, C5, C4, C3, C2, ONE = map(
    float32,
    (1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 1),
)
HALF, BIAS, MANTISSA, SIGN, ALL_BUT_SIGN = (
    float32(0.50000001201),
    int32(127),
    int32(23),
    int32(31),
    int32(0x7FFFFFFF),
)


@part
def exp(x: np.float32) -> np.float32:
    """e^x of a float32 x <= 0, with a relative error below 1.2e-7; below -87, e^-87. NaN stays NaN.

    x = n ln 2 + r with a whole n and |r| <= ln 2 / 2, so e^x = 2^n e^r: n goes into the exponent's
    bits, and e^r is the polynomial of Cephes' expf (S. Moshier, https://www.netlib.org/cephes/).
    """
    x = LEAST if x < LEAST else x  # noqa: FURB136 - max may take NaN for the smaller one
    shifted = x * LOG2_E + ROUND
    n = shifted - ROUND
    r = (x - n * LN_2_HIGH) - n * LN_2_LOW
    y = ((((C6 * r + C5) * r + C4) * r + C3) * r + C2) * r + HALF
    y = y * (r * r) + r + ONE
    return y * float32(int32((float32(shifted).view(int32) + BIAS) << MANTISSA).view(float32))


@part
def rank(x: np.float32) -> np.int32:
    """A whole number that is larger for a larger float32: of whole numbers, the compiler finds the
    largest in parallel.

    With floats it does so only if NaN is ruled out. (A NaN has a rank beyond infinity's.)
    """
    bits = float32(x).view(int32)
    return int32(bits ^ ((bits >> SIGN) & ALL_BUT_SIGN))


@part
def ranked(number: np.int32) -> np.float32:
    """The float32 whose rank is `number`."""
    return int32(number ^ ((number >> SIGN) & ALL_BUT_SIGN)).view(float32)
