//! Tells the engine's facade that this compilation is for the simulated machine.

fn main() {
    println!("cargo::rustc-cfg=simulated");
    println!("cargo::rerun-if-changed=build.rs");
}
