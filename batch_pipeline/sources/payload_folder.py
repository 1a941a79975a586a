"""Payloads of an API as files: one file a list, or a folder of pages, or a file for each owner.

`candidates.json` and `candidates/*.json` are the same list. A page is an array, or an object that
holds one (`{"data": [...]}`, `{"candidates": [...], "paging": {}}`). A list that belongs to one owner
each (a candidate's activity feed) is `<list>/<owner>.json`, or one object of owner -> payload. A large
list should be a folder of pages: one file is one piece of memory.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from batch_pipeline.errors import SourceError
from batch_pipeline.sources import json_text
from batch_pipeline.sources.listing import Listing

Payload = dict[str, Any]
_ENDING = ".json"


class PayloadFolder:
    """Reads lists by name and remembers which files nobody asked for."""

    def __init__(self, listing: Listing) -> None:
        self._files: dict[str, list[tuple[str, Path]]] = {}
        for path, local in listing.files.select("path", "local_path").iter_rows():
            if path.endswith(_ENDING):
                name, _, rest = path.removesuffix(_ENDING).partition("/")
                self._files.setdefault(name, []).append((rest, Path(local)))
        self._by_owner: dict[str, dict[str, Path]] = {}
        self._read: set[str] = set()

    def has(self, name: str) -> bool:
        return name in self._files

    def unread(self) -> list[str]:
        """Lists that no mapping asked for."""
        return sorted(set(self._files) - self._read)

    def rows(self, name: str) -> Iterator[Payload]:
        """Every object of a list, page by page in the order of their names; none where it is not there.

        Raises SourceError for a file that is no JSON of that shape.
        """
        self._read.add(name)
        for place, path in self._files.get(name, []):
            yield from self._objects(_shown(name, place), _decoded(_shown(name, place), path), name)

    def one(self, name: str, owner: str) -> Any:
        """The payload of one owner from its own file, None where there is none."""
        self._read.add(name)
        path = self._owners(name).get(owner)
        return None if path is None else _decoded(_shown(name, owner), path)

    def _owners(self, name: str) -> dict[str, Path]:
        if name not in self._by_owner:
            self._by_owner[name] = dict(self._files.get(name, []))
        return self._by_owner[name]

    def owned(self, name: str) -> Iterator[tuple[str, Any]]:
        """(owner's id, payload) of a list that belongs to one owner each."""
        self._read.add(name)
        for place, path in self._files.get(name, []):
            content = _decoded(_shown(name, place), path)
            if place:
                yield place, content
            elif isinstance(content, dict):
                yield from content.items()
            else:
                raise SourceError(f"{_shown(name, place)}: give an object of owner -> payload")

    def owned_rows(self, name: str, key: str) -> Iterator[tuple[str, Payload]]:
        """(owner's id, object) of every object in such payloads; `key` names the array in each."""
        for owner, content in self.owned(name):
            for row in self._objects(f"{name}/{owner}", content, key):
                yield owner, row

    @staticmethod
    def _objects(shown: str, content: Any, name: str) -> Iterator[Payload]:
        items = content
        if isinstance(content, Mapping):
            items = content.get("data", content.get(name))
            if items is None and "id" in content:
                items = [content]
            elif items is None and all(
                isinstance(one, Mapping) and "data" in one for one in content.values()
            ):
                items = [item for one in content.values() for item in one["data"]]
        if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
            raise SourceError(f"{shown}: holds no array of objects under `data` or `{name}`")
        yield from items


def _shown(name: str, place: str) -> str:
    return f"{name}/{place}{_ENDING}" if place else f"{name}{_ENDING}"


def _decoded(shown: str, path: Path) -> Any:
    content = path.read_bytes()
    try:
        return json_text.decode(content)
    except ValueError as error:
        lines = [line for line in content.splitlines() if line.strip()]
        if len(lines) < 2:
            raise SourceError(f"{shown}: is no JSON ({type(error).__name__})") from None
    try:
        return [json_text.decode(line) for line in lines]  # one object a line, as warehouses write lists
    except ValueError as error:
        raise SourceError(f"{shown}: is no JSON ({type(error).__name__})") from None
