"""What nested containers need besides engines: the folders of their parents' engines."""
