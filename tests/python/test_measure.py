"""Figures that the package states of itself: printed, not judged."""

import os
import subprocess
import sys
import time
from pathlib import Path

import goodness as g
import pytest

IMPORT = "import time; begun = time.perf_counter(); import goodness; print(time.perf_counter() - begun)"
WORK = "apache-ab-c32-1cpu"


def middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def test_import_loads_no_data_frame_library_and_its_time_is_printed() -> None:
    def took() -> float:
        return float(subprocess.run([sys.executable, "-c", IMPORT], check=True, capture_output=True, text=True).stdout)

    print(f"\nimport goodness: {middle([took() for _ in range(9)]) * 1e3:.1f} ms, the middle of 9")
    loaded = "import sys, goodness; print(sorted({'numpy', 'pandas', 'polars', 'pyarrow'} & set(sys.modules)))"
    shown = subprocess.run([sys.executable, "-c", loaded], check=True, capture_output=True, text=True).stdout
    assert shown.strip() == "[]"


@pytest.mark.skipif("GOODNESS_PROGRAM" not in os.environ, reason="no program to compare with; scripts/test-python")
def test_what_python_adds_to_a_comparison_is_printed(tmp_path: Path) -> None:
    program = os.environ["GOODNESS_PROGRAM"]
    words = ["compare", WORK, "-p", "eevdf", "-p", "o1", "--runs", "20", "--no-html"]
    words += ["--json", str(tmp_path / "a.json")]
    inside, outside = [], []
    for _ in range(3):
        begun = time.perf_counter()
        subprocess.run([program, *words], check=True, capture_output=True)
        outside.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        g.compare(WORK, policies=["eevdf", "o1"], runs=20).to_json()
        inside.append(time.perf_counter() - begun)
    share = middle(inside) / middle(outside) - 1
    print(f"\n20 runs of 2 policies: program {middle(outside):.3f} s, Python {middle(inside):.3f} s ({share:+.1%})")


THREADS = """
import sys, threading, time, goodness as g
work = g.workload("mixed", duration="500ms")
each = lambda count: [g.compare(work, policies=["eevdf", "o1"], runs=2) for _ in range(count)]
each(2)
threads = [threading.Thread(target=each, args=(64 // int(sys.argv[1]),)) for _ in range(int(sys.argv[1]))]
begun, spent = time.perf_counter(), time.process_time()
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(64 / (time.perf_counter() - begun), (time.process_time() - spent) / 64)
"""


def test_what_eight_threads_compare_is_printed() -> None:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1

    def rate(threads: int, cores: int) -> tuple[float, float]:
        """Comparisons a second, and CPU time of one in seconds."""
        environment = {**os.environ, "RAYON_NUM_THREADS": str(cores)}
        words = [sys.executable, "-c", THREADS, str(threads)]
        done = subprocess.run(words, check=True, capture_output=True, text=True, env=environment)
        first, second = done.stdout.split()
        return float(first), float(second)

    # They alternate: other load meets both.
    rates = [(rate(1, 1), rate(8, cores)) for _ in range(3)]
    (one, alone), (eight, beside) = (tuple(middle([it[who][n] for it in rates]) for n in (0, 1)) for who in (0, 1))
    print(f"\ncomparisons a second: {one:.1f} of one thread on one core, {eight:.1f} of eight on {cores}")
    print(f"{eight / one:.2f} times as many on {cores} times the cores; CPU time of one: {beside / alone:.2f} times")
