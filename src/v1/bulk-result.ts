/** The line of a bulk response with the result of one line. Tested by bulk-actions.spec.ts. */
import { REFUSALS, refusalText } from '../base/refusals.ts';
import type { Span } from '../base/span.ts';
import { APPLIED, CONDITION_FAILED, NO_NUMBER, type OperationResult } from '../engine/engine.ts';
import { tagOf } from '../engine/entity-tag.ts';
import { failureOf } from '../surface/responses.ts';
import type { BulkOp } from './bulk-line.ts';
import { shownText } from './parameters.ts';

type LineRefusal =
  | 'ENTRY_CHANGED'
  | 'VALUE_NO_NUMBER'
  | 'NOT_PERMITTED'
  | 'CLUSTER_PASSIVE'
  | 'MEMBER_CUT_OFF';

/** The members of the line, in their order. */
export interface BulkResult {
  readonly status: number;
  readonly etag?: string | undefined;
  readonly value?: string | undefined;
  readonly message?: string;
  readonly outcome?: string | undefined;
}

const ACTIONS: Readonly<Record<BulkOp, string>> = {
  set: 'set the entry',
  delete: 'delete the entry',
  add: 'add to the entry',
};

/** Returns the result of a line that has been called. */
export function resultOf(op: BulkOp, answer: OperationResult, map: Span): BulkResult {
  const { outcome, version } = answer;
  const etag = version.isNone ? undefined : tagOf(version);
  switch (outcome) {
    case APPLIED:
      return appliedResult(op, answer, etag);
    case CONDITION_FAILED:
      return refusedResult(op, 'ENTRY_CHANGED', etag);
    case NO_NUMBER:
      return refusedResult(op, 'VALUE_NO_NUMBER');
    default: {
      const failure = failureOf(answer);
      const message = refusalText(failure.code, { name: JSON.stringify(shownText(map)) });
      return { status: REFUSALS[failure.code].status, message, outcome: failure.outcome };
    }
  }
}

/** Returns the result of a line whose operation is refused because of the entry, the user or the cluster. */
export function refusedResult(op: BulkOp, code: LineRefusal, etag?: string): BulkResult {
  const message = refusalText(code, { action: ACTIONS[op] });
  const outcome = code === 'MEMBER_CUT_OFF' ? 'not-applied' : undefined;
  return { status: REFUSALS[code].status, etag, message, outcome };
}

/** Returns the result of a line that is not an operation. */
export function invalidResult(message: string): BulkResult {
  return { status: 400, message };
}

function appliedResult(
  op: BulkOp,
  { value, wasPresent }: OperationResult,
  etag: string | undefined,
): BulkResult {
  switch (op) {
    case 'set':
      return { status: wasPresent ? 204 : 201, etag };
    case 'delete':
      return { status: 204 };
    case 'add':
      return { status: 200, etag, value: value.bytes.toString('latin1', value.start, value.end) };
  }
}
