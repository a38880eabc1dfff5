"""Ways to say what went wrong: groups of words for the `says` of many mistakes."""

MISSING = ("miss", "forgot", "left out", "leaves out", "without", "lack", "omit", "not multipl", "not appl", "not add",
           "not includ", "not use", "not call", "not reach", "not counted", "not subtract", "ignor", "lost", "never", "does not",
           "is not", "are not", "no gradient", "gets none", "zero", "nothing", "skipp", "instead of", "instead", "rather than")
TWICE = ("twice", "doubl", "two times", "2 times", "2.0 times", "factor 2", "factor of 2", "times 2", "2 *", "squar",
         "again", "once too often", "too often", "one too many")
SWAPPED = ("swap", "exchang", "order", "interchang", "each other", "permut", "mixed up", "confus")
SIGN = ("sign", "minus", "negat", "-1", "opposite")
DIVIDED = ("divid", "mean", "averag", "1 /", "1/", "too small", "factor", " times ")
AVERAGED = ("divid", "mean", "averag", "1 /", "1/")
IN_PLACE = ("in place", "in-place", "overwr", "modif", "changes its", "changed its", "changes the", "changed the", "writes")
ASSIGNED = ("assign", "overwr", "replac", "instead of add", "+=", "accumul", "not add", "wipe", "erase", "earlier gradient",
            "lost what", "add to")
RAISES = ("rais", "exception", "valueerror", "indexerror", "typeerror", "notimplemented", "crash", "fails with")
RANDOM = ("random", "new draw", "fresh", "drawn", "draws", "redraw", "determin", "differs from call", "each call",
          "two calls", "second call", "other mask", "another mask", "different mask", "not the mask", "same mask", "very mask")
PRECISION = ("float32", "precision", "dtype", "single")
COMPLEX = ("complex", "abs", "analytic", "holomorphic", "differentiab", "kink")
INNER = ("u'", "u_prime", "inner", "chain", "du")
BATCH = ("batch", "sentence", "sequence", "example")
SKIP = ("residual", "skip", "shortcut", "direct", "identity", "dy + ", "+ dy", "around")
SUBLAYER = ("sub-layer", "sublayer", "feed_forward", "feed-forward", "dh", "branch")
DEVIATION = ("inverse", "variance", "deviation", "sqrt(var", "1 / s", " s ", "std", "sigma")
SECOND = ("mean(dn * n)", "dn * n", "n * mean", "variance", "second mean", "deviation", "inverse", "mean(dn n)", "projection")
SMOOTHING = ("smooth", "s / V", "s/V")
TOKENS = ("count", "token", "real", "targets", "number of", "mean", "averag", "length", "rows")
TURN = ("transpos", "heads", "merge", "swapaxes", "axes", "axis", "split", "reshap")
VALUE = ("value",)
KEY = ("key",)
QUERY = ("query", "queries")
FEED = ("feed_forward", "feed-forward", "feed forward")
CROSS = ("cross",)
SELF = ("self_attention", "self-attention", "self attention")
ORDER = (*SWAPPED, "revers", "wrong cache", "cache of another", "another layer", "before", "after", "first layer")
UNKNOWN = ("no known pattern", "no pattern", "unknown", "not known", "don't know", "do not know", "none of the known")
LEFT_OUT = ("miss", "forgot", "left out", "leaves out", "without", "lack", "omit", "absent", "skip", "dropped", "not added",
            "not contain", "zero", "no gradient", "never", "detach", "cut", "none of")    # of the second corpus
