"""A pool of six threads that take turns at Python's global lock, fed by one that waits for every eighth result."""
import concurrent.futures
import time

UNTIL = time.monotonic() + 4


def work(rounds):
    """Computes; every fourth piece of work waits for something that takes 2 ms, too."""
    total = 0
    for number in range(rounds):
        total += number * number
    if rounds % 4 == 0:
        time.sleep(0.002)
    return total


with concurrent.futures.ThreadPoolExecutor(max_workers=6) as pool:
    pending, number = [], 0
    while time.monotonic() < UNTIL:
        number += 1
        pending.append(pool.submit(work, 200 + number * 7919 % 4000))
        if len(pending) == 16:
            for done in pending[:8]:
                done.result()
            del pending[:8]
