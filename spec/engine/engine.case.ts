/**
 * The contract of src/engine/engine.ts as tests, for any engine, whether its results arrive during
 * the call or in a later turn. The tests rely only on the contract's guarantees, and wait for every
 * result.
 */
import { describe } from 'node:test';
import { additionCases } from './additions.case.ts';
import { conditionCases } from './conditions.case.ts';
import { lifetimeCases } from './lifetimes.case.ts';
import { listCases } from './lists.case.ts';
import { mapCases } from './maps.case.ts';
import { queueCases } from './queues.case.ts';
import { answerCases } from './results.case.ts';
import type { OpenSubject } from './subject.ts';
import { takeCases } from './takes.case.ts';

/** Number of cases that wait for real time at once. */
const WAITING = 4;

/**
 * Defines the tests, each of which opens a separate engine. If the engines are in real time, those
 * that wait long run at the same time.
 */
export function engineSuite(name: string, open: OpenSubject, isInRealTime = false): void {
  mapCases(name, open);
  conditionCases(name, open);
  describe(name, { concurrency: isInRealTime ? WAITING : 1 }, () => {
    lifetimeCases(name, open);
    additionCases(name, open);
    listCases(name, open);
  });
  queueCases(name, open);
  takeCases(name, open);
  answerCases(name, open);
}
