//! Typos.

/// The known name that a typo most likely meant.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    // Names are short; what is longer is no typo, and comparing costs the product of both lengths.
    if name.len() > 128 {
        return None;
    }
    let canonical = name.replace('-', "_").to_lowercase();
    known
        .filter(|candidate| candidate.len() <= 128)
        .map(|candidate| {
            let plain = candidate.replace('-', "_").to_lowercase();
            (strsim::normalized_damerau_levenshtein(&canonical, &plain), candidate)
        })
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, candidate)| candidate)
}
