"""Many hooks at once: `python hookcrowd.py EVENT HOST < payloads` starts one process for each line of the payloads."""

import json
import os
import sys

from kb import hooks
from kb.hooks import events as events

event, host = sys.argv[1:]
started = []
for row in sys.stdin.buffer.read().splitlines():
    end, start = os.pipe()
    os.write(start, row)
    os.close(start)
    child = os.fork()
    if not child:
        os.dup2(end, 0)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["kb-hook", event, "--host", host]
        sys.stdin = os.fdopen(0, encoding="utf-8")
        hooks.main()
    os.close(end)
    started.append(child)
print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in started]))
