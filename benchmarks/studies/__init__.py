"""The published studies of the statistical analysers, repeated on real models; see `page`."""
