/** The part of the server that the slots of requests use. */
import type { ErrorCode } from '../base/errors.ts';
import type { RefusalCode } from '../base/refusals.ts';
import type { Application } from './application.ts';
import type { HttpLimits } from './limits.ts';
import type { Request } from './request.ts';
import type { ResponseQueueHost } from './response-queue-host.ts';

/** Observes responses. `request`: undefined for invalid bytes. `refusal`: only valid during the call. */
export type Observer = (status: number, request: Request | undefined, refusal: Refusal) => void;

/** The reason for refusing a request; empty if it was not refused. */
interface Refusal {
  readonly code: RefusalCode | ErrorCode | '';
  readonly reason: string;
}

export interface SlotHost extends ResponseQueueHost {
  readonly application: Application;
  readonly limits: HttpLimits;
  /** Whether the server has stopped accepting and ends its connections. */
  readonly isDraining: boolean;
  /** Called for each response, for logs. */
  readonly observe: Observer | undefined;
  /** Called for each fault of the member. */
  readonly onFailure: (error: unknown) => void;
}
