/**
 * Applies sections to an engine on servers, which merges them as a whole and remembers their numbers
 * with the data (../engine/section-merger.ts). A section is done as a whole, or is sent again. So
 * batches are acknowledged once they are applied, also those that ask for it on receipt. An event
 * whose path contains this data set is ignored. Tested by server-sections.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import type { SharedSlices } from '../base/slices.ts';
import { hasDataSet, policyAt } from '../engine/change-codec.ts';
import { APPLIED, MEMORY_FULL } from '../engine/engine.ts';
import type { MergePolicy } from '../engine/merge-policy.ts';
import { Mutation, makerOf } from '../engine/mutation.ts';
import type { SectionMerger, SourceEvent } from '../engine/section-merger.ts';
import type { Version } from '../engine/version.ts';
import { readEvent } from './event-codec.ts';
import { numberAt } from './received-batch.ts';
import { ReceivedPath } from './received-path.ts';
import {
  ALL_APPLIED,
  NO_MEMORY,
  PASSIVE,
  SERVERS_REFUSE,
  type SectionApplier,
  type SectionOutcome,
  type SectionWork,
} from './section-applier.ts';
import { setMaker } from './stored-sections.ts';

interface ServerSectionsParts {
  readonly engine: SectionMerger;
  readonly dataSetId: Buffer;
  /** Whether the cluster's state permits changes. */
  readonly acceptsWrites: () => boolean;
}

export class ServerSections implements SectionApplier {
  readonly countsReads = false;
  readonly acknowledgesOnReceipt = false;
  readonly #parts: ServerSectionsParts;
  readonly #slices: SharedSlices;
  /** This data set as a maker of versions. */
  readonly #own: number;

  /** `slices`: shared by all batches that are being applied. */
  constructor(parts: ServerSectionsParts, slices: SharedSlices) {
    this.#parts = parts;
    this.#slices = slices;
    this.#own = makerOf(parts.dataSetId);
  }

  observe(version: Version): void {
    this.#parts.engine.observe(version);
  }

  now(version: Version): void {
    this.#parts.engine.now(version);
  }

  async apply(work: SectionWork): Promise<SectionOutcome> {
    const { sender, batch, section, lane } = work;
    const { lane: number, syncBegan, firstNumber, count, end } = section;
    if (!this.#parts.acceptsWrites()) return { done: 0, reason: PASSIVE };
    const { events, rejectedCount } = await this.#eventsOf(work);
    work.assertCurrent();
    const path = new ReceivedPath();
    const { outcome, notTakenCount, laterEpoch, passedNumber } =
      await this.#parts.engine.mergeSection({
        source: sender,
        publisher: batch.publisher,
        lane: number,
        syncBegan,
        epoch: batch.epoch,
        firstNumber,
        events,
        load: ({ at }, change) => {
          readEvent(batch.payload, at, end, change);
          setMaker(change, sender, this.#own);
          path.append(change.path, sender);
        },
      });
    if (laterEpoch !== undefined) {
      work.onEpoch(laterEpoch);
      throw new GridError('WAN_OLDER_EPOCH', {});
    }
    if (passedNumber !== undefined) {
      const passed = { lane: number, number: firstNumber, passed: passedNumber };
      throw new GridError('WAN_NUMBERS_PASSED', passed);
    }
    lane.notTaken = notTakenCount;
    if (outcome !== APPLIED) {
      return { done: 0, reason: outcome === MEMORY_FULL ? NO_MEMORY : SERVERS_REFUSE };
    }
    lane.rejected = rejectedCount;
    return { done: count, reason: ALL_APPLIED };
  }

  /** Returns the events to merge, and the number of those that no client could have made. */
  async #eventsOf(work: SectionWork) {
    const { payload } = work.batch;
    const { numbersAt, count, start, end } = work.section;
    const events: SourceEvent[] = [];
    const change = new Mutation();
    let rejectedCount = 0;
    let at = start;
    for (let index = 0; index < count; index++) {
      const eventAt = at;
      at = readEvent(payload, at, end, change);
      if (work.faultOf(change) !== undefined) rejectedCount++;
      else if (!hasDataSet(change.path, this.#parts.dataSetId)) {
        const number = numberAt(payload.view, numbersAt, index);
        const policy = policyAt(payload.bytes, eventAt) as MergePolicy;
        events.push({ number, policy, at: eventAt });
      }
      const pause = index % 64 === 63 ? this.#slices.pause() : undefined;
      if (pause !== undefined) await pause;
    }
    return { events, rejectedCount };
  }
}
