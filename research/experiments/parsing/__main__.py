"""The `minitransformer` command with a task, a vocabulary and a corpus more: python -m
research.experiments.parsing train parse --help
"""

import sys

from research.experiments.parsing.task import Parse
from research.experiments.parsing.treebank import PTB
from research.experiments.parsing.vocabulary import TreebankVocabulary
from minitransformer.cli import main
from minitransformer.data.registry import CORPORA
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.tasks import TASKS

TASKS[Parse.name] = Parse
VOCABULARIES["treebank"] = TreebankVocabulary
CORPORA["ptb"] = PTB

if __name__ == "__main__":
    sys.exit(main())
