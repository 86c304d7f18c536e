/**
 * Reports the faults of a data directory, either immediately or when it is clear whether they are
 * damage. Tested by repair.spec.ts.
 */
import { counted } from '../base/quantities.ts';
import { isBefore } from './log-end-file.ts';
import { describeRecord, type Gap } from './record-scan.ts';
import type { LogPosition } from './segment.ts';
import type { ReadSegment } from './segment-reader.ts';

export interface Finding {
  readonly file: string;
  /** Offset of the fault; undefined if the finding concerns the whole file. */
  readonly offset?: number;
  readonly what: string;
  /** Whether data is or may be lost; otherwise the finding is only a note. */
  readonly isDamage: boolean;
}

interface TailGap {
  readonly segment: ReadSegment;
  readonly file: string;
  readonly gap: Gap;
}

export class Findings {
  damages = 0;
  readonly #onFinding: (finding: Finding) => void;
  /**
   * Gaps after the last valid record of the log so far: they are damage only if another record
   * follows.
   */
  readonly #tail: TailGap[] = [];

  constructor(onFinding: (finding: Finding) => void) {
    this.#onFinding = onFinding;
  }

  report(finding: Finding): void {
    if (finding.isDamage) this.damages++;
    this.#onFinding(finding);
  }

  reportDamage(file: string, what: string, offset?: number): void {
    this.report({ file, what, isDamage: true, ...(offset === undefined ? {} : { offset }) });
  }

  reportGap({ segment, file, gap }: TailGap): void {
    const { offset, bytes } = gap;
    const found = describeRecord(segment, offset);
    const seems = found === undefined ? '' : `; there seems to have been ${found}`;
    this.reportDamage(file, counted(bytes, 'byte is damaged', 'bytes are damaged') + seems, offset);
  }

  addToTail(gap: TailGap): void {
    this.#tail.push(gap);
  }

  /**
   * Reports the pending gaps as damage. Called when another record of the log follows: they are not
   * its torn end.
   */
  flushTail(): void {
    for (const gap of this.#tail.splice(0)) this.reportGap(gap);
  }

  /**
   * Reports the pending gaps at the end of the log: those before `proven` are damage, the others
   * are its torn end.
   */
  endTail(proven: LogPosition): void {
    for (const tail of this.#tail.splice(0)) {
      const { segment, file, gap } = tail;
      if (isBefore({ segment: segment.id.number, offset: gap.offset }, proven))
        this.reportGap(tail);
      else {
        const bytes = counted(gap.bytes, 'byte is', 'bytes are');
        const what = `${bytes} the torn end of the log: no synced data is lost`;
        this.report({ file, offset: gap.offset, what, isDamage: false });
      }
    }
  }
}
