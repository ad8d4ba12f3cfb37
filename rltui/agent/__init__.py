"""What is sent to a far machine and runs there: Python 3.6, standard library only. This machine uses the same modules
for its own files."""

SHIPPED = (
    "rltui/agent/files.py",
    "rltui/agent/tree.py",
    "rltui/agent/waiter.py",
    "rltui/agent/gpus.py",
    "rltui/agent/hardware.py",
    "rltui/agent/main.py",
)
"""What the agent is made of, each after what it imports."""
