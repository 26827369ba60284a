//! A broker's life on one node: starting, being killed, shutting down, and what each leaves for the next.

mod shell;

use shell::{Shell, config};
use steplog::node::{ExitReason, Note};

#[test]
fn a_fresh_node_formats_its_directory_and_comes_to_serve() {
    let shell = Shell::start(config(&[]));
    assert!(matches!(shell.notes.last(), Some(Note::Serving { .. })), "{:?}", shell.notes);
    assert_eq!(shell.exit, None::<(i32, ExitReason)>);
}
