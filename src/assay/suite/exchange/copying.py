"""Copy one file, unpacked if it is gzip-ed, with its sha256 and a limit; and pack one."""

from __future__ import annotations

import gzip
import hashlib
import shutil
import zlib
from collections.abc import Iterator
from pathlib import Path

from assay.errors import BadInput
from assay.question.model_file import LARGEST_FILE, read_model, weights_beside

_CHUNK = 1 << 20
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


def copy(source: Path, target: Path, limit: int) -> tuple[str, int]:
    """Write the content of `source` to `target`; return its sha256 and its size in bytes."""
    digest = hashlib.sha256()
    size = 0
    with target.open("wb") as stream:
        for chunk in _chunks(source):
            if not size and chunk.startswith(_LFS_POINTER):
                raise BadInput(
                    f"{source}: is only a pointer of Git LFS; get the file with `git lfs pull`"
                )
            size += len(chunk)
            if size > limit:
                raise BadInput(
                    f"{source}: holds more than {limit} bytes; Assay takes no larger file"
                )
            digest.update(chunk)
            stream.write(chunk)
    return digest.hexdigest(), size


def copy_network(source: Path, target: Path) -> tuple[str, int]:
    """The same for an ONNX file: weights that lie beside it go into the copy, a single file."""
    digest, size = copy(source, target, LARGEST_FILE)
    if not weights_beside(source):
        return digest, size
    whole = read_model(source)
    target.write_bytes(whole.data)
    return whole.sha256, len(whole.data)


def packed_name(path: Path) -> Path:
    return path.with_name(path.name + ".gz")


def pack(path: Path) -> None:
    """Gzip a file in its place: the same bytes every time, so no clock and no name inside."""
    with (
        path.open("rb") as plain,
        packed_name(path).open("wb") as raw,
        gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream,
    ):
        shutil.copyfileobj(plain, stream, _CHUNK)
    path.unlink()


def _chunks(source: Path) -> Iterator[bytes]:
    """The content in pieces; what goes wrong is the fault of `source`, not of the target."""
    try:
        with gzip.open(source) if source.suffix == ".gz" else source.open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise BadInput(f"{source}: broken gzip ({error}); get the file again") from None
    except OSError as error:
        raise BadInput(f"{source}: cannot be read ({error.strerror}); check the file") from None
