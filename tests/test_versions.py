"""``na.show_versions()``."""

from __future__ import annotations

from importlib import metadata

import pytest

import nmtalign as na

REQUIREMENTS = [
    "numpy>=1.26.4",
    "gensim<5,>=4.4",
    "pyarrow>=16; extra == 'parquet'",
    "not-a-package-1>=2; extra == 'other'",
    "scipy-stubs; (python_version >= '3.11') and extra == 'test'",
    "pyarrow>=16; extra == 'test'",
]


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    na.show_versions()
    rows = (line.partition("  ") for line in capsys.readouterr().out.splitlines())
    return {name: version.strip() for name, _, version in rows}


def test_packages_that_users_may_have(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(metadata, "requires", lambda name: REQUIREMENTS)
    versions = shown(capsys)
    packages = ["numpy", "gensim", "pyarrow", "not-a-package-1"]
    assert list(versions) == ["nmtalign", "python", "system", *packages]
    assert versions["nmtalign"] == na.__version__
    assert versions["numpy"] == metadata.version("numpy")
    assert versions["not-a-package-1"] == "not installed"


def test_a_checkout_that_is_not_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(name: str) -> list[str]:
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "requires", refuse)
    assert list(shown(capsys)) == ["nmtalign", "python", "system"]
