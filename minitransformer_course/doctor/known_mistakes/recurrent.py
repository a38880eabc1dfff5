"""Recurrent networks: one step of each kind, a sequence of steps, a layer, two directions, and a stack."""

from minitransformer_course.doctor.mistakes import teach

teach("rnn_step", {
    "the derivative of tanh (1 - h'^2) is missing: dz = dh'": ("dafter * (1 - after * after)", "dafter"),
    "the derivative of tanh is 1 - h'^2, not 1 - h': the square is missing": ("after * after)", "after)"),
    "the weight's gradient comes from the state after the step, not from the one before it": ("h.T @ dz", "after.T @ dz")})

for gate, name, times in (("r", "reset", "dz_n * p"), ("u", "update", "dafter * (h - n)"),
                          ("i", "input", "dc * g"), ("f", "forget", "dc * c"), ("o", "output", "dh * tanh")):
    teach("gru_step" if gate in "ru" else "lstm_step", {
        f"{what} ({name} gate {gate})": (f"{times} * {gate} * (1 - {gate})", wrong) for what, wrong in (
            ("the derivative of the gate's sigmoid, s (1 - s), is missing", times),
            ("the derivative of the gate is that of tanh, 1 - s^2, but a gate is a sigmoid, s (1 - s)",
             f"{times} * (1 - {gate} * {gate})"),
            ("the derivative of the gate's sigmoid lacks the factor s: it is 1 - s, not s (1 - s)", f"{times} * (1 - {gate})"),
            ("the derivative of the gate's sigmoid lacks the factor 1 - s: it is s, not s (1 - s)", f"{times} * {gate}"),
            ("the gate gets no gradient: it is zero", f"0 * {times}"),
            ("the gate's gradient has the wrong sign", f"-{times} * {gate} * (1 - {gate})"))})

teach("gru_step", {
    "the derivative of the candidate's tanh, 1 - n^2, is missing": (" * (1 - n * n)", ""),
    "the candidate gets u in place of 1 - u": ("dafter * (1 - u) * (1 - n", "dafter * u * (1 - n"),
    "the reset gate is ignored on the way to the product h U_n: dp = dz_n lacks the factor r": ("dp = dz_n * r", "dp = dz_n"),
    "the direct path of the state is missing: dh lacks dh' u": ("dafter * u + ", ""),
    "the state's path through the gates and the candidate is missing: dh = dh' u alone": (" + dproduct @ weight.T", ""),
    "the candidate's bias gets dz_n, without the reset gate r that multiplies it": ("dp.sum(axis=0)", "dz_n.sum(axis=0)")})

teach("lstm_step", {
    "the candidate's derivative is a sigmoid's, g (1 - g), not that of tanh, 1 - g^2": ("(1 - g * g)", "g * (1 - g)"),
    "the cell gets no gradient from the hidden state: dh' o (1 - tanh^2) is missing": (" + dh * o * (1 - tanh * tanh)", ""),
    "the cell's gradient from the step after it is lost: only the path through the hidden state is left":
        ("dc = dc + dh", "dc = dh"),
    "the derivative of tanh(c') is missing on the way from the hidden state to the cell": (" * (1 - tanh * tanh)", ""),
    "the cell's path to the step before lacks the forget gate: dc' in place of dc' f": ("weight.T, dc * f]", "weight.T, dc]"),
    "the cell's path to the step before is cut: no gradient passes from cell to cell": ("weight.T, dc * f]", "weight.T, 0 * dc]"),
    "the gradients of input and forget gate are swapped":
        ("[dc * g * i * (1 - i), dc * c * f * (1 - f),", "[dc * c * f * (1 - f), dc * g * i * (1 - i),")})

SUM = "[total + one for total, one in zip(dweights, dstep)] if dweights else dstep"
teach("through_time", {
    "the state's gradient is not passed on to the step before: backpropagation is truncated after one step":
        ("dstate = dstate + dstates[t]", "dstate = dstates[t]"),
    "the positions' gradients (dz) are not put back in order: they come out from the last to the first (reversed)":
        ("dz[::-1]", "dz"),
    "the weights' gradient is that of the first position only (overwritten, =): every step adds to it":
        (SUM, "dstep"),
    "the padding mask is ignored: padding gets a gradient, and the state's passes through its steps":
        ("None if cache.mask is None else cache.mask[t][:, None]", "None"),
    "at padding the state's gradient is lost: the state passes it unchanged, and so must its gradient": (" + dstate * ~real", "")})

teach("OneDirection", {
    "the final state's gradient is dropped: dfinal is missing at the last position": ("dstates[-1] += dfinal", "pass"),
    "the final state's gradient is counted twice (doubled)": ("+= dfinal", "+= 2 * dfinal"),
    "the final state's gradient goes to the first position, not to the last": ("dstates[-1] +=", "dstates[0] +="),
    "the dropout is skipped in backward: its mask is not applied to dx": ("dropout_backward(dx, cache.dropout)", "dx")})

teach("Bidirectional", {
    "the right-to-left layer's dx is not turned round: its positions are reversed": ("dx_back[:, ::-1]", "dx_back"),
    "the right-to-left layer's upstream gradient is not turned round: it read the sentence backwards":
        ("dy[:, ::-1, size:]", "dy[:, :, size:]"),
    "both layers get the first half of dy": ("dy[:, ::-1, size:]", "dy[:, ::-1, :size]"),
    "the final states' halves are swapped: each direction gets the other one's":
        ("dfinal, dfinal_back = ", "dfinal_back, dfinal = ")})

teach("RecurrentStack", {
    "the dropout on the stack's output is skipped in backward": ("dropout_backward(dy, cache.dropout)", "dy"),
    "the final states' gradients are dropped: each layer gets zeros": ("(dx, dpart)", "(dx, 0 * dpart)")})
