//! The keys that Kafka's clients know and that have no effect here, with their defaults and checks (read from Kafka
//! 4.3.0's ProducerConfig and ConsumerConfig).

/// How a value is checked although nobody uses it.
#[derive(Debug, Clone, Copy)]
pub enum Check {
    Any,
    Boolean,
    Int(i32, i32),
    Long(i64, i64),
    NotEmpty,
    OneOf(&'static [&'static str]),
    OneOfAnyCase(&'static [&'static str]),
    /// Kafka's own serializers and deserializers.
    Serde,
    /// A class of the user's: there are none here.
    NoClass,
    GzipLevel,
}

#[derive(Debug, Clone, Copy)]
pub struct NoEffect {
    pub name: &'static str,
    pub default: Option<&'static str>,
    pub check: Check,
}

impl NoEffect {
    const fn new(name: &'static str, default: Option<&'static str>, check: Check) -> NoEffect {
        NoEffect { name, default, check }
    }
}

/// Keys of producers and consumers: security, metrics, buffers.
pub const BOTH: &[NoEffect] = &[
    NoEffect::new(
        "client.dns.lookup",
        Some("use_all_dns_ips"),
        Check::OneOf(&["use_all_dns_ips", "resolve_canonical_bootstrap_servers_only"]),
    ),
    NoEffect::new("config.providers", Some(""), Check::Any),
    NoEffect::new("metric.reporters", Some("org.apache.kafka.common.metrics.JmxReporter"), Check::Any),
    NoEffect::new("metrics.num.samples", Some("2"), Check::Int(1, i32::MAX)),
    NoEffect::new("metrics.recording.level", Some("INFO"), Check::OneOf(&["INFO", "DEBUG", "TRACE"])),
    NoEffect::new("metrics.sample.window.ms", Some("30000"), Check::Long(0, i64::MAX)),
    NoEffect::new("sasl.client.callback.handler.class", None, Check::NoClass),
    NoEffect::new("sasl.jaas.config", None, Check::Any),
    NoEffect::new("sasl.kerberos.kinit.cmd", Some("/usr/bin/kinit"), Check::Any),
    NoEffect::new("sasl.kerberos.min.time.before.relogin", Some("60000"), Check::Long(i64::MIN, i64::MAX)),
    NoEffect::new("sasl.kerberos.service.name", None, Check::Any),
    NoEffect::new("sasl.kerberos.ticket.renew.jitter", Some("0.05"), Check::Any),
    NoEffect::new("sasl.kerberos.ticket.renew.window.factor", Some("0.8"), Check::Any),
    NoEffect::new("sasl.login.callback.handler.class", None, Check::NoClass),
    NoEffect::new("sasl.login.class", None, Check::NoClass),
    NoEffect::new("sasl.login.connect.timeout.ms", None, Check::Int(i32::MIN, i32::MAX)),
    NoEffect::new("sasl.login.read.timeout.ms", None, Check::Int(i32::MIN, i32::MAX)),
    NoEffect::new("sasl.login.refresh.buffer.seconds", Some("300"), Check::Int(0, 3600)),
    NoEffect::new("sasl.login.refresh.min.period.seconds", Some("60"), Check::Int(0, 900)),
    NoEffect::new("sasl.login.refresh.window.factor", Some("0.8"), Check::Any),
    NoEffect::new("sasl.login.refresh.window.jitter", Some("0.05"), Check::Any),
    NoEffect::new("sasl.login.retry.backoff.max.ms", Some("10000"), Check::Long(i64::MIN, i64::MAX)),
    NoEffect::new("sasl.login.retry.backoff.ms", Some("100"), Check::Long(i64::MIN, i64::MAX)),
    NoEffect::new("sasl.mechanism", Some("GSSAPI"), Check::Any),
    NoEffect::new("sasl.oauthbearer.assertion.algorithm", Some("RS256"), Check::OneOfAnyCase(&["ES256", "RS256"])),
    NoEffect::new("sasl.oauthbearer.assertion.claim.aud", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.assertion.claim.exp.seconds", Some("300"), Check::Int(0, 86_400)),
    NoEffect::new("sasl.oauthbearer.assertion.claim.iss", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.assertion.claim.jti.include", Some("false"), Check::Boolean),
    NoEffect::new("sasl.oauthbearer.assertion.claim.nbf.seconds", Some("60"), Check::Int(0, 3600)),
    NoEffect::new("sasl.oauthbearer.assertion.claim.sub", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.assertion.file", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.assertion.private.key.file", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.assertion.private.key.passphrase", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.assertion.template.file", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.client.credentials.client.id", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.client.credentials.client.secret", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.clock.skew.seconds", Some("30"), Check::Int(i32::MIN, i32::MAX)),
    NoEffect::new("sasl.oauthbearer.expected.audience", Some(""), Check::Any),
    NoEffect::new("sasl.oauthbearer.expected.issuer", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.header.urlencode", Some("false"), Check::Boolean),
    NoEffect::new("sasl.oauthbearer.jwks.endpoint.refresh.ms", Some("3600000"), Check::Long(i64::MIN, i64::MAX)),
    NoEffect::new(
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms",
        Some("10000"),
        Check::Long(i64::MIN, i64::MAX),
    ),
    NoEffect::new("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", Some("100"), Check::Long(i64::MIN, i64::MAX)),
    NoEffect::new("sasl.oauthbearer.jwks.endpoint.url", None, Check::Any),
    NoEffect::new(
        "sasl.oauthbearer.jwt.retriever.class",
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtRetriever"),
        Check::Any,
    ),
    NoEffect::new(
        "sasl.oauthbearer.jwt.validator.class",
        Some("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
        Check::Any,
    ),
    NoEffect::new("sasl.oauthbearer.scope", None, Check::Any),
    NoEffect::new("sasl.oauthbearer.scope.claim.name", Some("scope"), Check::Any),
    NoEffect::new("sasl.oauthbearer.sub.claim.name", Some("sub"), Check::Any),
    NoEffect::new("sasl.oauthbearer.token.endpoint.url", None, Check::Any),
    NoEffect::new("security.providers", None, Check::Any),
    NoEffect::new("send.buffer.bytes", Some("131072"), Check::Int(-1, i32::MAX)),
    NoEffect::new("ssl.cipher.suites", Some(""), Check::Any),
    NoEffect::new("ssl.enabled.protocols", Some("TLSv1.2,TLSv1.3"), Check::Any),
    NoEffect::new("ssl.endpoint.identification.algorithm", Some("https"), Check::Any),
    NoEffect::new("ssl.engine.factory.class", None, Check::NoClass),
    NoEffect::new("ssl.key.password", None, Check::Any),
    NoEffect::new("ssl.keymanager.algorithm", Some("SunX509"), Check::Any),
    NoEffect::new("ssl.keystore.certificate.chain", None, Check::Any),
    NoEffect::new("ssl.keystore.key", None, Check::Any),
    NoEffect::new("ssl.keystore.location", None, Check::Any),
    NoEffect::new("ssl.keystore.password", None, Check::Any),
    NoEffect::new("ssl.keystore.type", Some("JKS"), Check::Any),
    NoEffect::new("ssl.protocol", Some("TLSv1.3"), Check::Any),
    NoEffect::new("ssl.provider", None, Check::Any),
    NoEffect::new("ssl.secure.random.implementation", None, Check::Any),
    NoEffect::new("ssl.trustmanager.algorithm", Some("PKIX"), Check::Any),
    NoEffect::new("ssl.truststore.certificates", None, Check::Any),
    NoEffect::new("ssl.truststore.location", None, Check::Any),
    NoEffect::new("ssl.truststore.password", None, Check::Any),
    NoEffect::new("ssl.truststore.type", Some("JKS"), Check::Any),
];

/// Keys of producers.
pub const PRODUCER: &[NoEffect] = &[
    NoEffect::new("enable.metrics.push", Some("true"), Check::Boolean),
    NoEffect::new("key.serializer", None, Check::Serde),
    NoEffect::new("receive.buffer.bytes", Some("32768"), Check::Int(-1, i32::MAX)),
    NoEffect::new("value.serializer", None, Check::Serde),
];

/// Keys of consumers.
pub const CONSUMER: &[NoEffect] = &[
    NoEffect::new("enable.metrics.push", Some("true"), Check::Boolean),
    NoEffect::new("client.rack", Some(""), Check::Any),
    NoEffect::new("auto.commit.interval.ms", Some("5000"), Check::Int(0, i32::MAX)),
    NoEffect::new("exclude.internal.topics", Some("true"), Check::Boolean),
    NoEffect::new("group.instance.id", None, Check::NotEmpty),
    NoEffect::new("key.deserializer", None, Check::Serde),
    NoEffect::new("max.poll.interval.ms", Some("300000"), Check::Int(1, i32::MAX)),
    NoEffect::new("receive.buffer.bytes", Some("65536"), Check::Int(-1, i32::MAX)),
    NoEffect::new("share.acknowledgement.mode", Some("implicit"), Check::OneOf(&["implicit", "explicit"])),
    NoEffect::new("share.acquire.mode", Some("BATCH_OPTIMIZED"), Check::OneOf(&["batch_optimized", "record_limit"])),
    NoEffect::new("value.deserializer", None, Check::Serde),
];

/// Keys of admin clients.
pub const ADMIN: &[NoEffect] = &[
    NoEffect::new("bootstrap.controllers", Some(""), Check::Any),
    NoEffect::new("enable.metrics.push", Some("false"), Check::Boolean),
    NoEffect::new("receive.buffer.bytes", Some("65536"), Check::Int(-1, i32::MAX)),
    NoEffect::new("retries", Some("2147483647"), Check::Int(0, i32::MAX)),
];
