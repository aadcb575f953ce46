#!/bin/sh
# Runs inside a guest: records each line of /jobs, "NAME LOAD BASE_SLICE STRETCH EDITS…" (BASE_SLICE in ns, "-" for the
# kernel's own; STRETCH in per cent, of the kernel's slice and of the recording's length), and leaves the recordings as
# a tar on the disk.
slices=/sys/kernel/debug/sched/base_slice_ns
[ ! -e "$slices" ] || own=$(cat "$slices")
mkdir /tmp/out
while read -r name load slice stretch edits; do
    [ "$stretch" = 100 ] || slice=$((own * stretch / 100))
    [ "$slice" = - ] || echo "$slice" > "$slices" || exit 1
    goodness record -o "/tmp/out/$name.gz" -d "$((20 * stretch))ms" -- \
        goodness play "/loads/$load.toml" -d "$((22 * stretch))ms" --arm "$edits" > /tmp/log 2>&1 < /dev/null ||
        { cat /tmp/log; exit 1; }
    gzip -dc "/tmp/out/$name.gz" | grep -q '"exit":null' || { cat /tmp/log; exit 1; }
    while pidof goodness > /dev/null; do sleep 0.1; done
    [ "$slice" = - ] || echo "$own" > "$slices"
    echo "$name: $(wc -c < "/tmp/out/$name.gz") bytes"
done < /jobs
tar cf /dev/vda -C /tmp/out .
