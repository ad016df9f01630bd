//! Object stores, through a local server that speaks S3.

#![expect(clippy::unwrap_used, reason = "a test fails where it cannot go on")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use s3s::auth::SimpleAuth;
use s3s::service::S3ServiceBuilder;
use s3s_fs::FileSystem;

use atlas_tools::output::Output;

use crate::common::mvt_writer::{TestFeature, tile};
use crate::common::{X, Y, demo, in_background, path, put_tile, run, tree};

/// Runs a server whose only bucket is `maps`, a folder in `root`; the keys are "key" and "secret".
fn s3_server(root: &Path) -> SocketAddr {
    let bucket: PathBuf = root.join("maps");
    std::fs::create_dir_all(bucket).unwrap();
    let mut builder = S3ServiceBuilder::new(FileSystem::new(root).unwrap());
    builder.set_auth(SimpleAuth::from_single("key", "secret"));
    let service = builder.build();
    let handler = move |request: Request| {
        let service = service.clone();
        async move {
            match service.call(request.map(s3s::Body::http_body_unsync)).await {
                Ok(response) => response.map(Body::new),
                Err(error) => panic!("the S3 server: {error:?}"),
            }
        }
    };
    in_background(Router::new().fallback(handler))
}

/// What the environment says to whoever writes to the server.
fn environment(server: SocketAddr, secret: &str) -> Vec<(&'static str, String)> {
    vec![
        ("AWS_ENDPOINT", format!("http://{server}")),
        ("AWS_ALLOW_HTTP", "true".to_owned()),
        ("AWS_ACCESS_KEY_ID", "key".to_owned()),
        ("AWS_SECRET_ACCESS_KEY", secret.to_owned()),
        ("AWS_REGION", "us-east-1".to_owned()),
    ]
}

/// Runs the test of this name again, alone, with these variables: a process's own environment is not to be changed.
fn again_with(test: &str, variables: Vec<(&'static str, String)>) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", test, "--nocapture"])
        .envs(variables)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    assert!(output.status.success(), "{}\n{}", text(&output.stdout), text(&output.stderr));
    assert!(text(&output.stdout).contains("1 passed"), "{}", text(&output.stdout));
}

/// Set for the inner run of a test.
const INSIDE: &str = "ATLAS_TOOLS_TEST_INSIDE";

#[test]
fn files_are_written_read_listed_and_removed() {
    if std::env::var_os(INSIDE).is_none() {
        let dir = tempfile::tempdir().unwrap();
        let server = s3_server(dir.path());
        again_with("store::files_are_written_read_listed_and_removed", environment(server, "secret"));
        // What the server keeps is what was written.
        assert_eq!(std::fs::read(dir.path().join("maps/tokyo/17/3/4.png")).unwrap(), b"second");
        return;
    }
    let out = Output::create("s3://maps/tokyo/").unwrap();
    assert_eq!((out.name().as_str(), out.folder().is_none()), ("s3://maps/tokyo", true));
    assert!(out.list().unwrap().is_empty(), "the trial is removed");
    out.write("17/3/4.png", b"first").unwrap();
    out.write("17/3/4.png", b"second").unwrap();
    assert_eq!(out.read("17/3/4.png").unwrap().as_deref(), Some(&b"second"[..]));
    assert_eq!(out.read("17/3/5.png").unwrap(), None);
    // Where something is there already, it stays.
    assert!(out.write_new("17/3/4.png", b"second").unwrap());
    assert!(!out.write_new("17/3/4.png", b"third").unwrap());
    assert!(out.write_new("17/3/6.png", b"new").unwrap());
    out.write("tiles.json", b"{}").unwrap();
    Output::create("s3://maps/osaka").unwrap().write("tiles.json", b"{}").unwrap();
    assert_eq!(out.list().unwrap(), ["17/3/4.png", "17/3/6.png", "tiles.json"]);
    out.remove("17/3/6.png").unwrap();
    out.remove("17/3/6.png").unwrap();
    assert_eq!(out.list().unwrap(), ["17/3/4.png", "tiles.json"]);
    assert_eq!(out.path("17/3/4.png"), Path::new("s3://maps/tokyo/17/3/4.png"));
    // Many threads write at once.
    std::thread::scope(|scope| {
        for n in 0..8 {
            let out = &out;
            scope.spawn(move || out.write(&format!("12/0/{n}.png"), &[n; 9]).unwrap());
        }
    });
    assert_eq!(out.list().unwrap().len(), 10);
}

#[test]
fn a_store_that_refuses_is_named() {
    if std::env::var_os(INSIDE).is_none() {
        let dir = tempfile::tempdir().unwrap();
        let server = s3_server(dir.path());
        again_with("store::a_store_that_refuses_is_named", environment(server, "wrong"));
        return;
    }
    let refused = Output::create("s3://maps/tokyo").unwrap_err().to_string();
    assert!(refused.starts_with("s3://maps/tokyo: cannot be written: "), "{refused}");
    assert!(refused.contains("expected a bucket that can be reached, and keys in AWS_ACCESS_KEY_ID"), "{refused}");
    let nameless = Output::create("s3://").unwrap_err().to_string();
    assert!(nameless.starts_with("s3://: ") && nameless.contains("names no bucket"), "{nameless}");
}

/// Runs the program against a server; its standard output.
fn run_at(server: SocketAddr, args: &[&str]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_atlas-tools"));
    let output = command.args(args).envs(environment(server, "secret")).output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{args:?}: {errors}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_pyramid_is_made_in_a_bucket_as_in_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    let server = s3_server(dir.path());
    let bucket = dir.path().join("maps");
    run_at(server, &["demo", "--out", "s3://maps/demo", "--quiet"]);
    let city = bucket.join("demo");
    assert!(tree(&city) == tree(&demo()));
    // What is there is kept, what is missing is made, and what has no place any more is removed.
    std::fs::remove_dir_all(city.join("14")).unwrap();
    let summary: serde_json::Value =
        serde_json::from_str(&run_at(server, &["pyramid", "s3://maps/demo/", "--json"])).unwrap();
    let made = summary["zooms"].as_array().unwrap().iter().filter(|zoom| zoom["kept"] != zoom["regions"]);
    assert_eq!(made.map(|zoom| &zoom["zoom"]).collect::<Vec<_>>(), [14], "{summary}");
    assert!(tree(&city) == tree(&demo()));
    run_at(server, &["pyramid", "s3://maps/demo", "--min-zoom", "15", "--quiet"]);
    assert!(tree(&city).keys().all(|name| ["15/", "16/", "17/", "tiles.json"].iter().any(|at| name.starts_with(at))));

    let (input, folder) = (dir.path().join("in"), dir.path().join("folder"));
    put_tile(&input, [16, X, Y], &tile("bldg", 4096, &[TestFeature::block(1, 20.0, 80, 160, 80)]));
    run(&["encode", path(&input), "--out", path(&folder), "--pyramid", "--quiet"], 0);
    run_at(server, &["encode", path(&input), "--out", "s3://maps/city", "--pyramid", "--quiet"]);
    assert!(tree(&bucket.join("city")) == tree(&folder));
}
