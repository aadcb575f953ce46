# Runs in the guest: checks of live policies. One line a check; exit code 1 if one failed.
. /check.sh
cpus=$1

is_loaded() { state_is enabled && read -r ops_now < /sys/kernel/sched_ext/root/ops && [ "$ops_now" = "$1" ]; }

# The decisions that the run before showed came within a fraction of a tick of 4 ms: half of them within a twentieth,
# 99 of 100 within an eighth. A daemon that waits for its CPU, or for a timer, needs a tick. Some 20 and 35 us are usual
# on two CPUs, 65 and 120 on four: the guest's clock counts the instructions of all.
decides_in_time() {
    sed -n 's/^from event to decision in the kernel: p50 \(.*\), p99 \(.*\), longest.*/\1 \2/p' /tmp/out |
        awk -v p50=200 -v p99=500 '
        function us(text) {
            return text ~ /us$/ ? text + 0 : text ~ /ms$/ ? text * 1000 : text ~ /ns$/ ? text / 1000 : 1e9
        }
        { ok = us($1) <= p50 && us($2) <= p99 }
        END { exit !ok }'
}
waits_for_a_tick() {
    echo "from event to decision in the kernel: p50 $1, p99 $2, longest 9ms" > /tmp/out
    ! decides_in_time
}
check a_median_of_a_tick_is_too_late waits_for_a_tick 3.9ms 4.1ms
check a_tail_of_half_a_tick_is_too_late waits_for_a_tick 20us 2ms

# Each second of four CPUs takes a machine four: there the simplest policy and the kernel's have to do.
policies="rr linux-2.2 o1 staircase eevdf haiku-fair"
[ "$cpus" = 2 ] || policies="rr eevdf"
for policy in $policies; do
    goodness live $policy --log /tmp/log -- goodness play /live/mixed.toml > /tmp/out 2>&1 &
    daemon=$!
    check "${policy}_is_loaded_under_its_name_on_$cpus" comes 50 is_loaded "$(echo $policy | tr - _)"
    wait $daemon
    check "${policy}_ends_well" [ $? -eq 0 ]
    check "${policy}_unloads" comes 20 state_is disabled
    # The 99th percentile of some 150 decisions is the second largest: one start-up more than doubles it. So the best of
    # three runs counts.
    for _ in 1 2; do
        decides_in_time && break
        goodness live $policy --log /tmp/log -- goodness play /live/mixed.toml > /tmp/out 2>&1
    done
    grep "from event" /tmp/out
    check "${policy}_decides_in_time" decides_in_time
    check "${policy}_decides_the_same_again" goodness live replay /tmp/log
done
[ "$cpus" = 2 ] || { [ $failures -eq 0 ]; exit; }

cycles() { for _ in 1 2 3 4 5 6 7 8 9 10; do goodness live rr -- true > /tmp/out 2>&1 || return 1; done; }
check ten_cycles_of_loading_and_unloading cycles
check nothing_is_loaded_after_them comes 20 state_is disabled

# Loads and ends that follow each other: a grant that meets the kernel as it queues the task must not be lost, which
# would leave the CPU idle until the kernel ends the policy, and a load that finds no room for a moment must be tried
# again.
plays() {
    for seed in 1 2 3 4 5 6 7 8 9 10 11 12; do
        goodness live staircase -- goodness play /live/mixed.toml -d 300ms --seed $seed > /tmp/out 2>&1 || return 1
    done
}
check twelve_short_plays_in_a_row_end_well plays

# Ways out: the machine is given back within 3 s of each.
# begin WHAT COMMAND…: a policy of the name $ops serves some work; over WHAT: it ends by that.
begin() {
    begun=$1
    shift
    "$@" goodness play /live/mixed.toml -d 15s > /tmp/out 2>&1 &
    daemon=$!
    check "${ops}_is_loaded_before_$begun" comes 50 is_loaded "$ops"
}
over() {
    check "the_machine_is_given_back_within_3_s_of_$1" comes 30 state_is disabled
    kill -CONT $daemon 2> /dev/null
    sleep 0.5
    killall -KILL goodness faulty_policy 2> /dev/null
    wait $daemon
    code=$?
}
ops=rr
for signal in STOP KILL TERM INT; do
    begin $signal goodness live rr --
    sleep 0.5
    kill -$signal $daemon
    over $signal
done
begin live_stop goodness live rr --
goodness live stop > /tmp/stopped 2>&1
over live_stop
check live_stop_ends_it_well [ $code -eq 0 ]
# A daemon that is killed before its command had a first turn, here because older tasks never give theirs back: the
# command must not keep the policy loaded.
rm -f /tmp/pids /tmp/began
goodness live rr -- sh /live/load.sh > /tmp/out 2>&1 &
daemon=$!
comes 50 test -s /tmp/pids
kill -KILL $daemon
check a_load_outlives_its_policy comes 30 state_is disabled
goodness live fifo -- touch /tmp/began > /tmp/out 2>&1 &
daemon=$!
check fifo_is_loaded_beside_it comes 50 is_loaded fifo
sleep 1
check its_command_waits [ ! -e /tmp/began ]
kill -KILL $daemon
check a_command_without_a_turn_does_not_keep_the_policy comes 30 state_is disabled
check it_goes_on_without_the_policy comes 30 test -e /tmp/began
kill -KILL $(cat /tmp/pids)
wait
ops=faulty
for fault in panic hang memory; do
    begin $fault faulty_policy $fault
    check "${fault}_comes" comes 50 grep -q "the fault comes" /tmp/out
    over $fault
    check "the_daemon_does_not_end_well_after_$fault" [ $code -ne 0 ]
done

# Staircase: 20 to 1 by its specification, here within a tenth.
goodness live staircase -- goodness play /live/nice.toml -d 10s > /tmp/out 2>&1
cpu_ms() { awk -v task="$1" '$1 == task { print ($4 == "s") ? $3 * 1000 : $3; exit }' /tmp/out; }
ratio_holds() {
    awk -v more="$(cpu_ms hog)" -v less="$(cpu_ms nice-hog)" '
        BEGIN { exit !(less > 0 && more / less >= 18 && more / less <= 22) }'
}
check staircase_gives_nice_0_about_20_times_what_nice_19_gets ratio_holds
echo "nice 0: $(cpu_ms hog) ms, nice 19: $(cpu_ms nice-hog) ms"

# Its compute mode: turns ten times as long, so far fewer of them, and the sleeper waits.
turns() { awk '$1 ~ /^hog-[01]$/ && NF > 6 { n += $7 } END { print n + 0 }' /tmp/out; }
goodness live staircase -- goodness play /live/modes.toml > /tmp/out 2>&1
usual=$(turns)
goodness live staircase:compute=on -- goodness play /live/modes.toml > /tmp/out 2>&1
echo "switches of two hogs in 6 s: $usual, in compute mode $(turns)"
check compute_mode_switches_less_than_a_third_as_often [ "$(($(turns) * 3))" -lt "$usual" ]
check compute_mode_switches_at_all [ "$(turns)" -gt 0 ]

# 100 000 decisions in a minute, none lost: a lost event ends the run with an error.
goodness live rr -- goodness play /live/yield.toml > /tmp/out 2>&1
check a_hundred_thousand_decisions_end_well [ $? -eq 0 ]
grep -E "decisions|from event" /tmp/out
check they_are_in_time decides_in_time
decisions=$(sed -n 's/^\([0-9]*\) decisions.*/\1/p' /tmp/out)
check there_are_a_hundred_thousand [ "${decisions:-0}" -gt 100000 ]
[ $failures -eq 0 ]
