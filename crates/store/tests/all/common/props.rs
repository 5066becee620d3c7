//! The properties of a vertex or an edge that are not null.

use std::sync::Arc;

use evergraph_types::Value;

/// Values by name, in the order of names. Edges have few and there are many edges: with a map to each, most of a test's time would
/// go to making and freeing maps.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Props(Vec<(Arc<str>, Value)>);

impl Props {
    fn find(&self, name: &str) -> Result<usize, usize> {
        self.0.binary_search_by(|(own, _)| (**own).cmp(name))
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Value> {
        self.find(name).ok().map(|at| &self.0[at].1)
    }

    pub(crate) fn insert(&mut self, name: Arc<str>, value: Value) {
        match self.find(&name) {
            Ok(at) => self.0[at].1 = value,
            Err(at) => self.0.insert(at, (name, value)),
        }
    }

    pub(crate) fn remove(&mut self, name: &str) -> Option<Value> {
        self.find(name).ok().map(|at| self.0.remove(at).1)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (&**name, value))
    }
}

impl<N: Into<Arc<str>>> FromIterator<(N, Value)> for Props {
    fn from_iter<I: IntoIterator<Item = (N, Value)>>(values: I) -> Self {
        let mut props = Props::default();
        values.into_iter().for_each(|(name, value)| props.insert(name.into(), value));
        props
    }
}
