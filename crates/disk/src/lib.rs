//! The only door to files. Everything the store keeps goes through [`Disk`], so that the same code runs on the
//! operating system's files ([`OsDisk`]), on memory ([`MemoryDisk`]) and on a simulated disk that loses power at any
//! instant ([`SimDisk`]).
//!
//! What is here: the traits, the three disks, read-only mappings, the lock that keeps a second writer out, the
//! checksum and the error that names damage. What is absent: any knowledge of what the files hold.

mod atomic;
mod checksum;
mod condition;
mod disk;
mod error;
mod in_place;
mod lock;
mod mapped_room;
mod mapping;
mod memory;
mod os;
mod poison;
mod process;
pub mod sim;

pub use atomic::write_atomically;
pub use checksum::{Checksum, checksum};
pub use condition::{Condvar, Mutex, MutexGuard};
pub use disk::{AppendFile, Disk, LockMode, SharedFile};
pub use error::{Corruption, DiskError};
pub use in_place::DiskInPlace;
pub use lock::DiskLock;
pub use mapping::{Access, Mapping, Pass};
pub use memory::MemoryDisk;
pub use os::OsDisk;
pub use process::{PerProcess, Process};
pub use sim::{CrashPlan, Fault, SimDisk};
