# Runs in the guest: races whose arms load policies or set what only a kernel of one's own lets one set. One line a
# check; exit code 1 if one failed.
. /check.sh
slice=/sys/kernel/debug/sched/base_slice_ns
preempt=/sys/kernel/debug/sched/preempt
state=/sys/kernel/sched_ext/state

has() { grep -q "$1" "$2"; }
loads() { cat /sys/kernel/sched_ext/enable_seq; }

# Policies. Six blocks of two arms, the first not counted.
before=$(loads)
goodness race /race/policies.toml --json /tmp/policies.json > /tmp/out 2>&1
check a_race_of_loaded_policies_is_decided [ $? -eq 0 ]
cat /tmp/out
check each_run_had_its_policy_loaded [ $(($(loads) - before)) -eq 12 ]
check by_nice_10_o1_takes_longer_than_taking_turns has '"verdict": *"worse"' /tmp/policies.json
check no_policy_is_left has disabled $state

# Settings. What the kernel offers is asked for: the mode that it does not have now.
found=$(cat $slice $preempt)
mode=$(tr ' ' '\n' < $preempt | grep -v '(' | head -n 1)
sed "s/MODE/$mode/" /race/settings.toml > /tmp/settings.toml
goodness race /tmp/settings.toml > /tmp/out 2>&1 &
race=$!
check the_base_slice_is_set comes 200 has '^20000000$' $slice
check the_preemption_mode_is_set comes 200 has "($mode)" $preempt
wait $race
code=$?
check a_race_of_settings_ends_well [ $code -eq 0 -o $code -eq 3 ]
check settings_are_as_they_were_found [ "$(cat $slice $preempt)" = "$found" ]

# Killed while a policy is loaded, and while a setting is set.
goodness race /race/policies.toml > /tmp/out 2>&1 &
check a_policy_is_loaded_before_the_race_is_killed comes 200 has enabled $state
kill -KILL $!
check a_killed_race_leaves_no_policy comes 50 has disabled $state
goodness race /tmp/settings.toml > /tmp/out 2>&1 &
check a_setting_is_set_before_the_race_is_killed comes 200 has '^20000000$' $slice
kill -KILL $!
as_found() { [ "$(cat $slice $preempt)" = "$found" ]; }
check a_killed_race_leaves_no_setting comes 50 as_found
goodness doctor > /tmp/out 2>&1
check doctor_finds_nothing_left [ $? -eq 0 ]
[ $failures -eq 0 ]
