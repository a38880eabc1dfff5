"""Convolutions: each position's gradient goes back to all windows that contain it. A gate: y = a sigmoid(b)."""

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

for layer in ("Convolution", "SeparableConvolution"):
    teach(layer, {"the mask is not applied to dx: padding gets a gradient": ("dx if cache.mask is None else dx * cache.mask", "dx")})
teach("GatedConvolution", {
    "the dropout is skipped in backward: its mask is not applied": ("dropout_backward(dh, cache.dropout)", "dh"),
    "the dropout mask is applied twice":
        ("dropout_backward(dh, cache.dropout)", "dropout_backward(dropout_backward(dh, cache.dropout), cache.dropout)")})

teach("glu", {
    "the derivative of the gate's sigmoid, g (1 - g), is missing": ("dy * a * gate * (1 - gate)", "dy * a"),
    "the gate's gradient lacks a, which the gate multiplies": ("dy * a * gate", "dy * gate"),
    "the gate's gradient has the wrong sign": ("dy * a * gate", "-dy * a * gate"),
    "the gate is missing from the gradient of a: da = dy": ("[dy * gate,", "[dy,"),
    "the halves are swapped: the gate's gradient comes first, that of a second":
        ("[dy * gate, dy * a * gate * (1 - gate)]", "[dy * a * gate * (1 - gate), dy * gate]")})
