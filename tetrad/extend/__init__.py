"""What libraries that are built on this one need."""

from tetrad.extend import backend as backend
from tetrad.extend import core as core
from tetrad.extend import linear_util as linear_util
from tetrad.extend import source_info_util as source_info_util
