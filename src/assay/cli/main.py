"""The command `assay`: its commands, and how errors become one line and an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Annotated

import typer
from typer._completion_classes import completion_init
from typer._completion_shared import Shells

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
from assay.cli.command_panels import ANSWER, EXPLAIN, JUDGE, MAKE, PanelGroup
from assay.cli.completion import install_script, show_script
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
from assay.optional_packages import missing_import

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
    cls=PanelGroup,
    add_completion=False,  # typer's own asks the system which shell called; ours is told
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
verifiers.group.command(name="check")(verifier_check.check)
_COMMANDS: dict[str, tuple[tuple[str, Callable[..., None] | typer.Typer, str], ...]] = {
    MAKE: (
        ("build", build.build, "Build a benchmark from a suite, every answer proved."),
        ("check", check.check, "Prove every answer again, from the files alone."),
        ("certify", certify.certify, "Prove the exact robustness radius of your network."),
        ("train", train.train, "Train networks that hide a counterexample."),
        ("import", import_benchmark.import_benchmark, "Import a VNN-COMP benchmark."),
        ("export", export.export, "Export a benchmark in VNN-COMP's layout."),
        ("seal", seal.seal, "Split a benchmark: publish questions, keep answers."),
        ("unseal", seal.unseal, "Join sealed questions and their answers again."),
        ("families", families.families, "List the families of questions and their knobs."),
        ("suites", suites.suites, "List the bundled suites."),
    ),
    JUDGE: (
        ("audit", audit.audit, "Build, check, run, score and report in one go."),
        ("run", run_command.run, "Run verifiers on a benchmark, in isolation."),
        ("score", score.score, "Score runs against the proven answers."),
        ("report", report.report, "Write one HTML page about runs."),
        ("verifiers", verifiers.group, "List, install, check or remove verifiers."),
        ("power", power.power, "Measure which broken verifiers a benchmark catches."),
        ("shrink", shrink.shrink, "Shrink a wrong answer to a minimal reproducer."),
    ),
    EXPLAIN: (
        ("profile", profile.profile, "Measure what makes each question hard."),
        ("attack", attack.attack, "Measure how hidden the counterexamples are."),
        ("explain", explain.explain, "Say why verifiers time out."),
    ),
    ANSWER: (
        ("weakened", weakened.group, "Decide whether failures are rarer than eps."),
        ("roma", roma.roma, "Estimate robustness with RoMA, beside an exact count."),
        ("count", count.count, "Prove bounds of a failure rate (few inputs)."),
        ("splitting", splitting.splitting, "Estimate very small failure rates."),
        ("calibrate", calibrate.calibrate, "Test every analyser on known failure rates."),
    ),
}
PanelGroup.order = tuple(name for entries in _COMMANDS.values() for name, _, _ in entries)
for _panel, _entries in _COMMANDS.items():
    for _name, _command, _help in _entries:
        if isinstance(_command, typer.Typer):
            app.add_typer(_command, name=_name, rich_help_panel=_panel, short_help=_help)
        else:
            app.command(name=_name, rich_help_panel=_panel, short_help=_help)(_command)


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
    show_completion: Annotated[
        Shells | None,
        typer.Option(
            "--show-completion",
            callback=show_script,
            is_eager=True,
            help="Print the completion script for a shell.",
        ),
    ] = None,
    install_completion: Annotated[
        Shells | None,
        typer.Option(
            "--install-completion",
            callback=install_script,
            is_eager=True,
            help="Install completion for a shell; takes effect in a new one.",
        ),
    ] = None,
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
        completion_init()  # the shells that typer knows
        app(prog_name="assay")  # also under `python -m`, and for the shell's completion
    except SystemExit as end:
        # Typer takes any broken pipe for a reader of ours that left, and says nothing.
        if isinstance(end.__context__, BrokenPipeError):
            return _internal_error(end.__context__)
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except AssayError as error:
        return _fail(str(error), 1 if isinstance(error, CannotCertify) else 2)
    except KeyboardInterrupt:
        return _fail("interrupted", STOPPED_EXIT)
    except ImportError as error:
        absent = missing_import(error)
        return _internal_error(error) if absent is None else _fail(str(absent), 2)
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
