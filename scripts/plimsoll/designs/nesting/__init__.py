"""Design `nesting`: programs in many instances, creation of containers, and networks between them (amaral2015)."""
