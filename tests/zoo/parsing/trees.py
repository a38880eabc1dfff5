"""Odd trees for tests: unary chains, single words, phrases of punctuation, words that look like symbols."""

from hypothesis import strategies as st

from minitransformer.zoo.parsing.tree import Tree

LABELS = st.sampled_from(["S", "NP", "VP", "X", "XX", "ADVP", "PRT", "a", "Ä"])
TAGS = st.sampled_from(["NN", "DT", ",", ".", "``", "-LRB-", "$", "XX"])
WORDS = st.one_of(st.sampled_from(["XX", "-LRB-", ",", "cat", "*T*-1", "0", "[NP", "NP"]), st.text("aä漢-=|*", min_size=1))
TAGGED = st.builds(lambda tag, word: Tree(tag, (word,)), TAGS, WORDS)
PHRASES = st.recursive(TAGGED, lambda inner: st.builds(Tree, LABELS, st.lists(inner, min_size=1, max_size=4).map(tuple)),
                       max_leaves=20)


def depth(tree):
    return 0 if tree.is_tag else 1 + max(map(depth, tree.children))


def chain(length):
    """(S (S ... (NN cat)))."""
    tree = Tree("NN", ("cat",))
    for _ in range(length):
        tree = Tree("S", (tree,))
    return tree
