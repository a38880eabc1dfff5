"""What is said about a block that failed: where, what and, if the doctor of the course names the
mistake, its proof.
"""

from dataclasses import dataclass

from minitransformer.errors import some

NAMED, EVIDENCE, CONTRACT, OBSERVED = "named", "evidence", "contract", "observed"


@dataclass(frozen=True)
class Finding:
    """What is wrong with a block.

    kind: "named": the mistake is proven; "contract": the block was observed to break the contract
    of a layer; "observed": it was observed what the block does wrong with its parts; "evidence":
    only hints.
    """

    kind: str
    sentence: str  # the mistake, the breach, or what is known
    place: str = ""  # the innermost wrong part: its path and kind; "" for the block itself
    array: str = ""  # the worst number: its array,
    index: tuple | None = None
    analytic: float | None = None  # backward's value there,
    numeric: float | None = None  # and the right one
    before: float | None = None  # the error now,
    after: float | None = None  # and with the mistake undone
    read: str = ""  # the library's backward of this block
    also: tuple = ()  # the other innermost wrong parts of a composite, in words

    @property
    def proof(self) -> str:
        if self.kind != NAMED or self.after is None or self.before is None:
            return ""
        return f"with this undone the error falls from {self.before:.0e} to {self.after:.0e}"

    def __str__(self) -> str:
        if self.kind == EVIDENCE:
            text = f"no mistake is proven; {self.sentence}"
        else:
            text = self.sentence + (f" ({self.proof})" if self.proof else "")
        if self.place:
            text = f"in {self.place}: {text}"
        text += f"; read {self.read}" if self.read else ""
        return text + (f"; also wrong: {some(self.also, 4)}" if self.also else "")

    @property
    def where(self) -> str:
        """The worst number, in words; "" if none is known."""
        if self.index is None:
            return ""
        return f"{self.array}{list(self.index)}: {self.analytic:+.6e}, but the true gradient is {self.numeric:+.6e}"
