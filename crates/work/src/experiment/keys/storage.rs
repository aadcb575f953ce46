//! Keys of disks, volumes, files, and the steps that use them.

use crate::key::{Key, key};

pub(in super::super) const ACCESS: &[Key] = &[
    key(
        "read",
        "text",
        "none",
        "file, disk or volume to read from; either read or write is required",
        r#"read = "log""#,
    ),
    key("write", "text", "none", "file, disk or volume to write to", r#"write = "log""#),
    key(
        "size",
        "size",
        "required",
        "bytes: whole pages of 4 KiB of a file, whole sectors of 512 B of a disk",
        r#"size = "128KiB""#,
    ),
    key(
        "at",
        r#"size, "next" or "random""#,
        r#""next""#,
        "where: behind the access before it, anywhere, or at a fixed byte",
        r#"at = "random""#,
    ),
    key(
        "wait",
        "true or false",
        "true",
        "false: goes on while the disk works; only for disks and volumes",
        r#"read = "sda"
size = "4KiB"
wait = false"#,
    ),
    key(
        "sync",
        "true or false",
        "false",
        "the request is synchronous for the elevator (a write of O_SYNC)",
        r#"write = "sda"
size = "4KiB"
sync = true"#,
    ),
];

pub(in super::super) const DISK: &[Key] = &[
    key("name", "text", "required", "name", r#"name = "sde""#),
    key("device", "text", "required", "model with settings (goodness list devices)", r#"device = "nvme""#),
    key(
        "elevator",
        "text",
        "that of the command",
        "elevator with settings (goodness list elevators), where the work fixes it",
        r#"elevator = "bfq""#,
    ),
    key(
        "wbt_lat",
        "time, at most 10s",
        "\"0\"",
        "read latency for which write-back is throttled, as wbt_lat_usec in Linux; 0: off",
        r#"wbt_lat = "2ms""#,
    ),
];

pub(in super::super) const VOLUME: &[Key] = &[
    key("name", "text", "required", "name", r#"name = "data""#),
    key(
        "layout",
        "linear, striped, mirrored or parity",
        r#""linear""#,
        "how blocks are laid out over the pieces",
        r#"layout = "mirrored""#,
    ),
    key(
        "chunk",
        "size",
        r#""64KiB""#,
        "bytes in a row on one disk, of the layouts striped and parity",
        r#"layout = "striped"
chunk = "4KiB""#,
    ),
    key("pieces", "list of tables", "required", "pieces of disks: section piece", r#"pieces = [ { disk = "sda" } ]"#),
];

pub(in super::super) const PIECE: &[Key] = &[
    key("disk", "text", "required", "name of the disk", r#"disk = "sdb""#),
    key("from", "size", "0", "where it begins", r#"from = "1MiB""#),
    key("size", "size", "the rest of the disk", "how large it is", r#"size = "1GiB""#),
];

pub(in super::super) const FILE: &[Key] = &[
    key("name", "text", "required", "name", r#"name = "table""#),
    key("volume", "text", "required", "disk or volume it is on", r#"volume = "sdb""#),
    key("size", "size, whole pages of 4 KiB", "required", "how large it is", r#"size = "1MiB""#),
    key("at", "size", "behind the file before it", "where it begins on the volume", r#"at = "8MiB""#),
    key(
        "pieces",
        "size, whole pages of 4 KiB",
        "in one piece",
        "size of its fragments, which lie in random order",
        r#"pieces = "64KiB""#,
    ),
    key(
        "spread",
        "whole number, 1 ..= 1000",
        "1",
        "room over which the fragments lie, in sizes of the file",
        r#"pieces = "64KiB"
spread = 2"#,
    ),
];
