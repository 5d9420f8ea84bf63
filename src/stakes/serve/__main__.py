"""``python -m stakes.serve MODEL``: the service without the command line's own dependencies."""

import argparse
import inspect
import sys

from stakes.serve._run import serve


def main(arguments: list[str] | None = None) -> int:
    """Serve a model; the options are the parameters of `serve`."""
    parser = argparse.ArgumentParser(prog="python -m stakes.serve", description=serve.__doc__)
    for name, parameter in inspect.signature(serve).parameters.items():
        if parameter.default is parameter.empty:
            parser.add_argument(name)
        else:
            kind = int if isinstance(parameter.default, int) else str
            parser.add_argument(
                f"--{name.replace('_', '-')}", type=kind, default=parameter.default
            )
    try:
        serve(**vars(parser.parse_args(arguments)))
    except (OSError, ValueError, ImportError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
