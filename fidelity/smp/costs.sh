#!/bin/sh
# Runs inside a guest: `goodness calibrate` on the first CPU, traced as the plays are, while hogs keep the others busy:
# the clock of a guest counts the instructions of all its CPUs.
. /trace.sh
for cpu in $(seq 1 $(($(nproc) - 1))); do
    taskset "$(printf %x $((1 << cpu)))" sh -c 'while :; do :; done' &
done
sleep 3
echo 1 > $trace/tracing_on
taskset 1 goodness calibrate
