//! Stacks of coroutines, each with a guard page.

pub use corosensei::stack::DefaultStack as Stack;
