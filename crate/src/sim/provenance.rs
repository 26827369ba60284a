//! Why did this happen? The walk along causes, and nothing else: no guess, no text.

use super::trace::{Event, Events, What};
use crate::node::{EffectKind, EventId, Note};

/// One link of a chain, from an event back to what brought it about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Link {
    pub event: EventId,
    /// Which of this event's effects led to the link before. Absent for the event that was asked about, and where no
    /// single effect did (a timer, a kernel).
    pub effect: Option<u32>,
    /// Further events that also had to happen for this one. Each begins a chain of its own.
    pub also: Vec<EventId>,
}

/// The chain from `event` back to its first cause, itself first, at most `limit` links long.
pub fn why(events: &impl Events, event: EventId, limit: usize) -> Vec<Link> {
    let mut chain = Vec::new();
    let mut next = Some((event, None));
    while let Some((id, effect)) = next
        && chain.len() < limit
        && let Some(event) = events.get(id)
    {
        let also = also(events, event, chain.is_empty());
        chain.push(Link { event: id, effect, also });
        // Causes always come first; a trace in which they do not would never end.
        next = event.cause.filter(|cause| cause.event.ordinal < id.ordinal).map(|cause| (cause.event, cause.effect));
    }
    chain
}

/// What else had to happen: told by whoever caused the event, by the effect that caused it, and by its own notes. What
/// its own effects name counts only for the event that was asked about: further back, one of them was followed.
fn also(events: &impl Events, event: &Event, asked: bool) -> Vec<EventId> {
    let mut also = event.earlier.clone();
    if let Some(cause) = event.cause
        && let Some(index) = cause.effect
        && let Some(causing) = events.get(cause.event)
        && let Some(effect) = causing.effects().get(index as usize)
    {
        also.extend(&effect.because.earlier);
    }
    if let What::Lost { write, .. } | What::Buffered { write, .. } = &event.what
        && event.cause.is_none_or(|cause| cause.event != write.event)
    {
        also.push(write.event);
    }
    for effect in event.effects() {
        match &effect.kind {
            EffectKind::Note(Note::FollowsFrom { event }) => also.push(*event),
            _ if asked => also.extend(&effect.because.earlier),
            _ => {}
        }
    }
    also.retain(|other| *other != event.id);
    also.sort_unstable();
    also.dedup();
    also
}
