//! InitProducerId without transactions: ids come out of a block that the controller has given this broker
//! (`RPCProducerIdManager`).

use std::ops::Range;

use crate::controller::ControllerRequest;
use crate::wire::ErrorCode;
use crate::wire::messages::broker_lifecycle::{AllocateProducerIdsRequest, AllocateProducerIdsResponse};
use crate::wire::messages::init_producer_id::{InitProducerIdRequest, InitProducerIdResponse};

use crate::node::Note;

use super::Broker;
use super::connections::RequestId;
use super::context::Context;
use super::lifecycle::ControllerCall;

/// The next block is asked for when this much of the present one is used (`PID_PREFETCH_THRESHOLD`).
const PREFETCH_PERCENT: i64 = 90;

/// Blocks of producer ids. A restart forgets what is left of a block, so ids jump to the next one.
#[derive(Debug, Clone, Default)]
pub(super) struct ProducerIds {
    block: Range<i64>,
    block_size: i64,
    next_block: Option<Range<i64>>,
    requested: bool,
}

impl ProducerIds {
    /// The next id; `None` while there is no block.
    fn take(&mut self) -> Option<i64> {
        if self.block.is_empty() {
            self.block = self.next_block.take()?;
            self.block_size = self.block.end - self.block.start;
        }
        self.block.next()
    }

    fn wants_block(&self) -> bool {
        let left = self.block.end - self.block.start;
        let nearly_used = left * 100 <= self.block_size * (100 - PREFETCH_PERCENT);
        nearly_used && self.next_block.is_none() && !self.requested
    }
}

impl Broker {
    pub(super) fn handle_init_producer_id(
        &mut self,
        cx: &mut Context<'_>,
        request: RequestId,
        body: &InitProducerIdRequest,
    ) {
        // -1 stands for "none" in both; one without the other makes no sense.
        let halfway = (body.producer_id == -1) != (body.producer_epoch == -1);
        let response = match &body.transactional_id {
            _ if halfway => refused(ErrorCode::INVALID_REQUEST),
            None => self.new_producer_id(cx, request),
            Some(id) if id.is_empty() => refused(ErrorCode::INVALID_REQUEST),
            Some(_) if !self.is_transaction_timeout(body.transaction_timeout_ms) => {
                refused(ErrorCode::INVALID_TRANSACTION_TIMEOUT)
            }
            // There is no transaction coordinator yet: as in a cluster where it is not available.
            Some(_) => refused(ErrorCode::COORDINATOR_NOT_AVAILABLE),
        };
        self.respond(cx, request, &response);
    }

    fn is_transaction_timeout(&self, timeout_ms: i32) -> bool {
        let max = self.config.value("transaction.max.timeout.ms").and_then(|value| value.parse().ok());
        timeout_ms > 0 && max.is_none_or(|max: i32| timeout_ms <= max)
    }

    /// Without a block Kafka answers "loading" and asks for one in the background; the client comes again.
    fn new_producer_id(&mut self, cx: &mut Context<'_>, request: RequestId) -> InitProducerIdResponse {
        let id = self.producer_ids.take();
        if self.producer_ids.wants_block() {
            self.producer_ids.requested = true;
            let body = AllocateProducerIdsRequest {
                broker_id: self.config.node_id,
                broker_epoch: self.lifecycle.broker_epoch,
                ..Default::default()
            };
            let call = ControllerCall::ProducerIds;
            self.call_controller(ControllerRequest::AllocateProducerIds(body), call, request.cause);
        }
        match id {
            Some(producer_id) => {
                cx.out.note(Note::ProducerIdAssigned { producer_id, producer_epoch: 0 });
                InitProducerIdResponse { producer_id, producer_epoch: 0, ..Default::default() }
            }
            None => refused(ErrorCode::COORDINATOR_LOAD_IN_PROGRESS),
        }
    }

    pub(super) fn producer_ids_allocated(&mut self, response: &AllocateProducerIdsResponse) {
        self.producer_ids.requested = false;
        if response.error_code == ErrorCode::NONE.0 {
            let start = response.producer_id_start;
            self.producer_ids.next_block = Some(start..start.saturating_add(i64::from(response.producer_id_len)));
        }
    }
}

fn refused(error: ErrorCode) -> InitProducerIdResponse {
    InitProducerIdResponse { error_code: error.0, producer_id: -1, producer_epoch: -1, ..Default::default() }
}
