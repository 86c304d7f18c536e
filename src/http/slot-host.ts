/** The parts of the server that the slots of requests see. */
import type { Application } from './application.ts';
import type { HttpLimits } from './limits.ts';
import type { Request } from './request.ts';
import type { ResponseQueueHost } from './response-queue-host.ts';

/** `request` is undefined for bytes that are not a request; `reason` is that of a refusal, or empty. */
export type Observer = (status: number, request: Request | undefined, reason: string) => void;

export interface SlotHost extends ResponseQueueHost {
  readonly application: Application;
  readonly limits: HttpLimits;
  /** Whether the server has stopped accepting and ends its connections. */
  readonly isDraining: boolean;
  /** Whether it has drained for so long that an answer is the last although more has come. */
  readonly isDrainOver: boolean;
  /** Called with each answer, for logs. */
  readonly observe: Observer | undefined;
  /** Called with each fault of the member. */
  readonly onFailure: (error: unknown) => void;
}
