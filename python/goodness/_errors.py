"""Exceptions: what is wrong, where, and the remedy."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from goodness._goodness import Comparison


class Error(Exception):
    """Anything that this package refuses or that fails in it. The message is a whole sentence."""

    def __init__(
        self,
        sentence: str,
        *,
        place: str | None = None,
        remedy: str | None = None,
        reproduce: str | None = None,
    ) -> None:
        super().__init__(sentence)
        #: File and line, task or policy that is wrong, if the sentence does not name it.
        self.place = place
        #: What to do about it.
        self.remedy = remedy
        #: The call that shows it again, if it came from a run.
        self.reproduce = reproduce


class UsageError(Error, ValueError):
    """An invalid name, file or setting, or work that no policy can do."""


class Violation(Error):
    """A policy broke a rule, or a checker found an impossible run."""

    #: The comparison in which a checker found it; None if a policy broke a rule.
    comparison: Comparison | None = None


class Failure(Error):
    """A file that cannot be written, or another thing that failed on this machine."""


class Rejected(Error):
    """Raised by a policy's `admit`: the task never runs."""
