//! Interceptors: when they run, in which order, and what becomes of what they throw.

use steplog::client::{Console, ProducerInterceptor, ProducerPlugins};
use steplog::node::{Command, Duration, Exception, Note, ProducerRecord, RecordMetadata, Reply};

use crate::world::World;

/// Prints what it sees; puts its name in front of values, or throws.
#[derive(Debug, Clone)]
struct Named {
    name: &'static str,
    throws: bool,
}

impl ProducerInterceptor for Named {
    fn configure(&mut self, console: &mut Console) {
        console.print(format!("{} configure", self.name));
    }

    fn on_send(&mut self, record: ProducerRecord, console: &mut Console) -> Result<ProducerRecord, Exception> {
        let value = String::from_utf8_lossy(record.value.as_deref().unwrap_or_default()).into_owned();
        console.print(format!("{} sends {value}", self.name));
        match self.throws {
            true => Err(Exception::new("RuntimeException", "no".to_owned())),
            false => Ok(ProducerRecord { value: Some(format!("{}-{value}", self.name).into()), ..record }),
        }
    }

    fn on_acknowledgement(
        &mut self,
        metadata: &RecordMetadata,
        exception: Option<&Exception>,
        console: &mut Console,
    ) -> Result<(), Exception> {
        let fate = exception.map_or("ok", |exception| exception.class);
        console.print(format!("{} {} {fate}", self.name, metadata.offset));
        match self.throws {
            true => Err(Exception::new("RuntimeException", "no".to_owned())),
            false => Ok(()),
        }
    }

    fn close(&mut self, console: &mut Console) {
        console.print(format!("{} close", self.name));
    }

    fn boxed(&self) -> Box<dyn ProducerInterceptor> {
        Box::new(self.clone())
    }
}

fn world() -> World {
    let named = |name, throws| Box::new(Named { name, throws }) as Box<dyn ProducerInterceptor>;
    let interceptors = vec![named("a", false), named("b", true), named("c", false)];
    World::producer_with(&[("max.block.ms", "300")], ProducerPlugins { interceptors, ..ProducerPlugins::default() })
}

/// What was printed, with the callbacks among it.
fn told(world: &World) -> Vec<String> {
    let line = |reply: &Reply| match reply {
        Reply::Printed(line) => Some(line.clone()),
        Reply::Acked(_) => Some("callback ok".to_owned()),
        Reply::Failed(_) => Some("callback failed".to_owned()),
        Reply::Threw(_) => Some("thrown".to_owned()),
        Reply::Done => Some("done".to_owned()),
        _ => None,
    };
    world.replies.iter().filter_map(|(_, _, reply)| line(reply)).collect()
}

#[test]
fn interceptors_run_in_their_order_from_configure_to_close_and_one_that_throws_is_passed_over() {
    let mut world = world();
    world.send("v");
    world.run(500);
    world.call(Command::Close { timeout: Duration::from_ms(1000) });
    world.run(100);
    let wanted = [
        "a configure",
        "b configure",
        "c configure",
        "a sends v",
        "b sends a-v",
        "c sends a-v",
        "a 0 ok",
        "b 0 ok",
        "c 0 ok",
        "callback ok",
        "a close",
        "b close",
        "c close",
        "done",
    ];
    assert_eq!(told(&world), wanted);
    assert_eq!(world.broker.sent[0].values, ["c-a-v"]);
    let threw = |note: &Note| matches!(note, Note::InterceptorThrew { interceptor: 1, exception } if exception == "RuntimeException: no");
    assert_eq!(world.notes.iter().filter(|(_, note)| threw(note)).count(), 2);
}

#[test]
fn interceptors_hear_of_what_send_itself_refuses_after_the_callback_or_before_the_throw() {
    let mut world = world();
    world.up = false;
    world.send("v");
    world.run(500);
    let wanted = ["callback failed", "a -1 TimeoutException", "b -1 TimeoutException", "c -1 TimeoutException"];
    assert_eq!(told(&world)[6..], wanted);
    world.call(Command::Close { timeout: Duration::ZERO });
    let before = told(&world).len();
    world.send("w");
    let after = &told(&world)[before..];
    assert_eq!(
        after[3..],
        ["a -1 IllegalStateException", "b -1 IllegalStateException", "c -1 IllegalStateException", "thrown"]
    );
}
