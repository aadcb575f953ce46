# Runs in the guest: two or three commands at a time that change what a guest alone has (a loaded policy, a block
# device), or tracing and cgroups beside them. Each ends by itself or at a drawn instant, by a signal, by SIGKILL, or by
# SIGKILL together with its guard. Then the machine must be as before; what two kills leave, `goodness doctor` and
# `goodness elevate list` tell.
#
#   sh /live/together.sh COUNT SEED
. /check.sh
draws=$1 seed=$2

# All that commands make or set.
state() {
    cat /sys/kernel/sched_ext/state /proc/sys/kernel/sched_autogroup_enabled 2> /dev/null
    cat /sys/fs/cgroup/cgroup.subtree_control 2> /dev/null
    find /dev/ublkb* /dev/ublkc* /sys/kernel/tracing/instances /sys/kernel/debug/tracing/instances -maxdepth 1 \
        -mindepth 0 2> /dev/null
    find /sys/fs/cgroup -mindepth 1 -type d 2> /dev/null
    find /run/goodness /var/tmp/goodness-* /tmp/goodness-* -type f 2> /dev/null
    grep goodness- /proc/self/mountinfo | sed 's/^[0-9]* //'
    pidof goodness
}
as_before() { state > /tmp/now; cmp -s /tmp/before /tmp/now; }

# command KIND: its words. What is under a policy is the load of kills.sh.
command() {
    case $1 in
        rr | eevdf) echo "goodness live $1 -d 700ms -- sh /live/load.sh" ;;
        look | noop) echo "goodness elevate $1 /tmp/disk --probes 0" ;;
        sstf) echo "goodness elevate sstf /tmp/other --probes 0" ;;
        conform) echo "goodness conform /live/mixed.toml -p rr --live -d 600ms --runs 1" ;;
        play) echo "goodness play /groups.toml -d 1500ms" ;;
        record) echo "goodness record --quiet -d 400ms -o /tmp/one.gz" ;;
    esac
}

# victim NUMBER KIND BEGIN END AFTER: writes its exit code and what it got into /tmp/ended.NUMBER.
victim() {
    sleep "$3"
    $(command "$2") > "/tmp/said.$1" 2>&1 &
    it=$!
    # A server ends when it is asked to.
    end=$4
    case $2 in look | noop | sstf) [ "$end" != itself ] || end=INT ;; esac
    sent=none
    if [ "$end" != itself ]; then
        sleep "$5"
        if kill -0 $it 2> /dev/null; then
            sent=$end
            [ "$end" != guards ] || kill -KILL $(cat /proc/$it/task/*/children) 2> /dev/null
            kill -"$(echo "$end" | sed s/guards/KILL/)" $it 2> /dev/null
        fi
    fi
    wait $it
    echo "$? $sent" > "/tmp/ended.$1"
}

# is_proper NUMBER: its exit code is a documented one, or says the signal that it got; a failure has its sentence.
is_proper() {
    read -r code sent < "/tmp/ended.$1"
    ! grep -q panicked "/tmp/said.$1" || return 1
    case $code:$sent in
        1:* | 2:*) grep -q "error: \|^not all are within" "/tmp/said.$1" ;;
        [034]:*) ;;
        130:INT | 143:TERM | 137:KILL | 137:guards) ;;
        # The load that a policy scheduled, killed with it.
        137:* | 143:*) grep -q load.sh "/tmp/words.$1" ;;
        *) return 1 ;;
    esac
}

# Servers that were killed leave their device to the next one, which `elevate list` says; guards that were killed leave
# what `doctor` tells.
undo() {
    if [ -n "$killed_guard" ]; then goodness doctor --restore > /tmp/out 2>&1; fi
    for device in /dev/ublkc*; do
        [ -e "$device" ] || continue
        number=${device#/dev/ublkc}
        goodness elevate list > /tmp/listed 2>&1
        # One that still runs needs nothing.
        grep -q "goodness elevate stop $number\|--recover $number" /tmp/listed || continue
        told=$((told + 1))
        goodness elevate stop "$number" > /tmp/out 2>&1
    done
}
nothing_is_left() { as_before || { undo; as_before; }; }

# draw LINE: the victims of a line, all of which must have ended within 40 s.
draw() {
    rm -f /tmp/ended.* /tmp/said.* /tmp/words.*
    number=0 waiting=''
    for words in $1; do
        IFS=: read -r kind begin end after <<EOF
$words
EOF
        number=$((number + 1))
        command "$kind" > "/tmp/words.$number"
        victim $number "$kind" "$begin" "$end" "$after" &
        waiting="$waiting $!"
    done
    comes 400 all_ended $number || { echo "they do not end: $(ps)" > /tmp/out; return 1; }
    killed_guard=''
    for one in $(seq $number); do
        read -r code sent < "/tmp/ended.$one"
        commands=$((commands + 1))
        case $sent in KILL | guards) killed=$((killed + 1)) ;; INT | TERM) signalled=$((signalled + 1)) ;; esac
        [ "$sent" != guards ] || killed_guard=yes
        ! grep -q "is in use by\|already" "/tmp/said.$one" || refused=$((refused + 1))
        is_proper "$one" || {
            { echo "$code, sent $sent:"; cat "/tmp/words.$one" "/tmp/said.$one"; } > /tmp/out
            return 1
        }
    done
    comes 200 nothing_is_left || {
        { echo "left:"; diff /tmp/before /tmp/now; ps; cat /tmp/words.* /tmp/ended.* /tmp/said.*; } > /tmp/out
        return 1
    }
}
end_loads() {
    for process in $(pidof sh); do
        ! grep -q load.sh "/proc/$process/cmdline" 2> /dev/null || kill -KILL "$process"
    done
}
all_ended() { [ "$(ls /tmp/ended.* 2> /dev/null | wc -l)" -eq "$1" ]; }

truncate -s 16M /tmp/disk /tmp/other
state > /tmp/before

# Controls: what each kind of command has while it runs is seen.
sees() {
    $(command "$1") > /tmp/out 2>&1 &
    it=$!
    comes 50 differs_by "$2" || return 1
    kill -INT $it
    wait $it
    comes 100 as_before
}
differs_by() { state > /tmp/now; diff /tmp/before /tmp/now | grep -q "$1"; }
check a_loaded_policy_is_seen sees rr "^+enabled"
check a_device_is_seen sees look "^+/dev/ublkb"
check a_recording_is_seen sees record "^+.*instances/"
check groups_of_a_play_are_seen sees play "^+/sys/fs/cgroup/"

commands=0 killed=0 signalled=0 refused=0 told=0
awk -v draws="$draws" -v seed="$seed" '
function one_of(list, of) { of = split(list, all, " "); return all[1 + int(of * rand())] }
BEGIN {
    srand(seed)
    for (n = 1; n <= draws; n++) {
        # In half of the draws all want the same.
        same = rand() < 0.5 ? one_of("rr_eevdf_conform look_noop rr_look conform_record play_conform") : ""
        gsub("_", " ", same)
        line = ""
        for (k = 2 + int(2 * rand()); k > 0; k--)
            line = line one_of(same ? same : "rr eevdf look noop sstf conform play record") ":" \
                int(200 * rand()) / 1000 ":" one_of("itself INT TERM KILL KILL guards") ":" \
                int(1200 * rand()) / 1000 " "
        print line
    }
}' > /tmp/draws
number_of_draw=0
while read -r line; do
    number_of_draw=$((number_of_draw + 1))
    check "nothing_is_left_by_draw_$number_of_draw:_$(echo $line | tr ' ' _)" draw "$line"
    # Loads outlive a policy that is killed, and meet the next two.
    [ $((number_of_draw % 3)) -ne 0 ] || end_loads
done < /tmp/draws
echo "$draws draws, $commands commands: $killed killed, $signalled signalled, $refused refused for another, $told" \
    "devices without a server told"
[ $failures -eq 0 ]
