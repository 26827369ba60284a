//! The experiment's clients, each in a shell on its own thread, as the director commands and hears them.

use tokio::sync::mpsc;

use super::PlaceError;
use super::proxy::Proxies;
use crate::experiment::{ClientConfig, Experiment, Order};
use crate::native::shell::{self, Clock, Handle, Parts, Report};
use crate::node::{CallId, Instant, Reply, Rng};

/// A client's answer.
#[derive(Debug)]
pub struct Answer {
    /// When the client gave it; the director may hear it later.
    pub at: Instant,
    /// Index into [`Experiment::clients`].
    pub client: usize,
    pub call: CallId,
    pub reply: Reply,
}

pub struct Clients {
    /// Parallel to [`Experiment::clients`].
    handles: Vec<Handle>,
    pub answers: mpsc::UnboundedReceiver<Answer>,
}

impl Clients {
    pub fn start(
        experiment: &Experiment,
        bootstrap_servers: &str,
        proxies: &Proxies,
        seed: u64,
        clock: Clock,
    ) -> Result<Clients, PlaceError> {
        let (sender, answers) = mpsc::unbounded_channel();
        let mut handles = Vec::with_capacity(experiment.clients.len());
        for (index, client) in experiment.clients.iter().enumerate() {
            let config = ClientConfig::read(experiment, client, bootstrap_servers)
                .map_err(|error| PlaceError::failed(&client.name, error))?;
            let node = config.make(&client.name, Rng::new(seed).fork(&client.name).next_u64());
            let sender = sender.clone();
            let routes = proxies.routes(&client.name);
            let handle = shell::spawn(&client.name, move || Parts {
                node,
                flusher: Box::new(|_, _| Box::new(|| Ok(()))),
                clock,
                routes,
                report: Box::new(move |report| {
                    if let Report::Reply(call, reply) = report {
                        // It fails only when the director is gone, and then nobody wants to know.
                        let _ = sender.send(Answer { at: clock.now().mono, client: index, call, reply });
                    }
                }),
            });
            handles.push(handle.map_err(|error| PlaceError::failed("cannot start a client", error))?);
        }
        Ok(Clients { handles, answers })
    }

    pub fn give(&self, order: Order) {
        if let Some(handle) = self.handles.get(order.client) {
            handle.command(order.call, order.command);
        }
    }
}
