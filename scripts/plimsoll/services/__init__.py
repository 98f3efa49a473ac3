"""Services: containers that keep running in a group of their own, and programs that are started in them."""
