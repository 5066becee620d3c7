//! yardstick
