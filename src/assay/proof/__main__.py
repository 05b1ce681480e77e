"""`python -m assay.proof ONNX VNNLIB TRUTH` prints one line and exits 0 only when verified.

Before it, a line `c SHA256 PATH` for every file that was read, the truth's arrays among them: the
digests are those of the very bytes that were checked.
"""

from __future__ import annotations

import hashlib
import os
import sys
from pathlib import Path

from assay.proof.arithmetic import Unsupported
from assay.proof.checker import Verdict, check, read_files, shown


def run(arguments: list[str]) -> int:
    """`main`, with a sentence and exit code 2 where its lines cannot be written."""
    try:
        code = main(arguments)
        sys.stdout.flush()
    except OSError as error:
        said = f"assay.proof: cannot write the verdict: {error.strerror}; free the output"
        print(said, file=sys.stderr)
        # what is left in the buffer would be tried again, and fail again, at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 2
    return code


def main(arguments: list[str]) -> int:
    if len(arguments) != 3:
        print("usage: python -m assay.proof ONNX VNNLIB TRUTH", file=sys.stderr)
        return 2
    paths = [Path(argument) for argument in arguments]
    for path in paths:
        if not path.is_file():
            said = f"assay.proof: {shown(path)} is not a file; name an existing one"
            print(said, file=sys.stderr)
            return 2
    try:
        files = read_files(*paths)
    except OSError as error:
        place = shown(Path(error.filename))
        print(f"assay.proof: {place}: {error.strerror}; make it readable", file=sys.stderr)
        return 2
    except Unsupported as reason:
        print(Verdict("unsupported", reason=str(reason)).line())
        return 1
    for path, data in files:
        print(f"c {hashlib.sha256(data).hexdigest()} {shown(path)}")
    verdict = check(*(data for _, data in files))
    print(verdict.line())
    return 0 if verdict.status == "verified" else 1


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
