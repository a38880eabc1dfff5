"""The packages of the wheel. setup.cfg has the rest: it can find packages, but not add the one whose folder has another name."""

from setuptools import find_packages, setup

setup(packages=[*find_packages(include=["minitransformer*"]), "minitransformer_course.chapters"],
      package_dir={"minitransformer_course.chapters": "tutorials"})
