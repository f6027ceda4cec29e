"""The ring of test/bench/event-loop.ts in SimPy 3 or later: prints seconds, simulated time and a checksum as JSON."""

import json
import sys
import time

import simpy

STATIONS, TOKENS, PLACES, REST = 100, 30, 4, 0.1
GOLDEN = (5**0.5 - 1) / 2  # its multiples are spread evenly, so that hardly any two events coincide


def ring(passes):
    env = simpy.Environment()
    server = simpy.Resource(env, PLACES)
    boxes = [simpy.Store(env) for _ in range(STATIONS)]
    end = env.event()
    left = passes
    checksum = 0

    def station(index):
        nonlocal left, checksum
        own = boxes[index]
        following = boxes[(index + 1) % STATIONS]
        while True:
            token = yield own.get()
            with server.request() as request:
                yield request
                yield env.timeout(1 + (token * STATIONS + index) * GOLDEN % 1)
            checksum = (checksum * 31 + token * STATIONS + index) % 1000003
            left -= 1
            if left == 0:
                end.succeed()
            yield following.put(token)
            yield env.timeout(REST)

    def start():
        for token in range(TOKENS):
            yield boxes[3 * token].put(token)

    env.process(start())
    for index in range(STATIONS):
        env.process(station(index))
    begin = time.perf_counter()
    env.run(until=end)
    return {"seconds": time.perf_counter() - begin, "now": env.now, "checksum": checksum}


if len(sys.argv) > 1:
    print(json.dumps(ring(int(sys.argv[1]))))
else:
    print(json.dumps({"python": sys.version.split()[0], "simpy": simpy.__version__}))
