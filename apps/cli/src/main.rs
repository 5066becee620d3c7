//! The `evergraph` program without Python: the library's one function, and the allocator.

use mimalloc::MiMalloc;

#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

fn main() {
    evergraph_cli::prepare_allocator();
    evergraph::give_back_with(evergraph_cli::give_back);
    std::process::exit(evergraph_cli::run(std::env::args_os().collect()));
}
