//! What a dialect of JSON Schema can say. Where it lacks a keyword, the builder takes the nearest form, and lowering
//! reads what that form makes a model send.

/// The abilities of a dialect.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Style {
    pub(crate) unions: Unions,
    pub(crate) null: Null,
    pub(crate) tuples: Tuples,
    pub(crate) maps: Maps,
    pub(crate) closed: Closed,
    /// Whether optional properties are required too, and null stands for their absence.
    pub(crate) all_required: bool,
    /// Whether every key is an identifier.
    pub(crate) identifiers: bool,
    /// `minLength` and `maxLength`.
    pub(crate) lengths: bool,
    /// `contentEncoding`.
    pub(crate) encoding: bool,
    /// `uniqueItems`.
    pub(crate) unique: bool,
    /// `minimum` and `maximum` beyond 2^53, which a reader with floating-point numbers would round.
    pub(crate) wide_bounds: bool,
    /// `$defs` and `$ref`, with keywords beside.
    pub(crate) defs: bool,
}

/// How one of several forms is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unions {
    /// `oneOf`.
    One,
    /// `anyOf`.
    Any,
    /// `anyOf` with no other keyword beside it.
    BareAny,
}

/// How null is allowed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Null {
    /// `null` is a type.
    Type,
    /// OpenAPI's `nullable: true`.
    Keyword,
}

/// What a tuple is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tuples {
    /// An array with `prefixItems`.
    Prefix,
    /// An object with the keys `_0`, `_1` and so on, unless all of its items are alike.
    Keys,
}

/// What a map with string keys is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Maps {
    /// An object whose `additionalProperties` have a schema.
    Object,
    /// An array of objects with `key` and `value`, as all maps are where tuples have keys.
    Entries,
}

/// Where `additionalProperties: false` is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Closed {
    Everywhere,
    BelowTheRoot,
    Nowhere,
}

impl Style {
    /// All of JSON Schema 2020-12.
    pub(crate) const FULL: Style = Style {
        unions: Unions::One,
        null: Null::Type,
        tuples: Tuples::Prefix,
        maps: Maps::Object,
        closed: Closed::Everywhere,
        all_required: false,
        identifiers: false,
        lengths: true,
        encoding: true,
        unique: true,
        wide_bounds: true,
        defs: true,
    };

    /// What providers with a subset of their own have in common.
    pub(crate) const SUBSET: Style = Style {
        unions: Unions::Any,
        tuples: Tuples::Keys,
        encoding: false,
        wide_bounds: false,
        defs: false,
        ..Style::FULL
    };
}
