//! The paths that a Rust file names: just enough of a parser to follow `use` trees, `self` and `super`.
//!
//! Receives a file's text and its module, yields absolute paths such as `crate::stream::queue::Queue` and
//! `std::fs::File`. It leaves out comments, strings and the test module at a file's end, and does not expand macros.

use std::path::Path;

/// A path as it is named, and where.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Named {
    /// Counted from 1.
    pub(crate) line: usize,
    /// Beginning with `crate`, `std` or `core`.
    pub(crate) name: String,
}

/// The module of a file below `src/`: `stream/queue.rs` is `[stream, queue]`, `stream/mod.rs` is `[stream]`.
pub(crate) fn module_of(inside_src: &Path) -> Vec<String> {
    let mut module: Vec<String> =
        inside_src.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
    if module.last().is_some_and(|name| name == "mod") {
        module.pop();
    }
    module
}

/// All paths of a file that begin with `crate`, `super`, `self`, `voxatlas`, `std` or `core`, with `use` trees unfolded.
pub(crate) fn named(text: &str, module: &[String]) -> Vec<Named> {
    let tokens = tokens(text);
    let mut found = Vec::new();
    let mut at = 0;
    while at < tokens.len() {
        let follows_path = at > 0 && tokens[at - 1].text == "::" && at > 1 && is_word(&tokens[at - 2].text);
        match root_of(&tokens[at].text, module) {
            Some(root) if !follows_path && tokens.get(at + 1).is_some_and(|next| next.text == "::") => {
                at = unfold(&tokens, at + 1, root, &mut found);
            }
            _ => at += 1,
        }
    }
    found
}

/// What the first word of a path stands for.
fn root_of(word: &str, module: &[String]) -> Option<Vec<String>> {
    let in_crate = |module: &[String]| [&["crate".to_owned()], module].concat();
    match word {
        // The program and the tests know the library by its name.
        "crate" | "voxatlas" => Some(vec!["crate".to_owned()]),
        "self" => Some(in_crate(module)),
        "super" => Some(in_crate(&module[..module.len().saturating_sub(1)])),
        "std" | "core" => Some(vec!["std".to_owned()]),
        _ => None,
    }
}

/// Reads on from the `::` after `path`, adds every path of the tree, and returns where it ends.
fn unfold(tokens: &[Token], mut at: usize, mut path: Vec<String>, found: &mut Vec<Named>) -> usize {
    let line = tokens[at].line;
    while tokens.get(at).is_some_and(|token| token.text == "::") {
        match tokens.get(at + 1).map(|token| token.text.as_str()) {
            Some("super") => {
                path.pop();
                at += 2;
            }
            Some("{") => {
                at += 2;
                while at < tokens.len() && tokens[at].text != "}" {
                    let word = &tokens[at].text;
                    if word == "self" {
                        found.push(Named { line: tokens[at].line, name: path.join("::") });
                        at += 1;
                    } else if is_word(word) && word != "as" {
                        let branch = [path.clone(), vec![word.clone()]].concat();
                        at = unfold(tokens, at + 1, branch, found);
                    } else {
                        at += 1;
                    }
                }
                return at + 1;
            }
            Some(word) if is_word(word) => {
                path.push(word.to_owned());
                at += 2;
            }
            _ => break,
        }
    }
    found.push(Named { line, name: path.join("::") });
    // `as name` belongs to the path, or the name would be read as one more.
    if tokens.get(at).is_some_and(|token| token.text == "as") { at + 2 } else { at }
}

struct Token {
    line: usize,
    /// A word, `::`, or one other character.
    text: String,
}

fn is_word(text: &str) -> bool {
    text.starts_with(|first: char| first.is_alphabetic() || first == '_')
}

/// Words and signs outside comments and strings, up to the test module.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut line = 1;
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if rest.starts_with("#[cfg(test)]") && opens_module(rest) => break,
            _ if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            _ if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            '"' => string_length(rest),
            _ if raw_string_length(rest).is_some() => raw_string_length(rest).unwrap_or(1),
            '\'' => character_length(rest),
            _ if is_word(rest) => rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len()),
            _ if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(length);
        let is_code =
            !token.starts_with("//") && !token.starts_with("/*") && !token.contains('"') && !first.is_whitespace();
        if is_code {
            tokens.push(Token { line, text: token.to_owned() });
        }
        line += token.matches('\n').count();
        rest = after;
    }
    tokens
}

/// Whether the attribute stands before an inline module, as that of the tests does.
fn opens_module(rest: &str) -> bool {
    let after = rest["#[cfg(test)]".len()..].trim_start();
    after.starts_with("mod ") && after.chars().find(|&c| c == '{' || c == ';') == Some('{')
}

/// Bytes of the string literal that `rest` begins with.
fn string_length(rest: &str) -> usize {
    let mut escaped = false;
    for (at, character) in rest.char_indices().skip(1) {
        match character {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    rest.len()
}

/// Bytes of the raw string literal that `rest` begins with, if it does.
fn raw_string_length(rest: &str) -> Option<usize> {
    let inside = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r'))?;
    let n_hashes = inside.find(|c| c != '#')?;
    let quote = rest.len() - inside.len() + n_hashes;
    rest[quote..].strip_prefix('"')?;
    let close = format!("\"{}", "#".repeat(n_hashes));
    let end = rest[quote + 1..].find(&close)?;
    Some(quote + 1 + end + close.len())
}

/// Bytes of the character literal or the lifetime's tick that `rest` begins with.
fn character_length(rest: &str) -> usize {
    let inside = &rest[1..];
    if inside.starts_with('\\') {
        return inside[2..].find('\'').map_or(1, |end| end + 4);
    }
    match inside.chars().next() {
        Some(character) if inside[character.len_utf8()..].starts_with('\'') => character.len_utf8() + 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&str]) {
        let module = ["stream".to_owned(), "queue".to_owned()];
        let found: Vec<String> = named(text, &module).into_iter().map(|path| path.name).collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn plain_paths() {
        check("use std::fs;", &["std::fs"]);
        check("let now = std::time::Instant::now();", &["std::time::Instant::now"]);
        check("use core::fmt::Write as _;", &["std::fmt::Write"]);
        check("fn f(a: crate::geo::TileCoord) -> ::std::io::Result<()>", &["crate::geo::TileCoord", "std::io::Result"]);
        check("use voxatlas::gpu::Renderer;", &["crate::gpu::Renderer"]);
    }

    #[test]
    fn trees() {
        check("use std::{fs, io::{self, Read}};", &["std::fs", "std::io", "std::io::Read"]);
        check(
            "use crate::{\n geo::{RegionKey as Key, TileCoord},\n gpu,\n};",
            &["crate::geo::RegionKey", "crate::geo::TileCoord", "crate::gpu"],
        );
        check("use crate::gpu::*;", &["crate::gpu"]);
    }

    #[test]
    fn relatives() {
        check("use super::Ticket;", &["crate::stream::Ticket"]);
        check("use super::super::loader::Pool;", &["crate::loader::Pool"]);
        check("use self::heap::Heap;", &["crate::stream::queue::heap::Heap"]);
    }

    #[test]
    fn other_crates_are_not_ours() {
        check("use tokio::fs; use image::codecs::std::fs;", &[]);
    }

    #[test]
    fn comments_strings_and_tests_are_no_code() {
        check(
            "// std::fs\n/// [`crate::gpu`]\n/* std::net */ \"std::fs \\\" std::fs\" r#\"std::fs\"# '\"' b'\\'' &'a str",
            &[],
        );
        check("use crate::geo;\n#[cfg(test)]\nmod tests {\n use std::fs;\n}", &["crate::geo"]);
        check("#[cfg(test)]\nmod tests;\nuse std::fs;", &["std::fs"]);
    }

    #[test]
    fn lines_are_counted() {
        let found = named("//! doc\nuse crate::{\n    geo,\n    gpu::Renderer,\n};\n", &["stream".to_owned()]);
        let lines: Vec<usize> = found.iter().map(|path| path.line).collect();
        assert_eq!(lines, [3, 4]);
    }

    #[test]
    fn modules() {
        assert_eq!(module_of(Path::new("stream/queue.rs")), ["stream", "queue"]);
        assert_eq!(module_of(Path::new("stream/mod.rs")), ["stream"]);
        assert_eq!(module_of(Path::new("limits.rs")), ["limits"]);
    }
}
