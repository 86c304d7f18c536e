/** The engine that answers later keeps the contract, and no more than that. */
import { engineSuite } from './engine.case.ts';
import { holdSuite } from './holds.case.ts';
import { lateSubject } from './late-subject.ts';
import { sequenceSuite } from './sequences.case.ts';

for (const isOrdered of [true, false]) {
  for (const turns of ['next', 'random'] as const) {
    const order = isOrdered ? 'ordered' : 'unordered';
    const name = `an engine, ${order}, that answers in ${turns === 'next' ? 'the next' : 'a random'} turn`;
    const open = () => lateSubject(isOrdered, turns);
    engineSuite(name, open);
    holdSuite(name, open);
    sequenceSuite(name, open);
  }
}
