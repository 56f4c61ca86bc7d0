"""Images at another size: `tetrad.image`."""

from tetrad._src.image.scale import ResizeMethod as ResizeMethod
from tetrad._src.image.scale import resize as resize
from tetrad._src.image.scale import scale_and_translate as scale_and_translate

from tetrad._src.util.frames import hide_all as _hide_all

_hide_all(globals())
