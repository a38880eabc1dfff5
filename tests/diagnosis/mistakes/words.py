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
