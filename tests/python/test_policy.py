"""Policies written in Python: the same rules, the same picks."""

import time
from collections import deque
from pathlib import Path

import goodness as g
import pytest
from conftest import SMALL
from goodness.testing import check_policy


class RoundRobin(g.Policy):
    """One queue with a fixed timeslice, as the built-in rr."""

    needs = ("global_lock",)
    timeslice = 10_000_000

    def start(self) -> None:
        self.waiting: deque[g.Task] = deque()
        self.idle = set(range(self.cpus))

    def enqueue(self, cx: g.Context, cpu: int, task: g.Task, why: str) -> int | None:
        self.waiting.append(task)
        if cpu in self.idle:
            self.idle.discard(cpu)
            return None
        target = next((idle for idle in sorted(self.idle) if task.may_run(idle)), None)
        if target is not None:
            self.idle.discard(target)
        return target

    def dequeue(self, cx: g.Context, cpu: int, task: g.Task, why: str) -> None:
        self.waiting.remove(task)

    def pick_next(self, cx: g.Context, cpu: int) -> tuple[g.Task, int] | None:
        for place, task in enumerate(self.waiting):
            if task.may_run(cpu):
                cx.examined("search", place + 1)
                self.idle.discard(cpu)
                del self.waiting[place]
                return task, self.timeslice
        cx.examined("search", len(self.waiting))
        self.idle.add(cpu)
        return None


class Waker(RoundRobin):
    """Picks a task that waits for something."""

    blocked: g.Task | None = None

    def charge(self, cx: g.Context, cpu: int, task: g.Task, ran: int, why: str) -> int | None:
        if why == "blocked":
            self.blocked = task
        return None

    def pick_next(self, cx: g.Context, cpu: int) -> tuple[g.Task, int] | None:
        return (self.blocked, self.timeslice) if self.blocked else super().pick_next(cx, cpu)


class Twin(RoundRobin):
    """Picks a task that another CPU runs."""

    running: g.Task | None = None

    def pick_next(self, cx: g.Context, cpu: int) -> tuple[g.Task, int] | None:
        if cpu == 1 and self.running:
            return self.running, self.timeslice
        picked = super().pick_next(cx, cpu)
        self.running = picked[0] if picked else None
        return picked


class Raises(RoundRobin):
    """Raises."""

    def charge(self, cx: g.Context, cpu: int, task: g.Task, ran: int, why: str) -> int | None:
        raise ZeroDivisionError(f"after {ran} ns")


class Wrong(RoundRobin):
    """Returns what no policy may."""

    def pick_next(self, cx: g.Context, cpu: int) -> tuple[g.Task, int] | None:
        return 3  # type: ignore[return-value]


class FarAway(RoundRobin):
    """Names a CPU that is not there."""

    def select_cpu(self, cx: g.Context, task: g.Task, why: str) -> int:
        return 64


class Strict(RoundRobin):
    """Refuses every second task."""

    def admit(self, cx: g.Context, task: g.Task, parent: g.Task | None) -> None:
        if task.id % 2:
            raise g.Rejected("odd tasks are not wanted")


@pytest.mark.parametrize(
    "work",
    [
        g.workload("mixed", duration="300ms"),
        g.workload("mixed", duration="300ms", hogs=6, machine="cpus=4,hz=250"),
        g.workload("sleepers", duration="300ms", machine="cpus=2,hz=1000"),
        g.experiment(Path(__file__).parents[2] / "examples/02-nice.toml"),
    ],
    ids=["one CPU", "four CPUs", "sleepers", "experiment"],
)
def test_round_robin_in_python_picks_as_the_built_in_one(work: g.Work) -> None:
    compared = g.compare(work, policies=["rr", RoundRobin], runs=2, seed=5)
    assert compared.arms == ["rr", "RoundRobin"]
    for run in (0, 1):
        built_in, own = (compared.schedule(arm, run) for arm in ("rr", "RoundRobin"))
        assert built_in.to_dicts() == own.to_dicts()
    values = {arm: [row["value"] for row in compared.runs.to_dicts() if row["arm"] == arm] for arm in compared.arms}
    assert values["rr"] == values["RoundRobin"]


def test_another_timeslice_picks_otherwise() -> None:
    class Short(RoundRobin):
        timeslice = 1_000_000

    compared = g.compare(SMALL, policies=["rr:timeslice=1ms", Short, RoundRobin], runs=2)
    first, second, third = (compared.schedule(arm).to_dicts() for arm in range(3))
    assert first == second != third


def test_its_arms_change_the_work_like_those_of_any_policy() -> None:
    compared = g.compare(SMALL, [g.arm("rr", cpus=2), g.arm(RoundRobin, cpus=2)], runs=2)
    assert compared.arms == ["base", "rr cpus=2", "RoundRobin cpus=2"]
    assert compared.schedule(1).to_dicts() == compared.schedule(2).to_dicts()
    call = compared.to_dict()["details"]["command"]
    again = eval(call, {"goodness": g, "RoundRobin": RoundRobin})
    assert again.to_json() == compared.to_json()


@pytest.mark.parametrize("policy", [Waker, Twin])
def test_the_referee_finds_what_breaks_a_rule(policy: type[g.Policy]) -> None:
    with pytest.raises(g.Violation) as raised:
        g.compare(SMALL, policies=["rr", policy], runs=1, machine="cpus=2")
    assert policy.__name__ in str(raised.value)
    assert raised.value.reproduce is not None and f"policies=[{policy.__name__}]" in raised.value.reproduce


def test_an_exception_ends_the_comparison_with_its_traceback() -> None:
    with pytest.raises(ZeroDivisionError, match="after .* ns") as raised:
        g.compare(SMALL, policies=["rr", Raises], runs=20)
    assert raised.traceback[-1].name == "charge"
    assert g.compare(SMALL, policies=[RoundRobin], runs=1).arms == ["RoundRobin"]


def test_the_exception_of_one_run_is_raised_though_it_cancels_another() -> None:
    made: list[g.Policy] = []

    class SecondRaises(RoundRobin):
        """Raises in the second run that begins; the first is slow."""

        def start(self) -> None:
            super().start()
            made.append(self)
            self.raises = len(made) == 2

        def enqueue(self, cx: g.Context, cpu: int, task: g.Task, why: str) -> int | None:
            if self.raises:
                raise ValueError("of the second run")
            time.sleep(0.002)
            return super().enqueue(cx, cpu, task, why)

    for _ in range(5):
        made.clear()
        with pytest.raises(ValueError, match="of the second run"):
            g.compare(SMALL, policies=[SecondRaises], runs=2)


def test_a_wrong_answer_is_told_with_what_is_right() -> None:
    with pytest.raises(g.UsageError, match=r"Wrong.pick_next returned 3; it returns a task, a task and its timeslice"):
        g.compare(SMALL, policies=[Wrong], runs=1)
    with pytest.raises(g.UsageError, match="FarAway named CPU 64; the machine has CPUs 0 to 0"):
        g.compare(SMALL, policies=[FarAway], runs=1)
    with pytest.raises(g.UsageError, match="int is no policy"):
        g.compare(SMALL, policies=[int])  # type: ignore[list-item]
    with pytest.raises(g.UsageError, match="takes no settings"):
        g.arm(RoundRobin, timeslice="3ms")
    with pytest.raises(NotImplementedError, match="Policy has no enqueue"):
        g.compare(SMALL, policies=[g.Policy], runs=1)


def test_a_task_that_is_rejected_is_told_with_the_reason() -> None:
    with pytest.raises(g.UsageError, match="was refused by Strict: odd tasks are not wanted"):
        g.compare(SMALL, policies=[Strict], runs=1)


class Loses(RoundRobin):
    """Forgets every fortieth task."""

    count = 0

    def enqueue(self, cx: g.Context, cpu: int, task: g.Task, why: str) -> int | None:
        self.count += 1
        return None if self.count % 40 == 0 else super().enqueue(cx, cpu, task, why)

    def dequeue(self, cx: g.Context, cpu: int, task: g.Task, why: str) -> None:
        if task in self.waiting:
            self.waiting.remove(task)


class Astray(RoundRobin):
    """Runs the first task, wherever it may run."""

    def pick_next(self, cx: g.Context, cpu: int) -> tuple[g.Task, int] | None:
        return (self.waiting.popleft(), self.timeslice) if self.waiting else super().pick_next(cx, cpu)


class Stops(RoundRobin):
    """Picks nothing any more after a while."""

    picks = 0

    def pick_next(self, cx: g.Context, cpu: int) -> tuple[g.Task, int] | None:
        self.picks += 1
        return super().pick_next(cx, cpu) if self.picks < 60 else None


class Moody(RoundRobin):
    """Has another timeslice in each run."""

    runs = 0

    def start(self) -> None:
        super().start()
        Moody.runs += 1
        self.timeslice = 50_000 + Moody.runs


def test_the_contract_of_the_built_in_policies_is_kept_in_python(capsys: pytest.CaptureFixture[str]) -> None:
    # A task changes its affinity while it runs, and is preempted then.
    check_policy(RoundRobin, cpus=[8], draws=1, seed=2434149034)
    # CPUs go offline and come back, so that affinities of queued tasks change.
    check_policy(RoundRobin, cpus=[2], draws=1, seed=1404395063)
    check_policy(RoundRobin, draws=60, seed=7)
    assert capsys.readouterr().out == "", "the seed was given"
    check_policy(RoundRobin, draws=3)
    said = capsys.readouterr().out
    assert said.startswith("goodness.testing.check_policy(RoundRobin, draws=3, seed=")
    with pytest.raises(g.UsageError, match="list numbers in 1 ..= 64"):
        check_policy(RoundRobin, cpus=[0])
    with pytest.raises(g.UsageError, match="is no policy"):
        check_policy("rr")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        (Loses, "waits on cpu"),
        (Astray, "affinity"),
        (Stops, "nothing is left to happen"),
        (Moody, "two runs of one seed differ"),
        (Waker, "Waker"),
        (Twin, "Twin"),
    ],
)
def test_a_policy_that_breaks_the_contract_is_rejected_in_one_sentence(policy: type[g.Policy], sentence: str) -> None:
    with pytest.raises(g.Violation) as raised:
        check_policy(policy, cpus=[2], draws=10, seed=1)
    said = str(raised.value)
    assert sentence in said and "\n" not in said
    assert said.startswith(f"{policy.__name__} on 2 CPUs, seed ")
    assert raised.value.reproduce is not None and f"check_policy({policy.__name__}, cpus=[2], draws=1" in said
    with pytest.raises(g.Violation):
        eval(raised.value.reproduce, {"goodness": g, policy.__name__: policy})


def test_a_comparison_finds_a_policy_that_stops_picking() -> None:
    with pytest.raises(g.Violation, match="no_lost_task.* waits on cpu 0 since .*, and cpu 0 idles until the end"):
        g.compare(SMALL, policies=["rr", Stops], runs=1)
