import { type Command, defineCommand } from '../command-line/command.ts'
import { helpFor } from '../command-line/help.ts'
import { inform } from '../command-line/output.ts'
import { UsageError } from '../errors.ts'
import { clientCommands, userCommands } from './account-commands.ts'
import { backupCommand } from './backup.ts'
import { checkCommand } from './check.ts'
import { clusterUpgradeCommand } from './cluster.ts'
import { completionCommand } from './completion.ts'
import { exportCommand } from './export.ts'
import { healthcheckCommand } from './healthcheck.ts'
import { importCommand } from './import.ts'
import { inventoryCommand } from './inventory.ts'
import { keysCommands } from './keys.ts'
import { manCommandOf } from './man.ts'
import { openApiCommand } from './openapi.ts'
import { recoverCommand } from './recover.ts'
import { addCommand } from './remote/add.ts'
import { getCommand } from './remote/get.ts'
import { historyCommand } from './remote/history.ts'
import { loginCommand, logoutCommand, whoamiCommand } from './remote/login.ts'
import { lsCommand } from './remote/ls.ts'
import { revertCommand } from './remote/revert.ts'
import { rmCommand } from './remote/rm.ts'
import { setCommand } from './remote/set.ts'
import { sshCommand } from './remote/ssh.ts'
import { watchCommand } from './remote/watch.ts'
import { restoreCommand } from './restore.ts'
import { serveCommand } from './serve.ts'
import { systemdCommand } from './systemd.ts'
import { versionCommand } from './version.ts'

/** Every command, in the order of the help. */
export const commands: readonly Command[] = [
  serveCommand,
  lsCommand,
  getCommand,
  addCommand,
  setCommand,
  rmCommand,
  revertCommand,
  sshCommand,
  watchCommand,
  historyCommand,
  loginCommand,
  logoutCommand,
  whoamiCommand,
  ...userCommands,
  ...clientCommands,
  ...keysCommands,
  exportCommand,
  inventoryCommand,
  importCommand,
  backupCommand,
  restoreCommand,
  checkCommand,
  recoverCommand,
  clusterUpgradeCommand,
  healthcheckCommand,
  systemdCommand,
  openApiCommand,
  completionCommand,
  manCommandOf(() => commands),
  versionCommand,
  defineCommand({
    name: 'help',
    operands: '[TOPIC]',
    operandsMax: Number.POSITIVE_INFINITY,
    completes: 'topics',
    summary: 'show this page, or help on a command or a chapter',
    examples: [
      ['connbook help user add', 'a command; the same as connbook user add --help'],
      ['connbook help troubles', 'a chapter of the manual'],
    ],
    flags: [],
    async run({ operands }, { print, style, typed = (text) => text }) {
      const flag = operands.find((word) => word.startsWith('-'))
      if (flag !== undefined) throw new UsageError(`Unknown flag "${flag}"; see connbook help`)
      await inform(print, typed(helpFor(commands, operands, style)))
    },
  }),
]
