"""experiments/parsing: trees are read, become brackets and come back; brackets are counted as EVALB counts them; the command."""

import gzip
import io
import json
import os
import runpy
import shutil
import subprocess
import sys
import zipfile
from dataclasses import replace
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from experiments.parsing.brackets import MAX_DEPTH, NotATree, Tree, build_tree, linearise
from experiments.parsing.score import brackets, score_trees
from experiments.parsing.task import Parse
from experiments.parsing.treebank import category, read_trees, split_treebank
from experiments.parsing.vocabulary import CLASSES, TreebankVocabulary, word_class
from minitransformer import InputError
from minitransformer.cli.parser import make_parser
from minitransformer.data.registry import CORPORA
from minitransformer.data.vocabularies import VOCABULARIES
from minitransformer.decoding import decode_all
from minitransformer.files import write_manifest
from minitransformer.functional.special import BOS, EOS, PAD
from minitransformer.tasks import TASKS
from tests import ROOT
from tests.library.cli.conftest import one_line
from tests.library.decoding.reference import random_model
from tests.library.models.makers import make_model
from tests.test_docs import commands

FIXTURES = ROOT / "tests" / "fixtures"
SCORES = {"f1": 100, "precision": 100, "recall": 100, "f1_of_trees": 100, "complete": 8, "well_formed": 8, "sentences": 8,
          "perplexity": 1.026147}    # of fixtures/parsing/run, which was trained when the task was a part of the package

CAT = Tree("S", (Tree("NP", (Tree("DT", ("The",)), Tree("NN", ("cat",)))), Tree("VP", (Tree("VBD", ("sat",)),)), Tree(".", (".",))))
LABELS = st.sampled_from(["S", "NP", "VP", "X", "XX", "ADVP", "PRT", "a", "Ä"])
TAGS = st.sampled_from(["NN", "DT", ",", ".", "``", "-LRB-", "$", "XX"])
WORDS = st.one_of(st.sampled_from(["XX", "-LRB-", ",", "cat", "*T*-1", "0", "[NP", "NP"]), st.text("aä漢-=|*", min_size=1))
TAGGED = st.builds(lambda tag, word: Tree(tag, (word,)), TAGS, WORDS)
TREES = st.recursive(TAGGED, lambda inner: st.builds(Tree, LABELS, st.lists(inner, min_size=1, max_size=4).map(tuple)),
                     max_leaves=20)


def chain(length):
    """(S (S ... (NN cat)))."""
    tree = Tree("NN", ("cat",))
    for _ in range(length):
        tree = Tree("S", (tree,))
    return tree


@pytest.fixture
def read(tmp_path):
    def read(text):
        (tmp_path / "a.trees").write_text(text, encoding="utf-8")
        return read_trees(tmp_path / "a.trees")
    return read


def test_a_tree_as_vinyals_writes_it():
    assert " ".join(linearise(CAT)) == "(S (NP XX XX )NP (VP XX )VP XX )S"
    assert " ".join(linearise(CAT, tags=True)) == "(S (NP DT NN )NP (VP VBD )VP . )S"
    assert CAT.words == ["The", "cat", "sat", "."] and str(CAT) == "(S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .))"


@given(TREES, st.booleans())
def test_there_and_back(tree, tags):
    assert build_tree(linearise(tree, tags), tree.words, tree.tags) == tree


@given(TREES, st.data())
def test_another_sequence_is_another_tree_or_none(tree, data):
    """One symbol is taken out, doubled, or moved: never the same tree."""
    symbols = linearise(tree)
    place = data.draw(st.integers(0, len(symbols) - 1))
    other = data.draw(st.sampled_from([symbols[:place] + symbols[place + 1:], symbols[:place + 1] + symbols[place:],
                                       [*symbols[:place], *symbols[place + 1:], symbols[place]]]))
    try:
        assert (build_tree(other, tree.words, tree.tags) == tree) == (other == symbols)
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
        build_tree(symbols.split(), ["a", "b"], ["NN", "NN"])
    assert str(caught.value) == reason


@given(TREES, st.data())
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
    path = tmp_path_factory.getbasetemp() / "a.gz"
    path.write_bytes(gzip.compress(f"\n{outer.format(written(tree))}\n( (S (-NONE- *)) )(X\n(NN end))".encode()))
    assert read_trees(path) == [tree, Tree("X", (Tree("NN", ("end",)),))]


def test_a_word_alone_is_a_tree(read):
    """And a bracket in the text is a word like others, whose label begins with a hyphen."""
    tree, bracket = read("( (UH yes) )\n(-LRB- -LRB-)")
    assert linearise(tree) == ["XX"] and tree == Tree("UH", ("yes",)) and bracket.label == "-LRB-"


@pytest.mark.parametrize("text, words", [
    ("", ": empty, expected text"), (" \n \n", ": empty, expected text"),
    ("(S (NP (-NONE- *)))", ": no tree with a word in it, expected trees such as (S (NP"),
    ("a plain sentence .", ", line 1: 'a' stands outside all brackets, expected trees such as (S (NP"),
    ("(NN a)\n(S (NN b)\n(NN c)", ", line 2: the tree that begins here lacks 1 closing bracket"),
    ("(NN a)\n(S (NP (NN b)", ", line 2: the tree that begins here lacks 2 closing brackets"),
    ("( (S (NN b) )\n( (S (NN c)) )", ", line 1: a bracket without a label holds 1 tree; does another lack its closing bracket?"),
    ("(NN a)\n(NN b))", ", line 2: ')' stands outside all brackets"),
    ("(S)", ", line 1: the bracket (S) is empty"), ("(NN a)\n()", ", line 2: the bracket () is empty"),
    ("(S (NN a) b)", ", line 1: the word 'b' has no tag of its own, expected a bracket such as (NN b)"),
    ("(S a b)", ", line 1: the word 'a' has no tag of its own"),
    ("((NN a) (NN b))", ", line 1: a bracket without a label holds 2 trees"),
    ("(S\n((NN a)))", ", line 1: a bracket without a label holds 1 tree"),
    (str(chain(MAX_DEPTH + 1)), f", line 1: more than {MAX_DEPTH} brackets inside one another"),
    ("(" * 100_000, f", line 1: more than {MAX_DEPTH} brackets inside one another"),
])
def test_files_that_are_not_trees(read, tmp_path, text, words):
    with pytest.raises(InputError) as caught:
        read(text)
    assert str(caught.value).startswith(f"{tmp_path / 'a.trees'}{words}") and "\n" not in str(caught.value)


def test_the_deepest_tree_that_may_be(read):
    tree = chain(MAX_DEPTH - 1)
    assert read(str(tree)) == [tree] and build_tree(linearise(tree), tree.words, tree.tags) == tree


@pytest.mark.parametrize("label, cut", [("NP-SBJ-1", "NP"), ("NP=2", "NP"), ("ADVP|PRT", "ADVP"), ("-LRB-", "-LRB-"), ("S", "S")])
def test_the_category_of_a_label(label, cut):
    assert category(label) == cut


def test_the_counts_are_those_of_pyevalb(read):
    """Over 60 pairs of random trees with punctuation, particles and TOP; see fixtures/evalb_counts.py."""
    for known in json.loads((FIXTURES / "evalb_counts.json").read_text()):
        score = score_trees(read(known["gold"]), read(known["output"]))
        assert (score.matched, score.gold, score.found) == (known["matched"], known["gold_brackets"], known["found"]), known


@pytest.mark.parametrize("gold, output, matched, found", [
    ("(S (NP (NN a)) (VP (VB b)))", "(S (NP (NN a)) (PP (VB b)))", 2, 3),    # another label
    ("(S (NP (NN a) (NN b)) (VB c))", "(S (NP (NN a)) (NN b) (VB c))", 1, 2),    # another end
    ("(S (NP (NN a) (, ,)) (VB c))", "(S (NP (NN a)) (, ,) (VB c))", 2, 2),    # punctuation belongs nowhere
    ("(S (NP (NN a)) (NP (: -)))", "(S (NP (NN a)) (NP (: -)))", 3, 3),    # alone, it is a bracket without width
    ("(S (PRT (RP up)))", "(S (ADVP (RP up)))", 2, 2),
    ("(S (NP (NP (NN a))))", "(S (NP (NN a)))", 2, 2),    # two equal brackets are matched by two
    ("(S (NP (NP (NN a))))", "(S (NP (NP (NN a))))", 3, 3),
    ("(S (NP (NN a)))", "(S (NP (NP (NP (NN a)))))", 2, 4),
    ("(NN a)", "(NN a)", 0, 0), ("(TOP (S (NN a)) (. .))", "(TOP (S (NN a)) (. .))", 1, 1),    # tags and TOP are no brackets
    ("(S ($ $) (-LRB- -LRB-) (NP (NN a)))", "(S ($ $) (NP (-LRB- -LRB-) (NN a)))", 1, 2),    # these are words
])
def test_the_rules(read, gold, output, matched, found):
    score = score_trees(read(gold), read(output))
    assert (score.matched, score.found, score.complete) == (matched, found, int(matched == score.gold == found))


def test_an_output_that_is_no_tree_found_nothing(read):
    """It lowers recall, and F1 with it; EVALB would skip its sentence, and so does f1_of_trees."""
    gold, other, third = read("(S (NP (NN a)) (VP (VB b)))(S (NP (NN a) (NN b)))(S (NN a) (VP (VB b)))")
    score = score_trees([gold, other, gold], [gold, None, third])
    assert (score.matched, score.gold, score.found) == (5, 8, 5) and score.well_formed == 2 and score.trees == 3
    assert score.complete == 1 and score.precision == 100 and score.recall == 100 * 5 / 8
    assert score.f1 == pytest.approx(2 * 100 * score.recall / (100 + score.recall)) == pytest.approx(100 * 10 / 13)
    assert score.f1_of_trees == pytest.approx(100 * 10 / 11)
    none = score_trees([gold], [None])
    assert (none.f1, none.precision, none.recall, none.f1_of_trees) == (0, 0, 0, 0)


@given(TREES, TREES)
def test_gold_and_output_change_places(one, other):
    there, back = score_trees([one], [other]), score_trees([other], [one])
    assert (there.matched, there.precision, there.recall, there.f1) == (back.matched, back.recall, back.precision, back.f1)
    same = score_trees([one], [one])
    assert same.matched == same.gold == same.found == brackets(one).total() and same.complete == 1


def test_the_vocabulary():
    """Words that occur twice, every label and tag, and X; an unknown label is read as X, an unknown tag as XX."""
    known = TreebankVocabulary.learn([CAT, Tree("NN", ("cat",))])
    assert known.words == ["cat"] and known.labels == ["NP", "S", "VP", "X"] and known.tags == [".", "DT", "NN", "VBD"]
    assert known.size == known.target_size + len(CLASSES) + 1 and known.target_size == 3 + 1 + 4 + 8
    ids = known.encode("cat  XX (NP Running")
    assert known.tokens(ids) == ["cat", "<Word>", "<word>", "<Wording>"] and min(ids) >= known.target_size
    for symbols in (linearise(CAT), linearise(CAT, tags=True)):
        ids = known.encode_symbols(symbols)
        assert known.tokens(ids) == symbols and min(ids) > EOS and max(ids) < known.target_size
        assert known.decode([BOS, *ids, EOS, PAD]) == " ".join(symbols)
    odd = Tree("S", (Tree("QQ", (Tree("FW", ("cat",)),)),))
    assert known.tokens(known.encode_symbols(linearise(odd, tags=True))) == ["(S", "(X", "XX", ")X", ")S"]
    assert known.unknown_labels([CAT, odd]) == {"QQ"}
    with pytest.raises(InputError, match="needs its words, labels and tags as strings"):
        TreebankVocabulary(["a", 1], ["S"], [])


@pytest.mark.parametrize("word, found", [
    ("1,000", "<number>"), ("Johnson-1", "<number>"), ("running", "<wording>"), ("Vinken", "<Word>"), ("well-known", "<word->"),
    ("Wide-Ranging", "<Word-ing>"), ("boxes", "<wordes>"), ("漢字", "<word>"), ("ÄRGER", "<Worder>"), ("-", "<word->")])
def test_the_class_of_a_word(word, found):
    assert word_class(word) == found and found in CLASSES


@given(st.lists(TREES, min_size=1, max_size=3))
def test_a_vocabulary_is_kept_and_loaded(tmp_path_factory, trees):
    made, path = TreebankVocabulary.learn(trees), tmp_path_factory.getbasetemp() / "v.json"
    path.write_text(made.to_json(), encoding="utf-8")
    loaded = TreebankVocabulary.load(path)
    assert loaded.listed == made.listed
    for tree in trees:
        assert loaded.encode_words(tree.words) == made.encode_words(tree.words)
        for tags in (False, True):
            assert loaded.tokens(loaded.encode_symbols(linearise(tree, tags))) == linearise(tree, tags)


@pytest.mark.parametrize("model, lengths", [
    (random_model(0), [305, 301, 304]), (make_model("lstm-attention"), [305, 301, 304]),
    (random_model(0, positions="learned", max_length=200), [199, 199, 199])])    # EOS needs the last of them
def test_a_tree_may_have_300_symbols_more_than_its_sentence_has_words(model, lengths):
    """A model that never ends writes as many."""
    found = decode_all(model, [[3, 4, 5, 6, 7], [8], [5, 5, 8, 3]], replace(Parse.search, beam=1))
    assert [len(best.ids) for best, *_ in found] == lengths


@pytest.fixture
def parsing(run_cli):
    """run_cli with what `python -m experiments.parsing` adds to the tables."""
    tables = TASKS, VOCABULARIES, CORPORA
    before = [dict(table) for table in tables]
    runpy.run_module("experiments.parsing.__main__")
    yield run_cli
    for table, kept in zip(tables, before):
        table.clear()
        table.update(kept)


@pytest.fixture
def old(tmp_path, monkeypatch):
    """The current folder has an old run and its trees."""
    shutil.copytree(FIXTURES / "parsing", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


TRAIN = ["train", "parse", "--train", "trees.txt", "--valid", "trees.txt", "--config", "toy", "--steps", "4", "--warmup", "1"]


@pytest.mark.slow
def test_the_command(old, run_cli):
    """Of the clone; the command of the package alone does not know the task."""
    def run(*arguments):
        return subprocess.run([sys.executable, "-m", "experiments.parsing", *arguments], capture_output=True, text=True, cwd=old,
                              env={**os.environ, "PYTHONPATH": str(ROOT), "MINITRANSFORMER_FAST": "0"})

    done = run(*TRAIN, "--run", "new")
    assert done.returncode == 0 and "saved in new" in done.stdout, done.stderr
    done = run("evaluate", "new", "--beam", "1", "--json")
    assert done.returncode == 0 and json.loads(done.stdout).keys() == SCORES.keys(), done.stderr
    done = run("evaluate", "no/such/run")
    assert done.returncode == 2 and "no run here" in done.stderr and one_line(done.stderr)
    code, out, error = run_cli("evaluate", "new")
    assert code == 2 and not out and one_line(error) and "new: the run cannot be read: unknown task 'parse'; choose from " in error


@pytest.mark.slow
def test_an_old_run(parsing, old):
    """It is measured as it was, and writes brackets."""
    code, out, _ = parsing("evaluate", "run", "--beam", 1, "--json")
    assert code == 0 and json.loads(out) == pytest.approx(SCORES, rel=1e-4) and list(json.loads(out)) == list(SCORES)
    code, out, error = parsing("translate", "run", "the dog liked a tree .")
    assert code == 0 and out == "(S (NP XX XX )NP (VP XX (NP XX XX )NP )VP XX )S\n" and not error


@pytest.mark.slow
def test_punctuation_is_known_from_the_gold_tags(parsing, old):
    """Where the full stop belongs is no mistake, although an output has no tags of its own; a word there is one."""
    tree = "(S (NP (DT the) (NN cat)) (VP (VBD saw) (NP (DT a) (NN tree)){}){})"
    for places, f1 in (((" (. .)", ""), 100), ((" (NN .)", ""), 75)):
        (old / "test").write_text(tree.format(*places))
        assert json.loads(parsing("evaluate", "run", "--test", "test", "--json")[1])["f1"] == f1


@pytest.mark.slow
def test_a_label_that_training_did_not_know_is_missed_and_named(parsing, old):
    (old / "test").write_text("\n(S (NP (DT the) (NN cat)) (WHADJP (VBD saw)) (. .))\n")
    code, out, error = parsing("evaluate", "run", "--test", "test", "--json")
    scores = json.loads(out)
    assert code == 0 and scores["sentences"] == 1 and scores["recall"] < 100 and scores["complete"] == 0
    assert error == "test: no training tree has the label WHADJP; its probability is measured as that of X\n"


@pytest.mark.slow
@pytest.mark.parametrize("options, shown", [(["--tags"], "(S (NP DT NN )NP"), (["--model", "lstm-attention"], "(S (NP XX XX )NP")])
def test_train_resume_and_the_report(parsing, old, options, shown):
    code, _, error = parsing(*TRAIN, *options, "--validate-every", 2, "--run", "new")
    assert code == 0 and shown in (old / "new" / "report.html").read_text(), error
    shutil.rmtree(old / "new" / "checkpoints" / "step-00000004")
    (old / "new" / "weights.safetensors").unlink()
    write_manifest(old / "new", ["config.json", "vocabulary.json"])
    code, _, error = parsing("train", "--resume", "new")
    assert code == 0 and "resuming after step 2" in error
    last = json.loads((old / "new" / "metrics.jsonl").read_text().splitlines()[-1])
    assert last["step"] == 4 and last["valid_well_formed"] == last["valid_f1"] == 0


@pytest.mark.slow
def test_sentences_that_are_too_long_are_left_out(parsing, old):
    (old / "trees.txt").write_text((old / "trees.txt").read_text() + "(S (NP (DT the) (NN cat)) (VP (VBD saw)) (. .))")
    code, _, error = parsing(*TRAIN, "--max-length", 5, "--steps", 1, "--run", "new")
    assert code == 0 and "trees.txt: 8 sentences of more than 5 words left out (--max-length)" in error
    code, out, error = parsing(*TRAIN, "--max-length", 2, "--steps", 1, "--run", "no")
    assert code == 2 and "no sentence of at most 2 words; train with a larger --max-length" in error and one_line(error)
    assert not out and not (old / "no").exists()


@pytest.mark.slow
@pytest.mark.parametrize("options, words", [
    (("evaluate", "run", "--tokenize", "none"), "which does not use --tokenize"),
    (("evaluate", "run", "--max-length", 9), "which does not use --max-length"),
    (("evaluate", "run", "--test", "a", "b"), "--test names 2 files, expected one file of trees"),
    (("evaluate", "run", "--test", "text"), "text, line 1: 'no' stands outside all brackets"),
    (("generate", "run", "a"), "was trained on the task parse: use minitransformer translate instead"),
    ((*TRAIN, "--train", "text"), "text, line 1: 'no' stands outside all brackets"),
    ((*TRAIN, "--valid", "empty"), "empty: empty, expected text"),
    ((*TRAIN, "--tag", "no"), "unrecognized arguments"), (("parse", "run", "a"), "parse is a task: minitransformer train parse"),
])
def test_what_means_nothing(parsing, old, options, words):
    (old / "text").write_text("no trees here")
    (old / "empty").touch()
    code, out, error = parsing(*options)
    assert code == 2 and not out and words in error and one_line(error)


def as_nltk_has_them(trees, files):
    """treebank.zip: trees, one a line, as wsj_0001.mrg and so on with their brackets on several lines, and other files."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("treebank/README", "( (S (NN readme)) )")
        archive.writestr("treebank/raw/wsj_0001", "raw")
        for i in reversed(range(files)):
            part = trees[i * len(trees) // files:(i + 1) * len(trees) // files]
            text = "".join(f"\n{tree[:-1]} )\n".replace(" (VP", "\n    (VP").replace(") (", ")\n  (") for tree in part)
            archive.writestr(f"treebank/combined/wsj_{i + 1:04}.mrg", text)
    return packed.getvalue()


def test_the_treebank_is_downloaded_and_split(parsing, server, tmp_path, monkeypatch):
    """In the order of the files' names, one reduced tree a line; 80, 10 and 10 %. The printed line is accepted."""
    monkeypatch.chdir(tmp_path)
    trees = [f"( (S (NP-SBJ (NN w{i})) (VP (VBZ is) (NP (-NONE- *))) (. .)))" for i in range(27)]
    packed = server.files["treebank.zip"] = as_nltk_has_them(trees, 4)
    CORPORA["ptb"] = CORPORA["ptb"]._replace(base=server.address, sha256={"treebank.zip": sha256(packed).hexdigest()})
    code, out, error = parsing("data", "ptb")
    assert code == 0 and "non-commercial use only" in out and error.splitlines() == [
        "treebank.zip: downloaded", *(f"{name}.trees: split off" for name in ("train", "valid", "test"))]
    parts = [(tmp_path / "data" / "ptb" / f"{name}.trees").read_text().splitlines() for name in ("train", "valid", "test")]
    assert list(map(len, parts)) == [21, 3, 3]
    assert [tree for part in parts for tree in part] == [f"(S (NP (NN w{i})) (VP (VBZ is)) (. .))" for i in range(27)]
    words = out.splitlines()[-1].partition("minitransformer ")[2].split()
    args = make_parser(words).parse_args(words)
    assert args.task == "parse" and args.preset == "ptb" and args.valid == ["data/ptb/valid.trees"]


def test_the_commands_of_the_page_are_accepted(parsing):
    found = [words[3:] for words in commands(ROOT / "experiments" / "parsing.md") if words[2] == "experiments.parsing"]
    assert len(found) > 4 and {words[0] for words in found} == {"data", "train", "evaluate", "translate"}
    for words in found:
        make_parser(words).parse_args(words)


@pytest.mark.campaign
def test_a_parser_learns_from_the_treebank(multi30k, parsing, tmp_path):
    """All its trees go to brackets and back; sixty small updates know what often follows what, 3 equally likely symbols."""
    path = multi30k.with_name("ptb-sample") / "trees.txt.gz"
    if not path.is_file():
        pytest.skip(f"{path} does not exist: no real data here")
    trees, lines = read_trees(path), gzip.decompress(path.read_bytes()).decode().splitlines()
    assert len(trees) == 3914 and sum(len(tree.words) for tree in trees) == 94_084
    assert all(build_tree(linearise(tree), tree.words, tree.tags) == tree for tree in trees)
    parts = {name: data.decode().splitlines() for name, data in split_treebank(as_nltk_has_them(lines, 199)).items()}
    assert [tree for part in parts.values() for tree in part] == [*map(str, trees)]
    assert [len(part) for part in parts.values()] == [3131, 391, 392]
    short = [line for line in parts["valid.trees"] if line.count(" ") < 40][:30]
    for name, part in (("train", parts["train.trees"][:600]), ("valid", short)):
        (tmp_path / name).write_text("\n".join(part))
    code, _, error = parsing("train", "parse", "--train", tmp_path / "train", "--valid", tmp_path / "valid", "--config", "toy",
                             "--run", tmp_path / "run", "--steps", 60, "--warmup", 20, "--batch", 1024)
    assert code == 0, error
    scores = json.loads(parsing("evaluate", tmp_path / "run", "--beam", 1, "--json")[1])
    assert scores["sentences"] == 30 and 1.5 < scores["perplexity"] < 5 and 0 <= scores["well_formed"] <= 30
