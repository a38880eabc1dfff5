"""The tests in random order, several times: none may need another before it. pytest does not run this.

    pip install pytest-randomly
    python -m tests.random_order --times 10 -- -m "not slow and not campaign"

What follows "--" goes to pytest. Recorded: the fast lane, as above, in the orders of seeds 1 to 10: all green (205 tests that need
a GPU are skipped). The slow tests have not been run this way.
"""

import argparse
import subprocess
import sys
import time
from importlib.util import find_spec


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--times", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1, help="of the first order; the next has the next (default: 1)")
    parser.add_argument("pytest", nargs="*", help="options of pytest")
    options = parser.parse_args()
    if find_spec("pytest_randomly") is None:
        parser.error("this needs pytest-randomly: pip install pytest-randomly")
    failed = 0
    for seed in range(options.seed, options.seed + options.times):
        start = time.perf_counter()
        done = subprocess.run([sys.executable, "-m", "pytest", "-p", "no:cacheprovider", f"--randomly-seed={seed}",
                               *options.pytest], capture_output=True, text=True)
        failed += done.returncode != 0
        print(f"seed {seed}: {done.stdout.rstrip().splitlines()[-1]} ({time.perf_counter() - start:.0f} s)", flush=True)
        if done.returncode:
            print(done.stdout, done.stderr)
    print(f"{options.times - failed} of {options.times} orders are green")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
