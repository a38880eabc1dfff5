"""Writes wrong.py: random changes to the backward of the layers in right.py, the wrong ones kept.

    python make_wrong.py     # a seed makes it repeatable
"""

import ast
import io
import collections
import contextlib
import types
import warnings

import numpy as np

import own_check
import right
from wrong_loader import HERE, MAKE, base_source

COUNT, HIDDEN, PER_BASE, TRIES = 280, 55, 3, 60    # and the 20 of HAND
QUOTA = {"transpose": 22, "einsum": 16, "order of inputs": 12, "index": 16, "branches": 14,
         "function": 10, "statement dropped": 14, "blocks swapped": 8, "loop direction": 4,
         "axis": 16, "constant": 18, "overwritten": 12, "power": 14}    # the others: equal shares

# Classic mistakes, chosen by hand: (base, kind, old, new); whole lines.
HAND = [
    ("quick_gelu", "constant", "        return dy * (s + 1.702 * x * s * (1 - s))",
     "        return dy * (s + 1.7 * x * s * (1 - s))"),
    ("gelu_tanh", "constant", "        dinner = SQRT_2_OVER_PI * (1 + 0.134145 * x ** 2)",
     "        dinner = SQRT_2_OVER_PI * (1 + 0.134 * x ** 2)"),
    ("gelu_tanh", "constant", "        dinner = SQRT_2_OVER_PI * (1 + 0.134145 * x ** 2)",
     "        dinner = SQRT_2_OVER_PI * (1 + 0.044715 * x ** 2)"),
    ("selu", "constant", "        return SELU_SCALE * np.where(pos, dy, dy * SELU_ALPHA * e)",
     "        return SELU_SCALE * np.where(pos, dy, dy * 1.67 * e)"),
    ("attention_single_head", "factor dropped",
     "        dk = ds.transpose(0, 2, 1) @ q / self.d ** .5",
     "        dk = ds.transpose(0, 2, 1) @ q"),
    ("layer_norm_annotated_transformer", "width",
     "        dc = g / s + dstd * c / (std * (self.features - 1))",
     "        dc = g / s + dstd * c / (std * self.features)"),
    ("rms_norm_partial", "width",
     "        dx[..., :self.k] -= dr * r ** 3 * x[..., :self.k] / self.k",
     "        dx[..., :self.k] -= dr * r ** 3 * x[..., :self.k] / x.shape[-1]"),
    ("cosine_similarity_1e15", "stopped gradient",
     "        da = dy * (b / (na * nb) - c * a / na ** 2)", "        da = dy * b / (na * nb)"),
    ("batch_norm_paper", "stopped gradient",
     "        return dxhat / np.sqrt(var) + dvar * 2 * xc / n + dmu / n",
     "        return dxhat / np.sqrt(var) + dmu / n"),
    ("weight_norm_linear", "stopped gradient",
     "        self.v.grad += g / norm * dw - g * dg / norm ** 2 * v",
     "        self.v.grad += g / norm * dw"),
    ("moe_top_one", "stopped gradient",
     "        return dy * gate * w + ds @ self.Wg.data.T", "        return dy * gate * w"),
    ("tied_autoencoder_square", "transpose",
     "        self.W.grad += dy.T @ h", "        self.W.grad += h.T @ dy"),
    ("encoder_block_shared_norm", "residual missing",
     "        dh = g + self.ff.backward(g, c3)", "        dh = self.ff.backward(g, c3)"),
    ("loss_clip", "factor dropped",
     "        self.log_t.grad += (dz * s).sum() * t", "        self.log_t.grad += (dz * s).sum()"),
    ("gru", "factor dropped", "            du = np.concatenate([dr, dz, dn * r], 1)",
     "            du = np.concatenate([dr, dz, dn], 1)"),
    ("retention", "factor dropped",
     "        dA = dy @ v.swapaxes(1, 2) * D", "        dA = dy @ v.swapaxes(1, 2)"),
    ("embedding_gather", "repeated ids lost",
     "        np.add.at(self.table.grad, ids, dy * math.sqrt(self.D))",
     "        self.table.grad[ids] += dy * math.sqrt(self.D)"),
    ("relative_bias_t5", "repeated ids lost",
     "        np.add.at(self.table.grad, self.index, dy.sum(0).transpose(1, 2, 0))",
     "        self.table.grad[self.index] += dy.sum(0).transpose(1, 2, 0)"),
    ("batch_norm_1d", "stopped gradient",
     "        return std_inv / m * (m * dx_hat - dx_hat.sum(axis=0) - x_hat * dot)",
     "        return std_inv * dx_hat"),
    ("dropout", "factor dropped", "        return dy if mask is None else dy * mask",
     "        return dy if mask is None else dy * (mask > 0)"),
]


def changes(source):
    """[(kind, start, end, new text)]: every change of the backward that is known to this file."""
    tree = ast.parse(source)
    lines = source.splitlines(keepends=True)
    starts = np.concatenate([[0], np.cumsum([len(line) for line in lines])])
    offset = lambda line, col: int(starts[line - 1] + col)    # all sources are ASCII
    text = lambda node: source[offset(node.lineno, node.col_offset):
                               offset(node.end_lineno, node.end_col_offset)]
    functions = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)
                 and (n.name.endswith("backward") or n.name == "dphi")]
    found = []
    for function in functions:
        inside_index = {id(n) for s in ast.walk(function) if isinstance(s, ast.Subscript)
                        for n in ast.walk(s.slice)}
        inside_axis, exponents, shapes = set(), set(), set()
        for n in ast.walk(function):
            if isinstance(n, ast.keyword) and n.arg in ("axis", "axes"):
                inside_axis |= {id(m) for m in ast.walk(n.value)}
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute):
                name = n.func.attr
                if name in ("sum", "mean", "cumsum"):
                    inside_axis |= {id(m) for a in n.args for m in ast.walk(a)
                                    if isinstance(m, (ast.Constant, ast.UnaryOp, ast.Tuple))
                                    and isinstance(a, (ast.Constant, ast.UnaryOp, ast.Tuple))}
                if name in ("reshape", "transpose", "swapaxes", "zeros", "tensordot"):
                    shapes |= {id(m) for a in n.args for m in ast.walk(a)}
            if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow):
                exponents |= {id(m) for m in ast.walk(n.right)}
        names = sorted({n.id for n in ast.walk(function) if isinstance(n, ast.Name)
                        and isinstance(n.ctx, ast.Store)} | {a.arg for a in function.args.args}
                       - {"self", "cache"})

        def put(kind, node, new):
            found.append((kind, offset(node.lineno, node.col_offset),
                          offset(node.end_lineno, node.end_col_offset), new))

        for n in ast.walk(function):
            where = "index" if id(n) in inside_index else None
            if id(n) in shapes:
                continue
            if isinstance(n, ast.BinOp):
                left, right_ = text(n.left), text(n.right)
                if isinstance(n.op, (ast.Add, ast.Sub)):
                    put(where or "term dropped", n, left)
                    sign = "-" if isinstance(n.op, ast.Add) else "+"
                    put(where or "sign flipped", n, f"{left} {sign} {right_}")
                    if not where:
                        put("term dropped", n, right_ if sign == "-" else f"(-{right_})")
                if isinstance(n.op, ast.Mult):
                    put("factor dropped", n, left)
                    put("factor dropped", n, right_)
                if isinstance(n.op, ast.Div):
                    put("factor dropped", n, left)
                    put("times for divided by", n, f"{left} * {right_}")
                if isinstance(n.op, ast.MatMult):
                    for side in (n.left, n.right):
                        if isinstance(side, (ast.Name, ast.Attribute)):
                            extra = text(side) + ".T"
                            put("transpose", side, extra[:-4] if extra.endswith(".T.T") else extra)
                if isinstance(n.op, ast.Pow):
                    put("power", n, left)
            if isinstance(n, ast.Attribute) and n.attr == "T":
                put("transpose", n, text(n.value))
            if isinstance(n, ast.UnaryOp) and isinstance(n.op, ast.USub):
                if id(n) in inside_axis:
                    put("axis", n, "0")
                    put("axis", n, "-2")
                elif id(n) in exponents:
                    put("power", n, text(n.operand))
                else:
                    put(where or "sign flipped", n, text(n.operand))
            if isinstance(n, ast.Tuple) and id(n) in inside_axis and len(n.elts) > 1:
                put("axis", n, text(n.elts[0]))
            if isinstance(n, ast.Constant) and type(n.value) in (int, float):
                v = n.value
                if id(n) in inside_axis:
                    put("axis", n, str(v + 1) if v == 0 else "0")
                elif id(n) in exponents:
                    put("power", n, repr(v + 1))
                    put("power", n, repr(v - 1))
                elif where:
                    put("index", n, str(v + 1))
                elif isinstance(v, int):
                    put("constant", n, str(v + 1))
                    if v > 1:
                        put("constant", n, str(v - 1))
                else:
                    short = float(f"{v:.2g}")
                    put("constant", n, repr(short if abs(short - v) > 1e-4 * v else v * 1.01))
                    put("constant", n, repr(round(v * 1.001, 8)))
            if isinstance(n, ast.Call):
                name = getattr(n.func, "attr", getattr(n.func, "id", ""))
                if name in ("swapaxes", "transpose") and not text(n.func).startswith("np."):
                    put("transpose", n, text(n.func.value))
                if name in ("sum", "mean"):
                    other = "mean" if name == "sum" else "sum"
                    put("sum and mean", n.func, text(n.func)[:-len(name)] + other)
                swap = {"sin": "cos", "cos": "sin", "exp": "sqrt", "log": "exp", "sqrt": "log",
                        "cumsum": "cumprod", "zeros_like": "ones_like"}
                if name in swap and text(n.func).startswith("np."):
                    put("function", n.func, f"np.{swap[name]}")
                if name == "reversed":
                    put("loop direction", n, text(n.args[0]))
                if name == "where" and len(n.args) == 3:
                    a, b, c = map(text, n.args)
                    put("branches", n, f"np.where({a}, {c}, {b})")
                    put("branches", n, b)
                if name in ("concatenate", "hstack", "stack", "array") and isinstance(
                        n.args[0], ast.List) and len(n.args[0].elts) > 1:
                    e = [text(x) for x in n.args[0].elts]
                    put("blocks swapped", n.args[0], f"[{', '.join([e[1], e[0]] + e[2:])}]")
                    simple = isinstance(n.args[0].elts[-1], ast.Name)
                    zero = f"0 * {e[-1]}" if simple else f"0 * ({e[-1]})"
                    put("gradient missing", n.args[0], f"[{', '.join(e[:-1] + [zero])}]")
                if name == "einsum" and isinstance(n.args[0], ast.Constant):
                    operands, out = n.args[0].value.split("->")
                    for i, term in enumerate(operands.split(",")):
                        if len(term) > 1 and "." not in term:
                            terms = operands.split(",")
                            terms[i] = term[:-2] + term[-1] + term[-2]
                            put("einsum", n.args[0], f'"{",".join(terms)}->{out}"')
                    if len(out) > 1 and "." not in out:
                        put("einsum", n.args[0], f'"{operands}->{out[:-2] + out[-1] + out[-2]}"')
            opposite = {ast.Gt: "<=", ast.GtE: "<", ast.LtE: ">", ast.Lt: ">="}
            if isinstance(n, ast.Compare) and type(n.ops[0]) in opposite:
                op = opposite[type(n.ops[0])]
                put("branches", n, f"{text(n.left)} {op} {text(n.comparators[0])}")
            if isinstance(n, ast.AugAssign):
                target, value = text(n.target), text(n.value)
                if ".grad" in target:
                    put("overwritten", n, f"{target} = {value}")
                    put("gradient missing", n, "pass")
                    put("extra factor", n.value, f"({value}) / len(dy)")
                    sign = "-" if isinstance(n.op, ast.Add) else "+"
                    put("sign flipped", n, f"{target} {sign}= {value}")
                else:
                    put("overwritten", n, f"{target} = {value}")
                    put("statement dropped", n, "pass")
            if isinstance(n, ast.Assign) and len(n.targets) == 1:
                target = text(n.targets[0])
                used = {m.id for m in ast.walk(n.value) if isinstance(m, ast.Name)}
                if isinstance(n.targets[0], ast.Name) and target in used | {"dx"}:
                    put("statement dropped", n, "pass")
            if isinstance(n, ast.Return) and n.value is not None:
                if isinstance(n.value, ast.Tuple):
                    e = [text(x) for x in n.value.elts]
                    put("order of inputs", n.value, ", ".join([e[1], e[0]] + e[2:]))
                    put("order of inputs", n.value, ", ".join(e[:-2] + [e[-1], e[-2]]))
                    for i in range(len(e)):
                        put("gradient missing", n.value, ", ".join(
                            f"0 * ({x})" if i == j else x for j, x in enumerate(e)))
                        put("extra factor", n.value, ", ".join(
                            f"({x}) / 2" if i == j else x for j, x in enumerate(e)))
                else:
                    put("extra factor", n.value, f"({text(n.value)}) / len(dy)")
                    put("extra factor", n.value, f"2 * ({text(n.value)})")
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load) and n.id in names:
                for name in names:
                    if name != n.id:
                        put("index" if where else "wrong operand", n, name)
    return found


def as_edit(source, start, end, new):
    """(old, new): the whole lines of a change, or None if the source has those lines twice."""
    first = source.rfind("\n", 0, start) + 1
    last = source.find("\n", end)
    last = len(source) if last < 0 else last
    old = source[first:last]
    return (old, source[first:start] + new + source[end:last]) if source.count(old) == 1 else None


def layer_of(base, text):
    """(layer, inputs) of a right entry, with the edited source in memory."""
    space = dict(vars(right))
    exec(compile(text, "edited", "exec"), space)
    return types.FunctionType(MAKE[base].__code__, space)()


def judged(base, text):
    """(error at the given values, at redrawn ones), or None if the layer does not run."""
    try:
        errors = own_check.judge(*layer_of(base, text))
    except Exception:
        return None
    return errors if np.isfinite(errors).all() else None


def main():
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(20)
    pool = []    # (hidden, kind, base, old, new)
    for base in MAKE:
        source, seen = base_source(base), set()
        options = changes(source)
        # First the kinds, then one of each: otherwise wrong operands would be most of them.
        order = rng.permutation(len(options))
        by_kind = collections.defaultdict(list)
        for i in order:
            by_kind[options[i][0]].append(options[i])
        rounds = [kind[k] for k in range(6) for kind in by_kind.values() if k < len(kind)]
        for kind, start, end, new in rounds[:TRIES]:
            edit = as_edit(source, start, end, new)
            if edit is None or edit in seen:
                continue
            seen.add(edit)
            text = source.replace(*edit)
            with contextlib.redirect_stdout(io.StringIO()):
                errors = judged(base, text)
            if errors is None or errors[1] < 1e-5 or 1e-9 < errors[0] < 1e-5:
                continue
            pool.append((errors[0] < 1e-9, kind, base, *edit))
    pool = [pool[i] for i in rng.permutation(len(pool))]
    print("pool", len(pool), "hidden", sum(p[0] for p in pool),
          collections.Counter(p[1] for p in pool))
    chosen, kinds, bases = [], collections.Counter(), collections.Counter()

    def choose(items, most, quota, per_base):
        for item in items:
            if (sum(1 for c in chosen if c[0] == item[0]) < most and item not in chosen
                    and kinds[item[:2]] < quota and bases[item[2]] < per_base):
                chosen.append(item)
                kinds[item[:2]] += 1
                bases[item[2]] += 1

    choose([p for p in pool if p[0]], HIDDEN, COUNT, 5)
    visible = [p for p in pool if not p[0]]
    for kind, quota in QUOTA.items():
        choose([p for p in visible if p[1] == kind], COUNT - HIDDEN, quota, 2)
    others = sorted({p[1] for p in visible} - set(QUOTA))
    share = (COUNT - len(chosen)) // len(others)
    for per_base in (1, 2, PER_BASE):
        choose([p for p in visible if p[1] in others], COUNT - HIDDEN, share, per_base)
    choose([p for p in visible if p[1] in others], COUNT - len([c for c in chosen if c[0]]),
           share + 8, PER_BASE)
    print("chosen", len(chosen), "of", len(bases), "bases;",
          dict(collections.Counter(c[1] for c in chosen)), "hidden", sum(c[0] for c in chosen))
    for base, kind, old, new in HAND:
        given, redrawn = judged(base, base_source(base).replace(old, new))
        assert min(given, redrawn) > 1e-5, (base, kind, given, redrawn)
        item = (False, kind, base, old, new)
        chosen = [c for c in chosen if c[2:] != item[2:]] + [item]
    write(sorted(chosen, key=lambda c: (list(MAKE).index(c[2]), c[1])))


def write(chosen):
    out = ['"""300 layers with a wrong gradient: edits of the layers in right.py. See README.md.',
           "", "Written by make_wrong.py.", '"""', "",
           "from functools import partial", "", "from wrong_loader import make_wrong", "",
           "# (base, kind, hidden at the given values?, old lines, new lines)", "EDITS = ["]
    for hidden, kind, base, old, new in chosen:
        out.append(f"    ({base!r}, {kind!r}, {hidden},")
        out.append(f"     {old!r},")
        out.append(f"     {new!r}),")
    out += ["]", "", "", "def what(kind, hidden, old, new):",
            '    seen = "only at other values than the given ones: " if hidden else ""',
            '    return f"{seen}{kind}: {old.strip()}  ->  {new.strip()}"', "", "",
            "WRONG = []    # (name, make, what): make() returns (layer, inputs)",
            "for i, (base, kind, hidden, old, new) in enumerate(EDITS):",
            '    name = f"w{i:03d}_{base}".replace("-", "_minus_")',
            "    WRONG.append((name, partial(make_wrong, name, base, old, new),",
            "                  what(kind, hidden, old, new)))", ""]
    (HERE / "wrong.py").write_text("\n".join(out))


if __name__ == "__main__":
    main()
