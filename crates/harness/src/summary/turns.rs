//! How systems were taken by turns in each repetition, as results say it.

use crate::text::numbers::counted;
use contract::PairName;
use serde::Serialize;
use std::fmt;

/// How systems were taken by turns.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Turns {
    /// Groups, one after the other; none where the machine repeats, for there systems take no turns.
    pub groups: Vec<Group>,
    /// Whether the machine repeats bit for bit.
    pub repeats: bool,
    /// That it was interrupted, and what of it was measured, in words.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interrupted: Option<String>,
}

/// Systems that took turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Group {
    /// Which.
    pub systems: Vec<String>,
    /// Stores that lay side by side for them.
    pub stores: usize,
}

impl Turns {
    /// Where among the groups this system is; the first if there are none, for then all are measured alike.
    pub fn group_of(&self, system: PairName) -> usize {
        let name = system.to_string();
        self.groups.iter().position(|group| group.systems.contains(&name)).unwrap_or(0)
    }
}

impl fmt::Display for Turns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let systems = |group: &Group| counted(group.systems.len(), "system");
        let over = |group: &Group| match group.stores {
            1 => "one store".to_owned(),
            stores => format!("{stores} stores side by side"),
        };
        match &self.groups[..] {
            _ if self.repeats => f.write_str(
                "each repetition as over a newly loaded store: what is simulated repeats bit for bit",
            ),
            [] => f.write_str("nothing was measured"),
            [all] if all.systems.len() == 1 => f.write_str("one system, one repetition after the other"),
            [all] => write!(f, "in each repetition {} interleaved, over {}", systems(all), over(all)),
            groups => {
                let groups: Vec<String> =
                    groups.iter().map(|group| format!("{} over {}", systems(group), over(group))).collect();
                write!(
                    f,
                    "in groups one after the other, since memory has no room for all stores: {}; interleaved within each",
                    groups.join(", then ")
                )
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use contract::{ArchitectureName, ProtocolName};

    /// Also one that is shown without its protocol.
    #[test]
    fn each_system_is_found_in_its_group() {
        let group = |systems: &[&str]| Group {
            systems: systems.iter().map(ToString::to_string).collect(),
            stores: 1,
        };
        let pair = |architecture, protocol| PairName { architecture, protocol };
        let silo = pair(ArchitectureName::SharedEverything, ProtocolName::Silo);
        let orthrus = pair(ArchitectureName::Orthrus, ProtocolName::Unprotected);
        let dora = pair(ArchitectureName::Dora, ProtocolName::NoWait);
        let of_two = Turns {
            groups: vec![group(&["shared-everything silo"]), group(&["orthrus none", "dora no-wait"])],
            ..Turns::default()
        };
        assert_eq!([silo, orthrus, dora].map(|pair| of_two.group_of(pair)), [0, 1, 1]);
        assert_eq!(Turns::default().group_of(orthrus), 0);
    }
}
