//! Faults: only what can happen to a real cluster.

use super::Machine;
use super::frame_fault::{FrameAction, WriteId};
use super::process::{Life, ProcessId, ProcessState};
use super::queue::Item;
use super::trace::{Cause, LostWhy, Trace, What};
use super::world::{Change, Stepped, World};
use crate::node::{Duration, EventId, Input};

#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Fault {
    /// SIGKILL. What flies towards the process is lost; what it had sent may still arrive, then its peers see RST.
    Kill(ProcessId),
    /// SIGSTOP, and SIGKILL after `dying`: how a container dies under load. In between its kernel still accepts bytes.
    Die { process: ProcessId, dying: Duration },
    /// The process is spawned. After `boot` its node comes to be over the kept disk; until it listens, connects are
    /// refused.
    Start { process: ProcessId, boot: Duration },
    /// SIGSTOP. Bytes pile up, connects succeed, the clock runs on.
    Stop(ProcessId),
    /// SIGCONT. All that piled up is handled, and overdue timers fire.
    Continue(ProcessId),
    /// Something befalls one message under way. It does nothing to one that has arrived.
    Frame { write: WriteId, action: FrameAction },
}

impl Fault {
    /// Whom it happens to, if it is a process.
    pub fn process(&self) -> Option<ProcessId> {
        match self {
            Fault::Kill(process)
            | Fault::Die { process, .. }
            | Fault::Start { process, .. }
            | Fault::Stop(process)
            | Fault::Continue(process) => Some(*process),
            Fault::Frame { .. } => None,
        }
    }
}

impl<M: Machine> World<M> {
    pub(super) fn inflict(
        &mut self,
        fault: Fault,
        cause: Option<Cause>,
        mut earlier: Vec<EventId>,
        trace: &mut dyn Trace,
    ) -> Stepped {
        if let Fault::Frame { write, .. } = fault {
            earlier.extend(self.under_way(write).map(|write| write.cause.event));
        }
        let mut stepped = self.happened(cause, earlier, What::Fault(fault), trace);
        stepped.change = Some(Change::Fault(fault));
        let because = Cause::from(stepped.event);
        match fault {
            Fault::Kill(process) => self.kill(process, because),
            Fault::Die { process, dying } => {
                self.stop(process);
                let kill = Item::Fault { fault: Fault::Kill(process), earlier: Vec::new() };
                self.queue.push(self.now + dying, Some(because), kill);
            }
            Fault::Start { process, boot } => self.spawn(process, boot, because),
            Fault::Stop(process) => self.stop(process),
            Fault::Continue(process) => self.go_on(process),
            Fault::Frame { write, action } => self.mark(write, action, stepped.event),
        }
        stepped
    }

    fn kill(&mut self, process: ProcessId, cause: Cause) {
        let now = self.now;
        let Some(owner) = self.process_mut(process) else { return };
        if owner.state == ProcessState::Down {
            return;
        }
        let life = owner.life_number();
        owner.go_down(now);
        let broken: Vec<(u64, usize)> = self
            .connections
            .iter()
            .flat_map(|(number, connection)| {
                let mine = |side: &usize| {
                    let end = &connection.ends[*side];
                    // What the process had closed before, its kernel finishes in order. What it was about to open,
                    // its kernel will refuse.
                    end.open && end.process == process && end.life == life
                };
                (0..2).filter(mine).map(|side| (*number, side))
            })
            .collect();
        for (connection, side) in broken {
            self.break_off(connection, side, LostWhy::ReceiverDied, cause);
        }
    }

    fn stop(&mut self, process: ProcessId) {
        if let Some(owner) = self.process_mut(process)
            && owner.state == ProcessState::Running
        {
            owner.state = ProcessState::Stopped;
        }
    }

    /// All that came due meanwhile happens now, in the order in which it came due.
    fn go_on(&mut self, process: ProcessId) {
        let Some(owner) = self.process_mut(process) else { return };
        if owner.state != ProcessState::Stopped {
            return;
        }
        owner.state = ProcessState::Running;
        for (item, cause) in std::mem::take(&mut owner.stalled) {
            self.queue.push(self.now, cause, item);
        }
    }

    /// Spawning a process that lives already does nothing, as a second start script would fail on its lock.
    fn spawn(&mut self, process: ProcessId, boot: Duration, cause: Cause) {
        let now = self.now;
        let Some(owner) = self.process_mut(process) else { return };
        if owner.state != ProcessState::Down {
            return;
        }
        owner.state = ProcessState::Booting;
        owner.lives.push(Life { spawned_at: now, started_at: None, serving_at: None, dead_at: None, exit_code: None });
        let life = owner.life_number();
        self.queue.push(now + boot, Some(cause), Item::Boot { process, life });
    }

    pub(super) fn boot(
        &mut self,
        process: ProcessId,
        life: u32,
        cause: Option<Cause>,
        trace: &mut dyn Trace,
    ) -> Option<Stepped> {
        let now = self.now;
        let owner = self.process(process)?;
        if owner.state != ProcessState::Booting || owner.life_number() != life {
            return None;
        }
        let seed = self.rng.fork(&owner.spec.name).fork(&format!("life {life}")).next_u64();
        let owner = self.process_mut(process)?;
        owner.machine.boot(seed);
        owner.state = ProcessState::Running;
        if let Some(life) = owner.lives.last_mut() {
            life.started_at = Some(now);
        }
        let mut stepped = self.happened(cause, Vec::new(), What::Booted { process }, trace);
        stepped.change = Some(Change::Booted(process));
        let started = Item::Input { process, life, input: Box::new(Input::Started) };
        self.queue.push(now, Some(stepped.event.into()), started);
        Some(stepped)
    }
}
