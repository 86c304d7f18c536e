/**
 * The actions of the rows of the surface, and the view of a request that they get. Only types. The
 * actions of a part are one object, made by a function that gets what they need from the part.
 */
import type { Span } from '../base/span.ts';
import type { OperationResult, Receiver } from '../engine/engine.ts';
import type { Request } from '../http/request.ts';
import type { ItemHold } from '../http/response-delay.ts';
import type { Grants } from '../security/permissions.ts';
import type { AdministrativeCall } from './administrative-call.ts';
import type { Route, Rows } from './route.ts';

/** Handles a request and responds to it, now or later. */
export type Action = (call: Call) => void;

/** The action of a row that may wait. */
export interface WaitingAction {
  readonly run: Action;
  /** Whether the call may wait, so that no other request of its connection may run meanwhile. */
  waits(call: Call): boolean;
}

/** Responds with the result of the engine. `item`: the hold of the item found, if any. */
export type Respond = (call: Call, answer: OperationResult, item: ItemHold | undefined) => void;

/** The action of a row whose responses differ from those of `rest/`. */
export interface OwnAction {
  readonly run: Action;
  readonly respond: Respond;
}

/** Does the work of a request whose parameters are read and whose credentials are right. */
export type Work = (call: AdministrativeCall) => void;

/** An action for each row. */
export type Actions<Table extends Rows> = {
  readonly [Name in keyof Table as Table[Name] extends Route ? Name : never]: ActionOf<Table[Name]>;
};

type ActionOf<Row> = Row extends { readonly permission: { readonly login: 'credentials' } }
  ? Work
  : Row extends { readonly mayWait: true }
    ? WaitingAction
    : Action | OwnAction;

/**
 * A request, as an action sees it. As a receiver it converts the engine's result to the response.
 */
export interface Call extends Receiver {
  readonly request: Request;
  /** The permissions of the user; undefined if no login is required. */
  readonly grants: Grants | undefined;
  /** The wait of this call, or of an earlier one of the same request object, which may be reused. */
  wait: Wait | undefined;
  /** The decoded map, queue, or first variable part of another path. Valid during the turn. */
  readonly name: Span;
  /**
   * The decoded key, second variable part, or else the part after the first one. Valid during the
   * turn.
   */
  readonly key: Span;
  /** Offsets of the key, as sent, from the beginning of the request target. */
  readonly keyStart: number;
  readonly keyEnd: number;
  /** Continues when the promise is fulfilled. A rejection is a fault of the member. */
  await<Value>(promise: Promise<Value>, proceed: (value: Value) => void): void;
  /** Why data may not be changed now; undefined if it may. */
  readonly changeRefusal: 'CLUSTER_PASSIVE' | 'MEMBER_CUT_OFF' | undefined;
  /** Records in the audit log that the user lacks a permission for a part of the request. */
  auditRefusal(): void;
  /** Refuses to do `what`, because data may not be changed now. */
  refuseChange(what: string): void;
  /** Returns method and path, as sent. */
  describe(): string;
}

/** A call's wait for a result of the engine. */
export interface Wait {
  /** Receives the engine's result. Returns the hold of the item, if it has one. */
  onResult(answer: OperationResult): ItemHold | undefined;
  /** Ends the wait, if any: the client has ended its input or disconnected. */
  finishNow(): void;
}
