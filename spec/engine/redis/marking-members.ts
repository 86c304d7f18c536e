/** Two members on a fake server whose changes are marked, for the specs of marks. */
import { CLEAR, DELETE, type Operation, SET } from '../../../src/engine/mutation.ts';
import type { RedisEngine, RedisEngineOptions } from '../../../src/engine/redis/redis-engine.ts';
import { FakeServer } from '../../world/fake-server.ts';
import { World } from '../../world/world.ts';
import { fakeStore } from '../../world/world-engines.ts';
import { allWaiting, publisherOf } from '../marked.ts';
import { Asker } from '../results.ts';

export const WALL_MS = 1_700_000_000_000;
const NAMES: Partial<Record<Operation, string>> = {
  [SET]: 'set',
  [DELETE]: 'delete',
  [CLEAR]: 'clear',
};

export interface MarkingMembers {
  readonly world: World;
  readonly server: FakeServer;
  readonly engines: readonly RedisEngine[];
  readonly askers: readonly Asker[];
  readonly asker: Asker;
}

/** Runs the test with two members on a server, by default with one partition. */
export async function markingMembers(
  test: (members: MarkingMembers) => Promise<void>,
  options: Partial<RedisEngineOptions> = {},
): Promise<void> {
  const world = new World();
  world.clock.setWall(WALL_MS);
  const server = new FakeServer(world);
  const engines = [0, 1].map(
    () => fakeStore(world, server.url, { partitionCount: 1, ...options }).engine,
  );
  const askers = engines.map((engine) => new Asker(engine));
  const run = async (): Promise<void> => {
    for (const engine of engines) await engine.open();
    await test({ world, server, engines, askers, asker: askers[0]! });
    for (const engine of engines) await engine.close();
  };
  await world.during(run());
}

/** Returns what waits as texts: operation, key and value. */
export async function waitingTexts(
  engine: RedisEngine,
  publisher = publisherOf('p'),
): Promise<string[]> {
  const waiting = await allWaiting(engine, publisher);
  return waiting.map(({ entry, removal }) => {
    const texts = [removal, entry].map((change) => {
      if (change === undefined) return '';
      const key = change.operation === CLEAR ? change.name : change.key;
      return `${NAMES[change.operation]} ${key.toBuffer()} ${change.value.toBuffer()}`.trim();
    });
    return texts.filter((text) => text !== '').join(', ');
  });
}

export function hashFields({ data }: FakeServer, letter: string): string[] {
  const names = data.names.filter((name) => name.includes(`/${letter}:`));
  return names.flatMap((name) => [...(data.get(name, 'hash')?.keys() ?? [])]);
}
