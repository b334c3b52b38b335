"""Run the real agent programs with kb's hooks against a scripted model; `make bench-hosts`."""
