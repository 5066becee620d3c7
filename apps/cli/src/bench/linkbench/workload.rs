//! What is asked of the stores: the graph, and a stream of requests like that of a social network.
//!
//! Source: T. Armstrong, V. Ponnekanti, D. Borthakur, M. Callaghan: LinkBench: a Database Benchmark Based on the
//! Facebook Social Graph. SIGMOD 2013: the shares of requests in table 4, Zipf distributed access in section 4.4 with
//! the shapes of the published default configuration. The shares of TAO: N. Bronson et al.: TAO: Facebook's Distributed
//! Data Store for the Social Graph. USENIX ATC 2013, table 1 and section 7.
//!
//! Invariants: everything follows from the seed; a request never depends on what a store answered.

use std::ops::Range;

use evergraph_rivals::{Link, Node};

/// Kinds of links.
pub(super) const KINDS: u8 = 2;
/// How many links a list request wants at the most.
pub(super) const LIST_LIMIT: usize = 50;
/// Degrees fall with this power of the rank.
const DEGREE_EXPONENT: f64 = 0.7;
/// Largest number of links looked up in one request, and the chance to stop after each.
const MULTIGET: (u32, f64) = (128, 0.382);
/// Time of the first link, in microseconds since 1970.
const EPOCH: i64 = 1_600_000_000_000_000;

/// A seeded stream of numbers.
#[derive(Clone, Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Random(seed)
    }

    /// S. Vigna's splitmix64.
    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Evenly from 0 to 1.
    fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(bound)) >> 64) as u64
    }
}

fn mix(mut word: u64) -> u64 {
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// Ranks from 0 on, rank `r` in proportion to `(r + 1)^-shape`.
///
/// J. Gray et al.: Quickly Generating Billion-Record Synthetic Databases. SIGMOD 1994, section 3.2.
#[derive(Clone, Copy, Debug)]
struct Zipf {
    count: u64,
    zeta: f64,
    eta: f64,
    shape: f64,
}

impl Zipf {
    fn new(count: u64, shape: f64) -> Self {
        let zeta = |count: u64| (1..=count).map(|rank| (rank as f64).powf(-shape)).sum::<f64>();
        let whole = zeta(count);
        let eta = (1.0 - (2.0 / count as f64).powf(1.0 - shape)) / (1.0 - zeta(2) / whole);
        Zipf { count, zeta: whole, eta, shape }
    }

    fn rank(&self, random: &mut Random) -> u64 {
        let unit = random.unit();
        let scaled = unit * self.zeta;
        if scaled < 1.0 {
            return 0;
        }
        if scaled < 1.0 + 0.5_f64.powf(self.shape) {
            return 1;
        }
        let rank = self.count as f64 * (self.eta * unit - self.eta + 1.0).powf(1.0 / (1.0 - self.shape));
        (rank as u64).min(self.count - 1)
    }
}

/// The graph: which links there are at first.
#[derive(Clone, Copy, Debug)]
pub(super) struct Graph {
    pub(super) nodes: u64,
    /// The degree of the node of rank 0, both kinds together.
    top_degree: f64,
}

impl Graph {
    pub(super) fn new(nodes: u64, links: u64) -> Self {
        let powers: f64 = (1..=nodes).map(|rank| (rank as f64).powf(-DEGREE_EXPONENT)).sum();
        Graph { nodes, top_degree: links as f64 / powers }
    }

    /// The node at a place of an order that has nothing to do with ids; orders differ by `salt`.
    fn shuffled(&self, rank: u64, salt: u64) -> u64 {
        // A Feistel network over the next even power of two, walked until it falls into the range.
        let bits = self.nodes.next_power_of_two().trailing_zeros().max(2).div_ceil(2);
        let mask = (1 << bits) - 1;
        let mut word = rank;
        loop {
            let (mut left, mut right) = (word >> bits, word & mask);
            for round in 0..4 {
                (left, right) = (right, left ^ mix(right ^ salt << 8 ^ round << 56) & mask);
            }
            word = left << bits | right;
            if word < self.nodes {
                return word;
            }
        }
    }

    /// How many links of a kind leave the node of this rank at first.
    fn degree(&self, rank: u64, kind: u8) -> u64 {
        let all = (self.top_degree * ((rank + 1) as f64).powf(-DEGREE_EXPONENT)).round() as u64;
        (all + u64::from(kind == 0)) / u64::from(KINDS)
    }

    /// Where the link in this place leads. Two places may have one destination.
    fn destination(&self, src: u64, kind: u8, place: u64) -> u64 {
        mix(src << 24 ^ u64::from(kind) << 60 ^ place) % self.nodes
    }

    /// All nodes, by id.
    pub(super) fn all_nodes(self) -> impl Iterator<Item = (u64, Node)> {
        (0..self.nodes).map(|id| (id, node(&mut Random::new(id), EPOCH)))
    }

    /// All links, by source, kind and destination.
    pub(super) fn all_links(self) -> impl Iterator<Item = (u64, u8, Link)> {
        let mut ranks = vec![0_u32; self.nodes as usize];
        (0..self.nodes).for_each(|rank| ranks[self.shuffled(rank, 0) as usize] = rank as u32);
        (0..).zip(ranks).flat_map(move |(src, rank)| {
            (0..KINDS).flat_map(move |kind| {
                let places = 0..self.degree(rank.into(), kind);
                let mut links: Vec<_> = places
                    .map(|place| {
                        let mut random = Random::new(mix(src) ^ place);
                        link(&mut random, self.destination(src, kind, place), EPOCH + place as i64)
                    })
                    .collect();
                links.sort_by_key(|link| (link.dst, -link.time));
                links.dedup_by_key(|link| link.dst);
                links.into_iter().map(move |link| (src, kind, link))
            })
        })
    }
}

fn text(random: &mut Random, len: usize) -> String {
    let mut text = String::with_capacity(len + 8);
    while text.len() < len {
        let word = random.next();
        text.extend((0..8).map(|byte| char::from(b' ' + (word >> (8 * byte) & 63) as u8)));
    }
    text.truncate(len);
    text
}

fn node(random: &mut Random, time: i64) -> Node {
    let len = 96 + random.below(65) as usize;
    Node { time, version: 1, data: text(random, len) }
}

fn link(random: &mut Random, dst: u64, time: i64) -> Link {
    let len = 4 + random.below(9) as usize;
    Link { dst, time, version: 1, visible: true, data: text(random, len) }
}

/// What a client asks for.
#[derive(Clone, Debug)]
pub(super) enum Request {
    GetNode(u64),
    AddNode(u64, Node),
    UpdateNode(u64, Node),
    DeleteNode(u64),
    GetLinks(u64, u8, Vec<u64>),
    ListLinks(u64, u8),
    CountLinks(u64, u8),
    AddLink(u64, u8, Link),
    UpdateLink(u64, u8, Link),
    DeleteLink(u64, u8, u64),
    /// Where the links of a node lead, and where those of these nodes lead if there are two steps.
    Hops(u64, u8, usize),
}

impl Request {
    pub(super) fn writes(&self) -> bool {
        use Request::*;
        !matches!(self, GetNode(_) | GetLinks(..) | ListLinks(..) | CountLinks(..) | Hops(..))
    }

    /// The link that is put, if it is one, and where.
    pub(super) fn into_link(self) -> Option<(u64, u8, Link)> {
        match self {
            Request::AddLink(src, kind, link) | Request::UpdateLink(src, kind, link) => {
                Some((src, kind, link))
            }
            _ => None,
        }
    }
}

/// The shares of requests, in the order of [`Request`].
#[derive(Clone, Copy, Debug)]
pub(super) struct Mix {
    pub(super) name: &'static str,
    shares: [f64; 10],
    /// Instead of them all: how many steps are asked for.
    hops: Option<usize>,
}

impl Mix {
    const fn new(name: &'static str, shares: [f64; 10]) -> Self {
        Mix { name, shares, hops: None }
    }
}

/// LinkBench's default: 69% read.
pub(super) const DEFAULT: Mix =
    Mix::new("LinkBench default, 69% reads", [12.93, 2.57, 7.37, 1.01, 0.53, 50.71, 4.89, 8.99, 8.01, 2.99]);

/// TAO's: 99.8% read.
pub(super) const TAO: Mix =
    Mix::new("TAO, 99.8% reads", [28.84, 0.033, 0.0414, 0.004, 15.67, 43.61, 11.68, 0.105, 0.0018, 0.0166]);

/// Nothing but links put.
pub(super) const WRITES: Mix = Mix::new("links put", [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

/// Nothing but lists.
pub(super) const LISTS: Mix =
    Mix::new("newest 50 links of a node", [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]);

/// Where the links of a node lead, without their properties.
pub(super) const ONE_HOP: Mix = Mix { name: "1 hop", shares: LISTS.shares, hops: Some(1) };

/// And from there.
pub(super) const TWO_HOPS: Mix = Mix { name: "2 hops", shares: LISTS.shares, hops: Some(2) };

/// How often which node is asked for.
#[derive(Clone, Copy, Debug)]
struct Access {
    zipf: Zipf,
    /// How often it has nothing to do with the node's degree.
    unrelated: f64,
    salt: u64,
}

impl Access {
    fn node(&self, graph: &Graph, random: &mut Random) -> (u64, Option<u64>) {
        let rank = self.zipf.rank(random);
        if random.unit() < self.unrelated {
            (graph.shuffled(rank, self.salt), None)
        } else {
            (graph.shuffled(rank, 0), Some(rank))
        }
    }
}

/// The requests of all clients.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    graph: Graph,
    read: Access,
    write: Access,
    node_read: Access,
    node_update: Access,
}

impl Workload {
    pub(super) fn new(graph: Graph) -> Self {
        let access = |shape, unrelated, salt| Access { zipf: Zipf::new(graph.nodes, shape), unrelated, salt };
        Workload {
            graph,
            read: access(0.8, 0.995, 1),
            write: access(0.741, 0.95, 2),
            node_read: access(0.625, 1.0, 3),
            node_update: access(0.606, 1.0, 4),
        }
    }

    /// The requests of one client; clients share `new_ids` out among them.
    pub(super) fn client(&self, mix: Mix, seed: u64, new_ids: Range<u64>) -> Client {
        let total: f64 = mix.shares.iter().sum();
        let mut sum = 0.0;
        let bounds = mix.shares.map(|share| {
            sum += share / total;
            sum
        });
        let (random, time) = (Random::new(seed), EPOCH + (1 << 40));
        Client { workload: *self, bounds, hops: mix.hops, random, new_ids, time }
    }
}

/// Makes the requests of one client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    workload: Workload,
    bounds: [f64; 10],
    hops: Option<usize>,
    random: Random,
    new_ids: Range<u64>,
    time: i64,
}

impl Client {
    pub(super) fn next(&mut self) -> Request {
        let Workload { graph, read, write, node_read, node_update } = self.workload;
        let random = &mut self.random;
        self.time += 1;
        let unit = random.unit();
        let which = self.bounds.iter().position(|bound| unit < *bound).unwrap_or(0);
        let kind = (random.next() & 1) as u8;
        match which {
            0 => Request::GetNode(node_read.node(&graph, random).0),
            1 => match self.new_ids.next() {
                Some(id) => Request::AddNode(id, node(random, self.time)),
                None => Request::UpdateNode(node_update.node(&graph, random).0, node(random, self.time)),
            },
            2 => Request::UpdateNode(node_update.node(&graph, random).0, node(random, self.time)),
            3 => Request::DeleteNode(random.below(graph.nodes)),
            4 => {
                let (src, _) = read.node(&graph, random);
                let mut wanted = vec![self.known_destination(src, kind)];
                while wanted.len() < MULTIGET.0 as usize && self.random.unit() > MULTIGET.1 {
                    wanted.push(self.known_destination(src, kind));
                }
                Request::GetLinks(src, kind, wanted)
            }
            5 => match (read.node(&graph, random).0, self.hops) {
                (src, Some(hops)) => Request::Hops(src, kind, hops),
                (src, None) => Request::ListLinks(src, kind),
            },
            6 => Request::CountLinks(read.node(&graph, random).0, kind),
            7 => {
                let (src, _) = write.node(&graph, random);
                let dst = random.below(graph.nodes);
                Request::AddLink(src, kind, link(random, dst, self.time))
            }
            8 => {
                let (src, _) = write.node(&graph, random);
                let dst = self.known_destination(src, kind);
                Request::UpdateLink(src, kind, link(&mut self.random, dst, self.time))
            }
            _ => {
                let (src, _) = write.node(&graph, random);
                Request::DeleteLink(src, kind, self.known_destination(src, kind))
            }
        }
    }

    /// The end of one of the first links of a node.
    fn known_destination(&mut self, src: u64, kind: u8) -> u64 {
        let place = self.random.below(4);
        self.workload.graph.destination(src, kind, place)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_graph_is_of_the_size_asked_for_and_sorted() {
        let links: Vec<_> = Graph::new(10_000, 50_000).all_links().collect();
        assert!((48_000..=51_000).contains(&links.len()), "{} links", links.len());
        assert!(links.is_sorted_by_key(|(src, kind, link)| (*src, *kind, link.dst)));
    }

    #[test]
    fn an_order_names_every_node_once() {
        let graph = Graph::new(1000, 5000);
        let nodes: HashSet<u64> = (0..1000).map(|rank| graph.shuffled(rank, 7)).collect();
        assert_eq!(nodes.len(), 1000);
    }

    #[test]
    fn ranks_are_asked_for_by_their_power() {
        let (zipf, mut random) = (Zipf::new(1000, 0.8), Random::new(1));
        let mut counts = [0_u32; 1000];
        (0..200_000).for_each(|_| counts[zipf.rank(&mut random) as usize] += 1);
        let expected = |rank: usize| 200_000.0 / zipf.zeta * ((rank + 1) as f64).powf(-0.8);
        for rank in [0, 1] {
            let found = f64::from(counts[rank]) / expected(rank);
            assert!((0.9..1.1).contains(&found), "rank {rank}: {found}");
        }
        let tail: u32 = counts[500..].iter().sum();
        let expected: f64 = (500..1000).map(expected).sum();
        assert!((0.9..1.1).contains(&(f64::from(tail) / expected)));
    }

    #[test]
    fn the_mix_has_its_shares() {
        let workload = Workload::new(Graph::new(1000, 5000));
        let mut client = workload.client(DEFAULT, 1, 1000..2000);
        let writes = (0..20_000).filter(|_| client.next().writes()).count();
        assert!((5_900..6_500).contains(&writes), "{writes} writes");
    }
}
