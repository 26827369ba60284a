//! `steplog list`: the experiments and what each shows; as JSON also what another program needs to run one: cluster,
//! topics, clients with their programs as compiled, faults.

use serde_json::{Value as Json, json};

use super::{Outcome, print};
use crate::experiment::{Client, Experiment, Place, Role, ServerNode, Topic};
use crate::native::experiment;

/// List the experiments.
#[derive(Debug, clap::Args)]
pub struct Arguments {
    /// Print one JSON array, with what a script needs to build the cluster that an experiment wants and to run it
    #[arg(long)]
    json: bool,
}

pub fn execute(arguments: Arguments) -> Outcome {
    let experiments = match experiment::all() {
        Ok(experiments) => experiments,
        Err(error) => return Outcome::Wrong(error.to_string()),
    };
    print(&if arguments.json { json_text(&experiments) } else { table_text(&experiments) });
    Outcome::Success
}

fn table_text(experiments: &[Experiment]) -> String {
    let mut table = super::table::new(&["name", "what it shows", "where"]);
    for experiment in experiments {
        table.add_row([&experiment.name, &experiment.title.en, &places(experiment).join(", ")]);
    }
    super::table::text(&table)
}

fn json_text(experiments: &[Experiment]) -> String {
    let all = experiments.iter().map(|experiment| {
        json!({
            "name": experiment.name,
            "title": { "en": experiment.title.en, "zh": experiment.title.zh },
            "places": places(experiment),
            "nodes": experiment.cluster.nodes.iter().map(node).collect::<Vec<Json>>(),
            "topics": experiment.topics.iter().map(topic).collect::<Vec<Json>>(),
            "clients": experiment.clients.iter().map(|client| self::client(experiment, client)).collect::<Vec<Json>>(),
            "faults": experiment.faults,
        })
    });
    format!("{}\n", Json::from(all.collect::<Vec<Json>>()))
}

fn places(experiment: &Experiment) -> Vec<&'static str> {
    experiment.places.iter().copied().map(Place::name).collect()
}

fn node(node: &ServerNode) -> Json {
    let role = |role: &Role| match role {
        Role::Broker => "broker",
        Role::Controller => "controller",
    };
    json!({ "id": node.id, "roles": node.roles.iter().map(role).collect::<Vec<_>>(), "config": node.config })
}

/// Its program's steps are those of [`crate::experiment::program::What`].
fn client(experiment: &Experiment, client: &Client) -> Json {
    let program = experiment.program_of(&client.name);
    json!({
        "name": client.name,
        "kind": client.kind,
        "config": client.config,
        "lines": program.map(|program| &program.lines),
        "steps": program.map(|program| &program.steps),
        "counters": program.map(|program| &program.counters),
        "tables": program.map(|program| &program.tables),
        "partitioner": program.map(|program| &program.partitioner),
        "interceptors": program.map(|program| &program.interceptors),
    })
}

fn topic(topic: &Topic) -> Json {
    json!({
        "name": topic.name,
        "partitions": topic.partitions,
        "replication_factor": topic.replication_factor,
        "config": topic.config,
    })
}
