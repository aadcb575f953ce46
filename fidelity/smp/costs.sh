#!/bin/sh
# Runs inside a guest: `goodness calibrate` on the first CPU, traced as the plays are, while hogs keep the others busy:
# the clock of a guest counts the instructions of all its CPUs. Then once more on two CPUs, for wake-ups on an
# idle one.
. /trace.sh
for cpu in $(seq 1 $(($(nproc) - 1))); do
    taskset "$(printf %x $((1 << cpu)))" sh -c 'while :; do :; done' &
    [ "$cpu" -ne 1 ] || neighbour=$!
done
sleep 3
echo 1 > $trace/tracing_on
taskset 1 goodness calibrate
echo "==== two CPUs"
kill $neighbour
taskset 3 goodness calibrate
