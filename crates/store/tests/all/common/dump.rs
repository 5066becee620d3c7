//! Everything a version shows, in the form the model has it. Every way of reading is compared with every other one
//! on the way.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evergraph_store::Version;
use evergraph_types::{Direction, EdgeTypeId, Key, KeyRef, PropertyId, Value, VertexId};

use super::{Props, VertexModel};

/// Lists by vertex.
type Lists = BTreeMap<Key, Vec<(Key, Props)>>;

/// What a version shows.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Dump {
    pub(crate) vertices: BTreeMap<Key, VertexModel>,
    /// The number of edges by type.
    pub(crate) edges: BTreeMap<String, u64>,
    pub(crate) out: BTreeMap<String, Lists>,
    pub(crate) reverse: BTreeMap<String, Lists>,
}

/// Reads all of a version.
pub(crate) fn dump(version: &Arc<Version>) -> Dump {
    let mut dump = Dump { vertices: vertices(version), ..Dump::default() };
    let schema = version.schema();
    for (id, kind) in schema.live_edge_types() {
        dump.edges.insert(kind.name.clone(), version.num_edges(id));
        dump.out.insert(kind.name.clone(), lists(version, id, Direction::Out));
        dump.reverse.insert(kind.name.clone(), lists(version, id, Direction::In));
        let entries: usize = dump.out[&kind.name].values().map(Vec::len).sum();
        assert_eq!(version.num_entries(id), entries as u64, "entries of {:?}", kind.name);
        // Of many lists a sample is enough.
        let lists = &dump.out[&kind.name];
        for (src, list) in lists.iter().step_by(1 + lists.len() / 30) {
            between(version, id, src, list);
        }
    }
    dump
}

fn vertices(version: &Arc<Version>) -> BTreeMap<Key, VertexModel> {
    let schema = version.schema();
    let ids = version.vertex_ids();
    assert_eq!(ids.len() as u64, version.num_vertices(), "the number of vertices");
    assert!(ids.is_sorted() && ids.iter().all(|&id| id < version.id_bound()));
    let gaps = version.gaps();
    let keys = version.keys(0..version.id_bound());
    assert_eq!(keys.len(), version.id_bound() as usize);
    let types = version.vertex_types(0..version.id_bound());
    let columns: Vec<_> = (0..schema.vertex_properties.len() as PropertyId)
        .map(|property| version.vertex_column(property, 0..version.id_bound()).expect("a column"))
        .collect();
    let mut found = BTreeMap::new();
    for (row, &id) in ids.iter().enumerate() {
        assert!(version.has_vertex(id) && gaps.as_ref().is_none_or(|exists| exists[id as usize]));
        let key = version.key(id);
        assert_eq!(keys.get(id as usize), key.as_ref());
        assert_eq!(version.vertex_id(key.as_ref()), Some(id));
        let label = version.vertex_type(id).expect("a type");
        assert_eq!(types[row], label);
        let mut properties = Props::default();
        for (property_id, property) in schema.live_vertex_properties() {
            let value = version.vertex_property(id, property_id);
            assert_eq!(columns[usize::from(property_id)].get(row), value);
            if value != Value::Null {
                properties.insert(property.name.as_str().into(), value);
            }
        }
        let vertex_type = schema.vertex_type_name(label).map(str::to_owned);
        assert!(found.insert(key, VertexModel { vertex_type, properties }).is_none(), "a key has one id");
    }
    let gone = (0..version.id_bound()).filter(|&id| !version.has_vertex(id));
    for id in gone {
        assert!(gaps.as_ref().is_some_and(|exists| !exists[id as usize]));
        assert_eq!(version.vertex_type(id), None);
        // The key may have another id by now, or the id none.
        assert_ne!(version.vertex_id(version.key(id).as_ref()), Some(id));
        let properties = 0..schema.vertex_properties.len() as PropertyId;
        properties.for_each(|property| assert_eq!(version.vertex_property(id, property), Value::Null));
        for edge_type in 0..schema.edge_types.len() as EdgeTypeId {
            assert!(version.neighbors(edge_type, Direction::Out, id).is_empty());
            assert!(version.neighbors(edge_type, Direction::In, id).is_empty());
        }
    }
    found
}

fn lists(version: &Arc<Version>, edge_type: EdgeTypeId, direction: Direction) -> Lists {
    let kind = &version.schema().edge_types[usize::from(edge_type)];
    let ids: Vec<PropertyId> = kind.properties().map(|(id, _)| id).collect();
    let names: Vec<Arc<str>> = kind.properties().map(|(_, property)| property.name.as_str().into()).collect();
    let flat = version.flatten(edge_type, direction);
    assert_eq!(flat.len(), version.id_bound() as usize);
    let mut lists = Lists::new();
    for vertex in version.vertex_ids() {
        let neighbors = version.neighbors(edge_type, direction, vertex).to_vec();
        assert_same(&flat.neighbors(vertex).to_vec(), &neighbors);
        if !kind.options.multi {
            assert!(neighbors.is_sorted_by(|left, right| left < right), "lists ascend");
        }
        let mut list = Vec::with_capacity(neighbors.len());
        let mut seen: Vec<VertexId> = Vec::with_capacity(neighbors.len());
        version.for_each_edge(edge_type, direction, vertex, &ids, &mut |neighbor, values| {
            seen.push(neighbor);
            let given = names.iter().zip(values).filter(|(_, value)| **value != Value::Null);
            let given = given.map(|(name, value)| (name.clone(), value.clone()));
            list.push((version.key(neighbor), given.collect::<Props>()));
        });
        assert_same(&seen, &neighbors);
        let mut in_runs = Vec::new();
        version.for_each_run(edge_type, direction, vertex, |run| in_runs.extend_from_slice(run.neighbors()));
        assert_same(&in_runs, &neighbors);
        if !kind.options.multi {
            list.sort_by(|left, right| left.0.cmp(&right.0));
        }
        if !list.is_empty() {
            lists.insert(version.key(vertex), list);
        }
    }
    lists
}

/// Of many vertices both are empty. Such slices lie nowhere, and an instruction that compares bytes of which none is wanted takes
/// hundreds of cycles there: a quarter of all the time of these tests.
fn assert_same(found: &[VertexId], expected: &[VertexId]) {
    assert!(found.iter().eq(expected), "{found:?} is not {expected:?}");
}

/// Lookups of single edges against the list of their source.
fn between(version: &Arc<Version>, edge_type: EdgeTypeId, src: &Key, list: &[(Key, Props)]) {
    let id = |key: &Key| version.vertex_id(key.as_ref()).expect("a vertex");
    let src_id = id(src);
    let kind = &version.schema().edge_types[usize::from(edge_type)];
    let connected: BTreeSet<&Key> = list.iter().map(|(key, _)| key).collect();
    // Of many neighbors a sample is enough.
    for &dst in connected.iter().step_by(1 + connected.len() / 20) {
        assert!(version.has_edge(edge_type, src_id, id(dst)), "{src} -> {dst}");
        let mut found = Vec::new();
        version.for_each_edge_between(edge_type, src_id, id(dst), |run, row| {
            let values = kind.properties().map(|(id, property)| (property.name.as_str(), run.value(id, row)));
            let given = values.filter(|(_, value)| *value != Value::Null);
            found.push(given.collect::<Props>());
        });
        let expected = list.iter().filter(|(key, _)| key == dst).map(|(_, properties)| properties);
        assert!(found.iter().eq(expected), "{src} -> {dst}: {found:?} in {list:?}");
    }
    for other in version.vertex_ids().into_iter().step_by(1 + version.num_vertices() as usize / 20) {
        assert_eq!(
            version.has_edge(edge_type, src_id, other),
            connected.contains(&version.key(other)),
            "{src} -> {}",
            version.key(other)
        );
    }
    assert_eq!(version.vertex_id(KeyRef::Int(-77)), None);
    assert_eq!(version.vertex_id(KeyRef::Text("nobody")), None);
}
