//! Limits how often one caller may ask.

use std::{
    collections::HashMap,
    fmt,
    hash::{BuildHasher as _, RandomState},
    net::IpAddr,
    str::FromStr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use parking_lot::Mutex;

/// The parts of the table, so that threads rarely wait for each other.
const SHARDS: usize = 16;

/// The most callers in one part of the table. Others share one bucket until there is space again.
const CALLERS_PER_SHARD: usize = 4_096;

/// How often a caller may ask, and how many requests may come at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// The time that one request uses up.
    interval: Duration,
    /// The most requests that may come at once after a pause.
    burst: u32,
}

/// The error for a limit that cannot be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write it like `50/s`, `600/m` or `50/s:200`, where 200 requests may come at once")]
pub struct InvalidRateLimit;

impl RateLimit {
    /// Allows so many requests in each period, and `burst` of them at once.
    pub fn new(requests: u32, period: Duration, burst: u32) -> Result<Self, InvalidRateLimit> {
        if requests == 0 || burst == 0 || period.is_zero() {
            return Err(InvalidRateLimit);
        }
        let interval = (period / requests).max(Duration::from_nanos(1));
        Ok(Self { interval, burst })
    }
}

impl FromStr for RateLimit {
    type Err = InvalidRateLimit;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (rate, burst) = match text.split_once(':') {
            Some((rate, burst)) => (rate, Some(burst)),
            None => (text, None),
        };
        let (requests, unit) = rate.split_once('/').ok_or(InvalidRateLimit)?;
        let requests = requests.parse().map_err(|_| InvalidRateLimit)?;
        let period = match unit {
            "s" => Duration::from_secs(1),
            "m" => Duration::from_mins(1),
            _ => return Err(InvalidRateLimit),
        };
        let burst = burst.map_or(Ok(requests), str::parse).map_err(|_| InvalidRateLimit)?;
        Self::new(requests, period, burst)
    }
}

/// A request that came too soon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateRefusal {
    /// When a request of this caller is answered again.
    pub retry_after: Duration,
}

impl RateRefusal {
    /// Returns the whole seconds for a `Retry-After` header.
    pub fn seconds(self) -> u64 {
        self.retry_after.as_secs() + u64::from(self.retry_after.subsec_nanos() > 0)
    }
}

impl fmt::Display for RateRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "This caller asks too often. Ask again in {} s.", self.seconds().max(1))
    }
}

/// A caller as the limits tell callers apart.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum RateKey {
    /// The subject of a token.
    Subject(Box<str>),
    /// An address from which requests without a token come.
    Address(IpAddr),
}

impl RateKey {
    /// The key of an address. One network of IPv6 is one caller, since each host has 2^64 addresses.
    pub fn address(address: IpAddr) -> Self {
        Self::Address(match address.to_canonical() {
            IpAddr::V6(address) => {
                let network = u128::from(address) & !u128::from(u64::MAX);
                IpAddr::V6(network.into())
            }
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// What one caller has used up: the time at which all its requests so far are paid for, in
/// nanoseconds since the start of the limiter.
#[derive(Debug, Default)]
pub struct RateBucket(AtomicU64);

/// Limits how often each caller may ask; clones share everything.
///
/// A caller that is known costs two atomic reads and one atomic write for a request. No caller waits
/// for another one.
#[derive(Debug, Clone)]
pub struct RateLimiter(Arc<LimiterState>);

#[derive(Debug)]
struct LimiterState {
    start: Instant,
    /// The time that one request uses up, in nanoseconds; 0 without a limit.
    interval: AtomicU64,
    /// How far a caller may be ahead, in nanoseconds.
    tolerance: AtomicU64,
    shards: [Mutex<HashMap<RateKey, Arc<RateBucket>>>; SHARDS],
    hashes: RandomState,
    /// What callers share that the table has no space for, or that nothing tells apart.
    shared: Arc<RateBucket>,
    /// Finds the subject in the name of a caller, where one subject has several tokens.
    subject: OnceLock<fn(&str) -> &str>,
}

impl Default for RateLimiter {
    fn default() -> Self {
        Self(Arc::new(LimiterState {
            start: Instant::now(),
            interval: AtomicU64::new(0),
            tolerance: AtomicU64::new(0),
            shards: Default::default(),
            hashes: RandomState::new(),
            shared: Arc::default(),
            subject: OnceLock::new(),
        }))
    }
}

impl RateLimiter {
    /// Sets the limit, or takes it away; it counts from the next request on.
    pub fn replace(&self, limit: Option<RateLimit>) {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let (interval, tolerance) = limit.map_or((0, 0), |RateLimit { interval, burst }| {
            (nanos(interval), nanos(interval.saturating_mul(burst - 1)))
        });
        self.0.tolerance.store(tolerance, Ordering::Relaxed);
        self.0.interval.store(interval, Ordering::Relaxed);
    }

    /// Counts the requests of all callers with one subject together.
    #[must_use]
    pub fn by_subject(self, subject: fn(&str) -> &str) -> Self {
        // The first one stays; a program sets it once.
        let _ = self.0.subject.set(subject);
        self
    }

    /// Tells whether there is a limit.
    pub fn is_on(&self) -> bool {
        self.0.interval.load(Ordering::Relaxed) > 0
    }

    /// Finds the bucket of the caller with this name.
    pub fn of_caller(&self, name: &str) -> Arc<RateBucket> {
        let subject = self.0.subject.get().map_or(name, |subject| subject(name));
        self.bucket(RateKey::Subject(subject.into()))
    }

    /// Finds the bucket of a caller.
    pub fn bucket(&self, key: RateKey) -> Arc<RateBucket> {
        let hash = self.0.hashes.hash_one(&key);
        // The remainder is below the number of shards.
        let shard = usize::try_from(hash % SHARDS as u64).unwrap_or(0);
        let mut shard = self.0.shards[shard].lock();
        if let Some(known) = shard.get(&key) {
            return Arc::clone(known);
        }
        if shard.len() >= CALLERS_PER_SHARD {
            let now = self.now();
            // A caller that owes nothing and is not connected starts anew without a difference.
            shard.retain(|_, bucket| {
                Arc::strong_count(bucket) > 1 || bucket.0.load(Ordering::Relaxed) > now
            });
        }
        if shard.len() >= CALLERS_PER_SHARD {
            return Arc::clone(&self.0.shared);
        }
        let bucket = Arc::<RateBucket>::default();
        shard.insert(key, Arc::clone(&bucket));
        bucket
    }

    /// The bucket of callers that nothing tells apart.
    pub(super) fn shared(&self) -> &Arc<RateBucket> {
        &self.0.shared
    }

    /// Counts one request, or refuses it.
    pub fn take(&self, bucket: &RateBucket) -> Result<(), RateRefusal> {
        let interval = self.0.interval.load(Ordering::Relaxed);
        if interval == 0 {
            return Ok(());
        }
        self.take_at(bucket, interval, self.now())
    }

    fn take_at(&self, bucket: &RateBucket, interval: u64, now: u64) -> Result<(), RateRefusal> {
        let tolerance = self.0.tolerance.load(Ordering::Relaxed);
        let mut paid = bucket.0.load(Ordering::Relaxed);
        loop {
            let ahead = paid.saturating_sub(now);
            if ahead > tolerance {
                return Err(RateRefusal { retry_after: Duration::from_nanos(ahead - tolerance) });
            }
            let next = paid.max(now).saturating_add(interval);
            match bucket.0.compare_exchange_weak(paid, next, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Ok(()),
                Err(other) => paid = other,
            }
        }
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// The other end of a connection.
#[derive(Debug)]
pub struct ConnectionPeer {
    address: IpAddr,
    bucket: OnceLock<Arc<RateBucket>>,
}

impl ConnectionPeer {
    /// Names the address that a connection comes from.
    pub fn new(address: IpAddr) -> Arc<Self> {
        Arc::new(Self { address, bucket: OnceLock::new() })
    }

    /// Returns the address.
    pub fn address(&self) -> IpAddr {
        self.address
    }

    pub(super) fn bucket(&self, limiter: &RateLimiter) -> &RateBucket {
        self.bucket.get_or_init(|| limiter.bucket(RateKey::address(self.address)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn limiter(limit: &str) -> RateLimiter {
        let limiter = RateLimiter::default();
        limiter.replace(Some(limit.parse().unwrap()));
        limiter
    }

    /// Counts how many of `asked` requests at one moment are answered.
    fn taken(limiter: &RateLimiter, bucket: &RateBucket, asked: usize, at: u64) -> usize {
        let interval = limiter.0.interval.load(Ordering::Relaxed);
        (0..asked).filter(|_| limiter.take_at(bucket, interval, at).is_ok()).count()
    }

    #[test]
    fn a_caller_that_floods_is_slowed_and_its_neighbours_are_not() {
        let limiter = limiter("10/s:20");
        let (flood, quiet) = (limiter.of_caller("flood"), limiter.of_caller("quiet"));
        // 100,000 requests within a minute: the burst, and then ten for each second.
        let answered: usize =
            (0..60).map(|second| taken(&limiter, &flood, 1_667, second * SECOND)).sum();
        assert_eq!(answered, 20 + 59 * 10);
        assert_eq!(taken(&limiter, &quiet, 20, 60 * SECOND), 20);
    }

    #[test]
    fn a_refusal_says_when_to_come_back_and_a_changed_limit_counts_at_once() {
        let limiter = limiter("2/s:1");
        let bucket = limiter.of_caller("a");
        assert_eq!(taken(&limiter, &bucket, 2, 0), 1);
        let interval = limiter.0.interval.load(Ordering::Relaxed);
        let refused = limiter.take_at(&bucket, interval, SECOND / 4).unwrap_err();
        assert_eq!((refused.retry_after, refused.seconds()), (Duration::from_millis(250), 1));
        limiter.replace(None);
        assert!(!limiter.is_on() && limiter.take(&bucket).is_ok());
    }

    #[test]
    fn tokens_of_one_subject_and_hosts_of_one_network_share_a_bucket() {
        let limiter = limiter("1/s")
            .by_subject(|name| name.split_once('#').map_or(name, |(subject, _)| subject));
        let same = |a: &Arc<RateBucket>, b: &Arc<RateBucket>| Arc::ptr_eq(a, b);
        assert!(same(&limiter.of_caller("ana#1"), &limiter.of_caller("ana#2")));
        assert!(!same(&limiter.of_caller("ana#1"), &limiter.of_caller("bob#1")));
        let of = |address: &str| limiter.bucket(RateKey::address(address.parse().unwrap()));
        assert!(same(&of("2001:db8::1"), &of("2001:db8::ffff")));
        assert!(same(&of("::ffff:10.0.0.1"), &of("10.0.0.1")));
        assert!(!same(&of("10.0.0.1"), &of("10.0.0.2")));
    }

    #[test]
    fn the_table_is_bounded_and_forgets_callers_that_owe_nothing() {
        let limiter = limiter("1/s:1");
        let held = limiter.of_caller("held");
        for number in 0..SHARDS * CALLERS_PER_SHARD * 2 {
            limiter.of_caller(&number.to_string());
        }
        let known: usize = limiter.0.shards.iter().map(|shard| shard.lock().len()).sum();
        assert!(known <= SHARDS * CALLERS_PER_SHARD, "{known}");
        assert!(Arc::ptr_eq(&held, &limiter.of_caller("held")));
    }

    #[test]
    fn limits_are_written_by_the_second_or_minute() {
        let limit = |text: &str| text.parse::<RateLimit>();
        let second = Duration::from_secs(1);
        assert_eq!(limit("50/s"), RateLimit::new(50, second, 50));
        assert_eq!(limit("50/s:200"), RateLimit::new(50, second, 200));
        assert_eq!(limit("600/m:5"), RateLimit::new(10, second, 5));
        for bad in ["", "50", "/s", "0/s", "50/h", "50/s:", "50/s:0", "-1/s", "1.5/s", "50/s:x"] {
            assert_eq!(limit(bad), Err(InvalidRateLimit), "{bad}");
        }
    }
}
