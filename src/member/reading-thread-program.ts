/**
 * The program of the thread of reading-thread.ts, when run from the sources. Next to the bundle, a
 * file of the same name does this with the exports of the bundle.
 */
import { answerReadings } from './reading-thread-worker.ts';

answerReadings();
