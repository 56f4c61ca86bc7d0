"""Geometry: `tetrad.scipy.spatial`."""

from tetrad.scipy.spatial import transform as transform
