//! A web-like graph: pages in the order of their addresses, so that pages of a site are neighbors, link mostly to pages
//! nearby and sometimes to popular pages anywhere.
//!
//! Distances within a site are spread evenly over their orders of magnitude, as Boldi and Vigna found those of the web to
//! be nearly ("The WebGraph Framework I", WWW 2004, section 3: gaps follow a power law with an exponent little above 1).
//! Links are drawn one by one. What real pages have beyond that, lists copied from a page nearby, is left out: it
//! would let reference coding shine, which Evergraph does not have.
//!
//! Invariant: size and seed alone decide the links; no page links to itself.

use rayon::prelude::*;

use super::shuffled::mix_bits;

/// Links within a site, of a hundred.
const LOCAL_PERCENT: u64 = 85;
/// The farthest link within a site, in pages.
const SITE_PAGES: f64 = 1024.0;

/// So many links from each of 2^`scale` pages; some occur twice.
pub(super) fn web_links(scale: u32, links_per_page: u64, seed: u64) -> Vec<(u32, u32)> {
    let pages = 1u64 << scale;
    let link = |number: u64| {
        let page = number / links_per_page;
        let random = |part: u64| mix_bits(number.wrapping_mul(4).wrapping_add(part) ^ mix_bits(seed));
        let share = |part: u64| (random(part) >> 11) as f64 / (1u64 << 53) as f64;
        let target = if random(0) % 100 < LOCAL_PERCENT {
            let distance = SITE_PAGES.powf(share(1)) as u64;
            let ahead = random(2) & 1 == 0;
            if ahead { page + distance } else { page + pages - distance % pages }
        } else {
            // Of a few pages everybody knows, and of many that hardly anybody does.
            mix_bits((pages as f64 * share(1).powi(4)) as u64)
        };
        (page as u32, (target % pages) as u32)
    };
    let links = (0..pages * links_per_page).into_par_iter().map(link);
    links.filter(|(page, target)| page != target).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_mostly_near() {
        let links = web_links(12, 8, 1);
        assert_eq!(links, web_links(12, 8, 1));
        let near =
            |&&(page, target): &&(u32, u32)| page.abs_diff(target).min(4096 - page.abs_diff(target)) <= 1024;
        let share = links.iter().filter(near).count() as f64 / links.len() as f64;
        assert!((0.85..0.95).contains(&share), "{share}");
    }
}
