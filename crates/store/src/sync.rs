//! What threads wait with. The tests of interleavings compile the queue and the count of writers against others of the
//! same names, which try the orders in which threads may come.

pub(crate) use parking_lot::{Condvar, Mutex};
