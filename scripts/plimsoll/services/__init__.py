"""Services: containers that stay up in a group of their own, and programs that are started in them."""
