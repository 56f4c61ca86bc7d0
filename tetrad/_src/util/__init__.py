"""The bottom layer: pytrees, dtypes, settings, caches, exceptions.

Nothing here imports another part of tetrad.  `treekeys`, `treedef`, `treeflatten` and
`tree` (read in this order) are the pytrees; `dtypes` the element types and their
promotion; `config` the settings; `memo` the caches; `errors` the exceptions.
"""
