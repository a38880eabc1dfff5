"""CI runs what the documents say, on what the package promises, and a release publishes only what
was tested.
"""

import re
import shutil
import subprocess
import sys

import pytest
import yaml

from tests import ROOT
from tests.helpers.documents import CONTRIBUTING, blocks

RUN = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
STAGES = re.findall(r"^(\w+)\(\) \{", RUN, re.MULTILINE)


def jobs(name) -> dict:
    text = (ROOT / ".github" / "workflows" / f"{name}.yml").read_text(encoding="utf-8")
    return yaml.safe_load(text)["jobs"]


def test_ci_and_the_hooks_check_what_contributing_says():
    (checks,) = (block for block in blocks(CONTRIBUTING, "bash") if "mypy" in block)
    hooks = (ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8")
    assert " && ".join(checks.split("\n")[:3]) in RUN
    assert re.findall("entry: (.+)", hooks) == checks.split("\n")[:3]


def test_ci_runs_the_commands_of_the_documents():
    for command in blocks(ROOT / "README.md", "bash")[:2]:
        assert command.strip() in RUN
    for words in ("-m campaign", "not slow and not campaign"):
        (command,) = (block for block in blocks(CONTRIBUTING, "bash") if words in block)
        assert re.sub(" -n .*", "", command.strip().replace("-n auto ", "")) in RUN.replace(
            "-n auto ", ""
        )
    site, korean = re.findall(r"`([^`]* -m sphinx .+?)`", (ROOT / "README.md").read_text("utf-8"))
    assert site in RUN and korean.replace(" -D", " -q -W -D") in RUN


def test_every_python_and_system_that_the_package_names_is_tried():
    metadata = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    matrix = jobs("ci")["lane"]["strategy"]["matrix"]
    assert matrix["python"] == re.findall(r'"Programming Language :: Python :: (3\.\d+)"', metadata)
    assert matrix["python"][0] == re.search(r'requires-python = ">=(.+)"', metadata)[1]
    systems = {*matrix["os"], *(one["os"] for one in matrix["include"])}
    assert systems == {"ubuntu-latest", "windows-latest", "macos-latest"}


def test_a_browser_is_installed_before_the_tests_that_would_be_skipped_without_it():
    for stage in ("fast", "campaigns", "site"):
        before = RUN.partition(f"\n{stage}() {{")[2].partition("python -m pytest")[0]
        assert "\n  browser chromium" in before
        assert ("\n  browser firefox" in before) == (stage == "campaigns")


def test_the_workflows_run_stages_that_exist():
    named = jobs("ci")["stage"]["strategy"]["matrix"]["stage"]
    for path in WORKFLOWS:
        for command in re.findall(r"run: \.ci/run(.*)", path.read_text(encoding="utf-8")):
            named += re.findall(r"\b[a-z]+\b", command.replace("${{ matrix.stage }}", ""))
    assert {"lane", "build", "site"} <= set(named) <= set(STAGES)
    assert set(named) >= set(re.search(r"\{@:-(.*?)\}", RUN)[1].split())


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_an_action_is_pinned_by_its_hash(path):
    used = re.findall("uses: (.*)", path.read_text(encoding="utf-8"))
    assert used
    for one in used:
        assert re.fullmatch(r"[\w/-]+@[0-9a-f]{40}    # v\d+\.\d+\.\d+", one), one


def test_nothing_is_published_before_all_of_it_is_tested():
    release = jobs("release")
    assert (
        set(release["publish"]["needs"]) == {"build", "site"}
        and release["pages"]["needs"] == "publish"
    )
    steps = [step.get("run", "") + step.get("uses", "") for step in release["build"]["steps"]]
    (tested,) = (number for number, step in enumerate(steps) if step.startswith(".ci/run build"))
    (uploaded,) = (number for number, step in enumerate(steps) if "upload-artifact" in step)
    assert tested < uploaded


def test_the_site_is_published_as_it_was_tested_and_a_pull_request_has_its_artifact():
    """Both languages lie in the folder that each uploads: test_site.py looks at all of it, and at the
    wheel that its pages run. No code of a fork gets a permission.
    """
    built = re.findall(r"-m sphinx -c docs \. (\S+)", RUN)
    assert built == ["docs/_build/html", "docs/_build/html/ko"]
    assert RUN.index(built[1]) < RUN.index("pytest tests/test_site.py")
    for workflow, job, test in (("release", "site", ".ci/run site"), ("ci", "stage", ".ci/run $")):
        steps = jobs(workflow)[job]["steps"]
        (run,) = (i for i, step in enumerate(steps) if step.get("run", "").startswith(test))
        ((uploaded, step),) = (
            (i, step) for i, step in enumerate(steps) if "upload-" in step.get("uses", "")
        )
        assert run < uploaded and step["with"]["path"] == built[0]
    assert step["if"] == "matrix.stage == 'site'"
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
    assert "pull_request_target" not in text and text.count("permissions") == 1


def test_a_stage_that_fails_fails_ci(tmp_path):
    script = tmp_path / ".ci" / "run"
    script.parent.mkdir()
    script.write_text(RUN.replace("lane() {", "lane() {\n  false\n  echo went on; return"))
    done = subprocess.run(["bash", script, "lane"], capture_output=True, text=True)
    assert done.returncode == 1 and "went on" not in done.stdout


def test_readme_installs_what_its_tests_need_before_it_runs_them():
    before, _, _ = (ROOT / "README.md").read_text(encoding="utf-8").partition("python -m pytest")
    assert 'pip install -e ".[test]"' in before


@pytest.mark.parametrize("module, code", [("pytest_other", 0), ("ours", 1)])
def test_another_plugin_may_warn_and_a_test_may_not(module, code, tmp_path):
    """pytest-asyncio and pytest-benchmark do, as they begin."""
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    (tmp_path / f"{module}.py").write_text(
        "import warnings\n\ndef warn():\n    warnings.warn('unset')\n\npytest_configure = warn\n"
    )
    (tmp_path / "test_one.py").write_text(f"import {module}\n\ndef test():\n    {module}.warn()\n")
    plugin = ["-p", module] if module.startswith("pytest") else []
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *plugin, "test_one.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
