"""Networks that nodes are on: objects with a set-up and a sweep."""
