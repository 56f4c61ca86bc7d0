"""The settings."""

from tetrad import config as config
