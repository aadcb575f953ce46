"""Ctrl-C: KeyboardInterrupt at once in Python, the end of the process on the command line."""

import os
import signal
import subprocess
import sys
import time

import pytest

LONG = "mixed:duration=60s"
#: Far above what an answer takes, far below what the work takes.
SOON = 10.0

CALLS = [
    f'compare("{LONG}", policies=["eevdf", "cfs", "o1"], runs=1000)',
    'why("mixed:duration=3600s", profile=True)',
    f'diff("{LONG}", policies=["eevdf", "cfs"], runs=1000)',
]

SCRIPT = """
import time, goodness as g
print("ready", flush=True)
try:
    g.CALL
except KeyboardInterrupt:
    print("interrupted", g.compare("mixed:duration=100ms", policies=["rr"], runs=1).arms, flush=True)
"""


STUDY = """
import time, goodness as g
print("ready", flush=True)
try:
    g.study("panasyuk-2009", runs=10_000)
except KeyboardInterrupt:
    # A simulation under way ends by itself.
    for _ in range(60):
        before = time.process_time()
        time.sleep(0.5)
        if (spent := time.process_time() - before) < 0.05:
            break
    print("interrupted", spent < 0.05, flush=True)
"""


def interrupted(words: list[str], ready: str | None) -> tuple[int, str, float]:
    """Exit code, output, and seconds from the signal to the end."""
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    if ready is not None:
        assert process.stdout.readline().strip() == ready
    time.sleep(1.5)
    assert process.poll() is None, "it is at work"
    begun = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    return process.returncode, out, time.monotonic() - begun


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
@pytest.mark.parametrize("call", CALLS)
def test_ctrl_c_is_keyboard_interrupt_and_the_interpreter_goes_on(call: str) -> None:
    code, out, took = interrupted([sys.executable, "-c", SCRIPT.replace("CALL", call)], "ready")
    print(f"from Ctrl-C to the end of the process: {took * 1e3:.0f} ms")
    assert (code, out.strip()) == (0, "interrupted ['rr']")
    assert took < SOON


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_ends_the_simulations_of_a_study() -> None:
    code, out, _ = interrupted([sys.executable, "-c", STUDY], "ready")
    assert (code, out.strip()) == (0, "interrupted True")


@pytest.mark.skipif(os.name != "posix", reason="signals as POSIX has them")
def test_ctrl_c_ends_the_command_with_what_is_known() -> None:
    words = [sys.executable, "-m", "goodness", "compare", "mixed", "-p", "eevdf", "--runs", "10000", "--no-html"]
    code, out, took = interrupted(words, None)
    assert code == 1
    assert "p99 wake-up latency" in out
    assert took < SOON
