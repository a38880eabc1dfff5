"""The special token ids that every vocabulary begins with."""

PAD = 0   # fills up the short sequences of a batch; nobody attends to it
BOS = 1   # begins every target
EOS = 2   # ends every source and target
SPECIAL = ("<pad>", "<s>", "</s>")
