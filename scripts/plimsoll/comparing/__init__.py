"""Two sets of results of the same studies: read, looked at whether they can be compared, and compared."""
