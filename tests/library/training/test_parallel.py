"""Who shares the work: threads and processes compute what one thread computes, the same bits every
time.
"""

import os
import shutil
import threading
from itertools import product
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest

from minitransformer import (
    Adam,
    Run,
    TrainingConfig,
    Transformer,
    TransformerConfig,
    make_batch,
    train,
    training_step,
)
from minitransformer.data.special import PAD
from minitransformer.runs import checkpoint
from minitransformer.speed.threads import Threads
from minitransformer.zoo.modern import Projection
from tests.helpers.runs import Interrupted, losses, start
from tests.helpers.processes import Process, assert_same_weights, in_processes, same_batches, PAIRS

RNG = np.random.default_rng(0)


def trained(make_workers, dropout=0.0, steps=3, seed=(7,)):
    """A model in float64 after some steps, and the sums of each; `make_workers(model)`, or None."""
    model = Transformer(
        TransformerConfig.named("toy", 12, d_model=16, d_ff=24, dropout=dropout), seed=1
    )
    model = model.astype(np.float64)
    adam, workers = Adam(model), make_workers and make_workers(model)
    batches = [make_batch(PAIRS), make_batch(PAIRS[1:3])]
    sums = [
        training_step(model, adam, batches, 0.01, (*seed, step), 0.1, 0.5, workers)
        for step in range(steps)
    ]
    return model, np.array(sums, float)


def threads(count):
    return lambda model: Threads(model, count)


@pytest.mark.parametrize("count", [1, 2, 3, 9])
def test_threads_compute_what_one_computes(count):
    one, several = trained(None), trained(threads(count))
    assert_same_weights(several[0], one[0])
    np.testing.assert_allclose(several[1], one[1], rtol=1e-12)


def test_every_parameter_is_in_one_piece():
    for size, count in product(range(1, 12), range(1, 6)):
        with Threads(Projection(1, size, RNG), count) as workers:
            moved = np.concatenate(workers.each_piece(lambda piece: np.arange(size)[piece]))
        assert moved.tolist() == list(range(size)), (size, count)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_same_bits_for_the_same_number_of_threads(count):
    first, again = (trained(threads(count), dropout=0.3) for _ in range(2))
    np.testing.assert_array_equal(first[0].flat.data, again[0].flat.data)
    np.testing.assert_array_equal(first[1], again[1])


def test_each_thread_has_a_generator_of_its_own():
    """Two threads with the same sentences must not drop the same numbers."""
    model = Transformer(TransformerConfig.named("toy", 12, dropout=0.3))
    workers, batch = Threads(model, 2), make_batch(PAIRS[:1] * 2)
    (_, _, one), (_, _, other) = workers.shard([batch], (0, 1))
    assert one.integers(1 << 40) != other.integers(1 << 40)
    assert [rng for _, _, rng in workers.shard([batch])] == [None, None]  # no seed, no dropout


def test_parts_hold_every_sentence_without_needless_padding():
    batch = make_batch(sorted(PAIRS, key=lambda pair: len(pair[1])))
    parts = batch.split(2)
    assert sum(part.terms for part in parts) == batch.terms
    assert [len(part.source) for part in parts] == [3, 2]
    for name in ("source", "target", "next_target"):
        whole, rows = getattr(batch, name), [row for part in parts for row in getattr(part, name)]
        for row, shorter in zip(whole, rows):
            np.testing.assert_array_equal(row[row != PAD], shorter[shorter != PAD])
        assert all((getattr(part, name) != PAD).any(axis=0).all() for part in parts)


def test_parts_keep_padding_that_is_not_at_the_end():
    ids = np.array([[0, 0, 5, 2], [3, 4, 5, 2]])
    first, second = make_batch(PAIRS[:2])._replace(source=ids).split(2)
    np.testing.assert_array_equal(first.source, ids[:1])
    np.testing.assert_array_equal(second.source, ids[1:])


@pytest.mark.parametrize("bad", [0, 1])
def test_after_an_error_in_a_thread_no_gradient_is_left(bad):
    """It is raised, and neither the model nor a replica keeps anything, whichever thread it was."""
    model = Transformer(TransformerConfig.named("toy", 12))
    pairs = [([4], [5]), ([4], [5])]
    pairs[bad] = ([4], [99])
    workers, adam = Threads(model, 2), Adam(model)
    with pytest.raises(ValueError, match="99"):
        training_step(model, adam, make_batch(pairs), 0.01, (0, 1), workers=workers)
    assert not any(each.flat.grad.any() for each in workers.models)
    assert adam.steps == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
@pytest.mark.parametrize("before", [0, 1])
def test_a_forked_process_has_threads_of_its_own(before):
    """It computes the bits of its parent, whose threads go on."""
    model, context = Transformer(TransformerConfig.named("toy", 12), seed=1), get_context("fork")
    adam, batch = Adam(model), make_batch(PAIRS)

    def step(answers=None):
        training_step(model, adam, [batch], 0.01, workers=workers)
        answers and answers.send(model.flat.data)

    with Threads(model, 3) as workers:
        for _ in range(before):
            step()
        ours, theirs = context.Pipe()
        process = context.Process(target=step, args=(theirs,), daemon=True)
        process.start()
        found = ours.recv() if ours.poll(60) else None
        process.kill()
        process.join()
        step()
    assert found is not None and (found == model.flat.data).all()


@pytest.mark.parametrize(
    "processes, count, dropout", [(2, 1, 0.0), (2, 2, 0.0), (3, 1, 0.0), (9, 1, 0.0), (2, 1, 0.3)]
)
def test_processes_compute_what_threads_compute(processes, count, dropout):
    """The same weights in each, and as sums the totals of all; of nine, some have no sentence. Part
    i has generator i, whoever computes it: its dropout, too.
    """
    expected = trained(threads(processes * count), dropout)
    for model, sums in in_processes(
        processes,
        lambda meeting, rank: trained(lambda model: Process(model, count, meeting, rank), dropout),
    ):
        assert_same_weights(model, expected[0])
        np.testing.assert_allclose(sums, expected[1], rtol=1e-12)


def test_one_process_sums_and_agrees_with_itself():
    workers, vector = (
        Threads(Transformer(TransformerConfig.named("toy", 12)), 2),
        np.array([1.0, 2.0]),
    )
    workers.sum(vector)
    assert vector.tolist() == [1, 2] and workers.is_main
    assert workers.agree(True) and not workers.agree(False)


def in_two_processes(folder, config, pressing=None, resume=False, made=False):
    """`train` with dropout in two simulated processes, each with a run object and batches of its
    own, in one folder.

    pressing: the step in which Ctrl-C reaches the main process. Returns [(steps, model, written)]
    of both.
    """
    if not (resume or made):
        start(folder)

    def member(meeting, rank):
        run = Run.open(folder)
        run.model = run.model.astype(np.float64)
        batches, valid = same_batches()
        written = []
        run.save_weights = recording(run.save_weights, written)
        if pressing and rank == 0:
            batches = Interrupted(batches, pressing)
        steps = train(
            run,
            config,
            batches,
            valid,
            resume=resume,
            make_workers=lambda model, count: Process(model, count, meeting, rank),
        )
        return steps, run.model, written

    return in_processes(2, member)


def recording(function, calls):
    def recorded(*arguments):
        calls.append(arguments)
        return function(*arguments)

    return recorded


CONFIG = dict(steps=12, warmup=4, validate_every=5, average=2, seed=3)


def test_a_run_of_two_processes_is_that_of_one(tmp_path):
    """Weights, log and checkpoints; only the main process writes them."""
    run, batches, valid = start(tmp_path / "one")
    run.model = run.model.astype(np.float64)
    train(run, TrainingConfig(**CONFIG, threads=2), batches, valid)
    (steps, main, written), (other_steps, other, none_written) = in_two_processes(
        tmp_path / "two", TrainingConfig(**CONFIG, threads=1)
    )
    assert steps == other_steps == 12
    assert (len(written), len(none_written)) == (1, 0)
    np.testing.assert_array_equal(main.flat.data, other.flat.data)
    assert_same_weights(main, run.model)
    np.testing.assert_array_equal(Run.load(tmp_path / "two").model.flat.data, main.flat.data)
    assert checkpoint.steps(tmp_path / "two") == checkpoint.steps(tmp_path / "one") == [12, 10]
    one, two = losses(Run.open(tmp_path / "one")), losses(Run.open(tmp_path / "two"))
    assert [record.keys() for record in one] == [record.keys() for record in two]  # each line once
    for expected, found in zip(one, two):
        assert found == pytest.approx(expected, rel=1e-9)


def test_a_process_that_is_not_the_main_one_touches_no_file(tmp_path, monkeypatch):
    """Whatever opens a file of the run for writing, renames or removes one, does so in the main
    process: this thread.
    """
    start(tmp_path / "run")
    writers = []
    for owner, name in [
        (checkpoint, "write_durably"),
        (os, "replace"),
        (os, "rename"),
        (shutil, "rmtree"),
    ]:
        usual = getattr(owner, name)
        monkeypatch.setattr(
            owner,
            name,
            lambda *given, usual=usual, **more: (
                writers.append(threading.current_thread()) or usual(*given, **more)
            ),
        )
    usual_open = Path.open

    def open_noted(path, mode="r", **more):
        if mode[0] != "r":
            writers.append(threading.current_thread())
        return usual_open(path, mode, **more)

    monkeypatch.setattr(Path, "open", open_noted)
    in_two_processes(tmp_path / "run", TrainingConfig(**CONFIG, threads=1), made=True)
    assert len(writers) > 10 and set(writers) == {threading.current_thread()}


def test_processes_agree_on_stopping_and_resume(tmp_path):
    """Ctrl-C reaches one of them: both end after that step, and resumed, both end as if nothing had
    stopped.
    """
    config = TrainingConfig(**CONFIG, threads=1)
    whole, _ = in_two_processes(tmp_path / "whole", config)
    (steps, main, _), (other_steps, other, _) = in_two_processes(
        tmp_path / "run", config, pressing=7
    )
    assert steps == other_steps == 7
    np.testing.assert_array_equal(main.flat.data, other.flat.data)
    assert checkpoint.steps(tmp_path / "run") == [7, 5]
    resumed = in_two_processes(tmp_path / "run", config, resume=True)
    for steps, model, _ in resumed:
        assert steps == 12
        np.testing.assert_array_equal(model.flat.data, whole[1].flat.data)
    assert losses(Run.open(tmp_path / "run")) == losses(Run.open(tmp_path / "whole"))


def test_processes_that_are_out_of_patience_stop_together(tmp_path):
    config = TrainingConfig(
        steps=60,
        warmup=1,
        schedule="constant",
        peak_rate=0.3,
        cooldown=0,
        validate_every=2,
        patience=3,
        threads=1,
    )
    (steps, main, _), (other_steps, other, _) = in_two_processes(tmp_path / "run", config)
    assert steps == other_steps < 60
    np.testing.assert_array_equal(main.flat.data, other.flat.data)  # the best checkpoint's
