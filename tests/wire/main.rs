//! Our wire against recordings of Apache Kafka 4.3.0, against another implementation, and against broken bytes.

mod corpus;
mod hostile;
mod judge;
mod oracle;
mod records;
mod rules;
