//! The small files that tell whose directory this is: `meta.properties`, `.kafka_cleanshutdown` and each partition's
//! `partition.metadata`.

use crate::disk::{Disk, DiskError, read_file};
use crate::wire::Uuid;

const META_PROPERTIES: &str = "meta.properties";
const CLEAN_SHUTDOWN: &str = ".kafka_cleanshutdown";
const PARTITION_METADATA: &str = "partition.metadata";

/// Why one of these files is of no use: where, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DirectoryError {
    Disk(DiskError),
    Malformed { path: String, expected: &'static str },
}

impl std::fmt::Display for DirectoryError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DirectoryError::Disk(error) => error.fmt(f),
            DirectoryError::Malformed { path, expected } => write!(f, "{path}: expected {expected}"),
        }
    }
}

impl std::error::Error for DirectoryError {}

impl From<DiskError> for DirectoryError {
    fn from(error: DiskError) -> DirectoryError {
        DirectoryError::Disk(error)
    }
}

/// Reads a file that may be missing.
fn read_optional(disk: &mut dyn Disk, path: &str) -> Result<Option<String>, DirectoryError> {
    match read_file(disk, path) {
        Ok(bytes) => match String::from_utf8(bytes.to_vec()) {
            Ok(text) => Ok(Some(text)),
            Err(_) => Err(DirectoryError::Malformed { path: path.to_owned(), expected: "text" }),
        },
        Err(DiskError::NotFound { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// The value of `key` in lines `key<separator>value`; comments start with `#`.
fn value_of<'a>(text: &'a str, separator: char, key: &str) -> Option<&'a str> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(separator)).find(|(k, _)| k.trim() == key).map(|(_, v)| v.trim())
}

/// `meta.properties`, version 1 (MetaProperties). Ids are Kafka's 22-character text of a UUID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetaProperties {
    pub cluster_id: String,
    pub node_id: i32,
    pub directory_id: String,
}

impl MetaProperties {
    /// `None` if the directory was never formatted.
    pub fn read(disk: &mut dyn Disk) -> Result<Option<MetaProperties>, DirectoryError> {
        let Some(text) = read_optional(disk, META_PROPERTIES)? else { return Ok(None) };
        let malformed = |expected| DirectoryError::Malformed { path: META_PROPERTIES.to_owned(), expected };
        if value_of(&text, '=', "version") != Some("1") {
            return Err(malformed("version=1"));
        }
        let cluster_id = value_of(&text, '=', "cluster.id").ok_or(malformed("cluster.id=…"))?;
        let node_id = value_of(&text, '=', "node.id").and_then(|id| id.parse().ok());
        let directory_id = value_of(&text, '=', "directory.id").ok_or(malformed("directory.id=…"))?;
        Ok(Some(MetaProperties {
            cluster_id: cluster_id.to_owned(),
            node_id: node_id.ok_or(malformed("node.id=<a number>"))?,
            directory_id: directory_id.to_owned(),
        }))
    }

    /// Formats the directory. Keys are sorted and Kafka's comment with the time is left out, so that equal
    /// directories have equal bytes.
    pub fn write(&self, disk: &mut dyn Disk) -> Result<(), DiskError> {
        let MetaProperties { cluster_id, node_id, directory_id } = self;
        let text = format!("cluster.id={cluster_id}\ndirectory.id={directory_id}\nnode.id={node_id}\nversion=1\n");
        disk.replace(META_PROPERTIES, text.as_bytes())
    }
}

/// `partition.metadata`: which topic a partition's directory belongs to (PartitionMetadataFile).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartitionMetadata {
    /// 22 characters.
    pub topic_id: String,
}

impl PartitionMetadata {
    pub fn read(disk: &mut dyn Disk, directory: &str) -> Result<Option<PartitionMetadata>, DirectoryError> {
        let path = format!("{directory}/{PARTITION_METADATA}");
        let Some(text) = read_optional(disk, &path)? else { return Ok(None) };
        match (value_of(&text, ':', "version"), value_of(&text, ':', "topic_id")) {
            (Some("0"), Some(topic_id)) if topic_id.parse::<Uuid>().is_ok() => {
                Ok(Some(PartitionMetadata { topic_id: topic_id.to_owned() }))
            }
            _ => Err(DirectoryError::Malformed { path, expected: "`version: 0` and `topic_id: <22 characters>`" }),
        }
    }

    pub fn write(&self, disk: &mut dyn Disk, directory: &str) -> Result<(), DiskError> {
        let text = format!("version: 0\ntopic_id: {}", self.topic_id);
        disk.replace(&format!("{directory}/{PARTITION_METADATA}"), text.as_bytes())
    }
}

/// Leaves the mark of a clean stop (CleanShutdownFileHandler), after all logs were closed.
pub fn write_clean_shutdown(disk: &mut dyn Disk, broker_epoch: i64) -> Result<(), DiskError> {
    disk.replace(CLEAN_SHUTDOWN, format!("{{\"version\":0,\"brokerEpoch\":{broker_epoch}}}").as_bytes())
}

/// Tells whether the last stop was clean, and takes the mark away: a crash from now on is one. Gives the broker epoch
/// of that stop, −1 if the file does not tell, as in Kafka.
pub fn consume_clean_shutdown(disk: &mut dyn Disk) -> Result<Option<i64>, DirectoryError> {
    let Some(text) = read_optional(disk, CLEAN_SHUTDOWN)? else { return Ok(None) };
    disk.remove(CLEAN_SHUTDOWN)?;
    let epoch = text.split_once("\"brokerEpoch\":").map(|(_, rest)| rest.trim_start());
    let epoch = epoch.and_then(|rest| rest.split(|c: char| c != '-' && !c.is_ascii_digit()).next()?.parse().ok());
    Ok(Some(epoch.unwrap_or(-1)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::MemoryDisk;

    #[test]
    fn meta_properties_come_back_and_kafkas_own_are_read() {
        let mut disk = MemoryDisk::new();
        assert_eq!(MetaProperties::read(&mut disk), Ok(None));
        let meta = MetaProperties {
            cluster_id: "MkU3OEVBNTcwNTJENDM2Qk".into(),
            node_id: 1,
            directory_id: "J8aAPcfLQt2bqs1JT_rMgQ".into(),
        };
        meta.write(&mut disk).unwrap();
        assert_eq!(MetaProperties::read(&mut disk), Ok(Some(meta.clone())));
        let kafkas = "#\n#Mon Nov 30 00:00:00 UTC 2026\ncluster.id=MkU3OEVBNTcwNTJENDM2Qk\n\
                      directory.id=J8aAPcfLQt2bqs1JT_rMgQ\nnode.id=1\nversion=1\n";
        disk.replace("meta.properties", kafkas.as_bytes()).unwrap();
        assert_eq!(MetaProperties::read(&mut disk), Ok(Some(meta)));
    }

    #[test]
    fn a_wrong_meta_properties_says_what_is_expected() {
        let mut disk = MemoryDisk::new();
        disk.replace("meta.properties", b"version=1\ncluster.id=x\nnode.id=one\ndirectory.id=y\n").unwrap();
        let error = MetaProperties::read(&mut disk).unwrap_err();
        assert_eq!(error.to_string(), "meta.properties: expected node.id=<a number>");
    }

    #[test]
    fn the_mark_of_a_clean_stop_is_good_for_one_start() {
        let mut disk = MemoryDisk::new();
        write_clean_shutdown(&mut disk, 17).unwrap();
        assert_eq!(consume_clean_shutdown(&mut disk), Ok(Some(17)));
        assert_eq!(consume_clean_shutdown(&mut disk), Ok(None));
    }

    #[test]
    fn a_partition_knows_its_topic() {
        let mut disk = MemoryDisk::new();
        let metadata = PartitionMetadata { topic_id: "J8aAPcfLQt2bqs1JT_rMgQ".into() };
        metadata.write(&mut disk, "t-0").unwrap();
        assert_eq!(PartitionMetadata::read(&mut disk, "t-0"), Ok(Some(metadata)));
        assert_eq!(PartitionMetadata::read(&mut disk, "t-1"), Ok(None));
        // Half an id is no other topic's: the directory must not be put aside for it.
        disk.replace("t-0/partition.metadata", b"version: 0\ntopic_id: J8aAPcfL").unwrap();
        assert!(matches!(PartitionMetadata::read(&mut disk, "t-0"), Err(DirectoryError::Malformed { .. })));
    }
}
