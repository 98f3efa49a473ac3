"""What people are told on the terminal: what there is to make (`listing`), what a command asks for (`requested`), what goes on
(`patience`), and what came out (`closing`)."""
