"""The special token ids, with which every vocabulary begins."""

PAD = 0  # fills up the short sequences of a batch; nothing attends to it
BOS = 1  # begins every target
EOS = 2  # ends every source and target
SPECIAL = ("<pad>", "<s>", "</s>")
