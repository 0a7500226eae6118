"""`spdnn export`: a network file in, a file for torch, scipy or the Graph Challenge out."""

from __future__ import annotations

import argparse

from hpc.cli.config import with_config
from hpc.io.network import read_header
from hpc.io.outputs import check_outputs
from hpc.report.figures import write_json
from hpc.report.progress import progress
from hpc.spdnn.exporting import export, format_of


def run(args: argparse.Namespace) -> None:
    """Run the command.

    Parameters
    ----------
    args : what the command's parser returned.

    Raises
    ------
    InputError : see `exporting.export`.
    """
    form = format_of(args.to, args.format)
    folder = form in ("scipy", "tsv")
    check_outputs(vars(args), ["json"] if folder else ["to", "json"])
    header = read_header(args.network)
    with progress("export", header.n_layers, not args.quiet) as advance:
        export(args.network, args.to, form, progress=advance)
    print(f"{args.to}: {form}, sizes {_shown(header.sizes)}, {header.n_edges:,} edges")
    if args.json:
        figures = {"command": "spdnn export", "format": form, "layers": header.n_layers}
        figures = {**figures, "edges": header.n_edges, "sizes": header.sizes}
        write_json(args.json, with_config(args, figures))


def _shown(sizes: tuple[int, ...]) -> str:
    return "-".join(map(str, sizes if len(sizes) <= 6 else [*sizes[:2], "...", sizes[-1]]))
