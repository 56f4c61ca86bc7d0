"""One place to look: memory, time, compilations and every stage of a program."""

from tetrad._src.see.compiles import Compile as Compile
from tetrad._src.see.compiles import Compiles as Compiles
from tetrad._src.see.compiles import compiles as compiles
from tetrad._src.see.copies import Copies as Copies
from tetrad._src.see.copies import copies as copies
from tetrad._src.see.device import Places as Places
from tetrad._src.see.device import Whereabouts as Whereabouts
from tetrad._src.see.device import device as device
from tetrad._src.see.doctor import Doctor as Doctor
from tetrad._src.see.doctor import doctor as doctor
from tetrad._src.see.keys import Keys as Keys
from tetrad._src.see.keys import keys_of_block as keys
from tetrad._src.see.memory import Memory as Memory
from tetrad._src.see.memory import memory as memory
from tetrad._src.see.profile import Profile as Profile
from tetrad._src.see.profile import profile as profile
from tetrad._src.see.program import Program as Program
from tetrad._src.see.program import program as program
from tetrad._src.see.transfers import Transfers as Transfers
from tetrad._src.see.transfers import transfers as transfers
