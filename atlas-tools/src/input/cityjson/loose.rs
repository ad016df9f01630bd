//! JSON that may hold anything anywhere: values are taken where they are what they should be, and noted where not.
//!
//! Owns the smallest pieces: arrays of whole numbers of any depth without a tree ([`Nested`]), and visitors that swallow
//! what does not belong. Only what is no JSON at all is an error.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Implements the visits of everything that a visitor does not expect: they yield `$nothing`.
macro_rules! nothing_else {
    ($nothing:expr; $($visit:ident)*) => { $(nothing_else!(@ $nothing; $visit);)* };
    (@ $nothing:expr; scalars) => {
        fn visit_bool<E>(self, _: bool) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_i64<E>(self, _: i64) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_u64<E>(self, _: u64) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_f64<E>(self, _: f64) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_str<E>(self, _: &str) -> Result<Self::Value, E> { Ok($nothing) }
        fn visit_unit<E>(self) -> Result<Self::Value, E> { Ok($nothing) }
    };
    (@ $nothing:expr; seq) => {
        fn visit_seq<A: serde::de::SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
            while seq.next_element::<serde::de::IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
    };
    (@ $nothing:expr; map) => {
        fn visit_map<A: serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
            while map.next_entry::<serde::de::IgnoredAny, serde::de::IgnoredAny>()?.is_some() {}
            Ok($nothing)
        }
    };
}
pub(super) use nothing_else;

/// A structure, or its default where there is no object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Lenient<T>(pub T);

impl<'de, T: Deserialize<'de> + Default> Deserialize<'de> for Lenient<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct LenientVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de> + Default> Visitor<'de> for LenientVisitor<T> {
            type Value = Lenient<T>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                T::deserialize(serde::de::value::MapAccessDeserializer::new(map)).map(Lenient)
            }

            nothing_else!(Lenient(T::default()); scalars seq);
        }
        deserializer.deserialize_any(LenientVisitor(std::marker::PhantomData))
    }
}

/// An object's entries in their order; empty where there is no object.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Entries<T>(pub Vec<(String, T)>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Entries<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for EntriesVisitor<T> {
            type Value = Entries<T>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }

            nothing_else!(Entries(Vec::new()); scalars seq);
        }
        deserializer.deserialize_any(EntriesVisitor(std::marker::PhantomData))
    }
}

/// A list; empty where there is none.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct List<T>(pub Vec<T>);

impl<T> Default for List<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for List<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListVisitor<T>(std::marker::PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
            type Value = List<T>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("an array")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut list = Vec::new();
                while let Some(element) = seq.next_element()? {
                    list.push(element);
                }
                Ok(List(list))
            }

            nothing_else!(List(Vec::new()); scalars map);
        }
        deserializer.deserialize_any(ListVisitor(std::marker::PhantomData))
    }
}

/// So many numbers; those that are missing or none are not a number. A list of vertices is millions of these.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Numbers<const N: usize>(pub [f64; N]);

impl<'de, const N: usize> Deserialize<'de> for Numbers<N> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumbersVisitor<const N: usize>;
        impl<'de, const N: usize> Visitor<'de> for NumbersVisitor<N> {
            type Value = Numbers<N>;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                write!(formatter, "{N} numbers")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
                let mut numbers = [f64::NAN; N];
                let mut at = 0;
                while let Some(Number(number)) = seq.next_element()? {
                    if let Some(place) = numbers.get_mut(at) {
                        *place = number;
                    }
                    at += 1;
                }
                Ok(Numbers(numbers))
            }

            nothing_else!(Numbers([f64::NAN; N]); scalars map);
        }
        deserializer.deserialize_any(NumbersVisitor)
    }
}

/// A number, or what is none.
struct Number(f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;
        impl<'de> Visitor<'de> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("a number")
            }

            fn visit_i64<E>(self, number: i64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }

            fn visit_u64<E>(self, number: u64) -> Result<Number, E> {
                Ok(Number(number as f64))
            }

            fn visit_f64<E>(self, number: f64) -> Result<Number, E> {
                Ok(Number(number))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Number, E> {
                Ok(Number(f64::NAN))
            }

            fn visit_str<E>(self, _: &str) -> Result<Number, E> {
                Ok(Number(f64::NAN))
            }

            fn visit_unit<E>(self) -> Result<Number, E> {
                Ok(Number(f64::NAN))
            }

            nothing_else!(Number(f64::NAN); seq map);
        }
        deserializer.deserialize_any(NumberVisitor)
    }
}

const OPEN: u32 = u32::MAX;
const CLOSE: u32 = u32::MAX - 1;
const NULL: u32 = u32::MAX - 2;

/// Arrays of whole numbers within arrays, as their brackets and numbers one after the other: four bytes a number, where a
/// tree would take thirty. What is no whole number from 0 is null.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Nested(Vec<u32>);

/// A part of a [`Nested`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Part<'a>(&'a [u32]);

impl Nested {
    /// The whole.
    pub(super) fn whole(&self) -> Part<'_> {
        Part(&self.0)
    }
}

impl<'a> Part<'a> {
    /// The number that this is.
    pub(super) fn index(self) -> Option<u32> {
        self.0.first().copied().filter(|&token| token < NULL)
    }

    /// The parts that this consists of; none where it is no array.
    pub(super) fn parts(self) -> impl Iterator<Item = Part<'a>> {
        let mut rest = match self.0 {
            [OPEN, inner @ .., CLOSE] => inner,
            _ => &[],
        };
        std::iter::from_fn(move || {
            let len = token_len(rest)?;
            let (first, others) = rest.split_at(len);
            rest = others;
            Some(Part(first))
        })
    }
}

/// The length of the number or array that stands first.
fn token_len(tokens: &[u32]) -> Option<usize> {
    let mut depth = 0usize;
    for (idx, &token) in tokens.iter().enumerate() {
        match token {
            OPEN => depth += 1,
            CLOSE => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(idx + 1);
        }
    }
    None
}

impl<'de> Deserialize<'de> for Nested {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut tokens = Vec::new();
        serde::de::DeserializeSeed::deserialize(NestedSeed(&mut tokens), deserializer)?;
        Ok(Self(tokens))
    }
}

/// Appends to the tokens.
struct NestedSeed<'a>(&'a mut Vec<u32>);

impl<'de> serde::de::DeserializeSeed<'de> for NestedSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for NestedSeed<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.write_str("arrays of whole numbers")
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        self.0.push(u32::try_from(number).ok().filter(|&number| number < NULL).unwrap_or(NULL));
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        self.0.push(NULL);
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        self.0.push(NULL);
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        self.0.push(NULL);
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        self.0.push(NULL);
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        self.0.push(NULL);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.push(OPEN);
        while seq.next_element_seed(NestedSeed(self.0))?.is_some() {}
        self.0.push(CLOSE);
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        self.0.push(NULL);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn nested(text: &str) -> Nested {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn nested_arrays_are_walked_as_they_are_written() {
        let whole = nested("[[[0, 1, 2], [3]], [], 7, null, -1, 2.5, \"x\", {\"a\": [1]}, true, 99999999999]");
        let parts: Vec<Part> = whole.whole().parts().collect();
        assert_eq!(parts.len(), 10);
        let rings: Vec<Vec<u32>> =
            parts[0].parts().map(|ring| ring.parts().filter_map(Part::index).collect()).collect();
        assert_eq!(rings, [vec![0, 1, 2], vec![3]]);
        assert_eq!(parts[1].parts().count(), 0);
        assert_eq!(parts[1].index(), None);
        assert_eq!(parts[2].index(), Some(7));
        assert!(parts[3..].iter().all(|part| part.index().is_none() && part.parts().count() == 0));
        assert_eq!(nested("5").whole().index(), Some(5));
        assert_eq!(Nested::default().whole().parts().count(), 0);
    }

    #[test]
    fn what_does_not_belong_is_nothing() {
        assert_eq!(serde_json::from_str::<Entries<Value>>("[1, [2]]").unwrap().0, []);
        let entries: Entries<Value> = serde_json::from_str(r#"{"b": 1, "a": 2}"#).unwrap();
        assert_eq!(entries.0.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a"]);
        assert_eq!(serde_json::from_str::<List<Value>>(r#"{"b": 1}"#).unwrap().0, Vec::<Value>::new());
        let Numbers([a, b, c]) = serde_json::from_str::<Numbers<3>>(r#"[1, 2.5, "x", 4]"#).unwrap();
        assert!(a == 1.0 && b == 2.5 && c.is_nan());
        let Numbers([a, b]) = serde_json::from_str::<Numbers<2>>("null").unwrap();
        assert!(a.is_nan() && b.is_nan());
        assert_eq!(serde_json::from_str::<Lenient<String>>("[]").unwrap().0, "");
        assert!(serde_json::from_str::<Nested>("[1, 2").is_err());
    }
}
