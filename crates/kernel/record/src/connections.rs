//! TCP connections of processes, from `/proc`.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use serde::Serialize;

use super::tasks::{descendants, numbered};

/// State of an established connection in `/proc/net/tcp`.
const ESTABLISHED: &str = "01";

/// The connections of one process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Connections {
    /// The process.
    pub pid: i32,
    /// The most that were established at a time, of the times looked at.
    pub established: u32,
}

/// The most connections seen, by process.
#[derive(Debug, Default)]
pub struct MostConnections(BTreeMap<i32, u32>);

impl MostConnections {
    /// Counts the connections of `roots` and their descendants. Only those of the recorder's network namespace show.
    pub fn look_at_trees(&mut self, roots: impl IntoIterator<Item = i32>) {
        let tables = ["/proc/net/tcp", "/proc/net/tcp6"].map(|table| fs::read_to_string(table).unwrap_or_default());
        let sockets: BTreeSet<&str> = tables.iter().flat_map(|table| established(table)).collect();
        for process in roots.into_iter().flat_map(descendants).collect::<BTreeSet<i32>>() {
            let most = self.0.entry(process).or_default();
            *most = (*most).max(count(process, &sockets));
        }
    }

    /// Processes that had any.
    pub fn list(&self) -> Vec<Connections> {
        let some = self.0.iter().filter(|(_, established)| **established > 0);
        some.map(|(pid, established)| Connections { pid: *pid, established: *established }).collect()
    }
}

/// Inodes of the established connections in the text of a table. Field 3 is the state, field 9 the inode.
fn established(table: &str) -> impl Iterator<Item = &str> {
    table.lines().skip(1).filter_map(|line| {
        let mut fields = line.split_whitespace().skip(3);
        (fields.next()? == ESTABLISHED).then(|| fields.nth(5)).flatten()
    })
}

/// Number of `sockets` that `process` has open.
fn count(process: i32, sockets: &BTreeSet<&str>) -> u32 {
    let folder = Path::new("/proc").join(process.to_string()).join("fd");
    let is_one = |descriptor: &i32| {
        let target = fs::read_link(folder.join(descriptor.to_string())).unwrap_or_default();
        let inode = target.to_str().and_then(|it| it.strip_prefix("socket:[")).and_then(|it| it.strip_suffix(']'));
        inode.is_some_and(|inode| sockets.contains(inode))
    };
    numbered(&folder).iter().filter(|it| is_one(it)).count() as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn established_connections_are_told_from_listening_sockets() {
        let table = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n\
            0: 0100007F:46A1 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 101 1 0\n\
            1: 0100007F:46A1 0100007F:9C40 01 00000000:00000000 00:00000000 00000000     0        0 102 1 0\n";
        assert_eq!(established(table).collect::<Vec<_>>(), ["102"]);
    }

    #[test]
    fn the_connections_of_this_process_are_counted_at_their_most() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let own = std::process::id() as i32;
        let of_own =
            |most: &MostConnections| most.list().iter().find(|it| it.pid == own).map_or(0, |it| it.established);
        let mut most = MostConnections::default();
        most.look_at_trees([own]);
        let before = of_own(&most);
        let held: Vec<TcpStream> = (0..3).map(|_| TcpStream::connect(address).expect("a connection")).collect();
        most.look_at_trees([own]);
        let with = of_own(&most);
        drop(held);
        most.look_at_trees([own]);
        assert!(with >= before + 3 && of_own(&most) == with, "{before}, then {with}, then {}", of_own(&most));
    }
}
