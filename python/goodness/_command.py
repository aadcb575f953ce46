"""The command `goodness`, in this interpreter."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line of this process."""
    # Ctrl-C ends the program as it ends any other: work that has something to restore listens for itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from goodness._goodness import command

    words = sys.argv[1:]
    if words[:1] == ["sweep"] and any(word.split("=")[0] == "--on" for word in words):
        # Ray's client is Python's. When all is computed, the command itself shows the summary.
        words = ["sweep", *on_cluster(words[1:])]
    sys.exit(command(words, [sys.executable, "-m", "goodness"]))


def on_cluster(words: list[str]) -> list[str]:
    """Computes a sweep on a cluster. Returns the words of the command without it."""
    from goodness import _sweep
    from goodness._errors import Error, UsageError

    try:
        return _sweep.on_cluster(words)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2 if isinstance(error, UsageError) else 1)
