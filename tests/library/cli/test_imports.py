"""What is imported, and when: the command responds before NumPy is loaded."""

import pytest

from minitransformer.cli.parser import COMMANDS
from tests import campaign_but
from tests.helpers.imports import loaded_by

pytestmark = pytest.mark.slow

HEAVY = ("numpy", "matplotlib", "tokenizers", "safetensors", "tqdm", "threadpoolctl")


def imported(code):
    """Those of HEAVY that a fresh process has imported after `code`."""
    loaded = loaded_by(code)
    return [name for name in HEAVY if name in loaded]


def command(arguments):
    return f"""
from minitransformer.cli import main
try:
    main({arguments.split()})
except SystemExit:
    pass
"""


@pytest.mark.parametrize(
    "code",
    [
        "import minitransformer",
        "import minitransformer.cli",
        command("--help"),
        command("--version"),
        command(""),
        command("trian"),
    ],
)
def test_nothing_large_is_imported_before_it_is_needed(code):
    assert imported(code) == []


@pytest.mark.parametrize("name", campaign_but([*COMMANDS, "train copy"], "train copy", "attention"))
def test_the_help_of_a_command_does_without_matplotlib(name):
    assert "matplotlib" not in imported(command(f"{name} --help"))


def test_matplotlib_is_imported_when_a_picture_is_drawn(tmp_path):
    """Not by a training run from Python."""
    code = """
import minitransformer
minitransformer.Run, minitransformer.train
repr(minitransformer.TrainingConfig(steps=1, warmup=1))
"""
    assert "matplotlib" not in imported(code)
    assert "matplotlib" in imported(code + "from minitransformer.pictures import plots")


def test_public_names_are_imported_when_they_are_used():
    assert "numpy" in imported("import minitransformer; minitransformer.Transformer")
    assert (
        imported("import minitransformer; dir(minitransformer); minitransformer.InputError") == []
    )


def test_the_version_is_known_before_anything_is_imported():
    from importlib.metadata import version

    import minitransformer

    assert imported("import minitransformer; minitransformer.__version__") == []
    assert minitransformer.__version__ == version("minitransformer")
