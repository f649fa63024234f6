import { nodeOptions, parts } from '../built.ts'
import { defineCommand } from '../command-line/command.ts'
import type { CommandLine } from '../command-line/command-line.ts'
import { type Options, serverFlags } from '../command-line/options.ts'
import { inform } from '../command-line/output.ts'
import { UsageError } from '../errors.ts'
import { serviceUnit, socketUnit } from './systemd-units.ts'

export const systemdCommand = defineCommand({
  name: 'systemd',
  summary: 'print a systemd unit for the server',
  examples: [
    ['connbook systemd --port 80', 'connbook.service, with these flags'],
    ['connbook systemd --socket --port 80', 'connbook.socket'],
  ],
  notes: [
    'The unit has the path of this program and the flags that you give. It ignores the variables of your shell. Without --data, the folder is /var/lib/connbook.',
  ],
  flags: [...serverFlags, 'socket'],
  ignoresVariables: true,
  async run({ options, given }, { print }) {
    const controlled = [...startWords(), ...given.values()].find((text) => /\p{Cc}/u.test(text))
    if (controlled !== undefined) {
      throw new UsageError(
        `Cannot write ${JSON.stringify(controlled)} into a unit: it has a control character`,
      )
    }
    await inform(print, options.socket ? socketUnit({ options }) : unitFor(options, given))
  },
})

function startWords(): string[] {
  return parts?.file === undefined ? [process.execPath] : [process.execPath, ...nodeOptions, parts.file]
}

function unitFor(options: Options, given: CommandLine['given']): string {
  if (parts === undefined) {
    throw new UsageError('Cannot tell which executable to start: this runs from source; use dist/connbook')
  }
  const [program = ''] = startWords()
  if (/["'\\]/.test(program)) {
    throw new UsageError(
      `Cannot have systemd start ${program}: it takes no program with a quote or a backslash in its path; put it elsewhere`,
    )
  }
  const ofServer = new Map([...given].filter(([flag]) => flag !== '--socket'))
  return serviceUnit({ startWords: startWords(), commandLine: { options, given: ofServer } })
}
