/** The example at the end of each command's help. Tested by completion.spec.ts. */
import type { Command } from 'commander';

/**
 * Examples by the words of the command. The example of a command without a row is the command
 * itself.
 */
const EXAMPLES: Readonly<Record<string, string>> = {
  serve: 'serve --enable-group DATA --data-dir /var/lib/gridnode',
  config: 'config --config member.yaml --json',
  restore: 'restore --from /backups/backup-3 --data-dir /var/lib/gridnode',
  repair: 'repair --data-dir /var/lib/gridnode --to /var/lib/gridnode-saved',
  'hash-password': 'hash-password < password.txt',
  completion: 'completion bash > /etc/bash_completion.d/gridnode',
  migrate: 'migrate --from 10.0.0.5:5701 --cluster dev --dry-run',
  health: 'health ready --address 10.0.0.5:5701',
  'map get': 'map get people ada',
  'map set': 'map set people ada "Ada Lovelace" --content-type text/plain',
  'map delete': 'map delete people --key-base64 /wAvYQ==',
  'map clear': 'map clear people',
  'map add': 'map add hits home --by 5',
  'map size': 'map size people --json',
  'map list': 'map list --prefix session',
  'map keys': 'map keys people --limit 10',
  'map entries': 'map entries people --prefix a',
  'map lookup': 'map lookup people ada grace',
  'map bulk': 'map bulk people changes.ndjson',
  'map export': 'map export people people.ndjson',
  'map import': 'map import people people.ndjson',
  'queue offer': 'queue offer jobs --file job.json --content-type application/json',
  'queue poll': 'queue poll jobs --timeout 30',
  'queue size': 'queue size jobs --json',
  'backup list': 'backup list --backup-dir /backups',
  'backup verify': 'backup verify backup-3 --backup-dir /backups',
  'backup prune': 'backup prune --keep 7 --backup-dir /backups',
  'cluster change-state': 'cluster change-state passive --user ann',
  'cluster change-version': 'cluster change-version 0.1',
  'cluster change-log-level': 'cluster change-log-level FINE',
  'cluster change-member-list': 'cluster change-member-list 10.0.0.5,10.0.0.6',
  'cluster set-license': 'cluster set-license KEY',
  'cluster update-config': 'cluster update-config queues.yaml',
  'cp groups': 'cp groups --json',
  'cp group': 'cp group default',
  'cp sessions': 'cp sessions default',
  'cp remove-group': 'cp remove-group old --user ann',
  'cp remove-member': 'cp remove-member 3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a11',
  'cp lock': 'cp lock report --wait 60 -- ./report.sh --daily',
  'cp unlock': 'cp unlock report 1700000000000001',
  'cp heartbeat': 'cp heartbeat 1700000000000001',
  'cp close-session': 'cp close-session 1700000000000001',
  'wan publishers': 'wan publishers --json',
  'wan pause': 'wan pause to-berlin',
  'wan resume': 'wan resume to-berlin',
  'wan stop': 'wan stop to-berlin berlin-1',
  'wan clear': 'wan clear to-berlin berlin-1',
  'wan sync': 'wan sync people --wait',
  'wan check': 'wan check people --replication to-berlin --wait',
  'wan progress': 'wan progress 3c3b9f0e-8a52-4d37-9a6e-0f4d4f4c7a11',
  'wan add': 'wan add publishers.json --user ann',
  'wan remove': 'wan remove to-berlin berlin-1',
};

/** Adds an example to each command without subcommands. */
export function addExamples(program: Command): void {
  const add = (command: Command, path: string) => {
    for (const each of command.commands)
      add(each, path === '' ? each.name() : `${path} ${each.name()}`);
    if (command.commands.length > 0) return;
    command.addHelpText('after', `\nExample:\n  gridnode ${EXAMPLES[path] ?? path}`);
  };
  add(program, '');
}
