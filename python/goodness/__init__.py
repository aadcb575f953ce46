"""How good is this scheduler, for this work, on this machine?

>>> import goodness as g
>>> c = g.compare("apache-ab-c32-1cpu", arms=["eevdf:base_slice=3ms", g.arm(nice={"ab": 5})])
>>> c.ranking.to_polars()
"""

from goodness._arms import Arm, arm
from goodness._calibrate import calibrate
from goodness._diff import diff
from goodness._errors import Error, Failure, Rejected, UsageError, Violation
from goodness._goodness import VERSION as __version__
from goodness._goodness import (
    Comparison,
    Context,
    Difference,
    Explanation,
    Figure,
    Study,
    Suite,
    Table,
    Task,
    Tuning,
    Verification,
    Work,
)
from goodness._inputs import experiment, recording, workload
from goodness._lists import (
    devices,
    elevators,
    formats,
    machines,
    metrics,
    policies,
    recordings,
    studies,
    workloads,
)
from goodness._policy import Policy
from goodness._record import record
from goodness._run import compare, study, verify
from goodness._suite import compare_suite
from goodness._sweep import Sweep, sweep
from goodness._tune import tune
from goodness._why import why

__all__ = [
    "Arm",
    "Comparison",
    "Context",
    "Difference",
    "Error",
    "Explanation",
    "Failure",
    "Figure",
    "Policy",
    "Rejected",
    "Study",
    "Suite",
    "Sweep",
    "Table",
    "Task",
    "Tuning",
    "UsageError",
    "Verification",
    "Violation",
    "Work",
    "__version__",
    "arm",
    "calibrate",
    "compare",
    "compare_suite",
    "devices",
    "diff",
    "elevators",
    "experiment",
    "formats",
    "machines",
    "metrics",
    "policies",
    "record",
    "recording",
    "recordings",
    "studies",
    "study",
    "sweep",
    "tune",
    "verify",
    "why",
    "workload",
    "workloads",
]
