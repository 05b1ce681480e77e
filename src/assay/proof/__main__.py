"""`python -m assay.proof ONNX VNNLIB TRUTH` prints one line and exits 0 only when verified."""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from assay.proof.checker import check_files


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print("usage: python -m assay.proof ONNX VNNLIB TRUTH", file=sys.stderr)
        return 2
    paths = [Path(argument) for argument in arguments]
    for path in paths:
        if not path.is_file():
            print(f"assay.proof: {path} is not a file; name an existing one", file=sys.stderr)
            return 2
        with path.open("rb") as stream:
            print(f"c {hashlib.file_digest(stream, 'sha256').hexdigest()} {path}")
    verdict = check_files(*paths)
    print(verdict.line())
    return 0 if verdict.status == "verified" else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
