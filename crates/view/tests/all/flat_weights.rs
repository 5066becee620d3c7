//! Weights of flat views, which live outside a store.

use evergraph_types::Direction;
use evergraph_view::{FlatView, GraphView, WeightError, WeightedList};

fn weights(view: &FlatView, direction: Direction, vertex: u32) -> Vec<(u32, f64)> {
    let mut list = WeightedList::default();
    view.weighted_lists("weight").expect("weights").append(direction, vertex, &mut list);
    list.iter().collect()
}

#[test]
fn weights_lie_beside_the_neighbors_in_both_directions() {
    let edges = [(2, 0, 0.5), (0, 1, 1.5), (2, 0, 2.5), (1, 1, 3.5), (0, 2, 4.5)];
    let view = FlatView::from_weighted_edges(4, &edges, false);
    assert_eq!(weights(&view, Direction::Out, 0), [(1, 1.5), (2, 4.5)]);
    assert_eq!(weights(&view, Direction::Out, 2), [(0, 0.5), (0, 2.5)]);
    assert_eq!(weights(&view, Direction::In, 0), [(2, 0.5), (2, 2.5)]);
    assert_eq!(weights(&view, Direction::In, 1), [(0, 1.5), (1, 3.5)]);
    assert!(weights(&view, Direction::In, 3).is_empty() && weights(&view, Direction::In, 4).is_empty());
    let view = FlatView::from_weighted_edges(3, &edges, true);
    for direction in [Direction::Out, Direction::In] {
        assert_eq!(weights(&view, direction, 0), [(1, 1.5), (2, 4.5), (2, 0.5), (2, 2.5)]);
        assert_eq!(weights(&view, direction, 1), [(1, 3.5), (0, 1.5)]);
    }
}

#[test]
fn a_property_it_does_not_have_is_named() {
    let view = FlatView::from_weighted_edges(2, &[(0, 1, 1.0)], false);
    let message = view.weighted_lists("cost").err().map(|error| error.to_string());
    assert_eq!(
        message.as_deref(),
        Some("no edge type of this view has a property \"cost\"; they have: weight")
    );
    let none = FlatView::from_edges(2, &[(0, 1)], false);
    assert!(matches!(none.weighted_lists("weight"), Err(WeightError::UnknownProperty { .. })));
}
