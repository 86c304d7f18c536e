/** The parts of the server that the slots of requests see. */
import type { ErrorCode } from '../base/errors.ts';
import type { RefusalCode } from '../base/refusals.ts';
import type { Application } from './application.ts';
import type { HttpLimits } from './limits.ts';
import type { Request } from './request.ts';
import type { ResponseQueueHost } from './response-queue-host.ts';

/** `request` is undefined for bytes that are not a request; `refusal` is valid during the call. */
export type Observer = (status: number, request: Request | undefined, refusal: Refusal) => void;

/** Why a request was refused; empty where it was not. */
interface Refusal {
  readonly code: RefusalCode | ErrorCode | '';
  readonly reason: string;
}

export interface SlotHost extends ResponseQueueHost {
  readonly application: Application;
  readonly limits: HttpLimits;
  /** Whether the server has stopped accepting and ends its connections. */
  readonly isDraining: boolean;
  /** Called with each answer, for logs. */
  readonly observe: Observer | undefined;
  /** Called with each fault of the member. */
  readonly onFailure: (error: unknown) => void;
}
