# Read by what runs inside a guest: prepares the tracing of scheduling events.
trace=/sys/kernel/tracing
echo 0 > /proc/sys/kernel/sched_autogroup_enabled
echo mono > $trace/trace_clock
echo 16384 > $trace/buffer_size_kb
for event in switch waking wakeup_new process_fork process_exec process_exit migrate_task; do
    echo 1 > $trace/events/sched/sched_$event/enable
done
