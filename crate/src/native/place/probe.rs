//! Asks one broker who is in its cluster: a Metadata request on a connection of its own.

use std::io;

use bytes::Bytes;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::disk::Slice;
use crate::node::Address;
use crate::wire::messages::metadata::{MetadataRequest, MetadataResponse};
use crate::wire::{ApiKey, RequestHeader, decode_response, encode_request};

/// Served by every Kafka from 2.4 on.
const METADATA_VERSION: i16 = 9;

/// Far above what a description of a few nodes takes; a peer that claims more does not speak Kafka.
const RESPONSE_BYTES_MAX: u32 = 1024 * 1024;

const ANSWER_WITHIN: std::time::Duration = std::time::Duration::from_secs(5);

/// A broker as the cluster lists it: registered and unfenced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broker {
    pub node: i32,
    pub address: Address,
}

pub async fn brokers(address: &str) -> io::Result<Vec<Broker>> {
    match tokio::time::timeout(ANSWER_WITHIN, ask(address)).await {
        Ok(answer) => answer,
        Err(_) => Err(io::Error::new(io::ErrorKind::TimedOut, "no answer within 5 s")),
    }
}

async fn ask(address: &str) -> io::Result<Vec<Broker>> {
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(&request()?).await?;
    let size = stream.read_u32().await?;
    if size > RESPONSE_BYTES_MAX {
        return Err(not_kafka("its answer has no sane size"));
    }
    let mut frame = vec![0; size as usize];
    stream.read_exact(&mut frame).await?;
    let (_, response): (i32, MetadataResponse) =
        decode_response(&Bytes::from(frame), METADATA_VERSION).map_err(|error| not_kafka(&format!("{error:?}")))?;
    let brokers = response.brokers.into_iter().map(|broker| Broker {
        node: broker.node_id,
        address: Address { host: broker.host, port: u16::try_from(broker.port).unwrap_or(0) },
    });
    Ok(brokers.collect())
}

fn request() -> io::Result<Vec<u8>> {
    let header = RequestHeader {
        request_api_key: ApiKey::METADATA.0,
        request_api_version: METADATA_VERSION,
        correlation_id: 0,
        client_id: Some("steplog".to_owned()),
        ..RequestHeader::default()
    };
    let body =
        MetadataRequest { topics: Some(Vec::new()), allow_auto_topic_creation: false, ..MetadataRequest::default() };
    let slices = encode_request(&header, &body).map_err(|error| not_kafka(&format!("{error:?}")))?;
    let bytes = slices.iter().filter_map(|slice| match slice {
        Slice::Bytes(bytes) => Some(bytes.as_ref()),
        // A request without records has none.
        Slice::File(_) => None,
    });
    Ok(bytes.collect::<Vec<&[u8]>>().concat())
}

fn not_kafka(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("this does not look like Kafka: {why}"))
}
