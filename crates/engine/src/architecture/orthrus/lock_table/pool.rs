//! Things by number: what a lock table links to each other. Numbers are used again, the last that was given back first.

/// Nothing's.
pub(super) const NONE: u32 = u32::MAX;

/// See the module.
pub(super) struct Pool<T> {
    things: Vec<T>,
    unused: Vec<u32>,
}

impl<T> Pool<T> {
    pub fn with_room(room: usize) -> Self {
        Pool { things: Vec::with_capacity(room), unused: Vec::with_capacity(room) }
    }

    #[inline(always)]
    pub fn put(&mut self, thing: T) -> u32 {
        match self.unused.pop() {
            Some(number) => {
                self.things[number as usize] = thing;
                number
            }
            None => {
                let number = u32::try_from(self.things.len()).ok().filter(|&number| number != NONE);
                self.things.push(thing);
                number.expect("fewer than 2^32 locks at a time")
            }
        }
    }

    #[inline(always)]
    pub fn give_back(&mut self, number: u32) {
        self.unused.push(number);
    }

    pub fn in_use(&self) -> usize {
        self.things.len() - self.unused.len()
    }

    /// The most that there have been at a time.
    #[cfg(test)]
    pub fn ever(&self) -> usize {
        self.things.len()
    }
}

impl<T> std::ops::Index<u32> for Pool<T> {
    type Output = T;

    #[inline(always)]
    fn index(&self, number: u32) -> &T {
        &self.things[number as usize]
    }
}

impl<T> std::ops::IndexMut<u32> for Pool<T> {
    #[inline(always)]
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.things[number as usize]
    }
}
