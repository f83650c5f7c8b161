//! Typos.

/// The known name that a typo most likely meant.
pub(crate) fn nearest<'n>(name: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    nearest_of(name, known.map(|known| (known, known)))
}

/// The longest name that is compared, in bytes, and how many are.
const MAX_LENGTH: usize = 80;
const MAX_COMPARED: usize = 1_000;

/// What goes by the known name that a typo most likely meant.
pub(crate) fn nearest_of<'n, T>(name: &str, known: impl Iterator<Item = (&'n str, T)>) -> Option<T> {
    // Names are short; what is longer is no typo, and comparing costs the product of both lengths.
    if name.len() > MAX_LENGTH {
        return None;
    }
    let plain = |name: &str| name.replace('-', "_").to_lowercase();
    let wanted = plain(name);
    known
        .take(MAX_COMPARED)
        .filter(|(candidate, _)| candidate.len() <= MAX_LENGTH)
        .map(|(candidate, known)| (strsim::normalized_damerau_levenshtein(&wanted, &plain(candidate)), known))
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|(a, _), (b, _)| a.total_cmp(b))
        .map(|(_, known)| known)
}
