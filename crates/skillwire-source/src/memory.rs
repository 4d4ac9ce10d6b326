//! Skills held in memory.
