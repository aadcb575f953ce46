"""The command `goodness` of the package: the program itself."""

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import goodness as g
import pytest

SCRIPT = Path(sys.executable).parent / "goodness"


def ran(*words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([str(SCRIPT), *words], capture_output=True, text=True, cwd=cwd)


def test_the_command_has_the_version_of_the_package() -> None:
    assert ran("--version").stdout == f"goodness {version('goodness')}\n" == f"goodness {g.__version__}\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["list", "policies"], 0),
        (["compare", "mixed", "-p", "ffio"], 2),
        (["compare", "--runs"], 2),
        (["comprae"], 2),
    ],
)
def test_exit_codes_are_those_of_the_program(words: list[str], code: int) -> None:
    done = ran(*words)
    assert done.returncode == code, done.stderr
    assert bool(done.stderr) == (code == 2)


def test_a_report_repeats_the_command_as_it_was_typed(tmp_path: Path) -> None:
    ran("compare", "mixed:duration=100ms", "-p", "rr", "--runs", "2", "--html", "a b.html", cwd=tmp_path)
    page = (tmp_path / "a b.html").read_text()
    assert "goodness compare mixed:duration=100ms -p rr --runs 2 --html 'a b.html'" in page


def test_tables_are_built_in(tmp_path: Path) -> None:
    words = ["-p", "rr", "--runs", "2", "--no-html", "--parquet", "a.parquet"]
    assert ran("compare", "mixed:duration=100ms", *words, cwd=tmp_path).returncode == 0
    assert (tmp_path / "a.parquet").read_bytes().startswith(b"PAR1")


def test_a_reader_that_goes_away_ends_it_quietly() -> None:
    done = subprocess.run(["sh", "-c", f"'{SCRIPT}' list policies | head -n 1"], capture_output=True, text=True)
    assert done.stdout.count("\n") == 1 and done.stderr == ""


@pytest.mark.skipif(sys.platform != "linux", reason="for Linux")
def test_a_second_process_is_the_command_and_not_the_interpreter() -> None:
    done = ran("race-subprocess", "dance")
    assert done.returncode == 1 and 'no subprocess of a race called "dance"' in done.stderr
    again = subprocess.run([sys.executable, "-m", "goodness", "race", "list"], capture_output=True, text=True)
    assert again.returncode == 0 and "spin-nice" in again.stdout
