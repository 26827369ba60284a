//! Why did this happen? The walk along causes, and nothing else: no guess, no text.

use super::trace::{Event, Events, What};
use crate::node::{EffectKind, EventId, Note};

/// What had to happen so that `event` could: first what scheduled it, then what else was told by whoever gave it, by
/// the effect that scheduled it, by the write that it is about, and by its own effects as far as `followed` is true of
/// them.
///
/// All of it happened before: whoever walks on from here comes to an end.
pub fn causes(events: &impl Events, event: &Event, followed: impl Fn(&EffectKind) -> bool) -> Vec<EventId> {
    let mut causes: Vec<EventId> = event.cause.iter().map(|cause| cause.event).collect();
    causes.extend(&event.earlier);
    if let Some(cause) = event.cause
        && let Some(index) = cause.effect
        && let Some(causing) = events.get(cause.event)
        && let Some(effect) = causing.effects().get(index as usize)
    {
        causes.extend(&effect.because.earlier);
    }
    if let What::Lost { write, .. } | What::Buffered { write, .. } = &event.what {
        causes.push(write.event);
    }
    for effect in event.effects() {
        match &effect.kind {
            EffectKind::Note(Note::FollowsFrom { event }) => causes.push(*event),
            kind if followed(kind) => causes.extend(&effect.because.earlier),
            _ => {}
        }
    }
    let mut seen = Vec::with_capacity(causes.len());
    for cause in causes {
        if cause.ordinal < event.id.ordinal && !seen.contains(&cause) {
            seen.push(cause);
        }
    }
    seen
}

/// One link of a chain, from an event back to what brought it about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub event: EventId,
    /// What had to happen besides the next link. Each begins a chain of its own.
    pub also: Vec<EventId>,
}

/// The chain from `event` back to its first cause, itself first, at most `limit` links long.
pub fn why(events: &impl Events, event: EventId, limit: usize) -> Vec<Link> {
    let mut chain = Vec::new();
    let mut next = Some(event);
    while let Some(id) = next
        && chain.len() < limit
        && let Some(event) = events.get(id)
    {
        // Every effect of the event that was asked about counts. Further back, the walk came along one of them.
        let asked = chain.is_empty();
        let mut also = causes(events, event, |_| asked);
        next = event.cause.is_some().then(|| also.first().copied()).flatten();
        if next.is_some() {
            also.remove(0);
        }
        chain.push(Link { event: id, also });
    }
    chain
}
