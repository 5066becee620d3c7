//! `evergraph run`.

use crate::shell::{Shell, data};

/// Two components: a triangle with a tail, and a pair.
const EDGES: &str = "src,dst\na,b\nb,c\nc,a\nc,d\nx,y\n";

/// The same with the time of each edge.
const EVENTS: &str = "src,dst,at\na,b,1\nb,c,2\nc,a,2\nc,d,3\nx,y,1\n";

#[test]
fn the_largest_values_come_first() {
    let shell = Shell::new();
    shell.json(&["load", "votes.eg", &data("wiki-Vote.txt.gz"), "--json"]);
    let report = shell.json(&["run", "pagerank", "votes.eg", "--top", "3", "--json", "--verify"]);
    assert_eq!((&report["algorithm"], &report["verified"]), (&"pagerank".into(), &true.into()));
    assert_eq!(report["values"]["converged"], true);
    let rows = report["rows"].as_array().unwrap();
    let scores: Vec<f64> = rows.iter().map(|row| row["score"].as_f64().unwrap()).collect();
    assert_eq!((rows.len(), &rows[0]["vertex"]), (3, &4037.into()));
    assert!(scores.is_sorted_by(|one, other| one >= other), "{scores:?}");
}

#[test]
fn every_algorithm_runs_and_passes_its_verifier() {
    let shell = Shell::new().store("net.eg", EDGES).store("tree.eg", "src,dst\na,b\nb,c\n");
    let shell = shell.file("events.csv", EVENTS);
    shell.json(&["load", "events.eg", "events.csv", "--time", "at", "--json"]);
    for algorithm in evergraph::algorithms::algorithms() {
        let store = match algorithm.name {
            // Only what has no cycle has an order.
            "topological_sort" => "tree.eg",
            // It asks for times.
            "temporal_reachability" => "events.eg",
            _ => "net.eg",
        };
        let required = algorithm.arguments.iter().filter(|argument| argument.default.is_none());
        let options: Vec<String> = required.map(|argument| format!("--{}=a", argument.name)).collect();
        let mut run = vec!["run", algorithm.name, store, "--verify"];
        run.extend(options.iter().map(String::as_str));
        let done = shell.run(&run);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "{done:?}");
        assert!(done.stdout.starts_with(&format!("{} on {store}, version 1", algorithm.name)), "{done:?}");
        let report = shell.json(&[&run[..], &["--json"]].concat());
        for field in algorithm.results {
            let found = !report["values"][field.name].is_null() || !report["rows"][0][field.name].is_null();
            assert!(found, "{} is not in {report}", field.name);
        }
    }
}

#[test]
fn vertices_are_named_by_their_keys() {
    let shell = Shell::new().store("net.eg", EDGES);
    let csv = shell.run(&["run", "bfs", "net.eg", "--source", "a", "--csv"]);
    assert_eq!(csv.stdout, "vertex,distance,parent\na,0,a\nb,1,a\nc,2,b\nd,3,c\nx,,\ny,,\n");
    let back =
        shell.run(&["run", "bfs", "net.eg", "--source", "a", "--reverse", "--depth-limit", "1", "--csv"]);
    assert_eq!(back.stdout, "vertex,distance,parent\na,0,a\nb,,\nc,1,a\nd,,\nx,,\ny,,\n");
}

#[test]
fn what_was_not_reached_is_not_among_the_farthest() {
    let shell = Shell::new().store("net.eg", EDGES).file("events.csv", EVENTS);
    shell.json(&["load", "events.eg", "events.csv", "--time", "at", "--json"]);
    let top = |algorithm: &str, store: &str| {
        let report = shell.json(&["run", algorithm, store, "--source", "a", "--top", "9", "--json"]);
        let rows = report["rows"].as_array().unwrap().iter();
        rows.map(|row| row["vertex"].as_str().unwrap().to_owned()).collect::<String>()
    };
    for algorithm in ["bfs", "sssp", "bellman_ford"] {
        assert_eq!(top(algorithm, "net.eg"), "dcba", "{algorithm}");
    }
    assert_eq!(top("temporal_reachability", "events.eg"), "dcab");
    let all = shell.run(&["run", "sssp", "net.eg", "--source", "a", "--csv"]).stdout;
    assert_eq!(all.lines().count(), 7, "{all}");
}

#[test]
fn groups_are_shown_by_size() {
    let shell = Shell::new().store("net.eg", EDGES);
    let csv = shell.run(&["run", "connected-components", "net.eg", "--csv", "--top", "5"]);
    assert_eq!(csv.stdout, "component,vertices\na,4\nx,2\n");
    let single = shell.run(&["run", "triangle_count", "net.eg", "--csv"]);
    assert_eq!(single.stdout, "triangles\n1\n");
}

#[test]
fn lists_keep_their_order() {
    let shell = Shell::new().store("net.eg", EDGES);
    let path = ["run", "shortest_path", "net.eg", "--source", "b", "--target", "d", "--csv"];
    assert_eq!(shell.run(&path).stdout, "vertex\nb\nc\nd\n");
    assert_eq!(shell.run(&[&path[..], &["--top", "2"]].concat()).stdout, "vertex\nb\nc\n");
}

#[test]
fn no_path_is_what_the_data_says() {
    let shell = Shell::new().store("net.eg", EDGES);
    for (source, target, code, wanted) in [("d", "b", 1, "no path"), ("d", "zoe", 1, "no vertex zoe")] {
        let path = ["run", "shortest_path", "net.eg", "--source", source, "--target", target];
        let message = shell.refused(&path, code);
        assert!(message.contains(wanted), "{message}");
    }
    let twice = ["run", "shortest_path", "net.eg", "--source", "b", "--source", "a", "--target", "d"];
    assert!(shell.refused(&twice, 2).contains("--source"));
}

#[test]
fn a_number_is_given_for_all_vertices_or_by_key() {
    let shell = Shell::new().store("net.eg", EDGES);
    let run =
        ["run", "katz_centrality", "net.eg", "--csv", "--top", "1", "--alpha", "0", "--normalized", "false"];
    let beta = |given: &[&str]| shell.run(&[&run[..], given].concat());
    assert!(beta(&["--beta", "2.5"]).stdout.ends_with(",2.5\n"));
    assert_eq!(beta(&["--beta", "c=3", "--beta", "a=1"]).stdout, "vertex,score\nc,3\n");
}

#[test]
fn what_is_on_can_be_turned_off() {
    let shell = Shell::new().store("net.eg", EDGES);
    let run = ["run", "betweenness_centrality", "net.eg", "--csv", "--top", "1"];
    assert!(shell.run(&run).stdout.starts_with("vertex,betweenness\nc,0.15"));
    let plain = [&run[..], &["--normalized", "false"]].concat();
    assert_eq!(shell.run(&plain).stdout, "vertex,betweenness\nc,3\n");
}

#[test]
fn only_what_was_asked_for_is_shown() {
    let shell = Shell::new().store("net.eg", EDGES);
    for end in [&["--csv"][..], &["--csv", "--top", "3"]] {
        let run = [&["run", "closeness_centrality", "net.eg", "--u", "b"][..], end].concat();
        assert_eq!(shell.run(&run).stdout, "vertex,closeness\nb,0.26666666666666666\n");
    }
}

#[test]
fn weights_are_given_by_key() {
    let shell = Shell::new().store("net.eg", EDGES);
    let start = ["--personalization", "x=1", "--json", "--top", "1"];
    let report = shell.json(&[&["run", "pagerank", "net.eg"][..], &start].concat());
    assert_eq!(report["rows"][0]["vertex"], "x");
    let message = shell.refused(&["run", "pagerank", "net.eg", "--personalization", "x"], 2);
    assert!(message.contains("not KEY=WEIGHT"), "{message}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let shell = Shell::new().store("net.eg", EDGES);
    assert!(shell.refused(&["run", "bfs", "net.eg"], 2).contains("--source <KEY>"));
    assert!(shell.refused(&["run", "pagernk", "net.eg"], 2).contains("pagerank"));
    assert!(shell.refused(&["run", "pagerank", "net.eg", "--alpha", "2"], 2).contains("alpha"));
    assert!(shell.refused(&["run", "pagerank", "net.eg", "--max-iter", "-1"], 2).contains("max_iter"));
    assert!(shell.refused(&["run", "pagerank", "net.eg", "--csv", "--json"], 2).contains("--json"));
    assert!(shell.refused(&["run", "bfs", "net.eg", "--source", "z"], 1).contains("no vertex z"));
    let message = shell.refused(&["run", "triangle_count", "net.eg", "--edge-type", "pays"], 1);
    assert!(message.contains("no edge type \"pays\""), "{message}");
}

#[test]
fn errors_name_vertices_by_their_keys() {
    let edges = "src,dst,weight\nann,bea,1\nbea,cat,-2\ncat,bea,1\n";
    let shell = Shell::new().store("net.eg", edges).store("ring.eg", "src,dst\n30,40\n40,30\n40,50\n");
    let refused = |arguments: &[&str], code| shell.refused(&[&["run"], arguments].concat(), code);
    let message = refused(&["topological_sort", "ring.eg"], 1);
    assert!(message.contains("vertex 30 is on") || message.contains("vertex 40 is on"), "{message}");
    let message = refused(&["sssp", "net.eg", "--source", "ann"], 1);
    assert!(message.contains("from vertex \"bea\" to \"cat\" has a negative weight"), "{message}");
    let message = refused(&["bellman_ford", "net.eg", "--source", "ann"], 1);
    assert!(message.contains("vertex \"bea\"") || message.contains("vertex \"cat\""), "{message}");
    let message = refused(&["shortest_path", "ring.eg", "--source", "50", "--target", "30"], 1);
    assert!(message.contains("no path from 50 to 30"), "{message}");
    let message = refused(&["pagerank", "ring.eg", "--personalization", "50=-1"], 2);
    assert!(message.contains("at vertex 50"), "{message}");
}

#[test]
fn names_that_the_store_does_not_have_are_no_wrong_usage() {
    let shell = Shell::new().store("net.eg", EDGES);
    let refused = |arguments: &[&str]| shell.refused(&[&["run"], arguments].concat(), 1);
    assert!(refused(&["sssp", "net.eg", "--source", "a", "--weight", "cost"]).contains("\"cost\""));
    assert!(refused(&["pagerank", "net.eg", "--view", "none"]).contains("there are none"));
    let message = refused(&["pagerank", "net.eg", "--edge-type", "pays"]);
    assert!(message.contains("pays") && !message.contains("create_edge_type"), "{message}");
}

#[test]
fn examples_in_the_help_give_results() {
    let shell = Shell::new();
    shell.json(&["load", "votes.eg", &data("wiki-Vote.txt.gz"), "--json"]);
    for name in [
        "topological_sort",
        "katz_centrality",
        "temporal_reachability",
        "common_neighbors",
        "jaccard_coefficient",
        "adamic_adar_index",
        "resource_allocation_index",
        "preferential_attachment",
        "shortest_path",
        "bfs",
    ] {
        let help = shell.run(&["run", name, "--help"]).stdout;
        let (_, examples) = help.split_once("Examples:\n").unwrap();
        let script = format!("set -e\nevergraph() {{ \"$EVERGRAPH\" \"$@\"; }}\n{examples}");
        let mut command = std::process::Command::new("sh");
        command
            .args(["-c", &script])
            .current_dir(shell.path(""))
            .env("EVERGRAPH", env!("CARGO_BIN_EXE_evergraph"));
        let output = command.output().unwrap();
        assert!(output.status.success() && output.stderr.is_empty(), "{name}: {output:?}");
        let path = String::from_utf8(output.stdout).unwrap();
        // The way from 30 leads to another vertex.
        assert!(name != "shortest_path" || path.contains("\n30\n1412\n"), "{path}");
    }
}

#[test]
fn help_says_what_may_be_repeated() {
    let shell = Shell::new();
    for (name, option) in
        [("bfs", "--source"), ("jaccard_coefficient", "--u"), ("pagerank", "--personalization")]
    {
        let help = shell.run(&["run", name, "--help"]).stdout;
        let about = help.rsplit_once(&format!("{option} <")).unwrap().1;
        let about: Vec<&str> = about.split("\n      --").next().unwrap().split_whitespace().collect();
        assert!(about.join(" ").contains("may be repeated"), "{help}");
    }
}
