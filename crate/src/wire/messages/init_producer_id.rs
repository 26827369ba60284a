//! InitProducerId (key 22).

use crate::wire::schema::message;

message! {
    /// Asks for a producer id, for idempotence or (with a transactional id) for transactions.
    pub struct InitProducerIdRequest: request 22, versions 0..=6, flexible 2.. {
        transactional_id: Option<String>,
        transaction_timeout_ms: i32,
        producer_id: i64 [3..] = -1,
        producer_epoch: i16 [3..] = -1,
        enable2_pc: bool [6..],
        keep_prepared_txn: bool [6..],
    }

    /// The producer id and epoch to use.
    pub struct InitProducerIdResponse: response 22, versions 0..=6, flexible 2.. {
        throttle_time_ms: i32 [ignorable],
        error_code: i16,
        producer_id: i64 = -1,
        producer_epoch: i16,
        ongoing_txn_producer_id: i64 [6..] = -1,
        ongoing_txn_producer_epoch: i16 [6..] = -1,
    }
}
