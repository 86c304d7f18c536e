/** Messages of other members are checked whole: whatever their bytes are, nothing of a bad one is applied. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { crc32, deflateRawSync } from 'node:zlib';
import { CLEAR, DELETE, Mutation, type Operation, SET } from '../../src/engine/mutation.ts';
import { Version } from '../../src/engine/version.ts';
import { MessageTexts, unsealedBatch } from '../../src/wan/batch.ts';
import { eventBytes, readEvent, viewed, writeEvent } from '../../src/wan/event-codec.ts';
import { Lane } from '../../src/wan/lane.ts';
import { BATCH, HEAD_BYTES, sealMessage, sealPlain } from '../../src/wan/message-format.ts';
import { Member, Network } from './members.ts';
import { spanOf } from './model-engine.ts';
import { generator } from './simulation.ts';

const SENDER = Buffer.alloc(16, 's');
const WALL_MS = 1_700_000_000_000;

function change(operation: Operation, key: string, value: string): Mutation {
  const made = new Mutation();
  made.operation = operation;
  made.partition = 0;
  made.name.copyFrom(spanOf('map'));
  if (operation !== CLEAR) made.key.copyFrom(spanOf(key));
  if (operation === SET) {
    made.value.copyFrom(spanOf(value));
    made.contentType.copyFrom(spanOf('text/plain'));
    made.expiryMs = WALL_MS + 100_000;
    made.maxIdleSeconds = 7;
    made.hits = 3;
    made.lastAccessSeconds = 9;
  }
  made.path.copyFrom(spanOf('0123456789abcdef'));
  made.version.set((WALL_MS % 2 ** 16) * 2 ** 16, Math.floor(WALL_MS / 2 ** 16));
  return made;
}

function head(kind: 1 | 2) {
  const clock = new Version();
  return { kind, isOnReceipt: false, clock, dataSet: SENDER, answered: 0 };
}

/** A batch without its head, of these changes in two lanes. */
function batchOf(changes: readonly Mutation[], target: Buffer): Buffer {
  const sections = [0, 1].map((number) => {
    const lane = new Lane(number);
    for (const each of changes) lane.append(each, 2, 0, false);
    return { lane, generation: 0, count: changes.length };
  });
  const length = changes.reduce((sum, each) => sum + eventBytes(each), 0);
  const sender = { dataSetId: SENDER, epoch: 5, now: () => {} };
  const texts = new MessageTexts('dev', 'r', 'p');
  return unsealedBatch(sender, texts, target, sections, [length, length]);
}

const CHANGES = [change(SET, 'a', 'x'.repeat(40)), change(DELETE, 'b', ''), change(CLEAR, '', '')];

async function send(member: Member, message: Buffer): Promise<number> {
  const { status } = await member.receive(message);
  return status;
}

describe('an event', () => {
  it('is read as it was written, whatever it is', () => {
    for (const each of CHANGES) {
      const bytes = viewed(Buffer.alloc(eventBytes(each) + 5));
      writeEvent(bytes, 3, each, 4);
      const read = new Mutation();
      assert.equal(readEvent(bytes, 3, bytes.bytes.length, read), 3 + eventBytes(each));
      for (const name of ['name', 'key', 'value', 'contentType', 'path'] as const) {
        assert.deepEqual(read[name].toBuffer(), each[name].toBuffer(), name);
      }
      for (const name of ['operation', 'expiryMs', 'maxIdleSeconds', 'hits'] as const) {
        assert.equal(read[name], each[name], name);
      }
      assert.ok(read.version.is(each.version));
      assert.equal(readEvent(bytes, 3, 3 + eventBytes(each) - 1, read), -1);
    }
  });
});

describe('WanReceiver.receive', () => {
  it('applies a batch, and not again', async () => {
    const member = new Member(new Network(), 'm', []);
    member.engine.durableCount = Number.POSITIVE_INFINITY;
    const message = sealPlain(batchOf(CHANGES.slice(0, 2), member.dataSetId), head(BATCH));
    assert.equal(await send(member, message), 200);
    const count = member.engine.mergedCount;
    assert.ok(count > 0);
    assert.equal(await send(member, message), 200);
    assert.equal(member.engine.mergedCount, count);
  });

  it('applies nothing of a batch of which a byte is flipped or cut', async () => {
    for (const isCompressed of [false, true]) {
      const member = new Member(new Network(), 'm', []);
      const batch = batchOf(CHANGES, member.dataSetId);
      const message = await sealMessage(batch, head(BATCH), isCompressed);
      for (let at = 0; at < message.length; at++) {
        const flipped = Buffer.from(message);
        flipped[at]! ^= 1 << (at % 8);
        assert.equal(await send(member, flipped), 400, `byte ${at}`);
        assert.equal(await send(member, message.subarray(0, at)), 400, `cut to ${at}`);
      }
      assert.equal(member.engine.mergedCount, 0);
    }
  });

  it('applies nothing of a batch that is wrong inside, with a right checksum', async () => {
    const member = new Member(new Network(), 'm', []);
    const batch = batchOf(CHANGES, member.dataSetId);
    member.engine.durableCount = Number.POSITIVE_INFINITY;
    const random = generator(1);
    const counts = { applied: 0, refused: 0 };
    for (let round = 0; round < Number(process.env.SOAK_CASES ?? 3000); round++) {
      const wrong = Buffer.from(batch);
      const flips = 1 + Math.floor(random() * 3);
      for (let flip = 0; flip < flips; flip++) {
        const at = HEAD_BYTES + Math.floor(random() * (wrong.length - HEAD_BYTES));
        wrong[at] = Math.floor(random() * 256);
      }
      const before = member.engine.mergedCount;
      const status = await send(member, sealPlain(wrong, head(BATCH)));
      assert.ok([200, 400, 403, 409].includes(status), `status ${status}`);
      if (status === 200) counts.applied++;
      else {
        counts.refused++;
        assert.equal(member.engine.mergedCount, before);
      }
    }
    assert.ok(counts.refused > 100, JSON.stringify(counts));
  });

  it('refuses random bytes with 400', async () => {
    const member = new Member(new Network(), 'm', []);
    const random = generator(2);
    for (let round = 0; round < 2000; round++) {
      const bytes = Buffer.from(Array.from({ length: round % 200 }, () => random() * 256));
      assert.equal(await send(member, bytes), 400);
    }
  });

  it('refuses what inflates to more than it says, or says more than is allowed', async () => {
    const member = new Member(new Network(), 'm', []);
    const bomb = deflateRawSync(Buffer.alloc(2 ** 26));
    for (const said of [10, 2 ** 24, 2 ** 26, 2 ** 32 - 1]) {
      const message = sealPlain(Buffer.concat([Buffer.alloc(HEAD_BYTES), bomb]), head(BATCH));
      message[6] = 1;
      message.writeUInt32LE(said, 16);
      const sealed = resealed(message);
      assert.equal(await send(member, sealed), 400, `${said}`);
    }
  });

  it('answers a clock that is more than 24 h ahead with 400, 60 s with a warning', async () => {
    const member = new Member(new Network(), 'm', []);
    const later = (ms: number) => {
      const made = change(SET, 'a', 'x');
      made.version.set(((WALL_MS + ms) % 2 ** 16) * 2 ** 16, Math.floor((WALL_MS + ms) / 2 ** 16));
      return sealPlain(batchOf([made], member.dataSetId), head(BATCH));
    };
    assert.equal(await send(member, later(86_401_000)), 400);
    assert.equal(member.engine.mergedCount, 0);
    member.engine.durableCount = Number.POSITIVE_INFINITY;
    assert.equal(await send(member, later(61_000)), 200);
    assert.deepEqual(member.log.lines, [
      "warn WAN: the clock of a sender is 61 s ahead of this member's",
    ]);
  });
});

/** The message with the right checksum again. */
function resealed(message: Buffer): Buffer {
  message.writeUInt32LE(crc32(message.subarray(12), crc32(message.subarray(0, 8))), 8);
  return message;
}
