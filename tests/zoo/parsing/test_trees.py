"""Trees are read, become brackets, and come back as they were; what is none is refused with its line."""

import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minitransformer import InputError
from minitransformer.zoo.parsing.brackets import NotATree, build_tree, linearise
from minitransformer.zoo.parsing.tree import draw_tree
from minitransformer.zoo.parsing.tree import MAX_DEPTH, Tree
from minitransformer.zoo.parsing.treebank import category, read_trees
from tests.zoo.parsing.trees import PHRASES, chain, depth

CAT = Tree("S", (Tree("NP", (Tree("DT", ("The",)), Tree("NN", ("cat",)))), Tree("VP", (Tree("VBD", ("sat",)),)), Tree(".", (".",))))


def tags_of(tree):
    return [tag.label for tag in tree.tags()]


def read(tmp_path, text):
    (tmp_path / "a.trees").write_text(text, encoding="utf-8")
    return read_trees(tmp_path / "a.trees")


def test_a_tree_as_vinyals_writes_it():
    assert " ".join(linearise(CAT)) == "(S (NP XX XX )NP (VP XX )VP XX )S"
    assert " ".join(linearise(CAT, tags=True)) == "(S (NP DT NN )NP (VP VBD )VP . )S"
    assert CAT.words == ["The", "cat", "sat", "."] and str(CAT) == "(S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))"


@given(PHRASES)
def test_there_and_back(tree):
    """With its tags, or with tags for its words, it is the same tree; otherwise all but the tags are the same."""
    assert build_tree(linearise(tree, tags=True), tree.words) == tree
    symbols = linearise(tree)
    assert build_tree(symbols, tree.words, tags_of(tree)) == tree
    plain = build_tree(symbols, tree.words)
    assert linearise(plain) == symbols and plain.words == tree.words and set(tags_of(plain)) == {"XX"}
    assert len(symbols) == symbols.count("XX") + 2 * sum(symbol != "XX" and symbol[0] == "(" for symbol in symbols)


@given(PHRASES, st.data())
def test_another_sequence_is_another_tree_or_none(tree, data):
    """One symbol is taken out, doubled, or moved: never the same tree."""
    symbols = linearise(tree)
    place = data.draw(st.integers(0, len(symbols) - 1))
    other = data.draw(st.sampled_from([symbols[:place] + symbols[place + 1:], symbols[:place + 1] + symbols[place:],
                                       [*symbols[:place], *symbols[place + 1:], symbols[place]]]))
    try:
        assert (build_tree(other, tree.words, tags_of(tree)) == tree) == (other == symbols)
    except NotATree as reason:
        assert str(reason) and "\n" not in str(reason) and other != symbols


@pytest.mark.parametrize("symbols, reason", [
    ("", "it has 0 words, its sentence 2"), ("XX XX", "it is 2 trees, not one"), ("(S XX )S", "it has 1 words, its sentence 2"),
    ("(S XX XX XX )S", "it has more than the 2 words of its sentence"), ("(S XX XX", "(S is never closed"),
    ("(S XX XX )NP", ")NP closes (S"), ("(S XX XX )S )S", ")S closes a bracket that was never opened"),
    (")S", ")S closes a bracket that was never opened"), ("(S XX (NP )NP XX )S", "(NP )NP holds nothing"),
    ("(S XX )S (S XX )S", "it is 2 trees, not one"),
    ("(S " * (MAX_DEPTH + 1) + "XX", f"it has more than {MAX_DEPTH} brackets inside one another"),
])
def test_what_is_not_a_tree(symbols, reason):
    with pytest.raises(NotATree) as caught:
        build_tree(symbols.split(), ["a", "b"])
    assert str(caught.value) == reason


@given(PHRASES, st.data())
def test_reading_what_was_written_with_all_that_is_left_out(tmp_path_factory, tree, data):
    """Function tags, indices, traces, line breaks and an outer bracket: none of them changes the tree."""
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
    folder = tmp_path_factory.getbasetemp()
    ((line, found), (second, last)) = read(folder, "\n" + outer.format(written(tree)) + "\n(X\n(NN end))")
    assert found == tree and last == Tree("X", (Tree("NN", ("end",)),))
    assert line == 2 and second == (folder / "a.trees").read_text().count("\n", 0, -len("(X\n(NN end))")) + 1


def test_a_gz_file_of_one_tree(tmp_path):
    (tmp_path / "a.gz").write_bytes(gzip.compress(f"( {CAT} )".encode()))
    assert read_trees(tmp_path / "a.gz") == [(1, CAT)]


def test_a_word_alone_is_a_tree(tmp_path):
    """And a bracket in the text is a word like others, whose label begins with a hyphen."""
    ((_, tree), (_, bracket)) = read(tmp_path, "( (UH yes) )\n(-LRB- -LRB-)")
    assert linearise(tree) == ["XX"] and build_tree(["XX"], ["yes"], ["UH"]) == tree and bracket.label == "-LRB-"


@pytest.mark.parametrize("text, words", [
    ("", "empty, expected text"), (" \n \n", "empty, expected text"),
    ("(S (NP (-NONE- *)))", "no tree with a word in it, expected trees such as (S (NP"),
    ("a plain sentence .", "line 1: 'a' stands outside all brackets, expected trees such as (S (NP"),
    ("(NN a)\n(S (NN b)\n(NN c)", "line 2: the tree that begins here lacks 1 closing bracket"),
    ("(NN a)\n(S (NP (NN b)", "line 2: the tree that begins here lacks 2 closing brackets"),
    ("( (S (NN b) )\n( (S (NN c)) )",
     "line 2: a bracket without a label; does the tree that begins in line 1 lack a closing bracket?"),
    ("(NN a)\n(NN b))", "line 2: a closing bracket without its opening one"),
    ("(S)", "line 1: the bracket (S) is empty"), ("(NN a)\n()", "line 2: the bracket () is empty"),
    ("(S (NN a) b)", "line 1: the word 'b' has no tag of its own, expected a bracket such as (NN b)"),
    ("(S a b)", "line 1: the word 'a' has no tag of its own"),
    ("((NN a) (NN b))", "line 1: a bracket without a label holds 2 trees, expected 1"),
    ("(S ((NN a)))", "line 1: a bracket without a label; does the tree that begins in line 1 lack a closing bracket?"),
    (str(chain(MAX_DEPTH + 1)), f"line 1: more than {MAX_DEPTH} brackets inside one another"),
    ("(" * 100_000, "line 1: a bracket without a label"),
])
def test_files_that_are_not_trees(tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read(tmp_path, text)
    assert str(caught.value).startswith(str(tmp_path / "a.trees")) and words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_deepest_tree_that_may_be(tmp_path):
    tree = chain(MAX_DEPTH - 1)
    assert read(tmp_path, str(tree))[0].tree == tree and depth(tree) == MAX_DEPTH - 1
    assert build_tree(linearise(tree), tree.words, ["NN"]) == tree


@pytest.mark.parametrize("label, cut", [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("ADVP|PRT", "ADVP"), ("-LRB-", "-LRB-"), ("S", "S")])
def test_the_category_of_a_label(label, cut):
    assert category(label) == cut


def test_the_drawing():
    assert draw_tree(CAT) == "S\n├─ NP  The cat\n├─ VP  sat\n└─ ."
    inner = Tree("S", (Tree("VP", (Tree("VB", ("sit",)), CAT.children[0])), CAT.children[2]))
    assert draw_tree(inner) == "S\n├─ VP\n│  ├─ sit\n│  └─ NP  The cat\n└─ ."
    assert draw_tree(Tree("X", (inner.children[1], inner))) == (
        "X\n├─ .\n└─ S\n   ├─ VP\n   │  ├─ sit\n   │  └─ NP  The cat\n   └─ .")


@given(PHRASES)
def test_a_drawing_shows_the_words_in_their_order(tree):
    """And a corner for each last branch: the branches of a phrase end with it."""
    lines = [line.lstrip("│├└─ ").split("  ") for line in draw_tree(tree).splitlines()]
    shown = [(None, label) if len(rest) == 0 else (label, rest[0]) for label, *rest in lines]
    words = [word for label, text in shown for word in (text.split(" ") if label else [text])]
    found = iter(words)
    assert all(word in found for word in tree.words)
    assert draw_tree(tree).count("└") == sum(not all(child.is_tag for child in phrase.children) for phrase in phrases(tree))


def phrases(tree):
    return [] if tree.is_tag else [tree, *(one for child in tree.children for one in phrases(child))]
