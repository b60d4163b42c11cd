use super::tree;
use machine::hardware::environment::Environment;
use machine::hardware::topology::Topology;
use machine::hardware::worker::cores;

#[test]
fn this_machine_is_described() {
    let environment = Environment::of_this_machine();
    assert_eq!(environment.hardware_threads, cores());
    assert!(environment.sockets <= environment.cores && environment.cores <= environment.hardware_threads);
    assert!(!environment.system.is_empty() && !environment.kernel.is_empty());
}

#[test]
fn settings_are_read() {
    let files = [
        (
            "proc/cpuinfo",
            "processor : 0\nmodel name\t: Some CPU v4\nflags\t\t: fpu constant_tsc nonstop_tsc\n\n\
             processor : 1\nflags : hypervisor\n",
        ),
        ("proc/meminfo", "MemTotal:       2048 kB\nMemAvailable:    1024 kB\n"),
        ("sys/devices/system/cpu/online", "3\n"),
        ("sys/devices/system/cpu/cpu3/cpufreq/scaling_governor", "performance\n"),
        ("sys/devices/system/cpu/smt/control", "off\n"),
        ("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n"),
        ("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n"),
    ];
    let root = tree("environment", &files);
    let topology = Topology::read(&root.join("sys"), |_| true).expect("a tree");
    let environment = Environment::read(&root, &topology);
    assert_eq!(environment.cpu_model.as_deref(), Some("Some CPU v4"));
    assert_eq!(
        (environment.memory_bytes, environment.memory_available_bytes),
        (Some(2 << 20), Some(1 << 20))
    );
    assert_eq!(
        (environment.governor.as_deref(), environment.smt.as_deref()),
        (Some("performance"), Some("off"))
    );
    assert_eq!(
        (environment.turbo, environment.tsc_invariant, environment.hypervisor),
        (Some(false), Some(true), Some(false))
    );
    assert_eq!(environment.transparent_huge_pages.as_deref(), Some("madvise"));

    let nothing = Environment::read(&tree("no-environment", &[]), &topology);
    assert_eq!(
        (nothing.cpu_model, nothing.turbo, nothing.tsc_invariant, nothing.memory_bytes),
        (None, None, None, None)
    );
}
