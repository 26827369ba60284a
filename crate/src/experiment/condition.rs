//! What a fault can wait for: `acked(producer, 40)`, `failed(producer, 0)`, `sent(producer, 12)`.
//!
//! The number is that of the client's own sends, from 0, in the order of their calls.

use serde::{Deserialize, Serialize};

use super::measures::Measures;
use super::syntax::{Cursor, SyntaxError, did_you_mean, is_word};

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Condition {
    pub told: Told,
    pub client: String,
    pub send: usize,
}

/// What a program has heard of a send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Told {
    /// `send()` was called.
    Sent,
    /// The callback said ok.
    Acked,
    /// The callback said failed.
    Failed,
}

impl Told {
    const ALL: [(&'static str, Told); 3] = [("sent", Told::Sent), ("acked", Told::Acked), ("failed", Told::Failed)];
}

impl Condition {
    /// Errors say where in `text` and what would be right.
    pub fn parse(text: &str, clients: &[&str]) -> Result<Condition, SyntaxError> {
        let mut cursor = Cursor::new(1, text);
        let place = cursor.place();
        let word = cursor.run(is_word);
        let Some((_, told)) = Told::ALL.iter().find(|(spelt, _)| *spelt == word) else {
            let near = did_you_mean(word, Told::ALL.map(|(spelt, _)| spelt));
            let message = format!("expected `acked(client, n)`, `failed(client, n)` or `sent(client, n)`{near}");
            return Err(cursor.error_at(place, message));
        };
        expect(&mut cursor, "(")?;
        let place = cursor.place();
        let client = cursor.run(|c| is_word(c) || c == '-' || c == '.');
        if !clients.contains(&client) {
            let near = did_you_mean(client, clients.iter().copied());
            return Err(cursor.error_at(place, format!("there is no client `{client}`{near}")));
        }
        expect(&mut cursor, ",")?;
        let place = cursor.place();
        let digits = cursor.run(is_word);
        let Ok(send) = digits.parse() else {
            return Err(cursor.error_at(place, format!("`{digits}` is not the number of a send: they count from 0")));
        };
        expect(&mut cursor, ")")?;
        if !cursor.is_at_end() {
            return Err(cursor.error("expected the end"));
        }
        Ok(Condition { told: *told, client: client.to_string(), send })
    }

    pub fn holds(&self, measures: &Measures) -> bool {
        let mut sends = measures.sends.iter().filter(|sent| *sent.client == *self.client);
        sends.nth(self.send).is_some_and(|sent| match self.told {
            Told::Sent => true,
            Told::Acked => sent.outcome.as_ref().is_some_and(|outcome| outcome.result.is_ok()),
            Told::Failed => sent.outcome.as_ref().is_some_and(|outcome| outcome.result.is_err()),
        })
    }
}

fn expect(cursor: &mut Cursor<'_>, token: &str) -> Result<(), SyntaxError> {
    if cursor.take(token) { Ok(()) } else { Err(cursor.error(format!("expected `{token}`"))) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_names_a_client_and_one_of_its_sends() {
        let clients = ["AcksLab", "reader"];
        let read = |text| Condition::parse(text, &clients);
        let acked = Condition { told: Told::Acked, client: "AcksLab".to_string(), send: 40 };
        assert_eq!(read("acked(AcksLab, 40)"), Ok(acked));
        let error = |text| read(text).expect_err(text).to_string();
        assert_eq!(
            error("acked(AcksLap, 40)"),
            "line 1, column 7: there is no client `AcksLap` (did you mean `AcksLab`?)"
        );
        assert_eq!(error("akced(AcksLab, 40)").split(" (").nth(1), Some("did you mean `acked`?)"));
        assert_eq!(error("acked(AcksLab, x)"), "line 1, column 16: `x` is not the number of a send: they count from 0");
        assert_eq!(error("acked(AcksLab, 1) x"), "line 1, column 19: expected the end");
    }
}
