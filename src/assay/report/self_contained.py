"""Pages that hold all they need: style, script, data, and a policy that lets in nothing else."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import assay
from assay.report.banner import seconds
from assay.report.drawing import PALETTE


def render_page(template: str, styles: Sequence[str], scripts: Sequence[str], **values: Any) -> str:
    """The page of a template that extends `page.html.j2`.

    `styles` and `scripts` name files beside the templates, in the order they are joined.
    """
    environment = Environment(
        loader=PackageLoader("assay.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["seconds"] = seconds
    environment.filters["slug"] = lambda words: str(words).replace(" ", "-")
    sources = environment.loader
    assert sources is not None
    css = "".join(sources.get_source(environment, f"{part}.css")[0] for part in styles)
    js = "".join(sources.get_source(environment, f"script/{part}.js")[0] for part in scripts)
    return environment.get_template(template).render(
        version=assay.__version__,
        palette=PALETTE,
        # Only this very script may run, whatever a log or a name holds.
        script_hash=base64.b64encode(hashlib.sha256(js.encode()).digest()).decode(),
        css=Markup(css),
        js=Markup(js),
        **values,
    )
