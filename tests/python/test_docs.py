"""The page on Python: its code runs as it stands, and as a notebook."""

import re
from pathlib import Path

import goodness as g
import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs/python.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def test_the_code_of_the_page_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    small = (ROOT / "examples/sweeps/slices.toml").read_text().replace("duration=2s", "duration=1s")
    (tmp_path / "slices.toml").write_text(small)
    names: dict[str, object] = {}
    assert len(BLOCKS) >= 5
    for block in BLOCKS:
        exec(compile(block, "docs/python.md", "exec"), names)
    assert isinstance(names["c"], g.Comparison)
    assert (tmp_path / "report.html").exists() and (tmp_path / "fig.pdf").exists()


def test_the_first_notebook_shows_the_answer_and_the_chart(tmp_path: Path) -> None:
    cells = [nbformat.v4.new_code_cell(BLOCKS[0] + "\nc"), nbformat.v4.new_code_cell("c.figure('ranking')")]
    notebook = nbformat.v4.new_notebook(cells=cells)
    NotebookClient(notebook, timeout=120, kernel_name="python3").execute(cwd=str(tmp_path))
    shown = notebook.cells[0].outputs[-1]["data"]["text/html"]
    assert "<svg" in shown and "<table" in shown
    assert "<svg" in notebook.cells[1].outputs[-1]["data"]["image/svg+xml"]


def test_the_python_of_the_readme_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    assert len(blocks) == 1
    names: dict[str, object] = {}
    exec(compile(blocks[0].replace("runs=20", "runs=2"), "README.md", "exec"), names)
    assert isinstance(names["c"], g.Comparison) and (tmp_path / "fig.pdf").exists()
