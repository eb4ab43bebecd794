"""The stubs say what is there, and everything has words of its own."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

import taut
from taut import _taut


def test_the_stubs_name_what_the_module_has() -> None:
    tree = ast.parse((Path(_taut.__file__).parent / "_taut.pyi").read_text())
    defined = {it.name: it for it in tree.body if isinstance(it, ast.ClassDef | ast.FunctionDef)}
    public = {name for name in dir(_taut) if not name.startswith("_")}
    assert set(defined) == public
    for name, node in defined.items():
        if isinstance(node, ast.ClassDef) and not issubclass(getattr(_taut, name), Exception):
            stubs = {it.name for it in node.body if isinstance(it, ast.FunctionDef)} - {"__new__"}
            own = {it for it in vars(getattr(_taut, name)) if not it.startswith("_")}
            assert stubs == own, name


def test_everything_public_is_explained() -> None:
    for name in taut.__all__:
        thing = getattr(taut, name)
        if inspect.isclass(thing) or inspect.isroutine(thing):
            assert inspect.getdoc(thing), name
    for thing in vars(_taut).values():
        if inspect.isclass(thing) and thing.__module__ == "taut":
            assert inspect.getdoc(thing), thing
            for name, member in vars(thing).items():
                if not name.startswith("_"):
                    assert inspect.getdoc(member), f"{thing}.{name}"
