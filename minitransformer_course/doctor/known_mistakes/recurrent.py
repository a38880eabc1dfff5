"""Recurrent networks: one step of each kind, a sequence of steps, a layer, two directions, and a stack."""

from minitransformer_course.doctor.mistakes import teach

teach("rnn_step", {
    "the derivative of tanh (1 - h'^2) is missing: dz = dh'": ("dafter * (1 - after * after)", "dafter"),
    "the derivative of tanh is 1 - h'^2, not 1 - h': the square is missing": ("after * after)", "after)"),
    "the derivative of tanh is 1 - h'^2, not h' (1 - h'), which is a sigmoid's": ("(1 - after * after)", "after * (1 - after)"),
    "the derivative of tanh is taken at the state before the step, not after it": ("after * after", "h * h"),
    "the weight's gradient comes from the state after the step, not from the one before it": ("h.T @ dz", "after.T @ dz"),
    "the weight's gradient comes from dh', before the derivative of tanh": ("h.T @ dz", "h.T @ dafter"),
    "the weight's gradient is transposed: dz^T h in place of h^T dz": ("h.T @ dz", "dz.T @ h"),
    "the state's gradient lacks a transpose: dz U in place of dz U^T": ("weight.T", "weight"),
    "the state's gradient comes from dh', before the derivative of tanh": ("dz @ weight.T", "dafter @ weight.T"),
    "dh' is added to the state's gradient, as if the state were carried on unchanged": ("dz @ weight.T", "dz @ weight.T + dafter")})

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
    "the candidate's derivative is a sigmoid's, n (1 - n), not that of tanh, 1 - n^2": ("(1 - n * n)", "n * (1 - n)"),
    "the candidate is multiplied by 1 - u in the forward, but its gradient lacks that factor":
        ("dafter * (1 - u) * (1 - n", "dafter * (1 - n"),
    "the roles of u and 1 - u are swapped: the candidate gets u, the state 1 - u":
        ("dafter * (1 - u) * (1 - n", "dafter * u * (1 - n", "dafter * u +", "dafter * (1 - u) +"),
    "the candidate gets u in place of 1 - u": ("dafter * (1 - u) * (1 - n", "dafter * u * (1 - n"),
    "the state gets 1 - u in place of u on its direct path": ("dafter * u +", "dafter * (1 - u) +"),
    "the update gate's gradient lacks the candidate: h in place of h - n": ("(h - n)", "h"),
    "the update gate's gradient lacks the state: -n in place of h - n": ("(h - n)", "-n"),
    "the reset gate's gradient lacks the product p = h U_n + b_n that the gate multiplies": ("dz_n * p * r", "dz_n * r"),
    "the reset gate's gradient is made from the state h, not from the product h U_n + b_n": ("dz_n * p * r", "dz_n * h * r"),
    "the reset gate is ignored on the way to the product h U_n: dp = dz_n lacks the factor r": ("dp = dz_n * r", "dp = dz_n"),
    "the direct path of the state is missing: dh lacks dh' u": ("dafter * u + ", ""),
    "the direct path of the state lacks the factor u: dh' in place of dh' u": ("dafter * u + ", "dafter + "),
    "the state's path through the gates and the candidate is missing: dh = dh' u alone": (" + dproduct @ weight.T", ""),
    "the candidate's part of dz is that of the product, dz_n r: the reset gate multiplies only h U_n": ("dz_u, dz_n]", "dz_u, dp]"),
    "the gradients of reset and update gate are swapped":
        ("[dz_r, dz_u, dz_n]", "[dz_u, dz_r, dz_n]", "[dz_r, dz_u, dp]", "[dz_u, dz_r, dp]"),
    "the weight's gradient is made from dz, without the reset gate on the candidate's part": ("h.T @ dproduct", "h.T @ dz"),
    "the state's gradient is made from dz, without the reset gate on the candidate's part":
        ("dproduct @ weight.T", "dz @ weight.T"),
    "the candidate's bias gets dz_n, without the reset gate r that multiplies it": ("dp.sum(axis=0)", "dz_n.sum(axis=0)"),
    "the weight's gradient comes from the candidate n, not from the state before the step": ("h.T @ dproduct", "n.T @ dproduct")})

teach("lstm_step", {
    "the derivative of the candidate's tanh, 1 - g^2, is missing": ("dc * i * (1 - g * g)", "dc * i"),
    "the candidate's derivative is a sigmoid's, g (1 - g), not that of tanh, 1 - g^2": ("(1 - g * g)", "g * (1 - g)"),
    "the candidate's gradient lacks the input gate: the factor i is missing": ("dc * i * (1 - g", "dc * (1 - g"),
    "the input gate's gradient lacks the candidate g that it multiplies": ("dc * g * i", "dc * i"),
    "the forget gate's gradient lacks the cell c that it multiplies": ("dc * c * f", "dc * f"),
    "the forget gate's gradient is made from the cell after the step (its tanh), not from the cell before it":
        ("dc * c * f", "dc * tanh * f"),
    "the output gate's gradient lacks tanh(c') that it multiplies": ("dh * tanh * o", "dh * o"),
    "the output gate's gradient is made from the cell's gradient, not from that of the hidden state":
        ("dh * tanh * o", "dc * tanh * o"),
    "the cell gets no gradient from the hidden state: dh' o (1 - tanh^2) is missing": (" + dh * o * (1 - tanh * tanh)", ""),
    "the cell's gradient from the step after it is lost: only the path through the hidden state is left":
        ("dc = dc + dh", "dc = dh"),
    "the derivative of tanh(c') is missing on the way from the hidden state to the cell": (" * (1 - tanh * tanh)", ""),
    "the derivative of tanh(c') lacks its square: 1 - tanh in place of 1 - tanh^2": ("tanh * tanh)", "tanh)"),
    "the output gate is missing on the way from the hidden state to the cell: dh' (1 - tanh^2) lacks o":
        ("dh * o * (1 - tanh", "dh * (1 - tanh"),
    "the cell's path to the step before lacks the forget gate: dc' in place of dc' f": ("weight.T, dc * f]", "weight.T, dc]"),
    "the cell's path to the step before is cut: no gradient passes from cell to cell": ("weight.T, dc * f]", "weight.T, 0 * dc]"),
    "the cell's path to the step before has the input gate in place of the forget gate": ("weight.T, dc * f]", "weight.T, dc * i]"),
    "the cell's path to the step before starts from the gradient before the hidden state's is added":
        ("dc = dc + dh", "dcell, dc = dc, dc + dh", "weight.T, dc * f]", "weight.T, dcell * f]"),
    "the hidden state's path to the step before is missing: dz U^T does not reach h": ("dz @ weight.T,", "0 * dh,"),
    "the gradients of input and forget gate are swapped":
        ("[dc * g * i * (1 - i), dc * c * f * (1 - f),", "[dc * c * f * (1 - f), dc * g * i * (1 - i),"),
    "the gradients of candidate and output gate are swapped: the quarters lie in the order i, f, g, o":
        ("dc * i * (1 - g * g), dh * tanh * o * (1 - o)", "dh * tanh * o * (1 - o), dc * i * (1 - g * g)"),
    "the weight's gradient comes from the cell c, not from the hidden state h": ("h.T @ dz", "c.T @ dz"),
    "hidden state and cell are swapped: their gradients are returned in the wrong order":
        ("[dz @ weight.T, dc * f]", "[dc * f, dz @ weight.T]"),
    "hidden state and cell are swapped in the gradient that comes in":
        ("dafter[:, :size], dafter[:, size:]", "dafter[:, size:], dafter[:, :size]")})

SUM = "[total + one for total, one in zip(dweights, dstep)] if dweights else dstep"
teach("through_time", {
    "the state's gradient is not passed on to the step before: backpropagation is truncated after one step":
        ("dstate = dstate + dstates[t]", "dstate = dstates[t]"),
    "only the last position's outputs count: the gradient that each state gets from outside is missing":
        ("dstate = dstate + dstates[t]", "dstate = dstate + dstates[t] * (t == len(dstates) - 1)"),
    "the steps run backward in the order of the forward: from the first position to the last":
        ("reversed(range(len(dstates)))", "range(len(dstates))",
                                                                                               "dz[::-1]", "dz"),
    "the positions' gradients (dz) are not put back in order: they come out from the last to the first (reversed)":
        ("dz[::-1]", "dz"),
    "the weights' gradient is that of the first position only (overwritten, =): every step adds to it":
        (SUM, "dstep"),
    "the weights' gradient is that of the last position only: every step adds to it":
        (SUM, "dweights or dstep"),
    "the weights' gradient is averaged over the steps, not summed: divided by the length":
        ("dstate, *dweights", "dstate, *(one / len(dstates) for one in dweights)"),
    "the weights' gradient lacks the first position's": (SUM, "[total + (t > 0) * one for total, one in zip(dweights, dstep)] or dstep"),
    "the padding mask is ignored: padding gets a gradient, and the state's passes through its steps":
        ("None if cache.mask is None else cache.mask[t][:, None]", "None"),
    "at padding the state's gradient is lost: the state passes it unchanged, and so must its gradient": (" + dstate * ~real", ""),
    "at padding the state's gradient also goes through the step, whose result was not used": ("else dstate * real", "else dstate"),
    "at a real token the state's gradient also passes unchanged, as at padding": ("dstate * ~real", "dstate"),
    "the padding mask is inverted: real tokens are taken for padding": ("cache.mask[t][:, None]", "~cache.mask[t][:, None]")})

teach("OneDirection", {
    "the final state's gradient is dropped: dfinal is missing at the last position": ("dstates[-1] += dfinal", "pass"),
    "the final state's gradient is counted twice (doubled)": ("+= dfinal", "+= 2 * dfinal"),
    "the final state's gradient has the wrong sign": ("+= dfinal", "-= dfinal"),
    "the final state's gradient overwrites that of the last output (=): both have to be added": ("+= dfinal", "= dfinal"),
    "the final state's gradient goes to the first position, not to the last": ("dstates[-1] +=", "dstates[0] +="),
    "the final state's gradient is added at every position, not only at the last": ("dstates[-1] +=", "dstates +="),
    "the outputs' gradient is dropped: only the final state's is left":
        ("dstates[:, :, :self.hidden_size] = dy.swapaxes(0, 1)", "pass"),
    "only the last output's gradient is used: those of the positions before it are missing":
        ("dstates[:, :, :self.hidden_size] = dy.swapaxes(0, 1)", "dstates[-1, :, :self.hidden_size] = dy[:, -1]"),
    "the outputs' gradient goes to the cell's half of the state, not to the hidden state's":
        ("dstates[:, :, :self.hidden_size]", "dstates[:, :, -self.hidden_size:]"),
    "the outputs' gradient is reversed in time": ("dy.swapaxes(0, 1)", "dy[:, ::-1].swapaxes(0, 1)"),
    "dx is reversed in time": (".swapaxes(0, 1)\n        return", ".swapaxes(0, 1)[:, ::-1]\n        return"),
    "the dropout is skipped in backward: its mask is not applied to dx": ("dropout_backward(dx, cache.dropout)", "dx"),
    "the dropout mask is applied twice to dx":
        ("dropout_backward(dx, cache.dropout)", "dropout_backward(dropout_backward(dx, cache.dropout), cache.dropout)"),
    "the recurrent weights get no gradient: what the steps return for them is not added":
        ("weight.grad += dweight", "pass")})

teach("Bidirectional", {
    "the right-to-left layer's dx is not turned round: its positions are reversed": ("dx_back[:, ::-1]", "dx_back"),
    "the right-to-left layer's upstream gradient is not turned round: it read the sentence backwards":
        ("dy[:, ::-1, size:]", "dy[:, :, size:]"),
    "the right-to-left layer is turned round neither on the way in nor on the way out: a direction is not reversed":
        ("dy[:, ::-1, size:]", "dy[:, :, size:]", "dx_back[:, ::-1]", "dx_back"),
    "the halves are swapped: the left-to-right layer gets the second half of dy, the right-to-left layer the first":
        ("dy[:, ::-1, size:]", "dy[:, ::-1, :size]", "dy[:, :, :size]", "dy[:, :, size:]"),
    "both layers get the first half of dy": ("dy[:, ::-1, size:]", "dy[:, ::-1, :size]"),
    "both layers get the second half of dy": ("dy[:, :, :size]", "dy[:, :, size:]"),
    "the right-to-left layer's dx is missing: only the left-to-right layer's is returned":
        (" + dx_back[:, ::-1]", ""),
    "the left-to-right layer's dx is missing: only the right-to-left layer's is returned":
        ("dx + dx_back", "dx_back"),
    "the two dx are averaged, not added": ("dx + dx_back[:, ::-1]", "(dx + dx_back[:, ::-1]) / 2"),
    "the final states' halves are swapped: each direction gets the other one's":
        ("dfinal, dfinal_back = ", "dfinal_back, dfinal = "),
    "the first states' halves are swapped: each direction's goes where the other one's belongs":
        ("_join(dahead, dback)", "_join(dback, dahead)"),
    "the final states are cut in the middle: they lie part by part (h, h, c, c)":
        ("self._split(dfinal)", "(dfinal[:, :self.left_to_right.state_size], dfinal[:, self.left_to_right.state_size:])"),
    "the right-to-left layer's final state gets no gradient": ("size:], dfinal_back)", "size:], 0 * dfinal_back)"),
    "the left-to-right layer's final state gets no gradient": (":size], dfinal)", ":size], 0 * dfinal)")})

teach("RecurrentStack", {
    "the dropout on the stack's output is skipped in backward": ("dropout_backward(dy, cache.dropout)", "dy"),
    "the final states' gradients are dropped: each layer gets zeros": ("(dx, dpart)", "(dx, 0 * dpart)"),
    "the final states' gradients are counted twice (doubled)": ("(dx, dpart)", "(dx, 2 * dpart)"),
    "the first states' gradients are not put back in the layers' order": ("dstates[::-1]", "dstates")})
