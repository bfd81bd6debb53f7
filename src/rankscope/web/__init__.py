"""The page of `rankscope serve`: what the store holds, to be looked at in a browser."""
