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

    sys.exit(command(sys.argv[1:], [sys.executable, "-m", "goodness"]))
