//! Clients against a scripted broker in virtual time: what an application sees, and when.

mod broker;
mod config;
mod consumer;
mod partitions;
mod plugins;
mod producer;
mod world;
