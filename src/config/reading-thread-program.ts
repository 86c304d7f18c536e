/**
 * What the thread of reading-thread.ts runs, out of its sources. Beside the bundle a file of the same
 * name does the same with what the bundle exports.
 */
import { answerReadings } from './reading-thread-answers.ts';

answerReadings();
