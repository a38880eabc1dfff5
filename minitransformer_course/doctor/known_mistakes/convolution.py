"""Convolutions: each position's gradient goes back to all windows that contain it."""

from minitransformer_course.doctor.mistakes import teach

teach("windows", {
    "the kernel is not flipped in backward: position t + k - left gets what belongs to t - k + left":
        ("dy[:, :, k]", "dy[:, :, size - 1 - k]"),
    "the kernel is shifted: the padding on the left is not cut off, as if the convolution were causal the other way":
        ("left:left + length", ":length"),
    "only the last of the windows that contain a position counts (=): all have to be added (+=)":
        ("] += dy[:, :, k]", "] = dy[:, :, k]"),
    "the gradient of the window's first place is left out": ("range(size)", "range(1, size)"),
    "the dilation is ignored in backward: the places of a window are taken for neighbours":
        ("dilation * k:dilation * k + length", "k:k + length")})

FLIPPED = "the kernel's gradient is flipped: its places are in reverse order"
FLIPPED_FOR_X = "the kernel is flipped on the way to dx: its places are in reverse order"
teach("depthwise_convolution", {FLIPPED: (", window), dweight", ", window), dweight[::-1]"),
                                FLIPPED_FOR_X: ("* weight,", "* weight[::-1],")})
teach("convolution", {
    FLIPPED: ("dweight.reshape(weight.shape)", "dweight.reshape(weight.shape)[::-1]"),
    FLIPPED_FOR_X: ("@ weight.reshape", "@ weight[::-1].reshape")})
