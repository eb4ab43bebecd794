"""Makes a wheel of the module as cargo has built it: nothing is compiled, and nothing fetched.

    cargo build --release --locked --lib
    python3 python/wheel.py target/release/lib_taut.so target/python

It is the wheel that maturin makes of pyproject.toml, by which others build it, without a second
build of everything below it: maturin asks cargo for this one package, whose dependencies have
other features than those of the whole workspace.
"""

from __future__ import annotations

import base64
import hashlib
import sys
import sysconfig
import tomllib
import zipfile
from pathlib import Path

HERE = Path(__file__).parent
TAG = "cp311-abi3"


def main(module: Path, folder: Path) -> None:
    project = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]
    cargo = tomllib.loads((HERE.parent / "Cargo.toml").read_text())
    name, version = project["name"], cargo["workspace"]["package"]["version"]
    tag = f"{TAG}-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    info = f"{name}-{version}.dist-info"
    package = HERE / "package"
    sources = (it for it in package.rglob("*") if it.suffix in {".py", ".pyi", ".typed"})
    files = {str(it.relative_to(package)): it.read_bytes() for it in sorted(sources)}
    # A marker of the package has no name before its ending.
    files[f"{name}/py.typed"] = (package / name / "py.typed").read_bytes()
    files[f"{name}/_taut.abi3.so"] = module.read_bytes()
    files[f"{info}/METADATA"] = metadata(project, version).encode()
    wheel = f"Wheel-Version: 1.0\nGenerator: taut\nRoot-Is-Purelib: false\nTag: {tag}\n"
    files[f"{info}/WHEEL"] = wheel.encode()
    files[f"{info}/RECORD"] = record(files, f"{info}/RECORD").encode()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-{version}-{tag}.whl"
    part = path.with_suffix(".part")
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for place, content in files.items():
            entry = zipfile.ZipInfo(place)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o100644 << 16
            archive.writestr(entry, content)
    part.replace(path)
    print(path)


def metadata(project: dict, version: str) -> str:
    lines = ["Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version}"]
    lines += [f"Summary: {project['description']}", f"License-Expression: {project['license']}"]
    lines += [f"Requires-Python: {project['requires-python']}"]
    lines += [f"Requires-Dist: {it}" for it in project["dependencies"]]
    for extra, needs in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}"]
        lines += [f"Requires-Dist: {it} ; extra == '{extra}'" for it in needs]
    lines += ["Description-Content-Type: text/markdown", "", (HERE / "README.md").read_text()]
    return "\n".join(lines)


def record(files: dict[str, bytes], own: str) -> str:
    lines = []
    for place, content in files.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        lines.append(f"{place},sha256={digest},{len(content)}")
    return "\n".join([*lines, f"{own},,"]) + "\n"


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: wheel.py MODULE FOLDER; MODULE is target/release/lib_taut.so")
    main(Path(sys.argv[1]), Path(sys.argv[2]))
