//! The CRD notation is read or refused with a place.
#![no_main]

use flux_operator::distribution::check_notation;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    // The notation is embedded in the program and borrowed for ever; here it has to be given back.
    let raw: *mut str = Box::into_raw(text.to_string().into_boxed_str());
    // SAFETY: `raw` comes from a box and is freed below, after everything that borrows it is gone: the result is
    // dropped in this statement.
    drop(check_notation(unsafe { &*raw }));
    // SAFETY: as above; nothing borrows the text any more.
    drop(unsafe { Box::from_raw(raw) });
});
