/**
 * The list of members of the TCP-IP join, which is told and changed by requests. Nothing joins by it.
 * Until it is changed, it is the configured one.
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

  /** Rejects with GridError MEMBER_LIST_NOT_KEPT; the previous list then stays. */
  async replace(tcpIpMembers: readonly string[]): Promise<void> {
    await changeRecord(
      this.#record,
      () => ({ tcpIpMembers }),
      (reason, options) => new GridError('MEMBER_LIST_NOT_KEPT', { reason }, options),
    );
  }
}
