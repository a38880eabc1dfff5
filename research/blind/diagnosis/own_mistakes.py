"""120 wrong versions of the layers in own_layers.py. Each replaces `old`, which occurs once in the
layer's section, by `new`.

`truth`: what a teacher would write about it. `accept`: phrases or ideas, any of which names the
mistake as well.
"""

from typing import NamedTuple


class Mistake(NamedTuple):
    name: str
    layer: str
    kind: str
    old: str
    new: str
    truth: str
    accept: list


MISTAKES = []


def add(name, layer, kind, old, new, truth, *accept):
    MISTAKES.append(Mistake(name, layer, kind, old, new, truth, list(accept)))


# ---- normalisations

add("bn_statistics_constant", "batch_norm", "statistic taken as constant",
    "return inv / n * (n * dxhat - dxhat.sum(axis=(0, 1)) - xhat * proj)",
    "return dxhat * inv",
    "The mean and the variance of the batch are treated as constants; their own gradients are "
    "missing.",
    "mean and variance depend on x", "statistics taken as constants", "projection is missing",
    "the terms with the sums are missing")

add("bn_count_only_batch", "batch_norm", "wrong axis or count",
    "n = xhat.shape[0] * xhat.shape[1]",
    "n = xhat.shape[0]",
    "The statistics are over batch and time, but n counts only the batch, so the means are "
    "divided by too small "
    "a number.",
    "n should be B * T", "count of the mean is wrong", "time axis missing in the count",
    "divided by B instead of B*T")

add("ln_power_of_std", "layer_norm", "wrong power",
    "inverse_std ** 3",
    "inverse_std ** 2",
    "The slope of variance ** -0.5 is -0.5 inverse_std cubed; here it is squared, one power too "
    "few.",
    "power of inverse_std is one too small", "cube instead of square", "** 3")

add("ln_mean_path", "layer_norm", "path forgotten",
    "return grad_centred + grad_mean / self.features",
    "return grad_centred",
    "The gradient through the mean that was subtracted is left out.",
    "mean taken as constant", "subtract the mean of the gradient", "grad_mean is not used",
    "the path through the mean is missing")

add("gn_mean_axis", "group_norm", "wrong axis or count",
    "m1 = dxn.mean((1, 3), keepdims=True)",
    "m1 = dxn.mean(3, keepdims=True)",
    "The mean of the gradient is taken over the channels of the group alone, not over time as "
    "well, as in forward.",
    "axis 1 is missing", "mean over the wrong axes", "should be over (1, 3)",
    "time is missing in the mean")

add("gn_gamma_outside", "group_norm", "order",
    """        dxn = (dy * self.w.data).reshape(xn.shape)
        m1 = dxn.mean((1, 3), keepdims=True)
        m2 = (dxn * xn).mean((1, 3), keepdims=True)
        dx = rstd * (dxn - m1 - xn * m2)
        return dx.reshape(dy.shape)
""",
    """        dxn = dy.reshape(xn.shape)
        m1 = dxn.mean((1, 3), keepdims=True)
        m2 = (dxn * xn).mean((1, 3), keepdims=True)
        dx = rstd * (dxn - m1 - xn * m2)
        return dx.reshape(dy.shape) * self.w.data
""",
    "The weight is multiplied on at the end, outside the normalisation's backward; dy must be "
    "multiplied by it "
    "first.",
    "gamma outside", "weight applied after instead of before", "scale belongs inside the means",
    "order of scale and normalisation")

add("gemma_one_forgotten", "gemma_norm", "term forgotten",
    "dn = dout * (1 + self.gamma.data)",
    "dn = dout * self.gamma.data",
    "Forward scales by 1 + gamma, backward by gamma alone: the 1 is forgotten.",
    "1 + gamma", "the 1 is missing", "scale is gamma plus one")

add("gemma_mean_not_divided", "gemma_norm", "mean or sum",
    "dx = dn * r + dms * 2 * x / x.shape[-1]",
    "dx = dn * r + dms * 2 * x",
    "The mean square divides by the width, but its gradient does not: the term through the mean "
    "is D times too "
    "large.",
    "divide by D", "mean taken as a sum", "missing / x.shape[-1]", "factor of the width")

add("weight_norm_length_constant", "weight_norm", "statistic taken as constant",
    "self.v.grad += (g / norm)[:, None] * (dw - (dot / norm ** 2)[:, None] * v)",
    "self.v.grad += (g / norm)[:, None] * dw",
    "The length of v is treated as a constant; the part of the gradient along v has to be "
    "subtracted.",
    "norm depends on v", "projection missing", "norm taken as constant", "component along v")

add("weight_norm_g_not_divided", "weight_norm", "factor",
    "self.g.grad += dot / norm",
    "self.g.grad += dot",
    "The gradient of g must be taken with the unit vector v / |v|; the division by the norm is "
    "missing.",
    "divide by norm", "unit direction", "v is not normalised in g's gradient", "factor 1 / norm")

add("spectral_sigma_constant", "spectral_norm", "statistic taken as constant",
    "self.W.grad += dWn / sigma + dsigma * np.outer(u, v)",
    "self.W.grad += dWn / sigma",
    "sigma = u^T W v is treated as a constant, although it depends on W.",
    "sigma depends on W", "path through sigma", "outer product term is missing",
    "dsigma is not used")

add("spectral_outer_turned", "spectral_norm", "transpose",
    "np.outer(u, v)",
    "np.outer(v, u)",
    "The gradient of u^T W v with respect to W is u v^T; here it is transposed.",
    "outer product transposed", "u and v swapped", "outer(u, v)")

add("two_column_sign", "spectral_exact", "sign",
    "dc = dlam * (0.5 - half / (2 * root))",
    "dc = dlam * (0.5 + half / (2 * root))",
    "half is (a - c) / 2, so c enters the root with a minus; the sign of that term is wrong in dc.",
    "sign of c", "minus instead of plus", "wrong sign in dc")

add("two_column_off_diagonal", "spectral_exact", "factor",
    "db = dlam * b / root",
    "db = dlam * b / (2 * root)",
    "The root contains b^2, whose slope 2 b cancels the 2 of the root: db is half of what it "
    "should be.",
    "db is half", "factor 2", "slope of b squared", "twice")

add("cosine_weight_length_constant", "cosine_classifier", "statistic taken as constant",
    "self.w.grad += unit_backward(dcos.T @ xu, wu, wn)",
    "self.w.grad += dcos.T @ xu / wn",
    "The length of each weight row is taken as a constant: the projection is missing in the "
    "gradient of w.",
    "norm of w depends on w", "component along w", "projection missing", "norm constant")

add("cosine_raw_weight", "cosine_classifier", "wrong operand",
    "return unit_backward(dcos @ wu, xu, xn)",
    "return unit_backward(dcos @ self.w.data, xu, xn)",
    "The input's gradient uses the raw weight; forward multiplies by the normalised one.",
    "wu instead of w", "normalised weight", "unnormalised weight in dx")

add("l2_epsilon_outside", "l2_normalize", "epsilon",
    "length = np.sqrt((x * x).sum(-1, keepdims=True) + self.eps)",
    "length = np.sqrt((x * x).sum(-1, keepdims=True)) + self.eps",
    "Forward adds epsilon under the root, backward adds it to the root.",
    "epsilon inside the square root", "epsilon in another place than in forward",
    "length differs from forward")

add("l2_power", "l2_normalize", "wrong power",
    "length ** 3",
    "length ** 2",
    "The second term has to be divided by the length cubed, not squared.",
    "power of length one too small", "cube", "** 3", "1 / length missing")

add("standardize_ddof", "standardize_time", "wrong axis or count",
    "(dz * z).sum(1, keepdims=True) / (T - 1)",
    "(dz * z).sum(1, keepdims=True) / T",
    "Forward uses the sample variance with T - 1, backward divides by T.",
    "ddof", "T - 1", "Bessel", "n - 1 instead of n")

add("standardize_mean_axis", "standardize_time", "wrong axis or count",
    "dx = dc - dc.mean(1, keepdims=True)",
    "dx = dc - dc.mean(-1, keepdims=True)",
    "The mean was taken over time, but backward subtracts the mean over the channels.",
    "wrong axis", "axis 1", "mean over the last axis instead of time")

add("ada_one_forgotten", "adaptive_norm", "term forgotten",
    "dn = dy * (1 + scale[:, None])",
    "dn = dy * scale[:, None]",
    "The normalised x is multiplied by 1 + scale; backward forgets the 1.",
    "1 + scale", "the one is missing")

add("ada_shift_path", "adaptive_norm", "path forgotten",
    "dc = dscale @ self.to_scale.data.T + dshift @ self.to_shift.data.T",
    "dc = dscale @ self.to_scale.data.T",
    "The condition also makes the shift; the gradient through the shift is missing in dc.",
    "shift path", "to_shift is missing", "second use of c")

# ---- gates

add("glu_tanh_slope", "glu", "slope of an activation",
    "db = dy * a * s * (1 - s)",
    "db = dy * a * (1 - s * s)",
    "The slope of the sigmoid is s (1 - s); here it is 1 - s^2, the slope of tanh.",
    "slope of sigmoid", "s * (1 - s)", "tanh's derivative instead of sigmoid's")

add("glu_halves_swapped", "glu", "order",
    "np.concatenate([da, db], axis=-1)",
    "np.concatenate([db, da], axis=-1)",
    "The gradients of value and gate are put together in the wrong order.",
    "halves swapped", "order of concatenate", "da and db exchanged", "first half")

add("swiglu_sigmoid_slope", "swiglu", "slope of an activation",
    "(sg + gate * sg * (1 - sg))",
    "(sg * (1 - sg))",
    "The gate's activation is silu, but the slope is that of the sigmoid alone.",
    "slope of silu", "sigmoid slope instead of silu", "product rule", "x * sigmoid(x)")

add("swiglu_up_path", "swiglu", "path forgotten",
    "return dgate @ self.w1.data.T + dup @ self.w3.data.T",
    "return dgate @ self.w1.data.T",
    "x is used twice; the gradient through w3 is missing in dx.",
    "path through w3", "second use of x", "dup is missing")

add("geglu_cubic_slope", "geglu", "slope of an activation",
    "inner = C * (1 + 3 * K * x ** 2)",
    "inner = C * (1 + K * x ** 2)",
    "The slope of K x^3 is 3 K x^2; the 3 is missing.",
    "3 K", "factor 3", "derivative of the cube", "slope of gelu")

add("geglu_gate_not_activated", "geglu", "wrong operand",
    "dg, dv = dy * v * gelu_slope(g), dy * gelu(g)",
    "dg, dv = dy * v * gelu_slope(g), dy * g",
    "The value is multiplied by gelu(g) in forward, but its gradient by g itself.",
    "gelu(g)", "activation of the gate is missing in dv", "g instead of gelu(g)")

add("highway_carry", "highway", "path forgotten",
    "return dy * (1 - t) + dh_pre @ self.Wh.data.T",
    "return dh_pre @ self.Wh.data.T",
    "The direct path of x, through the carry gate 1 - t, is missing.",
    "carry path", "(1 - t) * x", "direct path of x", "dy * (1 - t)")

add("highway_gate_difference", "highway", "term forgotten",
    "dt = dy * (h - x)",
    "dt = dy * h",
    "t multiplies h and 1 - t multiplies x, so the gate's gradient is dy (h - x); the x is "
    "forgotten.",
    "h - x", "1 - t also depends on t", "minus x")

add("gtrxl_reset_factor", "gru_gate", "factor",
    "dx = dout * (1 - z) + drx * r",
    "dx = dout * (1 - z) + drx",
    "x is multiplied by the reset gate r before Ug; the factor r is missing in its gradient.",
    "factor r", "reset gate missing in dx", "drx * r")

add("gtrxl_bias_sign", "gru_gate", "sign",
    "self.bg.grad -= dz.sum(0)",
    "self.bg.grad += dz.sum(0)",
    "The bias is subtracted in forward, so its gradient has a minus.",
    "sign of bg", "minus", "negative")

add("se_mean_not_divided", "squeeze_excite", "mean or sum",
    "dx = dx + ds[:, None, :] / x.shape[1]",
    "dx = dx + ds[:, None, :]",
    "The squeeze is a mean over time; its gradient must be divided by T.",
    "divide by T", "mean, not sum", "number of time steps")

add("se_gate_detached", "squeeze_excite", "path forgotten",
    "dx = dx + ds[:, None, :] / x.shape[1]\n        return dx",
    "return dx",
    "x also determines the gate; the gradient through the gate is missing in dx.",
    "gate taken as constant", "ds is not used", "path through the mean", "detached gate")

add("swish_beta_one_x", "swish_beta", "factor",
    "(dy * x * x * slope)",
    "(dy * x * slope)",
    "y = x sigmoid(beta x): the derivative with respect to beta has x twice; one factor x is "
    "missing.",
    "x squared", "x * x", "factor x missing")

add("swish_beta_forgotten", "swish_beta", "slope of an activation",
    "dy * (s + self.beta.data * x * slope)",
    "dy * (s + x * slope)",
    "The inner derivative of sigmoid(beta x) is beta; it is missing.",
    "factor beta", "chain rule", "inner derivative")

add("sqrelu_slope", "squared_relu_ffn", "slope of an activation",
    "dpre = 2 * r * da",
    "dpre = (r.real > 0) * da",
    "The slope of relu squared is 2 relu, but here it is that of relu.",
    "2 * r", "slope of the square", "slope of relu instead of relu squared")

add("sqrelu_operand", "squared_relu_ffn", "wrong operand",
    'np.einsum("bth,btd->hd", a, dy)',
    'np.einsum("bth,btd->hd", r, dy)',
    "W2 is multiplied by the squared activation a, but its gradient uses r, before the square.",
    "a instead of r", "squared activation", "wrong operand in W2.grad", "r is not squared")

# ---- recurrences

add("rnn_carry_dropped", "elman_rnn", "scan",
    "dh = dy[:, t] + dh_next",
    "dh = dy[:, t]",
    "The gradient that comes from the next time step is dropped.",
    "dh_next is not added", "carry", "later steps", "backpropagation through time")

add("rnn_recurrent_transpose", "elman_rnn", "transpose",
    "dh_next = da @ self.U.data.T",
    "dh_next = da @ self.U.data",
    "The recurrent weight must be transposed in backward.",
    "transpose of U", "U.T", "not transposed")

add("rnn_state_off_by_one", "elman_rnn", "off by one in time",
    "self.U.grad += hs[t].T @ da",
    "self.U.grad += hs[t + 1].T @ da",
    "U multiplies the previous state h_{t-1}, but its gradient uses the state after the step.",
    "off by one", "previous state", "hs[t]", "one step too late")

add("gru_reset_in_carry", "gru", "factor",
    "dhu = dn * r",
    "dhu = dn",
    "U h is multiplied by the reset gate; the factor r is missing on the way back.",
    "factor r", "reset gate", "dn * r")

add("gru_update_sign", "gru", "sign",
    "dz = dh * (h - n) * z * (1 - z)",
    "dz = dh * (n - h) * z * (1 - z)",
    "z multiplies the old state and 1 - z the candidate; the sign of the update gate's gradient "
    "is wrong.",
    "h - n", "sign of dz", "convention of z", "n - h is turned round")

add("lstm_forget_gate", "lstm", "scan",
    "dh_next = dxh[:, shape[2]:]\n            dc = dc * f\n",
    "dh_next = dxh[:, shape[2]:]\n",
    "The cell's gradient must be multiplied by the forget gate on its way to the step before.",
    "forget gate", "dc * f", "factor f", "cell carry not multiplied")

add("lstm_last_cell", "lstm", "output's gradient ignored",
    "dhs, dc = dy\n",
    "dhs = dy[0]\n        dc = np.zeros_like(dy[1])\n",
    "The upstream gradient of the second output, the last cell, is ignored.",
    "second output", "dy[1]", "last cell", "starts from zero")

add("ema_input_term", "ema", "term forgotten",
    "da += (g * (h_prev - x[:, t])).sum(0)",
    "da += (g * h_prev).sum(0)",
    "a also appears in (1 - a) x; the term -x is missing in the gradient of a.",
    "1 - a", "h_prev - x", "minus x", "second use of a")

add("ema_carry_decay", "ema", "scan",
    "g = dy[:, t] + a * g",
    "g = dy[:, t] + g",
    "The gradient carried back to the step before must be multiplied by the decay a.",
    "factor a in the carry", "a * g", "decay missing")

add("ssm_state_off_by_one", "diagonal_ssm", "off by one in time",
    "ddecay += (dh * states[:, t]).sum(0)",
    "ddecay += (dh * states[:, t + 1]).sum(0)",
    "The decay multiplies the state before the step, but its gradient uses the state after it.",
    "off by one", "previous state", "states[:, t]", "h_{t-1}")

add("ssm_double_exp", "diagonal_ssm", "chain rule",
    "self.A_log.grad += ddecay * decay * -np.exp(self.A_log.data)",
    "self.A_log.grad += ddecay * -decay",
    "decay = exp(-exp(A_log)); the inner derivative exp(A_log) is missing.",
    "inner exp", "chain rule", "factor exp(A_log)", "double exponential")

add("linear_attention_normaliser", "linear_attention", "statistic taken as constant",
    "dden = -(dy * y).sum(-1, keepdims=True) / den",
    "dden = np.zeros_like(den)",
    "The denominator depends on q and k, but is taken as a constant.",
    "normaliser constant", "denominator", "dden", "quotient rule")

add("linear_attention_sum_not_turned", "linear_attention", "scan",
    "dS = np.flip(np.cumsum(np.flip(dS, 1), 1), 1)\n        dz = np.flip(np.cumsum(np.flip(dz, "
    "1), 1), 1)",
    "dS = np.cumsum(dS, 1)\n        dz = np.cumsum(dz, 1)",
    "The backward of a cumulative sum runs from the end to the start; here it runs forward in "
    "time.",
    "reversed cumulative sum", "direction of time", "cumsum must be flipped", "future to past")

add("mingru_decay_off_by_one", "min_gru", "off by one in time",
    "(1 - z[:, t + 1]) * total[:, t + 1]",
    "(1 - z[:, t]) * total[:, t + 1]",
    "The state of step t is multiplied by the gate of step t + 1, but backward uses the gate of "
    "step t.",
    "off by one", "z[:, t + 1]", "next step's gate")

add("mingru_gate_difference", "min_gru", "term forgotten",
    "dz = total * (c - h[:, :-1])",
    "dz = total * c",
    "z also appears in (1 - z) h_{t-1}; the term with the previous state is missing.",
    "c - h", "1 - z", "minus the previous state")

add("birnn_not_turned_back", "bidirectional", "order",
    "self.rtl.backward(db[:, ::-1], cache_b)[:, ::-1]",
    "self.rtl.backward(db[:, ::-1], cache_b)",
    "The gradient of the right-to-left direction is not turned back in time before it is added.",
    "flip", "reversed", "not turned round", "[:, ::-1]")

add("birnn_rec_assigned", "bidirectional", "= for +=",
    "self.rec.grad += hs[:, t - 1].T @ d",
    "self.rec.grad = hs[:, t - 1].T @ d",
    "The gradient of the recurrent weight is assigned at each step instead of added, so one "
    "step remains.",
    "+=", "overwritten", "assigned", "accumulate", "only the last step")

add("retention_lag", "retention", "chain rule",
    "dg = (dD * lag * D).sum() / g",
    "dg = (dD * D).sum() / g",
    "The derivative of g^lag is lag g^(lag - 1); the factor lag is missing.",
    "factor lag", "power rule", "exponent")

add("retention_decay_mask", "retention", "mask",
    "ds = dA * D",
    "ds = dA",
    "The scores are multiplied by the decay matrix; neither its decay nor its causal mask is "
    "applied in backward.",
    "factor D", "decay matrix missing", "mask not applied", "causal")

add("delta_read_before_write", "delta_rule", "path forgotten",
    'dk[:, t] = np.einsum("bkv,bv->bk", dS, u) - np.einsum("bkv,bv->bk", old, derr)',
    'dk[:, t] = np.einsum("bkv,bv->bk", dS, u)',
    "k is used twice, to read the old value and to write; the gradient through the reading is "
    "missing.",
    "prediction path", "second use of k", "old state", "through err")

add("delta_state_path", "delta_rule", "scan",
    '            dS = dS - np.einsum("bk,bv->bkv", k[:, t], derr)\n',
    "",
    "The old state also enters the prediction that is subtracted; that path is missing in the "
    "state's carry.",
    "carry of dS", "state taken as only added", "prediction uses the old state", "erase term")

add("masked_rnn_hold_path", "masked_rnn", "mask",
    "dh_before = dpre @ self.w_h.data.T + (1 - cache.keep) * dh",
    "dh_before = dpre @ self.w_h.data.T",
    "At padding the state is handed on unchanged; the gradient along that path is missing.",
    "1 - keep", "held state", "padding", "copy path", "skipped steps")

add("masked_rnn_mask_missing", "masked_rnn", "mask",
    "dpre = dh * cache.keep * (1 - cache.candidate ** 2)",
    "dpre = dh * (1 - cache.candidate ** 2)",
    "The mask is not applied to the candidate's gradient: padding gets a gradient.",
    "keep is missing", "mask not applied", "padding")

add("crf_softmax_axis", "crf", "wrong axis or count",
    "p = softmax(alphas[t - 1][:, :, None] + self.trans.data, axis=1)",
    "p = softmax(alphas[t - 1][:, :, None] + self.trans.data, axis=2)",
    "logsumexp runs over the previous tag, but the softmax of backward over the next tag.",
    "wrong axis", "axis 1", "previous tag", "softmax axis")

add("crf_upstream_ignored", "crf", "output's gradient ignored",
    "dalpha = dz[:, None] * softmax(alphas[-1], axis=1)",
    "dalpha = softmax(alphas[-1], axis=1)",
    "The upstream gradient dz is ignored: backward acts as if it were one.",
    "dz is not used", "upstream gradient", "assumes dy = 1")

# ---- attention

add("rope_same_direction", "rotary_attention", "rotation",
    "dk = rotate(ds.transpose(0, 2, 1) @ q, cos, -sin)",
    "dk = rotate(ds.transpose(0, 2, 1) @ q, cos, sin)",
    "The gradient of a rotation is the rotation back; dk is turned in the same direction as in "
    "forward.",
    "-sin", "inverse rotation", "turned in the same direction", "sign of sin",
    "transpose of the rotation")

add("rope_scale", "rotary_attention", "factor",
    "ds = p * (dp - (dp * p).sum(-1, keepdims=True)) / math.sqrt(self.d)",
    "ds = p * (dp - (dp * p).sum(-1, keepdims=True))",
    "The scores are divided by sqrt(d) in forward; backward forgets it.",
    "1 / sqrt(d)", "scale is missing", "scaling factor")

add("alibi_scale_dk", "alibi_attention", "factor",
    'dk = np.einsum("bhij,bhid->bhjd", ds, q) * scale',
    'dk = np.einsum("bhij,bhid->bhjd", ds, q)',
    "dq is scaled by 1 / sqrt(d), but dk is not.",
    "scale missing in dk", "sqrt(d)", "scaling factor")

add("alibi_softmax_axis", "alibi_attention", "wrong axis or count",
    "ds = p * (dp - (dp * p).sum(axis=-1, keepdims=True))",
    "ds = p * (dp - (dp * p).sum(axis=-2, keepdims=True))",
    "The softmax is over the keys, but its backward sums over the queries.",
    "wrong axis", "axis=-1", "softmax over the last axis", "sum over queries")

add("cross_residual", "cross_attention", "path forgotten",
    "return dy + dq @ self.q.data.T, dkv",
    "return dq @ self.q.data.T, dkv",
    "The residual path x + ... is forgotten: dy itself is missing in dx.",
    "residual", "skip connection", "dy is missing", "identity path")

add("cross_kv_swapped", "cross_attention", "order",
    "dkv = np.concatenate([dk, dv], -1)",
    "dkv = np.concatenate([dv, dk], -1)",
    "The gradients of key and value are put together in the wrong order.",
    "dk and dv swapped", "order of concatenate", "key and value exchanged")

add("bahdanau_value_path", "additive_attention", "path forgotten",
    "dkeys = a[..., None] * dcontext[:, None] + dpre @ self.U.data.T",
    "dkeys = dpre @ self.U.data.T",
    "The keys are also the values of the weighted sum; that direct path is missing in dkeys.",
    "weighted sum", "value path", "a * dcontext", "second use of keys")

add("bahdanau_tanh_slope", "additive_attention", "slope of an activation",
    "dpre = de * (1 - e * e)",
    "dpre = de * (1 - e)",
    "The slope of tanh is 1 - e^2, not 1 - e.",
    "slope of tanh", "square", "1 - e * e", "1 - tanh^2")

add("pool_weights_constant", "attention_pool", "path forgotten",
    "return dx_value + dx_logit",
    "return dx_value",
    "x also determines the attention weights; the gradient through the logits is missing in dx.",
    "weights taken as constants", "dx_logit", "path through the logits", "detached attention")

add("pool_softmax_mean", "attention_pool", "softmax Jacobian",
    "dlogit = w * (dw - mean_dw[:, None])",
    "dlogit = w * (dw - dw.mean(axis=1, keepdims=True))",
    "Softmax's backward subtracts the mean of dw weighted with w, but here it is the plain mean "
    "over time.",
    "weighted mean", "sum(w * dw)", "plain mean instead of weighted", "softmax Jacobian")

add("mqa_mean_over_heads", "multi_query", "mean or sum",
    'dk = np.einsum("bhts,bthd->bsd", ds, q)',
    'dk = np.einsum("bhts,bthd->bsd", ds, q) / self.h',
    "The shared key gets the sum of all heads' gradients, not their mean.",
    "sum over heads", "divided by the number of heads", "mean instead of sum",
    "extra factor 1 / heads")

add("mqa_weights_not_transposed", "multi_query", "transpose",
    'dv = np.einsum("bhts,bthd->bsd", p, dy)',
    'dv = np.einsum("bhts,bshd->btd", p, dy)',
    "dv needs the attention weights transposed: the sum is over the queries, not over the keys.",
    "transpose of p", "p^T", "sum over t", "not transposed")

add("softcap_extra_cap", "softcap_attention", "factor",
    "draw = dcapped * (1 - th ** 2)",
    "draw = dcapped * self.cap * (1 - th ** 2)",
    "The cap outside the tanh and the 1 / cap inside cancel; here only the outer one is counted.",
    "factor cap too many", "inner derivative 1 / cap", "cap cancels", "multiplied by cap")

add("softcap_slope_forgotten", "softcap_attention", "slope of an activation",
    "draw = dcapped * (1 - th ** 2)",
    "draw = dcapped",
    "The slope of the tanh of the soft cap is missing.",
    "1 - tanh^2", "tanh's derivative", "soft cap is ignored", "1 - th ** 2")

add("bias_table_repeats", "relative_bias", "scatter with repeats",
    "np.add.at(self.table.grad, idx, dlogits)",
    "self.table.grad[idx] += dlogits",
    "The same table entry occurs many times in idx, and [idx] += adds only one of them; use "
    "np.add.at.",
    "np.add.at", "repeated indices", "[idx] +=", "duplicates", "only the last one")

add("bias_table_turned", "relative_bias", "transpose",
    "np.add.at(self.table.grad, idx, dlogits)",
    "np.add.at(self.table.grad, idx.T, dlogits)",
    "The gradient of the entry i - j is added to the entry j - i: the index is transposed.",
    "transposed", "j - i", "index turned round", "sign of the distance")

# ---- experts, adapters

add("moe_router_path", "soft_moe", "path forgotten",
    'return np.einsum("neo,edo->nd", douts, self.experts.data) + dlogits @ self.router.data.T',
    'return np.einsum("neo,edo->nd", douts, self.experts.data)',
    "x also goes into the router; the gradient through the gates is missing in dx.",
    "router path", "gate taken as constant", "through the logits", "dlogits @ router.T")

add("moe_softmax_diagonal", "soft_moe", "softmax Jacobian",
    "dlogits = gates * (dgates - (gates * dgates).sum(-1, keepdims=True))",
    "dlogits = gates * (1 - gates) * dgates",
    "Only the diagonal of the softmax's Jacobian is used; the gates also depend on one "
    "another's logits.",
    "diagonal of the Jacobian", "softmax treated as a sigmoid", "off-diagonal terms", "cross terms")

add("topk_row_overwritten", "topk_moe", "= for +=",
    "dx[rows] += dpre @ self.w[e].data.T",
    "dx[rows] = dpre @ self.w[e].data.T",
    "A row goes to two experts, but the second one overwrites the first one's gradient instead "
    "of adding to it.",
    "+=", "overwritten", "sum over experts", "only the last expert")

add("topk_prob_missing", "topk_moe", "factor",
    "dpre = g * probs[rows, e, None] * (1 - h * h)",
    "dpre = g * (1 - h * h)",
    "The expert's output is multiplied by its gate; the factor is missing on the way back.",
    "gate probability", "probs", "factor missing", "not weighted by the gate")

add("switch_aux_ignored", "switch_router", "output's gradient ignored",
    "        dp += daux * E * fraction / n\n",
    "",
    "The gradient of the second output, the load-balancing loss, is ignored.",
    "daux", "second output", "auxiliary loss", "load balancing")

add("switch_scales_repeats", "switch_router", "scatter with repeats",
    "np.add.at(self.scales.grad, top, dy * p_top[:, None] * x)",
    "self.scales.grad[top] += dy * p_top[:, None] * x",
    "Many rows choose the same expert, and [top] += adds only one of them; use np.add.at.",
    "np.add.at", "repeated indices", "duplicates", "only the last row")

add("lora_scaling", "lora", "factor",
    "d_low = self.scaling * (dy @ self.B.data.T)",
    "d_low = dy @ self.B.data.T",
    "The factor alpha / r is missing in the gradient of the low-rank activation, so in A's and "
    "in x's.",
    "scaling", "alpha / r", "factor missing")

add("lora_frozen_path", "lora", "path forgotten",
    "return dy @ self.frozen.astype(dy.dtype).T + d_low @ self.A.data.T",
    "return d_low @ self.A.data.T",
    "The frozen weight gets no gradient, but x still gets one through it; that path is missing.",
    "frozen weight", "base path", "main path of x", "x @ W")

add("dora_length_constant", "dora", "statistic taken as constant",
    "dV = (ddir - direction * (ddir * direction).sum(0)) / length",
    "dV = ddir / length",
    "The length of the columns is treated as a constant, although forward says that it is "
    "differentiated.",
    "norm detached", "projection missing", "length depends on V", "norm taken as constant")

add("dora_projection_axis", "dora", "wrong axis or count",
    "(ddir * direction).sum(0)",
    "(ddir * direction).sum(1, keepdims=True)",
    "The lengths are of columns, but the projection of backward sums over rows.",
    "wrong axis", "axis 0", "columns, not rows")

# ---- losses

add("clip_one_direction", "info_nce", "path forgotten",
    "dlogits = dloss * ((rows - eye) + (cols - eye)) / (2 * n)",
    "dlogits = dloss * (rows - eye) / (2 * n)",
    "The loss has two halves, over rows and over columns; the gradient of the second is missing.",
    "columns", "symmetric", "other direction", "cols - eye")

add("clip_log_scale", "info_nce", "chain rule",
    "self.log_scale.grad += (dlogits * sim).sum() * scale",
    "self.log_scale.grad += (dlogits * sim).sum()",
    "The parameter is the logarithm of the scale; the slope of exp, which is the scale, is "
    "missing.",
    "derivative of exp", "factor scale", "log temperature", "chain rule")

add("focal_weight_constant", "focal_loss", "statistic taken as constant",
    "dp = g * (1 - p) ** (g - 1) * np.log(p) - (1 - p) ** g / p",
    "dp = -(1 - p) ** g / p",
    "The weight (1 - p)^gamma depends on p as well, but is treated as a constant.",
    "modulating factor", "focal weight", "product rule", "first term missing", "(1 - p) constant")

add("focal_sign", "focal_loss", "sign",
    "dp = g * (1 - p) ** (g - 1) * np.log(p) - (1 - p) ** g / p",
    "dp = -g * (1 - p) ** (g - 1) * np.log(p) - (1 - p) ** g / p",
    "The inner derivative -1 of (1 - p) is forgotten, so the first term has the wrong sign.",
    "sign of the first term", "inner derivative of 1 - p", "plus, not minus")

add("hinge_correct_class", "hinge_loss", "factor",
    "dscores[np.arange(len(y)), y] = -active.sum(axis=1)",
    "dscores[np.arange(len(y)), y] = -1",
    "The score of the right class is in every active margin, so it gets minus their number, not "
    "-1.",
    "number of active margins", "-count", "active.sum", "right class")

add("hinge_extra_mean", "hinge_loss", "mean or sum",
    "return dscores * dloss[:, None]",
    "return dscores * dloss[:, None] / len(y)",
    "There is one loss for each row and no mean over the batch, yet backward divides by the "
    "number of rows.",
    "divided by the batch", "no mean in forward", "extra factor 1 / N")

add("smooth_ignored_rows", "smoothed_ce", "mask",
    "dlogits = dlogits * keep[:, None]\n        return",
    "return",
    "Rows that are left out of the loss still get a gradient: the mask is not applied.",
    "ignored targets", "keep", "mask not applied", "-1 rows", "padding")

add("smooth_mean_over_all", "smoothed_ce", "mean or sum",
    "return dloss * dlogits / count",
    "return dloss * dlogits / len(keep)",
    "The mean is over the rows that count, but backward divides by the number of all rows.",
    "count", "number of kept rows", "divides by all rows", "ignored rows are counted")

add("triplet_anchor_negative", "triplet_loss", "path forgotten",
    "return gp - gn, -gp, gn",
    "return gp, -gp, gn",
    "The anchor is also in the distance to the negative; that part of its gradient is missing.",
    "minus gn", "negative distance", "second use of the anchor")

add("triplet_negative_sign", "triplet_loss", "sign",
    "return gp - gn, -gp, gn",
    "return gp - gn, -gp, -gn",
    "The sign of the negative's gradient is wrong: it enters with two minus signs.",
    "sign of negative", "gn instead of -gn", "minus")

add("distill_temperature", "distillation", "factor",
    "dstudent = dkl * (ps - pt) / self.T",
    "dstudent = dkl * (ps - pt)",
    "The student's logits are divided by T; that factor is missing in their gradient.",
    "1 / T", "temperature", "divide by T", "factor T too large")

add("distill_teacher_kl", "distillation", "softmax Jacobian",
    "(lt - ls - kl[..., None])",
    "(lt - ls)",
    "The teacher's probabilities come from a softmax; the mean of the terms, the KL itself, "
    "must be subtracted.",
    "minus kl", "softmax Jacobian", "weighted mean not subtracted", "centred")

add("nll_mu_sign", "gaussian_nll", "sign",
    "return -ddiff, dlogvar, ddiff",
    "return ddiff, dlogvar, ddiff",
    "mu is subtracted, so its gradient has the opposite sign of x's.",
    "sign of mu", "minus", "-ddiff")

add("nll_variance_for_logvar", "gaussian_nll", "chain rule",
    "dlogvar = 0.5 * dl * (1 - diff * diff * prec)",
    "dlogvar = 0.5 * dl * (prec - diff * diff * prec ** 2)",
    "This is the derivative with respect to the variance; the input is its logarithm, so it has "
    "to be multiplied "
    "by the variance.",
    "log variance", "factor exp(logvar)", "factor prec too many", "chain rule of exp")

# ---- pooling, scatter

add("maxpool_overlap", "max_pool", "= for +=",
    "dx[b, where[:, j:j + 1], d] += dy[:, j:j + 1]",
    "dx[b, where[:, j:j + 1], d] = dy[:, j:j + 1]",
    "Windows overlap, and a number can win several; its gradients must be added, but the last "
    "overwrites.",
    "+=", "overwritten", "overlapping windows", "accumulate")

add("maxpool_spread", "max_pool", "max spread over the window",
    "            dx[b, where[:, j:j + 1], d] += dy[:, j:j + 1]\n",
    "            s = j * self.stride\n            dx[:, s:s + self.size] += dy[:, j:j + 1] / "
    "self.size\n",
    "The gradient is spread over the whole window as for a mean; only the maximum gets it.",
    "average pooling", "argmax", "only the largest", "spread over the window")

add("stats_std_ignored", "stats_pool", "output's gradient ignored",
    "        dx = dx + dvar * 2 * c / n\n",
    "",
    "The gradient of the second output, the standard deviation, is never used.",
    "dstd", "second output", "std path", "dvar is not used")

add("stats_mean_padding", "stats_pool", "mask",
    "dx = dmean[:, None] * m / n",
    "dx = dmean[:, None] / n",
    "Padding gets a gradient of the mean: the mask is not applied.",
    "mask not applied", "padding", "m is missing", "masked positions")

add("bag_repeats", "embedding_bag", "scatter with repeats",
    "np.add.at(self.E.grad, ids, w[..., None] * dy[:, None, :])",
    "self.E.grad[ids] += w[..., None] * dy[:, None, :]",
    "An id that occurs several times gets only one of its gradients, as [ids] += does not add "
    "repeats.",
    "np.add.at", "repeated ids", "duplicates", "only the last one")

add("bag_weight_missing", "embedding_bag", "factor",
    "np.add.at(self.E.grad, ids, w[..., None] * dy[:, None, :])",
    "np.add.at(self.E.grad, ids, dy[:, None, :])",
    "Each row is multiplied by its weight in forward; the weight is missing in the gradient of "
    "the table.",
    "factor w", "weights", "unweighted")

add("graph_ends_swapped", "graph_conv", "order",
    "np.add.at(dx, src, dagg[dst])",
    "np.add.at(dx, dst, dagg[src])",
    "Messages went from src to dst, so gradients go from dst to src; here the ends of the edges "
    "are swapped.",
    "src and dst swapped", "direction of the edges", "gather and scatter exchanged")

add("graph_degree_missing", "graph_conv", "mean or sum",
    "dagg = dy @ self.w_nbr.data.T * inv",
    "dagg = dy @ self.w_nbr.data.T",
    "The neighbours are averaged, but backward does not divide by the degree.",
    "degree", "mean taken as a sum", "inv is missing", "number of neighbours")

add("gem_inner_p", "gem_pool", "path forgotten",
    "(dp_outer + dp_inner)",
    "dp_outer",
    "p is also the exponent inside the mean; only the outer exponent's gradient is counted.",
    "inner exponent", "second use of p", "u ** p", "dp_inner")

add("gem_softplus_slope", "gem_pool", "slope of an activation",
    "return du * sigmoid(x)",
    "return du",
    "The slope of softplus, the sigmoid, is missing.",
    "softplus", "sigmoid(x)", "du is not dx", "chain rule")

# ---- products, convolutions, blocks

add("bilinear_transposed", "bilinear", "transpose",
    'dx = np.einsum("no,oij,nj->ni", dy, self.W.data, z)',
    'dx = np.einsum("no,oji,nj->ni", dy, self.W.data, z)',
    "In dx, z meets the wrong axis of W: W is transposed.",
    "transpose of W", "oij", "axes of W swapped")

add("mixer_residual", "mixer", "path forgotten",
    "dmiddle = dy + self.channel.backward(dy, cache_channel)",
    "dmiddle = self.channel.backward(dy, cache_channel)",
    "The residual around the channel mixing is forgotten: dy itself must be added.",
    "residual", "skip connection", "identity path", "dy is missing")

add("mixer_chain_order", "mixer", "chain order",
    "dmixed = self.time.backward(dmiddle.swapaxes(1, 2), cache_time)",
    "dmixed = self.time.backward(dy.swapaxes(1, 2), cache_time)",
    "The time mixing is given dy, the gradient of the block's output, and not that of its own "
    "output, dmiddle.",
    "dmiddle", "chain order", "wrong upstream gradient", "skips the channel mixing")

add("conv_direction", "causal_conv", "off by one in time",
    "dx[:, :T - k] += w * dpre[:, k:]",
    "dx[:, k:] += w * dpre[:, :T - k]",
    "Forward shifts x to later times, so backward must shift to earlier ones; here it shifts "
    "the same way again.",
    "direction of the shift", "time reversed", "anti-causal", "correlation instead of convolution",
    "slices swapped")

add("conv_kernel_alignment", "causal_conv", "off by one in time",
    "(dpre[:, k:] * x[:, :T - k])",
    "(dpre[:, k:] * x[:, k:])",
    "Weight k meets x k steps earlier; its gradient uses x of the same time.",
    "x[:, :T - k]", "shift missing", "k steps earlier", "misaligned in time")

add("tied_decoder_use", "tied_autoencoder", "path forgotten",
    "        self.W.grad += dy.T @ h\n",
    "",
    "W is used twice; the gradient of its use in the decoder is missing.",
    "decoder", "second use of W", "tied weight", "transposed use")

add("tied_assigned", "tied_autoencoder", "= for +=",
    "self.W.grad += x.T @ dpre",
    "self.W.grad = x.T @ dpre",
    "The encoder's gradient is assigned and so wipes out the decoder's; it must be added.",
    "+=", "overwritten", "assigned", "wipes out", "accumulate")
