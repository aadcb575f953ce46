//! Writing of files, through links, and next to files planted by others.

use super::*;
#[cfg(unix)]
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

fn entries(dir: &Path) -> Vec<String> {
    let names = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap());
    names.collect()
}

#[test]
fn a_file_replaces_its_predecessor_and_leaves_nothing_beside_it() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    write(&path, b"old").unwrap();
    write(&path, b"new").unwrap();
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
    assert_eq!(entries(dir.path()), ["report.html"]);
}

#[test]
fn a_failure_half_way_keeps_the_old_file_and_removes_the_half() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.html");
    write(&path, b"old").unwrap();
    let failure = write_with(&path, |out| {
        out.write_all(b"half")?;
        Err(io::Error::other("the source ran dry"))
    });
    assert!(failure.unwrap_err().contains("the source ran dry"));
    assert_eq!(std::fs::read(&path).unwrap(), b"old");
    assert_eq!(entries(dir.path()), ["report.html"]);
}

#[cfg(unix)]
#[test]
fn a_link_stays_a_link_and_what_it_names_is_replaced() {
    let dir = tempfile::tempdir().unwrap();
    let (path, link) = (dir.path().join("report.html"), dir.path().join("latest"));
    write(&path, b"old").unwrap();
    symlink(&path, &link).unwrap();
    write(&link, b"new").unwrap();
    assert!(std::fs::symlink_metadata(&link).unwrap().is_symlink());
    assert_eq!(std::fs::read(&path).unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn a_link_to_nothing_stays_a_link_and_the_file_is_made_where_it_leads() {
    let dir = tempfile::tempdir().unwrap();
    let (first, second) = (dir.path().join("latest"), dir.path().join("reports/newest"));
    std::fs::create_dir(dir.path().join("reports")).unwrap();
    symlink("reports/newest", &first).unwrap();
    symlink("../report.html", &second).unwrap();
    write(&first, b"new").unwrap();
    assert!([&first, &second].iter().all(|link| std::fs::symlink_metadata(link).unwrap().is_symlink()));
    assert_eq!(std::fs::read(dir.path().join("report.html")).unwrap(), b"new");
}

#[cfg(unix)]
#[test]
fn links_in_a_circle_are_refused_and_stay() {
    let dir = tempfile::tempdir().unwrap();
    let (one, other) = (dir.path().join("one"), dir.path().join("other"));
    symlink(&other, &one).unwrap();
    symlink("one", &other).unwrap();
    assert!(write(&one, b"new").unwrap_err().contains("leads to no end"));
    assert!(std::fs::symlink_metadata(&one).unwrap().is_symlink());
    assert_eq!(entries(dir.path()).len(), 2);
}

#[cfg(unix)]
#[test]
fn what_is_no_ordinary_file_is_written_to_and_not_replaced() {
    // A socket is special as a device is, and harmless to lose should the test fail.
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("socket");
    let _socket = std::os::unix::net::UnixListener::bind(&path).unwrap();
    assert!(is_special(&path));
    assert!(write(&path, b"new").unwrap_err().contains("cannot write"));
    assert!(is_special(&path), "the socket was replaced");
}

#[test]
fn a_path_that_cannot_be_written_is_named_with_a_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let missing = write(&dir.path().join("no/such/report.html"), b"").unwrap_err();
    assert!(missing.contains("no/such/report.html") && missing.contains("create its directory"), "{missing}");
    assert!(write(dir.path(), b"").unwrap_err().contains("is a directory"));
    assert!(write(Path::new("/"), b"").unwrap_err().contains("is a directory"));
    assert!(write(Path::new(""), b"").unwrap_err().contains("does not name a file"));
}

#[cfg(unix)]
fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

/// A folder like `/tmp` in which user 12345 has put `name`; `None`, with a message, without permission to change
/// owners.
#[cfg(unix)]
fn shared(name: &str, put: impl FnOnce(&Path)) -> Option<tempfile::TempDir> {
    let dir = tempfile::tempdir().unwrap();
    let planted = dir.path().join(name);
    put(&planted);
    if std::os::unix::fs::lchown(&planted, Some(12345), Some(12345)).is_err() {
        eprintln!("SKIPPED: other users' files in shared folders: needs root");
        return None;
    }
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o1777)).unwrap();
    Some(dir)
}

#[cfg(unix)]
#[test]
fn a_replaced_file_keeps_its_mode() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    for kept in [0o600, 0o640, 0o664] {
        std::fs::write(&path, "old").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(kept)).unwrap();
        write(&path, b"new").unwrap();
        assert_eq!((mode(&path), std::fs::read(&path).unwrap()), (kept, b"new".to_vec()));
    }
}

#[cfg(unix)]
#[test]
fn a_file_that_replaces_another_is_never_more_readable_than_that() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    std::fs::write(&path, "old").unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    let pending = Pending::create(&path, "partial".as_ref(), Access::Usual).unwrap();
    assert_eq!(mode(pending.path()), 0o600);
    let private = Pending::create(&dir.path().join("new"), "other".as_ref(), Access::Private).unwrap();
    assert_eq!(mode(private.path()), 0o600);
    drop((pending, private));
    assert_eq!(entries(dir.path()), ["report.json"]);
}

#[cfg(unix)]
#[test]
fn a_link_that_another_user_planted_is_refused_and_what_it_names_stays() {
    let private = tempfile::tempdir().unwrap();
    let secret = private.path().join("secret");
    std::fs::write(&secret, "keep").unwrap();
    std::fs::set_permissions(&secret, std::fs::Permissions::from_mode(0o600)).unwrap();
    let Some(dir) = shared("report.json", |at| symlink(&secret, at).unwrap()) else { return };
    let why = write(&dir.path().join("report.json"), b"new").unwrap_err();
    assert!(why.contains("a link that user 12345 has put"), "{why}");
    assert_eq!((std::fs::read(&secret).unwrap(), mode(&secret)), (b"keep".to_vec(), 0o600));
    // Also when it is the second of two links, the first being our own.
    let first = private.path().join("first");
    symlink(dir.path().join("report.json"), &first).unwrap();
    assert!(write(&first, b"new").is_err());
    // A link to a device is a link too.
    std::fs::remove_file(dir.path().join("report.json")).unwrap();
    symlink("/dev/null", dir.path().join("report.json")).unwrap();
    write(&dir.path().join("report.json"), b"new").expect("our own link");
    std::os::unix::fs::lchown(dir.path().join("report.json"), Some(12345), None).unwrap();
    assert!(write(&dir.path().join("report.json"), b"new").is_err());
}

#[cfg(unix)]
#[test]
fn another_users_file_in_a_shared_folder_is_not_filled() {
    let Some(dir) = shared("report.json", |at| std::fs::write(at, "theirs").unwrap()) else { return };
    let path = dir.path().join("report.json");
    let why = write(&path, b"new").unwrap_err();
    assert!(why.contains("belongs to user 12345"), "{why}");
    assert_eq!(std::fs::read(&path).unwrap(), b"theirs");
    assert_eq!(entries(dir.path()), ["report.json"]);
}

#[cfg(unix)]
#[test]
fn root_replaces_a_file_in_its_own_folder_and_its_owner_stays() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    std::fs::write(&path, "old").unwrap();
    if chown(&path, Some(12345), Some(54321)).is_err() {
        return eprintln!("SKIPPED: owners that are kept: needs root");
    }
    write(&path, b"new").unwrap();
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid()), (12345, 54321));
}

#[cfg(unix)]
#[test]
fn a_new_file_belongs_to_who_called_sudo() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("report.json");
    let writer = folder::Writer { user: 0, caller: Some((12345, 54321)) };
    if folder::Writer::here().user != 0 {
        return eprintln!("SKIPPED: files for who called sudo: needs root");
    }
    let pending = Pending::create_for(writer, &path, "partial".as_ref(), Access::Usual).unwrap();
    pending.finish().unwrap();
    let found = std::fs::metadata(&path).unwrap();
    assert_eq!((found.uid(), found.gid()), (12345, 54321));
    assert_eq!(entries(dir.path()), ["report.json"]);
}
