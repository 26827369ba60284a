//! buffer.memory: how many bytes all batches together may hold (Kafka's BufferPool, without its free list).

use crate::node::Exception;

#[derive(Debug, Clone)]
pub(super) struct BufferPool {
    total: u64,
    available: u64,
}

impl BufferPool {
    pub fn new(total: u64) -> BufferPool {
        BufferPool { total, available: total }
    }

    /// Takes `size` bytes if they are there.
    pub fn allocate(&mut self, size: u64) -> bool {
        let fits = size <= self.available;
        if fits {
            self.available -= size;
        }
        fits
    }

    pub fn deallocate(&mut self, size: u64) {
        self.available = (self.available + size).min(self.total);
    }

    /// More than there will ever be.
    pub fn refuses(&self, size: u64) -> Option<Exception> {
        (size > self.total).then(|| {
            Exception::new(
                "IllegalArgumentException",
                format!(
                    "Attempt to allocate {size} bytes, but there is a hard limit of {} on memory allocations.",
                    self.total
                ),
            )
        })
    }

    pub fn exhausted(&self, size: u64, waited_ms: i64, poolable_size: i32) -> Exception {
        Exception::new(
            "BufferExhaustedException",
            format!(
                "Failed to allocate {size} bytes within the configured max blocking time {waited_ms} ms. \
                 Total memory: {} bytes. Available memory: {} bytes. Poolable size: {poolable_size} bytes",
                self.total, self.available
            ),
        )
    }
}
