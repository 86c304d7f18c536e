/**
 * Runs steps of a bench in processes of their own, under the flags of the program. Each has a heap and
 * a resident set that no earlier step has used.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS } from './program.ts';

/**
 * Returns `step` as a call that runs in a new process of the module at `url`; its argument and result
 * are copied as JSON. Called once while that module loads; in the new process it runs the step.
 */
export function apart<Work extends object, Done>(
  url: string,
  step: (work: Work) => Promise<Done>,
): (work: Work) => Promise<Done> {
  const file = fileURLToPath(url);
  if (process.send !== undefined && process.argv[1] === file) {
    process.once('message', async (work) => {
      const done = await step(work as Work);
      process.send?.(done, () => process.exit(0));
    });
  }
  return (work) => {
    const execArgv = [...process.execArgv, ...NODE_FLAGS];
    const child = fork(file, { execArgv, stdio: 'inherit' });
    return new Promise((resolve, reject) => {
      child.once('message', (done) => resolve(done as Done));
      child.once('exit', (code) => reject(new Error(`A step ended with exit code ${code}`)));
      child.send(work);
    });
  };
}
