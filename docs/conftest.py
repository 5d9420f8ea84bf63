"""The doctests of these pages are tests; what the build makes and needs is none."""

collect_ignore_glob = ["conf.py", "_ext/*", "api/*", "gallery/*", "generated/*"]
