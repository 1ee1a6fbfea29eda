"""Versions of the program and of the packages that it uses, for a report of a fault."""

from __future__ import annotations

import os
import platform
import re
from importlib import metadata

from nmtalign import __version__

_PACKAGE_NAME = re.compile(r"[\w.-]+")
_EXTRA = re.compile(r"extra == [\"'](\w+)")
_EXTRAS_OF_DEVELOPERS = ("test", "docs", "fuzz")


def show_versions() -> None:
    """Print the versions of nmtalign, Python, the system and all packages that nmtalign may use.

    A report of a fault needs them.

    Examples
    --------
    >>> import nmtalign
    >>> nmtalign.show_versions()  # doctest: +ELLIPSIS
    nmtalign  ...
    python  ...
    """
    versions = {"nmtalign": __version__, "python": platform.python_version()}
    versions["system"] = f"{platform.platform()}, {os.cpu_count()} processors"
    versions |= {name: _version_of(name) for name in _required_packages()}
    width = max(map(len, versions))
    for name, version in versions.items():
        print(f"{name:<{width}}  {version}")


def _required_packages() -> list[str]:
    """Return the names of the packages of the installed metadata: needed ones first, then those of extras."""
    try:
        requirements = metadata.requires("nmtalign") or []
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return []
    names = []
    for requirement in requirements:
        name = _PACKAGE_NAME.match(requirement)
        extra = _EXTRA.search(requirement)
        if name is not None and (extra is None or extra[1] not in _EXTRAS_OF_DEVELOPERS):
            names.append(name[0])
    return list(dict.fromkeys(names))


def _version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"
