//! How Kafka names the files and directories of a log (LogFileUtils).

/// Of one segment.
pub const LOG_SUFFIX: &str = ".log";
pub(super) const INDEX_SUFFIX: &str = ".index";
pub(super) const TIME_INDEX_SUFFIX: &str = ".timeindex";
pub(super) const TXN_INDEX_SUFFIX: &str = ".txnindex";
pub(super) const SNAPSHOT_SUFFIX: &str = ".snapshot";
/// What a compaction leaves while it is under way, and what waits for its removal.
pub(super) const LEFTOVER_SUFFIXES: [&str; 2] = [".cleaned", ".deleted"];
/// Of a directory whose topic was deleted, and of one that belongs to no topic.
pub const DELETE_SUFFIX: &str = "-delete";
pub const STRAY_SUFFIX: &str = "-stray";
/// What file systems allow.
const NAME_BYTES_MAX: usize = 255;
/// A compacted segment that is complete and takes the place of others.
pub(super) const SWAP_SUFFIX: &str = ".swap";

/// `directory/00000000000000000042.log`
pub fn segment_file(directory: &str, base_offset: i64, suffix: &str) -> String {
    format!("{directory}/{base_offset:020}{suffix}")
}

/// The offset in a file's name, if the name is one of a segment's with this suffix.
pub(super) fn offset_of(name: &str, suffix: &str) -> Option<i64> {
    let digits = name.strip_suffix(suffix)?;
    let plain = digits.len() == 20 && digits.bytes().all(|byte| byte.is_ascii_digit());
    if plain { digits.parse().ok() } else { None }
}

/// A partition's directory below the log directory: `topic-partition`.
pub fn log_directory_name(topic: &str, partition: i32) -> String {
    format!("{topic}-{partition}")
}

/// Where a partition's directory is put aside: to be deleted, or since nobody knows whose it is. Unique by its id, and as
/// long as a name may be (`LogManager.logDeleteDirName`).
pub fn log_directory_put_aside(topic: &str, partition: i32, id: [u8; 16], suffix: &str) -> String {
    let id: String = id.iter().map(|byte| format!("{byte:02x}")).collect();
    let rest = format!("-{partition}.{id}{suffix}");
    let topic = topic.get(..topic.len().min(NAME_BYTES_MAX - rest.len().min(NAME_BYTES_MAX))).unwrap_or(topic);
    format!("{topic}{rest}")
}

/// The reverse of [`log_directory_name`]; `None` for names that are no partition's, such as `topic-0.…-delete` or `topic-0.…-stray`.
pub fn parse_log_directory_name(name: &str) -> Option<(&str, i32)> {
    let (topic, partition) = name.rsplit_once('-')?;
    let plain = !topic.is_empty() && partition.bytes().all(|byte| byte.is_ascii_digit());
    if plain { Some((topic, partition.parse().ok()?)) } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_segment_file_is_named_by_twenty_digits() {
        assert_eq!(segment_file("t-0", 42, LOG_SUFFIX), "t-0/00000000000000000042.log");
        assert_eq!(offset_of("00000000000000000042.log", LOG_SUFFIX), Some(42));
        assert_eq!(offset_of("00000000000000000042.log.deleted", LOG_SUFFIX), None);
        assert_eq!(offset_of("42.log", LOG_SUFFIX), None);
        assert_eq!(offset_of("99999999999999999999.log", LOG_SUFFIX), None);
    }

    #[test]
    fn topics_may_contain_dashes() {
        assert_eq!(parse_log_directory_name("one-by-one-3"), Some(("one-by-one", 3)));
        assert_eq!(parse_log_directory_name("__cluster_metadata-0"), Some(("__cluster_metadata", 0)));
        assert_eq!(parse_log_directory_name("t-0.d5b3d4ea00bf4bdb8bd3a1cb0e2c2b5e-delete"), None);
        let aside = log_directory_put_aside(&"t".repeat(249), 7, [0xab; 16], DELETE_SUFFIX);
        assert_eq!((aside.len(), parse_log_directory_name(&aside)), (255, None));
        assert!(aside.ends_with("t-7.abababababababababababababababab-delete"), "{aside}");
        assert_eq!(parse_log_directory_name("plain"), None);
        assert_eq!(parse_log_directory_name("-0"), None);
    }
}
