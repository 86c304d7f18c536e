/**
 * Runs steps of a bench in separate processes with the program's flags, so that no earlier step has
 * used a step's heap and resident set.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { NODE_FLAGS } from './program.ts';

/**
 * Returns a function that runs `step` in a new process of the module at `url`; its argument and
 * result are copied as JSON. Called once while that module loads; in the new process, it runs the
 * step.
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
