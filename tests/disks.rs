//! What the log relies on in a disk, asked of both disks: the one in memory and the one of files.
#![cfg(not(target_arch = "wasm32"))]

use bytes::Bytes;
use steplog::disk::{Disk, DiskError, MemoryDisk, Slice, read_file};
use steplog::native::file_disk::FileDisk;

fn on_both(test: impl Fn(&mut dyn Disk)) {
    test(&mut MemoryDisk::new());
    let directory = tempfile::tempdir().unwrap();
    test(&mut FileDisk::open(directory.path()).unwrap());
}

fn bytes_of(slice: Slice) -> Bytes {
    match slice {
        Slice::Bytes(bytes) => bytes,
        Slice::File(range) => {
            let mut bytes = vec![0; range.len as usize];
            range.source.read_at(range.position, &mut bytes).unwrap();
            bytes.into()
        }
    }
}

#[test]
fn appended_parts_are_read_back_in_order() {
    on_both(|disk| {
        let file = disk.open("t-0/a.log", true).unwrap();
        disk.append(file, &[b"head", b"", b"er"]).unwrap();
        disk.append(file, &[b"records"]).unwrap();
        assert_eq!(disk.len(file), Ok(13));
        assert_eq!(disk.read(file, 0, 6).unwrap(), "header");
        assert_eq!(disk.read(file, 6, 100).unwrap(), "records");
        assert_eq!(disk.read(file, 13, 1).unwrap(), "");
        assert_eq!(bytes_of(disk.slice(file, 4, 5).unwrap()), "errec");
    });
}

#[test]
fn large_files_are_read_across_all_seams() {
    on_both(|disk| {
        let file = disk.open("big", true).unwrap();
        let all: Vec<u8> = (0..200_000u32).map(|i| (i % 251) as u8).collect();
        for piece in all.chunks(7_001) {
            disk.append(file, &[piece]).unwrap();
        }
        for (position, len) in [(0, 200_000), (16_383, 2), (16_384, 16_384), (6_999, 50_000), (199_999, 1)] {
            let expected = &all[position..position + len];
            assert_eq!(disk.read(file, position as u64, len as u64).unwrap(), expected, "{position} {len}");
        }
    });
}

#[test]
fn a_preallocated_file_reads_as_zeros_until_it_is_written_and_can_be_trimmed() {
    on_both(|disk| {
        let file = disk.open("t-0/a.index", true).unwrap();
        disk.set_len(file, 10_485_760).unwrap();
        disk.write_at(file, 0, b"first---").unwrap();
        disk.write_at(file, 8, b"second--").unwrap();
        assert_eq!(disk.len(file), Ok(10_485_760));
        assert_eq!(disk.read(file, 4, 16).unwrap(), &b"t---second--\0\0\0\0"[..]);
        disk.set_len(file, 16).unwrap();
        assert_eq!(disk.read(file, 0, 100).unwrap(), "first---second--");
        disk.write_at(file, 4, b"!!").unwrap();
        assert_eq!(disk.read(file, 0, 100).unwrap(), "firs!!--second--");
        disk.append(file, &[b"third"]).unwrap();
        assert_eq!(disk.read(file, 8, 100).unwrap(), "second--third");
    });
}

#[test]
fn an_append_after_a_cut_comes_right_after_what_is_left() {
    on_both(|disk| {
        let file = disk.open("a", true).unwrap();
        disk.append(file, &[b"kept and torn"]).unwrap();
        disk.set_len(file, 4).unwrap();
        disk.append(file, &[b"!"]).unwrap();
        assert_eq!(disk.read(file, 0, 100).unwrap(), "kept!");
    });
}

#[test]
fn a_removed_file_stays_readable_for_who_has_it_open() {
    on_both(|disk| {
        let file = disk.open("t-0/a.log", true).unwrap();
        disk.append(file, &[b"still here"]).unwrap();
        let slice = disk.slice(file, 0, 10).unwrap();
        disk.remove("t-0").unwrap();
        assert!(!disk.exists("t-0/a.log"));
        assert_eq!(bytes_of(slice), "still here");
        assert_eq!(disk.read(file, 6, 4).unwrap(), "here");
        disk.close(file);
        disk.remove("t-0").unwrap();
    });
}

#[test]
fn directories_list_their_children_sorted() {
    on_both(|disk| {
        for path in ["b-0/2.log", "b-0/1.log", "a-0/1.log", "meta.properties"] {
            let file = disk.open(path, true).unwrap();
            disk.close(file);
        }
        assert_eq!(disk.list("").unwrap(), ["a-0", "b-0", "meta.properties"]);
        assert_eq!(disk.list("b-0").unwrap(), ["1.log", "2.log"]);
        assert_eq!(disk.list("c-0").unwrap(), [""; 0]);
        assert!(disk.exists("b-0"));
        disk.rename("b-0", "b-0.deleted-delete").unwrap();
        assert_eq!(disk.list("b-0.deleted-delete").unwrap(), ["1.log", "2.log"]);
        assert!(!disk.exists("b-0"));
    });
}

#[test]
fn a_replaced_file_holds_the_new_bytes_only() {
    on_both(|disk| {
        disk.replace("t-0/checkpoint", b"a long first version").unwrap();
        disk.replace("t-0/checkpoint", b"short").unwrap();
        assert_eq!(read_file(disk, "t-0/checkpoint").unwrap(), "short");
        assert_eq!(disk.list("t-0").unwrap(), ["checkpoint"]);
    });
}

#[test]
fn a_missing_file_is_an_error_that_names_it() {
    on_both(|disk| {
        assert_eq!(disk.open("t-0/x", false), Err(DiskError::NotFound { path: "t-0/x".into() }));
        assert!(disk.rename("x", "y").is_err());
    });
}

#[test]
fn a_second_process_is_locked_out_of_a_directory() {
    let directory = tempfile::tempdir().unwrap();
    let first = FileDisk::open(directory.path()).unwrap();
    assert!(matches!(FileDisk::open(directory.path()), Err(DiskError::Locked { .. })));
    drop(first);
    FileDisk::open(directory.path()).unwrap();
}

#[test]
fn a_full_disk_keeps_what_it_had() {
    let mut disk = MemoryDisk::new();
    let file = disk.open("a", true).unwrap();
    disk.append(file, &[b"12345678"]).unwrap();
    disk.set_capacity(Some(10));
    assert_eq!(disk.append(file, &[b"9", b"10"]), Err(DiskError::Full { path: "a".into() }));
    assert_eq!(disk.read(file, 0, 100).unwrap(), "12345678");
    disk.set_capacity(None);
    disk.append(file, &[b"9"]).unwrap();
}

#[test]
fn a_killed_process_loses_nothing_and_a_power_cut_what_was_not_flushed() {
    let mut disk = MemoryDisk::new();
    let file = disk.open("a", true).unwrap();
    disk.append(file, &[b"flushed"]).unwrap();
    disk.flush(file).unwrap();
    disk.append(file, &[b" and written"]).unwrap();
    disk.replace("checkpoint", b"durable").unwrap();
    let mut killed = disk.clone();
    killed.process_kill();
    assert!(killed.read(file, 0, 1).is_err());
    assert_eq!(read_file(&mut killed, "a").unwrap(), "flushed and written");
    disk.power_cut();
    assert_eq!(read_file(&mut disk, "a").unwrap(), "flushed");
    assert_eq!(read_file(&mut disk, "checkpoint").unwrap(), "durable");
}

#[test]
fn clones_of_a_disk_do_not_see_each_other() {
    let mut disk = MemoryDisk::new();
    let file = disk.open("a", true).unwrap();
    disk.append(file, &[b"common"]).unwrap();
    let mut branch = disk.clone();
    branch.append(file, &[b" branch"]).unwrap();
    disk.append(file, &[b" trunk"]).unwrap();
    assert_eq!(disk.read(file, 0, 100).unwrap(), "common trunk");
    assert_eq!(branch.read(file, 0, 100).unwrap(), "common branch");
}
