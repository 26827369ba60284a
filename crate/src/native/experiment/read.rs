//! `experiment.toml` → [`Experiment`]. Everything that can be wrong with a file is found here, so that what is run is
//! sound.

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::section::{At, FileError, Section, Source, int_of};
use crate::experiment::expression::{self, Value};
use crate::experiment::program;
use crate::experiment::syntax::{SyntaxError, did_you_mean};
use crate::experiment::{
    ADMIN, Ask, Book, Client, ClientKind, Cluster, Condition, Direction, Expected, Experiment, Fact, FactKind, Fault,
    Focus, FrameFault, LeftOut, Links, Opening, Place, Restart, Role, ServerNode, Source as Recorded, Topic, When,
};
use crate::node::Duration;
use crate::sim::{FrameAction, LinkSpec};
use crate::wire::api;

const PLACES: [(&str, Place); 4] = [
    (Place::Page.name(), Place::Page),
    (Place::Run.name(), Place::Run),
    (Place::Real.name(), Place::Real),
    (Place::Bootstrap.name(), Place::Bootstrap),
];

/// Reads the text of an experiment's file. `file` is how errors call it.
pub fn read(name: &str, file: &str, text: &str) -> Result<Experiment, FileError> {
    let source = Source { file, text };
    let document = DeTable::parse(text)
        .map_err(|error| source.error_at(error.span().map_or(0, |span| span.start), error.message().to_string()))?;
    let root = Section::new(source, "an experiment", document.get_ref(), 0);
    Reader { source, clients: Vec::new(), programs: Vec::new() }.experiment(name, root)
}

struct Reader<'a> {
    source: Source<'a>,
    clients: Vec<(Client, usize)>,
    /// Whose, and its text.
    programs: Vec<(usize, At<&'a str>)>,
}

/// What `kind` a `[[fault]]` is of.
#[derive(Clone, Copy)]
enum Kind {
    Kill,
    Pause,
    Frame,
}

type Read<T> = Result<T, FileError>;

impl<'a> Reader<'a> {
    fn experiment(mut self, name: &str, mut root: Section<'a>) -> Read<Experiment> {
        let title = root.localized("title")?;
        let about = root.localized("about")?;
        let seed = root.int("seed", None)?.value;
        let nodes = self.nodes(&mut root)?;
        let topics = self.topics(&mut root)?;
        for client in root.sections("client", "[[client]]")? {
            self.client(client)?;
        }
        let programs = self.programs(&topics)?;
        let mut names = expression::Names {
            clients: self.clients.iter().map(|(client, _)| client.name.as_str()).collect(),
            topics: topics.iter().map(|(topic, _)| topic.name.as_str()).collect(),
            nodes: nodes.iter().map(|(node, _)| node.id).collect(),
            faults: 0,
            counters: programs.iter().flat_map(|program| &program.counters).map(String::as_str).collect(),
            answers: programs.iter().flat_map(|program| &program.answers).map(String::as_str).collect(),
            tables: programs.iter().flat_map(|program| &program.tables).map(String::as_str).collect(),
        };
        let faults = root.sections("fault", "[[fault]]")?;
        let faults = faults.into_iter().map(|fault| self.fault(fault, &names)).collect::<Read<Vec<Fault>>>()?;
        names.faults = faults.len();
        let mut facts: Vec<Fact> = Vec::new();
        for fact in root.sections("fact", "[[fact]]")? {
            let byte = fact.byte;
            let fact = self.fact(fact, &names)?;
            if facts.iter().any(|other| other.name == fact.name) {
                return Err(self.source.error_at(byte, format!("there is a fact `{}` already", fact.name)));
            }
            facts.push(fact);
        }
        let focus = self.focus(root.section("focus", "[focus]")?, &names, &topics)?;
        let opening = self.opening(root.section("opening", "[opening]")?, &facts)?;
        let links = self.links(&mut root)?;
        let (places, left_out) = self.places(&mut root)?;
        root.finish()?;
        let mut experiment = Experiment {
            name: name.to_string(),
            title,
            about,
            seed,
            focus,
            opening,
            cluster: Cluster { nodes: nodes.iter().map(|(node, _)| node.clone()).collect() },
            topics: topics.into_iter().map(|(topic, _)| topic).collect(),
            links,
            clients: self.clients.iter().map(|(client, _)| client.clone()).collect(),
            programs,
            faults,
            facts,
            places,
            left_out,
        };
        if !experiment.topics.is_empty() {
            let config = std::collections::BTreeMap::new();
            experiment.clients.push(Client { name: ADMIN.to_string(), kind: ClientKind::Admin, config });
        }
        experiment.check_configs().map_err(|bad| {
            let node = nodes.iter().find(|(node, _)| format!("node {}", node.id) == bad.of).map(|(_, byte)| *byte);
            let client = self.clients.iter().find(|(client, _)| client.name == bad.of).map(|(_, byte)| *byte);
            self.source.error_at(node.or(client).unwrap_or(0), bad.to_string())
        })?;
        Ok(experiment)
    }

    fn nodes(&self, root: &mut Section<'a>) -> Read<Vec<(ServerNode, usize)>> {
        let mut cluster = root.section("cluster", "[cluster]")?;
        let shared = cluster.config("config")?;
        let roles = [("broker", Role::Broker), ("controller", Role::Controller)];
        let mut nodes: Vec<(ServerNode, usize)> = Vec::new();
        for mut section in cluster.sections("node", "[[cluster.node]]")? {
            let mut config = shared.clone();
            let id = section.int::<i32>("id", None)?;
            let roles = section.words("roles", &roles)?;
            config.extend(section.config("config")?);
            let byte = section.byte;
            section.finish()?;
            if id.value < 0 || nodes.iter().any(|(node, _)| node.id == id.value) {
                return Err(self.source.error_at(id.byte, "each node needs an `id` of its own, not below 0"));
            }
            if roles.is_empty() {
                return Err(self.source.error_at(byte, "a node is a broker, a controller or both"));
            }
            nodes.push((ServerNode { id: id.value, roles, config }, byte));
        }
        if !nodes.iter().any(|(node, _)| node.roles.contains(&Role::Controller)) {
            return Err(cluster.error("a cluster needs at least one [[cluster.node]] with the role controller"));
        }
        cluster.finish()?;
        Ok(nodes)
    }

    fn topics(&self, root: &mut Section<'a>) -> Read<Vec<(Topic, usize)>> {
        let read = |mut section: Section<'a>| {
            let topic = Topic {
                name: section.text("name")?.value.to_string(),
                partitions: section.int("partitions", None)?.value,
                replication_factor: section.int("replication_factor", None)?.value,
                config: section.config("config")?,
            };
            if topic.partitions < 1 || topic.replication_factor < 1 {
                return Err(section.error("a topic has at least one partition and one replica"));
            }
            let byte = section.byte;
            section.finish().map(|()| (topic, byte))
        };
        root.sections("topic", "[[topic]]")?.into_iter().map(read).collect()
    }

    fn client(&mut self, mut section: Section<'a>) -> Read<()> {
        let name = section.text("name")?;
        let kinds = [("producer", ClientKind::Producer), ("consumer", ClientKind::Consumer), ("raw", ClientKind::Raw)];
        let kind = section.word("kind", &kinds)?;
        let config = section.config("config")?;
        let program = if section.has("program") {
            Some(section.text("program")?)
        } else {
            section.value("program").map(|_| name)
        };
        let taken = self.clients.iter().any(|(client, _)| client.name == name.value);
        if taken || name.value == ADMIN || name.value.is_empty() {
            let message = format!("each client needs a name of its own, and `{ADMIN}` is the one that creates topics");
            return Err(self.source.error_at(name.byte, message));
        }
        if config.contains_key("bootstrap.servers") {
            return Err(section.error("`bootstrap.servers` is given by the place where the experiment runs"));
        }
        if let Some(text) = program {
            self.programs.push((self.clients.len(), text));
        }
        self.clients.push((Client { name: name.value.to_string(), kind, config }, section.byte));
        section.finish()
    }

    fn programs(&self, topics: &[(Topic, usize)]) -> Read<Vec<program::Program>> {
        let names = program::Names {
            clients: self.clients.iter().map(|(client, _)| client.name.as_str()).collect(),
            topics: topics.iter().map(|(topic, _)| (topic.name.as_str(), topic.partitions)).collect(),
        };
        let read = |(client, text): &(usize, At<&'a str>)| {
            let client = self.clients.get(*client).map(|(client, _)| (client.name.as_str(), client.kind));
            let (client, kind) = client.unwrap_or(("", ClientKind::Producer));
            let trimmed = text.value.trim_end();
            program::parse(client, kind, trimmed, &names).map_err(|error| self.inside(*text, &error))
        };
        self.programs.iter().map(read).collect()
    }

    /// Where in the file an error inside a quoted text is. A text in three quotes begins on the line below them.
    fn inside(&self, text: At<&str>, error: &SyntaxError) -> FileError {
        let mut found = self.source.error_at(text.byte, error.message.clone());
        let after = self.source.text.get(text.byte..).unwrap_or("");
        let quotes = if after.starts_with("\"\"\"") || after.starts_with("'''") { 3 } else { 1 };
        let begins_below = quotes == 3 && after[3..].starts_with(['\n', '\r']);
        let below = error.line - 1 + u32::from(begins_below);
        found.column = if below > 0 { error.column } else { found.column + quotes + error.column - 1 };
        found.line += below;
        found
    }

    fn fault(&self, mut section: Section<'a>, names: &expression::Names<'_>) -> Read<Fault> {
        let kind = section.word("kind", &[("kill", Kind::Kill), ("pause", Kind::Pause), ("frame", Kind::Frame)])?;
        let node = section.int::<i32>("node", None)?;
        if !names.nodes.contains(&node.value) {
            return Err(self.source.error_at(node.byte, format!("there is no node {}", node.value)));
        }
        match kind {
            Kind::Kill => self.kill(section, node.value, names),
            Kind::Pause => {
                let when = self.when(&mut section, None, names)?;
                let lasts = section.duration("lasts", None)?.value;
                section.finish()?;
                Ok(Fault::Pause { node: node.value, when, lasts })
            }
            Kind::Frame => self.frame_fault(section, node.value, names),
        }
    }

    fn kill(&self, mut section: Section<'a>, node: i32, names: &expression::Names<'_>) -> Read<Fault> {
        let when = self.when(&mut section, None, names)?;
        let dying = Duration::from_ms(section.int("dying_ms", Some(0))?.value);
        let boot = section.int("boot_ms", Some(0))?;
        // What begins at an instant ends at one; what a condition begins ends so much later.
        let (key, begins) = match when {
            When::At(at) => ("start_at", at),
            When::Once(_) => ("start_after", Duration::ZERO),
        };
        let start = section.duration(key, Some(Duration::ZERO))?;
        let restart = section.has(key).then(|| Restart {
            after: Duration(start.value.0.saturating_sub(begins.0)),
            boot: Duration::from_ms(boot.value),
        });
        if restart.is_none() && section.has("boot_ms") {
            return Err(self.source.error_at(boot.byte, format!("`boot_ms` needs a `{key}`")));
        }
        if restart.is_some_and(|restart| restart.after <= dying) {
            return Err(self.source.error_at(start.byte, format!("`{key}` must come after the death")));
        }
        section.finish()?;
        Ok(Fault::Kill { node, when, dying, restart })
    }

    fn frame_fault(&self, mut section: Section<'a>, node: i32, names: &expression::Names<'_>) -> Read<Fault> {
        let client = section.text("client")?;
        if !names.clients.contains(&client.value) {
            let near = did_you_mean(client.value, names.clients.iter().copied());
            let message = format!("there is no client `{}`{near}", client.value);
            return Err(self.source.error_at(client.byte, message));
        }
        let apis: Vec<(&str, i16)> = api::all().iter().map(|api| (api.name, api.key.0)).collect();
        let api_key = section.word("api", &apis)?;
        let directions = [("request", Direction::Request), ("response", Direction::Response)];
        let direction = section.word("direction", &directions)?;
        let nth = section.int::<u64>("nth", None)?;
        if nth.value == 0 {
            return Err(self.source.error_at(nth.byte, "`nth` counts from 1"));
        }
        let from = self.when(&mut section, Some(Duration::ZERO), names)?;
        let action = self.frame_action(&mut section, direction)?;
        section.finish()?;
        let client = client.value.to_string();
        Ok(Fault::Frame(FrameFault { action, client, node, api_key, direction, nth: nth.value, from }))
    }

    fn frame_action(&self, section: &mut Section<'a>, direction: Direction) -> Read<FrameAction> {
        let word = section.text("action")?;
        let actions = [("hold", 0), ("cut-before", 1), ("cut-after", 2), ("send-again", 3)];
        let action = match section.word("action", &actions)? {
            0 => FrameAction::Hold(section.duration("for", None)?.value),
            1 => FrameAction::CutBefore(section.duration("for", Some(Duration::ZERO))?.value),
            2 => FrameAction::CutAfter(section.duration("for", Some(Duration::ZERO))?.value),
            _ if direction == Direction::Response => {
                let message = "only a request can be sent again: a client that gets one answer twice is lost";
                return Err(self.source.error_at(word.byte, message));
            }
            _ => FrameAction::SendAgain,
        };
        Ok(action)
    }

    /// `at` or `when`; without either the default, if there is one.
    fn when(&self, section: &mut Section<'a>, default: Option<Duration>, names: &expression::Names<'_>) -> Read<When> {
        if section.has("when") {
            let condition = section.text("when")?;
            let read = Condition::parse(condition.value, &names.clients);
            return read.map(When::Once).map_err(|error| self.inside(condition, &error));
        }
        // Known, so that a misspelt one is told from it.
        section.value("when");
        section.duration("at", default).map(|at| When::At(at.value))
    }

    fn fact(&self, mut section: Section<'a>, names: &expression::Names<'_>) -> Read<Fact> {
        let name = section.text("name")?.value.to_string();
        let text = section.localized("text")?;
        let is = section.text("is")?;
        let expr = expression::parse(is.value, names).map_err(|error| self.inside(is, &error))?;
        let kinds = [("structural", FactKind::Structural), ("timing", FactKind::Timing)];
        let kind = section.word("kind", &kinds)?;
        let expected = self.expected(&mut section)?;
        let recorded = section.text("source")?;
        let book = match section.has("book") {
            true => Some(self.book(section.section("book", "`book`")?)?),
            false => section.value("book").and(None),
        };
        section.finish()?;
        Ok(Fact { name, text, is: expr, kind, expected, source: self.recorded(recorded)?, book })
    }

    fn expected(&self, section: &mut Section<'a>) -> Read<Expected> {
        let Some(value) = section.value("expected") else {
            return Err(section.error("a fact needs `expected`: a value, or a range { min = …, max = … }"));
        };
        let DeValue::Table(table) = value.get_ref() else { return Ok(Expected::Value(self.literal(value)?)) };
        let mut range = Section::new(self.source, "a range", table, value.span().start);
        let mut end = |key| match range.has(key) {
            true => range.int(key, None).map(|at| Some(at.value)),
            false => Ok(range.value(key).and(None)),
        };
        let (min, max) = (end("min")?, end("max")?);
        range.finish()?;
        Ok(Expected::Range { min, max })
    }

    fn literal(&self, value: &Spanned<DeValue<'_>>) -> Read<Value> {
        let wrong = || {
            let wanted = "expected a whole number, true, false, a text, or a list of numbers or of texts";
            self.source.error_at(value.span().start, wanted)
        };
        match value.get_ref() {
            DeValue::Boolean(truth) => Ok(Value::Bool(*truth)),
            DeValue::String(text) => Ok(Value::Text(text.to_string())),
            DeValue::Array(array) => {
                let texts = array.iter().map(|value| value.get_ref().as_str().map(str::to_string));
                let numbers = array.iter().map(int_of).collect::<Option<Vec<i64>>>().map(Value::List);
                numbers.or_else(|| texts.collect::<Option<Vec<String>>>().map(Value::Texts)).ok_or_else(wrong)
            }
            _ => int_of(value).map(Value::Int).ok_or_else(wrong),
        }
    }

    fn book(&self, mut section: Section<'a>) -> Read<Book> {
        let Some(value) = section.value("value") else { return Err(section.error("`book` needs a `value`")) };
        let value = self.literal(value)?;
        let recorded = section.text("source")?;
        section.finish()?;
        Ok(Book { value, source: self.recorded(recorded)? })
    }

    /// `tests/oracle/facts/acks0.json#/stable/sent`.
    fn recorded(&self, text: At<&str>) -> Read<Recorded> {
        match text.value.split_once('#') {
            Some((file, pointer)) if pointer.starts_with('/') => {
                Ok(Recorded { file: file.to_string(), pointer: pointer.to_string() })
            }
            _ => {
                let message =
                    "`source` must be a file and a pointer into it, e.g. tests/oracle/facts/acks0.json#/stable/sent";
                Err(self.source.error_at(text.byte, message))
            }
        }
    }

    fn focus(&self, mut section: Section<'a>, names: &expression::Names<'_>, topics: &[(Topic, usize)]) -> Read<Focus> {
        let topics: Vec<(&str, &str)> = topics.iter().map(|(t, _)| (t.name.as_str(), t.name.as_str())).collect();
        let apis: Vec<(&str, &str)> = api::all().iter().map(|api| (api.name, api.name)).collect();
        let strings = |words: Vec<&str>| words.into_iter().map(str::to_string).collect();
        let node = |at: At<i64>| {
            let known = names.nodes.iter().find(|node| i64::from(**node) == at.value);
            known.copied().ok_or_else(|| self.source.error_at(at.byte, format!("there is no node {}", at.value)))
        };
        let focus = Focus {
            nodes: section.ints("nodes")?.into_iter().map(node).collect::<Read<Vec<i32>>>()?,
            topics: strings(section.words("topics", &topics)?),
            apis: strings(section.words("apis", &apis)?),
        };
        section.finish()?;
        Ok(focus)
    }

    fn opening(&self, mut section: Section<'a>, facts: &[Fact]) -> Read<Opening> {
        let at = section.duration("at", None)?.value;
        let question = section.localized("question")?;
        let mut asks = Vec::new();
        for mut ask in section.sections("ask", "[[opening.ask]]")? {
            let fact = ask.text("fact")?;
            if !facts.iter().any(|known| known.name == fact.value) {
                let near = did_you_mean(fact.value, facts.iter().map(|fact| fact.name.as_str()));
                let message = format!("there is no fact `{}`{near}", fact.value);
                return Err(self.source.error_at(fact.byte, message));
            }
            asks.push(Ask { label: ask.localized("label")?, fact: fact.value.to_string() });
            ask.finish()?;
        }
        section.finish()?;
        Ok(Opening { at, question, asks })
    }

    /// A rack, unless the file says otherwise.
    fn links(&self, root: &mut Section<'a>) -> Read<Links> {
        let usual = LinkSpec::default();
        if !root.has("links") {
            root.value("links");
            let LinkSpec { delay, jitter, bytes_per_second, .. } = usual;
            return Ok(Links { delay, jitter, bytes_per_second });
        }
        let mut section = root.section("links", "[links]")?;
        let links = Links {
            delay: section.duration("delay", Some(usual.delay))?.value,
            jitter: section.duration("jitter", Some(usual.jitter))?.value,
            bytes_per_second: section.int("bytes_per_second", Some(usual.bytes_per_second))?.value,
        };
        section.finish()?;
        Ok(links)
    }

    /// Every place is named: among those where it runs, or with the reason why not.
    fn places(&self, root: &mut Section<'a>) -> Read<(Vec<Place>, Vec<LeftOut>)> {
        let places = root.words("places", &PLACES)?;
        let mut left_out = Vec::new();
        for mut section in root.sections("left_out", "[[left_out]]")? {
            left_out.push(LeftOut { place: section.word("place", &PLACES)?, reason: section.localized("reason")? });
            section.finish()?;
        }
        for (name, place) in PLACES {
            let reasons = left_out.iter().filter(|left| left.place == place).count();
            if usize::from(places.contains(&place)) + reasons != 1 {
                let message = format!("`{name}` must stand either in `places` or, with its reason, in [[left_out]]");
                return Err(root.error(message));
            }
        }
        Ok((places, left_out))
    }
}
