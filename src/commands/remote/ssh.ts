import { once } from 'node:events'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { findRecord, readRecord } from '../../client/served-record.ts'
import { defineCommand } from '../../command-line/command.ts'
import { recordExitCodes } from '../../command-line/exit-codes.ts'
import { shown } from '../../command-line/output.ts'
import { ConnbookError } from '../../errors.ts'
import { readHops } from '../../exchange/hops.ts'
import { sshCommandTo } from '../../exchange/ssh-command.ts'
import { wordForShell } from '../../shell.ts'
import { inTurn } from '../../system-account.ts'
import { escapeHidden } from '../../text.ts'
import { childEnvironment } from '../child-environment.ts'
import { quoted } from './changes.ts'
import { clientFlags, connect } from './connect.ts'
import { withNearNames } from './given-names.ts'

/** ssh cannot be run for a record. */
export class NoSshError extends ConnbookError {
  readonly code = 'no_ssh'
}

/** Becomes ssh: the terminal, the signals and the exit code are its own. */
export const sshCommand = defineCommand({
  name: 'ssh',
  operands: 'NAME [ARG…]',
  operandsMax: Number.POSITIVE_INFINITY,
  passesOn: true,
  completes: 'records',
  summary: 'run ssh to the host of a record',
  examples: [
    ['connbook ssh web1', ''],
    ['connbook ssh web1 uptime', 'what follows the name is for ssh'],
    ['connbook ssh --print web1', 'the command line, which is not run'],
  ],
  notes: [
    'ssh gets hostname, port and username, and as jump host and key the labels ssh.proxyjump and ssh.identityfile. A jump host may be the name of a record. Flags of connbook come before NAME. ssh does not get the variables that hold credentials of connbook.',
  ],
  flags: [...clientFlags, 'print'],
  exitCodes: {
    ...recordExitCodes,
    0: 'the exit code is that of ssh',
    1: 'ssh is missing, or would refuse the record',
  },
  async run(input, context) {
    const {
      options,
      operands: [name = '', ...more],
    } = input
    const client = await connect(input, context, 'ssh')
    const { record } = await withNearNames(client, name, readRecord(client, name))
    const hops = await readHops(record, (hop) => findRecord(client, hop))
    const found = sshCommandTo(record, (hop) => hops.get(hop))
    if (typeof found === 'string')
      throw new NoSshError(`Cannot run ssh: the record ${quoted(name)} ${escapeHidden(found)}`)
    for (const warning of found.warnings)
      context.screen.write(`connbook: The record ${quoted(name)} ${escapeHidden(warning)}\n`)
    const args = ['ssh', ...found.args, ...more]
    if (options.print) {
      const line = args.map(wordForShell).join(' ')
      await shown(context.print(`${line}\n`), 'show the command line')
    } else {
      await context.opened.letGo()
      await inTurn(() => become(args, childEnvironment(context.environment)))
    }
  },
})

/** Replaces this process, or else waits for the other one; then that one's exit code is this one's. */
async function become(args: readonly string[], environment: NodeJS.ProcessEnv) {
  const [program = '', ...others] = args
  const path = findProgram(program, environment.PATH ?? '')
  if (path === undefined)
    throw new NoSshError(`Cannot run ${program}: it is not on the PATH; install OpenSSH's client`)
  if (process.execve !== undefined && process.platform !== 'win32') {
    process.execve(path, args, environment)
  } else {
    const { spawn } = process.getBuiltinModule('node:child_process')
    const child = spawn(path, others, { stdio: 'inherit', env: environment })
    const [code] = await once(child, 'close')
    process.exit(code ?? 1)
  }
}

function findProgram(name: string, path: string): string | undefined {
  const file = process.platform === 'win32' ? `${name}.exe` : name
  const candidates = path.split(delimiter).filter((folder) => folder !== '')
  return candidates.map((folder) => join(folder, file)).find(isExecutable)
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
