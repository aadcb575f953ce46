# Runs in the guest: kills live policies at drawn instants, also while they load, or takes a CPU away from them. Each
# time the kernel must take over within 3 s, and every task must go on.
#
#   sh /live/kills.sh COUNT SEED WAYS     ways: daemon, helper (then the daemon), all, unplug
. /check.sh
draws=$1 seed=$2 ways=$3

# The CPU time of a process in ticks, by the kernel's count.
cpu_time() { awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$1/stat"; }
# The file is empty for a moment while the next number is written.
laps() {
    for try in 1 2 3 4 5; do
        laps=0
        [ -e /tmp/laps ] && ! read -r laps < /tmp/laps || break
    done
    echo "${laps:-0}"
}
now() { awk '{ print $1 * 1000 }' /proc/uptime; }

# Every task of the load moves within half a second: both hogs, and the loop with its children.
all_move() {
    read -r first second others < /tmp/pids
    before="$(cpu_time "$first") $(cpu_time "$second") $(laps)"
    sleep 0.5
    echo "$before $(cpu_time "$first") $(cpu_time "$second") $(laps)" > /tmp/moves
    awk '{ exit !(NF == 6 && $4 > $1 && $5 > $2 && $6 > $3) }' /tmp/moves
}

# strike WHO: ends the policy that way; what is left of its processes is for the kernel.
strike() {
    case $1 in
        daemon) kill -KILL "$daemon" ;;
        helper) kill -KILL $(pidof goodness | tr ' ' '\n' | grep -vx "$daemon"); sleep 0.1; kill -KILL "$daemon" ;;
        all) killall -KILL goodness ;;
        unplug) echo 0 > /sys/devices/system/cpu/cpu1/online ;;
    esac 2> /dev/null
}

# Controls: a task that is stopped is seen, and so is a policy that nobody struck.
sees_a_stopped_task() {
    sh /live/load.sh &
    comes 30 test -s /tmp/pids
    all_move || return 1
    read -r first others < /tmp/pids
    kill -STOP "$first"
    ! all_move
}
sees_a_policy_that_stays() {
    goodness live rr -- sh /live/load.sh > /tmp/out 2>&1 &
    comes 50 state_is enabled && ! comes 30 state_is disabled
}

# One draw: the policy serves the load, or is about to, is struck, and the kernel takes over.
struck() {
    policy=$1 who=$2 after=$3
    rm -f /tmp/pids /tmp/laps
    goodness live "$policy" -- sh /live/load.sh > /tmp/out 2>&1 &
    daemon=$!
    sleep "$after"
    state_is disabled && early=$((early + 1))
    struck_at=$(now)
    strike "$who"
    comes 30 state_is disabled || { echo "still $(cat /sys/kernel/sched_ext/state) after 3 s"; return 1; }
    echo "$struck_at $(now)" | awk '{ print $2 - $1 }' >> /tmp/took
    # What was killed while it loaded has no tasks yet.
    [ ! -s /tmp/pids ] || all_move || {
        echo "hogs and laps stood still for half a second: before and after: $(cat /tmp/moves)"
        all_move && echo "they go on now: $(cat /tmp/moves)"
        return 1
    }
}

cleared() {
    killall -KILL goodness 2> /dev/null
    [ ! -s /tmp/pids ] || kill -KILL $(cat /tmp/pids) 2> /dev/null
    echo 1 > /sys/devices/system/cpu/cpu1/online
    wait
    comes 30 state_is disabled
}

check a_stopped_task_is_seen sees_a_stopped_task
check its_load_ends cleared
check a_policy_that_stays_is_seen sees_a_policy_that_stays
check it_can_be_ended cleared
early=0
: > /tmp/took
awk -v draws="$draws" -v seed="$seed" -v given="$ways" '
BEGIN {
    srand(seed)
    split("rr linux-2.2 o1 staircase eevdf haiku-fair", policies)
    of = split(given, ways)
    for (n = 1; n <= draws; n++)
        print policies[1 + int(6 * rand())], ways[1 + int(of * rand())], int(1500 * rand()) / 1000
}' > /tmp/draws
while read -r policy who after; do
    check "${policy}_gives_way_when_${who}_is_struck_after_$after" struck "$policy" "$who" "$after"
    check "nothing_is_left_of_$policy" cleared
done < /tmp/draws
sort -n /tmp/took | awk -v early="$early" '
    { took[NR] = $1 }
    END { print NR " strikes, " early " before the policy was loaded; until the kernel took over: median " \
          took[int((NR + 1) / 2)] " ms, longest " took[NR] " ms" }'
[ $failures -eq 0 ]
