"""The other backends: StableHLO text, compiled and run by PJRT plugins."""
