"""Which function runs: the reader's own, a kernel, or the textbook."""

import pkgutil
import subprocess
import sys
import threading
from importlib import import_module

import numpy as np
import pytest

from minitransformer import Adam, InputError, Transformer, TransformerConfig, greedy, make_batch, training_step
from minitransformer import functional as F
from minitransformer.layers import Linear, MultiHeadAttention
from minitransformer.parallel import Threads
from minitransformer.replaceable import TABLE, is_replaced, plugged, replaces, running, textbook

BATCH = make_batch([([4, 5, 6], [6, 5]), ([7], [8, 9, 4, 4]), ([5, 5], [4])])
QUERY, KEY, VALUE = np.random.default_rng(0).standard_normal((3, 2, 3, 4, 5))
SOURCE = np.array([[4, 5, 6, 2], [7, 2, 0, 0]])


def small_model():
    return Transformer(TransformerConfig.named("toy", 12, d_model=16, num_heads=2, d_ff=8), seed=1).astype(np.float64)


class Counting:
    """Calls of `function`, counted."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *arguments, **options):
        self.calls += 1
        return self.function(*arguments, **options)


def counting(function):
    """The textbook of a replaceable function, counted, to plug in."""
    return Counting(function.replaceable.textbook)


@pytest.fixture
def registering():
    """Whatever a test registers is unregistered after it."""
    before = {name: list(entry.kernels) for name, entry in TABLE.items()}
    yield
    for name, entry in TABLE.items():
        entry.kernels[:] = before[name]


def loss_cache(dtype="float32", **options):
    x, weight = np.ones((2, 3), dtype), np.ones((4, 3), dtype)
    return F.linear_cross_entropy_forward(x, weight, np.array([1, 2]), padding=None, **options)[1]


def kernel_runs(cache):
    return hasattr(cache, "dx")


@pytest.mark.parametrize("module", [module.name for module in pkgutil.iter_modules(F.__path__)])
def test_both_ways_to_import_a_function_give_the_same_one(module):
    file = import_module(f"minitransformer.functional.{module}")
    public = [name for name, value in vars(file).items()
              if getattr(value, "__module__", None) == file.__name__ and hasattr(value, "replaceable")]
    assert public
    for name in public:
        assert getattr(F, name) is getattr(file, name)
        assert TABLE[name].textbook.__module__ == file.__name__


def test_what_decides_between_kernel_and_textbook():
    """float32 and float64 of NumPy, by position or by keyword; a NumPy scalar does not turn float32 into float64."""
    x, weight, targets = np.ones((2, 3), "float32"), np.ones((4, 3), "float32"), np.array([1, 2])
    loss, cache = F.linear_cross_entropy_forward(x=x, weight=weight, targets=targets, padding=None)
    dx, dweight = F.linear_cross_entropy_backward(dloss=np.float64(0.5), cache=cache)
    assert kernel_runs(cache) and dx.dtype == dweight.dtype == np.float32
    dx_by_keyword, _ = F.linear_cross_entropy_backward(cache=cache, dloss=1.0)
    np.testing.assert_allclose(dx_by_keyword, 2 * dx)
    assert kernel_runs(loss_cache("float64"))
    for dtype in ("float16", "complex128"):
        assert not kernel_runs(loss_cache(dtype))


def test_complex_arrays_take_the_textbook():
    for name, function in running(dtype="complex128").items():
        assert function is TABLE[name].textbook
    assert any(function is not TABLE[name].textbook for name, function in running().items())


def test_running_names_what_runs():
    assert running()["attention_forward"].__module__.startswith("minitransformer.kernels.")
    assert running(module="cupy")["attention_forward"] is TABLE["attention_forward"].textbook
    with plugged(F.relu_forward, mine := lambda x: x):
        assert running()["relu_forward"] is mine
    with textbook():
        assert running() == {name: entry.textbook for name, entry in TABLE.items()}


def test_within_textbook_no_kernel_runs():
    """Not in other threads either; afterwards, even after an error, they run again."""
    found = []
    with pytest.raises(ZeroDivisionError), textbook():
        thread = threading.Thread(target=lambda: found.append(loss_cache()))
        thread.start()
        thread.join()
        with textbook():
            found.append(loss_cache())
        found.append(loss_cache())
        1 / 0
    assert len(found) == 3 and not any(map(kernel_runs, found))
    assert kernel_runs(loss_cache())


@pytest.mark.parametrize("value, runs", [("0", False), ("1", True)])
def test_the_environment_turns_kernels_off(value, runs):
    code = ("import numpy as np; from minitransformer import functional as F; from minitransformer.cli.info import collect; "
            "y, cache = F.linear_cross_entropy_forward(np.ones((2, 3)), np.ones((4, 3)), np.array([1, 2]), padding=None); "
            "print(hasattr(cache, 'dx'), 'adam_update' in collect()['kernels'])")
    out = subprocess.run([sys.executable, "-c", code], env={"MINITRANSFORMER_FAST": value, "OPENBLAS_NUM_THREADS": "1"},
                         capture_output=True, text=True, check=True).stdout
    assert out.split() == [str(runs)] * 2


def test_a_softmax_of_your_own_is_never_bypassed():
    """The fused attention does not run while a part of its operation is replaced, in either half, and only then."""
    _, cache = F.attention_forward(QUERY, KEY, VALUE)
    dy = np.ones_like(VALUE)
    expected = F.attention_backward(dy, cache)
    mine = counting(F.softmax_backward)
    with plugged(F.softmax_backward, mine):
        found = F.attention_backward(dy, F.attention_forward(QUERY, KEY, VALUE)[1])
        assert mine.calls == 1
        for name in ("attention_forward", "attention_backward"):
            assert running()[name] is TABLE[name].textbook
        assert running()["layer_norm_forward"] is not TABLE["layer_norm_forward"].textbook    # it has no softmax
    np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-12)
    F.attention_backward(dy, F.attention_forward(QUERY, KEY, VALUE)[1])
    assert mine.calls == 1
    assert running()["attention_backward"] is not TABLE["attention_backward"].textbook


def test_a_part_of_a_part_counts_too():
    """Attention calls dropout, which calls dropout_mask."""
    with plugged(F.dropout_mask, counting(F.dropout_mask)):
        assert running()["attention_forward"] is TABLE["attention_forward"].textbook


def test_a_softmax_of_your_own_runs_in_each_attention_of_a_model():
    model, mine = small_model(), counting(F.softmax_backward)
    with plugged(F.softmax_backward, mine):
        _, cache = model.loss_forward(BATCH)
        model.loss_backward(1.0, cache)
    assert mine.calls == 2 + 2 * 2    # the encoder's and the decoder's attentions, two layers each


@pytest.mark.parametrize("function, calls", [
    (F.relu_forward, 4), (F.relu_backward, 4), (F.dropout_forward, 2 + 4 + 10 + 6), (F.dropout_backward, 2 + 4 + 10 + 6),
    (F.dropout_mask, 2 + 4 + 10 + 6), (F.random_words, 2 + 4 + 10 + 6)])
def test_a_part_of_a_fused_function_of_your_own_runs_in_each_place_of_a_model(function, calls):
    """Dropout: of two inputs, in four feed-forward networks, of ten residuals and six attentions."""
    rates = dict.fromkeys(("dropout", "attention_dropout", "feed_forward_dropout"), 0.2)
    model = Transformer(TransformerConfig.named("toy", 12, d_model=16, num_heads=2, d_ff=8, **rates), seed=1)
    mine = counting(function)
    with plugged(function, mine):
        _, cache = model.loss_forward(BATCH, np.random.default_rng(0))
        model.loss_backward(1.0, cache)
    assert mine.calls == calls


def test_what_it_computes_reaches_the_weights():
    """A plugged-in wrong derivative changes the gradient: nothing else is used in its place."""
    gradients = []
    for factor in (1, 2):
        model = small_model()
        usual = F.softmax_backward.replaceable.textbook
        with plugged(F.softmax_backward, lambda dp, cache: factor * usual(dp, cache)):
            _, cache = model.loss_forward(BATCH)
            model.loss_backward(1.0, cache)
        gradients.append(model.decoder.layers[1].cross_attention.query.weight.grad)
    np.testing.assert_allclose(gradients[1], 2 * gradients[0], rtol=1e-10, atol=1e-12)
    assert gradients[0].any()


@pytest.mark.parametrize("function", [F.cross_entropy_forward, F.cross_entropy_backward])
def test_a_cross_entropy_of_your_own_turns_off_both_halves_of_the_fused_loss(function):
    """One half alone would hand the other a cache that it cannot read."""
    model, mine = small_model(), counting(function)
    sums, cache = model.loss_forward(BATCH, smoothing=0.1)
    model.loss_backward(0.5, cache)
    expected = model.flat.grad.copy()
    assert kernel_runs(cache.loss)
    model.zero_grad()
    with plugged(function, mine):
        for name in ("linear_cross_entropy_forward", "linear_cross_entropy_backward"):
            assert running("numpy", "float64")[name] is TABLE[name].textbook
        again, cache = model.loss_forward(BATCH, smoothing=0.1)
        model.loss_backward(0.5, cache)
    assert mine.calls == 1
    assert again.loss == pytest.approx(sums.loss, rel=1e-12)
    np.testing.assert_allclose(model.flat.grad, expected, rtol=0, atol=1e-12)


def test_plugging_one_function_into_another_ends_in_turn():
    outer, inner = counting(F.relu_forward), counting(F.relu_forward)
    with plugged(F.relu_forward, outer):
        with pytest.raises(ZeroDivisionError), plugged(F.relu_forward, inner):
            F.relu_forward(KEY)
            1 / 0
        F.relu_forward(KEY)
        assert is_replaced(F.relu_backward) and not is_replaced(F.gelu_forward)    # the operation is
    F.relu_forward(KEY)
    assert (outer.calls, inner.calls) == (1, 1)
    assert not is_replaced(F.relu_forward)


def test_none_takes_out_what_is_plugged_in():
    own = counting(F.relu_forward)
    with plugged(F.relu_forward, own):
        with plugged(F.relu_forward, None):
            F.relu_forward(QUERY)
            assert not is_replaced(F.relu_forward)
        assert own.calls == 0 and is_replaced(F.relu_forward)


def test_only_a_function_can_be_plugged_in():
    words = "the object plugged in for relu_forward is of type int, expected a function"
    with pytest.raises(InputError, match=words), plugged(F.relu_forward, 3):
        pass


@pytest.mark.parametrize("context, inside", [
    (lambda: plugged(F.relu_forward, lambda x: x), lambda: is_replaced(F.relu_forward)),
    (textbook, lambda: running()["adam_update"] is TABLE["adam_update"].textbook)])
def test_what_two_threads_plug_in_at_once_is_taken_out_with_the_last(context, inside):
    """The first to enter leaves first."""
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with context():
            entered.set()
            leave.wait(30)
            seen.append(inside())

    thread = threading.Thread(target=other)
    with context():
        thread.start()
        assert entered.wait(30)
    leave.set()
    thread.join()
    assert seen == [True] and not inside()


def test_of_overlapping_plugs_the_one_entered_last_decides():
    first, second = counting(F.relu_forward), counting(F.relu_forward)
    one, other = plugged(F.relu_forward, first), plugged(F.relu_forward, second)
    one.__enter__()
    other.__enter__()
    one.__exit__(None, None, None)
    F.relu_forward(QUERY)
    other.__exit__(None, None, None)
    F.relu_forward(QUERY)
    assert (first.calls, second.calls) == (0, 1)


def test_a_cache_of_another_implementation_is_named():
    """Forward inside, backward outside: the kernel's backward can read neither the textbook's cache nor a reader's own."""
    with textbook():
        cache = loss_cache()
    words = r"linear_cross_entropy_backward cannot use a cache of type \w+ .* keep both in one `with plugged\(...\)` or"
    with pytest.raises(InputError, match=words):
        F.linear_cross_entropy_backward(1.0, cache)
    with plugged(F.relu_forward, lambda x: (x, {"mine": x})):
        _, cache = F.relu_forward(QUERY)
    with pytest.raises(InputError, match="relu_backward cannot use a cache of type dict"):
        F.relu_backward(QUERY, cache=cache)


def test_errors_of_a_function_of_your_own_stay_as_they_are():
    def mine(dp, cache):
        return cache.no_such_field

    _, cache = F.attention_forward(QUERY, KEY, VALUE)
    with plugged(F.softmax_backward, mine), pytest.raises(AttributeError, match="no_such_field"):
        F.attention_backward(QUERY, cache)
    def unpacking(dp, cache):
        _p, _more = dp[0], cache, 3

    with plugged(F.softmax_backward, unpacking), pytest.raises(ValueError, match="too many values to unpack") as raised:
        F.attention_backward(QUERY, cache)
    assert raised.type is ValueError
    with plugged(F.relu_backward, mine), pytest.raises(AttributeError, match="no_such_field"):
        F.relu_backward(QUERY, cache)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        F.relu_backward(QUERY)


def test_what_is_plugged_in_runs_in_every_thread():
    model, mine = small_model(), counting(F.softmax_backward)
    with plugged(F.softmax_backward, mine):
        training_step(model, Adam(model), BATCH, 0.01, workers=Threads(model, 3))
    assert mine.calls == 3 * 6


def decoding_calls(model):
    """How often a plugged Linear.forward is called while `model` decodes; its outputs must stay the same."""
    expected = greedy(model, SOURCE)
    mine = counting(Linear.forward)
    with plugged(Linear.forward, mine):
        assert greedy(model, SOURCE) == expected
    return mine.calls, expected


def test_a_linear_layer_of_your_own_runs_in_cached_decoding_too():
    """There, queries, keys and values otherwise come from one product."""
    model = small_model()
    calls, outputs = decoding_calls(model)
    positions = max(map(len, outputs)) + 1    # EOS, too, is predicted
    encoder = 2 * (4 + 2)
    memory = 2 * 2                            # the keys and values of cross-attention, once
    each = 2 * (4 + 2 + 2)                    # self-attention, cross-attention and feed-forward
    assert calls in (encoder + memory + each * positions, encoder + memory + each * (positions - 1))    # EOS, or the limit


def test_a_state_may_outlive_what_was_plugged_in():
    """Started inside, advanced outside, and the other way round."""
    model, mine = small_model(), counting(Linear.forward)
    tokens = np.array([[1], [1]])
    with plugged(Linear.forward, mine):
        inside = model.start(SOURCE)
    outside = model.start(SOURCE)
    calls = mine.calls
    x = inside.advance(tokens)
    assert mine.calls == calls
    with plugged(Linear.forward, mine):
        np.testing.assert_allclose(outside.advance(tokens), x, rtol=1e-12)
    assert mine.calls == calls + 2 * (4 + 2 + 2)


def test_a_method_of_your_own_receives_the_layer():
    """Heads merged without the transpose: the model still runs, and computes something else."""
    model = small_model()
    before, _ = model.forward(SOURCE, SOURCE)
    seen = []

    def merge(layer, x):
        seen.append(type(layer).__name__)
        batch, heads, length, d = x.shape
        return x.reshape(batch, length, heads * d)

    with plugged(MultiHeadAttention.merge, merge):
        after, _ = model.forward(SOURCE, SOURCE)
    assert seen == ["SelfAttention"] * 2 + ["SelfAttention", "CrossAttention"] * 2
    assert np.abs(after - before).max() > 1e-3


@pytest.mark.parametrize("function, words", [
    (Transformer.forward, "^Transformer.forward cannot be replaced; choose from"),
    (np.tanh, "^tanh cannot be replaced"),
    (3, "^3 cannot be replaced"),
    (F.linear_cross_entropy, "cannot be replaced"),    # a module, and not one of its functions
])
def test_what_cannot_be_replaced_is_named(function, words):
    with pytest.raises(InputError, match=words), plugged(function, print):
        pass
    with pytest.raises(InputError, match=words):
        replaces(function, "numpy", "float32")


def test_a_typo_is_recognised():
    def softmax_backwards(dp, cache):
        return dp

    softmax_backwards.__qualname__ = "softmax_backwards"
    with pytest.raises(InputError, match="softmax_backwards cannot be replaced; did you mean softmax_backward"):
        replaces(softmax_backwards, "numpy", "float32")


def test_a_second_implementation_runs_for_the_arrays_it_is_for(registering):
    """Registered last, it comes first, ahead of the existing kernel."""
    mine = counting(F.layer_norm_forward)
    assert replaces(F.layer_norm_forward, "numpy", "float32")(mine) is mine
    for dtype, calls in (("float32", 1), ("float64", 1), ("complex128", 1)):
        F.layer_norm_forward(*(np.ones(3, dtype) for _ in range(3)))
        assert mine.calls == calls
    F.layer_norm_forward(beta=np.ones(3, "float32"), gamma=np.ones(3, "float32"), x=np.ones((2, 3), "float32"))
    assert mine.calls == 2
    with textbook():
        F.layer_norm_forward(*(np.ones(3, "float32") for _ in range(3)))
    with plugged(F.layer_norm_backward, counting(F.layer_norm_backward)):
        F.layer_norm_forward(*(np.ones(3, "float32") for _ in range(3)))
    assert mine.calls == 2


def test_a_kernel_may_be_registered_for_any_replaceable_function(registering):
    """Even for functions without one, for methods, and for functions without array arguments, which keep the textbook."""
    for function, arguments, expected in [(F.gelu_forward, (np.ones(3),), 1), (F.sinusoids, (4, 6, np, "float64"), 0),
                                          (Linear.forward, (Linear(2, 3, np.random.default_rng(0)), np.ones((1, 2))), 1)]:
        mine = counting(function)
        replaces(function, "numpy", "float64")(mine)
        function(*arguments)
        assert mine.calls == expected


def test_nothing_is_left_registered():
    """Of the tests above."""
    for entry in TABLE.values():
        assert all(kernel.function.__module__.startswith("minitransformer.kernels.") for kernel in entry.kernels)
        assert entry.own is None
    assert not is_replaced(F.softmax_forward)


@pytest.mark.parametrize("package", ["functional", "kernels.numpy", "layers", "models"])
def test_any_module_can_be_imported_first(package):
    """No import cycle, and the kernels are found from each of them."""
    code = f"""
import pkgutil, sys
from importlib import import_module
package = import_module("minitransformer.{package}")
names = ["minitransformer.{package}", *(m.name for m in pkgutil.iter_modules(package.__path__, "minitransformer.{package}."))]
for name in names:
    for loaded in [loaded for loaded in sys.modules if loaded.partition(".")[0] == "minitransformer"]:
        del sys.modules[loaded]
    import_module(name)
    replaceable = import_module("minitransformer.replaceable")
    assert replaceable.running()["adam_update"].__name__ == "adam_update_blocked", name
print(len(names))
"""
    done = subprocess.run([sys.executable, "-c", code], env={"OPENBLAS_NUM_THREADS": "1", "MINITRANSFORMER_FAST": "numpy"},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 1
