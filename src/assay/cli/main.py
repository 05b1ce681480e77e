"""The command `assay`: its commands, and how errors become one line and an exit code."""

from __future__ import annotations

import os
import sys
from typing import Annotated

import typer

from assay.cli import (
    attack,
    audit,
    build,
    calibrate,
    certify,
    check,
    count,
    explain,
    export,
    families,
    import_benchmark,
    power,
    profile,
    report,
    roma,
    score,
    seal,
    shrink,
    splitting,
    suites,
    train,
    verifier_check,
    verifiers,
    weakened,
)
from assay.cli import run as run_command
from assay.cli.process_signals import (
    READER_GONE_EXIT,
    STOPPED_EXIT,
    OutputFailed,
    ReaderGone,
    discard_output,
    heed_readers,
    stop_on_signals,
    stop_undisturbed,
)
from assay.errors import AssayError, CannotCertify

app = typer.Typer(
    name="assay",
    help="How far can a claim about a neural network's robustness be trusted?\n\n"
    "Questions whose answers are proven, and a judge for the tools that answer them:\n\n"
    "  assay audit marabou\n\n"
    "Or step by step:\n\n"
    "  assay build quick -o bench\n\n  assay check bench\n\n"
    "  assay run bench -v marabou -o run\n\n  assay score run\n\n"
    "  assay report run -o report.html",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(name="audit")(audit.audit)
app.command(name="build")(build.build)
app.command(name="check")(check.check)
app.command(name="certify")(certify.certify)
app.command(name="import")(import_benchmark.import_benchmark)
app.command(name="export")(export.export)
app.command(name="seal")(seal.seal)
app.command(name="unseal")(seal.unseal)
app.command(name="families")(families.families)
app.command(name="suites")(suites.suites)
verifiers.group.command(name="check")(verifier_check.check)
app.add_typer(verifiers.group, name="verifiers")
app.command(name="run")(run_command.run)
app.command(name="score")(score.score)
app.command(name="explain")(explain.explain)
app.command(name="report")(report.report)
app.command(name="profile")(profile.profile)
app.command(name="attack")(attack.attack)
app.command(name="power")(power.power)
app.command(name="shrink")(shrink.shrink)
app.command(name="splitting")(splitting.splitting)
app.command(name="train")(train.train)
app.add_typer(weakened.group, name="weakened")
app.command(name="roma")(roma.roma)
app.command(name="count")(count.count)
app.command(name="calibrate")(calibrate.calibrate)


def _show_version(wanted: bool) -> None:
    if wanted:
        from assay import __version__

        typer.echo(f"assay {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    pass


def run() -> None:
    """Entry point: exit 0 fine, 1 a check or a proof failed, 2 bad input, 3 our fault."""
    heed_readers()
    stop_on_signals()
    try:
        code = _run_command()
        sys.stdout.flush()
    except ReaderGone:
        discard_output()
        code = READER_GONE_EXIT
    except OutputFailed as reason:
        discard_output(1)
        code = _fail(
            f"cannot write to standard output: {reason}; make room, or send it elsewhere and run "
            "the same command again",
            2,
        )
    if code == STOPPED_EXIT:
        stop_undisturbed()
    raise SystemExit(code)


def _run_command() -> int:
    try:
        app()
    except SystemExit as end:
        # Typer takes any broken pipe for a reader of ours that left, and says nothing.
        if isinstance(end.__context__, BrokenPipeError):
            return _internal_error(end.__context__)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except AssayError as error:
        return _fail(str(error), 1 if isinstance(error, CannotCertify) else 2)
    except KeyboardInterrupt:
        return _fail("interrupted", STOPPED_EXIT)
    except Exception as error:
        return _internal_error(error)
    return 0


def _internal_error(error: Exception) -> int:
    if os.environ.get("ASSAY_DEBUG") == "1":
        raise error
    kind = type(error).__name__
    detail = str(error).strip().splitlines()[-1:] or [""]
    return _fail(
        f"internal error ({kind}: {detail[0]}); please report it with the output of the same "
        "command under ASSAY_DEBUG=1",
        3,
    )


def _fail(message: str, code: int) -> int:
    print("assay:", " ".join(message.split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    run()
