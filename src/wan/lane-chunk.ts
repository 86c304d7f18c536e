/**
 * A chunk of a lane's memory. Events are stored contiguously from the front, so that those of a
 * batch are copied in one call; the heads of their records are stored from the end downwards
 * (lane-record.ts). Tested by lane.spec.ts.
 */
import type { Viewed } from '../base/copy-bytes.ts';
import { offsetAt, RECORD_HEAD_BYTES } from './lane-record.ts';

/** A class, so that all chunks have one hidden class: each head is read several times. */
export class LaneChunk implements Viewed {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Position of the first record, and number of records. */
  start = 0;
  count = 0;
  /** Bytes of the events. */
  used = 0;
  /** Whether a LaneContent also reads the chunk, so that its memory must not be reused. */
  isShared = false;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Returns whether one more record fits. */
  hasRoom(eventBytes: number): boolean {
    return this.used + eventBytes + (this.count + 1) * RECORD_HEAD_BYTES <= this.bytes.length;
  }

  /** Adds a record, which must fit. Returns the offset at which its event is to be written. */
  add(eventBytes: number, mark: number, sequence: number, recordedMs: number): number {
    const { view, used } = this;
    const at = this.headAt(this.count++);
    view.setUint32(at, used, true);
    view.setUint32(at + 4, mark, true);
    view.setFloat64(at + 8, sequence, true);
    view.setFloat64(at + 16, recordedMs, true);
    this.used += eventBytes;
    return used;
  }

  /** Returns the offset of the head of the record with that index. */
  headAt(index: number): number {
    return this.bytes.length - (index + 1) * RECORD_HEAD_BYTES;
  }

  /** Copies the events of the records from index `from` to before `before`. Returns their bytes. */
  copyEvents(from: number, before: number, to: Buffer, at: number): number {
    const { view, bytes, count, used } = this;
    const start = offsetAt(view, this.headAt(from));
    const end = before === count ? used : offsetAt(view, this.headAt(before));
    return bytes.copy(to, at, start, end);
  }
}
