//! The public interface is what `public-api.txt` says, so that nobody changes it without meaning to.
//!
//! There is no release yet to hold it against, and what rustdoc can tell for programs to compare is of one toolchain only. So this reads
//! the sources: what `lib.rs` exports, here and from the crates below, without bodies, documentation and what is private. Whatever makes a
//! program not compile any more is a line of it, with these exceptions: bodies of macros that implement traits, of which the file has the calls;
//! and auto traits, which [`handles_go_from_thread_to_thread`] asks for.

use prettyplease::unparse;
use quote::{ToTokens, format_ident};
use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use syn::{
    Attribute, Block, Fields, FieldsUnnamed, File, Ident, ImplItem, Item, ItemImpl, TraitItem, Type, UseTree,
    Visibility, parse_quote,
};
use trireme::{Builder, Database, Error, OpenIndex, OpenTable, Serde, Stats, Ticket};

/// Set to `write`, it is written anew.
const WRITE: &str = "TRIREME_PUBLIC_API";

/// The crates that this one exports something of, as it calls them.
const CRATES: [(&str, &str); 3] =
    [("crate", "src"), ("contract", "../contract/src"), ("engine", "../engine/src")];

fn here(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// All files below a folder, in the order of their paths.
fn sources(folder: &Path) -> Vec<File> {
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    paths
        .into_iter()
        .flat_map(|path| match path.is_dir() {
            true => sources(&path),
            false if path.extension().is_some_and(|extension| extension == "rs") => {
                let text = fs::read_to_string(&path).expect("a source");
                vec![syn::parse_file(&text).unwrap_or_else(|why| panic!("{}: {why}", path.display()))]
            }
            false => Vec::new(),
        })
        .collect()
}

/// By crate, the names that `lib.rs` exports.
fn exported(lib: &File) -> BTreeMap<String, BTreeSet<String>> {
    fn names(tree: &UseTree, found: &mut Vec<String>) {
        match tree {
            UseTree::Path(path) => names(&path.tree, found),
            UseTree::Name(name) => found.push(name.ident.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| names(tree, found)),
            UseTree::Rename(_) | UseTree::Glob(_) => panic!("lib.rs exports by names only"),
        }
    }
    let mut exported = BTreeMap::<String, BTreeSet<String>>::new();
    for item in &lib.items {
        match item {
            Item::Use(item) if is_public(&item.vis) => {
                let UseTree::Path(path) = &item.tree else { panic!("lib.rs exports what is in modules") };
                let first = path.ident.to_string();
                let of =
                    if CRATES.iter().any(|(name, _)| *name == first) { first } else { "crate".to_owned() };
                let mut found = Vec::new();
                names(&path.tree, &mut found);
                exported.entry(of).or_default().extend(found);
            }
            Item::Use(_) | Item::Mod(_) => {}
            Item::Struct(item) if !is_public(&item.vis) => {}
            _ => panic!("lib.rs has modules, and exports what is in them"),
        }
    }
    exported
}

fn is_public(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

/// Keeps of the attributes those that programs can tell.
fn strip(attributes: &mut Vec<Attribute>) {
    let kept = ["derive", "must_use", "non_exhaustive", "repr", "deprecated", "default"];
    attributes.retain(|attribute| kept.iter().any(|name| attribute.path().is_ident(name)));
}

fn strip_fields(fields: &mut Fields) {
    let has_private = fields.iter().any(|field| !is_public(&field.vis));
    match fields {
        Fields::Named(fields) => {
            fields.named = fields.named.iter().filter(|field| is_public(&field.vis)).cloned().collect();
            fields.named.iter_mut().for_each(|field| strip(&mut field.attrs));
            if has_private {
                let private = format_ident!("_private");
                let field = syn::Field {
                    attrs: Vec::new(),
                    vis: Visibility::Inherited,
                    mutability: syn::FieldMutability::None,
                    ident: Some(private),
                    colon_token: Some(Default::default()),
                    ty: parse_quote!(()),
                };
                fields.named.push(field);
            }
        }
        Fields::Unnamed(FieldsUnnamed { unnamed, .. }) => {
            for field in unnamed {
                strip(&mut field.attrs);
                if !is_public(&field.vis) {
                    field.ty = parse_quote!(());
                }
            }
        }
        Fields::Unit => {}
    }
}

fn empty() -> Block {
    parse_quote!({})
}

/// An item as a program sees it; `None`: not at all.
fn seen(
    item: &Item,
    names: &BTreeSet<String>,
    all: &BTreeSet<String>,
    own: &BTreeSet<String>,
) -> Option<Item> {
    let is_exported =
        |ident: &Ident, visibility: &Visibility| is_public(visibility) && names.contains(&ident.to_string());
    match item {
        Item::Struct(item) if is_exported(&item.ident, &item.vis) => {
            let mut item = item.clone();
            strip(&mut item.attrs);
            strip_fields(&mut item.fields);
            Some(Item::Struct(item))
        }
        Item::Enum(item) if is_exported(&item.ident, &item.vis) => {
            let mut item = item.clone();
            strip(&mut item.attrs);
            for variant in &mut item.variants {
                strip(&mut variant.attrs);
                variant.fields.iter_mut().for_each(|field| strip(&mut field.attrs));
            }
            Some(Item::Enum(item))
        }
        Item::Trait(item) if is_exported(&item.ident, &item.vis) => {
            let mut item = item.clone();
            strip(&mut item.attrs);
            for item in &mut item.items {
                match item {
                    TraitItem::Fn(item) => {
                        strip(&mut item.attrs);
                        item.default = item.default.is_some().then(empty);
                    }
                    TraitItem::Const(item) => strip(&mut item.attrs),
                    TraitItem::Type(item) => strip(&mut item.attrs),
                    _ => {}
                }
            }
            Some(Item::Trait(item))
        }
        Item::Const(item) if is_exported(&item.ident, &item.vis) => {
            let mut item = item.clone();
            strip(&mut item.attrs);
            Some(Item::Const(item))
        }
        Item::Type(item) if is_exported(&item.ident, &item.vis) => {
            let mut item = item.clone();
            strip(&mut item.attrs);
            Some(Item::Type(item))
        }
        Item::Fn(item) if is_exported(&item.sig.ident, &item.vis) => {
            let mut item = item.clone();
            strip(&mut item.attrs);
            *item.block = parse_quote!({});
            Some(Item::Fn(item))
        }
        Item::Impl(item) => seen_impl(item, names, all, own).map(Item::Impl),
        Item::Macro(item) if item.ident.is_none() => {
            // In this crate they implement traits for types of others; below, those of an exported name define it.
            let is_here = names.contains("Database") && !item.mac.path.is_ident("thread_local");
            (is_here || words(&item.mac.tokens.to_string()).any(|word| names.contains(word)))
                .then(|| Item::Macro(item.clone()))
        }
        _ => None,
    }
}

/// The names in a text.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
}

/// Of implementations those of exported types, and of exported traits; `own` are all traits of the crate.
fn seen_impl(
    item: &ItemImpl,
    names: &BTreeSet<String>,
    all: &BTreeSet<String>,
    own: &BTreeSet<String>,
) -> Option<ItemImpl> {
    let of_type = match &*item.self_ty {
        Type::Path(path) => {
            path.path.segments.last().is_some_and(|last| names.contains(&last.ident.to_string()))
        }
        _ => false,
    };
    let mut item = item.clone();
    strip(&mut item.attrs);
    match &item.trait_ {
        Some((_, path, _)) => {
            let name = path.segments.last().expect("a path").ident.to_string();
            let is_hidden = own.contains(&name) && !all.contains(&name);
            if is_hidden || !(of_type || all.contains(&name)) {
                return None;
            }
            item.items.retain(|item| matches!(item, ImplItem::Type(_) | ImplItem::Const(_)));
            for item in &mut item.items {
                match item {
                    ImplItem::Type(item) => strip(&mut item.attrs),
                    ImplItem::Const(item) => strip(&mut item.attrs),
                    _ => {}
                }
            }
        }
        None if of_type => {
            item.items.retain(|item| match item {
                ImplItem::Fn(item) => is_public(&item.vis),
                ImplItem::Const(item) => is_public(&item.vis),
                _ => false,
            });
            for item in &mut item.items {
                match item {
                    ImplItem::Fn(item) => {
                        strip(&mut item.attrs);
                        item.block = empty();
                    }
                    ImplItem::Const(item) => strip(&mut item.attrs),
                    _ => {}
                }
            }
            if item.items.is_empty() {
                return None;
            }
        }
        None => return None,
    }
    Some(item)
}

/// The names that an item defines, or may define.
fn definitions(item: &Item) -> Vec<String> {
    match item {
        Item::Struct(item) => vec![item.ident.to_string()],
        Item::Enum(item) => vec![item.ident.to_string()],
        Item::Trait(item) => vec![item.ident.to_string()],
        Item::Const(item) => vec![item.ident.to_string()],
        Item::Type(item) => vec![item.ident.to_string()],
        Item::Fn(item) => vec![item.sig.ident.to_string()],
        Item::Macro(item) => words(&item.mac.tokens.to_string()).map(str::to_owned).collect(),
        _ => Vec::new(),
    }
}

/// By what it is sorted: a type is followed by what is implemented for it, and macros come last.
fn subject(item: &Item) -> (bool, String, bool) {
    match item {
        Item::Impl(item) => {
            let of = item.self_ty.to_token_stream().to_string();
            (false, words(&of).next().unwrap_or_default().to_owned(), true)
        }
        Item::Macro(item) => (true, item.mac.path.to_token_stream().to_string(), false),
        _ => (false, definitions(item).concat(), false),
    }
}

/// What is there at all: not tests, nor what is made for one system only.
fn items(file: &File) -> impl Iterator<Item = &Item> {
    file.items.iter().filter(|item| !matches!(item, Item::Mod(_)))
}

/// The interface in words, sorted ([`subject`]).
fn interface() -> String {
    let lib = syn::parse_file(&fs::read_to_string(here("src/lib.rs")).expect("lib.rs")).expect("lib.rs");
    let exported = exported(&lib);
    let all: BTreeSet<String> = exported.values().flatten().cloned().collect();
    let mut lines = BTreeSet::new();
    let mut defined = BTreeSet::new();
    for (name, folder) in CRATES {
        let files = sources(&here(folder));
        let names = &exported[name];
        let is_trait = |item: &Item| match item {
            Item::Trait(item) => Some(item.ident.to_string()),
            _ => None,
        };
        let own: BTreeSet<String> = files.iter().flat_map(items).filter_map(is_trait).collect();
        for item in files.iter().flat_map(items) {
            // No implementation of an exported trait is in a crate below.
            let all = if name == "crate" { &all } else { names };
            let Some(item) = seen(item, names, all, &own) else { continue };
            defined.extend(definitions(&item));
            let subject = subject(&item);
            lines.insert((subject, unparse(&File { shebang: None, attrs: Vec::new(), items: vec![item] })));
        }
    }
    let missing: Vec<&String> = all.difference(&defined).collect();
    assert!(missing.is_empty(), "where is {missing:?} defined?");
    lines.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
}

/// Lines of one that the other does not have.
fn only(of: &str, other: &str, sign: char) -> String {
    let other: BTreeSet<&str> = other.lines().collect();
    let lines = of.lines().filter(|line| !line.is_empty() && !other.contains(line));
    lines.map(|line| format!("{sign} {line}\n")).collect()
}

#[test]
fn the_public_interface_is_the_one_that_is_written_down() {
    let path = here("public-api.txt");
    let now = interface();
    if env::var(WRITE).is_ok_and(|wanted| wanted == "write") {
        fs::write(&path, &now).expect("written");
        return;
    }
    let before = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        now == before,
        "The public interface of trireme-db has changed:\n\n{}{}\n\
         If that was not meant, undo it. If it was: run `{WRITE}=write cargo test -p trireme-db --test public_api`, look at what has \
         changed in crates/trireme/public-api.txt, commit it, and say in CHANGELOG.md what programs have to do, if one that compiled \
         does so no longer.",
        only(&before, &now, '-'),
        only(&now, &before, '+'),
    );
}

/// The auto traits that programs rely on, which no line of the file has.
#[test]
fn handles_go_from_thread_to_thread() {
    fn is_shared<T: Send + Sync + 'static>() {}
    is_shared::<Database>();
    is_shared::<Builder>();
    is_shared::<Ticket>();
    is_shared::<Error>();
    is_shared::<Stats>();
    is_shared::<OpenTable<u64, u64>>();
    is_shared::<OpenIndex<u64, Serde<String>, String>>();
    fn is_unpin<T: Unpin>() {}
    is_unpin::<Ticket>();
}
