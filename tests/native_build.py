"""Builds of the native module that no wheel has: with a cargo feature for tests."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def package_with(feature: str) -> Path:
    """Return the folder that a build with this feature goes to, for ``PYTHONPATH``.

    Args:
        feature: a feature of the binding: ``"planted"`` or ``"faults"``.

    Returns:
        The folder, which :func:`build` makes.
    """
    return ROOT / "build" / feature


def build(feature: str) -> Path:
    """Compile the native module with a feature, and put it next to a copy of the package.

    Args:
        feature: a feature of the binding: ``"planted"`` or ``"faults"``.

    Returns:
        The folder for ``PYTHONPATH``.

    Raises:
        CalledProcessError: the build failed.
    """
    target = ROOT / "target" / feature
    subprocess.run(
        [
            *("cargo", "build", "--release", "--locked", "--quiet", "--features", feature),
            *("--package", "lazysketch-binding", "--target-dir", str(target)),
        ],
        cwd=ROOT,
        check=True,
        env=os.environ | {"PYO3_PYTHON": sys.executable},
    )
    folder = package_with(feature)
    shutil.rmtree(folder, ignore_errors=True)
    package = shutil.copytree(ROOT / "python" / "lazysketch", folder / "lazysketch")
    shutil.copy(target / "release" / "lib_native.so", package / "_native.abi3.so")
    return folder
