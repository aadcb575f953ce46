"""Measuring this machine or a disk of it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from goodness._errors import Error, Failure, UsageError
from goodness._inputs import Name

#: Exit code of the command for bad usage, and for a device that misses a load it was not fitted to.
USAGE = 2
UNTRUSTED = 3


def calibrate(output: Name, *, device: Name | None = None, allow_writes: bool = False) -> dict[str, Any]:
    """Measures the scheduling costs of this machine, or a disk, and writes a machine or device file (Linux).

    `output` ends with .toml. `device` is a disk, or a file of 64 MiB or more; it is only read, unless `allow_writes`
    has what was read written back. Returns the figures as `goodness calibrate --json` has them; of a disk,
    `is_trusted` is false if the device misses a load that it was not fitted to. It runs in a process of its own.
    """
    words = [sys.executable, "-m", "goodness", "calibrate", "--json=-", "--quiet", f"--output={os.fspath(output)}"]
    words += [] if device is None else [f"--device={os.fspath(device)}"]
    words += ["--allow-writes"] if allow_writes else []
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode not in (0, UNTRUSTED):
        error: type[Error] = UsageError if done.returncode == USAGE else Failure
        raise error(done.stderr.strip().removeprefix("error: ") or f"calibrating ended with {done.returncode}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found
