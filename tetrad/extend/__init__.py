"""What libraries that are built on this one need."""

from tetrad.extend import core as core
