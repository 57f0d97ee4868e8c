"""What a record says about the machine and the versions that were measured."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

PACKAGES = ("lazysketch", "numpy", "pyarrow", "polars", "datasketches", "opendp")


def description() -> dict[str, Any]:
    """Processor, memory, system, versions, and how busy the machine was."""
    facts: dict[str, Any] = {
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "architecture": platform.machine(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": sys.version.split()[0],
        "load at start": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "rustc": version_of_rust(),
    }
    for package in PACKAGES:
        try:
            facts[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            facts[package] = "missing: not measured"
    return facts


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    fields = {key.strip(): value for key, _, value in (line.partition(":") for line in lines)}
    name, flags = fields.get("model name", "").strip(), fields.get("flags", "")
    wide = [flag for flag in ("avx2", "avx512f", "vaes") if f" {flag} " in f"{flags} "]
    return f"{name} ({', '.join(wide)})" if wide else name


def version_of_rust() -> str:
    try:
        return subprocess.check_output(["rustc", "--version"], text=True).strip()
    except OSError:
        return "unknown"
