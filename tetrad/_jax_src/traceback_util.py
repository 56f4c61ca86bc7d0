"""Frames that tracebacks leave out."""

from types import FrameType

from tetrad._src.util.frames import hide_frames as api_boundary
from tetrad._src.util.frames import is_ours
from tetrad._src.util.frames import register_exclusion as register_exclusion


def include_frame(frame: FrameType) -> bool:
    """Whether a traceback shows the frame."""
    return not is_ours(frame.f_code.co_filename)
