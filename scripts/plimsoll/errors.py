"""What goes wrong in ways that a user can mend."""


class PlimsollError(Exception):
    """A problem that the user can mend; the text is one sentence that names the file, key or command and what to do."""


class Unavailable(PlimsollError):
    """Something this host cannot do; the text is the reason."""
