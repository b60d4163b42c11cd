//! Tests of the simulated disk.

use super::*;

fn written(disk: &Disk) -> Vec<u8> {
    disk.on(|| {
        let folder = Folder::open(Path::new("f")).expect("always");
        let mut reader = folder.open_file("a").expect("there");
        let mut bytes = vec![0; reader.len() as usize];
        reader.read_at(0, &mut bytes).expect("read");
        bytes
    })
}

#[test]
fn what_was_synced_survives_every_crash_and_nothing_else_is_sure_to() {
    let disk = Disk::new();
    let is_named = |disk: &Disk| disk.on(|| Folder::find(Path::new("f")).unwrap().is_some());
    disk.on(|| {
        let folder = Folder::open(Path::new("f")).expect("always");
        let mut file = folder.create("a").expect("new");
        assert_eq!(file.append(&[7; 2000]).expect("appended"), 2000);
        file.sync().expect("synced");
        folder.sync().expect("synced");
        disk.acknowledge(1);
        file.append(&[8; 2000]).expect("appended");
    });
    assert_eq!((disk.operations(), disk.acknowledged_before(3), disk.acknowledged_before(4)), (5, 0, 1));
    let mut random = Rng::with_seed(1);
    let (mut lost, mut kept) = (0, 0);
    for _ in 0..100 {
        let crashed = disk.after_crash(5, &mut random);
        let bytes = written(&crashed);
        assert_eq!(bytes[..2000], [7; 2000]);
        assert!(bytes[2000..].iter().all(|&byte| byte == 8 || byte == 0));
        lost += usize::from(bytes.len() < 4000 || bytes.contains(&0));
        kept += usize::from(bytes[2000..].contains(&8));
    }
    assert!(lost > 50 && kept > 20, "{lost} lost, {kept} kept");
    let unsynced = (0..100).filter(|_| !is_named(&disk.after_crash(3, &mut random))).count();
    assert!((20..80).contains(&unsynced), "a name that was not synced is there or not: {unsynced}");
    assert_eq!(written(&disk.after(2)), [7; 2000], "a process that ends loses nothing");
}

#[test]
fn what_replaces_zeroes_is_lost_sector_by_sector_and_what_was_synced_before_them_stays() {
    let disk = Disk::new();
    disk.on(|| {
        let folder = Folder::open(Path::new("f")).expect("always");
        let mut file = folder.create("a").expect("new");
        file.append(&[7; 300]).expect("appended");
        file.zero_ahead(2000);
        assert_eq!((file.len(), file.zeroes_ahead()), (300, 2000));
        file.sync().expect("synced");
        folder.sync().expect("synced");
        file.append(&[8; 900]).expect("appended");
        assert_eq!((file.len(), file.zeroes_ahead()), (1200, 1100));
    });
    let mut random = Rng::with_seed(1);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..100 {
        let bytes = written(&disk.after_crash(5, &mut random));
        assert_eq!((bytes.len(), &bytes[..300], &bytes[1200..]), (2300, &[7; 300][..], &[0; 1100][..]));
        let sectors = [300..512, 512..1024, 1024..1200];
        assert!(sectors.iter().all(|of| bytes[of.clone()] == vec![bytes[of.start]; of.len()]), "{bytes:?}");
        seen.insert(sectors.map(|of| bytes[of.start] == 8));
    }
    assert_eq!(seen.len(), 8, "any of three sectors, or none: {seen:?}");
    assert_eq!(written(&disk.after(6)).len(), 2300, "a process that ends leaves zeroes behind");
}

#[test]
fn zeroes_that_were_taken_back_may_be_there_again_until_a_sync() {
    let disk = Disk::new();
    disk.on(|| {
        let folder = Folder::open(Path::new("f")).expect("always");
        let mut file = folder.create("a").expect("new");
        file.append(&[7; 300]).expect("appended");
        file.zero_ahead(2000);
        file.sync().expect("synced");
        folder.sync().expect("synced");
        file.trim().expect("trimmed");
        assert_eq!((file.len(), file.zeroes_ahead()), (300, 0));
        file.sync().expect("synced");
    });
    let mut random = Rng::with_seed(1);
    let mut lengths = |operations: usize| {
        let crashed = (0..100).map(|_| written(&disk.after_crash(operations, &mut random)));
        crashed.map(|bytes| bytes.len()).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(lengths(6), [300, 2300].into());
    assert_eq!(lengths(7), [300].into());
}

#[test]
fn on_a_machine_with_clocks_a_disk_syncs_one_file_after_the_other() {
    use super::super::description::Description;
    use super::super::timed::simulate;
    let text = include_str!("../../../../../machines/nehalem-ex-4x8.toml");
    let machine = Description::parse(text).expect("a machine");
    let times = machine.disk.expect("it has one");
    const BYTES: u64 = 1_100_000;
    // When each of two cores had written, and when it had synced.
    let took = |disks: usize| {
        simulate(&machine, 1, || {
            let folders: Vec<Folder> =
                (0..disks).map(|_| Folder::open(Path::new("f")).expect("always")).collect();
            let create = |core: usize| folders[core % disks].create(&core.to_string()).expect("new");
            let files: Vec<Mutex<File>> = (0..2).map(create).map(Mutex::new).collect();
            worker::run(2, |core| {
                let mut file = files[core].lock().expect("nobody panics");
                let began = clock::passed_ns();
                assert_eq!(file.append(&vec![1; BYTES as usize]).expect("written"), BYTES as usize);
                let written = clock::passed_ns() - began;
                file.sync().expect("synced");
                (written, clock::passed_ns() - began)
            })
        })
    };
    let alone = times.write_ns(BYTES) + times.sync_ns(BYTES);
    assert!(times.sync_ns(BYTES) >= 1_000_000, "a millisecond for its bytes, and the latency");
    let is_about = |ns: u64, expected: u64| ns.abs_diff(expected) < 10_000;
    for (written, synced) in took(2) {
        assert!(is_about(written, times.write_ns(BYTES)) && is_about(synced, alone), "{written} {synced}");
    }
    let mut synced: Vec<u64> = took(1).into_iter().map(|(_, synced)| synced).collect();
    synced.sort_unstable();
    assert!(is_about(synced[0], alone) && is_about(synced[1], alone + times.sync_ns(BYTES)), "{synced:?}");
}

#[test]
fn faults_strike_where_they_are_told_to() {
    let fault = |operation, failing| Fault { operation, failing };
    let disk =
        Disk::failing(vec![fault(1, Failing::Short), fault(2, Failing::NoSpace), fault(3, Failing::Device)]);
    disk.on(|| {
        let mut file = Folder::open(Path::new("f")).unwrap().create("a").expect("not yet");
        assert_eq!(file.append(&[1; 10]).expect("in part"), 5);
        assert_eq!(file.append(&[2; 10]).expect_err("full").kind(), ErrorKind::StorageFull);
        assert!(file.sync().is_err() && file.sync().is_ok());
    });
    assert_eq!(written(&disk), [1, 1, 1, 1, 1, 2, 2, 2, 2, 2]);
}

/// A record that was cut says nothing of those before it.
#[test]
fn what_was_synced_is_known_once_something_was_appended_whole() {
    let known = |failing: &[Failing]| {
        let faults = (3..).zip(failing).map(|(operation, &failing)| Fault { operation, failing }).collect();
        let disk = Disk::failing(faults);
        disk.on(|| {
            let mut file = Folder::open(Path::new("f")).unwrap().create("a").expect("not yet");
            file.append(&[1; 10]).expect("room");
            file.sync().expect("it works");
            let mut rest = 10;
            while rest > 0 {
                match file.append(&vec![2; rest]) {
                    Ok(written) => rest -= written,
                    Err(_) => break,
                }
            }
        });
        let state = disk.lock();
        known_to_be_synced(&state.before, &state.journal, 0)
    };
    assert_eq!(known(&[]), 10);
    assert_eq!(known(&[Failing::Short]), 10, "the rest follows");
    assert_eq!(known(&[Failing::NoSpace]), 0);
    assert_eq!(known(&[Failing::Short, Failing::NoSpace]), 0);
}
