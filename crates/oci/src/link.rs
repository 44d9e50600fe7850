//! The header `Link` (RFC 8288 §3), in which a registry returns the address of the next page of a list.

/// Returns the address of the next page from all `Link` headers of an answer; `None` on the last page. A link without a
/// relation counts: registries send such links, and other clients follow the first address with any parameters.
///
/// # Errors
/// A header cannot be read. Skipping it would silently truncate the list.
pub fn next_page<'a>(headers: impl IntoIterator<Item = &'a str>) -> Result<Option<String>, String> {
    let mut links = Vec::new();
    for header in headers {
        let mut rest = Scanner(header);
        while let Some(link) = rest.link().ok_or_else(|| format!("its Link header cannot be read: {header:.200}"))? {
            links.push(link);
        }
    }
    let is_next = |relation: &str| relation.split_whitespace().any(|one| one.eq_ignore_ascii_case("next"));
    let named = links.iter().position(|link| link.relation.as_deref().is_some_and(is_next));
    let found = named.or_else(|| links.iter().position(|link| link.relation.is_none()));
    Ok(found.map(|at| links.swap_remove(at).address))
}

struct Link {
    address: String,
    relation: Option<String>,
}

/// The unread rest of a header.
struct Scanner<'a>(&'a str);

impl<'a> Scanner<'a> {
    /// Reads a link and its parameters. Outer `None`: the text is not a link. Inner `None`: the header has ended.
    fn link(&mut self) -> Option<Option<Link>> {
        self.skip(&[' ', '\t', ',']);
        if self.0.is_empty() {
            return Some(None);
        }
        let (address, rest) = self.0.strip_prefix('<')?.split_once('>')?;
        self.0 = rest;
        let mut relation = None;
        loop {
            self.skip(&[' ', '\t']);
            if self.0.is_empty() || self.0.starts_with(',') {
                return Some(Some(Link { address: address.trim().to_owned(), relation }));
            }
            self.0 = self.0.strip_prefix(';')?;
            self.skip(&[' ', '\t']);
            let name = self.token();
            self.skip(&[' ', '\t']);
            let Some(rest) = self.0.strip_prefix('=') else { continue };
            self.0 = rest;
            self.skip(&[' ', '\t']);
            let value = self.value()?;
            // Only the first `rel` counts.
            if name.eq_ignore_ascii_case("rel") && relation.is_none() {
                relation = Some(value);
            }
        }
    }

    fn skip(&mut self, characters: &[char]) {
        self.0 = self.0.trim_start_matches(characters);
    }

    fn token(&mut self) -> &'a str {
        let end = self.0.find([' ', '\t', '=', ';', ',']).unwrap_or(self.0.len());
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        token
    }

    /// Reads a token or a quoted text. RFC 8288 does not allow single quotes, but some registries use them.
    fn value(&mut self) -> Option<String> {
        let quote = match self.0.chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => return Some(self.token().to_owned()),
        };
        let (mut value, mut is_escaped) = (String::new(), false);
        for (at, c) in self.0.char_indices().skip(1) {
            match c {
                _ if is_escaped => {
                    value.push(c);
                    is_escaped = false;
                }
                '\\' => is_escaped = true,
                _ if c == quote => {
                    self.0 = self.0.split_at(at + 1).1;
                    return Some(value);
                }
                _ => value.push(c),
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_in_every_legal_spelling() {
        for (header, expected) in [
            ("</v2/a/tags/list?last=b&n=2>; rel=\"next\"", "/v2/a/tags/list?last=b&n=2"),
            ("</a>;rel=next", "/a"),
            ("</a>; rel='next'", "/a"),
            ("</a>; Rel=\"NEXT\"", "/a"),
            ("</a> ; rel = \"next\"", "/a"),
            ("</a>; rel=\"last next\"", "/a"),
            ("</a>; rel='last next'", "/a"),
            ("</a>;title=\"x; y, z=\\\"<b>\\\"\"; rel=next; type=\"text/x\"", "/a"),
            ("</a>; crossorigin; rel=next", "/a"),
            ("</a>; rel=next; rel=prev", "/a"),
            ("</a?scope=x,y;z>; rel=\"next\"", "/a?scope=x,y;z"),
            ("</a>; rel=prev, </b>; title=x; rel=next", "/b"),
            (", </b>; rel=next ,", "/b"),
            ("</a>", "/a"),
            ("</a>; title=x", "/a"),
            ("</a>, </b>; rel=next", "/b"),
        ] {
            assert_eq!(next_page([header]), Ok(Some(expected.to_owned())), "{header}");
        }
        assert_eq!(next_page(["</a>; rel=prev", "</b>; rel=next"]), Ok(Some("/b".to_owned())));
    }

    #[test]
    fn the_last_page_has_links_to_other_things_or_none() {
        for header in ["", " , ", "</a>; rel=prev", "</a>; rel=\"first last\"", "</a>; rel=nextcloud"] {
            assert_eq!(next_page([header]), Ok(None), "{header}");
        }
        assert_eq!(next_page([]), Ok(None));
    }

    #[test]
    fn a_header_that_cannot_be_read_is_an_error() {
        for header in ["/a; rel=next", "</a; rel=next", "</a> rel=next", "</a>; rel=\"next", "</b>; rel=prev, x"] {
            assert!(next_page([header]).is_err(), "{header}");
        }
    }
}
