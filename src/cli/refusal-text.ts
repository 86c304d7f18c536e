/**
 * The reason of a refused request: the member's message, or the meaning of the status for that request.
 * Tested by client-options.spec.ts.
 */
import type { MemberRequest, MemberResponse } from '../client/member-client.ts';
import { type CallResponse, HEALTH_PARTS } from './member-calls.ts';

/** The flags that administrative calls authenticate with. */
interface CredentialFlags {
  readonly user?: string;
  readonly clusterName: string;
}

export function refusalReason(
  response: MemberResponse,
  call: MemberRequest,
  flags: CredentialFlags,
): string {
  const message = messageOf(response);
  if (message === 'unauthenticated') return `${message}: ${causesOf(flags)}`;
  if (response.status === 401 && flags.user === undefined) {
    return message === '' ? LOGIN_HINT : `${message}; ${LOGIN_HINT}`;
  }
  return message || reasonOf(response.status, call);
}

const LOGIN_HINT = '--user logs in';

/** The member's message; empty if there is none. */
function messageOf(response: MemberResponse): string {
  if (response.contentType !== 'application/json') return '';
  const { message, state } = response.json() as CallResponse;
  return message ?? (state === undefined ? '' : `the state is ${state}`);
}

/** The member does not report whether it requires a user or the name of the cluster. */
function causesOf({ user, clusterName }: CredentialFlags): string {
  return user === undefined
    ? `--cluster-name ${JSON.stringify(clusterName)} is wrong, or the member requires --user`
    : `user ${JSON.stringify(user)} or the password is wrong, or the member requires --cluster-name`;
}

/** Responses with these statuses have no content, so the client explains them. */
function reasonOf(status: number, { path, body }: MemberRequest): string {
  const [, segment = '', ...rest] = path.split('/');
  switch (status) {
    case 400:
      if (rest[0] === 'health' && rest.length > 1) {
        return `"${rest[1]}" is not a part of health: ${HEALTH_PARTS.join(', ')}`;
      }
      return `${path} names no map, key or queue`;
    case 404:
      if (rest[1] === 'cp-subsystem') {
        return `there is no such CP group or member, or the member's --path-segment is not ${JSON.stringify(segment)}`;
      }
      return `nothing is at ${path}; is ${JSON.stringify(segment)} the member's --path-segment?`;
    case 408:
      return 'the member waited too long for the value';
    case 413:
      return `the value of ${body?.length ?? 0} bytes is over the member's body-bytes-max`;
    case 414:
      return `the path of ${path.length} bytes is over the member's target-bytes-max`;
    case 431:
      return "the header is over the member's header-bytes-max";
    case 501:
      return `the member does not serve ${path}`;
    case 503:
      return 'the member accepts no more connections or is not ready';
    default:
      return '';
  }
}
