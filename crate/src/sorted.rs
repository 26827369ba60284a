//! Ordered maps and sets for the page: sorted vectors with the interface of the standard library's B-trees, as far as
//! this crate uses it.
//!
//! The standard's code is generated anew for every pair of key and value, about 5 KB each, and there are a hundred
//! pairs: a third of the page's first load. A page's maps are small and mostly grow at their end, where a vector is as
//! fast. A broker's may have a hundred thousand entries, so natively [`crate::ordered`] is the standard library's.

use std::borrow::Borrow;
use std::fmt;
use std::iter::FusedIterator;
use std::ops::{Bound, Range, RangeBounds};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A map in ascending order of its keys.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BTreeMap<K, V> {
    entries: Vec<(K, V)>,
}

/// A set in ascending order.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct BTreeSet<T> {
    items: Vec<T>,
}

/// The indices of a sorted slice whose keys lie in `range`; an empty range where its ends are the wrong way round.
fn indices<T, K: Borrow<Q>, Q: Ord + ?Sized>(
    sorted: &[T],
    key: impl Fn(&T) -> &K,
    range: &impl RangeBounds<Q>,
) -> Range<usize> {
    let below = |limit: &Q| sorted.partition_point(|item| key(item).borrow() < limit);
    let up_to = |limit: &Q| sorted.partition_point(|item| key(item).borrow() <= limit);
    let end = match range.end_bound() {
        Bound::Included(limit) => up_to(limit),
        Bound::Excluded(limit) => below(limit),
        Bound::Unbounded => sorted.len(),
    };
    let start = match range.start_bound() {
        Bound::Included(limit) => below(limit),
        Bound::Excluded(limit) => up_to(limit),
        Bound::Unbounded => 0,
    };
    start.min(end)..end
}

impl<K, V> BTreeMap<K, V> {
    pub const fn new() -> Self {
        BTreeMap { entries: Vec::new() }
    }
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    pub fn clear(&mut self) {
        self.entries.clear();
    }
    pub fn iter(&self) -> Iter<'_, K, V> {
        Iter(self.entries.iter())
    }
    pub fn iter_mut(&mut self) -> IterMut<'_, K, V> {
        IterMut(self.entries.iter_mut())
    }
    pub fn keys(&self) -> impl DoubleEndedIterator<Item = &K> + ExactSizeIterator + Clone {
        self.iter().map(|(key, _)| key)
    }
    pub fn values(&self) -> impl DoubleEndedIterator<Item = &V> + ExactSizeIterator + Clone {
        self.iter().map(|(_, value)| value)
    }
    pub fn values_mut(&mut self) -> impl DoubleEndedIterator<Item = &mut V> + ExactSizeIterator {
        self.iter_mut().map(|(_, value)| value)
    }
    pub fn into_keys(self) -> impl DoubleEndedIterator<Item = K> + ExactSizeIterator {
        self.entries.into_iter().map(|(key, _)| key)
    }
    pub fn into_values(self) -> impl DoubleEndedIterator<Item = V> + ExactSizeIterator {
        self.entries.into_iter().map(|(_, value)| value)
    }
    pub fn first_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next()
    }
    pub fn last_key_value(&self) -> Option<(&K, &V)> {
        self.iter().next_back()
    }
    pub fn last_entry(&mut self) -> Option<OccupiedEntry<'_, K, V>> {
        let at = self.entries.len().checked_sub(1)?;
        Some(OccupiedEntry { entries: &mut self.entries, at })
    }
    pub fn pop_first(&mut self) -> Option<(K, V)> {
        if self.entries.is_empty() { None } else { Some(self.entries.remove(0)) }
    }
    pub fn pop_last(&mut self) -> Option<(K, V)> {
        self.entries.pop()
    }
    pub fn retain(&mut self, mut keep: impl FnMut(&K, &mut V) -> bool) {
        self.entries.retain_mut(|(key, value)| keep(key, value));
    }
}

impl<K: Ord, V> BTreeMap<K, V> {
    /// Where the key is, or else where it belongs.
    fn search<Q: Ord + ?Sized>(&self, key: &Q) -> Result<usize, usize>
    where
        K: Borrow<Q>,
    {
        self.entries.binary_search_by(|(known, _)| known.borrow().cmp(key))
    }
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let at = self.search(key).ok()?;
        self.entries.get(at).map(|(_, value)| value)
    }
    pub fn get_mut<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<&mut V>
    where
        K: Borrow<Q>,
    {
        let at = self.search(key).ok()?;
        self.entries.get_mut(at).map(|(_, value)| value)
    }
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.search(key).is_ok()
    }
    /// Gives the value that was there before.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        match self.search(&key) {
            Ok(at) => self.entries.get_mut(at).map(|(_, place)| std::mem::replace(place, value)),
            Err(at) => {
                self.entries.insert(at, (key, value));
                None
            }
        }
    }
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let at = self.search(key).ok()?;
        Some(self.entries.remove(at).1)
    }
    pub fn entry(&mut self, key: K) -> Entry<'_, K, V> {
        let at = self.search(&key);
        Entry { entries: &mut self.entries, at, key }
    }
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> Iter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let range = indices(&self.entries, |(key, _)| key, &range);
        Iter(self.entries.get(range).unwrap_or_default().iter())
    }
    pub fn range_mut<Q: Ord + ?Sized>(&mut self, range: impl RangeBounds<Q>) -> IterMut<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let range = indices(&self.entries, |(key, _)| key, &range);
        IterMut(self.entries.get_mut(range).unwrap_or_default().iter_mut())
    }
    /// Takes away what is at `key` and behind it.
    pub fn split_off<Q: Ord + ?Sized>(&mut self, key: &Q) -> Self
    where
        K: Borrow<Q>,
    {
        let (Ok(at) | Err(at)) = self.search(key);
        BTreeMap { entries: self.entries.split_off(at) }
    }
}

/// The place of a key in a map.
pub struct Entry<'a, K, V> {
    entries: &'a mut Vec<(K, V)>,
    at: Result<usize, usize>,
    key: K,
}

impl<'a, K, V> Entry<'a, K, V> {
    pub fn or_insert_with(self, value: impl FnOnce() -> V) -> &'a mut V {
        let at = match self.at {
            Ok(at) => at,
            Err(at) => {
                self.entries.insert(at, (self.key, value()));
                at
            }
        };
        &mut self.entries[at].1
    }
    pub fn or_insert(self, value: V) -> &'a mut V {
        self.or_insert_with(|| value)
    }
    pub fn or_default(self) -> &'a mut V
    where
        V: Default,
    {
        self.or_insert_with(V::default)
    }
    pub fn and_modify(self, change: impl FnOnce(&mut V)) -> Self {
        if let Ok(at) = self.at {
            change(&mut self.entries[at].1);
        }
        self
    }
}

/// An entry that is there.
pub struct OccupiedEntry<'a, K, V> {
    entries: &'a mut Vec<(K, V)>,
    at: usize,
}

impl<K, V> OccupiedEntry<'_, K, V> {
    pub fn key(&self) -> &K {
        &self.entries[self.at].0
    }
    pub fn get(&self) -> &V {
        &self.entries[self.at].1
    }
    pub fn get_mut(&mut self) -> &mut V {
        &mut self.entries[self.at].1
    }
}

impl<T> BTreeSet<T> {
    pub const fn new() -> Self {
        BTreeSet { items: Vec::new() }
    }
    pub fn len(&self) -> usize {
        self.items.len()
    }
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }
    pub fn clear(&mut self) {
        self.items.clear();
    }
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.items.iter()
    }
    pub fn first(&self) -> Option<&T> {
        self.items.first()
    }
    pub fn last(&self) -> Option<&T> {
        self.items.last()
    }
    pub fn pop_first(&mut self) -> Option<T> {
        if self.items.is_empty() { None } else { Some(self.items.remove(0)) }
    }
    pub fn pop_last(&mut self) -> Option<T> {
        self.items.pop()
    }
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.items.retain(keep);
    }
}

impl<T: Ord> BTreeSet<T> {
    fn search<Q: Ord + ?Sized>(&self, item: &Q) -> Result<usize, usize>
    where
        T: Borrow<Q>,
    {
        self.items.binary_search_by(|known| known.borrow().cmp(item))
    }
    pub fn contains<Q: Ord + ?Sized>(&self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        self.search(item).is_ok()
    }
    /// Whether it was not there before.
    pub fn insert(&mut self, item: T) -> bool {
        let at = self.search(&item);
        if let Err(at) = at {
            self.items.insert(at, item);
        }
        at.is_err()
    }
    /// Whether it was there.
    pub fn remove<Q: Ord + ?Sized>(&mut self, item: &Q) -> bool
    where
        T: Borrow<Q>,
    {
        let at = self.search(item);
        if let Ok(at) = at {
            self.items.remove(at);
        }
        at.is_ok()
    }
    pub fn range<Q: Ord + ?Sized>(&self, range: impl RangeBounds<Q>) -> std::slice::Iter<'_, T>
    where
        T: Borrow<Q>,
    {
        let range = indices(&self.items, |item| item, &range);
        self.items.get(range).unwrap_or_default().iter()
    }
}

impl<K, V> Default for BTreeMap<K, V> {
    fn default() -> Self {
        BTreeMap::new()
    }
}

impl<T> Default for BTreeSet<T> {
    fn default() -> Self {
        BTreeSet::new()
    }
}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for BTreeMap<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for BTreeSet<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self).finish()
    }
}

impl<K: Ord, V> Extend<(K, V)> for BTreeMap<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<T: Ord> Extend<T> for BTreeSet<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, items: I) {
        for item in items {
            self.insert(item);
        }
    }
}

impl<K: Ord, V> FromIterator<(K, V)> for BTreeMap<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut map = BTreeMap::new();
        map.extend(entries);
        map
    }
}

impl<T: Ord> FromIterator<T> for BTreeSet<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut set = BTreeSet::new();
        set.extend(items);
        set
    }
}

impl<K: Ord, V, const N: usize> From<[(K, V); N]> for BTreeMap<K, V> {
    fn from(entries: [(K, V); N]) -> Self {
        entries.into_iter().collect()
    }
}

impl<T: Ord, const N: usize> From<[T; N]> for BTreeSet<T> {
    fn from(items: [T; N]) -> Self {
        items.into_iter().collect()
    }
}

/// Entries in ascending order.
pub struct Iter<'a, K, V>(std::slice::Iter<'a, (K, V)>);

impl<K, V> Clone for Iter<'_, K, V> {
    fn clone(&self) -> Self {
        Iter(self.0.clone())
    }
}

impl<'a, K, V> Iterator for Iter<'a, K, V> {
    type Item = (&'a K, &'a V);
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (key, value))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for Iter<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (key, value))
    }
}

impl<K, V> ExactSizeIterator for Iter<'_, K, V> {}
impl<K, V> FusedIterator for Iter<'_, K, V> {}

/// Entries in ascending order, their values to be changed.
pub struct IterMut<'a, K, V>(std::slice::IterMut<'a, (K, V)>);

impl<'a, K, V> Iterator for IterMut<'a, K, V> {
    type Item = (&'a K, &'a mut V);
    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(key, value)| (&*key, value))
    }
    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl<K, V> DoubleEndedIterator for IterMut<'_, K, V> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.0.next_back().map(|(key, value)| (&*key, value))
    }
}

impl<K, V> ExactSizeIterator for IterMut<'_, K, V> {}

impl<K, V> IntoIterator for BTreeMap<K, V> {
    type Item = (K, V);
    type IntoIter = std::vec::IntoIter<(K, V)>;
    fn into_iter(self) -> Self::IntoIter {
        self.entries.into_iter()
    }
}

impl<'a, K, V> IntoIterator for &'a BTreeMap<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = Iter<'a, K, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a, K, V> IntoIterator for &'a mut BTreeMap<K, V> {
    type Item = (&'a K, &'a mut V);
    type IntoIter = IterMut<'a, K, V>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}

impl<T> IntoIterator for BTreeSet<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.items.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a BTreeSet<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;
    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// As a list of pairs, which is how postcard writes a standard map too.
impl<K: Serialize, V: Serialize> Serialize for BTreeMap<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.entries.serialize(serializer)
    }
}

impl<'de, K: Deserialize<'de> + Ord, V: Deserialize<'de>> Deserialize<'de> for BTreeMap<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::<(K, V)>::deserialize(deserializer).map(|entries| entries.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections;

    use proptest::prelude::*;

    use super::*;

    #[derive(Debug, Clone)]
    enum Step {
        Insert(u8, u16),
        Remove(u8),
        Add(u8, u16),
        Retain(u8),
        SplitOff(u8),
        PopFirst,
        PopLast,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let key = 0u8..16;
        let step = prop_oneof![
            4 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Insert(key, value)),
            2 => key.clone().prop_map(Step::Remove),
            2 => (key.clone(), any::<u16>()).prop_map(|(key, value)| Step::Add(key, value)),
            1 => (1u8..5).prop_map(Step::Retain),
            1 => key.prop_map(Step::SplitOff),
            1 => Just(Step::PopFirst),
            1 => Just(Step::PopLast),
        ];
        prop::collection::vec(step, 0..60)
    }

    /// Takes one step on either kind of map, and gives what the map answered.
    macro_rules! take {
        ($map:expr, $step:expr) => {
            match $step {
                Step::Insert(key, value) => format!("{:?}", $map.insert(key, value)),
                Step::Remove(key) => format!("{:?}", $map.remove(&key)),
                Step::Add(key, value) => {
                    let place = $map.entry(key).and_modify(|old| *old /= 2).or_insert(value);
                    *place = place.wrapping_add(value);
                    format!("{place}")
                }
                Step::Retain(divisor) => {
                    $map.retain(|key, value| {
                        *value /= 3;
                        !key.is_multiple_of(divisor)
                    });
                    String::new()
                }
                Step::SplitOff(key) => format!("{:?}", $map.split_off(&key)),
                Step::PopFirst => format!("{:?}", $map.pop_first()),
                Step::PopLast => {
                    format!("{:?} {:?}", $map.last_entry().map(|mut last| *last.get_mut()), $map.pop_last())
                }
            }
        };
    }

    /// All that can be read of a map, as text.
    macro_rules! shown {
        ($map:expr, $low:expr, $high:expr) => {{
            let (map, low, high) = ($map, $low, $high);
            let around = (map.range(low..high).next_back(), map.range(..=high).next_back(), map.range(low..).next());
            let ends = (map.len(), map.is_empty(), map.first_key_value(), map.last_key_value());
            let found = (map.get(&low), map.contains_key(&high));
            let backwards: Vec<_> = map.keys().rev().zip(map.values().rev()).collect();
            format!(
                "{map:?} {:?} {around:?} {ends:?} {found:?} {backwards:?}",
                map.range(low..=high).collect::<Vec<_>>()
            )
        }};
    }

    proptest! {
        #[test]
        fn a_sorted_map_answers_as_the_standard_one(steps in steps(), low in 0u8..8, more in 0u8..8) {
            let mut ours = BTreeMap::new();
            let mut standard = collections::BTreeMap::new();
            for step in steps {
                prop_assert_eq!(take!(ours, step.clone()), take!(standard, step.clone()));
                prop_assert_eq!(shown!(&ours, low, low + more), shown!(&standard, low, low + more));
                prop_assert_eq!(postcard::to_allocvec(&ours), postcard::to_allocvec(&standard));
            }
            let bytes = postcard::to_allocvec(&standard).unwrap_or_default();
            prop_assert_eq!(postcard::from_bytes(&bytes), Ok(ours));
        }

        #[test]
        fn a_sorted_set_answers_as_the_standard_one(items in prop::collection::vec((0u8..16, any::<bool>()), 0..60), low in 0u8..16) {
            let mut ours = BTreeSet::new();
            let mut standard = collections::BTreeSet::new();
            for (item, insert) in items {
                if insert {
                    prop_assert_eq!(ours.insert(item), standard.insert(item));
                } else {
                    prop_assert_eq!(ours.remove(&item), standard.remove(&item));
                }
                prop_assert_eq!(format!("{ours:?}"), format!("{standard:?}"));
                prop_assert_eq!((ours.first(), ours.last(), ours.len()), (standard.first(), standard.last(), standard.len()));
                prop_assert_eq!(ours.range(low..).next(), standard.range(low..).next());
                prop_assert_eq!(ours.contains(&low), standard.contains(&low));
            }
            let all: BTreeSet<u8> = standard.iter().rev().copied().collect();
            prop_assert_eq!(all, ours);
        }
    }
}
