"""What the configurations of the recurrent and the convolutional encoder-decoder have in common."""

from dataclasses import dataclass

from minitransformer.models.transformer import EncoderDecoderConfig


@dataclass(frozen=True, kw_only=True)
class RivalConfig(EncoderDecoderConfig):
    num_layers: int = 1                  # of the encoder, and of the decoder
    d_model: int = 64                    # width of embeddings and hidden states
    dropout: float = 0.0
