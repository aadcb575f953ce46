//! The load generator against a minimal server with known behaviour.

use goodness_core::Span;
use goodness_race::load_generator::{Pattern, Settings, run};
use goodness_race::measure::{Measure, value};
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// A server with a thread per connection, which replies after `wait`, called with the number of the request.
fn server(answer: &'static [u8], wait: impl Fn(u64) + Send + Sync + 'static) -> u64 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    let wait = std::sync::Arc::new(wait);
    let count = std::sync::Arc::new(AtomicU64::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let (wait, count) = (wait.clone(), count.clone());
            std::thread::spawn(move || serve(stream, answer, |()| wait(count.fetch_add(1, Ordering::Relaxed))));
        }
    });
    u64::from(port)
}

fn serve(mut stream: TcpStream, answer: &[u8], wait: impl Fn(())) {
    let mut request = [0u8; 4096];
    while let Ok(bytes) = stream.read(&mut request) {
        if bytes == 0 {
            return;
        }
        wait(());
        let closes = String::from_utf8_lossy(&request[..bytes]).contains("Connection: close");
        if stream.write_all(answer).is_err() || closes {
            return;
        }
    }
}

const HELLO: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";

fn settings(port: u64) -> Settings {
    let (warmup, duration) = (Span::from_ms(50), Span::from_ms(500));
    Settings { port, connections: 4, keep_alive: true, warmup, duration, ..Settings::default() }
}

fn measured(settings: &Settings) -> Vec<Measure> {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    run(settings).unwrap_or_else(|why| panic!("{settings:?}: {why}"))
}

#[test]
fn a_planted_latency_of_20_ms_is_what_the_client_reports() {
    let port = server(HELLO, |_| std::thread::sleep(Duration::from_millis(20)));
    for keep_alive in [true, false] {
        let all = measured(&Settings { keep_alive, ..settings(port) });
        let (smallest, median) = (value(&all, "request_latency_min"), value(&all, "request_latency_p50"));
        assert!(smallest >= 20e6 && median < 30e6, "{smallest} {median}");
        assert!((4.0 * 1e9 / 30e6..=4.0 * 1e9 / 20e6).contains(&value(&all, "throughput")), "{all:?}");
    }
}

#[test]
fn a_closed_loop_asks_again_only_after_the_thinking_time() {
    let port = server(HELLO, |_| ());
    let all = measured(&Settings { think: Span::from_ms(20), duration: Span::from_s(1), ..settings(port) });
    // 200 a second; four standard deviations of the gaps' sum are 57.
    assert!((143.0..257.0).contains(&value(&all, "throughput")), "{}", value(&all, "throughput"));
}

#[test]
fn a_stall_is_seen_by_every_request_that_arrives_during_it() {
    // All connections stall from 200 to 300 ms after the first request.
    let begun: std::sync::OnceLock<Instant> = std::sync::OnceLock::new();
    let port = server(HELLO, move |_| {
        let since = begun.get_or_init(Instant::now).elapsed();
        let (from, until) = (Duration::from_millis(200), Duration::from_millis(300));
        if (from..until).contains(&since) {
            std::thread::sleep(until - since);
        }
    });
    let open = Settings { pattern: Pattern::Open, rate: 1000, ..settings(port) };
    let all = measured(&Settings { warmup: Span::ZERO, duration: Span::from_ms(500), ..open });
    // A fifth of the arrivals fall into the stall, and a tenth of all into its first half: they wait 50 ms and more.
    // Sent one by one when a connection is free, only four of 500 would seem slow, and p95 would be that of an idle
    // server.
    assert!(value(&all, "request_latency_p95") > 40e6, "{all:?}");
    assert!(value(&all, "request_latency_p50") < 20e6, "{all:?}");
}

#[test]
fn what_the_client_adds_against_a_server_that_answers_at_once_is_stated() {
    let port = server(HELLO, |_| ());
    let all = measured(&Settings { connections: 1, ..settings(port) });
    for name in ["throughput", "request_latency_min", "request_latency_p50", "request_latency_p99", "client_cpu_share"]
    {
        println!("null server, 1 connection: {name} {:.6}", value(&all, name));
    }
    // Two wake-ups and four system calls on any machine of this century, and a margin for a busy one.
    assert!(value(&all, "request_latency_p50") < 5e6);
    let cpu = value(&all, "client_cpu_share");
    assert!(cpu > 0.0 && cpu <= 1.05, "{cpu}");
}

#[test]
fn servers_that_close_refuse_or_talk_nonsense_are_reported() {
    let nonsense = server(b"SSH-2.0-nonsense\r\n\r\n", |_| ());
    let why = run(&settings(nonsense)).unwrap_err().0;
    assert!(why.contains("answered 0 requests") && why.contains("failed"), "{why}");
    let unused = TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a port").port();
    let why = run(&settings(u64::from(unused))).unwrap_err().0;
    assert!(why.contains("answered 0 requests"), "{why}");
}

#[test]
fn a_connection_that_the_server_closes_between_requests_is_opened_again() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let port = listener.local_addr().expect("bound").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0u8; 4096];
            // It says that it keeps the connection, and closes it.
            let _ = stream.read(&mut request).and_then(|_| stream.write_all(HELLO));
        }
    });
    let all = measured(&Settings { connections: 1, think: Span::from_ms(5), ..settings(u64::from(port)) });
    assert_eq!(value(&all, "failed_requests"), 0.0);
    assert!(value(&all, "throughput") > 50.0);
}
