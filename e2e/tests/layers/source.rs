//! Which files of a crate know which: what `use` lines and paths in the code say, tests aside.
//!
//! The methods of a type may stand in several files: a call of one is no edge, only the names that a file
//! writes down.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// A module's path within its crate; the root's is empty.
type Module = Vec<String>;

/// The files of a crate, by their path in `src`, each with those that it knows.
pub type Graph = BTreeMap<String, BTreeSet<String>>;

/// The contents of one file.
#[derive(Default)]
struct File {
    name: String,
    /// The submodules that it declares.
    children: BTreeSet<String>,
    imports: Vec<Import>,
    /// Paths in the code, of two names or more.
    paths: Vec<Vec<String>>,
    /// Every name in the code but those of imports.
    names: BTreeSet<String>,
}

/// One name that a `use` brings in.
struct Import {
    path: Vec<String>,
    name: String,
    public: bool,
}

/// The files of the crate whose root is this file of `src`. A library and a program may share a folder: the
/// root of the other is left out.
pub fn of_crate(src: &Path, root: &str) -> Graph {
    let files = files(src);
    let own = files.iter().filter(|(name, _)| name == root || !matches!(name.as_str(), "lib.rs" | "main.rs"));
    graph(own.map(|(name, text)| (name.as_str(), text.as_str())))
}

/// The name and the text of each file in `src`, but for other programs of the package, in `bin`.
pub fn files(src: &Path) -> Vec<(String, String)> {
    let mut sources = Vec::new();
    read(src, src, &mut sources);
    sources
}

fn read(root: &Path, dir: &Path, sources: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.strip_prefix(root).unwrap().to_str().unwrap().to_owned();
        if path.is_dir() && name != "bin" {
            read(root, &path, sources);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            sources.push((name, fs::read_to_string(path).unwrap()));
        }
    }
}

/// The paths that a text names, imported or in its code.
pub fn paths(text: &str) -> BTreeSet<String> {
    let file = parse("", text);
    let imported = file.imports.iter().map(|import| &import.path);
    imported.chain(&file.paths).map(|path| path.join("::")).collect()
}

/// Returns which of the files with these names and texts use which others.
pub fn graph<'a>(sources: impl IntoIterator<Item = (&'a str, &'a str)>) -> Graph {
    let files: BTreeMap<Module, File> =
        sources.into_iter().map(|(name, text)| (module(name), parse(name, text))).collect();
    let knows = |(module, file): (&Module, &File)| {
        let mut known = BTreeSet::new();
        for import in &file.imports {
            // What a file only passes on it does not know.
            if !import.public || file.names.contains(&import.name) {
                known.extend(target(&files, module, &import.path, 0));
            }
        }
        known.extend(file.paths.iter().filter_map(|path| target(&files, module, path, 0)));
        known.remove(&file.name);
        (file.name.clone(), known)
    };
    files.iter().map(knows).collect()
}

fn module(file: &str) -> Module {
    let mut parts: Module = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if matches!(parts.last().map(String::as_str), Some("mod" | "lib" | "main")) {
        parts.pop();
    }
    parts
}

/// The file that says what `path` means, where that is one of the crate; re-exports are followed.
fn target(files: &BTreeMap<Module, File>, from: &[String], path: &[String], depth: usize) -> Option<String> {
    let mut at = from.to_vec();
    let mut rest = path;
    match path.first()?.as_str() {
        "crate" => {
            at.clear();
            rest = &path[1..];
        }
        "self" | "super" => {
            while let Some(step) = rest.first().filter(|step| matches!(step.as_str(), "self" | "super")) {
                if step == "super" {
                    at.pop();
                }
                rest = &rest[1..];
            }
        }
        child if files.get(from).is_some_and(|file| file.children.contains(child)) => {}
        _ => return None,
    }
    while let Some(child) = rest.first() {
        at.push(child.clone());
        if !files.contains_key(&at) {
            at.pop();
            break;
        }
        rest = &rest[1..];
    }
    let file = files.get(&at)?;
    if let Some(item) = rest.first()
        && depth < 8
        && let Some(import) = file.imports.iter().find(|import| import.name == *item)
        && let Some(found) = target(files, &at, &import.path, depth + 1)
    {
        return Some(found);
    }
    Some(file.name.clone())
}

fn parse(name: &str, text: &str) -> File {
    let tokens = without_tests(tokens(text));
    let mut file = File { name: name.to_owned(), ..File::default() };
    let is = |at: usize, text: &str| tokens.get(at).is_some_and(|token| token == text);
    let mut at = 0;
    while at < tokens.len() {
        let token = &tokens[at];
        if token == "use" {
            let end = (at..tokens.len()).find(|end| tokens[*end] == ";").unwrap_or(tokens.len());
            let public = at > 0 && (tokens[at - 1] == "pub" || tokens[at - 1] == ")");
            imports(&tokens[at + 1..end], public, &mut file.imports);
            at = end;
        } else if token == "mod" && is(at + 2, ";") {
            file.children.insert(tokens[at + 1].clone());
            at += 2;
        } else if is_name(token) {
            let mut path = vec![token.clone()];
            while is(at + 1, "::") && tokens.get(at + 2).is_some_and(|next| is_name(next)) {
                path.push(tokens[at + 2].clone());
                at += 2;
            }
            file.names.insert(path[0].clone());
            if path.len() > 1 {
                file.paths.push(path);
            }
        }
        at += 1;
    }
    file
}

/// What the tree of a `use` brings in.
fn imports(tree: &[String], public: bool, into: &mut Vec<Import>) {
    let mut prefixes: Vec<Vec<String>> = vec![Vec::new()];
    let mut path: Vec<String> = Vec::new();
    let mut alias = None;
    let mut at = 0;
    let mut end = |path: &mut Vec<String>, alias: &mut Option<String>| {
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        if let Some(last) = path.last() {
            let name = alias.take().unwrap_or_else(|| last.clone());
            into.push(Import { path: path.clone(), name, public });
        }
    };
    while at < tree.len() {
        match tree[at].as_str() {
            "{" => {
                prefixes.push(path.clone());
            }
            "," | "}" => {
                if tree[at - 1] != "}" && tree[at - 1] != "," && tree[at - 1] != "{" {
                    end(&mut path, &mut alias);
                }
                if tree[at] == "}" {
                    prefixes.pop();
                }
                path = prefixes.last().cloned().unwrap_or_default();
            }
            "as" => {
                alias = tree.get(at + 1).cloned();
                at += 1;
            }
            // Of everything in a module, the module is what is known.
            "::" | "*" => {}
            name => path.push(name.to_owned()),
        }
        at += 1;
    }
    if tree.last().is_some_and(|last| last != "}") {
        end(&mut path, &mut alias);
    }
}

fn is_name(token: &str) -> bool {
    token.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// The tokens of a text: names, `::`, and single characters. Comments, literals and lifetimes are left out.
fn tokens(text: &str) -> Vec<String> {
    let chars: Vec<char> = text.chars().collect();
    let mut tokens = Vec::new();
    let mut at = 0;
    let get = |at: usize| chars.get(at).copied().unwrap_or('\0');
    while at < chars.len() {
        let here = chars[at];
        let next = get(at + 1);
        if here == '/' && next == '/' {
            while at < chars.len() && chars[at] != '\n' {
                at += 1;
            }
        } else if here == '/' && next == '*' {
            while at < chars.len() && !(chars[at] == '*' && get(at + 1) == '/') {
                at += 1;
            }
            at += 2;
        } else if here == '"' {
            at = after_string(&chars, at);
        } else if here == 'r' && (next == '"' || next == '#' && matches!(get(at + 2), '"' | '#')) {
            at = after_raw_string(&chars, at + 1);
        } else if here == '\'' {
            at = after_quote(&chars, at);
        } else if here.is_alphanumeric() || here == '_' {
            let end = (at..chars.len())
                .find(|end| !(chars[*end].is_alphanumeric() || chars[*end] == '_'))
                .unwrap_or(chars.len());
            tokens.push(chars[at..end].iter().collect());
            at = end;
        } else if here == ':' && next == ':' {
            tokens.push("::".to_owned());
            at += 2;
        } else {
            if !here.is_whitespace() {
                tokens.push(here.to_string());
            }
            at += 1;
        }
    }
    tokens
}

fn after_string(chars: &[char], quote: usize) -> usize {
    let mut at = quote + 1;
    while at < chars.len() && chars[at] != '"' {
        at += if chars[at] == '\\' { 2 } else { 1 };
    }
    at + 1
}

fn after_raw_string(chars: &[char], hashes: usize) -> usize {
    let count = chars[hashes..].iter().take_while(|c| **c == '#').count();
    let mut at = hashes + count + 1;
    while at < chars.len() {
        if chars[at] == '"' && chars[at + 1..].iter().take(count).filter(|c| **c == '#').count() == count {
            return at + 1 + count;
        }
        at += 1;
    }
    at
}

/// After a character; of a lifetime, after the quote alone, so that its name is a token.
fn after_quote(chars: &[char], quote: usize) -> usize {
    match (chars.get(quote + 1), chars.get(quote + 2)) {
        (Some('\\'), _) => {
            let escaped = quote + 3;
            (escaped..chars.len()).find(|at| chars[*at] == '\'').map_or(chars.len(), |at| at + 1)
        }
        (Some(_), Some('\'')) => quote + 3,
        _ => quote + 1,
    }
}

/// Leaves out each item under `#[cfg(test)]`.
fn without_tests(tokens: Vec<String>) -> Vec<String> {
    const TEST: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        if tokens.len() >= at + TEST.len() && TEST.iter().zip(&tokens[at..]).all(|(a, b)| a == b) {
            at = after_item(&tokens, at + TEST.len());
        } else {
            kept.push(tokens[at].clone());
            at += 1;
        }
    }
    kept
}

/// After the item that begins there: its `;`, or the end of its first block in braces.
fn after_item(tokens: &[String], start: usize) -> usize {
    let mut depth = 0_usize;
    for (at, token) in tokens.iter().enumerate().skip(start) {
        match token.as_str() {
            "{" | "(" | "[" => depth += 1,
            "}" | ")" | "]" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && token == "}" {
                    return at + 1;
                }
            }
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}
