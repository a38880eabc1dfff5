"""What a fresh process imports."""

import json
import subprocess
import sys

from tests import ROOT


def loaded_by(code, folder=ROOT):
    """The modules that a fresh process has loaded after `code`."""
    code += "\nimport json, sys; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder
    )
    return json.loads(done.stdout.splitlines()[-1])
