"""A benchmark of programs that check switch configurations: fabrics, one mistake each, with the answers."""
