//! Differences of versions, compared with the set differences of all they show.

use std::collections::{BTreeMap, BTreeSet};

use evergraph_store::{Diff, EdgeRows, Version};
use evergraph_types::{EdgeType, EdgeTypeId, Key, PropertyId, Schema, Value, VertexTypeId};

use super::{Dump, Props};

/// Values by property; spelled out, since a NaN is itself here.
type Values = BTreeMap<PropertyId, String>;
/// Edges as a multiset.
type Edges = BTreeMap<(Key, Key), Vec<Values>>;

/// A dump by ids, as the newer of two schemas sees it: without properties dropped by then, and a vertex type dropped by then
/// is none. An edge type dropped by then is as it was.
#[derive(Default)]
struct Shown {
    vertices: BTreeMap<Key, (Option<VertexTypeId>, Values)>,
    edges: BTreeMap<EdgeTypeId, Edges>,
}

impl Shown {
    fn new(dump: &Dump, own: &Schema, newer: &Schema) -> Self {
        let mut shown = Shown::default();
        for (key, vertex) in &dump.vertices {
            let label = vertex.vertex_type.as_ref().and_then(|name| own.vertex_type(name));
            let values = spelled(&vertex.properties, |name| {
                let (id, _) = own.vertex_property(name)?;
                (!newer.vertex_properties[usize::from(id)].is_dropped()).then_some(id)
            });
            let label = label.filter(|&label| newer.vertex_type_name(label).is_some());
            shown.vertices.insert(key.clone(), (label, values));
        }
        for (id, kind) in own.live_edge_types() {
            let (last, edges) = (last_kind(id, own, newer), shown.edges.entry(id).or_default());
            for (src, list) in dump.out.get(&kind.name).into_iter().flatten() {
                for (dst, properties) in list {
                    let values = spelled(properties, |name| {
                        let (id, _) = kind.property(name)?;
                        last.properties().any(|(live, _)| live == id).then_some(id)
                    });
                    if !kind.options.symmetric || src <= dst {
                        edges.entry((src.clone(), dst.clone())).or_default().push(values);
                    }
                }
            }
            edges.values_mut().for_each(|parallel| parallel.sort());
        }
        shown
    }
}

/// An edge type as the newer schema has it, or the older one if it was dropped.
fn last_kind<'a>(id: EdgeTypeId, older: &'a Schema, newer: &'a Schema) -> &'a EdgeType {
    let kind = &newer.edge_types[usize::from(id)];
    if kind.is_dropped() { older.edge_types.get(usize::from(id)).unwrap_or(kind) } else { kind }
}

fn spelled(properties: &Props, id: impl Fn(&str) -> Option<PropertyId>) -> Values {
    let values = properties.iter().filter_map(|(name, value)| Some((id(name)?, format!("{value:?}"))));
    values.collect()
}

fn told(rows: &EdgeRows, newer: &Version, kind: &EdgeType) -> Edges {
    let mut edges = Edges::new();
    for row in 0..rows.len() {
        let values = kind.properties().map(|(id, _)| (id, rows.columns[usize::from(id)].get(row)));
        let values = values.filter(|(_, value)| *value != Value::Null);
        let values = values.map(|(id, value)| (id, format!("{value:?}"))).collect();
        let (src, dst) = (newer.key(rows.src[row]), newer.key(rows.dst[row]));
        let ends = if kind.options.symmetric && dst < src { (dst, src) } else { (src, dst) };
        edges.entry(ends).or_default().push(values);
    }
    edges.values_mut().for_each(|parallel| parallel.sort());
    edges
}

/// What is left of a multiset without another one.
fn without(from: &Edges, taken: &Edges) -> Edges {
    let mut left = Edges::new();
    for (ends, parallel) in from {
        let mut rest = parallel.clone();
        for gone in taken.get(ends).into_iter().flatten() {
            if let Some(at) = rest.iter().position(|edge| edge == gone) {
                rest.remove(at);
            }
        }
        if !rest.is_empty() {
            left.insert(ends.clone(), rest);
        }
    }
    left
}

/// Compares the difference of two versions with the set difference of what they show.
pub(crate) fn compare_difference(old: &Version, new: &Version, old_dump: &Dump, new_dump: &Dump) {
    let (older, newer) = if old.sequence() < new.sequence() { (old, new) } else { (new, old) };
    let (first, last) = (older.schema(), newer.schema());
    let (before, after) =
        (Shown::new(old_dump, old.schema(), last), Shown::new(new_dump, new.schema(), last));
    let diff: Diff = old.diff(new);
    assert_eq!((diff.before, diff.after), (old.sequence(), new.sequence()));
    let keys = |ids: &[u32]| ids.iter().map(|&id| newer.key(id)).collect::<BTreeSet<_>>();
    let only = |here: &Shown, there: &Shown| -> BTreeSet<Key> {
        here.vertices.keys().filter(|key| !there.vertices.contains_key(key)).cloned().collect()
    };
    assert_eq!(keys(&diff.added_vertices), only(&after, &before));
    assert_eq!(keys(&diff.removed_vertices), only(&before, &after));
    let both = after.vertices.iter().filter_map(|(key, now)| Some((key, before.vertices.get(key)?, now)));
    let changed: BTreeSet<Key> =
        both.filter(|(_, then, now)| then != now).map(|(key, ..)| key.clone()).collect();
    assert_eq!(keys(&diff.changed_vertices), changed);
    for id in 0..last.edge_types.len() as EdgeTypeId {
        let kind = last_kind(id, first, last);
        let of = |shown: &Shown| shown.edges.get(&id).cloned().unwrap_or_default();
        let (come, gone) = (without(&of(&after), &of(&before)), without(&of(&before), &of(&after)));
        let Some(edges) = diff.edges.iter().find(|edges| edges.edge_type == id) else {
            assert_eq!((come, gone), Default::default(), "edges of {kind:?}");
            continue;
        };
        let told = |rows| told(rows, newer, kind);
        let both = |left: Edges, right: Edges| {
            assert!(right.keys().all(|ends| !left.contains_key(ends)));
            left.into_iter().chain(right).collect::<Edges>()
        };
        assert_eq!(both(told(&edges.added), told(&edges.changed_to)), come, "edges of {kind:?}");
        assert_eq!(both(told(&edges.removed), told(&edges.changed_from)), gone, "edges of {kind:?}");
        assert!(edges.changed_from.src == edges.changed_to.src);
        assert!(edges.changed_from.is_empty() || !kind.options.multi);
    }
}
