"""`assay --help` lists the commands by what they are for."""

from __future__ import annotations

from typing import Any, ClassVar

from typer.core import TyperGroup

MAKE = "Make questions with proven answers"
JUDGE = "Judge verifiers"
EXPLAIN = "Explain what makes questions hard"
ANSWER = "Answer questions about your model, with probability"
PANELS = (MAKE, JUDGE, EXPLAIN, ANSWER)


class PanelGroup(TyperGroup):
    """Plain text: typer itself shows panels only in rich's boxes, which take longer to import.

    Commands are listed in `order`: typer itself puts groups behind all others.
    """

    order: ClassVar[tuple[str, ...]] = ()

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        names = sorted(self.list_commands(ctx), key=self.order.index)
        commands = [(name, self.get_command(ctx, name)) for name in names]
        width = max(len(name) for name, _ in commands)
        for panel in PANELS:
            rows = [
                # Padding aligns the columns of all panels.
                (name.ljust(width), command.get_short_help_str(formatter.width))
                for name, command in commands
                if command is not None and getattr(command, "rich_help_panel", None) == panel
            ]
            with formatter.section(panel):
                formatter.write_dl(rows)
