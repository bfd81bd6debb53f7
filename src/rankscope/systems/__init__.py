"""Systems that rank: retrievers, fusion, and wrappers around them, behind one small interface (see `base`)."""
