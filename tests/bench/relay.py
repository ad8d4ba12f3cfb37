"""A slow link as ssh's ProxyCommand: `relay.py HOST PORT DELAY_S COUNT_FILE` hands bytes on after a delay, both ways.

The count file holds the bytes sent up and down so far."""

from __future__ import annotations

import os
import socket
import sys
import threading
import time
from collections import deque

_counts = [0, 0]


def carry(source: int, target: int, delay_s: float, which: int, count_file: str) -> None:
    """Everything from one descriptor to the other, each piece `delay_s` after it came."""
    under_way: deque[tuple[float, bytes]] = deque()
    arrived = threading.Condition()

    def deliver() -> None:
        while True:
            with arrived:
                arrived.wait_for(lambda: under_way)
                due, data = under_way.popleft()
            time.sleep(max(0.0, due - time.monotonic()))
            if not data:
                os._exit(0)
            while data:
                data = data[os.write(target, data) :]

    threading.Thread(target=deliver, daemon=True).start()
    data = b"x"
    while data:
        data = os.read(source, 1 << 16)
        _counts[which] += len(data)
        with arrived:
            under_way.append((time.monotonic() + delay_s, data))
            arrived.notify()
        with open(count_file, "w", encoding="ascii") as out:
            out.write(f"{_counts[0]} {_counts[1]}")


def main() -> None:
    host, port, delay, count_file = sys.argv[1:]
    link = socket.create_connection((host, int(port)))
    link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    up = threading.Thread(target=carry, args=(0, link.fileno(), float(delay), 0, count_file), daemon=True)
    up.start()
    carry(link.fileno(), 1, float(delay), 1, count_file)
    time.sleep(float(delay) + 1)


if __name__ == "__main__":
    main()
