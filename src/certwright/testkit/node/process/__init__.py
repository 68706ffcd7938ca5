"""Programs instead of containers: which one stands for an image, how it runs, how it is probed.

`images` maps images to programs, `stub` is a program that only becomes ready, `supervisor` is the
small process that starts all others and takes them along when it ends, `processes` talks to it,
and `probes` asks a running program how it is. Command lines enter; exit codes and answers leave.
"""
