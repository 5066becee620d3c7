//! Each target on its seeds and on mutations of them: the same ones in every run.

use evergraph_fuzz::TARGETS;
use evergraph_proof::{Random, mutate, tally};

/// Runs each target on so many mutations. Gives how many there were in all.
fn run(mutations: u64) -> u64 {
    let run_one = |target: &evergraph_fuzz::Target| {
        let seeds = (target.seeds)();
        assert!(!seeds.is_empty(), "{} has seeds", target.name);
        seeds.iter().for_each(|seed| (target.run)(seed));
        for number in 0..mutations {
            let mut random = Random::new(number);
            let seed = &seeds[random.below(seeds.len() as u64) as usize];
            let bytes = mutate(seed, &mut random);
            let outcome = std::panic::catch_unwind(|| (target.run)(&bytes));
            assert!(outcome.is_ok(), "{} with mutation {number}: {:?}", target.name, bytes);
        }
    };
    std::thread::scope(|scope| {
        TARGETS.iter().for_each(|target| drop(scope.spawn(move || run_one(target))));
    });
    mutations * TARGETS.len() as u64
}

#[test]
fn mutations_of_good_input() {
    run(600);
}

#[test]
fn nothing_at_all() {
    for target in TARGETS {
        for length in [0, 1, 8, 64, 600] {
            (target.run)(&vec![0; length]);
            (target.run)(&vec![0xff; length]);
        }
    }
}

#[test]
#[ignore = "long"]
fn soak_mutations() {
    tally("inputs mutated", run(20_000));
}

/// Each target has its program for cargo-fuzz.
#[test]
fn programs_of_all_targets() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(root.join("Cargo.toml")).expect("the manifest");
    let programs = std::fs::read_dir(root.join("fuzz_targets")).expect("the programs").count();
    assert_eq!(programs, TARGETS.len());
    for target in TARGETS {
        let program = root.join(format!("fuzz_targets/{}.rs", target.name));
        let text = std::fs::read_to_string(program).expect("a program");
        assert!(text.contains(&format!("evergraph_fuzz::fuzz_{}(data)", target.name)));
        assert!(manifest.contains(&format!("name = \"{}\"", target.name)));
    }
}
