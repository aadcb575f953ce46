#!/usr/bin/env python3
"""derive.py TRACES METRICS OUT [SWITCHES]: makes the files of `expected/` from recordings (see README.md)."""
import json, lzma, pathlib, re, sys

SWITCH = re.compile(r"\s+(\d+)\.(\d{6}): sched_switch: .* ==> next_comm=(.*) next_pid=")
WAKING = re.compile(r"\s+(\d+)\.(\d{6}): sched_waking: comm=(kworker\S*) ")
MARKER = re.compile(r"\s+(\d+)\.(\d{6}): \S+: uwork (start|end)")
FOREIGN = re.compile(r"kworker|ksoftirqd|kswapd|rcu")


def sequence(lines):
    """Who runs from when on, µs after the start, and when kernel threads were woken."""
    start, runs, woken = None, [], []
    for line in lines:
        if m := MARKER.search(line):
            if m[3] == "end":
                break
            start = int(m[1]) * 1_000_000 + int(m[2])
        elif start is not None and (m := WAKING.search(line)):
            woken.append(int(m[1]) * 1_000_000 + int(m[2]) - start)
        elif start is not None and (m := SWITCH.search(line)):
            at, name = int(m[1]) * 1_000_000 + int(m[2]) - start, m[3]
            if name == "uwork":
                break
            if FOREIGN.match(name):
                continue
            name = "idle" if name.startswith("swapper") else name
            while runs and runs[-1][0] == at:
                runs.pop()
            if not runs or runs[-1][1] != name:
                runs.append((at, name))
    return runs, woken


def main():
    traces, metrics, out = map(pathlib.Path, sys.argv[1:4])
    keep = int(sys.argv[4]) if len(sys.argv) > 4 else 250
    for file in sorted(metrics.glob("*/*.json")):
        folder, name = file.parent.name, file.stem
        with lzma.open(traces / folder / f"{name}.trace.xz", "rt") as trace:
            runs, woken = sequence(trace)
        rows = []
        for task in json.loads(file.read_text())["tasks"]:
            latency = task["wakeup_latency_us"]
            rows.append(" ".join(map(str, [
                "task", task["task"], task["cpu_us"], task["switches_voluntary"], task["switches_involuntary"],
                latency["n"], latency["p50"] or 0, latency["p99"] or 0])))
        rows += [f"foreign {at}" for at in woken] + [f"{at} {name}" for at, name in runs[:keep]]
        (out / folder).mkdir(parents=True, exist_ok=True)
        (out / folder / f"{name}.txt").write_text("\n".join(rows) + "\n")


main()
