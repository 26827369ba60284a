//! A few bytes that say they are many.

use bytes::Bytes;
use steplog::record::{Batch, BatchBuilder, Codec, ProducerIdentity, RECORD_BATCH_OVERHEAD};

/// A frame of blocks that each say: one byte, 131072 times.
pub fn zstd(blocks: usize) -> Vec<u8> {
    let mut frame = vec![0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x58];
    for block in 1..=blocks {
        let header = (131_072u32 << 3) | (1 << 1) | u32::from(block == blocks);
        frame.extend_from_slice(&header.to_le_bytes()[..3]);
        frame.push(0);
    }
    frame
}

/// The same as a batch that says it has one record.
pub fn batch(blocks: usize) -> Batch<Bytes> {
    let mut one = BatchBuilder::new();
    one.append(0, None, None, std::iter::empty());
    let mut batch = one.build(ProducerIdentity::NONE)[..RECORD_BATCH_OVERHEAD].to_vec();
    batch.extend_from_slice(&zstd(blocks));
    let length = (batch.len() - 12) as u32;
    batch[8..12].copy_from_slice(&length.to_be_bytes());
    batch[22] = Codec::Zstd as u8;
    let mut batch = Batch::new(batch).expect("a batch");
    // Sets the CRC right.
    batch.set_producer(ProducerIdentity::NONE);
    Batch::new(batch.into_bytes().into()).expect("a batch")
}
