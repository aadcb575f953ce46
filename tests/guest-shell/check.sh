# For shell checks in guests, by `. /check.sh`: one line a check; `failures` counts those that failed.
failures=0

# check NAME COMMAND…: the command must succeed; if not, /tmp/out is shown, where checks leave what was printed.
check() {
    name=$1
    shift
    if "$@"; then
        echo "test $name ... ok"
    else
        echo "test $name ... FAILED"
        cat /tmp/out
        failures=$((failures + 1))
    fi
}

# comes TENTHS COMMAND…: the command succeeds within that many tenths of a second.
comes() {
    left=$1
    shift
    while ! "$@" 2> /dev/null; do
        [ "$left" -gt 0 ] || return 1
        left=$((left - 1))
        sleep 0.1
    done
}

# state_is STATE: of sched_ext. By the shell itself: a process that is started to look takes a daemon's CPU for as long
# as the kernel's slice, and decisions are measured meanwhile.
state_is() { read -r state < /sys/kernel/sched_ext/state && [ "$state" = "$1" ]; }
