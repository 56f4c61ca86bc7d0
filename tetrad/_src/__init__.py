"""The private code of tetrad; everything public is re-exported one level up."""
