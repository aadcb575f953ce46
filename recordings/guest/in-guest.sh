#!/bin/sh
# Runs inside a guest: makes the recordings named in /suite/names and leaves them, with the clients' reports, as a tar
# on the disk. scripts/make-guest-recordings says what is in /suite.
out=/tmp/out
mkdir -p $out /tmp/log

fail() { echo "error: $*" >&2; tail -n 5 /tmp/log/server "/tmp/log/$name" >&2; exit 1; }

# wait_for PORT
wait_for() {
    for _ in $(seq 200); do
        grep -q "$(printf ':%04X 00000000:0000 0A' "$1")" /proc/net/tcp && return 0
        sleep 0.1
    done
    fail "the server on port $1 did not come up"
}

# serve PORT COMMAND…: starts a server, until `record` has ended.
serve() {
    local port=$1
    shift
    "$@" > /tmp/log/server 2>&1 < /dev/null &
    server=$!
    wait_for "$port"
    sleep 0.5
}

# record NAME OPTION… -- COMMAND…
record() {
    local name=$1
    shift
    goodness record -o "$out/$name.gz" "$@" > "/tmp/log/$name" 2>&1 < /dev/null || fail "$name"
    [ -z "$server" ] || { kill "$server"; wait "$server" 2> /dev/null; }
    server=
    zcat "$out/$name.gz" | sed -n 's/.*"exit":\({[^}]*}\|null\).*/\1/p' | head -n 1 > /tmp/exit
    case $(cat /tmp/exit) in
        '{"code":0}' | null) ;;
        *) cat "/tmp/log/$name"; fail "$name ended with $(cat /tmp/exit)" ;;
    esac
    echo "$name: $(wc -c < "$out/$name.gz") bytes"
}

# nginx_under_wrk NAME WORKERS THREADS CONNECTIONS SECONDS
nginx_under_wrk() {
    serve 18081 nginx -p /tmp -c /suite/nginx.conf -g "daemon off; worker_processes $2;"
    record "$1" --messages --comm nginx -- env CONNECTIONS="$4" wrk --latency \
        -s /suite/wrk-report.lua -H 'Accept-Encoding: gzip' -t "$3" \
        -c "$4" -d "$5" http://127.0.0.1:18081/index.html
    sed -n 's/^REPORT //p' "/tmp/log/$1" > "$out/$1.csv"
}

# redis_under_benchmark NAME IO_THREADS OPTION…
redis_under_benchmark() {
    local name=$1 threads=$2
    shift 2
    serve 16379 redis-server --port 16379 --save '' --appendonly no --io-threads "$threads" --io-threads-do-reads yes
    record "$name" --comm redis-server -- redis-benchmark -p 16379 -t get --csv "$@"
    grep '^"' "/tmp/log/$name" > "$out/$name.csv"
}

# postgres_under_pgbench NAME CLIENTS SECONDS: statement by statement, a thread of the client for each connection.
postgres_under_pgbench() {
    [ -d /tmp/pg ] || { cp -a /suite/pg /tmp/pg && chown -R postgres /tmp/pg && chmod 700 /tmp/pg; } || fail cp
    serve 15432 su -s /bin/sh postgres -c "exec /usr/lib/postgresql/15/bin/postgres -D /tmp/pg -p 15432 \
        -h 127.0.0.1 -k /tmp -c fsync=off -c shared_buffers=32MB -c autovacuum=off"
    record "$1" --comm postgres -- pgbench -h 127.0.0.1 -p 15432 -U postgres -n -c "$2" -j "$2" -T "$3" -s 1 bench
}

# memcached_under_slap NAME: four threads of the server, six of the client.
memcached_under_slap() {
    serve 11211 memcached -u root -t 4 -m 16
    record "$1" --comm memcached -- memcslap --servers=127.0.0.1:11211 --concurrency=6 --execute-number=800 --test=get
}

# build NAME: `make -j4` of twelve small files of C.
build() {
    mkdir -p /tmp/build
    for n in $(seq 12); do
        for m in $(seq 10); do echo "int f${n}_$m(int x) { return x * $m + (x >> ($m % 7)); }"; done \
            > "/tmp/build/$n.c"
    done
    printf '%%.o: %%.c\n\t/usr/bin/gcc -O1 -ffreestanding -c -o $@ $<\nall: %s\n' \
        "$(seq -s ' ' 12 | sed 's/\([0-9]\+\)/\1.o/g')" \
        > /tmp/build/Makefile
    rm -f /tmp/build/*.o
    record "$1" -- make -s -j4 -C /tmp/build all
}

make_one() {
    case $1 in
        nginx-wrk-t1c8) nginx_under_wrk "$1" 1 1 8 1s ;;
        nginx-wrk-t2c16-2cpu) nginx_under_wrk "$1" 2 2 16 1s ;;
        redis-pipeline-16) redis_under_benchmark "$1" 1 --threads 4 -c 4 -P 16 -n 96000 ;;
        redis-io-threads-2cpu) redis_under_benchmark "$1" 3 --threads 8 -c 8 -n 6000 ;;
        postgres-statements-4) postgres_under_pgbench "$1" 4 1 ;;
        postgres-statements-4-2cpu) postgres_under_pgbench "$1" 4 1 ;;
        memcached-6) memcached_under_slap "$1" ;;
        sysbench-threads-6) record "$1" -d 200ms -- sysbench threads --threads=6 --thread-locks=3 \
            --thread-yields=50 --time=1 run ;;
        go-pool*) record "$1" -d 2s -- env GOMAXPROCS=4 /suite/pool ;;
        python-pool) record "$1" -d 2s -- /usr/bin/python3.11 /suite/pool.py ;;
        periodic) record "$1" -d 2s -- /suite/periodic 3 ;;
        pipe-filters) record "$1" --messages -- sh -c \
            'seq 4000 | awk "{ print \$1 * \$1 }" | grep -v 77 | sha256sum' ;;
        pigz-4*) record "$1" -- sh -c 'for n in $(seq 60); do cat /suite/text; done | pigz -p 4 | sha256sum' ;;
        make-j4) build "$1" ;;
        *) fail "no recording is called \"$1\"" ;;
    esac
}

sleep 3
failed=0
for name in $(cat /suite/names); do
    (trap '[ -z "$server" ] || kill "$server" 2> /dev/null' EXIT; make_one "$name") || failed=1
done
tar cf /dev/vda -C $out .
exit $failed
