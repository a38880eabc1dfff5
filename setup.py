"""The packages of the wheel and its translations. setup.cfg has the rest; it cannot add a package
whose folder has another name.
"""

import sys
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
sys.path.append(str(HERE / "minitransformer_course" / "locale"))
import catalogue  # noqa: E402


class Build(build_py):
    def run(self) -> None:
        """Make the catalogues: in the wheel, or in the clone that -e installs."""
        super().run()
        catalogue.compile_all(
            (HERE if self.editable_mode else Path(self.build_lib))
            / "minitransformer_course"
            / "locale"
        )


setup(
    packages=[*find_packages(include=["minitransformer*"]), "minitransformer_course.chapters"],
    package_dir={"minitransformer_course.chapters": "tutorials"},
    cmdclass={"build_py": Build},
)
