"""`tetrad.ad_checkpoint`: checkpoints, and names for their policies."""

from tetrad._src.api.residuals import print_saved_residuals as print_saved_residuals
from tetrad._src.api.transforms import checkpoint as checkpoint
from tetrad._src.api.transforms import checkpoint_name as checkpoint_name
from tetrad._src.api.transforms import checkpoint_policies as checkpoint_policies
from tetrad._src.api.transforms import remat as remat
from tetrad._src.control.checkpoint import Offloadable as Offloadable
from tetrad._src.control.checkpoint import Recompute as Recompute
from tetrad._src.control.checkpoint import Saveable as Saveable
