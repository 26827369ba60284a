//! Any record of the metadata log (`org.apache.kafka.common.metadata.MetadataRecordType`).

use bytes::Bytes;

#[cfg(feature = "administration")]
use crate::wire::messages::administration::metadata_records::*;
use crate::wire::messages::metadata_records::*;
use crate::wire::{WireError, WireErrorKind, decode_record, encode_record, record_type};

macro_rules! metadata_records {
    ($($(#[$attribute:meta])* $variant:ident($record:ident) = $key:literal, version $version:literal;)*) => {
        #[derive(Debug, Clone, PartialEq)]
        pub enum MetadataRecord {
            $($(#[$attribute])* $variant($record),)*
        }

        impl MetadataRecord {
            /// The record's bytes in the version that metadata.version 30 (4.3-IV0) writes.
            pub fn encode(&self) -> Result<Bytes, WireError> {
                match self {
                    // Kafka writes fencing in the lowest version that has it.
                    MetadataRecord::BrokerRegistrationChange(record) if record.in_controlled_shutdown == 0 => {
                        encode_record(record, 0)
                    }
                    $($(#[$attribute])* MetadataRecord::$variant(record) => encode_record(record, $version),)*
                }
            }

            pub fn decode(value: &Bytes) -> Result<MetadataRecord, WireError> {
                match record_type(value)?.0 {
                    $($(#[$attribute])* $key => Ok(MetadataRecord::$variant(decode_record(value)?)),)*
                    key => Err(WireError { at: 1, field: "", kind: WireErrorKind::UnknownMessage { key } }),
                }
            }
        }

        $($(#[$attribute])* impl From<$record> for MetadataRecord {
            fn from(record: $record) -> MetadataRecord {
                MetadataRecord::$variant(record)
            }
        })*
    };
}

metadata_records! {
    RegisterBroker(RegisterBrokerRecord) = 0, version 4;
    UnregisterBroker(UnregisterBrokerRecord) = 1, version 0;
    Topic(TopicRecord) = 2, version 0;
    Partition(PartitionRecord) = 3, version 2;
    Config(ConfigRecord) = 4, version 0;
    PartitionChange(PartitionChangeRecord) = 5, version 2;
    FenceBroker(FenceBrokerRecord) = 7, version 0;
    UnfenceBroker(UnfenceBrokerRecord) = 8, version 0;
    RemoveTopic(RemoveTopicRecord) = 9, version 0;
    #[cfg(feature = "administration")]
    UserScramCredential(UserScramCredentialRecord) = 11, version 0;
    FeatureLevel(FeatureLevelRecord) = 12, version 0;
    #[cfg(feature = "administration")]
    ClientQuota(ClientQuotaRecord) = 14, version 0;
    ProducerIds(ProducerIdsRecord) = 15, version 0;
    BrokerRegistrationChange(BrokerRegistrationChangeRecord) = 17, version 1;
    NoOp(NoOpRecord) = 20, version 0;
    #[cfg(feature = "administration")]
    RemoveUserScramCredential(RemoveUserScramCredentialRecord) = 22, version 0;
    BeginTransaction(BeginTransactionRecord) = 23, version 0;
    EndTransaction(EndTransactionRecord) = 24, version 0;
    AbortTransaction(AbortTransactionRecord) = 25, version 0;
    RegisterController(RegisterControllerRecord) = 27, version 0;
    ClearElr(ClearElrRecord) = 28, version 0;
}
