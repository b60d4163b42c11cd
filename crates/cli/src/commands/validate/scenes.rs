//! What is validated: a workload, and how the systems over it are deployed.
//!
//! The standing set asks what the papers' figures ask: reading and writing, many hot records and none, transactions that stay in a partition and that do
//! not, for every pair at 1 to `--workers` workers; and, of two workers, an instance each (*hardware-islands*), by each channel that the machine file has,
//! beside the one instance that both would be. A workload that is named is validated with what `--instances` and `--channel` say.

use crate::arguments::typed;
use crate::engines::{Hardware, Machine};
use crate::selection;
use ::workloads::{AnyWorkload, Parameters};
use clap::ArgMatches;
use contract::{ChannelName, Instances, PairName};
use harness::options::OptionDescription;
use harness::text::numbers::counted;
use harness::validation::Row;
use harness::{BadValue, Failure, RunOptions, measure};

/// A workload and the parameters that are set.
type Standing = (&'static str, &'static [(&'static str, &'static str)]);

/// What is validated if no workload is named. Small enough for two cores: the tables are beyond the caches of a core and within those of a socket. Two
/// of them abort often and differ in how often they write.
pub(super) const STANDING: [Standing; 7] = [
    ("micro", &[("records", "20000"), ("writes", "none")]),
    ("micro", &[("records", "20000"), ("writes", "50")]),
    ("micro", &[("records", "20000"), ("writes", "all")]),
    ("micro", &[("records", "20000"), ("hot", "0"), ("remote", "0")]),
    ("micro", &[("records", "20000"), ("hot", "0"), ("remote", "10")]),
    ("ycsb", &[("records", "10000"), ("theta", "0.8"), ("reads", "100")]),
    ("ycsb", &[("records", "10000"), ("theta", "0.8"), ("reads", "50")]),
];

/// What deployments are validated with: two rows or ten, half of them at the other instance, in none, a fifth and all of the transactions.
pub(super) const DEPLOYED: [Standing; 6] = [
    ("micro", &[("records", "20000"), ("hot", "0"), ("operations", "2"), ("writes", "all"), ("remote", "0")]),
    (
        "micro",
        &[
            ("records", "20000"),
            ("hot", "0"),
            ("operations", "2"),
            ("writes", "all"),
            ("remote", "1"),
            ("multi-partition", "20"),
        ],
    ),
    ("micro", &[("records", "20000"), ("hot", "0"), ("operations", "2"), ("writes", "all"), ("remote", "1")]),
    (
        "micro",
        &[("records", "20000"), ("hot", "0"), ("operations", "10"), ("writes", "all"), ("remote", "0")],
    ),
    (
        "micro",
        &[
            ("records", "20000"),
            ("hot", "0"),
            ("operations", "10"),
            ("writes", "all"),
            ("remote", "5"),
            ("multi-partition", "20"),
        ],
    ),
    (
        "micro",
        &[("records", "20000"), ("hot", "0"), ("operations", "10"), ("writes", "all"), ("remote", "5")],
    ),
];

/// Workers of the standing deployments, each with an instance of its own.
const DEPLOYED_WORKERS: usize = 2;

/// A workload, with the parameters that were set, and how it is run.
pub(super) struct Scene {
    pub(super) workload: AnyWorkload,
    pub(super) setting: String,
    /// One instance, or so many.
    pub(super) instances: Instances,
    /// By what several talk.
    pub(super) channel: ChannelName,
    /// Whether only systems are asked that can be deployed.
    only_deployable: bool,
    /// With so many workers only; `None`: with each number that was asked for.
    workers: Option<usize>,
}

/// The scenes, and what is left out of them.
pub(super) type Scenes = (Vec<Scene>, Vec<String>);

impl Scene {
    /// Instances, and by what they talk if they are several. A round's rows say the same.
    pub(super) fn deployment(&self, workers: usize) -> (usize, Option<ChannelName>) {
        let instances = match self.instances {
            Instances::Count(count) => count.get(),
            _ => workers,
        };
        (instances, (instances > 1).then_some(self.channel))
    }

    /// Of at most so many workers, those with which it is measured.
    pub(super) fn workers(&self, most: usize) -> impl Iterator<Item = usize> + use<'_> {
        let asked = move |workers: &usize| self.workers.is_none_or(|only| only == *workers);
        let divide = |workers: &usize| workers.is_multiple_of(self.deployment(*workers).0);
        (1..=most).filter(asked).filter(divide)
    }

    /// What systems are told here.
    pub(super) fn options(&self, options: &RunOptions) -> RunOptions {
        let mut options = options.clone();
        (options.engine.instances, options.engine.channel) = (self.instances, self.channel);
        options
    }

    /// The systems, with these options of the scene.
    pub(super) fn pairs(&self, options: &RunOptions) -> Vec<PairName> {
        let instances = OptionDescription::named("instances").expect("an option");
        let is_asked = |pair: &PairName| !self.only_deployable || instances.is_used_by(*pair);
        measure::supported::<Hardware>(options).0.into_iter().filter(is_asked).collect()
    }

    /// Whether the row is one of it.
    pub(super) fn has(&self, row: &Row) -> bool {
        (self.workload.name(), &self.setting) == (&row.workload, &row.setting)
            && self.deployment(row.workers) == (row.instances, row.channel)
    }

    /// For people.
    pub(super) fn name(&self, workers: usize) -> String {
        let name = format!("{} {}", self.workload.name(), self.setting);
        match self.deployment(workers) {
            (_, None) => format!("{name}, {}", counted(workers, "worker")),
            (instances, Some(channel)) => {
                format!(
                    "{name}, {} over {channel}, {}",
                    counted(instances, "instance"),
                    counted(workers, "worker")
                )
            }
        }
    }
}

/// The workload that was named, or the standing set.
pub(super) fn scenes(
    matches: &ArgMatches,
    simulated: Machine,
    options: &RunOptions,
) -> Result<Scenes, Failure> {
    let Some((name, below)) = matches.subcommand() else { return standing(simulated, options) };
    let workload = selection::workload(name, below, &Parameters::default())?;
    let parameters = workload.resolved().into_iter().map(|(name, _)| name);
    let set = parameters.filter_map(|name| Some(shown(name, typed(below, name)?)));
    let setting = set.collect::<Vec<_>>().join(" ");
    let (instances, channel) = (options.engine.instances, options.engine.channel);
    let is_deployed = instances != Instances::ONE;
    if !matches!(instances, Instances::Count(_) | Instances::PerCore) {
        let allowed = "a number, or per-core, where two processes of one machine are compared with it";
        return Err(BadValue::new("instances", instances, allowed).into());
    }
    if is_deployed {
        simulated.admit_instances(options.workers, &options.engine)?;
    }
    let scene = Scene { workload, setting, instances, channel, only_deployable: is_deployed, workers: None };
    if scene.workers(options.workers).next().is_none() {
        let allowed = format!("a number that divides a number of --workers, which are {}", options.workers);
        return Err(BadValue::new("instances", instances, allowed).into());
    }
    Ok((vec![scene], Vec::new()))
}

fn shown(name: &str, value: &str) -> String {
    format!("{name}={value}")
}

fn standing(simulated: Machine, options: &RunOptions) -> Result<Scenes, Failure> {
    if options.engine.instances != Instances::ONE {
        let allowed = "one without a workload: the standing set has deployments of two instances, and systems that have none";
        return Err(BadValue::new("instances", options.engine.instances, allowed).into());
    }
    let scene = |(name, parameters): &Standing, instances, channel, workers: Option<usize>| Scene {
        workload: ::workloads::build(name, &parameters.iter().copied().collect())
            .expect("a workload of ours"),
        setting: parameters.iter().map(|(name, value)| shown(name, value)).collect::<Vec<_>>().join(" "),
        instances,
        channel,
        only_deployable: workers.is_some(),
        workers,
    };
    let usual = options.engine.channel;
    let mut scenes: Vec<Scene> = STANDING.iter().map(|of| scene(of, Instances::ONE, usual, None)).collect();
    if options.workers < DEPLOYED_WORKERS {
        let left_out = format!(
            "no deployments were validated: they have {DEPLOYED_WORKERS} workers, and --workers is {}",
            options.workers
        );
        return Ok((scenes, vec![left_out]));
    }
    let (mut channels, mut left_out) = (Vec::new(), Vec::new());
    for channel in [ChannelName::SharedMemory, ChannelName::Unix, ChannelName::Tcp] {
        let mut engine = options.engine.clone();
        (engine.instances, engine.channel) = (Instances::of(DEPLOYED_WORKERS), channel);
        match simulated.admit_instances(DEPLOYED_WORKERS, &engine) {
            Ok(()) => channels.push(channel),
            Err(why) => left_out.push(format!("left out: {why}; 'trireme doctor --calibrate' writes it")),
        }
    }
    let workers = Some(DEPLOYED_WORKERS);
    for of in &DEPLOYED {
        scenes.push(scene(of, Instances::ONE, usual, workers));
        let several = Instances::of(DEPLOYED_WORKERS);
        scenes.extend(channels.iter().map(|&channel| scene(of, several, channel, workers)));
    }
    Ok((scenes, left_out))
}

#[cfg(test)]
mod tests {
    use super::super::{arguments, defaults};
    use super::*;

    const WITHOUT: &str = "machines/haswell-ex-4x18.toml";
    const WITH: &str = "machines/westmere-ex-8x10.toml";

    fn of(words: &[&str], machine: &str, workers: usize) -> Result<Scenes, Failure> {
        let matches = arguments().get_matches_from([&["validate"], words].concat());
        let options = selection::options(&matches, Machine::Hardware, defaults(workers))?;
        let file = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(machine);
        let simulated = Machine::named(Some(&file.display().to_string()))?;
        scenes(&matches, simulated, &options)
    }

    #[test]
    fn the_standing_set_is_made_of_workloads_that_there_are() {
        let (all, left_out) = of(&[], WITH, 2).expect("a set");
        assert_eq!((all.len(), left_out), (STANDING.len() + DEPLOYED.len() * 4, Vec::new()));
        assert_eq!(all[1].setting, "records=20000 writes=50");
        let (named, _) = of(&["micro", "--writes", "all"], WITHOUT, 2).expect("one");
        assert_eq!((named.len(), named[0].setting.as_str()), (1, "writes=all"));
        assert_eq!(named[0].workers(3).collect::<Vec<_>>(), [1, 2, 3]);
    }

    #[test]
    fn deployments_have_an_instance_a_worker_and_stand_beside_one_instance() {
        let (all, _) = of(&[], WITH, 4).expect("a set");
        let deployed = &all[STANDING.len()..][..4];
        assert_eq!(deployed[0].deployment(2), (1, None));
        assert_eq!(deployed[3].deployment(2), (2, Some(ChannelName::Tcp)));
        assert_eq!(deployed[3].name(2), {
            "micro records=20000 hot=0 operations=2 writes=all remote=0, 2 instances over tcp, 2 workers"
        });
        for scene in deployed {
            assert_eq!(scene.workers(4).collect::<Vec<_>>(), [2]);
            let options = RunOptions { workers: 2, ..scene.options(&defaults(2)) };
            let protocols: Vec<String> =
                scene.pairs(&options).iter().map(|pair| pair.protocol.to_string()).collect();
            assert_eq!(protocols, ["no-wait", "silo"]);
        }
        assert!(all[0].pairs(&defaults(2)).len() > 20);
    }

    #[test]
    fn what_the_machine_has_no_channel_for_is_left_out_and_told() {
        let (all, left_out) = of(&[], WITHOUT, 2).expect("a set");
        assert_eq!(all.len(), STANDING.len() + DEPLOYED.len() * 2);
        assert_eq!(left_out.len(), 2);
        assert!(
            left_out[0].contains("no table [channels.unix]; 'trireme doctor --calibrate'"),
            "{left_out:?}"
        );
        let (alone, left_out) = of(&[], WITH, 1).expect("a set");
        assert_eq!((alone.len(), left_out.len()), (STANDING.len(), 1));
        let refused = |words: &[&str], machine| of(words, machine, 2).err().expect("refused").to_string();
        let unix = refused(&["micro", "--instances", "2", "--channel", "unix"], WITHOUT);
        assert!(unix.contains("no table [channels.unix]"), "{unix}");
        assert!(
            refused(&["--instances", "2"], WITH).contains("instances 2: allowed: one without a workload")
        );
        assert!(refused(&["micro", "--instances", "3"], WITH).contains("a number that divides"));
    }
}
