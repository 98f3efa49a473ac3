"""Studies of interference between microservices (jha2018, jha2021): their cells, how a pair is measured, and its statistics."""
