"""Convolutions: each position's gradient goes back to all windows that contain it. A gate: y = a sigmoid(b)."""

from minitransformer_course.doctor.mistakes import teach

teach("windows", {
    "the kernel is not flipped in backward: position t + k - left gets what belongs to t - k + left":
        ("dy[:, :, k]", "dy[:, :, size - 1 - k]"),
    "the kernel is shifted by one position: each gradient lands one place too early":
        ("left:left + length]", "left + 1:left + 1 + length]",
         "dpadded = xp.zeros((batch, length + dilation * (size - 1), width)",
         "dpadded = xp.zeros((batch, length + dilation * (size - 1) + 1, width)"),
    "the kernel is shifted by one position: each gradient lands one place too late":
        ("dpadded[:, left:left + length]", "xp.pad(dpadded, ((0, 0), (1, 0), (0, 0)))[:, left:left + length]"),
    "the kernel is shifted: the padding on the left is not cut off, as if the convolution were causal the other way":
        ("left:left + length", ":length"),
    "the padding is cut off as in a causal convolution, but this one is centred": ("left:left + length", "-length:"),
    "only the last of the windows that contain a position counts (=): all have to be added (+=)":
        ("] += dy[:, :, k]", "] = dy[:, :, k]"),
    "a position gets the gradient of its own window only, not of all windows that contain it":
        ("for k in range(size)", "for k in [left // dilation]"),
    "the gradient of the window's first place is left out": ("range(size)", "range(1, size)"),
    "the gradient of the window's last place is left out": ("range(size)", "range(size - 1)"),
    "the dilation is ignored in backward: the places of a window are taken for neighbours":
        ("dilation * k:dilation * k + length", "k:k + length"),
    "the windows are averaged, not added: divided by the kernel's size": ("+= dy[:, :, k]", "+= dy[:, :, k] / size")})

FLIPPED = "the kernel's gradient is flipped: its places are in reverse order"
FLIPPED_FOR_X = "the kernel is flipped on the way to dx: its places are in reverse order"
teach("depthwise_convolution", {FLIPPED: (", window), dweight", ", window), dweight[::-1]"),
                                FLIPPED_FOR_X: ("* weight,", "* weight[::-1],")})
teach("convolution", {
    FLIPPED: ("dweight.reshape(weight.shape)", "dweight.reshape(weight.shape)[::-1]"),
    FLIPPED_FOR_X: ("@ weight.reshape", "@ weight[::-1].reshape"),
    "the kernel's gradient has the places and the input's width in the wrong order: it is reshaped to (d_in, K, d_out)":
        ("dweight.reshape(weight.shape)", "dweight.reshape(d_in, size, d_out).swapaxes(0, 1)"),
    "the rows' gradient is cut into windows in the wrong order: (d_in, K) in place of (K, d_in)":
        (".reshape(batch, length, size, d_in)", ".reshape(batch, length, d_in, size).swapaxes(2, 3)")})

for layer in ("Convolution", "SeparableConvolution"):
    teach(layer, {
        "the mask is not applied to dx: padding gets a gradient": ("dx if cache.mask is None else dx * cache.mask", "dx"),
        "the mask is inverted: only padding gets a gradient": ("dx * cache.mask", "dx * ~cache.mask")})
teach("Convolution", {"the mask is applied to dy: padding's outputs count, only its inputs are zero": (
    "self.bias.grad", "dy = dy if cache.mask is None else dy * cache.mask\n        self.bias.grad")})
teach("SeparableConvolution", {
    "the depthwise convolution is skipped in dx: the pointwise layer's gradient is returned":
        ("return dx if cache.mask is None else dx", "return dh if cache.mask is None else dh")})
teach("GatedConvolution", {
    "the dropout is skipped in backward: its mask is not applied": ("dropout_backward(dh, cache.dropout)", "dh"),
    "the dropout mask is applied twice":
        ("dropout_backward(dh, cache.dropout)", "dropout_backward(dropout_backward(dh, cache.dropout), cache.dropout)")})

teach("glu", {
    "the derivative of the gate's sigmoid, g (1 - g), is missing": ("dy * a * gate * (1 - gate)", "dy * a"),
    "the derivative of the gate's sigmoid lacks the factor g: only 1 - g": ("dy * a * gate * (1 - gate)", "dy * a * (1 - gate)"),
    "the derivative of the gate's sigmoid lacks the factor 1 - g: only g": ("dy * a * gate * (1 - gate)", "dy * a * gate"),
    "the derivative of the gate is that of tanh, 1 - g^2, but the gate is a sigmoid: g (1 - g)":
        ("dy * a * gate * (1 - gate)", "dy * a * (1 - gate * gate)"),
    "the gate's gradient lacks a, which the gate multiplies": ("dy * a * gate", "dy * gate"),
    "the gate gets no gradient: db is zero": ("dy * a * gate * (1 - gate)", "0 * dy"),
    "the gate's gradient has the wrong sign": ("dy * a * gate", "-dy * a * gate"),
    "the gate is missing from the gradient of a: da = dy": ("[dy * gate,", "[dy,"),
    "a gets no gradient: da is zero": ("[dy * gate,", "[0 * dy,"),
    "the gradient of a is multiplied by a in place of the gate": ("[dy * gate,", "[dy * a,"),
    "the halves are swapped: the gate's gradient comes first, that of a second":
        ("[dy * gate, dy * a * gate * (1 - gate)]", "[dy * a * gate * (1 - gate), dy * gate]")})
