//! The types of a tool, as a tree that schema, lowering and lifting walk.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use wasmtime::component::Type;
use wit_parser::{Resolve, TypeDefKind, TypeId};

use super::name::cut;
use crate::component::Docs;

/// The most nodes that the types of one tool may have, written out. A type that is used twice counts twice, so that
/// thirty nested pairs are a thousand million; the limit keeps schemas and this tree small.
const MAX_NODES: usize = 20_000;
/// The most nodes of all tools of a component: ten thousand functions may share one large type.
const MAX_NODES_IN_ALL: usize = 500_000;

/// What the lowest limit lets a model read, in bytes of JSON.
const SMALL: usize = 1_000;

/// A type of the table "WIT → schema → value".
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// The WIT name that a type was given, if any: types of one name are one type.
    pub(crate) name: Option<TypeName>,
    /// The docs of the type's WIT name.
    pub(crate) docs: Option<Arc<str>>,
}

/// Where a type is defined and what it is called there.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct TypeName {
    pub(crate) interface: String,
    pub(crate) name: String,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Kind {
    Bool,
    Int(Int),
    F32,
    F64,
    Char,
    String,
    /// `list<u8>`.
    Bytes,
    List(Box<Shape>),
    FixedList(Box<Shape>, u32),
    Tuple(Vec<Shape>),
    Record(Vec<Field>),
    Variant(Named<Case>),
    Enum(Named<Label>),
    Flags(Named<Label>),
    Option(Box<Shape>),
    Result(Option<Box<Shape>>, Option<Box<Shape>>),
    Map(Box<Shape>, Box<Shape>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Int {
    U8,
    U16,
    U32,
    U64,
    S8,
    S16,
    S32,
    S64,
}

impl Int {
    pub(crate) fn range(self) -> (i128, i128) {
        match self {
            Int::U8 => (0, u8::MAX.into()),
            Int::U16 => (0, u16::MAX.into()),
            Int::U32 => (0, u32::MAX.into()),
            Int::U64 => (0, u64::MAX.into()),
            Int::S8 => (i8::MIN.into(), i8::MAX.into()),
            Int::S16 => (i16::MIN.into(), i16::MAX.into()),
            Int::S32 => (i32::MIN.into(), i32::MAX.into()),
            Int::S64 => (i64::MIN.into(), i64::MAX.into()),
        }
    }
}

/// How a result is shown that is more than text.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ContentShape<'s> {
    /// `list<u8>`.
    Bytes,
    /// A block of `witbox:host/content`.
    Block(&'s Shape),
    /// A list of them.
    Blocks(&'s Shape),
}

/// A parameter of a tool or a field of a record.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Field {
    /// The name in JSON: the WIT name in snake_case.
    pub(crate) name: String,
    /// The name in WIT, which values carry.
    pub(crate) wit: String,
    pub(crate) docs: Option<Arc<str>>,
    pub(crate) shape: Shape,
}

impl Field {
    /// Only what is no option must be given.
    pub(crate) fn required(&self) -> bool {
        !matches!(self.shape.kind, Kind::Option(_))
    }
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Case {
    pub(crate) name: String,
    /// The name as it must be written where only identifiers are keys.
    pub(crate) key: String,
    pub(crate) docs: Option<Arc<str>>,
    pub(crate) payload: Option<Shape>,
}

/// A case of an enum or a name of a set of flags.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Label {
    pub(crate) name: String,
    pub(crate) docs: Option<Arc<str>>,
}

/// Cases or labels, found by their name whatever its case of letters and with `_` for `-`. WIT names are told apart by
/// more than that.
#[derive(Debug, Clone)]
pub(crate) struct Named<T> {
    all: Vec<T>,
    places: HashMap<String, usize>,
}

/// What has a WIT name.
pub(crate) trait Name {
    fn name(&self) -> &str;
}

impl Name for Case {
    fn name(&self) -> &str {
        &self.name
    }
}

impl Name for Label {
    fn name(&self) -> &str {
        &self.name
    }
}

impl<T: Name> Named<T> {
    pub(crate) fn new(all: Vec<T>) -> Self {
        let places = all.iter().enumerate().map(|(place, item)| (folded(item.name()), place)).collect();
        Named { all, places }
    }

    /// The one that a text names, but for case and `_`; and where it is.
    pub(crate) fn find(&self, text: &str) -> Option<(usize, &T)> {
        let place = *self.places.get(&folded(text))?;
        Some((place, self.all.get(place)?))
    }
}

impl<T: Serialize> Serialize for Named<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.all.serialize(serializer)
    }
}

impl<'de, T: Name + Deserialize<'de>> Deserialize<'de> for Named<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Named::new)
    }
}

impl<T> std::ops::Deref for Named<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.all
    }
}

fn folded(name: &str) -> String {
    name.replace('_', "-").to_ascii_lowercase()
}

impl Shape {
    /// A type without a name or docs.
    pub(crate) fn plain(kind: Kind) -> Self {
        Shape { kind, name: None, docs: None }
    }

    /// Whether a result of it is shown as more than text. Types are told by what they are, so that a component needs no
    /// name of ours to be right; a block with more cases than we know is one too.
    pub(crate) fn content(&self) -> Option<ContentShape<'_>> {
        match &self.kind {
            Kind::Bytes => Some(ContentShape::Bytes),
            Kind::List(element) if element.is_block() => Some(ContentShape::Blocks(element)),
            _ if self.is_block() => Some(ContentShape::Block(self)),
            _ => None,
        }
    }

    /// Whether the JSON of a value of it may be as large as what no limit lets a model read.
    pub(crate) fn is_of_any_size(&self) -> bool {
        self.most_bytes().is_none_or(|most| most > SMALL)
    }

    /// The most bytes that the JSON of a value of it has, about; nothing where there is no most.
    fn most_bytes(&self) -> Option<usize> {
        let all = |shapes: Vec<&Shape>| {
            let mut most = shapes.into_iter().map(Shape::most_bytes);
            most.try_fold(2, |sum: usize, most| Some(sum.saturating_add(most?).saturating_add(1)))
        };
        match &self.kind {
            Kind::String | Kind::Bytes | Kind::List(_) | Kind::Map(..) => None,
            Kind::Bool | Kind::Int(_) | Kind::F32 | Kind::F64 | Kind::Char => Some(25),
            Kind::Enum(labels) => Some(labels.iter().map(|label| label.name.len() + 2).max().unwrap_or(2)),
            Kind::Flags(labels) => Some(labels.iter().map(|label| label.name.len() + 3).sum::<usize>() + 2),
            Kind::FixedList(element, count) => Some(element.most_bytes()?.saturating_mul(*count as usize)),
            Kind::Tuple(elements) => all(elements.iter().collect()),
            Kind::Record(fields) => {
                let names: usize = fields.iter().map(|field| field.name.len() + 4).sum();
                Some(all(fields.iter().map(|field| &field.shape).collect())?.saturating_add(names))
            }
            Kind::Variant(cases) => cases.iter().try_fold(0, |most: usize, case| {
                let payload = case.payload.as_ref().map_or(Some(4), Shape::most_bytes)?;
                Some(most.max(payload.saturating_add(case.name.len() + 5)))
            }),
            Kind::Option(held) => Some(held.most_bytes()?.saturating_add(11)),
            Kind::Result(ok, err) => {
                let sides = [ok, err].into_iter().flatten();
                sides
                    .map(|side| side.most_bytes())
                    .try_fold(4, |most: usize, side| Some(most.max(side?)))
                    .map(|most| most + 9)
            }
        }
    }

    /// Whether it has the cases of `block` in `witbox:host/content`.
    fn is_block(&self) -> bool {
        let Kind::Variant(cases) = &self.kind else { return false };
        let has = |name: &str, is: fn(&Shape) -> bool| {
            cases.iter().any(|case| case.name == name && case.payload.as_ref().is_some_and(is))
        };
        has("text", |shape| matches!(shape.kind, Kind::String))
            && has("image", Shape::is_media)
            && has("audio", Shape::is_media)
            && has("resource", |shape| shape.has_field("document") && shape.has_field("uri"))
    }

    fn is_media(&self) -> bool {
        let Kind::Record(fields) = &self.kind else { return false };
        fields.iter().any(|field| field.wit == "data" && matches!(field.shape.kind, Kind::Bytes))
    }

    fn has_field(&self, name: &str) -> bool {
        matches!(&self.kind, Kind::Record(fields) if fields.iter().any(|field| field.wit == name))
    }

    /// The types that it is made of, in their order.
    pub(crate) fn children(&self) -> std::vec::IntoIter<&Shape> {
        let children: Vec<&Shape> = match &self.kind {
            Kind::List(inner) | Kind::FixedList(inner, _) | Kind::Option(inner) => vec![inner],
            Kind::Map(key, value) => vec![key, value],
            Kind::Tuple(shapes) => shapes.iter().collect(),
            Kind::Record(fields) => fields.iter().map(|field| &field.shape).collect(),
            Kind::Variant(cases) => cases.iter().filter_map(|case| case.payload.as_ref()).collect(),
            Kind::Result(ok, err) => [ok, err].into_iter().flatten().map(Box::as_ref).collect(),
            _ => Vec::new(),
        };
        children.into_iter()
    }

    /// Whether `null` is a value of this type, so that an option of it needs a wrapper to stay apart.
    pub(crate) fn is_nullable(&self) -> bool {
        matches!(self.kind, Kind::Option(_))
    }
}

/// kebab-case → snake_case, cut to what every provider takes as a key. WIT names hold no underscore, so two names never
/// become one.
pub(crate) fn json_name(wit: &str) -> String {
    cut(wit.replace('-', "_"))
}

impl Case {
    pub(crate) fn new(name: &str, docs: Option<Arc<str>>, payload: Option<Shape>) -> Self {
        Case { name: name.to_owned(), key: json_name(name), docs, payload }
    }
}

/// What keeps a function from being a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Refusal {
    Resource,
    Async(&'static str),
    TooLarge,
    TooLargeInAll,
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Refusal::Resource => f.write_str("its types hold a resource, which has no form in JSON"),
            Refusal::Async(what) => {
                write!(f, "its types hold a {what}, which this engine runs without")
            }
            Refusal::TooLarge => write!(f, "its types, written out, have more than {MAX_NODES} parts"),
            Refusal::TooLargeInAll => {
                write!(f, "the types of this component's tools, written out, have more than {MAX_NODES_IN_ALL} parts")
            }
        }
    }
}

/// Names and docs for the types that the engine reports, as far as the component's WIT could be decoded.
pub(crate) struct Shaper<'a> {
    resolve: Option<&'a Resolve>,
    docs: &'a Docs,
    /// Of the tool at hand.
    nodes: usize,
    nodes_in_all: usize,
}

impl<'a> Shaper<'a> {
    pub(crate) fn new(resolve: Option<&'a Resolve>, docs: &'a Docs) -> Self {
        Shaper { resolve, docs, nodes: 0, nodes_in_all: 0 }
    }

    /// Starts on the types of another tool.
    pub(crate) fn next_tool(&mut self) {
        self.nodes = 0;
    }

    /// The shape of a type; `wit` is the same type as the component's WIT names it.
    pub(crate) fn shape(&mut self, ty: &Type, wit: Option<wit_parser::Type>) -> Result<Shape, Refusal> {
        self.count()?;
        let named = self.named(wit);
        let kind = match ty {
            Type::Bool => Kind::Bool,
            Type::U8 => Kind::Int(Int::U8),
            Type::U16 => Kind::Int(Int::U16),
            Type::U32 => Kind::Int(Int::U32),
            Type::U64 => Kind::Int(Int::U64),
            Type::S8 => Kind::Int(Int::S8),
            Type::S16 => Kind::Int(Int::S16),
            Type::S32 => Kind::Int(Int::S32),
            Type::S64 => Kind::Int(Int::S64),
            Type::Float32 => Kind::F32,
            Type::Float64 => Kind::F64,
            Type::Char => Kind::Char,
            Type::String => Kind::String,
            Type::List(list) => match list.ty() {
                Type::U8 => Kind::Bytes,
                element => Kind::List(Box::new(self.shape(&element, named.inner(0))?)),
            },
            Type::FixedLengthList(list) => {
                Kind::FixedList(Box::new(self.shape(&list.ty(), named.inner(0))?), list.len())
            }
            Type::Map(map) => Kind::Map(
                Box::new(self.shape(&map.key(), named.inner(0))?),
                Box::new(self.shape(&map.value(), named.inner(1))?),
            ),
            Type::Tuple(tuple) => {
                let mut shapes = Vec::new();
                for (index, ty) in tuple.types().enumerate() {
                    shapes.push(self.shape(&ty, named.inner(index))?);
                }
                Kind::Tuple(shapes)
            }
            Type::Record(record) => {
                let mut fields = Vec::new();
                for (index, field) in record.fields().enumerate() {
                    fields.push(Field {
                        name: json_name(field.name),
                        wit: field.name.to_owned(),
                        docs: named.member(self.docs, field.name),
                        shape: self.shape(&field.ty, named.inner(index))?,
                    });
                }
                Kind::Record(fields)
            }
            Type::Variant(variant) => {
                let mut cases = Vec::new();
                for (index, case) in variant.cases().enumerate() {
                    self.count()?;
                    let payload = match &case.ty {
                        Some(ty) => Some(self.shape(ty, named.inner(index))?),
                        None => None,
                    };
                    cases.push(Case::new(case.name, named.member(self.docs, case.name), payload));
                }
                Kind::Variant(Named::new(cases))
            }
            Type::Enum(names) => Kind::Enum(self.labels(&named, names.names())?),
            Type::Flags(names) => Kind::Flags(self.labels(&named, names.names())?),
            Type::Option(option) => Kind::Option(Box::new(self.shape(&option.ty(), named.inner(0))?)),
            Type::Result(result) => {
                let ok = result.ok().map(|ty| self.shape(&ty, named.inner(0)));
                let err = result.err().map(|ty| self.shape(&ty, named.inner(1)));
                Kind::Result(ok.transpose()?.map(Box::new), err.transpose()?.map(Box::new))
            }
            Type::Own(_) | Type::Borrow(_) => return Err(Refusal::Resource),
            Type::Stream(_) => return Err(Refusal::Async("stream")),
            Type::Future(_) => return Err(Refusal::Async("future")),
            Type::ErrorContext => return Err(Refusal::Async("error-context")),
        };
        Ok(Shape { kind, name: named.name(self.docs), docs: named.docs(self.docs) })
    }

    fn labels<'n>(
        &mut self,
        names: &Names<'_>,
        labels: impl Iterator<Item = &'n str>,
    ) -> Result<Named<Label>, Refusal> {
        let mut all = Vec::new();
        for name in labels {
            self.count()?;
            all.push(Label { name: name.to_owned(), docs: names.member(self.docs, name) });
        }
        Ok(Named::new(all))
    }

    fn count(&mut self) -> Result<(), Refusal> {
        self.nodes += 1;
        self.nodes_in_all += 1;
        if self.nodes_in_all > MAX_NODES_IN_ALL {
            return Err(Refusal::TooLargeInAll);
        }
        if self.nodes > MAX_NODES {
            return Err(Refusal::TooLarge);
        }
        Ok(())
    }

    fn named(&self, wit: Option<wit_parser::Type>) -> Names<'a> {
        let mut names = Vec::new();
        let (Some(resolve), Some(wit_parser::Type::Id(mut id))) = (self.resolve, wit) else {
            return Names { resolve: None, names, id: None };
        };
        loop {
            names.push(id);
            match resolve.types.get(id).map(|def| &def.kind) {
                Some(TypeDefKind::Type(wit_parser::Type::Id(next))) => id = *next,
                _ => break,
            }
        }
        Names { resolve: Some(resolve), names, id: Some(id) }
    }
}

/// One type as its WIT names it: the names that lead to it, and what it is.
struct Names<'a> {
    resolve: Option<&'a Resolve>,
    names: Vec<TypeId>,
    id: Option<TypeId>,
}

impl Names<'_> {
    fn kind(&self) -> Option<&TypeDefKind> {
        Some(&self.resolve?.types.get(self.id?)?.kind)
    }

    /// The type at a position within this one: an element, a field, a payload.
    fn inner(&self, index: usize) -> Option<wit_parser::Type> {
        match self.kind()? {
            TypeDefKind::List(ty) | TypeDefKind::FixedLengthList(ty, _) | TypeDefKind::Option(ty) => Some(*ty),
            TypeDefKind::Map(key, value) => Some(if index == 0 { *key } else { *value }),
            TypeDefKind::Tuple(tuple) => tuple.types.get(index).copied(),
            TypeDefKind::Record(record) => record.fields.get(index).map(|field| field.ty),
            TypeDefKind::Variant(variant) => variant.cases.get(index)?.ty,
            TypeDefKind::Result(result) => {
                if index == 0 {
                    result.ok
                } else {
                    result.err
                }
            }
            _ => None,
        }
    }

    /// The name that brings the docs, or where there are none that of the definition: an alias with docs of its own is
    /// a type of its own.
    fn name(&self, docs: &Docs) -> Option<TypeName> {
        let resolve = self.resolve?;
        let mut names = self.names.iter().filter_map(|id| {
            let def = resolve.types.get(*id)?;
            Some(TypeName { interface: owner(resolve, def)?, name: def.name.clone()? })
        });
        let last = names.clone().next_back();
        names.find(|name| docs.has_item(&name.interface, &name.name)).or(last)
    }

    fn docs(&self, docs: &Docs) -> Option<Arc<str>> {
        let resolve = self.resolve?;
        self.names.iter().find_map(|id| {
            let def = resolve.types.get(*id)?;
            docs.item(&owner(resolve, def)?, def.name.as_deref()?)
        })
    }

    fn member(&self, docs: &Docs, member: &str) -> Option<Arc<str>> {
        let resolve = self.resolve?;
        self.names.iter().find_map(|id| {
            let def = resolve.types.get(*id)?;
            docs.member(&owner(resolve, def)?, def.name.as_deref()?, member)
        })
    }
}

/// The interface that a type is of, by the name that docs are kept under; the world is the empty name.
fn owner(resolve: &Resolve, def: &wit_parser::TypeDef) -> Option<String> {
    match def.owner {
        wit_parser::TypeOwner::World(_) => Some(String::new()),
        wit_parser::TypeOwner::Interface(id) => Some(crate::component::interface_name(resolve, id)),
        wit_parser::TypeOwner::None => None,
    }
}
