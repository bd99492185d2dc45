"""A Baton worker that needs nothing but Python 3. It claims tasks over HTTP, keeps them by heartbeats, and finishes them.

    BATON_URL=http://127.0.0.1:7070 python3 worker.py TYPE [WORKER_ID]

SIGTERM or SIGINT stops it: it makes no more claims, lets its runs finish for GRACE_S seconds and gives the rest back.
"""

import base64
import json
import os
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from concurrent.futures import ThreadPoolExecutor

BASE_URL = os.environ.get("BATON_URL", "http://127.0.0.1:7070")
CONCURRENCY = int(os.environ.get("CONCURRENCY", "4"))
GRACE_S = float(os.environ.get("GRACE_S", "20"))
CLAIM_WAIT_MS = 2_000
PAUSE_AFTER_ERROR_S = 1.0
POLL_S = 0.02


class Refused(Exception):
    """The API refused a request with a problem document: the run is over, or the request is not valid."""

    def __init__(self, problem):
        super().__init__(problem.get("detail", "refused"))
        self.problem = problem


class Busy(OSError):
    """The API got too many requests. Its answer says how long to wait."""

    def __init__(self, retry_after_s):
        super().__init__(f"too many requests; the next is allowed in {retry_after_s} s")
        self.retry_after_s = retry_after_s


class Fatal(Exception):
    """A handler throws this when no retry can help."""


class Stopped(Exception):
    """`Run.check` throws this into a handler whose run is over."""


def handle(task, run):
    """Does the work; replace it. Returns the task's result, which must be JSON.

    Long work calls `run.check()` now and then, which throws once the run is over. `run.progress(...)` reports progress.
    """
    given = task["params"] if task.get("inputIsParams") else task.get("input") or {}
    if "fail" in given:
        raise Fatal(given["fail"]) if given.get("fatal") else RuntimeError(given["fail"])
    until = time.monotonic() + given.get("sleepMs", 0) / 1_000
    while time.monotonic() < until:
        run.check()
        time.sleep(POLL_S)
    return {"upper": given.get("text", "").upper(), "by": "python"}


def call(path, body, timeout_s=30):
    request = urllib.request.Request(
        BASE_URL + path,
        data=json.dumps(body).encode(),
        headers={"content-type": "application/json"},
        method="POST",
    )
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:
            return json.load(response)
    except urllib.error.HTTPError as error:
        if error.code == 429:
            raise Busy(retry_after_s(error)) from error
        if error.code >= 500:
            raise OSError(f"{path} answered {error.code}") from error
        raise Refused(json.load(error)) from error


def retry_after_s(error):
    """Reads the wait from Baton's problem document, or from the header that a proxy in front of the API may set."""
    try:
        return json.load(error)["retryAfterMs"] / 1_000
    except (ValueError, KeyError, TypeError):
        return float(error.headers.get("retry-after") or 2)


class Run:
    """This worker's hold on one task. A thread sends heartbeats until the run is over."""

    def __init__(self, claim):
        self.task, run = claim["task"], claim["run"]
        self.path = f"/v1/tasks/{in_path(self.task['id'])}/runs/{run['id']}"
        self.fence = run["fence"]
        self.ended = threading.Event()
        self.last_word = threading.Lock()
        self.said = None
        self.interval_s = interval_of(self.task["options"])
        self.safe_until = time.monotonic() + self.task["options"]["leaseMs"] / 1_000

    def progress(self, value):
        self.said = value

    def check(self):
        if self.ended.is_set():
            raise Stopped(f"{self.task['id']} is no longer ours")

    def beat(self):
        """Renews the lease until the run is over. The run survives an outage of the API until the lease ends."""
        while not self.ended.wait(self.interval_s):
            body = {"fence": self.fence}
            if self.said is not None:
                body["progress"], self.said = self.said, None
            sent = time.monotonic()
            try:
                answer = call(f"{self.path}/heartbeat", body)
                self.interval_s = interval_of(answer["options"])
                self.safe_until = sent + self.task["options"]["leaseMs"] / 1_000
            except Refused as refused:
                log("lost", self.task["id"], refused)
                self.ended.set()
            except OSError:
                if time.monotonic() >= self.safe_until:
                    self.ended.set()

    def end(self, word, **more):
        """Ends the run, and repeats the call during an outage. The API applies a repeated call once."""
        if not self.last_word.acquire(blocking=False):
            return
        while True:
            try:
                call(f"{self.path}/{word}", {"fence": self.fence, **more})
            except OSError:
                if time.monotonic() < self.safe_until:
                    time.sleep(PAUSE_AFTER_ERROR_S)
                    continue
            except Refused as refused:
                log("refused", word, self.task["id"], refused)
            return self.ended.set()


def in_path(task_id):
    """Encodes an id for a path. API Gateway decodes paths, so only this form carries every id unchanged."""
    return "~" + base64.urlsafe_b64encode(task_id.encode()).decode().rstrip("=")


def interval_of(options):
    """The heartbeat interval of the options, but at most two thirds of the lease."""
    return min(options["heartbeatMs"], options["leaseMs"] * 2 / 3) / 1_000


def work(run):
    heart = threading.Thread(target=run.beat, daemon=True)
    heart.start()
    try:
        result = handle(run.task, run)
        run.end("succeed", result=result)
    except Stopped:
        run.end("release")
    except Exception as error:  # an error of a handler fails the task, not the worker
        described = {"name": type(error).__name__, "message": str(error)}
        run.end("fail", error=described, fatal=isinstance(error, Fatal))
    heart.join()


def serve(task_type, worker_id, stopping):
    runs = set()
    pool = ThreadPoolExecutor(CONCURRENCY)
    while not stopping.is_set():
        free = CONCURRENCY - len(runs)
        if free == 0:
            stopping.wait(POLL_S)
            continue
        claims, rest_s = claim(task_type, worker_id, free)
        for one in claims:
            run = Run(one)
            runs.add(run)
            pool.submit(work, run).add_done_callback(lambda _done, run=run: runs.discard(run))
        stopping.wait(rest_s)
    until = time.monotonic() + GRACE_S
    while runs and time.monotonic() < until:
        time.sleep(POLL_S)
    for run in list(runs):
        run.end("release")
    log("stopped")
    os._exit(0)  # ends the threads of handlers that did not stop; their tasks have been given back


def claim(task_type, worker_id, limit):
    """Returns the claims and the seconds to wait before the next claim. The API makes an idle worker ask less often."""
    body = {"type": task_type, "workerId": worker_id, "limit": limit, "waitMs": CLAIM_WAIT_MS}
    try:
        answer = call("/v1/claims", body)
        return answer["claims"], answer.get("retryAfterMs", 0) / 1_000
    except Busy as busy:
        return [], busy.retry_after_s
    except (OSError, Refused) as error:
        log("cannot claim yet:", error)
        return [], PAUSE_AFTER_ERROR_S


def log(*words):
    print(*words, file=sys.stderr, flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    worker_id = sys.argv[2] if len(sys.argv) > 2 else f"{socket.gethostname()}-{os.getpid()}"
    stopping = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stopping.set())
    log("serving", sys.argv[1], "as", worker_id)
    serve(sys.argv[1], worker_id, stopping)


if __name__ == "__main__":
    main()
