#!/usr/bin/env python3
"""A queue of jobs with several workers, repeated attempts and a dead-letter list.

    python3 work_queue.py demo      submits ten jobs, and starts workers; one of them dies
    python3 work_queue.py worker    processes jobs until SIGTERM
    python3 work_queue.py dead      prints and removes the dead letters

GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.

A poll removes the item, and a worker that dies then has lost it. So the queue has only the ids of
jobs. The job itself is a map entry, which is put before the offer and deleted when the job is done.
The submitter offers the id again if the entry still exists after LEASE_SECONDS. Thus each job is
done at least once; it can be done twice, so its effect must be the same then. A worker that dies
while it waits in a poll loses nothing: the member gives items only to connected clients.
"""
import http.client
import json
import os
import signal
import subprocess
import sys
import time
from urllib.parse import quote, urlsplit

GRID = urlsplit(os.environ.get('GRIDNODE_URL', 'http://127.0.0.1:5701/grid'))
POLL_SECONDS = 2
# Longer than the poll.
TIMEOUT_SECONDS = 10
# Longer than the longest job: after this time its worker is considered dead. Minutes in earnest.
LEASE_SECONDS = 2
ATTEMPTS_MAX = 3

JOBS = '/rest/maps/example-work'
QUEUE = '/rest/queues/example-work'
DEAD = '/rest/queues/example-work-dead'


class Refused(Exception):
    """The member responded with another status than those expected."""


class Grid:
    """One connection to the member."""

    def __init__(self):
        port = GRID.port or 80
        self.connection = http.client.HTTPConnection(GRID.hostname, port, timeout=TIMEOUT_SECONDS)

    def call(self, method, path, value=None, expected=(200,)):
        """Sends a request; returns status and content."""
        headers = {'Content-Type': 'application/json'} if value is not None else {}
        try:
            self.connection.request(method, GRID.path + path, value, headers)
            response = self.connection.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            # The next call opens a new connection.
            self.connection.close()
            raise
        if response.status not in expected:
            message = content.decode(errors='replace')
            raise Refused(f'{method} {path}: status {response.status}: {message}')
        return response.status, content

    def put_job(self, job):
        self.call('POST', entry_of(job['id']), json.dumps(job).encode())

    def get_job(self, job_id):
        """Returns the job, or None if it is done."""
        status, content = self.call('GET', entry_of(job_id), expected=(200, 204))
        return json.loads(content) if status == 200 else None

    def offer(self, path, text):
        """Returns whether the item was added. A full queue responds 503 without content."""
        status, content = self.call('POST', path, text.encode(), (200, 503))
        if status == 503 and content:
            raise Refused(f'POST {path}: status 503: {content.decode(errors="replace")}')
        return status == 200

    def poll(self, path, seconds):
        """Returns the next item, or None if none arrived in this time."""
        status, content = self.call('DELETE', f'{path}/{seconds}', expected=(200, 204))
        return content.decode() if status == 200 else None


def entry_of(job_id):
    return f'{JOBS}/{quote(job_id, safe="")}'


def process(job):
    """The work itself. An exception is a failed attempt."""
    if job['number'] == 7:
        raise ValueError('7 is not allowed')


def work(fatal_id=None):
    """Processes jobs until SIGTERM. The process dies when it receives the job `fatal_id`."""
    grid = Grid()
    is_stopping = []
    # The current job is finished first. A poll under way may take POLL_SECONDS longer.
    signal.signal(signal.SIGTERM, lambda *_: is_stopping.append(True))
    while not is_stopping:
        try:
            job_id = grid.poll(QUEUE, POLL_SECONDS)
            if job_id is not None:
                if job_id == fatal_id:
                    os.kill(os.getpid(), signal.SIGKILL)
                attempt(grid, job_id)
        except (OSError, http.client.HTTPException, Refused) as error:
            # The outcome is unknown. If an item was lost, its submitter offers it again.
            print(f'worker: {error}', file=sys.stderr)
            time.sleep(1)


def attempt(grid, job_id):
    job = grid.get_job(job_id)
    if job is None:
        return  # offered twice, and done by another worker
    try:
        process(job)
    except Exception as error:
        job['attempts'] += 1
        job['error'] = str(error)
        if job['attempts'] < ATTEMPTS_MAX:
            grid.put_job(job)
            # If the queue is full, the submitter offers the job later. A worker that waited for
            # room would wait for ever if all did.
            grid.offer(QUEUE, job_id)
            return
        if not grid.offer(DEAD, json.dumps(job)):
            return
    grid.call('DELETE', entry_of(job_id))


def submit(grid, job):
    """Stores the job, then offers its id. Waits while the queue is full."""
    grid.put_job(job)
    # A full queue has not changed anything, so the offer can be repeated.
    while not grid.offer(QUEUE, job['id']):
        time.sleep(0.1)


def supervise(grid, ids):
    """Waits until the jobs are done, and offers those again that take too long."""
    due = {job_id: time.monotonic() + LEASE_SECONDS for job_id in ids}
    offered_again = set()
    while due:
        time.sleep(0.1)
        for job_id in list(due):
            if grid.get_job(job_id) is None:
                del due[job_id]
            elif time.monotonic() > due[job_id] and grid.offer(QUEUE, job_id):
                due[job_id] = time.monotonic() + LEASE_SECONDS
                offered_again.add(job_id)
    return offered_again


def dead_letters(grid):
    while (letter := grid.poll(DEAD, 0)) is not None:
        yield json.loads(letter)


def demo():
    grid = Grid()
    jobs = [{'id': f'job-{number}', 'number': number, 'attempts': 0} for number in range(1, 11)]
    ids = [job['id'] for job in jobs]
    command = [sys.executable, os.path.abspath(__file__), 'worker']
    workers = [subprocess.Popen([*command, 'job-1'])]
    try:
        submit(grid, jobs[0])
        workers.pop().wait()
        print('a worker died with job-1')
        workers += [subprocess.Popen(command) for _ in range(3)]
        for job in jobs[1:]:
            submit(grid, job)
        if 'job-1' in supervise(grid, ids):
            print('job-1 was offered again')
        dead = {letter['id']: letter for letter in dead_letters(grid)}
        print('done:', *[job_id for job_id in ids if job_id not in dead])
        for letter in dead.values():
            print(f'dead: {letter["id"]} after {letter["attempts"]} attempts: {letter["error"]}')
    finally:
        for worker in workers:
            worker.terminate()
        for worker in workers:
            worker.wait()


def main(words):
    if words == ['demo']:
        demo()
    elif words[:1] == ['worker']:
        work(*words[1:2])
    elif words == ['dead']:
        for letter in dead_letters(Grid()):
            print(json.dumps(letter))
    else:
        sys.exit('usage: work_queue.py demo|worker|dead')


if __name__ == '__main__':
    try:
        main(sys.argv[1:])
    except (OSError, http.client.HTTPException, Refused) as error:
        sys.exit(f'work_queue: {error}')
