//! Reads an expression and checks its types.

use super::function::{FUNCTIONS, Type};
use super::{AnswerField, BatchField, Expr, Ids, Operator, Texts, Value};
use crate::experiment::syntax::{Cursor, SyntaxError, did_you_mean, is_word};

/// The names of an experiment that its expressions may use.
#[derive(Debug, Clone, Default)]
pub struct Names<'a> {
    pub clients: Vec<&'a str>,
    pub topics: Vec<&'a str>,
    pub nodes: Vec<i32>,
    /// How many `[[fault]]`s there are.
    pub faults: usize,
    pub counters: Vec<&'a str>,
    /// Under which answers to raw requests are kept.
    pub answers: Vec<&'a str>,
    pub tables: Vec<&'a str>,
}

type Typed = (Expr, Type);

/// How deep brackets, `not` and calls may nest: far more than any fact needs, far less than a stack holds.
const NESTING_MAX: u32 = 64;

/// Operators from loosest to tightest; of one level, longer spellings first.
const LEVELS: [&[(&str, Operator)]; 5] = [
    &[("or", Operator::Or)],
    &[("and", Operator::And)],
    &[
        ("==", Operator::Equal),
        ("!=", Operator::NotEqual),
        ("<=", Operator::LessOrEqual),
        (">=", Operator::GreaterOrEqual),
        ("<", Operator::Less),
        (">", Operator::Greater),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("//", Operator::DivideDown)],
];

/// The level of `==` and `<` in [`LEVELS`].
const COMPARISON: usize = 2;

/// Whether a name is measured already, so that no program may count in it.
pub fn is_measured(name: &str) -> bool {
    measures().any(|measure| measure == name)
}

fn measures<'a>() -> impl Iterator<Item = &'a str> {
    Ids::ALL.iter().map(|(name, _)| *name).chain(Texts::ALL.iter().map(|(name, _)| *name))
}

/// Reads one expression. Errors say where in `text` and what would be right.
pub fn parse(text: &str, names: &Names<'_>) -> Result<Expr, SyntaxError> {
    let mut parser = Parser { cursor: Cursor::new(1, text), names, depth: 0 };
    let (expr, _) = parser.level(0)?;
    if !parser.cursor.is_at_end() {
        let rest = parser.cursor.rest().to_string();
        return Err(parser.cursor.error(format!("`{rest}` is too much: expected an operator or the end")));
    }
    Ok(expr)
}

struct Parser<'a> {
    cursor: Cursor<'a>,
    names: &'a Names<'a>,
    depth: u32,
}

impl Parser<'_> {
    fn level(&mut self, level: usize) -> Result<Typed, SyntaxError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let start = self.cursor.place();
        // Looser than a comparison, tighter than `and`.
        if level == COMPARISON && self.cursor.take_word("not") {
            return self.not();
        }
        let mut left = self.level(level + 1)?;
        while let Some((spelt, operator)) = self.operator(operators) {
            let place = self.cursor.place();
            let right = self.level(level + 1)?;
            let (operands, result) = match operator {
                Operator::And | Operator::Or => (Type::Truth, Type::Truth),
                Operator::Equal | Operator::NotEqual => (left.1, Type::Truth),
                Operator::Multiply | Operator::DivideDown | Operator::Add | Operator::Subtract => {
                    (Type::Number, Type::Number)
                }
                _ => (Type::Number, Type::Truth),
            };
            self.expect(start, left.1, operands, &format!("left of `{spelt}`"))?;
            self.expect(place, right.1, operands, &format!("right of `{spelt}`"))?;
            left = (Expr::Binary(operator, Box::new(left.0), Box::new(right.0)), result);
        }
        Ok(left)
    }

    fn not(&mut self) -> Result<Typed, SyntaxError> {
        self.deeper(|parser| {
            let place = parser.cursor.place();
            let (operand, found) = parser.level(COMPARISON)?;
            parser.expect(place, found, Type::Truth, "what follows `not`")?;
            Ok((Expr::Not(Box::new(operand)), Type::Truth))
        })
    }

    fn deeper(&mut self, read: impl FnOnce(&mut Self) -> Result<Typed, SyntaxError>) -> Result<Typed, SyntaxError> {
        if self.depth == NESTING_MAX {
            return Err(self.cursor.error(format!("nested more than {NESTING_MAX} deep")));
        }
        self.depth += 1;
        let typed = read(self)?;
        self.depth -= 1;
        Ok(typed)
    }

    fn operator(&mut self, operators: &[(&'static str, Operator)]) -> Option<(&'static str, Operator)> {
        operators.iter().copied().find(|(spelt, _)| match spelt.starts_with(is_word) {
            true => self.cursor.take_word(spelt),
            false => self.cursor.take(spelt),
        })
    }

    fn expect(&self, place: usize, found: Type, wanted: Type, of: &str) -> Result<(), SyntaxError> {
        if found == wanted {
            return Ok(());
        }
        Err(self.cursor.error_at(place, format!("this is {found}, but {of} must be {wanted}")))
    }

    fn unary(&mut self) -> Result<Typed, SyntaxError> {
        if !self.cursor.take("-") {
            return self.deeper(Parser::atom);
        }
        self.deeper(|parser| {
            let place = parser.cursor.place();
            let (operand, found) = parser.unary()?;
            parser.expect(place, found, Type::Number, "what follows `-`")?;
            let zero = Box::new(Expr::Value(Value::Int(0)));
            Ok((Expr::Binary(Operator::Subtract, zero, Box::new(operand)), Type::Number))
        })
    }

    fn atom(&mut self) -> Result<Typed, SyntaxError> {
        let place = self.cursor.place();
        if self.cursor.take("(") {
            let inner = self.level(0)?;
            self.close(")")?;
            return Ok(inner);
        }
        if self.cursor.take("[") {
            return self.list();
        }
        if self.cursor.take("\"") {
            return Ok((Expr::Value(Value::Text(self.quoted()?)), Type::Text));
        }
        let word = self.cursor.run(|c| is_word(c) || c == '.');
        if word.starts_with(|c: char| c.is_ascii_digit()) {
            let number = self.number(place, word)?;
            return Ok((Expr::Value(Value::Int(number)), Type::Number));
        }
        match word {
            "" => Err(self.cursor.error_at(place, "expected a number, a list, a measure or a function")),
            "true" => Ok((Expr::Value(Value::Bool(true)), Type::Truth)),
            "false" => Ok((Expr::Value(Value::Bool(false)), Type::Truth)),
            name if name.starts_with("batch.") => self.batches(place, name),
            name if self.cursor.take("(") => self.function(place, name),
            name => self.measure(place, name),
        }
    }

    /// A number in milliseconds if a unit follows.
    fn number(&mut self, place: usize, digits: &str) -> Result<i64, SyntaxError> {
        let unit = if self.cursor.take_word("ms") {
            1
        } else if self.cursor.take_word("s") {
            1000
        } else {
            1
        };
        let number = digits.parse::<i64>().ok().and_then(|number| number.checked_mul(unit));
        number.ok_or_else(|| {
            self.cursor.error_at(place, format!("`{digits}` is not a whole number: write 6500 ms rather than 6.5 s"))
        })
    }

    /// Numbers or texts; without any, a list of numbers.
    fn list(&mut self) -> Result<Typed, SyntaxError> {
        let (mut list, mut texts) = (Vec::new(), Vec::new());
        while !self.cursor.take("]") {
            if list.len() + texts.len() > 0 && !self.cursor.take(",") {
                return Err(self.cursor.error("expected `,` or `]`"));
            }
            let place = self.cursor.place();
            if list.is_empty() && self.cursor.take("\"") {
                texts.push(self.quoted()?);
                continue;
            }
            let minus = if self.cursor.take("-") { -1 } else { 1 };
            let digits = self.cursor.run(is_word);
            if !texts.is_empty() {
                let message = format!("`{digits}` is not a text: write it in double quotes");
                return Err(self.cursor.error_at(place, message));
            }
            list.push(minus * self.number(place, digits)?);
        }
        Ok(match texts.is_empty() {
            true => (Expr::Value(Value::List(list)), Type::List),
            false => (Expr::Value(Value::Texts(texts)), Type::Texts),
        })
    }

    /// The rest of a text whose first quote has been taken.
    fn quoted(&mut self) -> Result<String, SyntaxError> {
        let text = self.cursor.quoted().map(str::to_string);
        text.ok_or_else(|| self.cursor.error("this text has no end: expected `\"`"))
    }

    fn close(&mut self, bracket: &str) -> Result<(), SyntaxError> {
        if self.cursor.take(bracket) { Ok(()) } else { Err(self.cursor.error(format!("expected `{bracket}`"))) }
    }

    fn function(&mut self, place: usize, name: &str) -> Result<Typed, SyntaxError> {
        let typed = match name {
            "said" => self.said()?,
            "ended" => (Expr::Ended(self.client()?), Type::Number),
            "by" => {
                let ids = self.ids_of("by")?;
                (Expr::By(Box::new(ids), self.client()?), Type::List)
            }
            "rows" => {
                let place = self.cursor.place();
                let table = self.cursor.run(is_word);
                if !self.names.tables.contains(&table) {
                    let near = did_you_mean(table, self.names.tables.iter().copied());
                    return Err(self.cursor.error_at(place, format!("no program writes to a table `{table}`{near}")));
                }
                (Expr::Rows(table.to_string()), Type::Number)
            }
            "dead_at" | "serving_at" => {
                let place = self.cursor.place();
                let digits = self.cursor.run(is_word);
                let Some(node) = digits.parse().ok().filter(|node| self.names.nodes.contains(node)) else {
                    return Err(self.cursor.error_at(place, format!("there is no node `{digits}`")));
                };
                (if name == "dead_at" { Expr::DeadAt(node) } else { Expr::ServingAt(node) }, Type::Number)
            }
            "fault_at" => {
                let place = self.cursor.place();
                let digits = self.cursor.run(is_word);
                let index = digits.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
                let Some(index) = index.filter(|index| *index < self.names.faults) else {
                    let message = format!("there is no [[fault]] number `{digits}`: they count from 1");
                    return Err(self.cursor.error_at(place, message));
                };
                (Expr::FaultAt(index), Type::Number)
            }
            name => {
                let mut named = FUNCTIONS.iter().filter(|(spelt, ..)| *spelt == name).peekable();
                let Some(mut function) = named.peek().copied() else {
                    let all = FUNCTIONS.iter().map(|f| f.0).chain([
                        "said",
                        "by",
                        "ended",
                        "dead_at",
                        "serving_at",
                        "fault_at",
                        "rows",
                    ]);
                    let near = did_you_mean(name, all);
                    return Err(self.cursor.error_at(place, format!("there is no function `{name}`{near}")));
                };
                let mut arguments: Vec<Expr> = Vec::new();
                loop {
                    let place = self.cursor.place();
                    let (argument, found) = self.level(0)?;
                    if arguments.is_empty() {
                        function = named.find(|(_, _, of, _)| of.first() == Some(&found)).unwrap_or(function);
                    }
                    let Some(wanted) = function.2.get(arguments.len()) else { break };
                    self.expect(place, found, *wanted, &format!("argument {} of `{name}`", arguments.len() + 1))?;
                    arguments.push(argument);
                    if arguments.len() == function.2.len() {
                        break;
                    }
                    self.close(",")?;
                }
                (Expr::Call(function.1, arguments), function.3)
            }
        };
        self.close(")")?;
        Ok(typed)
    }

    fn said(&mut self) -> Result<Typed, SyntaxError> {
        let ids = self.ids_of("said")?;
        Ok((Expr::Said(Box::new(ids), self.text()?), Type::List))
    }

    /// A list and the comma behind it.
    fn ids_of(&mut self, function: &str) -> Result<Expr, SyntaxError> {
        let place = self.cursor.place();
        let (ids, found) = self.level(0)?;
        self.expect(place, found, Type::List, &format!("argument 1 of `{function}`"))?;
        self.close(",")?;
        Ok(ids)
    }

    fn client(&mut self) -> Result<String, SyntaxError> {
        let place = self.cursor.place();
        let client = self.cursor.run(|c| is_word(c) || c == '-' || c == '.');
        if self.names.clients.contains(&client) {
            return Ok(client.to_string());
        }
        let near = did_you_mean(client, self.names.clients.iter().copied());
        Err(self.cursor.error_at(place, format!("there is no client `{client}`{near}")))
    }

    /// A text in quotes.
    fn text(&mut self) -> Result<String, SyntaxError> {
        match self.cursor.take("\"") {
            true => self.quoted(),
            false => Err(self.cursor.error("expected a text in double quotes")),
        }
    }

    /// A field of all fetched batches, or of one topic's.
    fn batches(&mut self, place: usize, name: &str) -> Result<Typed, SyntaxError> {
        /// The one field that is a text.
        const CODEC: &str = "codec";
        let spelt = name.trim_start_matches("batch.");
        let field = BatchField::ALL.iter().find(|(field, _)| *field == spelt).map(|(_, field)| *field);
        if field.is_none() && spelt != CODEC {
            let near = did_you_mean(spelt, BatchField::ALL.iter().map(|(field, _)| *field).chain([CODEC]));
            return Err(self.cursor.error_at(place, format!("a batch has no field `{spelt}`{near}")));
        }
        let topic = if self.cursor.take("(") { Some(self.topic()?) } else { None };
        Ok(match field {
            Some(field) => (Expr::Batch(field, topic), Type::List),
            None => (Expr::Codecs(topic), Type::Texts),
        })
    }

    /// One of the experiment's, and the bracket behind it.
    fn topic(&mut self) -> Result<String, SyntaxError> {
        let place = self.cursor.place();
        let topic = self.text()?;
        if !self.names.topics.contains(&topic.as_str()) {
            let near = did_you_mean(&topic, self.names.topics.iter().copied());
            return Err(self.cursor.error_at(place, format!("there is no topic `{topic}`{near}")));
        }
        self.close(")")?;
        Ok(topic)
    }

    fn measure(&mut self, place: usize, name: &str) -> Result<Typed, SyntaxError> {
        if let Some((_, ids)) = Ids::ALL.iter().find(|(spelt, _)| *spelt == name) {
            return Ok((Expr::Ids(*ids), Type::List));
        }
        if let Some((_, texts)) = Texts::ALL.iter().find(|(spelt, _)| *spelt == name) {
            return Ok((Expr::Texts(*texts), Type::Texts));
        }
        if let Some((answer, field)) = name.split_once('.')
            && self.names.answers.contains(&answer)
        {
            if let Some((_, field)) = AnswerField::ALL.iter().find(|(spelt, _)| *spelt == field) {
                return Ok((Expr::Answers(answer.to_string(), *field), Type::List));
            }
            let near = did_you_mean(field, AnswerField::ALL.map(|(spelt, _)| spelt));
            return Err(self.cursor.error_at(place, format!("an answer has no field `{field}`{near}")));
        }
        if self.names.counters.contains(&name) {
            return Ok((Expr::Counter(name.to_string()), Type::Number));
        }
        let all = measures().chain(self.names.counters.iter().copied());
        let near = did_you_mean(name, all);
        Err(self.cursor.error_at(place, format!("`{name}` is neither measured nor counted by a program{near}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        let names = Names {
            clients: vec!["AcksLab"],
            topics: vec!["a2.acks0"],
            nodes: vec![1],
            faults: 1,
            counters: vec!["told_ok"],
            answers: vec!["gap"],
            tables: vec!["orders"],
        };
        parse(text, &names).expect_err(text).to_string()
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place_and_what_would_be_right() {
        let cases = [
            ("count(okk)", "line 1, column 7: `okk` is neither measured nor counted by a program (did you mean `ok`?)"),
            ("cuont(ok)", "line 1, column 1: there is no function `cuont` (did you mean `count`?)"),
            ("count(ok) + failed", "line 1, column 13: this is a list, but right of `+` must be a number"),
            ("ok == 3", "line 1, column 7: this is a number, but right of `==` must be a list"),
            ("count(3)", "line 1, column 7: this is a number, but argument 1 of `count` must be a list"),
            ("count(ok", "line 1, column 9: expected `)`"),
            ("dead_at(2)", "line 1, column 9: there is no node `2`"),
            ("fault_at(2)", "line 1, column 10: there is no [[fault]] number `2`: they count from 1"),
            ("ended(AcksLap)", "line 1, column 7: there is no client `AcksLap` (did you mean `AcksLab`?)"),
            ("batch.size(\"a2.acks1\")", "line 1, column 12: there is no topic `a2.acks1` (did you mean `a2.acks0`?)"),
            ("by(ok, AckLab)", "line 1, column 8: there is no client `AckLab` (did you mean `AcksLab`?)"),
            ("batch.siez", "line 1, column 1: a batch has no field `siez` (did you mean `size`?)"),
            ("gap.eror_code", "line 1, column 1: an answer has no field `eror_code` (did you mean `error_code`?)"),
            ("rows(order)", "line 1, column 6: no program writes to a table `order` (did you mean `orders`?)"),
            ("6.5 s", "line 1, column 1: `6.5` is not a whole number: write 6500 ms rather than 6.5 s"),
            (
                "count(ok) count(failed)",
                "line 1, column 11: `count(failed)` is too much: expected an operator or the end",
            ),
            ("first(printed) == 3", "line 1, column 19: this is a number, but right of `==` must be a text"),
            ("at(printed, ok)", "line 1, column 13: this is a list, but argument 2 of `at` must be a number"),
            ("printed == [\"a\", 3]", "line 1, column 18: `3` is not a text: write it in double quotes"),
            ("said(ok, \"x)", "line 1, column 11: this text has no end: expected `\"`"),
            ("", "line 1, column 1: expected a number, a list, a measure or a function"),
        ];
        for (text, wanted) in cases {
            assert_eq!(error(text), wanted, "{text}");
        }
        assert!(error(&"(".repeat(9_000)).contains("nested more than 64 deep"));
    }

    #[test]
    fn tighter_operators_bind_first() {
        let names = Names::default();
        let value = |text: &str| parse(text, &names).unwrap().value(&crate::experiment::Measures::default());
        assert_eq!(value("1 + 2 * 3 - 7 // 2"), Some(Value::Int(4)));
        assert_eq!(value("2 s - 500 ms == 1500 and not 1 > 2"), Some(Value::Bool(true)));
        assert_eq!(value("[0, -1] == [0, -1] or false"), Some(Value::Bool(true)));
    }
}
