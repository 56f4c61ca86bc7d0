"""tetrad: arrays, recording and transformations for Python."""
