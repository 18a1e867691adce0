"""Builds the wheel: version and platform come from the library that is packed (./dev wheel puts it there).

An editable install of a checkout takes the library that QSIM_GOLDEN_LIBRARY names, or that of build/release.
"""
import ctypes
import os
import pathlib
import platform
import re
import subprocess

from setuptools import Distribution, Extension, setup
from wheel.bdist_wheel import bdist_wheel

HERE = pathlib.Path(__file__).resolve().parent
PACKED = HERE / "qsim" / "libqsim_golden.so"
BUILT = HERE.parent / "build" / "release" / "golden" / "c_interface" / "libqsim_golden.so"


def library_file():
    """The packed library, else a built one."""
    given = os.environ.get("QSIM_GOLDEN_LIBRARY")
    for file in (PACKED, *([pathlib.Path(given)] if given else []), BUILT):
        if file.exists():
            return file
    raise SystemExit(f"setup.py: there is no {PACKED.name}; run ./dev build or ./dev wheel first, or set QSIM_GOLDEN_LIBRARY")


LIBRARY = library_file()
# The wheel's build has the headers beside it.
INCLUDE = "include" if (HERE / "include").exists() else "../include"


def version():
    """What the library says of itself."""
    library = ctypes.CDLL(str(LIBRARY))
    library.qsim_version.restype = ctypes.c_char_p
    return library.qsim_version().decode()


def platform_tag():
    """manylinux_2_N: the library needs glibc 2.N, and nothing else (PEP 600)."""
    symbols = subprocess.run(["objdump", "-T", str(LIBRARY)], check=True, capture_output=True, text=True).stdout
    newest = max(int(minor) for minor in re.findall(r"\(?GLIBC_2\.(\d+)", symbols))
    return f"manylinux_2_{newest}_{platform.machine()}"


class PlatformDistribution(Distribution):
    """One that has code of a platform."""

    def has_ext_modules(self):
        return True


class PlatformWheel(bdist_wheel):
    """A wheel for each CPython 3 of one platform.

    The library is no extension module, and the one there is has the stable interface of CPython 3.10. An earlier CPython
    does without it.
    """

    def get_tag(self):
        return "py3", "none", platform_tag()


# Without the folder's name and debugging notes: the same sources give the same bytes.
FAST_CALL = Extension("qsim._fast_call", ["src/fast_call.c"], include_dirs=[INCLUDE], py_limited_api=True,
                      extra_compile_args=["-std=c11", "-g0", "-Wall", "-Wextra"], extra_link_args=["-s"])

setup(version=version(), ext_modules=[FAST_CALL], distclass=PlatformDistribution, cmdclass={"bdist_wheel": PlatformWheel})
