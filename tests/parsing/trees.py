"""Trees to parse: random ones, a small one and deep ones."""

from hypothesis import strategies as st

from research.experiments.parsing.brackets import Tree

CAT = Tree(
    "S",
    (
        Tree("NP", (Tree("DT", ("The",)), Tree("NN", ("cat",)))),
        Tree("VP", (Tree("VBD", ("sat",)),)),
        Tree(".", (".",)),
    ),
)
LABELS = st.sampled_from(["S", "NP", "VP", "X", "XX", "ADVP", "PRT", "a", "Ä"])
TAGS = st.sampled_from(["NN", "DT", ",", ".", "``", "-LRB-", "$", "XX"])
WORDS = st.one_of(
    st.sampled_from(["XX", "-LRB-", ",", "cat", "*T*-1", "0", "[NP", "NP"]),
    st.text("aä漢-=|*", min_size=1),
)
TAGGED = st.builds(lambda tag, word: Tree(tag, (word,)), TAGS, WORDS)
TREES = st.recursive(
    TAGGED,
    lambda inner: st.builds(Tree, LABELS, st.lists(inner, min_size=1, max_size=4).map(tuple)),
    max_leaves=20,
)


def chain(length):
    """(S (S ... (NN cat)))."""
    tree = Tree("NN", ("cat",))
    for _ in range(length):
        tree = Tree("S", (tree,))
    return tree
