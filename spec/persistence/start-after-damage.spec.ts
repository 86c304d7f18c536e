/**
 * The responses to forceStart and partialStart under each policy and in each state of the member.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { client as clientOf, get, post, postHead } from '../http/test-client.ts';
import { type StoredMember, storedMember } from '../stored-member.ts';
import type { MemoryStorage } from '../world/memory-storage.ts';
import { bytesOf, type Files, recordsOf, storageOf, withFlippedBit } from './damaged-directory.ts';
import { until } from './subject.ts';

const FULL = 'FULL_RECOVERY_ONLY';
const PARTIAL = ['PARTIAL_RECOVERY_MOST_RECENT', 'PARTIAL_RECOVERY_MOST_COMPLETE'] as const;
const POLICIES = [FULL, ...PARTIAL] as const;
const STARTS = ['forceStart', 'partialStart'] as const;
const MANAGEMENT = 'management/cluster';
const CALLS = {
  forceStart: `${MANAGEMENT}/forceStart`,
  partialStart: `${MANAGEMENT}/partialStart`,
} as const;
const SUCCESS = '200 {"status":"success"}';
const DISK_BYTES = 2_200_000;

type Policy = (typeof POLICIES)[number];
type Start = (typeof STARTS)[number];

const whole = await wholeFiles();
const LOG = [...whole.keys()].filter((name) => recordsOf(whole, name).length > 0).sort()[0] ?? '';

async function wholeFiles(): Promise<Files> {
  const memory = diskOf(new Map());
  const { serve, status, persistence, go } = storedMember(memory);
  await serve();
  assert.equal(await status(post('maps/m/first', 'one')), 200);
  assert.equal(await status(post('maps/m/second', 'two')), 200);
  await until(persistence.close(), go);
  return memory.files;
}

function diskOf(files: Files): MemoryStorage {
  return storageOf(files, 1, 'boot', DISK_BYTES);
}

/**
 * Returns the files with a flipped bit in the named one: in a record of the log, or near the end of
 * another file.
 */
function damaged(name: string): Files {
  const { at = bytesOf(whole, name).length - 16 } = recordsOf(whole, name)[0] ?? {};
  return withFlippedBit(whole, name, at * 8 + 100);
}

const DAMAGED = [LOG, 'member', 'manifest'].map(damaged);

/** A member with these files, and clients that request a start. */
class Subject {
  readonly member: StoredMember;
  readonly #files: Files;
  readonly #memory: MemoryStorage;
  #refusedCount = 0;
  isServing = false;

  constructor(files: Files, policy: Policy) {
    this.#files = files;
    this.#memory = diskOf(files);
    const settings = [{ key: 'recoveryPolicy', text: policy }] as const;
    this.member = storedMember(this.#memory, settings);
  }

  /** Begins to recover; the disk has not been read yet. */
  start(): void {
    void this.member.start().then(() => {
      this.isServing = true;
    });
  }

  /** Whether its last log line reports damaged data. */
  get isWaiting(): boolean {
    return this.member.lines.at(-1)?.code === 'DATA_DAMAGED';
  }

  async serving(): Promise<this> {
    this.start();
    while (!this.isServing) await this.member.go();
    await this.member.quiet();
    return this;
  }

  async waiting(): Promise<this> {
    this.start();
    while (!this.isWaiting) await this.member.go();
    return this;
  }

  /**
   * Sends the request while the disk hangs. The returned function returns the response once there
   * is one.
   */
  async request(start: Start): Promise<() => string | undefined> {
    const { socket, responses } = clientOf(this.member.server);
    socket.receive(post(CALLS[start], 'dev&'));
    await new Promise((resolve) => setImmediate(resolve));
    return () => responses().map(({ status, body }) => `${status} ${body}`)[0];
  }

  /** Asserts that a start is refused: the other one than the last time. */
  async assertRefused(): Promise<void> {
    const start = STARTS[this.#refusedCount++ % STARTS.length] as Start;
    const message = `Cannot ${start}: the member is not waiting for it`;
    assert.equal((await this.request(start))(), refusal(message));
  }

  async assertBothRefused(): Promise<void> {
    for (const _ of STARTS) await this.assertRefused();
  }

  /** Makes every further call to the disk fail. */
  fail(code: string): void {
    this.#memory.failure = { at: 0, code, isLasting: true };
  }

  repair(): void {
    this.#memory.failure = undefined;
  }

  /** Asserts that every file is unchanged and in its place. */
  assertUntouched(): void {
    for (const [name, bytes] of this.#files)
      assert.deepEqual(this.#memory.bytes(name), bytes, name);
    this.assertNothingAside();
  }

  assertNothingAside(): void {
    assert.throws(() => this.#memory.bytes('damaged-1/manifest'), { code: 'ENOENT' });
  }

  /** Asserts that the old files are set aside, unchanged. */
  assertAside(): void {
    const names = [...this.#files.keys()].filter((name) => recordsOf(this.#files, name).length > 0);
    for (const name of ['manifest', 'member', ...names]) {
      assert.deepEqual(this.#memory.bytes(`damaged-1/${name}`), this.#files.get(name), name);
    }
  }

  async changeState(state: string): Promise<void> {
    assert.equal(await this.member.status(post(`${MANAGEMENT}/changeState`, `dev&&${state}`)), 200);
  }
}

function refusal(message: string, status = 409): string {
  return `${status} ${JSON.stringify({ status: 'fail', message })}`;
}

function isAllowed(start: Start, policy: Policy): boolean {
  return start === 'forceStart' || policy !== FULL;
}

/** States of a member that serves, each with the steps to enter it. */
const SERVING: Readonly<Record<string, (subject: Subject) => Promise<void>>> = {
  ACTIVE: async () => {},
  NO_MIGRATION: (subject) => subject.changeState('NO_MIGRATION'),
  FROZEN: (subject) => subject.changeState('FROZEN'),
  PASSIVE: (subject) => subject.changeState('PASSIVE'),
  IN_TRANSITION: async ({ member }) => {
    clientOf(member.server).socket.receive(post(`${MANAGEMENT}/changeState`, 'dev&&frozen'));
    assert.equal(member.cluster.state, 'IN_TRANSITION');
  },
  'ACTIVE, on a disk that has failed': async (subject) => {
    subject.fail('EIO');
    assert.equal(await subject.member.status(post('maps/m/k', 'v')), 503);
    assert.equal(subject.member.cluster.isSafe, false);
  },
};

describe('forceStart and partialStart', () => {
  for (const policy of POLICIES) {
    it(`with ${policy} return 409 at any moment of a recovery, with any data`, async () => {
      for (const files of [whole, ...DAMAGED]) {
        const subject = new Subject(files, policy);
        await subject.assertBothRefused();
        subject.start();
        while (!subject.isServing && !subject.isWaiting) {
          assert.equal(subject.member.cluster.nodeState, 'STARTING');
          await subject.assertRefused();
          await subject.member.go();
        }
        assert.equal(subject.isWaiting, files !== whole);
        if (subject.isWaiting) subject.assertUntouched();
        else subject.assertNothingAside();
      }
    });

    it(`with ${policy} return 409 while the member serves, in each state of the cluster`, async () => {
      for (const [state, enter] of Object.entries(SERVING)) {
        const subject = await new Subject(whole, policy).serving();
        await enter(subject);
        await subject.assertBothRefused();
        subject.assertNothingAside();
        assert.ok(state.startsWith(subject.member.cluster.state), state);
      }
    });

    it(`with ${policy} return 409 while the member stops`, async () => {
      const { member } = await new Subject(whole, policy).serving();
      for (const start of STARTS) {
        const { socket, responses } = clientOf(member.server);
        socket.receive(postHead(CALLS[start], 4));
        member.cluster.stop();
        void member.server.server.drain();
        socket.receive('dev&');
        await member.quiet();
        const [response] = responses();
        const expected = refusal(`Cannot ${start}: the member is not waiting for it`);
        assert.equal(`${response?.status} ${response?.body}`, expected);
      }
    });

    for (const start of STARTS) {
      if (!isAllowed(start, policy)) {
        it(`${start} with ${policy} returns 409 while the member waits, and changes nothing`, async () => {
          for (const files of DAMAGED) {
            const subject = await new Subject(files, policy).waiting();
            const response = await subject.request(start);
            const why = `persistence.cluster-data-recovery-policy is ${policy}`;
            assert.equal(response(), refusal(`Cannot ${start}: ${why}`));
            await subject.member.quiet();
            assert.equal(subject.isWaiting, true);
            subject.assertUntouched();
          }
        });
        continue;
      }

      it(`${start} with ${policy} runs once while the member waits, and returns 200 when it serves`, async () => {
        for (const files of DAMAGED) {
          const subject = await new Subject(files, policy).waiting();
          const response = await subject.request(start);
          while (!subject.isServing) {
            assert.equal(response(), undefined);
            await subject.assertRefused();
            await subject.member.go();
          }
          await subject.member.quiet();
          assert.equal(response(), SUCCESS);
          subject.assertAside();
          await subject.assertBothRefused();
          const found = await subject.member.status(get('maps/m/second'));
          assert.equal(found, start === 'forceStart' ? 204 : 200);
        }
      });

      it(`${start} with ${policy} can be repeated after a failure`, async () => {
        const subject = await new Subject(damaged(LOG), policy).waiting();
        subject.fail('ENOSPC');
        const response = await subject.request(start);
        await subject.member.quiet();
        assert.equal(response(), refusal(`Cannot ${start}: ENOSPC: made by a test`, 503));
        subject.assertUntouched();
        subject.repair();
        const again = await subject.request(start);
        await subject.member.quiet();
        assert.equal(again(), SUCCESS);
        subject.assertAside();
      });
    }
  }
});
