//! `evergraph export`.

use crate::shell::Shell;

const PAYMENTS: &str = "src,dst,amount\nann,bea,10.5\nann,cat,\nbea,cat,2.0\n";

#[test]
fn what_is_exported_loads_back() {
    let shell = Shell::new().store("bank.eg", PAYMENTS);
    for file in ["out.csv", "out.tsv", "out.csv.gz", "out.csv.zst"] {
        let report = shell.json(&["export", "bank.eg", file, "--json"]);
        assert_eq!((&report["edges"], &report["version"]), (&3.into(), &1.into()), "{file}");
        let copy = format!("{file}.eg");
        shell.json(&["load", &copy, file, "--json"]);
        assert_eq!(shell.run(&["export", &copy, "-"]).stdout, PAYMENTS, "{file}");
        assert!(!shell.path(&format!("{file}.partial")).exists());
    }
}

#[test]
fn a_file_is_replaced_only_if_asked_for() {
    let shell = Shell::new().store("bank.eg", PAYMENTS).file("out.csv", "precious");
    let message = shell.refused(&["export", "bank.eg", "out.csv"], 1);
    assert!(message.contains("out.csv exists already") && message.contains("--force"), "{message}");
    assert_eq!(std::fs::read_to_string(shell.path("out.csv")).unwrap(), "precious");
    let done = shell.run(&["export", "bank.eg", "out.csv", "--force"]);
    assert_eq!((done.code, done.stdout.as_str()), (0, ""));
    assert!(done.stderr.contains("3 edges of version 1 in out.csv"), "{done:?}");
    assert_eq!(std::fs::read_to_string(shell.path("out.csv")).unwrap(), PAYMENTS);
}

#[test]
fn a_failed_export_leaves_nothing() {
    let shell = Shell::new().store("bank.eg", PAYMENTS);
    let message = shell.refused(&["export", "bank.eg", "out.txt"], 1);
    assert!(message.contains("a missing value cannot be written") && message.contains("csv"), "{message}");
    assert!(!shell.path("out.txt").exists() && !shell.path("out.txt.partial").exists());
}

#[test]
fn an_edge_type_can_be_chosen() {
    let shell = Shell::new().store("net.eg", "src,dst\n1,2\n").file("more.txt", "2 3\n");
    shell.json(&["load", "net.eg", "more.txt", "--edge-type", "knows", "--json"]);
    let all = shell.run(&["export", "net.eg", "-"]);
    assert_eq!(all.stdout, "src,dst,type\n1,2,edge\n2,3,knows\n");
    let one =
        shell.run(&["export", "net.eg", "-", "--edge-type", "knows", "--no-header", "--delimiter", ";"]);
    assert_eq!(one.stdout, "2;3\n");
    assert!(shell.refused(&["export", "net.eg", "-", "--json"], 2).contains("name a file"));
}

#[test]
fn a_format_that_is_not_written_is_refused() {
    let shell = Shell::new().store("bank.eg", PAYMENTS);
    for file in ["out.parquet", "out.json", "out.jsonl.gz", "out.MTX", "out.graphml"] {
        let message = shell.refused(&["export", "bank.eg", file], 2);
        assert!(message.contains("is not written here") && message.contains("--format"), "{message}");
        assert!(!shell.path(file).exists());
        assert!(
            shell.refused(&["generate", "rmat", "--scale", "4", "--out", file], 2).contains("not written")
        );
    }
    assert_eq!(shell.run(&["export", "bank.eg", "out.json", "--format", "csv"]).code, 0);
    assert_eq!(std::fs::read_to_string(shell.path("out.json")).unwrap(), PAYMENTS);
    assert_eq!(shell.run(&["export", "bank.eg", "out.TSV"]).code, 0);
    assert!(std::fs::read_to_string(shell.path("out.TSV")).unwrap().starts_with("src\tdst\tamount\n"));
}

#[test]
fn an_edge_list_keeps_the_names_of_properties() {
    let edges = "src,dst,amount\n1,2,10.5\n2,3,4.0\n";
    let shell = Shell::new().store("bank.eg", edges).store("plain.eg", "src,dst\n1,2\n");
    shell.run(&["export", "bank.eg", "out.txt"]);
    let written = std::fs::read_to_string(shell.path("out.txt")).unwrap();
    assert_eq!(written, "src\tdst\tamount\n1\t2\t10.5\n2\t3\t4.0\n");
    shell.json(&["load", "copy.eg", "out.txt", "--json"]);
    assert_eq!(shell.run(&["export", "copy.eg", "-"]).stdout, edges);
    assert_eq!(
        shell.run(&["export", "bank.eg", "-", "--format", "edgelist", "--no-header"]).stdout.lines().count(),
        2
    );
    assert_eq!(shell.run(&["export", "plain.eg", "-", "--format", "edgelist"]).stdout, "1\t2\n");
}
