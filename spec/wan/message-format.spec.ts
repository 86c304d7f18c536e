/** Messages of other members are checked as a whole: nothing of an invalid one is applied. */

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { deflateRawSync } from 'node:zlib';
import { viewed } from '../../src/base/copy-bytes.ts';
import { EXPIRATION_TIME, LATEST_UPDATE, PASS_THROUGH } from '../../src/engine/merge-policy.ts';
import { Mutation, SET } from '../../src/engine/mutation.ts';
import { Version } from '../../src/engine/version.ts';
import { handshakeMessage } from '../../src/wan/batch.ts';
import { eventBytes, readEvent, writeEvent } from '../../src/wan/event-codec.ts';
import { BATCH, HEAD_BYTES, sealDeflated, sealPlain } from '../../src/wan/message-format.ts';
import { copyOf } from '../engine/sinks.ts';
import { double, fields, framedBytes } from '../packed-fields.ts';
import { generator, type Member } from './members.ts';
import {
  batchOf,
  CHANGES,
  changeOf,
  headOf,
  numberedBatch,
  receiver,
  resealed,
  SECTION_AT,
  SENDER,
  TEXTS,
  WALL_MS,
  wrongBatch,
} from './messages.ts';

const BATCHES = Number(process.env.WAN_CASES ?? 3000);
const SEED = Number(process.env.WAN_SEED ?? 1);

async function send(member: Member, message: Buffer): Promise<number> {
  const { status } = await member.receive(message);
  return status;
}

describe('an event', () => {
  it('is read as it was written, for any content', () => {
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
  it('applies a batch once', async () => {
    const member = receiver();
    const message = sealPlain(batchOf(CHANGES.slice(0, 2), member.dataSetId), headOf(BATCH));
    assert.equal(await send(member, message), 200);
    const count = member.engine.mergedCount;
    assert.ok(count > 0);
    assert.equal(await send(member, message), 200);
    assert.equal(member.engine.mergedCount, count);
  });

  it('applies events by their numbers, in any lane, with gaps, and those of a sync apart', async () => {
    const member = receiver();
    const { dataSetId, engine } = member;
    const sets = ['a', 'b', 'c'].map((key) => changeOf(SET, key, 'x'));
    const keys = () => engine.log.splice(0).map(({ key }) => key.toBuffer().toString());
    const options = { policy: PASS_THROUGH } as const;
    const batch = (numbers: readonly number[], syncBegan = new Version()) =>
      numberedBatch(sets.slice(0, numbers.length), dataSetId, 65_535, numbers, {
        ...options,
        syncBegan,
      });
    assert.equal(await send(member, batch([5, 2 ** 52])), 200);
    assert.deepEqual(keys(), ['a', 'b']);
    // The same number again, then one between the two: both are passed, and the last one is not.
    for (const each of sets) each.version.stepForward();
    assert.equal(await send(member, batch([5, 7, 2 ** 52 + 1])), 200);
    assert.deepEqual(keys(), ['c']);
    assert.equal(await send(member, batch([4, 2 ** 52 + 2])), 409);
    for (const each of sets) each.version.stepForward();
    const began = new Version().copyFrom(sets[0]!.version).stepForward();
    assert.equal(await send(member, batch([1, 2, 3], began)), 200);
    assert.deepEqual(keys(), ['a', 'b', 'c']);
  });

  it('refuses sections whose numbers do not rise, or that have a lane twice', async () => {
    const member = receiver();
    const { dataSetId } = member;
    const sets = CHANGES.slice(0, 2);
    for (const numbers of [
      [0, 1],
      [-1, 1],
      [1, 1],
      [2, 1],
      [1, 1.5],
      [1, 2 ** 53],
      [Number.NaN, 1],
      [1, Number.POSITIVE_INFINITY],
    ]) {
      const message = numberedBatch(sets, dataSetId, 3, numbers);
      assert.equal(await send(member, message), 400, `${numbers}`);
    }
    const batch = batchOf(sets, dataSetId);
    const length = (batch.length - SECTION_AT) / 2;
    batch.copy(batch, SECTION_AT + length, SECTION_AT, SECTION_AT + 2);
    assert.equal(await send(member, sealPlain(batch, headOf(BATCH))), 400);
    assert.equal(member.engine.mergedCount, 0);
  });

  it('accepts up to 1,024 sections', async () => {
    const member = receiver();
    const batch = (laneCount: number) =>
      sealPlain(batchOf(CHANGES.slice(0, 1), member.dataSetId, { laneCount }), headOf(BATCH));
    assert.equal(await send(member, batch(1024)), 200);
    assert.equal(await send(member, batch(1025)), 400);
  });

  it('applies nothing of a batch in which a byte is flipped or cut off', async () => {
    for (const isCompressed of [false, true]) {
      const member = receiver();
      const batch = batchOf(CHANGES, member.dataSetId);
      const message = await (isCompressed ? sealDeflated : sealPlain)(batch, headOf(BATCH));
      for (let at = 0; at < message.length; at++) {
        const flipped = Buffer.from(message);
        flipped[at]! ^= 1 << (at % 8);
        assert.equal(await send(member, flipped), 400, `byte ${at}`);
        assert.equal(await send(member, message.subarray(0, at)), 400, `truncated to ${at}`);
      }
      assert.equal(member.engine.mergedCount, 0);
    }
  });

  it('applies nothing of a batch with invalid content and a valid checksum', async () => {
    const random = generator(SEED);
    let member = receiver();
    const batch = batchOf(CHANGES, member.dataSetId);
    let refused = 0;
    for (let round = 0; round < BATCHES; round++) {
      if (round % 1000 === 999) member = receiver();
      const before = member.engine.mergedCount;
      const { status } = await member.receive(wrongBatch(batch, random));
      assert.ok([200, 400, 403, 409].includes(status), `seed ${SEED}, round ${round}: ${status}`);
      if (status === 200) continue;
      refused++;
      assert.equal(member.engine.mergedCount, before, `seed ${SEED}, round ${round}`);
    }
    assert.ok(refused > BATCHES / 20, `${refused} refused`);
  });

  it('applies nothing of a batch with a change of the reserved map', async () => {
    const member = receiver();
    const { engine } = member;
    engine.change(SET, '', 'a', 'own');
    const contents = engine.contents();
    for (const change of CHANGES) {
      const reserved = copyOf(change);
      reserved.name.clear();
      for (const policy of [PASS_THROUGH, LATEST_UPDATE] as const) {
        const batch = batchOf([CHANGES[0]!, reserved, CHANGES[1]!], member.dataSetId, { policy });
        assert.equal(await send(member, sealPlain(batch, headOf(BATCH))), 400);
        assert.equal(await send(member, await sealDeflated(batch, headOf(BATCH))), 400);
        const onReceipt = { ...headOf(BATCH), isOnReceipt: true };
        assert.equal(await send(member, sealPlain(batch, onReceipt)), 400);
      }
    }
    assert.deepEqual([engine.contents(), engine.mergedCount], [contents, 0]);
    assert.equal(engine.tombstones.count, 0);
  });

  it('refuses a message of an earlier format in words', async () => {
    const member = receiver();
    const message = sealPlain(batchOf(CHANGES, member.dataSetId), headOf(BATCH));
    const older = Buffer.concat([Buffer.from('GWAN\x02\x02\0\0'), message]);
    const withFormat = (format: number) => {
      const other = Buffer.from(message);
      other.writeUInt32LE(format, 12);
      return resealed(other);
    };
    for (const [bytes, format] of [
      [older, 2],
      [withFormat(3), 3],
      [withFormat(5), 5],
    ] as const) {
      const { status, body } = await member.receive(bytes);
      assert.equal(status, 400);
      assert.match(
        String(body),
        new RegExp(
          `its format is ${format}, this version reads 4: both members need the same version`,
        ),
      );
    }
    assert.equal(member.engine.mergedCount, 0);
  });

  it('has its fields where the description says', () => {
    const clock = new Version().set(-2, 77);
    const dataSet = Buffer.from('0123456789abcdef');
    const head = { kind: BATCH, isOnReceipt: true, clock, dataSet, respondsTo: -9 } as const;
    const message = sealPlain(Buffer.alloc(HEAD_BYTES + 5, 'x'), head);
    const own = fields([1, BATCH], [1, 2], [2, 0], [4, 5], [4, -2], [4, 77]);
    const content = Buffer.concat([own, dataSet, fields([4, -9]), Buffer.from('xxxxx')]);
    assert.deepEqual(message, framedBytes('gridWAN\n', 4, content));
  });

  it('has the payload of a batch or a handshake where the description says', () => {
    const target = Buffer.from('fedcba9876543210');
    const text = (value: string) => Buffer.concat([fields([2, value.length]), Buffer.from(value)]);
    const texts = Buffer.concat(['dev', 'r', 'p'].map(text));
    const [, change] = CHANGES;
    const event = viewed(Buffer.alloc(eventBytes(change!)));
    writeEvent(event, 0, change!, 5);
    const section = Buffer.concat([
      fields([2, 0], [2, 0], [4, 1], [4, event.bytes.length], [4, 0], [4, 0]),
      double(9),
      event.bytes,
    ]);
    const options = { laneCount: 1, firstNumber: 9, policy: EXPIRATION_TIME } as const;
    const batch = batchOf([change!], target, options).subarray(HEAD_BYTES);
    assert.deepEqual(batch, Buffer.concat([double(5), target, texts, fields([2, 1]), section]));
    const sender = { dataSetId: SENDER, epoch: 7, now: () => {} };
    const handshake = handshakeMessage(sender, TEXTS).subarray(HEAD_BYTES);
    assert.deepEqual(handshake, Buffer.concat([double(7), texts]));
  });

  it('refuses random bytes with 400', async () => {
    const member = receiver();
    const random = generator(2);
    for (let round = 0; round < 2000; round++) {
      const bytes = Buffer.from(Array.from({ length: round % 200 }, () => random() * 256));
      assert.equal(await send(member, bytes), 400);
    }
  });

  it('refuses a message that inflates to more than its head declares, or that declares too much', async () => {
    const member = receiver();
    const bomb = deflateRawSync(Buffer.alloc(2 ** 26));
    for (const [declaredBytes, status] of [
      [10, 400],
      [2 ** 24, 400],
      [2 ** 24 + 1, 413],
      [2 ** 32 - 1, 413],
    ] as const) {
      const message = sealPlain(Buffer.concat([Buffer.alloc(HEAD_BYTES), bomb]), headOf(BATCH));
      message[21] = 1;
      message.writeUInt32LE(declaredBytes, 24);
      const sealed = resealed(message);
      assert.equal(await send(member, sealed), status, `${declaredBytes}`);
    }
  });

  it('responds to a clock that is ahead with 400 for more than 24 h, with a warning for 60 s', async () => {
    const member = receiver();
    const later = (ms: number) => {
      const made = changeOf(SET, 'a', 'x');
      made.version.set(((WALL_MS + ms) % 2 ** 16) * 2 ** 16, Math.floor((WALL_MS + ms) / 2 ** 16));
      return sealPlain(batchOf([made], member.dataSetId), headOf(BATCH));
    };
    assert.equal(await send(member, later(86_401_000)), 400);
    assert.equal(member.engine.mergedCount, 0);
    assert.equal(await send(member, later(61_000)), 200);
    assert.deepEqual(member.log.lines, [
      "warn WAN: the clock of a sender is 61 s ahead of this member's",
    ]);
  });
});
