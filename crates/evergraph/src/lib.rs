//! evergraph
