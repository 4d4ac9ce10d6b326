//! Reading, narrowing and showing what a run gets.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn destination(text: &str) -> NetworkGrant {
    text.parse().unwrap()
}

fn variable(text: &str) -> VariableName {
    text.parse().unwrap()
}

fn input(text: &str) -> InputPath {
    text.parse().unwrap()
}

fn granted() -> RunGrants {
    RunGrants::default()
        .with_network(destination("*.example.com:443"))
        .with_variable(variable("TOKEN"))
        .with_input(input("/data"))
        .with_memory(MemoryLimit::from_mebibytes(1024).unwrap())
}

#[test]
fn grants_are_read_from_data_and_written_as_the_same_data() {
    let data = json!({
        "network": ["*.example.com:443"], "env": ["TOKEN"], "inputs": ["/data"],
        "memory": 1024,
    });
    assert_eq!(serde_json::to_value(granted()).unwrap(), data);
    assert_eq!(serde_json::from_value::<RunGrants>(data).unwrap(), granted());
    assert_eq!(serde_json::to_value(RunGrants::default()).unwrap(), json!({}));
    let many: Vec<_> = (0..=MAX_GRANTED).map(|n| format!("h{n}.example.com:1")).collect();
    for bad in [
        json!({"network": ["*:443"]}),
        json!({"network": "a.example.com:443"}),
        json!({ "network": many }),
        json!({"env": ["A=B"]}),
        json!({"env": ["1A"]}),
        json!({"env": [""]}),
        json!({"inputs": ["data"]}),
        json!({"inputs": ["/data/../v"]}),
        json!({"inputs": ["/data/\u{0}"]}),
        json!({"memory": 15}),
        json!({"memory": "1 GiB"}),
        json!({"time": 0}),
        json!({"time": 86_401}),
        json!({"everything": true}),
    ] {
        assert!(serde_json::from_value::<RunGrants>(bad.clone()).is_err(), "{bad}");
    }
}

#[test]
fn a_run_gets_what_is_granted_or_less_and_never_more() {
    let usual = granted().narrowed(&RunRequest::default()).unwrap();
    let without_files = RunGrants { inputs: BTreeSet::new(), ..granted() };
    assert_eq!(usual, without_files, "a run that names no file gets none");

    let asked = RunRequest::default()
        .network([destination("api.example.com:443")])
        .env([])
        .inputs([input("/data/2026.csv")])
        .memory(MemoryLimit::from_mebibytes(64).ok())
        .time(TimeLimit::from_seconds(5).ok());
    let given = granted().narrowed(&asked).unwrap();
    assert_eq!(
        serde_json::to_value(&given).unwrap(),
        json!({
            "network": ["api.example.com:443"], "inputs": ["/data/2026.csv"],
            "memory": 64, "time": 5,
        })
    );

    let asked = RunRequest::default()
        .network([destination("api.example.com:443"), destination("example.com:443")])
        .env([variable("TOKEN"), variable("HOME")])
        .inputs([input("/data2/x")])
        .memory(MemoryLimit::from_mebibytes(2048).ok())
        .time(TimeLimit::from_seconds(31).ok());
    let wider = granted().narrowed(&asked).unwrap_err();
    assert_eq!(
        wider.to_string(),
        "network `example.com:443`, env `HOME`, input `/data2/x`, memory `2048`, time `31`"
    );
    assert_eq!(wider.needed.narrowed(&asked).map(|given| given.memory), Ok(asked.memory));
    assert!(wider.needed.env.contains(&variable("TOKEN")), "what was granted stays");
}

#[test]
fn a_card_also_shows_what_is_not_granted() {
    assert_eq!(
        RunGrants::default().lines(),
        [
            "network: none",
            "your variables: none",
            "your files: only those that you name yourself",
            "at most 512 MiB of memory and 30 s for each run",
        ]
    );
    assert_eq!(
        granted().with_input(input("/x\n\u{202e}y")).lines()[2],
        "your files: those that you name, and any that the model names in /data, \
         /x \\u{202e}y"
    );
}

#[test]
fn a_path_covers_itself_and_what_is_below_it() {
    let folder = input("/data//");
    assert_eq!(folder.to_string(), "/data");
    for (path, covered) in [
        ("/data", true),
        ("/data/a/b", true),
        ("/database", false),
        ("/", false),
        ("/data/../keys", false),
    ] {
        assert_eq!(folder.covers(Path::new(path)), covered, "{path}");
    }
}

proptest! {
    #[test]
    fn narrowing_never_widens(
        own in prop::collection::btree_set(0_u16..6, 0..4),
        asked in prop::option::of(prop::collection::btree_set(0_u16..6, 0..4)),
        time in prop::option::of(1_u64..100),
        own_time in prop::option::of(1_u64..100),
    ) {
        let host = |n: u16| destination(&match n {
            0 => "*.example.com:1".to_owned(),
            n => format!("h{n}.example.com:1"),
        });
        let seconds = |it: Option<u64>| it.and_then(|it| TimeLimit::from_seconds(it).ok());
        let grants = RunGrants {
            network: own.into_iter().map(host).collect(),
            time: seconds(own_time),
            ..RunGrants::default()
        };
        let request = RunRequest {
            network: asked.map(|asked| asked.into_iter().map(host).collect()),
            time: seconds(time),
            ..RunRequest::default()
        };
        match grants.narrowed(&request) {
            Ok(given) => {
                let covered = |it: &NetworkGrant| grants.network.iter().any(|own| own.covers(it));
                prop_assert!(given.network.iter().all(covered));
                prop_assert!(given.time_limit() <= grants.time_limit());
            }
            Err(wider) => prop_assert!(wider.needed.narrowed(&request).is_ok()),
        }
    }
}
