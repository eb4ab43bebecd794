"""A preprocessor of mdBook: a link that leaves the book becomes the path that it names.

On GitHub `[BENCHMARKS.md](../BENCHMARKS.md)` leads to the file. In the book there is no such page,
so the reader gets the path below the repository's root instead of a dead link. ARCHITECTURE.md and
BENCHMARKS.md are chapters of the book: links to them lead there.
"""

import json
import posixpath
import re
import sys

LINK = re.compile(r"\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?\)")
CHAPTERS = {"ARCHITECTURE.md": "project/architecture.md", "BENCHMARKS.md": "project/benchmarks.md"}


def rewritten(text: str, folder: str) -> str:
    """The text of a page whose links are relative to `folder`, a path below the repository."""

    def link(match: re.Match) -> str:
        words, target, anchor = match.group(1), match.group(2), match.group(3) or ""
        if "://" in target:
            return match.group(0)
        path = posixpath.normpath(posixpath.join(folder, target))
        page = "docs/" + CHAPTERS[path] if path in CHAPTERS else path
        if not page.startswith("docs/") or not page.endswith((".md", ".svg")):
            return f"{words} (`{path}`)" if words != path else f"`{path}`"
        # mdBook makes `index.html` of a README.
        page = re.sub(r"README\.md$", "index.md", page)
        here = HERE if folder == "." else folder
        return f"[{words}]({posixpath.relpath(page, here)}{anchor})"

    if folder == ".":
        text = re.sub(r'\b(src|srcset)="docs/', r'\1="../', text)
    return LINK.sub(link, text)


# Chapters of files of the repository's root: their links begin there, their pages stand here.
HERE = "docs/project"


def visit(items: list) -> None:
    for item in items:
        chapter = item.get("Chapter") if isinstance(item, dict) else None
        if chapter is None:
            continue
        path = chapter.get("path") or ""
        is_root = path in CHAPTERS.values()
        folder = "." if is_root else posixpath.dirname("docs/" + path)
        chapter["content"] = rewritten(chapter["content"], folder)
        visit(chapter["sub_items"])


def main() -> None:
    if sys.argv[1:2] == ["supports"]:
        return
    _context, book = json.load(sys.stdin)
    visit(book.get("items") or book.get("sections") or [])
    json.dump(book, sys.stdout)


if __name__ == "__main__":
    main()
