//! What `VOXATLAS_DATA` may name.

#[expect(dead_code, reason = "a run of these tests has no data to ask for")]
#[path = "common/real_data.rs"]
mod real_data;

use std::ffi::OsString;

#[test]
fn without_the_variable_there_is_no_data() {
    assert_eq!(real_data::folder(None), Ok(None));
}

#[test]
fn a_folder_is_taken() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    assert_eq!(real_data::folder(Some(folder.path().into())), Ok(Some(folder.path().to_owned())));
}

#[test]
fn a_set_variable_that_names_no_folder_is_an_error() {
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    for value in [OsString::new(), "/no/such/folder".into(), file.path().into()] {
        let message = real_data::folder(Some(value.clone())).expect_err("no folder");
        assert!(message.contains(&*value.to_string_lossy()) && message.contains("no folder"), "{message}");
    }
}
