import { UsageError } from '../errors.ts'
import { runAccountsCommand } from './accounts.ts'
import { runBackupCommand } from './backup.ts'
import { runCheckCommand } from './check.ts'
import type { Command } from './command.ts'
import { runExportCommand } from './export.ts'
import { healthcheckFlags, runHealthcheckCommand } from './healthcheck.ts'
import { helpFor } from './help.ts'
import { runImportCommand } from './import.ts'
import { runKeysCommand } from './keys.ts'
import type { Look } from './look.ts'
import { serverFlags } from './options.ts'
import { inform, type Print } from './output.ts'
import { runRestoreCommand } from './restore.ts'
import { serve } from './serve.ts'
import { runSystemdCommand } from './systemd.ts'

const user: Command['run'] = (args, environment, print, look) =>
  runAccountsCommand('user', args, environment, print, look)

const client: Command['run'] = (args, environment, print, look) =>
  runAccountsCommand('client', args, environment, print, look)

const DAMAGED = 'damaged data, named with file, place and remedy'

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  {
    name: 'serve',
    summary: 'start the server; the word may be left out',
    examples: [
      ['connbook', 'port 8080, folder ./data'],
      ['connbook --data /srv/connbook --port 80', ''],
      ['connbook --tls-cert cert.pem --tls-key key.pem', 'HTTPS'],
      ['CONNBOOK_PORT=80 connbook', 'a variable instead of a flag'],
    ],
    notes: [
      'It serves until SIGTERM or SIGINT, then finishes the requests that it has. At SIGHUP it reads certificate and key again.',
      'CONNBOOK_ADMIN_USERNAME, CONNBOOK_ADMIN_PASSWORD, CONNBOOK_CLIENT_ID and CONNBOOK_CLIENT_SECRET set the credentials of a first start; with _FILE behind its name, each is read from a file.',
      'A TIME is a number and a unit: 90s, 15m, 12h, 30d.',
    ],
    flags: serverFlags,
    exitCodes: { 0: 'stopped as asked', 65: DAMAGED, 75: 'the data folder is in use by another process' },
    run: (args, environment) => serve(args, environment),
  },
  {
    name: 'user add',
    operands: 'NAME',
    summary: 'add a user; asks for the password, or reads it',
    examples: [
      ['connbook user add eve', 'asks for the password, twice'],
      ['connbook user add eve < password.txt', 'reads it'],
      ['connbook user add --read-only night', 'who may change nothing'],
    ],
    flags: ['data', 'readOnly'],
    run: user,
  },
  {
    name: 'user passwd',
    operands: 'NAME',
    summary: "change a password; ends the user's sessions",
    examples: [
      ['connbook user passwd eve', 'asks for the new one, twice'],
      ['connbook user passwd eve < password.txt', 'reads it'],
    ],
    flags: ['data'],
    run: user,
  },
  {
    name: 'user remove',
    operands: 'NAME',
    summary: 'remove a user; ends the sessions',
    examples: [['connbook user remove eve', 'at once, also in a running server']],
    flags: ['data'],
    run: user,
  },
  {
    name: 'user list',
    summary: 'list the users, and who may only read',
    examples: [
      ['connbook user list', 'a table on a terminal'],
      ['connbook user list | cut -f 1', 'the names alone'],
    ],
    flags: ['data'],
    run: user,
  },
  {
    name: 'client add',
    operands: 'ID',
    summary: 'add a client for scripts; shows its secret once',
    examples: [
      ['connbook client add deploy', 'shows client_id and client_secret'],
      ['connbook client add --read-only probe', 'which may change nothing'],
    ],
    flags: ['data', 'readOnly'],
    run: client,
  },
  {
    name: 'client rotate',
    operands: 'ID',
    summary: 'give a client a new secret; ends its tokens',
    examples: [['connbook client rotate deploy', 'shows the new client_secret']],
    flags: ['data'],
    run: client,
  },
  {
    name: 'client remove',
    operands: 'ID',
    summary: 'remove a client; ends its tokens',
    examples: [['connbook client remove deploy', 'at once, also in a running server']],
    flags: ['data'],
    run: client,
  },
  {
    name: 'client list',
    summary: 'list the clients, and which may only read',
    examples: [
      ['connbook client list', 'a table on a terminal'],
      ['connbook client list | cut -f 1', 'the ids alone'],
    ],
    flags: ['data'],
    run: client,
  },
  {
    name: 'keys rotate',
    summary: 'sign with a new key; sessions and tokens stay good',
    examples: [['connbook keys rotate', 'the old key verifies until its last token ends']],
    flags: ['data'],
    exitCodes: { 65: DAMAGED },
    run: runKeysCommand,
  },
  {
    name: 'keys revoke-all',
    summary: 'end every session and token at once',
    examples: [['connbook keys revoke-all', 'after a leak']],
    flags: ['data'],
    exitCodes: { 65: DAMAGED },
    run: runKeysCommand,
  },
  {
    name: 'keys list',
    summary: 'tell which keys there are, and until when they verify',
    examples: [['connbook keys list', 'never their secrets']],
    flags: ['data'],
    exitCodes: { 65: DAMAGED },
    run: runKeysCommand,
  },
  {
    name: 'export',
    summary: 'write all records for another tool',
    examples: [
      ['connbook export --format ssh-config > ssh_config', 'for ssh -F'],
      ['connbook export --format ansible > inventory.yml', 'a YAML inventory'],
      ['connbook export --format csv > hosts.csv', ''],
    ],
    notes: [
      'The format must be given. When it cannot express a record, nothing is written, and each such record is named with the reason.',
    ],
    flags: ['data', 'format', 'skip'],
    exitCodes: { 0: 'the export is complete', 65: DAMAGED },
    run: runExportCommand,
  },
  {
    name: 'import',
    operands: 'FILE',
    summary: 'add and modify many records, all of them or none',
    examples: [
      ['connbook import hosts.csv --dry-run', 'changes nothing'],
      ['connbook import hosts.csv --mode replace', 'also removes others'],
      ['connbook import - --format ssh-config < ~/.ssh/config', ''],
    ],
    notes: [
      'Every faulty row is named with its line; - is standard input. The format, json, csv or ssh-config, is told by the ending of the file or by --format.',
    ],
    flags: ['data', 'format', 'mode', 'dryRun'],
    exitCodes: { 65: DAMAGED, 75: 'the data folder is in use by another process' },
    run: runImportCommand,
  },
  {
    name: 'backup',
    operands: 'FILE',
    summary: 'keep records and accounts in one file; - is standard output',
    examples: [
      ['connbook backup backup.json', 'replaced whole, or not at all'],
      ['connbook backup - | gzip > backup.json.gz', ''],
    ],
    flags: ['data'],
    exitCodes: { 0: 'the backup is complete', 65: DAMAGED },
    run: runBackupCommand,
  },
  {
    name: 'restore',
    operands: 'FILE',
    summary: 'put a backup in the place of what the folder holds',
    examples: [
      ['connbook restore backup.json', 'the old files are kept aside'],
      ['connbook restore backup.json --data new', 'makes the folder'],
    ],
    notes: ['The server must be stopped. Every session and token ends.'],
    flags: ['data'],
    exitCodes: { 65: 'the backup is damaged', 75: 'the data folder is in use by another process' },
    run: runRestoreCommand,
  },
  {
    name: 'check',
    operands: '[FILE]',
    summary: 'tell whether the folder, or a backup, is sound',
    examples: [
      ['connbook check', 'the folder'],
      ['connbook check backup.json', 'a backup'],
    ],
    notes: ['It tells what each file holds, and changes nothing.'],
    flags: ['data'],
    exitCodes: { 0: 'sound', 65: DAMAGED },
    run: runCheckCommand,
  },
  {
    name: 'healthcheck',
    operands: '[URL]',
    summary: 'ask a server whether it is ready, for containers',
    examples: [
      ['connbook healthcheck', 'the server of this host'],
      ['connbook healthcheck --port 80 --live', ''],
      ['connbook healthcheck http://localhost:8080', ''],
      ['HEALTHCHECK CMD ["/connbook", "healthcheck"]', 'in a Dockerfile'],
    ],
    notes: [
      'It waits 3 s at most. A certificate is verified only where a URL leads to another machine: what is asked is no secret.',
    ],
    flags: healthcheckFlags,
    exitCodes: { 0: 'it answers with 200', 1: 'it answers otherwise, or not at all' },
    run: (args, environment, print) => runHealthcheckCommand(args, environment, print),
  },
  {
    name: 'systemd',
    summary: 'print a unit for systemd that starts the server',
    examples: [
      ['connbook systemd --port 80', 'connbook.service, with these flags'],
      ['connbook systemd --socket --port 80', 'connbook.socket'],
    ],
    notes: [
      'It starts the executable from where it is now. Variables of whoever types this are left out of it.',
    ],
    flags: [...serverFlags, 'socket'],
    run: (args, _environment, print) => runSystemdCommand(args, (text) => inform(print, text)),
  },
  {
    name: 'help',
    operands: '[COMMAND]',
    summary: 'tell this, or all about one command',
    examples: [
      ['connbook help user add', ''],
      ['connbook user add --help', 'the same'],
    ],
    flags: [],
    run: help,
  },
]

async function help(
  words: readonly string[],
  _environment: NodeJS.ProcessEnv,
  print: Print,
  look: Look,
): Promise<void> {
  const flag = words.find((word) => word.startsWith('-'))
  if (flag !== undefined) throw new UsageError(`Unknown flag "${flag}"; see connbook help`)
  await inform(print, helpFor(commands, words, look))
}
