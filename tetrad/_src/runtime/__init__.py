"""Devices, ledgers, arrays, and the recorder that submits their work."""
