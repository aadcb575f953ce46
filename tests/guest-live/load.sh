# Runs in the guest, under a live policy: two hogs, and a loop of short-lived children that counts its laps. Their
# process numbers are in /tmp/pids, its own comes last.
hog() { while :; do :; done; }
hog & first=$!
hog & second=$!
{
    lap=0
    while sleep 0.02; do
        lap=$((lap + 1))
        echo $lap > /tmp/laps
    done
} &
echo $first $second $! $$ > /tmp/pids
wait
