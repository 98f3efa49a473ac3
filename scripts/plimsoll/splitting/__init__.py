"""Studies that split one application over containers (liu2020): their cells, and how one of them is measured."""
