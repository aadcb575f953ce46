"""Types: the package under a strict type checker, its stubs against what is there, and a caller's code."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

#: Stubs of pandas and pyarrow are their own packages.
CONFIG = "[mypy]\nstrict = True\n[mypy-pandas.*,pyarrow.*]\nignore_missing_imports = True\n"

#: Any attribute is a policy's own to set, which stubs say as methods; aliases of words are not objects of their own.
ALLOWED = r"""
goodness\._goodness\.Task\.__(get|set)attr__
goodness\._policy\.(Enqueue|Dequeue|Stop|Pick)
"""

CALLER = """
import goodness as g

compared = g.compare("mixed", [g.arm("eevdf", base_slice="3ms", nice={"a": 5})], runs=3)
best: str | None = compared.winner
rows: int = len(compared.ranking)
entry: dict[str, object] = g.policies("rr")
"""


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """One cache for all calls of the checker: what the data-frame libraries say of themselves is read once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("MYPY_CACHE_DIR", str(tmp_path_factory.mktemp("mypy")))
        yield


def checked(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *words], capture_output=True, text=True, cwd=cwd)


def test_the_package_is_typed(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(CONFIG)
    done = checked("mypy", "-p", "goodness", cwd=tmp_path)
    assert done.returncode == 0, done.stdout


def test_the_stubs_are_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "mypy.ini").write_text(CONFIG)
    (tmp_path / "allowed").write_text(ALLOWED)
    words = ["--mypy-config-file=mypy.ini", "--allowlist=allowed", "--ignore-unused-allowlist", "goodness"]
    done = checked("mypy.stubtest", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stdout


@pytest.mark.parametrize(
    ("before", "after", "finding"),
    [
        ("", "", None),
        ("runs=3", "runs='3'", "arg-type"),
        ("compared.winner", "compared.loser", "attr-defined"),
        ("rows: int", "rows: str", "assignment"),
    ],
)
def test_a_callers_mistakes_are_found(tmp_path: Path, before: str, after: str, finding: str | None) -> None:
    (tmp_path / "caller.py").write_text(CALLER.replace(before, after) if before else CALLER)
    done = checked("mypy", "--strict", "caller.py", cwd=tmp_path)
    assert (done.returncode == 0) == (finding is None), done.stdout
    assert finding is None or f"[{finding}]" in done.stdout
