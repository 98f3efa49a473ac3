"""Bills of materials: what images hold, package by package, and what Debian has fixed since."""
