//! Ports: nobody binds one, lets it go and believes that it is still free.

use proc_macro2::{Delimiter, TokenStream, TokenTree};

use super::finding::Finding;
use super::house::House;
use super::law::Law;
use super::source::{Token, flat, line};

/// The law.
pub const LAW: Law = Law {
    name: "ports",
    reason: "a port that was free a moment ago is another's by now: the socket itself is passed on",
    check,
};

/// What binds.
const BINDS: &[&str] = &["bind", "datagram", "listen", "tcp_listener", "udp_socket"];
/// What tells where it is bound.
const ADDRESSES: &[&str] = &["local_addr", "local_address"];
/// What a function gives back that keeps no socket open.
const PLAIN: &[&str] = &[
    "Address",
    "IpAddr",
    "Option",
    "Result",
    "SocketAddr",
    "SocketAddrV4",
    "SocketAddrV6",
    "String",
    "Vec",
    "net",
    "std",
    "u16",
    "usize",
];
/// Whoever starts somebody may have given him the socket.
const PASSES_ON: &[&str] = &["forget", "into_raw_fd", "move", "spawn"];

fn check(house: &House<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (path, source) in house.sources() {
        // Most files bind nothing.
        if !source.tokens.iter().any(|token| ADDRESSES.contains(&&*token.text)) {
            continue;
        }
        functions(source.stream.clone(), &mut |function| {
            if lets_go(function) {
                let Function { name, line, .. } = function;
                let what = format!("`{name}` gives a port and drops its socket");
                let remedy = "give the socket too, or taut_testkit's own_address()";
                findings.push(Finding::new(path, *line, what, remedy));
            }
        });
    }
    findings
}

/// A function with a body.
struct Function {
    name: String,
    line: usize,
    /// What it gives back, and its bounds.
    output: Vec<Token>,
    body: Vec<Token>,
}

/// Whether it binds, tells where, and neither gives the socket back nor passes it on.
fn lets_go(function: &Function) -> bool {
    let says = |words: &[&str]| function.body.iter().any(|token| words.contains(&&*token.text));
    let is_word = |token: &&Token| token.text.starts_with(char::is_alphabetic);
    let mut words = function.output.iter().filter(is_word).peekable();
    words.peek().is_some()
        && words.all(|word| PLAIN.contains(&&*word.text))
        && says(BINDS)
        && says(ADDRESSES)
        && !says(PASSES_ON)
}

/// Tells every function, also those inside others.
fn functions(stream: TokenStream, tell: &mut dyn FnMut(&Function)) {
    let trees: Vec<TokenTree> = stream.into_iter().collect();
    for (at, tree) in trees.iter().enumerate() {
        match (tree, trees.get(at + 1)) {
            (TokenTree::Group(group), _) => functions(group.stream(), tell),
            (TokenTree::Ident(word), Some(TokenTree::Ident(name))) if word == "fn" => {
                let place = |delimiter| {
                    trees[at..].iter().position(|tree| is_group(tree, delimiter)).map(|n| at + n)
                };
                let ends = (place(Delimiter::Parenthesis), place(Delimiter::Brace));
                if let (Some(inputs), Some(body)) = ends
                    && let Some(output) = trees.get(inputs + 1..body)
                {
                    tell(&Function {
                        name: name.to_string(),
                        line: line(name.span()),
                        output: flat(output.iter().cloned().collect()),
                        body: flat(trees[body].clone().into()),
                    });
                }
            }
            _ => {}
        }
    }
}

fn is_group(tree: &TokenTree, delimiter: Delimiter) -> bool {
    matches!(tree, TokenTree::Group(group) if group.delimiter() == delimiter)
}

#[cfg(test)]
mod tests {
    use super::LAW;
    use crate::tidy::fixture::{assert_broken, assert_kept};

    const AT: &str = "crates/taut-fix/tests/a.rs";

    #[test]
    fn a_port_without_its_socket_is_found() {
        for text in [
            "fn free() -> u16 {\n    let a = UdpSocket::bind(\"x:0\").unwrap();\n    \
             a.local_addr().unwrap().port()\n}\n",
            "fn free() -> std::net::SocketAddr { TcpListener::bind(A)?.local_addr()? }\n",
            "fn free() -> [u16; 2] { [0, 1].map(|_| bind().local_address().port()) }\n",
        ] {
            assert_broken(&LAW, &[(AT, text)], "crates/taut-fix/tests/a.rs:1", "`free`");
        }
        let inside = "mod a {\n    fn free() -> String { bind(); local_addr() }\n}\n";
        assert_broken(&LAW, &[(AT, inside)], "crates/taut-fix/tests/a.rs:2", "`free`");
    }

    #[test]
    fn whoever_keeps_the_socket_may_tell_its_port() {
        for text in [
            "fn pair() -> (UdpSocket, u16) { let a = bind(); (a, a.local_addr()) }\n",
            "fn port(of: &UdpSocket) -> u16 { of.local_addr().unwrap().port() }\n",
            "fn serve() -> u16 { let a = bind(); spawn(move || a); local_addr() }\n",
            "fn check() { let at = bind().local_addr(); use_it(at); }\n",
        ] {
            assert_kept(&LAW, &[(AT, text)]);
        }
    }
}
