"""The mistakes that the doctor knows, with a file for each kind of block. To add one, see docs/teach_the_doctor.md."""

from minitransformer_course.doctor.known_mistakes import (
    activations, attention, convolution, cross_entropy, dropout, forwards, heads, layer_norm, linear, modern, other_attention,
    pooling, positions, recurrent, residual, softmax, stacks)
