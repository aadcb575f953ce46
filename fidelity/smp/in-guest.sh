#!/bin/sh
# Runs inside a guest: plays each line of /jobs, "LOAD SEED", as threads while scheduling events of the kernel are
# traced, and leaves the traces as a tar on the disk. Nothing reads a trace before the play has ended.
. /trace.sh
cgroups=/sys/fs/cgroup
echo +cpu +cpuset > $cgroups/cgroup.subtree_control
mkdir /tmp/out $cgroups/apart

# Gives each CPU the scheduling domains of a fresh boot: they remember how often a CPU without work found some, over
# thousands of looks, so plays would depend on those before them. A partition that comes and goes makes them anew.
renew_domains() {
    echo $(($(nproc) - 1)) > $cgroups/apart/cpuset.cpus
    for kind in root member; do
        echo $kind > $cgroups/apart/cpuset.cpus.partition
        [ "$(cat $cgroups/apart/cpuset.cpus.partition)" = $kind ] || { echo "no partition"; exit 1; }
    done
}

# make_groups FILE: lines "group NAME WEIGHT" of FILE become threaded cgroups below load/.
make_groups() {
    mkdir $cgroups/load
    while read -r what name weight; do
        [ "$what" = group ] || continue
        mkdir "$cgroups/load/$name"
        echo threaded > "$cgroups/load/$name/cgroup.type"
    done < "$1"
    echo +cpu > $cgroups/load/cgroup.subtree_control
    while read -r what name weight; do
        [ "$what" != group ] || echo "$weight" > "$cgroups/load/$name/cpu.weight"
    done < "$1"
}

# move_threads PID FILE: lines "task NAME GROUP" of FILE; NAME-0, NAME-1, … are tasks of that name.
move_threads() {
    for thread in /proc/"$1"/task/*; do
        read -r comm < "$thread/comm"
        while read -r what name group; do
            [ "$what" = task ] || continue
            case $comm in
                "$name" | "$name"-[0-9]*) echo "${thread##*/}" > "$cgroups/load/$group/cgroup.threads" ;;
            esac
        done < "$2"
    done
}

play() {
    if [ ! -e "/loads/$1.groups" ]; then
        goodness play "/loads/$1.toml" --seed "$2"
        return
    fi
    make_groups "/loads/$1.groups"
    sh -c "echo \$\$ > $cgroups/load/cgroup.procs; exec goodness play /loads/$1.toml --seed $2" &
    player=$!
    sleep 0.12
    move_threads $player "/loads/$1.groups"
    wait $player || return
    rmdir $cgroups/load/*/ $cgroups/load
}

sleep 3
while read -r load seed; do
    renew_domains
    echo > $trace/trace
    # Another phase of the tick for each run.
    sleep "$(printf 0.%03d "$seed")"
    echo 1 > $trace/tracing_on
    play "$load" "$seed" > /tmp/log 2>&1 < /dev/null || { cat /tmp/log; exit 1; }
    echo 0 > $trace/tracing_on
    cat $trace/trace > "/tmp/out/$load.$seed"
    lost=$(cat $trace/per_cpu/cpu*/stats | awk '/overrun|dropped/ { lost += $NF } END { print lost + 0 }')
    [ "$lost" = 0 ] || { echo "$load $seed: $lost events lost"; exit 1; }
    echo "$load $seed: $(wc -l < "/tmp/out/$load.$seed") lines"
done < /jobs
tar cf /dev/vda -C /tmp/out .
