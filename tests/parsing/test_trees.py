"""Trees are read, become brackets and come back."""

import gzip

import pytest
from hypothesis import given, strategies as st

from research.experiments.parsing.brackets import MAX_DEPTH, NotATree, Tree, build_tree, linearise
from research.experiments.parsing.treebank import category, read_trees
from minitransformer import InputError
from tests.parsing.trees import CAT, TREES, chain


def test_a_tree_as_vinyals_writes_it():
    assert " ".join(linearise(CAT)) == "(S (NP XX XX )NP (VP XX )VP XX )S"
    assert " ".join(linearise(CAT, tags=True)) == "(S (NP DT NN )NP (VP VBD )VP . )S"
    assert (
        CAT.words == ["The", "cat", "sat", "."]
        and str(CAT) == "(S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))"
    )


@given(TREES, st.booleans())
def test_there_and_back(tree, tags):
    assert build_tree(linearise(tree, tags), tree.words, tree.tags) == tree


@given(TREES, st.data())
def test_another_sequence_is_another_tree_or_none(tree, data):
    """One symbol is taken out, doubled, or moved: never the same tree."""
    symbols = linearise(tree)
    place = data.draw(st.integers(0, len(symbols) - 1))
    other = data.draw(
        st.sampled_from(
            [
                symbols[:place] + symbols[place + 1 :],
                symbols[: place + 1] + symbols[place:],
                [*symbols[:place], *symbols[place + 1 :], symbols[place]],
            ]
        )
    )
    try:
        assert (build_tree(other, tree.words, tree.tags) == tree) == (other == symbols)
    except NotATree as reason:
        assert str(reason) and "\n" not in str(reason) and other != symbols


@pytest.mark.parametrize(
    "symbols, reason",
    [
        ("", "it has 0 words, its sentence 2"),
        ("XX XX", "it is 2 trees, not one"),
        ("(S XX )S", "it has 1 words, its sentence 2"),
        ("(S XX XX XX )S", "it has more than the 2 words of its sentence"),
        ("(S XX XX", "(S is never closed"),
        ("(S XX XX )NP", ")NP closes (S"),
        ("(S XX XX )S )S", ")S closes a bracket that was never opened"),
        (")S", ")S closes a bracket that was never opened"),
        ("(S XX (NP )NP XX )S", "(NP )NP holds nothing"),
        ("(S XX )S (S XX )S", "it is 2 trees, not one"),
        (
            "(S " * (MAX_DEPTH + 1) + "XX",
            f"it has more than {MAX_DEPTH} brackets inside one another",
        ),
    ],
)
def test_what_is_not_a_tree(symbols, reason):
    with pytest.raises(NotATree) as caught:
        build_tree(symbols.split(), ["a", "b"], ["NN", "NN"])
    assert str(caught.value) == reason


@given(TREES, st.data())
def test_reading_what_was_written_with_all_that_is_left_out(tmp_path_factory, tree, data):
    """Function tags, indices, traces, line breaks and an outer bracket: none of them changes the
    tree.
    """
    blank = st.sampled_from([" ", "\n", "\r\n  ", "\t"])

    def written(tree):
        if tree.is_tag:
            return f"({tree.label}{data.draw(blank)}{tree.children[0]})"
        suffix = data.draw(st.sampled_from(["", "-SBJ", "-SBJ-1", "=2", "|ADVP"]))
        children = [written(child) for child in tree.children]
        trace = data.draw(st.sampled_from(["", "(-NONE- *T*-1)", "(NP-SBJ (S (-NONE- *)))"]))
        children.insert(data.draw(st.integers(0, len(children))), trace)
        return f"({tree.label}{suffix} {data.draw(blank).join(children)})"

    outer = data.draw(st.sampled_from(["{}", "( {} )", "(TOP {})", "(ROOT\n{})", "(S1 {})"]))
    path = tmp_path_factory.getbasetemp() / "a.gz"
    path.write_bytes(
        gzip.compress(f"\n{outer.format(written(tree))}\n( (S (-NONE- *)) )(X\n(NN end))".encode())
    )
    assert read_trees(path) == [tree, Tree("X", (Tree("NN", ("end",)),))]


def test_a_word_alone_is_a_tree(read):
    """And a bracket in the text is a word like others, whose label begins with a hyphen."""
    tree, bracket = read("( (UH yes) )\n(-LRB- -LRB-)")
    assert linearise(tree) == ["XX"] and tree == Tree("UH", ("yes",)) and bracket.label == "-LRB-"


@pytest.mark.parametrize(
    "text, words",
    [
        ("", ": empty, expected text"),
        (" \n \n", ": empty, expected text"),
        ("(S (NP (-NONE- *)))", ": no tree with a word in it, expected trees such as (S (NP"),
        (
            "a plain sentence .",
            ", line 1: 'a' stands outside all brackets, expected trees such as (S (NP",
        ),
        (
            "(NN a)\n(S (NN b)\n(NN c)",
            ", line 2: the tree that begins here lacks 1 closing bracket",
        ),
        ("(NN a)\n(S (NP (NN b)", ", line 2: the tree that begins here lacks 2 closing brackets"),
        (
            "( (S (NN b) )\n( (S (NN c)) )",
            ", line 1: a bracket without a label holds 1 tree; does another lack its closing bracket?",
        ),
        ("(NN a)\n(NN b))", ", line 2: ')' stands outside all brackets"),
        ("(S)", ", line 1: the bracket (S) is empty"),
        ("(NN a)\n()", ", line 2: the bracket () is empty"),
        (
            "(S (NN a) b)",
            ", line 1: the word 'b' has no tag of its own, expected a bracket such as (NN b)",
        ),
        ("(S a b)", ", line 1: the word 'a' has no tag of its own"),
        ("((NN a) (NN b))", ", line 1: a bracket without a label holds 2 trees"),
        ("(S\n((NN a)))", ", line 1: a bracket without a label holds 1 tree"),
        (str(chain(MAX_DEPTH + 1)), f", line 1: more than {MAX_DEPTH} brackets inside one another"),
        ("(" * 100_000, f", line 1: more than {MAX_DEPTH} brackets inside one another"),
    ],
)
def test_files_that_are_not_trees(read, tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(f"{tmp_path / 'a.trees'}{words}") and "\n" not in str(
        caught.value
    )


def test_the_deepest_tree_that_may_be(read):
    tree = chain(MAX_DEPTH - 1)
    assert read(str(tree)) == [tree] and build_tree(linearise(tree), tree.words, tree.tags) == tree


@pytest.mark.parametrize(
    "label, cut",
    [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("ADVP|PRT", "ADVP"), ("-LRB-", "-LRB-"), ("S", "S")],
)
def test_the_category_of_a_label(label, cut):
    assert category(label) == cut
