"""Policies written in Python: slow, for teaching and first drafts."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Literal, Optional, Union

if TYPE_CHECKING:
    from goodness._goodness import Context, Task

#: Why a task joins a run queue.
Enqueue = Literal["fork", "wakeup", "preempted", "slice_end", "yielded", "migrated", "restored"]
#: Why a queued task leaves its run queue for another reason than running.
Dequeue = Literal["migrate", "change", "kill"]
#: Why a task is charged.
Stop = Literal["tick", "slice_end", "preempted", "yielded", "blocked", "exited"]
#: The task to run next, perhaps with its timeslice in ns.
Pick = Optional[Union["Task", tuple["Task", Optional[int]]]]


class Policy:
    """A CPU scheduling policy: derive from it, and name the class where a policy is named.

    Each run has an object of its own. The verbs and the order of their calls are those of the built-in policies; the
    referee checks every answer. Times are in ns, CPUs are numbered from 0. A verb that returns a CPU or None names the
    CPU that must pick again. A running task is not on the run queue. Same arguments, same answers: no clock, no random
    numbers but `self.random`.
    """

    #: Services that it needs: "tick", "timer", "balance", and "global_lock" if one lock guards all its queues.
    needs: tuple[str, ...] = ()

    #: CPUs of the machine.
    cpus: int
    #: Frequency of the tick.
    hz: int
    #: Random numbers that are the same for the same seed.
    random: random.Random

    def _begin(self, cpus: int, hz: int, seed: int) -> None:
        self.cpus, self.hz, self.random = cpus, hz, random.Random(seed)
        self.start()

    def start(self) -> None:
        """Makes the empty queues; `cpus`, `hz` and `random` are set."""

    def admit(self, cx: Context, task: Task, parent: Task | None) -> None:
        """Adds a task, once. Raise `goodness.Rejected` to refuse it."""

    def exit(self, cx: Context, task: Task) -> None:
        """A task ceased to exist; it is neither queued nor running."""

    def select_cpu(self, cx: Context, task: Task, why: Enqueue) -> int | None:
        """Chooses a CPU of the task's affinity. None: its last one if allowed, else the first allowed."""
        return None

    def enqueue(self, cx: Context, cpu: int, task: Task, why: Enqueue) -> int | None:
        """Adds a task to the run queue of `cpu`."""
        raise NotImplementedError(f"{type(self).__name__} has no enqueue")

    def dequeue(self, cx: Context, cpu: int, task: Task, why: Dequeue) -> None:
        """A queued task leaves the run queue of `cpu` for another reason than running."""
        raise NotImplementedError(f"{type(self).__name__} has no dequeue")

    def pick_next(self, cx: Context, cpu: int) -> Pick:
        """Chooses the next task of `cpu` and removes it from the run queue. None leaves the CPU idle."""
        raise NotImplementedError(f"{type(self).__name__} has no pick_next")

    def charge(self, cx: Context, cpu: int, task: Task, ran: int, why: Stop) -> int | None:
        """Charges CPU time since the pick or the last charge. With "tick" the task goes on."""
        return None

    def balance(self, cx: Context, cpu: int, idle: Literal["newly", "busy"]) -> tuple[Task, int, int] | None:
        """Proposes a migration: the task, the CPU it is on, and its target."""
        return None

    def next_timer(self) -> int | None:
        """Time of the next call of `timer`."""
        return None

    def timer(self, cx: Context) -> int | None:
        """Called at the time that `next_timer` gave."""
        return None
