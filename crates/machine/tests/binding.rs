//! Where workers run, as they are told: a setting of the process, and so a test of its own.
#![cfg(target_os = "linux")]

use machine::hardware::topology::Topology;
use machine::hardware::worker::{Binding, bind, cores, run};
use rustix::thread::{CpuSet, sched_getaffinity};

/// The processors that each of as many workers as cores may run on.
fn allowed() -> Vec<Vec<usize>> {
    run(cores(), |_| {
        let set = sched_getaffinity(None).expect("the system tells");
        (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
    })
}

#[test]
fn workers_are_bound_as_they_are_told() {
    let threads = &Topology::of_this_machine().fill_order;
    let sorted = |mut cpus: Vec<usize>| {
        cpus.sort_unstable();
        cpus
    };
    let socket = |of| threads.iter().filter(|one| one.socket == of).map(|one| one.cpu).collect();
    let all = sorted(threads.iter().map(|thread| thread.cpu).collect());
    let bound = bind(Binding::Sockets);
    for (worker, cpus) in allowed().into_iter().enumerate() {
        assert_eq!(cpus, sorted(socket(threads[worker].socket)), "worker {worker}, to its socket");
    }
    drop(bound);
    let bound = bind(Binding::Off);
    // Where there is one socket, this is the same.
    assert!(allowed().into_iter().all(|cpus| cpus == all), "where the system likes");
    drop(bound);
    let places: Vec<_> = threads.iter().map(|thread| vec![thread.cpu]).collect();
    assert_eq!(allowed(), places, "each to a core of its own");
}
