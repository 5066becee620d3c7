//! Ctrl-C, and the system's request to end, while something is at work that can stop by itself and leave nothing behind.
//!
//! Invariant: these signals are heard only while an [`Interrupt`] lives, and once; else, and the second time, they do what they
//! did before, which ends the process. Signals that were ignored (`nohup`, a job in the background) stay so.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use libc::{SIG_DFL, SIG_ERR, SIG_IGN, SIGINT, SIGTERM, c_int, sighandler_t};

/// The signal that was heard, or 0.
static HEARD: AtomicI32 = AtomicI32::new(0);

const SIGNALS: [c_int; 2] = [SIGINT, SIGTERM];

/// Listens to the signals until it is dropped. There is one at a time.
pub(crate) struct Interrupt {
    before: [sighandler_t; SIGNALS.len()],
}

impl Interrupt {
    pub(crate) fn listen() -> Self {
        HEARD.store(0, Relaxed);
        let before = SIGNALS.map(|signal| {
            let before = set(signal, hear as *const () as sighandler_t);
            if before == SIG_IGN {
                set(signal, SIG_IGN);
            }
            before
        });
        Interrupt { before }
    }
}

impl Drop for Interrupt {
    fn drop(&mut self) {
        for (signal, before) in SIGNALS.into_iter().zip(self.before) {
            if before != SIG_ERR {
                set(signal, before);
            }
        }
    }
}

/// The signal that was heard by the last one that listened.
pub(crate) fn heard() -> Option<c_int> {
    Some(HEARD.load(Relaxed)).filter(|&signal| signal != 0)
}

fn set(signal: c_int, handler: sighandler_t) -> sighandler_t {
    // SAFETY: the handlers are `hear`, which does only what handlers may, and what was there before.
    unsafe { libc::signal(signal, handler) }
}

/// Notes the signal; the next one ends the process. Of what it calls, all may be called in a handler.
extern "C" fn hear(signal: c_int) {
    HEARD.store(signal, Relaxed);
    set(signal, SIG_DFL);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_is_heard_while_somebody_listens() {
        // What runs the tests in the background ignores the first.
        let before = [set(SIGINT, SIG_DFL), set(SIGTERM, SIG_IGN)];
        let listening = Interrupt::listen();
        assert_eq!(heard(), None);
        // SAFETY: the process sends itself a signal that is ignored, and one that is heard.
        unsafe {
            libc::raise(SIGTERM);
            assert_eq!(heard(), None);
            libc::raise(SIGINT);
        }
        assert_eq!(heard(), Some(SIGINT));
        drop(listening);
        assert_eq!([set(SIGINT, before[0]), set(SIGTERM, before[1])], [SIG_DFL, SIG_IGN]);
    }
}
