"""What nested containers need beside engines."""
