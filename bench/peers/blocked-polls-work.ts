/** Measures how fast new items wake waiting polls, each on its own connection. */
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { Exchange } from '../load/request.ts';
import type { Peer } from './peer.ts';
import type { PeerProcess } from './peer-process.ts';
import { type Arena, pause, type Side, type Work } from './work.ts';

const POLLS = 1000;
const VALUE_BYTES = 100;
/** Number of connections opened at once, and number of connections that offer items. */
const AT_ONCE = 16;
/**
 * Uncounted rounds at the start: a single round wakes too few polls for their code to be compiled.
 */
const WARM_ROUNDS = 10;
/** Share of a round's duration in which the polls reach the server. */
const SETTLE_SHARE = 1 / 3;
const WAKE_TIMEOUT_MS = 20_000;

export function blockedPollsWork(name: string, about: string, peers: readonly string[]): Work {
  return {
    name,
    about,
    placement: 'pinned',
    sides: (arena) => arena.installed(peers).flatMap((peer) => sideOf(arena, peer)),
  };
}

function sideOf(arena: Arena, peer: Peer): Side[] {
  const wait = peer.exchange('wait', VALUE_BYTES);
  const offer = peer.exchange('offer', VALUE_BYTES);
  if (wait === undefined || offer === undefined) return [];
  const round = async () => {
    const process = await arena.shared(peer, 'pinned', VALUE_BYTES, 'polls');
    const polls = Math.min(POLLS, arena.size.entries);
    const ms = await wakeMs(process, wait, offer, polls, arena.size.seconds * SETTLE_SHARE);
    return { perSecond: (polls / ms) * 1000 };
  };
  return [
    {
      name: peer.name,
      async warm() {
        for (let done = 0; done < WARM_ROUNDS; done++) await round();
      },
      round,
    },
  ];
}

/** Measures the time from the first offer to the response to the last poll. */
async function wakeMs(
  { port }: PeerProcess,
  wait: Exchange,
  offer: Exchange,
  polls: number,
  settleSeconds: number,
): Promise<number> {
  const sockets: Socket[] = [];
  try {
    await opened(sockets, port, polls);
    const woken = sockets.map((socket) => answered(socket, wait.answer));
    for (const socket of sockets) socket.write(wait.request);
    await pause(settleSeconds);
    const offering: Socket[] = [];
    await opened(offering, port, AT_ONCE);
    sockets.push(...offering);
    const share = Math.floor(polls / AT_ONCE);
    const start = performance.now();
    offering.forEach((socket, index) => {
      const count = index === 0 ? polls - share * (AT_ONCE - 1) : share;
      socket.write(offer.request.repeat(count));
      socket.resume();
    });
    await Promise.all(woken);
    return performance.now() - start;
  } finally {
    for (const socket of sockets) socket.destroy();
  }
}

async function opened(sockets: Socket[], port: number, count: number): Promise<void> {
  for (let first = 0; first < count; first += AT_ONCE) {
    const some = Array.from({ length: Math.min(AT_ONCE, count - first) }, () =>
      connect({ port, host: '127.0.0.1', noDelay: true }),
    );
    sockets.push(...some);
    await Promise.all(some.map((socket) => once(socket, 'connect')));
  }
}

function answered(socket: Socket, answer: string): Promise<void> {
  return new Promise((resolve, reject) => {
    const fail = () =>
      reject(new Error(`Cannot measure: the response to a poll is not "${answer}"`));
    socket.setTimeout(WAKE_TIMEOUT_MS, fail);
    socket.on('error', fail);
    socket.once('data', (chunk: Buffer) => {
      if (chunk.toString('latin1').startsWith(answer)) resolve();
      else fail();
    });
  });
}
