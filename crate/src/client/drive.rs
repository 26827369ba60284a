//! What producer, consumer and admin client have in common: the loop that every input sets going.
//!
//! In: what the shell tells. A command or a change of a connection is taken in first; then requests complete and the
//! client and its network act, round by round, until a round changes nothing. Kafka has a thread that polls instead.

use super::network::{Completion, Network};
use super::outbox::Outbox;
use crate::node::{CallId, Command, Input};

/// A client above a [`Network`].
pub(super) trait Driven {
    fn network(&mut self) -> &mut Network;

    fn is_closed(&self) -> bool;

    /// The client's life begins: its plugins are configured.
    fn start(&mut self, _outbox: &mut Outbox<'_>) {}

    /// Takes in what the program calls.
    fn command(&mut self, call: CallId, command: Command, outbox: &mut Outbox<'_>);

    /// Takes in what became of a request.
    fn complete(&mut self, done: Completion, outbox: &mut Outbox<'_>);

    /// Does what can be done now, before the network's turn. True if something changed.
    fn advance(&mut self, outbox: &mut Outbox<'_>) -> bool;

    /// After the network's turn.
    fn end_round(&mut self, _outbox: &mut Outbox<'_>) {}
}

/// Hands an input to a client. A closed one hears commands only.
pub(super) fn drive(client: &mut dyn Driven, input: Input, outbox: &mut Outbox<'_>) {
    let mut done = Vec::new();
    match input {
        Input::Command(call, command) => client.command(call, command, outbox),
        Input::Started => client.start(outbox),
        input if !client.is_closed() => client.network().handle(input, &mut done, outbox),
        _ => return,
    }
    let mut first = true;
    // Ends once a round changes nothing; every change brings the client nearer to waiting.
    while !client.is_closed() {
        let mut acted = !done.is_empty();
        for completion in std::mem::take(&mut done) {
            client.complete(completion, outbox);
        }
        acted |= client.advance(outbox);
        acted |= client.network().poll(first, &mut done, outbox);
        first = false;
        client.end_round(outbox);
        if !acted {
            return;
        }
    }
}

/// Ends the connection to a node whose bytes make no sense.
pub(super) fn give_up(client: &mut dyn Driven, node: i32, outbox: &mut Outbox<'_>) {
    let mut done = Vec::new();
    client.network().give_up(node, false, &mut done, outbox);
    for completion in done {
        client.complete(completion, outbox);
    }
}
