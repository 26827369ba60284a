//! A network that can do something to one frame: what stands between a client and a node when the experiment's faults
//! ask for it, in real time.
//!
//! In: the frame faults, and where the nodes are. Out: for each client the way to each node ([`Routes`]), and which
//! faults have met their frame. Only pairs that a fault names go through here; every pair has a listener of its own, so
//! whose connection it is needs no guess. Frames are cut from the stream and passed on whole.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc};

use super::PlaceError;
use crate::experiment::{Direction, Experiment, Fault, FrameFault};
use crate::native::shell::{Clock, Routes};
use crate::node::{Address, Instant};
use crate::sim::FrameAction;

/// Nobody's frame is larger (Kafka's `socket.request.max.bytes`); a peer that says so does not speak Kafka.
const FRAME_BYTES_MAX: usize = 100 * 1024 * 1024;

/// How long the ends of a cut connection may take to notice.
const LINGER: Duration = Duration::from_secs(5);

/// How long to wait when accepting fails, as it does while the process has no file descriptor left.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// A frame fault, by its index in the experiment, has met its frame.
#[derive(Debug, Clone, Copy)]
pub struct Met {
    pub at: Instant,
    pub index: usize,
}

pub struct Proxies {
    traps: Rc<Traps>,
    pub met: mpsc::UnboundedReceiver<Met>,
    /// By the client's name.
    routes: BTreeMap<String, Routes>,
}

/// The experiment's frame faults, shared by all connections.
struct Traps {
    faults: RefCell<Vec<Trap>>,
    clock: Clock,
    met: mpsc::UnboundedSender<Met>,
}

struct Trap {
    index: usize,
    fault: FrameFault,
    armed: bool,
    seen: u64,
}

impl Proxies {
    /// Listens for every pair of a client and a node that a frame fault names.
    pub async fn start(
        experiment: &Experiment,
        nodes: &BTreeMap<i32, Address>,
        clock: Clock,
    ) -> Result<Proxies, PlaceError> {
        let faults = experiment.faults.iter().enumerate().filter_map(|(index, fault)| match fault {
            Fault::Frame(fault) => Some(Trap { index, fault: fault.clone(), armed: false, seen: 0 }),
            Fault::Kill { .. } | Fault::Pause { .. } => None,
        });
        let faults: Vec<Trap> = faults.collect();
        let (sender, met) = mpsc::unbounded_channel();
        let mut routes: BTreeMap<String, Routes> = BTreeMap::new();
        let mut pairs: Vec<(String, i32)> =
            faults.iter().map(|trap| (trap.fault.client.clone(), trap.fault.node)).collect();
        pairs.sort();
        pairs.dedup();
        let traps = Rc::new(Traps { faults: RefCell::new(faults), clock, met: sender });
        for (client, node) in pairs {
            let Some(target) = nodes.get(&node) else { continue };
            let cannot = |error| PlaceError::failed("cannot listen between a client and a node", error);
            let listener = TcpListener::bind(("127.0.0.1", 0)).await.map_err(cannot)?;
            let port = listener.local_addr().map_err(cannot)?.port();
            let way = Address { host: "127.0.0.1".to_owned(), port };
            routes.entry(client.clone()).or_default().insert(target.clone(), way);
            let pair = Rc::new(Pair { client, node, target: target.clone(), traps: Rc::clone(&traps) });
            tokio::task::spawn_local(pair.serve(listener));
        }
        Ok(Proxies { traps, met, routes })
    }

    pub fn routes(&self, client: &str) -> Routes {
        self.routes.get(client).cloned().unwrap_or_default()
    }

    /// From now on the fault, by its index, counts frames.
    pub fn arm(&self, index: usize) {
        for trap in self.traps.faults.borrow_mut().iter_mut().filter(|trap| trap.index == index) {
            trap.armed = true;
        }
    }
}

/// A client and a node with a fault between them.
struct Pair {
    client: String,
    node: i32,
    target: Address,
    traps: Rc<Traps>,
}

/// What both directions of one connection share.
#[derive(Default)]
struct Shared {
    /// API keys of requests without a response yet, by correlation id.
    asked: RefCell<BTreeMap<i32, i16>>,
    /// Requests that were sent again: whether the answer to the first has passed.
    again: RefCell<BTreeMap<i32, bool>>,
    over: Over,
}

/// Once it is so, nothing passes any more in either direction.
#[derive(Default)]
struct Over {
    now: Cell<bool>,
    told: Notify,
}

impl Over {
    fn declare(&self) {
        self.now.set(true);
        self.told.notify_waiters();
    }

    async fn happens(&self) {
        let told = self.told.notified();
        if !self.now.get() {
            told.await;
        }
    }
}

/// How one direction came to its end.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum End {
    /// Its sender closed in order.
    Finished,
    /// The other direction was over.
    Told,
    /// A fault cut the connection; so long nobody hears of it.
    Cut(Duration),
    /// Its sender's connection was reset, or its receiver is gone.
    Reset,
}

impl Pair {
    async fn serve(self: Rc<Self>, listener: TcpListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => _ = tokio::task::spawn_local(Rc::clone(&self).connect(stream)),
                Err(_) => tokio::time::sleep(ACCEPT_RETRY).await,
            }
        }
    }

    async fn connect(self: Rc<Self>, client: TcpStream) {
        let Ok(server) = TcpStream::connect((self.target.host.as_str(), self.target.port)).await else {
            return reset(&client);
        };
        for stream in [&client, &server] {
            // It fails only on a socket that is broken already, which the first read tells.
            let _ = stream.set_nodelay(true);
        }
        let (mut from_client, mut to_client) = client.into_split();
        let (mut from_server, mut to_server) = server.into_split();
        let shared = Shared::default();
        let requests = self.pass(Direction::Request, &mut from_client, &mut to_server, &shared);
        let responses = self.pass(Direction::Response, &mut from_server, &mut to_client, &shared);
        let (requests, responses) = tokio::join!(requests, responses);
        let silence = match requests.max(responses) {
            End::Finished | End::Told => return,
            End::Reset => {
                reset(to_client.as_ref());
                return reset(to_server.as_ref());
            }
            End::Cut(silence) => silence,
        };
        // Nothing more passes, and after the silence both ends see an orderly close. What they still send is read, or
        // the kernel would turn the close into a reset, which can destroy what was delivered.
        let _ = tokio::time::timeout(silence, async {
            tokio::join!(discard(&mut from_client), discard(&mut from_server));
            std::future::pending::<()>().await;
        })
        .await;
        let _ = tokio::join!(to_client.shutdown(), to_server.shutdown());
        let ends = async { tokio::join!(discard(&mut from_client), discard(&mut from_server)) };
        let _ = tokio::time::timeout(LINGER, ends).await;
    }

    /// Passes frames on in one direction until it ends.
    async fn pass(
        &self,
        direction: Direction,
        from: &mut OwnedReadHalf,
        to: &mut OwnedWriteHalf,
        shared: &Shared,
    ) -> End {
        loop {
            let frame = tokio::select! {
                biased;
                () = shared.over.happens() => return End::Told,
                frame = read_frame(from) => frame,
            };
            let passed = match frame {
                Ok(Some(frame)) => {
                    let action = self.action_on(direction, &frame, shared);
                    if action.is_none() && direction == Direction::Response && is_second_answer(&frame, shared) {
                        continue;
                    }
                    pass_one(&frame, action, to, shared).await
                }
                Ok(None) => {
                    let _ = to.shutdown().await;
                    return End::Finished;
                }
                Err(_) => Err(End::Reset),
            };
            if let Err(end) = passed {
                shared.over.declare();
                return end;
            }
        }
    }

    /// Notes who asked what, and finds the fault that waits for this frame.
    fn action_on(&self, direction: Direction, frame: &[u8], shared: &Shared) -> Option<FrameAction> {
        let (key, correlation_id) = match direction {
            Direction::Request => {
                let key = i16::from_be_bytes(*frame.get(4..)?.first_chunk()?);
                let correlation_id = int_at(frame, 8)?;
                shared.asked.borrow_mut().insert(correlation_id, key);
                (key, correlation_id)
            }
            Direction::Response => {
                let correlation_id = int_at(frame, 4)?;
                (shared.asked.borrow_mut().remove(&correlation_id)?, correlation_id)
            }
        };
        let action = self.traps.count(|fault| {
            (fault.client.as_str(), fault.node, fault.api_key, fault.direction)
                == (&self.client, self.node, key, direction)
        })?;
        if action == FrameAction::SendAgain {
            shared.again.borrow_mut().insert(correlation_id, false);
        }
        Some(action)
    }
}

impl Traps {
    /// Counts a frame for every fault that it may be meant by, and finds the one whose turn it is.
    fn count(&self, is_meant: impl Fn(&FrameFault) -> bool) -> Option<FrameAction> {
        let mut faults = self.faults.borrow_mut();
        let mut action = None;
        for trap in faults.iter_mut().filter(|trap| trap.armed && is_meant(&trap.fault)) {
            trap.seen += 1;
            if trap.seen == trap.fault.nth {
                action = Some(trap.fault.action);
                // It fails only when the director is gone, and then nobody wants to know.
                let _ = self.met.send(Met { at: self.clock.now().mono, index: trap.index });
            }
        }
        action
    }
}

/// Does to one frame what a fault asks for, if one does.
async fn pass_one(
    frame: &[u8],
    action: Option<FrameAction>,
    to: &mut OwnedWriteHalf,
    shared: &Shared,
) -> Result<(), End> {
    match action {
        Some(FrameAction::CutBefore(silence)) => return Err(End::Cut(std_duration(silence))),
        Some(FrameAction::CutAfter(silence)) => {
            // Its answer must not slip through while it is written.
            shared.over.declare();
            let _ = to.write_all(frame).await;
            return Err(End::Cut(std_duration(silence)));
        }
        Some(FrameAction::Hold(span)) => {
            tokio::select! {
                () = tokio::time::sleep(std_duration(span)) => {}
                () = shared.over.happens() => return Err(End::Told),
            }
        }
        Some(FrameAction::SendAgain) => to.write_all(frame).await.map_err(|_| End::Reset)?,
        None => {}
    }
    to.write_all(frame).await.map_err(|_| End::Reset)
}

/// Whether this response answers the copy of a request that was sent again.
fn is_second_answer(frame: &[u8], shared: &Shared) -> bool {
    let Some(correlation_id) = int_at(frame, 4) else { return false };
    let mut again = shared.again.borrow_mut();
    match again.get_mut(&correlation_id) {
        None => false,
        Some(answered) if !*answered => {
            *answered = true;
            false
        }
        Some(_) => {
            again.remove(&correlation_id);
            true
        }
    }
}

/// One frame with its size; `None` at an orderly end.
async fn read_frame(from: &mut OwnedReadHalf) -> io::Result<Option<Vec<u8>>> {
    let mut frame = vec![0; 4];
    match from.read_exact(&mut frame).await {
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        Err(error) => return Err(error),
    }
    let size = int_at(&frame, 0).and_then(|size| usize::try_from(size).ok()).filter(|size| *size <= FRAME_BYTES_MAX);
    let size = size.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "no frame of Kafka's"))?;
    frame.resize(4 + size, 0);
    from.read_exact(&mut frame[4..]).await?;
    Ok(Some(frame))
}

async fn discard(from: &mut OwnedReadHalf) {
    let mut sink = [0; 4096];
    while from.read(&mut sink).await.is_ok_and(|read| read > 0) {}
}

/// Lets the peer see a reset when the stream is dropped, as it would have without us in between.
fn reset(stream: &TcpStream) {
    let _ = stream.set_zero_linger();
}

fn int_at(bytes: &[u8], at: usize) -> Option<i32> {
    bytes.get(at..)?.first_chunk().map(|bytes| i32::from_be_bytes(*bytes))
}

fn std_duration(span: crate::node::Duration) -> Duration {
    Duration::from_micros(span.0)
}
