/** `gridnode config`: prints what a member would run with, without starting one. */
import { exampleFile } from '../config/describe.ts';
import { explainAsJson, explainAsYaml } from '../config/explain.ts';
import { type ConfigRequest, loadConfig } from '../config/load.ts';
import { memoryWarning } from '../config/memory-defaults.ts';
import { EXIT_CLEAN, type ExitCode } from './exit-code.ts';
import { print, type Streams } from './output.ts';

export interface Printing {
  readonly json?: true;
  readonly example?: true;
}

/** What `serve` would refuse is printed with its reason. Rejects with ConfigFault or OutputError. */
export async function printConfig(
  request: ConfigRequest,
  printing: Printing,
  streams: Streams,
): Promise<ExitCode> {
  if (printing.example) {
    await print(streams, exampleFile());
    return EXIT_CLEAN;
  }
  const loaded = await loadConfig(request);
  await print(streams, printing.json ? explainAsJson(loaded) : explainAsYaml(loaded));
  const memory = memoryWarning(loaded.config) ?? [];
  for (const warning of loaded.warnings.concat(memory)) streams.stderr.write(`${warning}\n`);
  return EXIT_CLEAN;
}
