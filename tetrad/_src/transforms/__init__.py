"""Interpreters of operations: JVP, batching, linearisation, transposition."""
