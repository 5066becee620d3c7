//! The `evergraph` program without Python: the library's one function, and the allocator.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() {
    evergraph_cli::prepare_allocator();
    evergraph::use_allocator(evergraph_cli::ALLOCATOR);
    std::process::exit(evergraph_cli::run(std::env::args_os().collect()));
}
