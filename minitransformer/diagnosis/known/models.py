"""Whole models: which parts run backward, and with which gradients."""

from collections.abc import Callable

from minitransformer.diagnosis.mistakes import mistake


def transformer(target=True, source=True, memory=1.0, encoder=True, weight=1.0) -> Callable:
    """A backward of Transformer with some of its steps left out."""
    def wrong(self, dlogits, cache) -> None:
        before = self.output.weight.grad.copy()
        dy = self.output.backward(dlogits, cache.output)
        if weight != 1:
            self.output.weight.grad[...] = before + weight * (self.output.weight.grad - before)
        hidden = cache.hidden
        dx, dmemory = self.decoder.backward(dy, hidden.decode.decoder)
        if target:
            self.target_input.backward(dx, hidden.decode.input)
        dmemory = memory(self) * dmemory if callable(memory) else memory * dmemory
        dx = self.encoder.backward(dmemory, hidden.encode.encoder) if encoder else dmemory
        if source:
            self.source_input.backward(dx, hidden.encode.input)
    return wrong


for sentence, options in (
        ("the target's embedding gets no gradient from the decoder: target_input.backward is not called (skipped)",
         dict(target=False)),
        ("the source's embedding gets no gradient from the encoder: source_input.backward is not called (skipped)",
         dict(source=False)),
        ("the encoder gets no gradient: the memory's gradient is dropped (zero)", dict(memory=0.0)),
        ("the memory's gradient is counted twice (doubled) on its way into the encoder", dict(memory=2.0)),
        ("the memory's gradient is divided by the number of the decoder's layers (averaged) on its way into the "
         "encoder: it is a sum over them",
         dict(memory=lambda model: 1 / len(model.decoder.layers))),
        ("the encoder is skipped in backward: the memory's gradient goes straight to the source's embedding",
         dict(encoder=False)),
        ("the pre-softmax weight gets no gradient: a shared (tied) weight lacks the output projection's share",
         dict(weight=0.0)),
        ("the output projection's share of the weight's gradient is counted twice (doubled)", dict(weight=2.0))):
    mistake("Transformer", sentence)(transformer(**options))


def classifier(encoder=True, input=True) -> Callable:
    def wrong(self, dlogits, cache) -> None:
        dx = self.pooling.backward(self.output.backward(dlogits, cache.output), cache.pooling)
        dx = self.encoder.backward(dx, cache.encoder) if encoder else dx
        if input:
            self.input.backward(dx, cache.input)
    return wrong


mistake("Classifier", "the encoder is skipped in backward")(classifier(encoder=False))
mistake("Classifier", "the embedding gets no gradient: input.backward is not called (skipped)")(classifier(input=False))


def language_model(stack=True, input=True) -> Callable:
    def wrong(self, dlogits, cache) -> None:
        dx = self.output.backward(dlogits, cache.output)
        dx = self.stack.backward(dx, cache.hidden.stack) if stack else dx
        if input:
            self.input.backward(dx, cache.hidden.input)
    return wrong


mistake("LanguageModel", "the stack is skipped in backward")(language_model(stack=False))
mistake("LanguageModel",
        "the embedding gets no gradient from the stack: input.backward is not called "
        "(skipped)")(language_model(input=False))
