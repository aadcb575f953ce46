"""The command `goodness`, in this interpreter."""

from __future__ import annotations

import signal
import sys
from typing import NoReturn


def main() -> NoReturn:
    """Runs the command line of this process."""
    # Ctrl-C ends the program as it ends any other: work that has something to restore listens for itself.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if sys.argv[1:2] == ["sweep"] and any(word.split("=")[0] == "--on" for word in sys.argv):
        sys.exit(on_cluster(sys.argv[2:]))
    from goodness._goodness import command

    sys.exit(command(sys.argv[1:], [sys.executable, "-m", "goodness"]))


def on_cluster(words: list[str]) -> int:
    """A sweep on a cluster, whose clients are Python's."""
    from goodness._errors import Error, UsageError
    from goodness._sweep import command

    try:
        return command(words)
    except Error as error:
        print(f"error: {error}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
