"""Recording this machine's scheduling."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from goodness._errors import Error, Failure, UsageError
from goodness._goodness import Work
from goodness._inputs import Name, recording

#: Exit code of the command for bad usage.
USAGE = 2


def record(
    output: Name = "recording.ftrace.gz",
    command: Sequence[str] = (),
    *,
    duration: str | None = None,
    comm: Sequence[str] = (),
    pid: Sequence[int] = (),
    cpus: str | None = None,
    anonymize: bool = False,
    block: bool = False,
    messages: bool = False,
) -> Work:
    """Records this machine's scheduling (root; Linux) and opens the recording.

    With a command, records until it ends; else for `duration` (10s). Servers that belong to the work are named with
    `comm` or `pid`. It runs in a process of its own, which restores tracing however it ends; Ctrl-C ends the recording
    early and keeps it.
    """
    path = os.fspath(output)
    words = [sys.executable, "-m", "goodness", "record", f"--output={path}"]
    options = {"duration": [duration], "comm": comm, "pid": pid, "cpus": [cpus]}
    words += [f"--{name}={value}" for name, values in options.items() for value in values if value is not None]
    switches = {"anonymize": anonymize, "block": block, "messages": messages}
    words += [f"--{name}" for name, given in switches.items() if given]
    done = subprocess.run([*words, "--", *command] if command else words, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        error: type[Error] = UsageError if done.returncode == USAGE else Failure
        raise error(done.stderr.strip().removeprefix("error: ") or f"recording ended with {done.returncode}")
    return recording(path)
