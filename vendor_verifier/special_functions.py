"""Distribution functions of ``scipy.special``, without the rest of that package.

The package takes 0.15 to 0.2 s of CPU to load, as much as some hundred requests, nearly all of it for array libraries
other than numpy. The compiled functions in it need none of that.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType

import scipy

_PACKAGE = f"{scipy.__name__}.special"
# A private name: where a release of scipy has none such, the package itself is loaded.
_COMPILED = f"{_PACKAGE}._ufuncs"


def compiled_functions() -> ModuleType:
    """The module of the compiled functions, or the package, which has the same, where it is loaded or alone has them.

    While the module loads, an empty one stands for its package; who imports the package later gets the whole of it.
    """
    spec = None if _PACKAGE in sys.modules else find_spec(_PACKAGE)
    if spec is None:
        return import_module(_PACKAGE)
    sys.modules[_PACKAGE] = module_from_spec(spec)
    try:
        found = import_module(_COMPILED)
    except ImportError:
        found = None
    finally:
        del sys.modules[_PACKAGE]
    return found or import_module(_PACKAGE)


_functions = compiled_functions()
bdtr = _functions.bdtr
bdtrc = _functions.bdtrc
bdtrik = _functions.bdtrik
betaincinv = _functions.betaincinv
chdtri = _functions.chdtri
gammainc = _functions.gammainc
ndtr = _functions.ndtr
ndtri = _functions.ndtri
pdtr = _functions.pdtr
stdtr = _functions.stdtr
stdtrit = _functions.stdtrit
