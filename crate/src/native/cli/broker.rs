//! `steplog broker`: one node from a Kafka `server.properties`, until a signal ends it.
//!
//! stdout gets one line, `ready HOST:PORT`, once clients are served; stderr what went wrong.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::{mpsc, oneshot};

use super::Outcome;
use crate::broker::Server;
use crate::client::{AdminConfig, Client};
use crate::disk::{DiskError, FileId, MemoryDisk};
use crate::native::client::NativeClient;
use crate::native::file_disk::FileDisk;
use crate::native::server_settings;
use crate::native::shell::{self, Clock, End, FlushJob, Flusher, Order, Parts, Report, Routes};
use crate::node::{Address, AdminCommand, CallId, Command, ExitReason, NewTopic, Node, Note, Reply};

/// Longer than the admin client's own default.api.timeout.ms.
const CREATE_TOPICS_WITHIN: std::time::Duration = std::time::Duration::from_secs(90);

/// Serve one node from a Kafka server.properties file.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// A Kafka server.properties file. Without it: one node for itself on 127.0.0.1:9092.
    file: Option<PathBuf>,
    /// Set or override one key of the file.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Keep everything in memory; nothing survives the process.
    #[arg(long)]
    memory: bool,
    /// Create this topic if it does not exist.
    #[arg(long = "topic", value_name = "NAME:PARTITIONS", value_parser = parse_topic)]
    topics: Vec<NewTopic>,
}

fn parse_topic(text: &str) -> Result<NewTopic, String> {
    let (name, partitions) = text.rsplit_once(':').ok_or("expected NAME:PARTITIONS, e.g. orders:3")?;
    let partitions: i32 =
        partitions.parse().ok().filter(|count| *count > 0).ok_or_else(|| {
            format!("{partitions:?} is no number of partitions; expected NAME:PARTITIONS, e.g. orders:3")
        })?;
    Ok(NewTopic { name: name.to_owned(), partitions, replication_factor: 1, configs: Vec::new() })
}

pub fn execute(arguments: Arguments) -> Outcome {
    let config = match server_settings::load(arguments.file.as_deref(), &arguments.set) {
        Ok(config) => config,
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    let without_effect = config.without_effect();
    if !without_effect.is_empty() {
        eprintln!("steplog: known keys that change nothing here: {}", without_effect.join(", "));
    }
    let seed = random_seed();
    if arguments.memory {
        return serve(
            Server::new(config, MemoryDisk::new(), seed),
            Box::new(|_, _| Box::new(|| Ok(()))),
            arguments.topics,
        );
    }
    let disk = match FileDisk::open(Path::new(&config.log_dir)) {
        Ok(disk) => disk,
        Err(DiskError::Locked { path }) => {
            return Outcome::Failed(format!(
                "another process is using {path}; end it, or choose another directory with --set log.dirs=DIR"
            ));
        }
        Err(error) => return Outcome::Failed(format!("cannot use log.dirs={}: {error}", config.log_dir)),
    };
    serve(Server::new(config, disk, seed), Box::new(flush_on_file), arguments.topics)
}

fn flush_on_file(server: &Server<FileDisk>, file: FileId) -> FlushJob {
    let shared = server.disk().shared(file);
    Box::new(move || shared?.flush())
}

/// Which producer id, topic id or jitter is drawn must differ from node to node; nothing secret depends on it.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}

fn serve<N: Node + 'static>(node: N, flusher: Flusher<N>, topics: Vec<NewTopic>) -> Outcome {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Outcome::Failed(format!("cannot start: {error}")),
    };
    let (orders, receiver) = mpsc::unbounded_channel();
    let end: io::Result<End> = runtime.block_on(async {
        // Until the first signal is waited for, it would end the process at once.
        let signals = Signals::install()?;
        tokio::spawn(signals.obey(orders.clone()));
        let (serving, served) = oneshot::channel();
        tokio::spawn(announce(served, topics, orders));
        let report = Box::new(until_serving(serving));
        Ok(shell::drive(
            Parts { node, flusher, clock: Clock::starting_now(), routes: Routes::default(), report },
            receiver,
        )
        .await)
    });
    // What still syncs must not delay the end: it is the kernel's by now.
    runtime.shutdown_background();
    match end {
        Ok(end) => outcome_of(end),
        Err(error) => Outcome::Failed(format!("cannot wait for signals: {}", error)),
    }
}

fn outcome_of(end: End) -> Outcome {
    match end {
        End::Exited { why: ExitReason::Shutdown, .. } => Outcome::Success,
        End::Exited { why: ExitReason::BadDirectory(text), .. } => Outcome::Failed(text),
        End::Exited { why: ExitReason::StorageFailed(text), .. } => Outcome::Failed(format!("storage failed: {text}")),
        End::ListenFailed { address: Address { host, port }, error } => Outcome::Failed(format!(
            "cannot listen on {host}:{port}: {}; choose another with --set listeners=PLAINTEXT://HOST:PORT (port 0: any \
             free one)",
            if error.kind() == io::ErrorKind::AddrInUse { "the port is in use".to_owned() } else { error.to_string() }
        )),
        End::Stopped => Outcome::Failed(String::new()),
    }
}

/// Hears the node's reports and tells, once, where the first listener is when the node serves.
fn until_serving(serving: oneshot::Sender<Address>) -> impl FnMut(Report) {
    let mut serving = Some(serving);
    let mut listening = BTreeMap::new();
    move |report| match report {
        Report::Listening { listener, address } => {
            listening.insert(listener, address);
        }
        Report::Note { note: Note::Serving { .. }, .. } => {
            if let (Some(serving), Some((_, address))) = (serving.take(), listening.pop_first()) {
                let _ = serving.send(address);
            }
        }
        Report::Note { .. } | Report::Reply(..) => {}
    }
}

/// Creates the topics that were asked for, then says that the broker is ready.
async fn announce(served: oneshot::Receiver<Address>, topics: Vec<NewTopic>, orders: mpsc::UnboundedSender<Order>) {
    let Ok(address) = served.await else {
        return;
    };
    if !topics.is_empty()
        && let Err(text) = create_topics(&address, topics).await
    {
        eprintln!("steplog: --topic: {text}");
        let _ = orders.send(Order::Stop);
        return;
    }
    // Whoever started us may have closed the pipe; that ends nothing.
    let mut stdout = io::stdout();
    let _ = writeln!(stdout, "ready {}:{}", address.host, address.port);
    let _ = stdout.flush();
}

/// By our own admin client on a connection like any other's.
async fn create_topics(address: &Address, topics: Vec<NewTopic>) -> Result<(), String> {
    let bootstrap = format!("{}:{}", address.host, address.port);
    let keys = BTreeMap::from([("bootstrap.servers".to_owned(), bootstrap)]);
    let config = AdminConfig::parse(&keys).map_err(|error| error.to_string())?;
    let ask = move || -> io::Result<Option<Reply>> {
        let mut admin = NativeClient::start(Client::admin("steplog", config, random_seed()))?;
        Ok(admin.ask(Command::Admin(AdminCommand::CreateTopics { topics }), CREATE_TOPICS_WITHIN))
    };
    match tokio::task::spawn_blocking(ask).await {
        Ok(Ok(Some(Reply::Done))) => Ok(()),
        Ok(Ok(Some(Reply::Failed(exception)))) => Err(format!("{}: {}", exception.class, exception.message)),
        Ok(Ok(_)) => Err("the broker did not answer".to_owned()),
        Ok(Err(error)) => Err(error.to_string()),
        Err(error) => Err(error.to_string()),
    }
}

struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn install() -> io::Result<Signals> {
        // A write past the file-size limit raises it; handled, the write fails like one to a full disk.
        drop(signal(SignalKind::from_raw(SIGXFSZ))?);
        Ok(Signals { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    /// The first signal asks for a controlled shutdown, a second one ends the process without it.
    async fn obey(mut self, orders: mpsc::UnboundedSender<Order>) {
        for order in [Order::Command(CallId(0), Command::Shutdown), Order::Stop] {
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
            }
            if orders.send(order).is_err() {
                return;
            }
        }
    }
}

/// POSIX leaves the numbers open, but this one is the same on Linux and the BSDs.
const SIGXFSZ: i32 = 25;
