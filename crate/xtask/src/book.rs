//! Renders the book, one mdBook per language, into `book/out/<language>`. Two of its pages are made of data: the claims
//! of chapters, and the list of experiments with a page for each.

use std::fmt::Write;
use std::path::Path;

use mdbook_driver::MDBook;
use mdbook_driver::book::{BookItem, Chapter, SectionNumber};
use steplog::experiment::{Experiment, Place, Text};

use crate::{Result, claims};

pub const LANGUAGES: [&str; 2] = ["en", "zh"];

/// Where the list's page leaves room for the experiments.
const LIST: &str = "<!-- experiments -->";

pub fn build(root: &Path) -> Result {
    let claims = claims::read(root)?;
    let experiments = steplog::native::experiment::all()?;
    for language in LANGUAGES {
        let source = root.join("book").join(language);
        let mut book = MDBook::load(&source).map_err(|error| format!("{}: {error:#}", source.display()))?;
        book.config.build.build_dir = root.join("book/out").join(language);
        let claims = claims.markdown(language)?;
        let mut places = 0;
        book.book.for_each_chapter_mut(|chapter| {
            places += usize::from(chapter.content.contains(claims::PLACE));
            chapter.content = chapter.content.replace(claims::PLACE, &claims);
            if chapter.content.contains(LIST) {
                places += 1;
                chapter.content = chapter.content.replace(LIST, &list(&experiments, language));
                chapter.sub_items = pages(&experiments, language, chapter);
            }
        });
        if places != 2 {
            return Err(format!("{}: {places} of 2 places for what is made of data", source.display()).into());
        }
        book.build().map_err(|error| format!("{}: {error:#}", source.display()))?;
    }
    Ok(())
}

pub fn in_language<'a>(text: &'a Text, language: &str) -> &'a str {
    if language == "zh" { &text.zh } else { &text.en }
}

/// Every experiment, with what it shows.
fn list(experiments: &[Experiment], language: &str) -> String {
    experiments.iter().fold(String::new(), |mut list, experiment| {
        let (name, title) = (&experiment.name, in_language(&experiment.title, language));
        let _ = writeln!(list, "- [{title}](experiments/{name}.md)  \n  `{name}`");
        list
    })
}

/// A page for each experiment below the list's, whose number says to mdBook where it belongs.
fn pages(experiments: &[Experiment], language: &str, list: &Chapter) -> Vec<BookItem> {
    let page = |(experiment, number): (&Experiment, u32)| {
        let title = in_language(&experiment.title, language);
        let path = format!("experiments/{}.md", experiment.name);
        let mut page = Chapter::new(title, page(experiment, language), path, vec![list.name.clone()]);
        page.number = list.number.as_deref().map(|above| SectionNumber::new([above.as_slice(), &[number]].concat()));
        BookItem::Chapter(page)
    };
    experiments.iter().zip(1..).map(page).collect()
}

fn page(experiment: &Experiment, language: &str) -> String {
    let name = &experiment.name;
    let (other, label) = if language == "zh" { ("en", "English") } else { ("zh", "中文") };
    let mut page = format!(
        "<p class=\"languages\"><a href=\"../../{other}/experiments/{name}.html\" lang=\"{other}\" \
         hreflang=\"{other}\">{label}</a></p>\n\n# {}\n\n",
        in_language(&experiment.title, language),
    );
    let about = in_language(&experiment.about, language).trim();
    if experiment.places.contains(&Place::Page) {
        // The lab says what it is about; on paper, or without script, the paragraph stands in its place.
        let _ = writeln!(page, "<step-lab experiment=\"{name}\">\n  <p>{about}</p>\n</step-lab>\n");
    } else {
        let _ = writeln!(page, "{about}\n");
    }
    page.push_str("```text\n");
    for (place, option) in [(Place::Run, ""), (Place::Real, " --real"), (Place::Bootstrap, " --bootstrap HOST:PORT")] {
        if experiment.places.contains(&place) {
            let _ = writeln!(page, "steplog run {name}{option}");
        }
    }
    page.push_str("```\n");
    for left in &experiment.left_out {
        let _ = writeln!(page, "\n`{}`: {}", left.place.name(), in_language(&left.reason, language));
    }
    page
}
