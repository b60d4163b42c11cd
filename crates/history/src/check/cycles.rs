//! The cycles in what `Graph::peel` left: strongly connected components (Tarjan 1972, without recursion), and
//! in each of them short cycles to report.
//!
//! A component of a badly broken run has as many cycles as it has pairs of transactions. So transactions are
//! taken one after the other: the shortest cycle through one that no cycle reported yet goes through. A path
//! costs as many steps as it has transactions; moments cost nothing, however long the way along the timeline.

use crate::check::graph::{Graph, Label, Scope};
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};
use std::collections::VecDeque;

/// One step of a cycle: `from` must come before `to`, by a dependency or, without a label, by time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    pub from: u32,
    pub to: u32,
    pub label: Option<Label>,
}

/// By node, the node from which the search came to it, and by which dependency.
type CameFrom = HashMap<u32, (u32, Option<Label>), FixedState>;

/// How many edges the search for cycles may follow. The first cycle is always found.
const MOST_EDGES_FOLLOWED: u64 = 100_000_000;

/// Not in a component of more than one node.
const ALONE: u32 = u32::MAX;

/// Finds cycles in a part of the graph.
pub(crate) struct CycleSearch<'a> {
    graph: &'a Graph,
    edges_followed: u64,
    /// Whether the search stopped before every component was covered.
    pub cut_short: bool,
}

impl<'a> CycleSearch<'a> {
    pub fn new(graph: &'a Graph) -> Self {
        CycleSearch { graph, edges_followed: 0, cut_short: false }
    }

    /// Cycles in the part of the graph that `within` names: first through data alone, then, in components
    /// where data alone makes none, those that need the order of time.
    pub fn cycles(&mut self, within: &[bool]) -> Vec<Vec<Step>> {
        let by_data = components(self.graph, within, Scope::Data);
        let mut cycles = self.cover(&by_data, Scope::Data);
        let mut by_time = components(self.graph, within, Scope::DataAndTime);
        let mut explained = HashSet::<u32, FixedState>::default();
        explained.extend((0..within.len()).filter(|node| by_data[*node] != ALONE).map(|node| by_time[node]));
        by_time
            .iter_mut()
            .filter(|component| explained.contains(*component))
            .for_each(|component| *component = ALONE);
        cycles.extend(self.cover(&by_time, Scope::DataAndTime));
        cycles
    }

    /// Short cycles that together go through every transaction of every component.
    fn cover(&mut self, component: &[u32], scope: Scope) -> Vec<Vec<Step>> {
        let mut covered = vec![false; component.len()];
        let mut cycles = Vec::new();
        for node in 0..component.len() as u32 {
            if component[node as usize] == ALONE || covered[node as usize] || self.graph.is_moment(node) {
                continue;
            }
            if self.edges_followed > MOST_EDGES_FOLLOWED {
                self.cut_short = true;
                break;
            }
            let cycle = self.shortest_cycle(node, component, scope);
            cycle.iter().for_each(|step| covered[step.from as usize] = true);
            cycles.push(cycle);
        }
        cycles
    }

    /// The cycle through `start` with the fewest transactions, within the component of `start`: breadth first,
    /// with moments passed through before transactions because they cost nothing.
    fn shortest_cycle(&mut self, start: u32, component: &[u32], scope: Scope) -> Vec<Step> {
        let mut came_from: CameFrom = HashMap::default();
        let mut queue = VecDeque::from([start]);
        while let Some(node) = queue.pop_front() {
            for nth in 0.. {
                let Some((successor, label)) = self.graph.successor(node, nth, scope) else { break };
                self.edges_followed += 1;
                if component[successor as usize] != component[start as usize]
                    || came_from.contains_key(&successor)
                {
                    continue;
                }
                came_from.insert(successor, (node, label));
                if successor == start {
                    return self.way_back(start, &came_from);
                }
                if self.graph.is_moment(successor) {
                    queue.push_front(successor);
                } else {
                    queue.push_back(successor);
                }
            }
        }
        unreachable!("a node of a strongly connected component is on a cycle")
    }

    /// The cycle from `start` to itself, with the moments between two transactions left out.
    fn way_back(&self, start: u32, came_from: &CameFrom) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut to = start;
        loop {
            let (mut from, label) = came_from[&to];
            while self.graph.is_moment(from) {
                (from, _) = came_from[&from];
            }
            steps.push(Step { from, to, label });
            to = from;
            if from == start {
                steps.reverse();
                return steps;
            }
        }
    }
}

/// By node the number of its strongly connected component, or [`ALONE`].
fn components(graph: &Graph, within: &[bool], scope: Scope) -> Vec<u32> {
    const UNSEEN: u32 = u32::MAX;
    let nodes = within.len();
    let mut component = vec![ALONE; nodes];
    let (mut order, mut low) = (vec![UNSEEN; nodes], vec![0_u32; nodes]);
    let mut open = vec![false; nodes];
    let (mut stack, mut path): (Vec<u32>, Vec<(u32, usize)>) = (Vec::new(), Vec::new());
    let (mut seen, mut found) = (0, 0);
    for root in (0..nodes as u32).filter(|root| within[*root as usize]) {
        if order[root as usize] != UNSEEN {
            continue;
        }
        path.push((root, 0));
        while let Some((node, nth)) = path.last_mut() {
            let at = *node as usize;
            if *nth == 0 {
                (order[at], low[at], open[at]) = (seen, seen, true);
                seen += 1;
                stack.push(*node);
            }
            let successor = graph.successor(*node, *nth, scope);
            *nth += 1;
            if let Some((next, _)) = successor {
                let to = next as usize;
                if within[to] && order[to] == UNSEEN {
                    path.push((next, 0));
                } else if within[to] && open[to] {
                    low[at] = low[at].min(order[to]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                let parent = *parent as usize;
                low[parent] = low[parent].min(low[at]);
            }
            if low[at] == order[at] {
                let first =
                    stack.iter().rposition(|open| *open as usize == at).expect("an open node is stacked");
                let members = stack.split_off(first);
                members.iter().for_each(|member| open[*member as usize] = false);
                if members.len() > 1 {
                    members.iter().for_each(|member| component[*member as usize] = found);
                    found += 1;
                }
            }
        }
    }
    component
}
