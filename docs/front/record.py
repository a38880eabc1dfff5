"""Records what `minitransformer train copy` shows in a terminal, for the animation on the site's
first page.

python docs/front/record.py
"""

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios
import time
from pathlib import Path

LINES, COLUMNS = 24, 76
SECONDS = 10  # that the animation takes
FRAMES = 40
MARKS = re.compile("\033\\[[0-9;]*[A-Za-z]")


def record(arguments) -> list[tuple[float, str]]:
    """[(seconds since the start, what the terminal shows)], from a run in an empty folder."""
    parent, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", LINES, COLUMNS, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "minitransformer", *arguments]
        with subprocess.Popen(command, stdout=child, stderr=child, cwd=folder, env=environment):
            os.close(child)
            began, frames, shown = time.monotonic(), [], b""
            try:
                while read := os.read(parent, 4096):
                    shown += read
                    frames.append(
                        (round(time.monotonic() - began, 2), screen(shown.decode(errors="ignore")))
                    )
            except OSError:  # the terminal is closed when the command ends
                return frames
    return frames


def screen(text) -> str:
    """What is seen: a carriage return begins its line anew."""
    lines = MARKS.sub("", text).replace("\r\n", "\n").split("\n")
    seen = [line.rstrip("\r").rpartition("\r")[2].rstrip() for line in lines]
    return "\n".join(line for line in seen if line and not line.startswith("compiling"))


def main() -> None:
    frames = record(["train", "copy"])
    seconds = frames[-1][0]
    kept = {
        round(FRAMES * at / seconds): text for at, text in frames
    }  # the last one of each moment
    frames = [[round(SECONDS * moment / FRAMES, 2), text] for moment, text in sorted(kept.items())]
    Path(__file__).with_name("train_copy.json").write_text(
        json.dumps({"seconds": round(seconds, 1), "frames": frames}, indent=0, ensure_ascii=False)
        + "\n",
        encoding="utf-8",
    )
    print(f"{len(frames)} frames of a run of {seconds:.1f} s")


if __name__ == "__main__":
    main()
