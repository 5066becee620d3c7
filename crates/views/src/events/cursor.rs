//! How far a handler has come, as it is kept in the catalog.
//!
//! ```text
//!  item "handler/VIEW/NAME"     "120"  all of commit 120 is dealt with     "121 7"  of commit 121, events 0 to 7
//! ```

pub(crate) use evergraph_store::HANDLER_ITEMS as PREFIX;
use evergraph_types::Sequence;

/// A place in the events of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Every commit before this one is dealt with.
    pub(crate) next: Sequence,
    /// Of it, events below this index.
    pub(crate) index: u32,
}

impl Place {
    /// After a whole commit.
    pub(crate) fn after(version: Sequence) -> Self {
        Place { next: version + 1, index: 0 }
    }

    /// After one event.
    pub(crate) fn after_event(version: Sequence, index: u32) -> Self {
        Place { next: version, index: index.saturating_add(1) }
    }

    /// Whether an event is dealt with.
    pub(crate) fn is_past(self, version: Sequence, index: u32) -> bool {
        (version, index) < (self.next, self.index)
    }

    /// The last commit that is dealt with as a whole.
    pub(crate) fn whole(self) -> Sequence {
        self.next.saturating_sub(1)
    }

    pub(crate) fn encode(self) -> Vec<u8> {
        match self.index {
            0 => self.whole().to_string(),
            index => format!("{} {}", self.next, index - 1),
        }
        .into_bytes()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let text = std::str::from_utf8(bytes).ok()?;
        match text.split_once(' ') {
            None => Some(Place::after(text.parse().ok().filter(|version| *version < Sequence::MAX)?)),
            Some((version, index)) => Some(Place::after_event(version.parse().ok()?, index.parse().ok()?)),
        }
    }
}

/// The item of a handler.
pub(crate) fn item(view: &str, handler: &str) -> String {
    format!("{PREFIX}{view}/{handler}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_kept_and_ordered() {
        let places =
            [Place::after(0), Place::after(120), Place::after_event(121, 0), Place::after_event(121, 7)];
        assert!(places.is_sorted());
        for place in places {
            assert_eq!(Place::decode(&place.encode()), Some(place));
        }
        assert_eq!(Place::after_event(121, 7).encode(), b"121 7");
        assert!(Place::after_event(121, 7).is_past(121, 7) && !Place::after_event(121, 7).is_past(121, 8));
        assert!(
            ["", "x", "1 ", "1 x", "-1", "18446744073709551615"]
                .iter()
                .all(|bad| Place::decode(bad.as_bytes()).is_none())
        );
    }
}
