"""Reports: data made ready to be read, and the renderers that print it; renderers never compute."""
