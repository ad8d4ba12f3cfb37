"""The code that is sent to a remote machine and runs there: Python 3.6, standard library only. The local machine uses
the same modules for its own files."""

SHIPPED = (
    "rltui/agent/files.py",
    "rltui/agent/tree.py",
    "rltui/agent/waiter.py",
    "rltui/agent/gpus.py",
    "rltui/agent/hardware.py",
    "rltui/agent/main.py",
)
"""The files of the agent, each after the files that it imports."""
