/** Members on one server, each a process, and requests to them. */
import { RawClient, type ReceivedResponse } from '../integration/client.ts';
import { serve, type start } from '../integration/member-process.ts';

export type Served = Awaited<ReturnType<typeof serve>>;

/** The processes that `killAll` kills. */
export const running: Pick<ReturnType<typeof start>, 'child' | 'exited'>[] = [];

export async function killAll(): Promise<void> {
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(running.splice(0).map(({ exited }) => exited));
}

export function wordsOf(clusterName: string, serverPort: number): string[] {
  const url = `redis://127.0.0.1:${serverPort}`;
  return ['--enable-group', 'all', '--engine', url, '--cluster-name', clusterName];
}

/** Starts members one after the other, so that their order is determined. */
export async function startMembers(
  count: number,
  clusterName: string,
  serverPort: number,
): Promise<Served[]> {
  const members: Served[] = [];
  for (let number = 0; number < count; number++) {
    const member = await serve(...wordsOf(clusterName, serverPort));
    members.push(member);
    running.push(member);
  }
  return members;
}

export async function ask(
  { port }: { readonly port: number },
  method: string,
  path: string,
  body?: string,
): Promise<ReceivedResponse> {
  const client = new RawClient(port);
  try {
    return await client.request(method, path, body === undefined ? undefined : Buffer.from(body));
  } finally {
    client.destroy();
  }
}

interface ClusterView {
  readonly members: readonly { readonly uuid: string; readonly localMember: boolean }[];
  readonly connectionCount: number;
  readonly allConnectionCount: number;
}

export async function clusterOf(member: Served): Promise<ClusterView> {
  return JSON.parse((await ask(member, 'GET', 'cluster')).body.toString()) as ClusterView;
}

export async function uuidsOf(member: Served): Promise<string[]> {
  return (await clusterOf(member)).members.map(({ uuid }) => uuid);
}
