/**
 * The member list of the TCP-IP join, which requests read and change. No member joins by it. Until
 * it is changed, it is the configured list. Tested by shared-cluster.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import { changeRecord, type SharedRecord } from './shared-record.ts';

export class TcpIpMembers {
  readonly #record: SharedRecord;
  readonly #configured: readonly string[];

  constructor(record: SharedRecord, configured: readonly string[]) {
    this.#record = record;
    this.#configured = configured;
  }

  get list(): readonly string[] {
    return this.#record.values.tcpIpMembers ?? this.#configured;
  }

  /**
   * Replaces the list. Rejects with GridError MEMBER_LIST_NOT_KEPT; the previous list then remains.
   */
  async replace(tcpIpMembers: readonly string[]): Promise<void> {
    await changeRecord(
      this.#record,
      () => ({ tcpIpMembers }),
      (reason, options) => new GridError('MEMBER_LIST_NOT_KEPT', { reason }, options),
    );
  }
}
