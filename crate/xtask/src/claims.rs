//! The book's page "What chapters say, what 4.3.0 does". In: book/claims.toml. Out: its Markdown in one language.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

use serde::Deserialize;
use steplog::experiment::Text;

use crate::Result;
use crate::book::in_language;

/// Where the page's own text leaves room for the claims.
pub const PLACE: &str = "<!-- claims -->";

#[derive(Debug, Deserialize, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Wrong,
    Dated,
    Imprecise,
    Holds,
}

/// What stands before and beside the claims.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Labels {
    wrong: String,
    dated: String,
    imprecise: String,
    holds: String,
    said: String,
    does: String,
    recorded: String,
    step: String,
}

impl Labels {
    fn of(&self, verdict: Verdict) -> (&'static str, &str) {
        match verdict {
            Verdict::Wrong => ("wrong", &self.wrong),
            Verdict::Dated => ("dated", &self.dated),
            Verdict::Imprecise => ("imprecise", &self.imprecise),
            Verdict::Holds => ("holds", &self.holds),
        }
    }
}

/// One claim of a chapter, and what was found about it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    pub id: String,
    pub chapter: String,
    pub section: String,
    pub verdict: Verdict,
    /// What the chapter says, in our words.
    pub said: Text,
    pub does: Text,
    /// Experiments that show it; none where the single broker cannot.
    pub experiments: Vec<String>,
    /// A file and a pointer into it. `{a,b}` stands for each of them.
    pub oracle: String,
    /// What stands there, one for each.
    pub recorded: Vec<toml::Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claims {
    labels: BTreeMap<String, Labels>,
    pub chapters: BTreeMap<String, Text>,
    #[serde(rename = "claim")]
    pub claims: Vec<Claim>,
}

pub fn read(root: &Path) -> Result<Claims> {
    let path = root.join("book/claims.toml");
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
    toml::from_str(&text).map_err(|error| format!("{}: {error}", path.display()).into())
}

impl Claims {
    /// First how many there are of each verdict, then chapter by chapter and section by section.
    pub fn markdown(&self, language: &str) -> Result<String> {
        let labels = self.labels.get(language).ok_or_else(|| format!("claims.toml has no labels for {language}"))?;
        let mut out = String::from("<p class=\"verdicts\">\n");
        for verdict in [Verdict::Wrong, Verdict::Dated, Verdict::Imprecise, Verdict::Holds] {
            let (class, label) = labels.of(verdict);
            let count = self.claims.iter().filter(|claim| claim.verdict == verdict).count();
            writeln!(out, "<span class=\"{class}\">{label} {count}</span>")?;
        }
        out += "</p>\n";
        let (mut chapter, mut section) = ("", "");
        for claim in &self.claims {
            if claim.chapter != chapter {
                (chapter, section) = (&claim.chapter, "");
                let title = self.chapters.get(chapter).ok_or_else(|| format!("{}: chapter {chapter}?", claim.id))?;
                write!(out, "\n## {}\n", in_language(title, language))?;
            }
            if claim.section != section {
                section = &claim.section;
                write!(out, "\n### {section}\n")?;
            }
            claim.write(&mut out, labels, language)?;
        }
        Ok(out)
    }
}

impl Claim {
    fn write(&self, out: &mut String, labels: &Labels, language: &str) -> Result {
        let (class, verdict) = labels.of(self.verdict);
        let (said, does) = (escape(in_language(&self.said, language)), escape(in_language(&self.does, language)));
        write!(out, "\n<div class=\"claim {class}\" id=\"{}\">\n", self.id)?;
        writeln!(out, "<p><strong>{}</strong> <span class=\"verdict\">{verdict}</span><br>{said}</p>", labels.said)?;
        writeln!(out, "<p><strong>{}</strong><br>{does}</p>", labels.does)?;
        let recorded: Vec<String> = self.recorded.iter().map(|value| escape(&plain(value))).collect();
        let recorded = recorded.join("</code> <code>");
        write!(out, "<p class=\"evidence\">{} <code>{recorded}</code>", labels.recorded)?;
        writeln!(out, "<br><small>{}</small></p>", escape(&self.oracle))?;
        for name in &self.experiments {
            writeln!(out, "<details data-experiment=\"{name}\"><summary>{} {name}</summary>", labels.step)?;
            writeln!(out, "<p><a href=\"experiments/{name}.html\">steplog run {name}</a></p></details>")?;
        }
        out.push_str("</div>\n");
        Ok(())
    }
}

/// A recorded value as one reads it; text without its quotes.
fn plain(value: &toml::Value) -> String {
    match value {
        toml::Value::String(text) => text.clone(),
        toml::Value::Array(items) => {
            format!("[{}]", items.iter().map(plain).collect::<Vec<String>>().join(", "))
        }
        toml::Value::Table(table) => {
            let fields = table.iter().map(|(name, value)| format!("{name}: {}", plain(value)));
            fields.collect::<Vec<String>>().join(", ")
        }
        other => other.to_string(),
    }
}

/// Text as it may stand in HTML. Markdown is not read within it, as no blank line is.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};
    use std::io::Read;

    use serde_json::Value as Json;

    use super::*;

    /// The sections that were read, and what was found in each.
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Sections {
        section: Vec<Section>,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Section {
        chapter: String,
        title: String,
        claims: Vec<String>,
    }

    fn claims() -> Claims {
        read(&crate::root()).unwrap()
    }

    /// Every text that a pattern with `{a,b}` stands for, the first brace changing slowest.
    fn choices(pattern: &str) -> Vec<String> {
        let Some((before, rest)) = pattern.split_once('{') else { return vec![pattern.to_owned()] };
        let (list, after) = rest.split_once('}').expect("a closed brace");
        list.split(',').flat_map(|choice| choices(&format!("{before}{choice}{after}"))).collect()
    }

    /// What stands at a source, `file#pointer`. The file may be packed.
    fn recorded(source: &str) -> Json {
        let (file, pointer) = source.split_once('#').unwrap_or_else(|| panic!("{source} has no pointer"));
        let bytes = std::fs::read(crate::root().join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let mut text = String::new();
        match file.ends_with(".gz") {
            true => flate2::read::GzDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap(),
            false => bytes.as_slice().read_to_string(&mut text).unwrap(),
        };
        let json: Json = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"));
        json.pointer(pointer).unwrap_or_else(|| panic!("{source} points at nothing")).clone()
    }

    #[test]
    fn every_claim_shows_what_was_recorded_from_apache_kafka() {
        for claim in claims().claims {
            let found: Vec<Json> = choices(&claim.oracle).iter().map(|source| recorded(source)).collect();
            let shown = serde_json::to_value(&claim.recorded).unwrap();
            assert_eq!(shown, Json::from(found), "{}", claim.id);
        }
    }

    #[test]
    fn every_experiment_of_a_claim_exists_and_a_claim_without_one_says_so_by_none() {
        let experiments = steplog::native::experiment::all().unwrap();
        let names: BTreeSet<&str> = experiments.iter().map(|experiment| experiment.name.as_str()).collect();
        for claim in claims().claims {
            for name in &claim.experiments {
                assert!(names.contains(name.as_str()), "{}: there is no experiment {name}", claim.id);
            }
        }
    }

    #[test]
    fn the_list_holds_every_wrong_claim_of_every_section_that_was_read_and_no_other() {
        let text = std::fs::read_to_string(crate::root().join("tests/fixtures/chapters/sections.toml")).unwrap();
        let sections: Sections = toml::from_str(&text).unwrap();
        let claims = claims();
        let mut listed: BTreeMap<(&str, &str), Vec<&str>> = BTreeMap::new();
        for section in &sections.section {
            let place = (section.chapter.as_str(), section.title.as_str());
            assert!(listed.insert(place, Vec::new()).is_none(), "{place:?} stands twice");
        }
        for claim in &claims.claims {
            let place = (claim.chapter.as_str(), claim.section.as_str());
            let list = listed.get_mut(&place).unwrap_or_else(|| panic!("{}: {place:?} was not read", claim.id));
            if claim.verdict != Verdict::Holds {
                list.push(&claim.id);
            }
        }
        for section in &sections.section {
            let place = (section.chapter.as_str(), section.title.as_str());
            assert_eq!(listed[&place], section.claims, "{place:?}");
        }
        let ids: BTreeSet<&str> = claims.claims.iter().map(|claim| claim.id.as_str()).collect();
        assert_eq!(ids.len(), claims.claims.len(), "an id stands twice");
    }

    #[test]
    fn every_claim_is_told_in_both_languages() {
        for claim in claims().claims {
            for text in [&claim.said, &claim.does] {
                let is_chinese = |text: &str| text.chars().any(|c| ('\u{4e00}'..='\u{9fff}').contains(&c));
                assert!(!text.en.is_empty() && !is_chinese(&text.en), "{}: {}", claim.id, text.en);
                assert!(is_chinese(&text.zh), "{}: {}", claim.id, text.zh);
            }
        }
    }

    #[test]
    fn the_page_has_a_place_for_each_claim_and_each_of_its_experiments() {
        let claims = claims();
        for language in crate::book::LANGUAGES {
            let page = claims.markdown(language).unwrap();
            for claim in &claims.claims {
                assert!(page.contains(&format!("id=\"{}\"", claim.id)), "{language}: {}", claim.id);
                assert!(page.contains(&escape(in_language(&claim.does, language))), "{language}: {}", claim.id);
                for name in &claim.experiments {
                    assert!(page.contains(&format!("data-experiment=\"{name}\"")), "{language}: {name}");
                }
            }
        }
    }
}
