"""Draw the tree of SENTENCE, or of each line of standard input: its words and punctuation marks separated by spaces, as in
the treebank. If the model's output is not a tree, standard error says why. An empty line stays empty.
"""

import sys

from minitransformer.cli.shared_options import add_model, check_command, read_texts
from minitransformer.training.run import Run
from minitransformer.zoo.parsing.brackets import NotATree
from minitransformer.zoo.parsing.tree import draw_tree


def add_arguments(parser) -> None:
    add_model(parser)
    parser.add_argument("text", metavar="SENTENCE", nargs="?", help="the sentence (default: lines from standard input)")
    parser.add_argument("--brackets", action="store_true",
                        help="print each tree on one line as the Penn Treebank writes it, each word with the tag XX unless it "
                             "was trained with --tags; the line of an output that is not a tree stays empty")


def execute(args) -> None:
    run = Run.load(args.run, args.backend)
    check_command(run, "parse")
    texts = read_texts(args, "the sentence is empty, expected one to parse")
    for number, (text, tree) in enumerate(zip(texts, run.task.trees(run, texts)), 1):
        if isinstance(tree, NotATree):
            print(f"line {number}: the output is not a tree: {tree}", file=sys.stderr)
        found = not isinstance(tree, NotATree) and text.strip()
        print((str(tree) if args.brackets else draw_tree(tree)) if found else "")
