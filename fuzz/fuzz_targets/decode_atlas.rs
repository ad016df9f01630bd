//! Whatever the bytes are, decoding neither panics nor grows without bound, and both ways of decoding agree.

#![no_main]

use libfuzzer_sys::fuzz_target;
use voxatlas::atlas::{EncodedAtlas, FeatureIds, decode, encode, inspect};
use voxatlas_fuzz::{metadata, repair_crcs, without_metadata};

fuzz_target!(|data: &[u8]| {
    let Some((&how, file)) = data.split_first() else { return };
    let mut file = file.to_vec();
    if how & 1 == 1 {
        repair_crcs(&mut file);
    }
    let decoded = decode(&EncodedAtlas::new(file.clone()));
    assert_eq!(inspect(&file).voxels.is_some(), decoded.is_ok());
    let ids = FeatureIds::of_file(&file);
    let Ok(region) = decoded else { return };
    if let Ok(Some(ids)) = ids {
        for i in 0..256 {
            let _ = ids.feature_at(&region.occupancy, [i, i * 7 % 256, i * 31 % 256]);
        }
    }
    if file.starts_with(b"\x89PNG")
        && let Ok(plain) = decode(&EncodedAtlas::new(without_metadata(&file)))
    {
        assert_eq!(region, plain, "the fast way shows another picture");
    }
    let again = decode(&EncodedAtlas::new(encode(&region, &metadata()))).expect("a file of ours");
    assert_eq!(region.first_difference(&again), None, "encoding changes the picture");
});
